package ralph_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
)

// A dice makes values of fuzz data; when that ends, zeros.
type dice struct{ data []byte }

func (d *dice) roll(n int) int {
	if len(d.data) == 0 {
		return 0
	}
	v := int(d.data[0])
	d.data = d.data[1:]
	return v % n
}

func pick[T any](d *dice, from ...T) T { return from[d.roll(len(from))] }

func (d *dice) text() string {
	return pick(d, "", "x", "line\nline", "\x00\x1b[1m\xff<&>", string(make([]byte, 9<<10)), "é…\u2028\"\\", longText)
}

var longText = func() string {
	b := make([]byte, 12<<10)
	for i := range b {
		b[i] = "\"\\\n\tx"[i%5]
	}
	return string(b)
}()

func (d *dice) duration() time.Duration {
	return pick(d, 0, 1, time.Second, time.Hour, 100*time.Hour, -time.Second, math.MaxInt64)
}

func (d *dice) usage() ralph.Usage {
	u := ralph.Usage{Requests: int64(d.roll(3)), InputTokens: pick(d, 0, 1, 1000, -5, int64(math.MaxInt64)), OutputTokens: int64(d.roll(100))}
	if f := pick(d, -2, -1, 0, 0.01, 1, 1e9, math.NaN(), math.Inf(1), math.MaxFloat64); f != -2 {
		u.CostUSD = &f
	}
	return u
}

func (d *dice) verdict() ralph.Verdict {
	v := ralph.Verdict{Passed: d.roll(3) == 0, Feedback: d.text()}
	if d.roll(3) == 0 {
		v.Usage = d.usage()
	}
	for range pick(d, 0, 0, 0, 1, 1, 3, 80) {
		code := d.roll(3)
		v.Checks = append(v.Checks, ralph.Check{Name: d.text(), Detail: d.text(), Digest: d.text(), ExitCode: &code, Duration: d.duration(),
			Status: pick(d, ralph.CheckPassed, ralph.CheckFailed, ralph.CheckUnable, ralph.CheckTimeout, ralph.CheckWarning, "odd")})
	}
	return v
}

func (d *dice) limits() ralph.Limits {
	return ralph.Limits{
		Iterations: pick(d, 0, 1, 2, 3, -1), Retries: pick(d, 0, 1, -1), Failures: pick(d, 0, 1, -1), Stalls: pick(d, 0, 1, 2),
		Duration: pick(d, 0, time.Hour), Wait: pick(d, 0, time.Minute, -1), CostUSD: pick(d, 0, 1.0), Tokens: pick(d, 0, int64(1000)),
		Blocked: pick(d, 0, 2, -1), Priced: d.roll(2) == 0,
	}
}

func (d *dice) iteration(s ralph.State) ralph.Iteration {
	it := ralph.Iteration{
		Number: s.Iteration + pick(d, 0, 0, 0, 0, 0, -1, 1), Attempt: s.Attempt + pick(d, 0, 0, 0, 0, 0, -1, 1),
		Fault: pick(d, "", ralph.FaultError, ralph.FaultIncomplete, ralph.FaultEmpty, ralph.FaultPermanent, ralph.FaultRateLimit,
			ralph.FaultTimeout, ralph.FaultBudget, ralph.FaultInterrupted, "odd"),
		Error: d.text(), RetryAfter: d.duration(), Elapsed: d.duration(), End: time.Unix(int64(d.roll(250)), 5),
		Claimed: d.roll(2) == 0, Blocked: d.roll(20) == 0, Usage: d.usage(), Workspace: pick(d, "", "a", "b"), NearMiss: pick(d, "", ralph.WhyFenced),
		Obstacle: d.text(), Unseen: d.text(), Model: d.text(),
	}
	if it.Claimed || d.roll(2) == 0 {
		it.Verdict = d.verdict()
	}
	return it
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// FuzzNext plays random loops and checks what must hold whatever happens.
func FuzzNext(f *testing.F) {
	for i := range 64 {
		seed := make([]byte, 200)
		for j := range seed {
			seed[j] = byte((i*31 + j*j*7 + j*i) >> (i % 3))
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := &dice{data}
		s := ralph.Start(ralph.Task{ID: "T", Always: d.roll(4) == 0, Blocked: "B", Limits: d.limits()})
		fold := s
		type seen struct {
			state ralph.State
			json  string
		}
		var before []seen
		counted := map[[2]int]bool{}
		for range 15 {
			old, oldJSON := s, asJSON(t, s)
			before = append(before, seen{s, oldJSON})
			ev := ralph.Event{Kind: ralph.EventIterationEnded}
			switch d.roll(14) {
			case 0:
				ev = ralph.Event{Kind: ralph.EventGuided, Text: d.text()}
			case 1:
				ev = ralph.Event{Kind: ralph.EventLimitsChanged, State: &ralph.State{Task: ralph.Task{Limits: d.limits()}}}
			case 2:
				ev = ralph.Event{Kind: pick(d, ralph.EventPaused, ralph.EventContinued, ralph.EventWaiting, "odd")}
			case 3:
				if d.roll(8) == 0 {
					ev = ralph.Event{Kind: ralph.EventCancelled, Text: d.text()}
				}
			case 4:
				ev = ralph.Event{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: s.Iteration, Attempt: s.Attempt}}
			case 5:
				ev = ralph.Event{Kind: pick(d, ralph.EventRunning, ralph.EventRunning, ralph.EventAnswered, ralph.EventRequested), Iteration: d.iteration(s)}
			case 6:
				ev = ralph.Event{Kind: ralph.EventReopened}
			default:
				ev.Iteration = d.iteration(s)
			}
			s = s.Apply(ev)
			fold = fold.Apply(ev)
			checkStep(t, old, s, ev, counted)
			if got := asJSON(t, s); got != asJSON(t, fold) {
				t.Fatal("the same events give different states")
			}
		}
		for _, b := range before {
			if got := asJSON(t, b.state); got != b.json {
				t.Fatalf("an earlier state was changed:\n%s", cmp.Diff(b.json, got))
			}
		}
	})
}

func checkStep(t *testing.T, old, s ralph.State, ev ralph.Event, counted map[[2]int]bool) {
	t.Helper()
	text := asJSON(t, s)
	var back ralph.State
	if err := json.Unmarshal([]byte(text), &back); err != nil {
		t.Fatal(err)
	}
	if again := asJSON(t, back); again != text {
		t.Fatalf("JSON round trip:\n%s", cmp.Diff(text, again))
	}
	bare := s
	bare.Task = ralph.Task{}
	if n := len(asJSON(t, bare)); n >= 64<<10 {
		t.Fatalf("a state without its task has %d bytes", n)
	}
	if old.Done() {
		checkStopped(t, old, s, ev.Kind)
	}
	it := ev.Iteration
	if s.Stop == ralph.StopVerified && old.Stop == "" && !(ev.Kind == ralph.EventIterationEnded && it.Verdict.Passed && (it.Claimed || s.Task.Always)) {
		t.Fatalf("verified without evidence: %+v", ev)
	}
	if s.Stop == ralph.StopVerified && !s.Verdict.Passed {
		t.Fatalf("verified, and the verdict on record has not passed: %+v", ev)
	}
	if ev.Kind == ralph.EventIterationEnded && (settled(s).Requests > settled(old).Requests || s.Unpriced > old.Unpriced) {
		key := [2]int{it.Number, it.Attempt}
		if counted[key] {
			t.Fatalf("attempt %v was counted twice", key)
		}
		counted[key] = true
	}
	if s.Usage.Requests < old.Usage.Requests && s.Usage.Requests < 1<<62 || s.Elapsed < old.Elapsed {
		t.Fatalf("what was used is less: %s → %s", describe(old), describe(s))
	}
	req := s.Request()
	if s.Done() != (req.Iteration == 0) {
		t.Fatalf("done is %v, and iteration %d is requested", s.Done(), req.Iteration)
	}
	if s.Done() || s.Running {
		return
	}
	l := s.Task.Limits
	if n := max(l.Iterations, 0); n > 0 && s.Iteration > n || l.Iterations == 0 && s.Iteration > 10 {
		t.Fatalf("iteration %d is requested past the limit", s.Iteration)
	}
	if reason := s.Over(ralph.Usage{}, 0); reason != "" {
		t.Fatalf("an attempt is requested although the %s is spent: %s", reason, describe(s))
	}
	if n := l.Blocked; n >= 0 && s.Blocked >= max(n, 1) {
		t.Fatalf("an attempt is requested although the loop is blocked: %s", describe(s))
	}
	if s.Blind != "" {
		t.Fatalf("an attempt is requested although costs must be known, and are not: %s", s.Blind)
	}
	if l.Stalls > 0 && s.Stalled >= l.Stalls {
		t.Fatalf("an attempt is requested although the loop is stalled")
	}
	if l.Wait >= 0 && s.Waited > max(l.Wait, map[bool]time.Duration{true: 24 * time.Hour}[l.Wait == 0]) {
		t.Fatalf("waits %v", s.Waited)
	}
}

// checkStopped checks what can become of a loop that has stopped: nothing, or, if it
// was not for good, that a limit or a person lets it go on where it would have.
func checkStopped(t *testing.T, old, s ralph.State, kind ralph.EventKind) {
	t.Helper()
	fatal := func(why string) { t.Fatalf("%s: %s, %s → %s", kind, why, describe(old), describe(s)) }
	final := old.Stop == ralph.StopVerified || old.Stop == ralph.StopCancelled || old.Stop == ralph.StopInvalid
	gaveUp := old.Stop == ralph.StopFailed || old.Stop == ralph.StopBlocked || old.Stop == ralph.StopStalled
	if final != (old.NextIteration == 0) || final != (old.NextAttempt == 0) {
		fatal(fmt.Sprintf("would go on at %d.%d", old.NextIteration, old.NextAttempt))
	}
	changed := s.Done() != old.Done() || s.Stop != old.Stop || s.Detail != old.Detail
	switch {
	case changed && final:
		fatal("what is over for good changed")
	case changed && kind != ralph.EventReopened && (kind != ralph.EventLimitsChanged || gaveUp):
		fatal("a stopped loop changed")
	case kind == ralph.EventReopened && gaveUp && !changed:
		fatal("not reopened")
	}
	wantIteration, wantAttempt := old.Iteration, old.Attempt
	if !s.Done() {
		wantIteration, wantAttempt = old.NextIteration, old.NextAttempt
	}
	if s.Iteration != wantIteration || s.Attempt != wantAttempt || s.Done() != (s.NextIteration > 0) && !final {
		fatal("goes on elsewhere")
	}
	if kind != ralph.EventLimitsChanged && kind != ralph.EventReopened || final {
		return
	}
	// Of what was done and used nothing changes.
	same := s
	same.Task.Limits, same.Iteration, same.Attempt, same.NextIteration, same.NextAttempt = old.Task.Limits, old.Iteration, old.Attempt, old.NextIteration, old.NextAttempt
	same.Stop, same.Detail, same.Wait, same.Late, same.Blind = old.Stop, old.Detail, old.Wait, old.Late, old.Blind
	if kind == ralph.EventReopened && gaveUp {
		if s.Failures+s.Stalled+s.Retries+s.Blocked > 0 {
			fatal("does not count anew")
		}
		same.Failures, same.Stalled, same.Retries, same.Blocked = old.Failures, old.Stalled, old.Retries, old.Blocked
	}
	if diff := cmp.Diff(asJSON(t, old), asJSON(t, same)); diff != "" {
		fatal(diff)
	}
}

// FuzzChanges plays random loops, lets somebody change them, and checks that the
// events of the changes make of the one state the other.
func FuzzChanges(f *testing.F) {
	for i := range 200 {
		seed := make([]byte, 60)
		for j := range seed {
			seed[j] = byte((i*37 + j*j*11 + j*i) >> (i % 4))
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := &dice{data}
		s := ralph.Start(ralph.Task{ID: "T", Blocked: "B", Limits: d.limits()}).Guide(d.text())
		for range d.roll(5) {
			it := d.iteration(s)
			it.Number, it.Attempt = s.Iteration, s.Attempt
			s = s.Next(it)
		}
		if d.roll(3) == 0 {
			s = s.Apply(ralph.Event{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: s.Iteration, Attempt: s.Attempt}})
		}
		to, limited := s, false
		for range d.roll(5) {
			switch d.roll(7) {
			case 0:
				to = to.Pause(d.roll(2) == 0)
			case 1:
				to = to.Cancel("enough")
			case 2:
				if !limited { // of two, the first may be hidden by the second
					to, limited = to.Limit(d.limits()), true
				}
			case 3:
				if !limited {
					to, limited = to.Finish(), true
				}
			case 4:
				if s.Done() {
					to, limited = to.Reopen(), true // limits before it
				}
			default:
				to = to.Guide(d.text())
			}
		}
		events := s.Changes(to)
		fold := s
		for _, ev := range events {
			fold = fold.Apply(ev)
		}
		if diff := cmp.Diff(asJSON(t, to), asJSON(t, fold)); diff != "" {
			t.Errorf("%d events (-want +got):\n%s", len(events), diff)
		}
		if again := fold.Changes(to); len(again) > 0 {
			t.Errorf("and %d changes are left: %+v", len(again), again)
		}
	})
}
