package ralph_test

import (
	"encoding/json"
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
	}
}

func (d *dice) iteration(s ralph.State) ralph.Iteration {
	it := ralph.Iteration{
		Number: s.Iteration + pick(d, 0, 0, 0, 0, 0, -1, 1), Attempt: s.Attempt + pick(d, 0, 0, 0, 0, 0, -1, 1),
		Fault: pick(d, "", ralph.FaultError, ralph.FaultIncomplete, ralph.FaultEmpty, ralph.FaultPermanent, ralph.FaultRateLimit,
			ralph.FaultTimeout, ralph.FaultBudget, ralph.FaultInterrupted, "odd"),
		Error: d.text(), RetryAfter: d.duration(), Elapsed: d.duration(), End: time.Unix(int64(d.roll(250)), 5),
		Claimed: d.roll(2) == 0, Blocked: d.roll(20) == 0, Usage: d.usage(), Workspace: pick(d, "", "a", "b"), NearMiss: pick(d, "", ralph.WhyFenced),
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
			switch d.roll(12) {
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
	if old.Done() && (s.Stop != old.Stop || s.Detail != old.Detail || s.Iteration != old.Iteration || s.Attempt != old.Attempt) {
		t.Fatalf("a stopped loop changed: %s → %s", describe(old), describe(s))
	}
	it := ev.Iteration
	if s.Stop == ralph.StopVerified && old.Stop == "" && !(ev.Kind == ralph.EventIterationEnded && it.Verdict.Passed && (it.Claimed || s.Task.Always)) {
		t.Fatalf("verified without evidence: %+v", ev)
	}
	if ev.Kind == ralph.EventIterationEnded && (s.Usage.Requests > old.Usage.Requests || s.Unpriced > old.Unpriced) {
		key := [2]int{it.Number, it.Attempt}
		if counted[key] {
			t.Fatalf("attempt %v was counted twice", key)
		}
		counted[key] = true
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
	if l.Stalls > 0 && s.Stalled >= l.Stalls {
		t.Fatalf("an attempt is requested although the loop is stalled")
	}
	if l.Wait >= 0 && s.Waited > max(l.Wait, map[bool]time.Duration{true: 24 * time.Hour}[l.Wait == 0]) {
		t.Fatalf("waits %v", s.Waited)
	}
}
