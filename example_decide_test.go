package ralph_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

// Deciding needs no agent: what an attempt was is a value, and so is what follows.
func ExampleState_Next() {
	s := ralph.Start(ralph.Task{Prompt: "Make the tests pass."})
	s = s.Next(ralph.Iteration{Number: 1, Attempt: 1, Claimed: true, Verdict: ralph.Reject("2 tests fail")})
	fmt.Println(s.Iteration, s.Done(), s.Feedback)
	s = s.Next(ralph.Iteration{Number: 2, Attempt: 1, Claimed: true, Verdict: ralph.Pass()})
	fmt.Println(s.Iteration, s.Done(), s.Stop)
	// Output:
	// 2 false 2 tests fail
	// 2 true verified
}

// The state after a crash is the fold of what was recorded before it.
func ExampleState_Apply() {
	begun := ralph.Start(ralph.Task{ID: "T1", Prompt: "Do it."})
	var s ralph.State
	for _, ev := range []ralph.Event{
		{Kind: ralph.EventLoopStarted, State: &begun},
		{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: 1, Attempt: 1}},
		{Kind: ralph.EventIterationEnded, Iteration: ralph.Iteration{Number: 1, Attempt: 1}},
		{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: 2, Attempt: 1}},
	} {
		s = s.Apply(ev)
	}
	fmt.Println(s.Loop, "died in iteration", s.Iteration, s.Running)
	// Output: T1 died in iteration 2 true
}

// Advice from a person stands in the next prompt, marked as such.
func ExampleState_Guide() {
	s := ralph.Start(ralph.Task{Prompt: "Make the tests pass."}).Guide("The database runs on port 5433.")
	fmt.Print(s.Continuation())
	// Output:
	// ## Guidance from the people who run this loop
	//
	// - The database runs on port 5433.
}

func ExampleState_Cancel() {
	s := ralph.Start(ralph.Task{ID: "T1", Prompt: "Do it."}).Cancel("it is not needed any more")
	fmt.Println(s.Err())
	fmt.Println(errors.Is(s.Err(), ralph.ErrCancelled))
	// Output:
	// ralph: T1: stopped: cancelled: it is not needed any more
	// true
}

// A loop that a limit has stopped goes on where it was when the limit is raised.
func ExampleState_Limit() {
	s := ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1}})
	s = s.Next(ralph.Iteration{Number: 1, Attempt: 1})
	fmt.Println(s.Stop, s.Detail)
	s = s.Limit(ralph.Limits{Iterations: 5})
	fmt.Println(s.Done(), s.Iteration)
	// Output:
	// iterations the limit of iterations, 1, is reached, and the task is not verified
	// false 2
}

// A person has mended what was in the way: the loop goes on.
func ExampleState_Reopen() {
	s := ralph.Start(ralph.Task{Prompt: "Deploy it.", Blocked: "BLOCKED"})
	s = s.Next(ralph.Iteration{Number: 1, Attempt: 1, Blocked: true, Obstacle: "there is no password"})
	fmt.Println(s.Stop, "-", s.Detail)
	s = s.Reopen()
	fmt.Println(s.Done(), s.Iteration)
	// Output:
	// blocked - the agent says that it cannot go on: there is no password
	// false 2
}

// What somebody else has made of a state is recorded as events.
func ExampleState_Changes() {
	s := ralph.Start(ralph.Task{Prompt: "Do it."})
	for _, ev := range s.Changes(s.Pause(true).Guide("Begin with the tests.")) {
		fmt.Println(ev.Kind)
	}
	// Output:
	// guided
	// paused
}

// A driver of your own says when a running agent has spent the budget.
func ExampleState_Over() {
	s := ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Tokens: 1000, Duration: time.Hour}})
	fmt.Printf("%q\n", s.Over(ralph.Usage{InputTokens: 600, OutputTokens: 100}, time.Minute))
	fmt.Printf("%q\n", s.Over(ralph.Usage{InputTokens: 900, OutputTokens: 100}, time.Minute))
	// Output:
	// ""
	// "tokens"
}

func ExampleState_Signal() {
	s := ralph.Start(ralph.Task{Prompt: "Do it.", Promise: "ALL TESTS PASS"})
	for line := range strings.Lines(s.Signal()) {
		if strings.Contains(line, "<promise>") {
			fmt.Print(line)
		}
	}
	// Output: <promise>ALL TESTS PASS</promise>
}

func ExampleStart() {
	s := ralph.Start(ralph.Task{ID: "T1", Agent: "coder", Prompt: "Do it.", Promise: "two\nlines"})
	fmt.Println(s.Loop, s.Stop)
	fmt.Println(s.Detail)
	// Output:
	// T1.coder invalid
	// task: promise "two\nlines" has a line break; a promise is one line
}

// A runner says what kind of an error it is, and the loop acts on that.
func ExamplePermanent() {
	err := ralph.Permanent(errors.New("the agent is not installed"))
	fmt.Println(err, ralph.Permanent(nil))
	// Output: the agent is not installed <nil>
}

// The provider wants to be left alone: the loop waits, which costs no iteration.
func ExampleRetryAfter() {
	s := ralph.Start(ralph.Task{Prompt: "Do it."})
	end := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	s = s.Next(ralph.Iteration{Number: 1, Attempt: 1, Fault: ralph.FaultRateLimit, RetryAfter: time.Hour, End: end})
	fmt.Println("iteration", s.Iteration, "attempt", s.Attempt, "not before", s.NotBefore().Format(time.TimeOnly))
	err := ralph.RetryAfter(io.ErrUnexpectedEOF, time.Hour) // what a runner returns for it
	fmt.Println(errors.Is(err, io.ErrUnexpectedEOF))
	// Output:
	// iteration 1 attempt 2 not before 13:00:00
	// true
}

func ExampleNoncePromise() {
	promise := ralph.NoncePromise("COMPLETE")
	fmt.Println(strings.HasPrefix(promise, "COMPLETE-"), len(promise))
	// Output: true 19
}

func ExampleVerdict_Undecided() {
	v := ralph.Verdict{Checks: []ralph.Check{{Name: "go test", Status: ralph.CheckUnable, Detail: "go is not installed"}}}
	fmt.Println(v.Passed, v.Undecided())
	// Output: false true
}

func ExampleUsage() {
	cost := 0.25
	agent := ralph.Usage{Requests: 3, InputTokens: 1200, OutputTokens: 340, CostUSD: &cost}
	judge := ralph.Usage{Requests: 1, InputTokens: 500, OutputTokens: 20} // its cost is not known
	fmt.Println(agent.Add(judge))
	// Output: 4 requests, 1700 tokens in, 360 out, $0.2500
}

func ExampleLimits_Validate() {
	fmt.Println(ralph.Limits{Iterations: -1}.Validate())
	// Output: ralph: limits: unlimited iterations need a duration, tokens or cost_usd to stop at
}

// What was learned from earlier loops is an event like any other.
func ExampleLesson() {
	lesson := ralph.Lesson{Rejections: []string{"the changelog has no entry"}, Why: "3 of 4 loops forgot it"}
	s := ralph.Start(ralph.Task{Prompt: "Do it."})
	s = s.Apply(lesson.Event(s))
	fmt.Println(s.Lessons, s.Task.Limits == ralph.Limits{})
	// Output: [the changelog has no entry] true
}

// A person wants the loop to end, and its last iteration not to be lost.
func ExampleState_Finish() {
	s := ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Iterations: 8}})
	s = s.Next(ralph.Iteration{Number: 1, Attempt: 1}).Finish()
	fmt.Println(s.Stop)
	more := s.Task.Limits
	more.Iterations = 8
	fmt.Println(s.Limit(more).Iteration)
	// Output:
	// iterations
	// 2
}

// A session of a host gets the task by Opening, and what came of each answer by
// Continuation.
func ExampleState_Continuation() {
	s := ralph.Start(ralph.Task{Prompt: "Do it."})
	s = s.Next(ralph.Iteration{Number: 1, Attempt: 1, Claimed: true, Verdict: ralph.Reject("TestLogin fails")})
	fmt.Println(s.Continuation())
	// Output:
	// ## What is missing
	//
	// The work was verified after an earlier iteration, and it is not done yet. This is what the check said:
	//
	//     TestLogin fails
	//
	// Do not start over: look at what is there, find out why the check failed and mend that.
}

// A worker is lost with its machine. What it had told of its usage is spent, and the
// iteration is made again.
func ExampleDispatch_Missed() {
	d := ralph.Dispatch{State: ralph.Start(ralph.Task{Prompt: "Do it."}), Hosts: map[string]map[string]string{"worker-3": {}}}
	beat := ralph.Beat{Host: "worker-3", Mark: ralph.NewMark(), Usage: ralph.Usage{InputTokens: 5000}}
	d = d.Begin(time.Now()).Missed(beat, "no beat for a minute", time.Now())
	fmt.Println("iteration", d.State.Iteration, "attempt", d.State.Attempt, "tokens", d.State.Usage.InputTokens)
	// Output: iteration 1 attempt 2 tokens 5000
}
