package progress_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

// loopAudit runs a loop with every kind of attempt: a crash, no claim, something
// that was nearly a claim, a claim that is rejected, and one that is verified.
func loopAudit(ctx context.Context, log ralph.ProgressLog) (ralph.State, error) {
	cost := 0.5
	verdicts := 0
	l := &ralph.Local{Log: log, Meta: map[string]string{"agent": "<none>"},
		Workspace: func(context.Context, string) (string, []string, error) { return "", nil, nil },
		Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
			if verdicts++; verdicts == 1 {
				return ralph.Verdict{Feedback: "2 < 3 tests & more", Checks: []ralph.Check{{Name: "go test", Status: ralph.CheckFailed}}}, nil
			}
			return ralph.Pass(), nil
		}),
		Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			<-time.After(1500 * time.Millisecond)
			if req.Iteration == 1 && req.Attempt == 1 {
				return ralph.Response{}, errors.New("exit status 1")
			}
			return ralph.Response{Usage: ralph.Usage{InputTokens: 7, CostUSD: &cost},
				Output: []string{"So far.", "<promise>Complete</promise>", "<promise>COMPLETE</promise>", "Ok.\n<promise>COMPLETE</promise>"}[req.Iteration-1]}, nil
		})}
	return l.Run(ctx, ralph.Start(ralph.Task{Prompt: "Do it.", ID: "TASK-001", Agent: "coder", Limits: ralph.Limits{Iterations: 15}}))
}

// TestJSONL compares the records of a loop with the keys that other programs read.
func TestJSONL(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		final, err := loopAudit(t.Context(), &progress.JSONL{W: &b})
		if err != nil {
			t.Fatal(err)
		}
		text := b.String()
		cost := 0.5
		used := ralph.Usage{InputTokens: 7, CostUSD: &cost}
		rec := func(n, attempt int, set func(*progress.Record)) progress.Record {
			r := progress.Record{TaskID: "TASK-001", Stage: "coder", Iteration: n, Max: 15, Attempt: attempt, Continuing: true, DurationMS: 1500,
				Outcome: ralph.OutcomeSuccess, Usage: used, Kind: ralph.EventIterationEnded}
			set(&r)
			return r
		}
		want := []progress.Record{
			rec(1, 1, func(r *progress.Record) {
				r.Outcome, r.Fault, r.Error, r.Usage = ralph.OutcomeFailure, ralph.FaultError, "exit status 1", ralph.Usage{}
			}),
			rec(1, 2, func(*progress.Record) {}),
			rec(2, 1, func(r *progress.Record) { r.Reason = ralph.WhyWrongCase }),
			rec(3, 1, func(r *progress.Record) {
				r.PromiseFound, r.Outcome, r.Feedback = true, ralph.OutcomeFailure, "2 < 3 tests & more"
				r.Checks = []ralph.Check{{Name: "go test", Status: ralph.CheckFailed}}
			}),
			rec(4, 1, func(r *progress.Record) { r.PromiseFound, r.Verified, r.Continuing = true, true, false }),
		}
		var got []progress.Record
		var kinds []ralph.EventKind
		for r, err := range progress.ReadJSONL(strings.NewReader(text)) {
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, r.Kind)
			if r.Line != int64(len(kinds)) || r.Kind != r.Event.Kind || !r.Timestamp.Equal(r.Event.Time) || r.Timestamp.Location() != time.UTC {
				t.Errorf("line %d: %+v", len(kinds), r)
			}
			if r.Kind != ralph.EventIterationEnded {
				if r.Iteration != 0 || r.TaskID != "TASK-001" || r.Stage != "coder" {
					t.Errorf("%+v", r)
				}
				continue
			}
			if r.Event.Iteration.Number != r.Iteration || r.Event.Iteration.Attempt != r.Attempt {
				t.Errorf("event: %+v", r.Event)
			}
			r.Event, r.Line, r.Timestamp = ralph.Event{}, 0, time.Time{}
			got = append(got, r)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		const one = " iteration_started answered iteration_ended"
		wantKinds := "[loop_started" + one + " waiting" + one + one + one + one + " loop_stopped]"
		if fmt.Sprint(kinds) != wantKinds {
			t.Errorf("kinds %v, want %s", kinds, wantKinds)
		}
		resumed, err := progress.Resume(strings.NewReader(text), "TASK-001")
		if diff := cmp.Diff(final, resumed); diff != "" || err != nil {
			t.Errorf("resumed: %v (-want +got):\n%s", err, diff)
		}
	})
}

// TestJSONLLines compares the bytes of lines.
func TestJSONLLines(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	l := &progress.JSONL{W: &b}
	at := time.Date(2026, 1, 18, 10, 0, 0, 5e8, time.FixedZone("CET", 3600))
	nan := math.NaN()
	s := ralph.State{V: 1, Loop: "T", Iteration: 3, Attempt: 1, LastCost: &nan, Updated: at, Verifying: ralph.Usage{CostUSD: &nan}, Settled: &ralph.Usage{CostUSD: &nan}, Verdict: ralph.Verdict{Usage: ralph.Usage{CostUSD: &nan}}, Task: ralph.Task{ID: "T", Spec: json.RawMessage("{ \"a\":\n \"<\xff>\" }")}}
	add(t, l, ralph.Event{Kind: ralph.EventLoopStarted, Time: at, Loop: "T", Task: "T", State: &s})
	add(t, l, ralph.Event{Kind: ralph.EventIterationEnded, Time: at, Loop: "T", Task: "T", Agent: "coder", Iteration: ralph.Iteration{
		Number: 3, Attempt: 1, Start: at, Elapsed: 45 * time.Second, Usage: ralph.Usage{CostUSD: &nan}, Verdict: ralph.Verdict{Usage: ralph.Usage{CostUSD: &nan}}, Error: "<&>\xff"}})
	want := `{"task_id":"T","stage":"","timestamp":"2026-01-18T09:00:00.5Z","kind":"loop_started","event":{"v":1,"kind":"loop_started","time":"2026-01-18T09:00:00.5Z","loop":"T","task":"T",` +
		`"state":{"v":1,"loop":"T","task":{"id":"T","spec":{"a":"<` + "\uFFFD" + `>"}},"iteration":3,"attempt":1,"settled":{},"updated":"2026-01-18T09:00:00.5Z"}}}` + "\n" +
		`{"task_id":"T","stage":"coder","ralph_iteration":3,"ralph_max":10,"promise_found":false,"continuing":true,"duration_ms":45000,"attempt":1,"outcome":"","error":"<&>` + "\\ufffd" + `","verified":false,` +
		`"timestamp":"2026-01-18T09:00:00.5Z","kind":"iteration_ended","event":{"v":1,"kind":"iteration_ended","time":"2026-01-18T09:00:00.5Z","loop":"T","task":"T","agent":"coder",` +
		`"iteration":{"number":3,"attempt":1,"start":"2026-01-18T09:00:00.5Z","elapsed":45000000000,"error":"<&>` + "\\ufffd" + `"}}}` + "\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	answer := &ralph.Response{Usage: ralph.Usage{CostUSD: &nan}}
	add(t, l, ralph.Event{Kind: ralph.EventAnswered, Answer: answer})
	if s.LastCost != &nan || s.Settled.CostUSD != &nan || s.Verdict.Usage.CostUSD != &nan || answer.Usage.CostUSD != &nan {
		t.Error("the event was changed")
	}
}

// TestJSONLTime: an event that was made by hand, without a time, is of now.
func TestJSONLTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		add(t, &progress.JSONL{W: &b}, ralph.Event{Kind: ralph.EventCancelled, Loop: "T", Text: "enough"})
		for rec, err := range progress.ReadJSONL(&b) {
			if err != nil || !rec.Event.Time.Equal(time.Now()) || rec.Timestamp != rec.Event.Time {
				t.Errorf("%v: %v, %v", err, rec.Event.Time, rec.Timestamp)
			}
		}
	})
}

// TestJSONLContinuing says whether the loop goes on, with and without a state.
func TestJSONLContinuing(t *testing.T) {
	t.Parallel()
	limits := func(n int) *ralph.State {
		return &ralph.State{Iteration: 1, Attempt: 1, Task: ralph.Task{Limits: ralph.Limits{Iterations: n, Duration: time.Hour}}}
	}
	for _, tt := range []struct {
		name       string
		state      *ralph.State
		it         ralph.Iteration
		continuing bool
		max        int
	}{
		{"first of two", limits(2), ralph.Iteration{}, true, 2},
		{"last", limits(1), ralph.Iteration{}, false, 1},
		{"default", limits(0), ralph.Iteration{}, true, 10},
		{"unlimited", limits(-1), ralph.Iteration{}, true, -1},
		{"last, interrupted", limits(1), ralph.Iteration{Fault: ralph.FaultInterrupted}, true, 1},
		{"not claimed", limits(2), ralph.Iteration{Verdict: ralph.Pass()}, true, 2},
		{"no state", nil, ralph.Iteration{}, true, 0},
		{"no state, verified", nil, ralph.Iteration{Claimed: true, Verdict: ralph.Pass()}, false, 0},
		{"no state, blocked", nil, ralph.Iteration{Blocked: true}, false, 0},
		{"no state, budget", nil, ralph.Iteration{Fault: ralph.FaultBudget}, false, 0},
		{"no state, permanent", nil, ralph.Iteration{Fault: ralph.FaultPermanent}, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			l := &progress.JSONL{W: &b}
			if tt.state != nil {
				add(t, l, ralph.Event{Kind: ralph.EventLoopStarted, State: tt.state})
				b.Reset()
			} else { // what was known of a loop that has stopped is forgotten
				add(t, l, ralph.Event{Kind: ralph.EventLoopStarted, State: limits(7)})
				add(t, l, ralph.Event{Kind: ralph.EventLoopStopped})
				b.Reset()
			}
			tt.it.Number, tt.it.Attempt = 1, 1
			add(t, l, ralph.Event{Kind: ralph.EventIterationEnded, Iteration: tt.it})
			for r := range progress.ReadJSONL(&b) {
				if r.Continuing != tt.continuing || r.Max != tt.max {
					t.Errorf("%v, %d", r.Continuing, r.Max)
				}
			}
		})
	}
}

// TestOpenJSONL appends to a file the last line of which a crash has cut off.
func TestOpenJSONL(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log.jsonl")
	for range 2 {
		f, err := progress.OpenJSONL(path)
		if err != nil {
			t.Fatal(err)
		}
		attempt(t, &progress.JSONL{W: f}, 1, ralph.OutcomeSuccess)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		whole := read(t, path)
		if strings.Contains(whole, "\n\n") {
			t.Error("an empty line")
		}
		write(t, path, whole[:len(whole)-5]) // a crash
	}
	f, err := progress.OpenJSONL(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	attempt(t, &progress.JSONL{W: f}, 2, ralph.OutcomeFailure)
	var got []string
	for r, err := range progress.ReadJSONL(strings.NewReader(read(t, path))) {
		got = append(got, fmt.Sprintf("%d %s %d %v", r.Line, r.Kind, r.Iteration, err))
	}
	want := []string{"1 loop_started 0 <nil>", "3 loop_started 0 <nil>", "5 loop_started 0 <nil>", "6 iteration_ended 2 <nil>"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := progress.OpenJSONL(t.TempDir()); err == nil {
		t.Error("a folder was opened")
	}
}

// A disk has room for so many bytes, and then for all.
type disk struct {
	bytes.Buffer
	room int
}

func (d *disk) Write(p []byte) (int, error) {
	if n := d.room - d.Len(); d.room > 0 && n < len(p) {
		d.room = 0
		d.Buffer.Write(p[:n])
		return n, io.ErrShortWrite
	}
	return d.Buffer.Write(p)
}

// A line that was written in part does not spoil the next one.
func TestJSONLOnAFullDisk(t *testing.T) {
	t.Parallel()
	d := &disk{room: 50}
	l := &progress.JSONL{W: d}
	if err := l.Append(t.Context(), ralph.Event{Kind: ralph.EventPaused}); !errors.Is(err, io.ErrShortWrite) {
		t.Fatal(err)
	}
	add(t, l, ralph.Event{Kind: ralph.EventContinued})
	add(t, l, ralph.Event{Kind: ralph.EventPaused})
	var got []ralph.EventKind
	for r := range progress.ReadJSONL(d) {
		got = append(got, r.Kind)
	}
	if diff := cmp.Diff([]ralph.EventKind{ralph.EventContinued, ralph.EventPaused}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := (&progress.JSONL{}).Append(t.Context(), ralph.Event{}); err == nil {
		t.Error("no W is no error")
	}
}

// counted counts writes and fails the test if one is not one line.
type counted struct {
	t *testing.T
	w io.Writer
}

func (c counted) Write(p []byte) (int, error) {
	if bytes.Count(p, []byte("\n")) != 1 || p[len(p)-1] != '\n' {
		c.t.Errorf("a write of %q", p)
	}
	return c.w.Write(p)
}

// TestJSONLOfManyLoops has loops share a log, and two logs share a file.
func TestJSONLOfManyLoops(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log.jsonl")
	var logs [2]*progress.JSONL
	for i := range logs {
		f, err := progress.OpenJSONL(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		logs[i] = &progress.JSONL{W: counted{t, f}}
	}
	var mu sync.Mutex
	finals := map[string]ralph.State{}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			l := &ralph.Local{Log: logs[i%2], Verifier: verify.String{}, Runner: ralph.Replay("a", "b", "<promise>COMPLETE</promise>"),
				Workspace: func(context.Context, string) (string, []string, error) { return "", nil, nil }}
			s, err := l.Run(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it.", ID: fmt.Sprintf("T%d", i)}))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			finals[s.Loop] = s
		})
	}
	wg.Wait()
	text := read(t, path)
	for loop, final := range finals {
		got, err := progress.Resume(strings.NewReader(text), loop)
		if diff := cmp.Diff(final, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", loop, err, diff)
		}
	}
	if n := strings.Count(text, `"kind":"iteration_ended","event"`); n != 8*3 {
		t.Errorf("%d attempts", n)
	}
}
