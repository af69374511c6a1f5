package ralph_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
)

// TestApplySurvivesAnEditedLog: whatever numbers a log holds, Apply does not
// panic, and neither does what is asked of the state.
func TestApplySurvivesAnEditedLog(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	odd := func() string {
		return []string{"-7", "-1", "0", "1", "2", "20", fmt.Sprint(math.MaxInt64), fmt.Sprint(math.MinInt64)}[rnd.IntN(8)]
	}
	keys := strings.Fields("iteration attempt retries failures rate_limits stalled unpriced elapsed waited unwaited wait line late next_iteration next_attempt ran")
	limits := strings.Fields("iterations retries failures stalls duration wait tokens iteration_timeout verify_timeout")
	state := func() string {
		var b strings.Builder
		for _, key := range keys {
			fmt.Fprintf(&b, `"%s":%s,`, key, odd())
		}
		stop := []string{"", "", "failed", "iterations", "rate_limited", "cancelled"}[rnd.IntN(6)]
		b.WriteString(`"stop":"` + stop + `","settled":{"requests":` + odd() + `,"cost_usd":` + odd() + `},"guidance":["a","b"],"task":{"limits":{`)
		for _, key := range limits {
			fmt.Fprintf(&b, `"%s":%s,`, key, odd())
		}
		return "{" + b.String() + `"cost_usd":` + odd() + "}}}"
	}
	for range 3000 {
		var s ralph.State
		for _, kind := range []ralph.EventKind{ralph.EventLoopStarted, ralph.EventGuided, ralph.EventLimitsChanged, ralph.EventWaiting, ralph.EventIterationStarted, ralph.EventRunning, ralph.EventIterationEnded, ralph.EventHook, ralph.EventLoopStopped, ralph.EventReopened} {
			var ev ralph.Event
			fault := []string{"", "error", "rate_limit", "interrupted", "budget", "timeout"}[rnd.IntN(6)]
			if err := json.Unmarshal(fmt.Appendf(nil, `{"kind":%q,"state":%s,"iteration":{"fault":%q,"elapsed":%s,"retry_after":%s,"usage":{"requests":%s,"cost_usd":%s}}}`, kind, state(), fault, odd(), odd(), odd(), odd()), &ev); err != nil {
				t.Fatal(err)
			}
			ev.Iteration.Number, ev.Iteration.Attempt = s.Iteration, s.Attempt
			if kind == ralph.EventIterationEnded {
				ev.State = nil // else it is as that of a hook
			}
			from := s
			s = s.Apply(ev).Guide("c").Limit(ralph.Limits{})
			from.Changes(s)
			s.Reopen().Finish()
			s.Prompt()
			s.NotBefore()
			s.Over(ralph.Usage{}, -1)
		}
	}
	var s ralph.State // the case that was found
	if err := json.Unmarshal([]byte(`{"iteration":1,"attempt":1,"late":-7,"guidance":["a"]}`), &s); err != nil {
		t.Fatal(err)
	}
	if s = s.Next(ralph.Iteration{Number: 1, Attempt: 1}); len(s.Guidance) != 0 {
		t.Errorf("guidance that was quoted is kept: %s", describe(s))
	}
}

// everything is a state that has all there is to share.
func everything() ralph.State {
	s := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it.", Acceptance: []string{"a"}, Spec: json.RawMessage(`{"a":1}`), Guarded: map[string]string{"a": "1"}}).Guide("a")
	s.Usage.CostUSD, s.Verifying.CostUSD, s.LastCost, s.Verdict.Usage.CostUSD = new(1.0), new(1.0), new(1.0), new(1.0)
	s.Settled = &ralph.Usage{Requests: 1, CostUSD: new(1.0)}
	s.Verdict.Checks = []ralph.Check{{Name: "a", ExitCode: new(1)}}
	s.Files, s.Lessons, s.Spent, s.Partial = []string{"a"}, []string{"a"}, new(1.0), new(1.0)
	return s
}

// spoil writes to all that a state holds.
func spoil(s ralph.State) {
	s.Task.Acceptance[0], s.Task.Spec[2] = "spoilt", 'x'
	maps.Copy(s.Task.Guarded, map[string]string{"a": "spoilt", "b": "new"})
	*s.Usage.CostUSD, *s.Verifying.CostUSD, *s.LastCost, *s.Verdict.Usage.CostUSD, *s.Verdict.Checks[0].ExitCode = 9, 9, 9, 9, 9
	s.Settled.Requests, *s.Settled.CostUSD = 9, 9
	s.Verdict.Checks[0].Name, s.Files[0], s.Guidance[0] = "spoilt", "spoilt", "spoilt"
	s.Lessons[0], *s.Spent, *s.Partial = "spoilt", 9, 9
}

// TestStatesShareNothing with the task that a caller goes on to change, nor with
// the event that they were made of.
func TestStatesShareNothing(t *testing.T) {
	t.Parallel()
	task := everything().Task
	s := ralph.Start(task)
	want := asJSON(t, s)
	task.Acceptance[0], task.Spec[2], task.Guarded["a"] = "spoilt", 'x', "spoilt"
	if diff := cmp.Diff(want, asJSON(t, s)); diff != "" {
		t.Errorf("Start (-want +got):\n%s", diff)
	}

	from := everything()
	want = asJSON(t, from)
	s = ralph.State{}.Apply(ralph.Event{Kind: ralph.EventLoopStarted, State: &from})
	spoil(from)
	if diff := cmp.Diff(want, asJSON(t, s)); diff != "" {
		t.Errorf("loop_started (-want +got):\n%s", diff)
	}

	it := ralph.Iteration{Number: 1, Attempt: 1, Claimed: true, Files: []string{"a"}, Usage: ralph.Usage{CostUSD: new(1.0)},
		Verdict: ralph.Verdict{Feedback: "no", Checks: []ralph.Check{{Name: "a", Status: ralph.CheckFailed, ExitCode: new(1)}}, Usage: ralph.Usage{CostUSD: new(1.0)}}}
	s = ralph.Start(ralph.Task{}).Apply(ralph.Event{Kind: ralph.EventIterationEnded, Iteration: it})
	want = asJSON(t, s)
	it.Files[0], *it.Usage.CostUSD, *it.Verdict.Usage.CostUSD, it.Verdict.Checks[0].Name, *it.Verdict.Checks[0].ExitCode = "spoilt", 9, 9, "spoilt", 9
	if diff := cmp.Diff(want, asJSON(t, s)); diff != "" {
		t.Errorf("iteration_ended (-want +got):\n%s", diff)
	}
	if code := s.Verdict.Checks[0].ExitCode; code == nil || *code != 1 {
		t.Errorf("exit code %v", code)
	}
}

// TestLoopStopped: only a log that another version wrote can say more than the
// fold, and only of a loop that goes on.
func TestLoopStopped(t *testing.T) {
	t.Parallel()
	going := ralph.Start(ralph.Task{}).Next(ralph.Iteration{Number: 1, Attempt: 1, Fault: ralph.FaultError})
	stopped := going.Cancel("enough")
	foreign := ralph.State{Stop: "of the future", Detail: "why"}
	for _, tt := range []struct {
		name   string
		s      ralph.State
		says   *ralph.State
		reason ralph.StopReason
		detail string
		wait   bool
	}{
		{"it has stopped", going, &foreign, "of the future", "why", false},
		{"it says nothing", going, nil, "", "", true},
		{"it goes on", going, &ralph.State{}, "", "", true},
		{"stopped already", stopped, &foreign, ralph.StopCancelled, "enough", false},
		{"stopped already, and it goes on", stopped, &ralph.State{}, ralph.StopCancelled, "enough", false},
		{"stopped already, and it says nothing", stopped, nil, ralph.StopCancelled, "enough", false},
	} {
		s := tt.s.Apply(ralph.Event{Kind: ralph.EventLoopStopped, State: tt.says})
		if s.Stop != tt.reason || s.Detail != tt.detail || (s.Wait > 0) != tt.wait {
			t.Errorf("%s: %s", tt.name, describe(s))
		}
	}
}

// TestHookEvents: what an event of a hook's loop says of the state is the state, but for the task,
// which it may leave out; what is over stays so.
func TestHookEvents(t *testing.T) {
	t.Parallel()
	task, other := ralph.Task{ID: "T", Prompt: "Do it."}, ralph.Task{ID: "T", Prompt: "Do it.", Limits: ralph.Limits{Iterations: 7}}
	going := ralph.Start(task)
	advised := going.Next(ralph.Iteration{Number: 1, Attempt: 1}).Guide("Use the store.")
	alone := advised
	alone.Task = ralph.Task{}
	limited := advised
	limited.Task = other
	limit := going.Finish().Next(ralph.Iteration{Number: 1, Attempt: 1})
	for _, tt := range []struct {
		name          string
		s, says, want ralph.State
	}{
		{"without its task", going, alone, advised},
		{"with another one", going, limited, limited},
		{"and then without", limited, alone, limited},
		{"a limit was raised", limit, limited, limited},
		{"cancelled", going.Cancel("enough"), limited, going.Cancel("enough")},
	} {
		for _, kind := range []ralph.EventKind{ralph.EventHook, ralph.EventIterationEnded} {
			got := tt.s.Apply(ralph.Event{Kind: kind, State: &tt.says, Iteration: ralph.Iteration{Number: 1, Attempt: 1}})
			if diff := cmp.Diff(asJSON(t, tt.want), asJSON(t, got)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", tt.name, kind, diff)
			}
		}
		if got := tt.s.Apply(ralph.Event{Kind: ralph.EventHook, Iteration: ralph.Iteration{Number: 1, Attempt: 1}}); asJSON(t, got) != asJSON(t, tt.s) {
			t.Errorf("%s: an event without a state changes it: %s", tt.name, describe(got))
		}
	}
	from := everything()
	s := ralph.Start(task).Apply(ralph.Event{Kind: ralph.EventHook, State: &from})
	want := asJSON(t, s)
	spoil(from)
	if diff := cmp.Diff(want, asJSON(t, s)); diff != "" {
		t.Errorf("it is shared (-want +got):\n%s", diff)
	}
}

// TestCancelledAttemptCountsOnce: what the attempt that was in flight has spent
// counts, whether or not the driver said that it ran, and never twice.
func TestCancelledAttemptCountsOnce(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{false, true} {
		s := ralph.Start(ralph.Task{})
		it := ralph.Iteration{Number: 1, Attempt: 1, Usage: ralph.Usage{InputTokens: 5}, Elapsed: time.Second, Files: []string{"a"}}
		if running {
			s = s.Apply(ralph.Event{Kind: ralph.EventIterationStarted, Iteration: it})
		}
		s = s.Cancel("enough").Cancel("again")
		for _, other := range []ralph.Iteration{{Number: 1, Attempt: 2}, {Number: 2, Attempt: 1}, {Number: 1, Attempt: 0}} {
			other.Usage.InputTokens = 100
			s = s.Next(other)
		}
		for range 3 {
			s = s.Next(it)
		}
		if s.Stop != ralph.StopCancelled || s.Detail != "enough" || s.Usage.InputTokens != 5 || s.Elapsed != time.Second || len(s.Files) != 1 {
			t.Errorf("running %t: %s, files %q", running, describe(s), s.Files)
		}
	}
	it := ralph.Iteration{Number: 1, Attempt: 1, Usage: ralph.Usage{InputTokens: 5}}
	for name, s := range map[string]ralph.State{
		"between attempts": ralph.Start(ralph.Task{}).Next(it).Cancel("enough"),
		"after its end":    ralph.Start(ralph.Task{Limits: ralph.Limits{Iterations: 1}}).Next(it).Cancel("enough"),
	} {
		if s = s.Next(it); s.Usage.InputTokens != 5 {
			t.Errorf("%s: %s", name, describe(s))
		}
	}
}

// TestStateBoundEscaped: the bound holds for an encoder that escapes what HTML
// would take for markup, which makes six bytes of one.
func TestStateBoundEscaped(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"<&>", "\u2028", "<", "\"\\\n", "a", "é", "\U0001F600"} {
		long := strings.Repeat(unit, 20<<10)
		it := ralph.Iteration{Claimed: true, Line: 1 << 62, NearMiss: long, Error: long, Workspace: long, Usage: ralph.Usage{CostUSD: new(math.MaxFloat64)}}
		for i := range 300 {
			it.Files = append(it.Files, fmt.Sprint(i)+long[:300], fmt.Sprint(i))
			it.Ended = append(it.Ended, long[:300])
			it.Verdict.Checks = append(it.Verdict.Checks, ralph.Check{Name: long, Detail: long, Digest: long, Status: ralph.CheckStatus(long), ExitCode: new(math.MinInt64), Duration: math.MinInt64})
		}
		it.Verdict.Feedback = long
		s := ralph.Start(ralph.Task{ID: long, Agent: long, Limits: ralph.Limits{Failures: -1, Retries: -1}}).Guide(long)
		for range 4 {
			it.Number, it.Attempt = s.Iteration, s.Attempt
			s = s.Next(it).Guide(long)
			for i := range 300 {
				s = s.Guide(long[:len(unit)] + fmt.Sprint(i))
			}
		}
		s.Detail = s.Cancel(long).Detail
		s.Task = ralph.Task{}
		text, err := json.Marshal(s)
		if err != nil || len(text) >= 64<<10 {
			t.Errorf("%.3q: %d bytes, %v", unit, len(text), err)
		}
		if len(s.Feedback) < 2<<10 || len(s.Guidance) == 0 || len(s.Ended) != 20 {
			t.Errorf("%.3q: %d bytes of feedback, %d texts of guidance and %d command lines are left", unit, len(s.Feedback), len(s.Guidance), len(s.Ended))
		}
		var back ralph.State
		if err := json.NewDecoder(bytes.NewReader(text)).Decode(&back); err != nil || asJSON(t, back) != string(text) {
			t.Errorf("%.3q: not read back as it was: %v", unit, err)
		}
	}
}

// TestFeedbackBound: feedback is kept whole up to 8 KiB, beyond it loses its
// middle.
func TestFeedbackBound(t *testing.T) {
	t.Parallel()
	for _, n := range []int{8<<10 - 1, 8 << 10, 8<<10 + 1} {
		text := "first " + strings.Repeat("x", n-11) + " last"
		s := ralph.Start(ralph.Task{}).Next(ralph.Iteration{Number: 1, Attempt: 1, Claimed: true, Verdict: ralph.Reject(text)})
		if whole := s.Feedback == text; whole != (n <= 8<<10) || len(s.Feedback) > 8<<10 || !strings.HasPrefix(s.Feedback, "first ") || !strings.HasSuffix(s.Feedback, " last") {
			t.Errorf("%d bytes: %d kept", n, len(s.Feedback))
		}
	}
	// As JSON it may be twice as much.
	for _, n := range []int{1638, 1639} { // 10 bytes as JSON of 2 characters
		text := strings.Repeat("<\"xx", n)
		s := ralph.Start(ralph.Task{}).Next(ralph.Iteration{Number: 1, Attempt: 1, Claimed: true, Verdict: ralph.Reject(text)})
		if whole := s.Feedback == text; whole != (n*10 <= 16<<10) {
			t.Errorf("%d bytes as JSON: %d kept of %d", n*10, len(s.Feedback), len(text))
		}
	}
}

// TestSmallTextsAreCutAsJSON: at most 64 bytes of JSON of a near miss are kept.
func TestSmallTextsAreCutAsJSON(t *testing.T) {
	t.Parallel()
	for _, unit := range []struct {
		text string
		size int
	}{{"x", 1}, {`"`, 2}, {`\`, 2}, {"\n", 2}, {"\t", 2}, {"<", 6}, {">", 6}, {"&", 6}, {"\u2028", 6}, {"\u2029", 6}, {"é", 2}, {"\uFFFD", 3}} {
		for n := 64/unit.size - 1; n <= 64/unit.size+1; n++ {
			text := strings.Repeat(unit.text, n)
			s := ralph.Start(ralph.Task{}).Next(ralph.Iteration{Number: 1, Attempt: 1, NearMiss: text})
			if whole := s.NearMiss == text; whole != (n*unit.size <= 64) {
				t.Errorf("%d × %q: kept %q", n, unit.text, s.NearMiss)
			}
			if data, _ := json.Marshal(s.NearMiss); len(data)-2 > 64 {
				t.Errorf("%d × %q: %d bytes", n, unit.text, len(data)-2)
			}
		}
	}
}

// TestGuidanceBound: of too much advice the newest is kept.
func TestGuidanceBound(t *testing.T) {
	t.Parallel()
	s := ralph.Start(ralph.Task{})
	for i := range 100 {
		s = s.Guide(fmt.Sprintf("%03d%s", i, strings.Repeat("x", 1<<10-5))) // 1 KiB with what is between
	}
	if len(s.Guidance) != 6 || s.Guidance[0][:3] != "094" || s.Guidance[5][:3] != "099" {
		t.Errorf("%d texts are kept, from %.3s", len(s.Guidance), s.Guidance[0])
	}
	long := strings.Repeat("x", 6<<10)
	if s = s.Guide(long); len(s.Guidance) != 1 || s.Guidance[0] != long {
		t.Errorf("%d texts are kept", len(s.Guidance))
	}
	if s = s.Guide("y"); len(s.Guidance) != 1 || s.Guidance[0] != "y" {
		t.Errorf("%d texts are kept", len(s.Guidance))
	}
	if got := s.Guide(" \n"); len(got.Guidance) != 1 {
		t.Errorf("%q", got.Guidance)
	}
}

// TestLateGuidance: no more of the guidance is late than there is.
func TestLateGuidance(t *testing.T) {
	t.Parallel()
	s := ralph.Start(ralph.Task{}).Apply(ralph.Event{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: 1, Attempt: 1}})
	for range 9 {
		s = s.Guide(strings.Repeat("x", 1<<10))
	}
	if s.Late != len(s.Guidance) || s.Late >= 9 {
		t.Errorf("%d of %d are late", s.Late, len(s.Guidance))
	}
	s = s.Apply(ralph.Event{Kind: ralph.EventGuided, State: &ralph.State{Guidance: []string{"only this"}}})
	if s.Late != 1 || len(s.Guidance) != 1 {
		t.Errorf("%d of %q are late", s.Late, s.Guidance)
	}
	if s = s.Next(ralph.Iteration{Number: 1, Attempt: 1}); len(s.Guidance) != 1 || s.Late != 0 {
		t.Errorf("%d of %q are late", s.Late, s.Guidance)
	}
}
