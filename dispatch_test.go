package ralph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// dispatched runs a loop as the driver of an engine does, whose record is JSON: each time
// lost says after which of a worker's beats it is lost, -1 = it is not. A lost worker goes
// on, as one does that is cut off, and nobody takes its report.
func dispatched(t *testing.T, l *ralph.Local, d ralph.Dispatch, host func() string, lost func(d ralph.Dispatch) int) ralph.Dispatch {
	t.Helper()
	for turn := 0; !d.State.Done(); turn++ {
		if turn > 500 {
			t.Fatal("the loop does not end")
		}
		now := d.State.Updated.Add(d.State.Wait + time.Second)
		in := recordedDispatch(t, d)
		d = d.Begin(now)
		after, n, last := lost(d), 0, ralph.Beat{Host: host(), Mark: ralph.NewMark()}
		told := last
		report, err := l.Serve(t.Context(), in, last, func(b ralph.Beat) error {
			if n++; after < 0 || n <= after {
				told = b
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if after >= 0 && report.Prepared == nil {
			d = d.Missed(told, "gone", now)
		} else {
			d = d.Told(report, now)
		}
		d = recordedDispatch(t, d)
	}
	return d
}

func recordedDispatch(t *testing.T, d ralph.Dispatch) (out ralph.Dispatch) {
	t.Helper()
	text, err := json.Marshal(d)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDispatch: a loop whose workers are lost at any moment ends as it does without, every
// attempt is counted once, no agent runs again for an answer that was told, and what it has
// told to use counts.
func TestDispatch(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		const need = 4
		runs, total, perAnswer := 0, int64(0), map[[2]int]int{}
		l := &ralph.Local{
			Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
				runs++
				perAnswer[[2]int{req.Iteration, req.Attempt}]++
				u := ralph.Usage{Requests: 1, InputTokens: int64(1 + rnd.IntN(100))}
				total += u.InputTokens
				req.Live(u)
				return ralph.Response{Output: "<promise>COMPLETE</promise>", Usage: u}, nil
			}),
			Verifier: ralph.VerifierFunc(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
				if c.Iteration < need {
					return ralph.Reject("not yet"), nil
				}
				return ralph.Pass(), nil
			}),
		}
		kept := map[[2]int]bool{}
		hosts := []string{"a", "b", "c"}
		d := dispatched(t, l, ralph.Dispatch{State: ralph.Start(ralph.Task{ID: "T", Prompt: "do", Dir: t.TempDir(), Limits: ralph.Limits{Retries: 100}})},
			func() string { return hosts[rnd.IntN(3)] },
			func(d ralph.Dispatch) int {
				at := [2]int{d.State.Iteration, d.State.Attempt}
				if d.Pending != nil {
					kept[at] = true
				}
				if d.Hosts == nil || rnd.IntN(2) == 0 {
					return -1
				}
				return rnd.IntN(3)
			})
		if d.State.Stop != ralph.StopVerified || d.State.Iteration != need {
			t.Fatalf("seed %d: %s in iteration %d: %s", seed, d.State.Stop, d.State.Iteration, d.State.Detail)
		}
		for at, n := range perAnswer {
			if n > 1 {
				t.Errorf("seed %d: the agent ran %d times for attempt %v", seed, n, at)
			}
		}
		if d.State.Usage.InputTokens > total || d.State.Usage.Requests > int64(runs) {
			t.Errorf("seed %d: %v counted, %d runs with %d tokens", seed, d.State.Usage, runs, total)
		}
		if len(kept) == 0 && seed == 0 {
			t.Log("no answer was verified by another worker in the first")
		}
	}
}

// TestDispatchMissed: what follows when a worker is lost.
func TestDispatchMissed(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	begun := func() ralph.Dispatch {
		d := ralph.Dispatch{State: ralph.Start(ralph.Task{ID: "T", Prompt: "do", Limits: ralph.Limits{Retries: -1, Failures: 1}}), Hosts: map[string]map[string]string{"a": {}}}
		return d.Begin(now)
	}
	b := ralph.Beat{Host: "a", Usage: ralph.Usage{InputTokens: 7}, Elapsed: time.Minute}

	d := begun().Missed(b, "gone", now.Add(time.Hour))
	if s := d.State; s.Iteration != 1 || s.Attempt != 2 || s.Usage.InputTokens != 7 || s.Elapsed != time.Minute || !s.Updated.Equal(now.Add(time.Hour)) || s.Running || d.Lost != 1 {
		t.Errorf("interrupted: %+v", d)
	}
	if again := d.Begin(now).Missed(b, "gone", now).Begin(now).Missed(b, "it was killed", now).State; again.Stop != ralph.StopFailed || !strings.Contains(again.Detail, "3 workers in a row") || again.Usage.InputTokens != 21 {
		t.Errorf("lost three times: %+v", again)
	}

	it := ralph.Iteration{Number: 1, Attempt: 1, Claimed: true}
	b.Answered = &ralph.Event{Kind: ralph.EventAnswered, Iteration: it, Answer: &ralph.Response{Output: "<promise>COMPLETE</promise>"}}
	d = begun().Missed(b, "gone", now)
	if d.Pending == nil || d.State.Attempt != 1 || !d.State.Running {
		t.Errorf("its answer was told: %+v", d)
	}
	if d = d.Told(ralph.Report{Iteration: ralph.Iteration{Number: 1, Attempt: 1, Claimed: true, Verdict: ralph.Pass()}}, now); d.State.Stop != ralph.StopVerified || d.Pending != nil || d.Lost != 0 {
		t.Errorf("another has verified it: %+v", d)
	}
	d = begun()
	d.State = d.State.Cancel("enough")
	if d = d.Missed(b, "gone", now); d.Pending != nil || d.State.Stop != ralph.StopCancelled || d.State.Usage.InputTokens != 7 {
		t.Errorf("cancelled meanwhile: %+v", d)
	}
	b.Answered.Iteration.Attempt = 2
	if d = begun().Missed(b, "gone", now); d.Pending != nil {
		t.Error("the answer of another attempt is to be verified")
	}
	if d = begun().Failed("no worker can be reached", now); d.State.Stop != ralph.StopFailed {
		t.Errorf("failed: %+v", d.State)
	}
	fresh := ralph.Dispatch{State: ralph.Start(ralph.Task{ID: "T", Prompt: "do", Limits: ralph.Limits{Retries: -1, Failures: 1}})}
	if d = fresh.Missed(b, "gone", now); d.State.Attempt != 1 || d.Lost != 1 || d.State.Done() {
		t.Errorf("lost while it prepared: %+v", d)
	}
	if d = d.Missed(b, "gone", now).Missed(b, "gone", now); d.State.Stop != ralph.StopFailed {
		t.Errorf("lost three times while it prepared: %+v", d)
	}
	fresh.State.Running = true // of another driver, whose process has died
	if d = fresh.Missed(ralph.Beat{}, "it has ended", now); d.State.Attempt != 2 || d.State.Running {
		t.Errorf("of another driver: %+v", d)
	}
	if d = (ralph.Dispatch{State: ralph.Start(ralph.Task{ID: "T", Prompt: "do"})}).Begin(now); d.State.Running {
		t.Error("an attempt has begun that nothing was prepared for")
	}
}

// TestServeMachines: what a verifier prepares of programs and home files is prepared on each
// machine, once; what lies in the workspace is as the first one found it, and what the
// caller has agreed stays as it is.
func TestServeMachines(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "limits.conf")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	exam := filepath.Join(dir, "exam.txt")
	write(exam, "the exam")
	write(outside, "of the first machine")
	l := &ralph.Local{Runner: ralph.Replay("<promise>COMPLETE</promise>"), Verifier: verify.Guard{Verifier: verify.String{}, Globs: []string{"exam.txt", outside}}}
	serve := func(d ralph.Dispatch, host string) ralph.Report {
		t.Helper()
		r, err := l.Serve(t.Context(), d, ralph.Beat{Host: host, Mark: ralph.NewMark()}, func(ralph.Beat) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	now := time.Now()
	d := ralph.Dispatch{State: ralph.Start(ralph.Task{ID: "T", Prompt: "do", Dir: dir, Guarded: map[string]string{"//config/agreed": "by the caller"}})}
	d = d.Told(serve(d, "first"), now)
	if got := slices.Sorted(maps.Keys(d.State.Task.Guarded)); !slices.Contains(got, "exam.txt") || slices.Contains(got, outside) || !slices.Contains(got, "//config/agreed") {
		t.Errorf("what holds on all machines: %q", got)
	}
	if got := slices.Sorted(maps.Keys(d.Hosts["first"])); !cmp.Equal(got, []string{outside}) {
		t.Errorf("what holds on the first: %q", got)
	}
	agreed, first := d.State.Task.Guarded, d.Hosts["first"][outside]

	write(exam, "what the agent has made of it")
	write(outside, "of the second machine")
	d = d.Begin(now)
	r := serve(d, "second")
	if r.Prepared == nil {
		t.Fatal("an agent has run on a machine that nothing was prepared on")
	}
	d = d.Told(r, now)
	if !cmp.Equal(d.State.Task.Guarded, agreed) || d.Hosts["second"][outside] == first || d.Hosts["first"][outside] != first {
		t.Errorf("after the second machine: %v, %v", d.State.Task.Guarded, d.Hosts)
	}
	if r = serve(d, "second"); r.Prepared != nil || r.Iteration.Verdict.Passed || !strings.Contains(r.Iteration.Verdict.Feedback, "exam.txt") {
		t.Errorf("an exam that was changed between: %+v", r.Iteration.Verdict)
	}
	write(exam, "the exam")
	if r = serve(d, "second"); !r.Iteration.Verdict.Passed {
		t.Errorf("on the second machine: %+v", r.Iteration.Verdict)
	}
	if r = serve(d, "first"); r.Iteration.Verdict.Passed {
		t.Error("what has changed on the first machine was forgotten")
	}
	other := ralph.Dispatch{State: ralph.Start(ralph.Task{ID: "U", Prompt: "do", Dir: dir}), Known: d.Hosts}
	if r = serve(other, "first"); r.Here[outside] != first {
		t.Error("what has changed on the first machine is taken for found by another loop")
	}
}

// TestServeAnswered: the answer is told before it is verified; with an error it is not.
func TestServeAnswered(t *testing.T) {
	asked := 0
	l := &ralph.Local{Runner: ralph.Replay("<promise>COMPLETE</promise>"), Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
		asked++
		return ralph.Pass(), nil
	})}
	d := ralph.Dispatch{State: ralph.Start(ralph.Task{ID: "T", Prompt: "do", Dir: t.TempDir()}), Hosts: map[string]map[string]string{"a": nil}}
	told := 0
	serve := func(err error) ralph.Report {
		t.Helper()
		r, failed := l.Serve(t.Context(), d, ralph.Beat{Host: "a", Mark: ralph.NewMark()}, func(b ralph.Beat) error {
			if b.Answered == nil {
				return nil
			}
			if told++; asked > 0 {
				t.Error("it was verified before")
			}
			return err
		})
		if failed != nil {
			t.Fatal(failed)
		}
		return r
	}
	if r := serve(errors.New("it cannot be committed")); r.Iteration.Verdict.Passed || asked > 0 || !r.Iteration.Claimed || !strings.Contains(fmt.Sprint(r.Iteration.Verdict), "it cannot be committed") {
		t.Errorf("with an error: %+v, asked %d times", r.Iteration, asked)
	}
	if r := serve(nil); !r.Iteration.Verdict.Passed || told != 2 {
		t.Errorf("%+v; told %d times", r.Iteration, told)
	}
	l.Verifier = refusing{}
	if _, err := l.Serve(t.Context(), d, ralph.Beat{Host: "a"}, func(ralph.Beat) error { return nil }); err == nil {
		t.Error("a task that cannot be verified was worked on")
	}
	if _, err := l.Serve(t.Context(), d, ralph.Beat{Host: "b"}, func(ralph.Beat) error { return nil }); err == nil {
		t.Error("a task that cannot be verified was prepared")
	}
}

type refusing struct{ verify.String }

func (refusing) Validate(ralph.Task) error { return errors.New("not such a task") }

// TestPulse: it tells at once and then each sixth; the work ends when it could not tell for
// half of the time, or is told that it is another's, and not before.
func TestPulse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []time.Duration
		var fails func(n int) error
		tell := func(context.Context) error {
			at = append(at, time.Since(start))
			return fails(len(at))
		}
		fails = func(n int) error {
			if n > 3 && n != 5 {
				return errors.New("cut off")
			}
			return nil
		}
		ctx, stop, err := ralph.Pulse(t.Context(), time.Minute, nil, tell)
		if err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		stop()
		stop()
		want := []time.Duration{0, 10 * time.Second, 20 * time.Second, 30 * time.Second, 40 * time.Second, 50 * time.Second, 60 * time.Second, 70 * time.Second}
		if diff := cmp.Diff(want, at); diff != "" || !strings.Contains(context.Cause(ctx).Error(), "cut off") {
			t.Errorf("told (-want +got):\n%s\nended by %v", diff, context.Cause(ctx))
		}

		start, at = time.Now(), nil
		fails = func(n int) error { return map[bool]error{true: fmt.Errorf("%w: cancelled", ralph.ErrGone)}[n == 2] }
		ctx, stop, err = ralph.Pulse(t.Context(), time.Minute, nil, tell)
		if err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		if stop(); len(at) != 2 || !errors.Is(context.Cause(ctx), ralph.ErrGone) {
			t.Errorf("told at %v, ended by %v", at, context.Cause(ctx))
		}

		at = nil
		fails = func(int) error { return errors.New("nobody is there") }
		if _, stop, err := ralph.Pulse(t.Context(), time.Minute, nil, tell); err == nil || len(at) != 1 {
			t.Error("it begins although nobody was told")
		} else {
			stop()
		}
		fails = func(int) error { return nil }
		stops := make(chan struct{})
		close(stops)
		ctx, stop, err = ralph.Pulse(t.Context(), time.Minute, stops, tell)
		if <-ctx.Done(); err != nil || !strings.Contains(context.Cause(ctx).Error(), "stops") {
			t.Errorf("the worker stops: %v, %v", context.Cause(ctx), err)
		}
		stop()
		ctx, stop, err = ralph.Pulse(t.Context(), time.Minute, nil, tell)
		if stop(); err != nil || ctx.Err() == nil {
			t.Error("stopped, and its context goes on")
		}
	})
}
