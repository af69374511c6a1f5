package progress_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// eventful is the log of a loop to which everything happened.
func eventful(t testing.TB) []string {
	t.Helper()
	start := time.Date(2026, 1, 18, 9, 0, 0, 0, time.UTC)
	code := 1
	s := ralph.Start(ralph.Task{ID: "T", Agent: "coder", Promise: "DONE", Acceptance: []string{"a"}, Guarded: map[string]string{"x": "00"},
		Limits: ralph.Limits{Iterations: 9, Duration: time.Hour, CostUSD: 0.5, Tokens: 1000, Retries: 2, Failures: 3, Stalls: 4, Wait: time.Hour}})
	var text bytes.Buffer
	log := &progress.JSONL{W: &text}
	record := func(ev ralph.Event) {
		ev.Loop, ev.Task, ev.Agent, ev.Time = s.Loop, s.Task.ID, s.Task.Agent, start
		if ev.Kind != ralph.EventLoopStarted {
			s = s.Apply(ev)
		}
		if ev.Kind == ralph.EventLoopStopped {
			ev.State = &s
		}
		if err := log.Append(t.Context(), ev); err != nil {
			t.Fatal(err)
		}
	}
	attempt := func(it ralph.Iteration, between ...ralph.Event) {
		it.Number, it.Attempt, it.Start, it.End, it.Elapsed = s.Iteration, s.Attempt, start, start.Add(time.Minute), time.Minute
		record(ralph.Event{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: it.Number, Attempt: it.Attempt, Start: start}})
		for _, ev := range between {
			record(ev)
		}
		record(ralph.Event{Kind: ralph.EventIterationEnded, Iteration: it})
	}
	first := s.Guide("first").Guide("second")
	first.Running, first.Late, first.Usage = true, 1, ralph.Usage{InputTokens: 3, CostUSD: new(0.01)}
	first.Wait, first.Waited, first.RateLimits, first.Retries = time.Second, time.Second, 1, 1
	s = first
	record(ralph.Event{Kind: ralph.EventLoopStarted, State: &first, Meta: map[string]string{"agent": "claude"}})
	attempt(ralph.Iteration{Usage: ralph.Usage{Requests: 1, InputTokens: 5, CostUSD: new(0.02)}, Workspace: "w", Files: []string{"a.go"}, Learnings: []string{"l"}},
		ralph.Event{Kind: ralph.EventRunning, Iteration: ralph.Iteration{Number: 1, Attempt: 1, Usage: ralph.Usage{InputTokens: 4, CostUSD: new(0.01)}, Elapsed: time.Second}},
		ralph.Event{Kind: ralph.EventGuided, Text: "hurry"},
		ralph.Event{Kind: ralph.EventGuided, State: &ralph.State{Guidance: []string{"hurry", "more"}, Late: 1}},
		ralph.Event{Kind: ralph.EventAnswered, Answer: &ralph.Response{Output: "So far.", Omitted: 3, Usage: ralph.Usage{Messages: 2}}})
	attempt(ralph.Iteration{Fault: ralph.FaultRateLimit, RetryAfter: time.Minute, Outcome: ralph.OutcomeFailure})
	record(ralph.Event{Kind: ralph.EventWaiting, Text: "until then"})
	record(ralph.Event{Kind: ralph.EventLimitsChanged, State: &ralph.State{Task: ralph.Task{Limits: ralph.Limits{Iterations: 5}}}})
	record(ralph.Event{Kind: ralph.EventPaused})
	record(ralph.Event{Kind: ralph.EventContinued})
	attempt(ralph.Iteration{Fault: ralph.FaultError, Error: "exit status 1", Outcome: ralph.OutcomeFailure})
	attempt(ralph.Iteration{Claimed: true, Line: 2, Workspace: "w", Verdict: ralph.Verdict{Feedback: "no", Checks: []ralph.Check{
		{Name: "test", Status: ralph.CheckFailed, ExitCode: &code, Duration: time.Second, Digest: "d"}, {Name: "lint", Status: ralph.CheckUnable}}}})
	record(ralph.Event{Kind: ralph.EventCancelled, Text: "enough"})
	record(ralph.Event{Kind: ralph.EventLoopStopped})
	return strings.SplitAfter(strings.TrimSuffix(text.String(), "\n"), "\n")
}

// foldEdited resumes from a log that somebody has edited, and goes on with what
// comes of it. That may be an error or nonsense, but never a panic.
func foldEdited(t *testing.T, text string) {
	t.Helper()
	defer func() {
		if v := recover(); v != nil {
			t.Errorf("%v with the log\n%s", v, text)
		}
	}()
	again, banner := &progress.JSONL{W: io.Discard}, &progress.Banner{W: io.Discard}
	for rec, err := range progress.ReadJSONL(strings.NewReader(text)) {
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Append(t.Context(), rec.Event); err != nil {
			t.Errorf("%s: %v", rec.Kind, err)
		}
		if err := banner.Append(t.Context(), rec.Event); err != nil {
			t.Errorf("%s: %v", rec.Kind, err)
		}
	}
	s, err := progress.Resume(strings.NewReader(text), "T")
	if err != nil {
		return
	}
	for _, fault := range []ralph.Fault{"", ralph.FaultError, ralph.FaultRateLimit, ralph.FaultTimeout, ralph.FaultInterrupted, ralph.FaultBudget} {
		n := s
		n.Stop = ""
		n = n.Guide("go on").Limit(ralph.Limits{Iterations: 3})
		n = n.Next(ralph.Iteration{Number: n.Iteration, Attempt: n.Attempt, Fault: fault, Elapsed: time.Second, Usage: ralph.Usage{InputTokens: 1, CostUSD: new(0.1)}})
		n.Prompt()
		n.Request()
		n.NotBefore()
		n.Over(ralph.Usage{OutputTokens: 1}, time.Second)
		if _, err := json.Marshal(n); err != nil {
			t.Errorf("%v with the log\n%s", err, text)
		}
	}
}

// TestResumeEdited edits each value in a log, one at a time, into what nobody
// would have written, and leaves out, doubles and swaps lines.
func TestResumeEdited(t *testing.T) {
	t.Parallel()
	lines := eventful(t)
	for _, want := range []string{`"late":1`, `"kind":"guided"`, `"exit_code":1`, `"retry_after":`, `"state":{`, `"kind":"loop_stopped"`} {
		if !strings.Contains(strings.Join(lines, ""), want) {
			t.Errorf("the log has no %s", want)
		}
	}
	edits := 0
	for n := range lines {
		with := func(line string) {
			edits++
			foldEdited(t, strings.Join(lines[:n], "")+line+strings.Join(lines[n+1:], ""))
		}
		with("")
		with(lines[n] + lines[n])
		with(lines[(n+1)%len(lines)] + lines[n])
		with(lines[n][:len(lines[n])/2] + "\n")
		for i := 0; ; i++ {
			more := false
			for _, to := range []any{-7, math.MinInt64, math.MaxInt64, true, "", nil, map[string]any{}} {
				line, ok := edit(t, lines[n], i, to)
				if ok {
					more = true
					with(line)
				}
			}
			if !more {
				break
			}
		}
	}
	if edits < 2000 {
		t.Errorf("only %d edits", edits)
	}
}

// edit replaces the i-th value in a line of JSON, counted in depth.
func edit(t testing.TB, line string, i int, to any) (string, bool) {
	t.Helper()
	var tree any
	dec := json.NewDecoder(strings.NewReader(line))
	dec.UseNumber()
	if err := dec.Decode(&tree); err != nil {
		t.Fatal(err)
	}
	done := false
	var walk func(v any) any
	walk = func(v any) any {
		if i--; i == -1 {
			done = true
			return to
		}
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				v[key] = walk(v[key])
			}
		case []any:
			for k := range v {
				v[k] = walk(v[k])
			}
		}
		return v
	}
	tree = walk(tree)
	text, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n", done
}

// FuzzResumeEdited edits a line of a log at random.
func FuzzResumeEdited(f *testing.F) {
	lines := eventful(f)
	for n := range lines {
		f.Add(uint8(n), uint16(20*n), uint16(1), "-7")
	}
	f.Fuzz(func(t *testing.T, n uint8, at, size uint16, with string) {
		line := lines[int(n)%len(lines)]
		from := int(at) % len(line)
		to := min(from+int(size), len(line))
		foldEdited(t, fmt.Sprint(strings.Join(lines[:int(n)%len(lines)], ""), line[:from], with, line[to:], "\n", strings.Join(lines[int(n)%len(lines)+1:], "")))
	})
}
