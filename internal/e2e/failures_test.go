//go:build linux

package e2e_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/modelserver"
)

// The promise comes in pieces, in JSON, and escaped: it is found in what the
// stream says, and the same bytes elsewhere in the stream are not looked at.
func TestFailure03RealStream(t *testing.T) {
	const tag = "<promise>COMPLETE</promise>"
	script := func(string) []modelserver.Turn {
		return []modelserver.Turn{
			{Thinking: "Not yet.\n" + tag, Text: "I look first.", Shell: "echo '" + tag + "'"},
			{Text: "There is more to do."},
			{Text: "Now it is done: \"all\" of it, \\ and all.\n" + tag},
		}
	}
	eachAgent(t, script, func(e *e2eRun) {
		e.write("hello.txt", "hello\n")
		s, log, err := e.run(e.context(), e.command(), ralph.Limits{})
		var claims []bool
		for _, it := range log.ended {
			claims = append(claims, it.Claimed)
		}
		if diff := cmp.Diff([]bool{false, true}, claims); diff != "" || s.Stop != ralph.StopVerified {
			e.Errorf("stopped: %s (%v), claims (-want +got):\n%s", s.Stop, err, diff)
		}
	})
}

// A model that says its prompt back, in which the promise stands, claims
// nothing, not even by the laxest rule.
func TestFailure04RealEcho(t *testing.T) {
	task := ralph.Task{ID: "hello", Prompt: e2ePrompt, Match: ralph.MatchFold, Limits: ralph.Limits{Iterations: 1}}
	prompt := ralph.Start(task).Prompt()
	script := func(string) []modelserver.Turn {
		return []modelserver.Turn{{Text: "You want this of me:\n\n" + prompt + "\nI shall begin."}}
	}
	eachAgent(t, script, func(e *e2eRun) {
		e.write("hello.txt", "hello\n")
		task := task
		task.Dir = e.dir
		s, log, err := e.goOn(e.context(), e.command(), ralph.Start(task))
		if s.Stop != ralph.StopIterations || len(log.ended) != 1 || log.ended[0].Fault != "" {
			e.Errorf("stopped: %s (%v), faults %q, want iterations without a fault", s.Stop, err, log.faults())
		}
		if !e.server.Requests()[0].Holds(strings.TrimSpace(prompt)) {
			e.Error("the prompt that was said back is not the one that was sent")
		}
	})
}

// Clients read their standard input to its end before they begin, whatever else
// they were told, and it holds more than a pipe does.
func TestFailure26RealStdin(t *testing.T) {
	script := func(string) []modelserver.Turn { return []modelserver.Turn{{Text: claim}} }
	eachAgent(t, script, func(e *e2eRun) {
		e.write("hello.txt", "hello\n")
		const last = "This is the last line of the task."
		task := ralph.Task{Dir: e.dir, Prompt: strings.Repeat("Write a file hello.txt, please.\n", 8<<10) + last}
		s, log, err := e.goOn(e.context(), e.command(), ralph.Start(task))
		if err != nil || s.Iteration != 1 {
			e.Fatalf("%v, faults %q", err, log.faults())
		}
		if q := e.server.Requests()[0]; !q.Holds(last) || !q.Holds("<promise>COMPLETE</promise>") {
			e.Error("the client did not get the whole prompt")
		}
	})
}
