package progresstest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

// text has what breaks logs that quote or split carelessly.
const text = "two\nlines\r\n\ttab \"quotes\" 'single' `back` \\n {{.X}} %s $HOME <b>&amp; , ; | é ✅ 字 \u2028 end"

// A script makes the events of one loop. It folds what it makes, as a driver does,
// so that the numbers of iterations and attempts are those of a real loop.
type script struct {
	loop   string
	start  time.Time
	state  ralph.State
	events []ralph.Event
}

// add fills in what every event has. Times have nanoseconds, which a log that
// stores seconds, or milliseconds, would lose.
func (s *script) add(ev ralph.Event) {
	ev.V = ralph.Version
	ev.Time = s.start.Add(time.Duration(len(s.events))*time.Second + 123456789)
	ev.Loop, ev.Task, ev.Agent = s.loop, s.state.Task.ID, s.state.Task.Agent
	s.events = append(s.events, ev)
	s.state = s.state.Apply(ev)
}

// newScript begins a loop whose task has texts, lists, maps, money and raw JSON:
// each is something that a log with a format of its own may lose.
func newScript(loop string) *script {
	state := ralph.Start(ralph.Task{
		ID: loop, Agent: "coder", Title: "a title", Prompt: text, Dir: "work", Outcome: text,
		Acceptance: []string{"one", text}, Blocked: "BLOCKED", Limits: ralph.Limits{Iterations: 7, Blocked: 2, CostUSD: 2.5, Priced: true},
		Spec: json.RawMessage(`{"a":[1,2]}`), Guarded: map[string]string{"a_test.go": "00"},
	})
	state.Loop = loop
	s := &script{loop: loop, start: time.Date(2026, 1, 29, 10, 0, 0, 0, time.UTC), state: state}
	s.add(ralph.Event{Kind: ralph.EventLoopStarted, State: &state, Meta: map[string]string{"preset": "claude", "text": text}})
	return s
}

// attempt adds an attempt as a loop records it: begun, answered, ended. The token
// count is more than 32 bits hold, and the lists of files are not sorted, for a log
// may be tempted to make both smaller or neater.
func (s *script) attempt(it ralph.Iteration, output string) {
	it.Number, it.Attempt = s.state.Iteration, s.state.Attempt
	it.Start = s.start.Add(time.Duration(len(s.events)) * time.Second)
	begun := ralph.Iteration{Number: it.Number, Attempt: it.Attempt, Start: it.Start}
	s.add(ralph.Event{Kind: ralph.EventIterationStarted, Iteration: begun})
	cost := 0.25
	it.Usage = ralph.Usage{Requests: 2, Messages: 3, InputTokens: 1 << 40, OutputTokens: 17, CacheRead: 5, CacheWrite: 3, CostUSD: &cost, Estimated: true}
	s.add(ralph.Event{Kind: ralph.EventAnswered, Iteration: begun, Answer: &ralph.Response{
		Output: output, Usage: it.Usage, Model: "m", Session: "s", Files: []string{"b.go", "a.go"}, Learnings: []string{text},
	}})
	it.End, it.Elapsed = it.Start.Add(1500*time.Millisecond), 1500*time.Millisecond
	it.Model, it.Session, it.Files, it.Learnings = "m", "s", []string{"b.go", "a.go"}, []string{text}
	s.add(ralph.Event{Kind: ralph.EventIterationEnded, Iteration: it})
}

// own returns the events such that none shares memory with another, or with those
// of another call: what a log was given can be overwritten, and compared with
// what it was meant to be given.
func (s *script) own() []ralph.Event {
	events := make([]ralph.Event, len(s.events))
	for i, ev := range s.events {
		json.Unmarshal([]byte(encode(ev)), &events[i]) // the events are what this file makes them: there is no error
	}
	return events
}

// verified is a loop with every kind of event but a cancel. Its second answer
// is longer than the longest line that a bufio.Scanner reads by default.
func verified() []ralph.Event {
	s := newScript("kit.verified")
	s.add(ralph.Lesson{Limits: ralph.Limits{Iterations: 8, CostUSD: 2.5}, Rejections: []string{"first", text}, Why: text}.Event(s.state))
	s.attempt(ralph.Iteration{Outcome: ralph.OutcomeFailure, Fault: ralph.FaultError, Error: text}, "")
	s.add(ralph.Event{Kind: ralph.EventWaiting, Text: "waiting 1s before the next retry"})
	s.add(ralph.Event{Kind: ralph.EventGuided, Text: text})
	exit := 1
	s.attempt(ralph.Iteration{Outcome: ralph.OutcomeFailure, Claimed: true, Line: 3, Verdict: ralph.Verdict{Feedback: text, Checks: []ralph.Check{
		{Name: "tests", Status: ralph.CheckFailed, Detail: text, Duration: time.Second, ExitCode: &exit, Digest: "sha256:00"},
	}}}, strings.Repeat(text, 2000))
	s.add(ralph.Event{Kind: ralph.EventGuided, State: &ralph.State{Guidance: []string{"first", text}}})
	s.add(ralph.Event{Kind: ralph.EventLimitsChanged, State: &ralph.State{Task: ralph.Task{Limits: ralph.Limits{Iterations: 9}}}})
	s.add(ralph.Event{Kind: ralph.EventPaused})
	s.add(ralph.Event{Kind: ralph.EventContinued})
	s.add(ralph.Event{Kind: "of_a_later_version", Text: "a kind that is not known yet changes nothing and is no error"})
	s.attempt(ralph.Iteration{Outcome: ralph.OutcomeSuccess, Claimed: true, Line: 1, Verdict: ralph.Verdict{Passed: true, Checks: []ralph.Check{
		{Name: "tests", Status: ralph.CheckPassed, Duration: time.Second},
	}}}, "<promise>COMPLETE</promise>")
	final := s.state
	s.add(ralph.Event{Kind: ralph.EventLoopStopped, State: &final})
	return s.own()
}

// cancelled is a short loop that a person cancels while an attempt runs.
func cancelled() []ralph.Event {
	s := newScript("kit.cancelled")
	learned := s.state.Task.Limits
	learned.Iterations = 5 // until the end, so that a log that keeps only states shows it
	s.add(ralph.Lesson{Limits: learned, Rejections: []string{text}, Why: text}.Event(s.state))
	s.attempt(ralph.Iteration{Outcome: ralph.OutcomeSuccess, NearMiss: "fenced"}, "so far")
	s.attempt(ralph.Iteration{Outcome: ralph.OutcomeSuccess, Blocked: true, Obstacle: text, Unseen: text}, "<promise>BLOCKED</promise>")
	begun := ralph.Iteration{Number: s.state.Iteration, Attempt: s.state.Attempt, Start: s.start}
	s.add(ralph.Event{Kind: ralph.EventIterationStarted, Iteration: begun})
	s.add(ralph.Event{Kind: ralph.EventCancelled, Text: text})
	begun.Outcome, begun.Fault, begun.Elapsed = ralph.OutcomeInterrupted, ralph.FaultInterrupted, time.Second
	s.add(ralph.Event{Kind: ralph.EventIterationEnded, Iteration: begun})
	final := s.state
	s.add(ralph.Event{Kind: ralph.EventLoopStopped, State: &final})
	return s.own()
}

// many are the events of loop n of those that share a log. Its answers differ in
// length, so that the writes of two loops overlap in different places.
func many(n int) []ralph.Event {
	s := newScript(fmt.Sprintf("kit.shared.%d", n))
	for i := range 6 {
		s.attempt(ralph.Iteration{Outcome: ralph.OutcomeSuccess}, strings.Repeat(text, 1+i*i))
	}
	final := s.state
	s.add(ralph.Event{Kind: ralph.EventLoopStopped, State: &final})
	return s.own()
}

// fold is what resuming makes of a log: the state that its events lead to.
func fold(events []ralph.Event) ralph.State {
	var s ralph.State
	for _, ev := range events {
		s = s.Apply(ev)
	}
	return s
}
