//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/modelserver"
)

// falseClaim claims the work before doing it, and is told.
func falseClaim(dir string) []modelserver.Turn {
	return []modelserver.Turn{
		{Text: claim},
		{Text: "The file is missing, so I write it.", Write: helloIn(dir)},
		{Text: claim},
	}
}

func TestE2EFalseClaim(t *testing.T) {
	eachAgent(t, falseClaim, func(e *e2eRun) {
		s, log, err := e.run(e.context(), e.command(), ralph.Limits{})
		if err != nil {
			e.Fatal(err)
		}
		if s.Stop != ralph.StopVerified || s.Iteration != 2 {
			e.Errorf("stopped: %s in iteration %d, want verified in 2", s.Stop, s.Iteration)
		}
		if diff := cmp.Diff([]ralph.Fault{"", ""}, log.faults()); diff != "" {
			e.Fatalf("faults (-want +got):\n%s", diff)
		}
		e.checkPrompts(log.ended[0].Verdict.Feedback)
		last := log.ended[1]
		if !slices.Contains(last.Files, "hello.txt") || last.Workspace == log.ended[0].Workspace {
			e.Errorf("the written file is not seen: files %q, workspace %s, before %s", last.Files, last.Workspace, log.ended[0].Workspace)
		}
		const in, out = 300, 30
		if s.Usage.InputTokens != in || s.Usage.OutputTokens != out || (last.Session == "") != (e.agent == "cline") {
			e.Errorf("usage %+v, want %d and %d tokens; session %q", s.Usage, in, out, last.Session)
		}
	})
}

// checkPrompts checks what the model was asked by a loop on falseClaim: the
// task in each iteration, and the feedback in the second.
func (e *e2eRun) checkPrompts(feedback string) {
	e.Helper()
	asked := e.server.Requests()
	if len(asked) != 3 || feedback == "" {
		e.Fatalf("%d requests, want 3; the feedback is %q", len(asked), feedback)
	}
	if !asked[0].Holds(e2ePrompt) || !asked[1].Holds(e2ePrompt) {
		e.Error("a prompt does not hold the task")
	}
	for line := range strings.SplitSeq(strings.TrimSpace(feedback), "\n") {
		if asked[0].Holds(line) || !asked[1].Holds(line) {
			e.Errorf("%q is not quoted in the second prompt alone", line)
		}
	}
	if len(asked[1].Results) != 0 || len(asked[2].Results) != 1 {
		e.Errorf("tool results: %q, then %q, want none in a fresh context, then one", asked[1].Results, asked[2].Results)
	}
}

// What the tag stands in does not make it a claim: thinking, a tool's output, a
// file, a message that the last one retracts. The file is there, so whatever is
// taken for a claim is verified.
func TestE2ETrap(t *testing.T) {
	script := func(dir string) []modelserver.Turn {
		const tag = "<promise>COMPLETE</promise>"
		return []modelserver.Turn{
			{Thinking: "Is it done?\n" + tag, Shell: "echo '" + tag + "'"},
			{Text: claim, Write: &modelserver.File{Path: filepath.Join(dir, "notes.txt"), Content: tag + "\n"}},
			{Text: "That was too early. When it is done I shall write " + tag + " as I was told."},
		}
	}
	eachAgent(t, script, func(e *e2eRun) {
		e.write("hello.txt", "hello\n")
		s, log, err := e.run(e.context(), e.command(), ralph.Limits{Iterations: 1})
		if s.Stop != ralph.StopIterations || len(log.ended) != 1 {
			e.Fatalf("stopped: %s after %d iterations (%v), want iterations after 1", s.Stop, len(log.ended), err)
		}
		if it := log.ended[0]; it.Claimed || it.Fault != "" || it.NearMiss == "" {
			e.Errorf("claimed %v, fault %q, near miss %q; want a near miss", it.Claimed, it.Fault, it.NearMiss)
		}
		if got := log.output.String(); strings.Count(got, "<promise>COMPLETE") < 4 {
			e.Error("the stream does not hold the traps, so this proves nothing")
		}
		if _, err := os.Stat(filepath.Join(e.dir, "notes.txt")); err != nil {
			e.Error(err)
		}
	})
}

// An error that the client gives up on is a fault of its kind.
func TestE2EFaults(t *testing.T) {
	tests := []struct {
		name  string
		turn  modelserver.Turn
		fault []ralph.Fault // any of them
		stop  ralph.StopReason
	}{
		{"429", modelserver.Turn{Status: 429, RetryAfter: time.Second}, []ralph.Fault{ralph.FaultRateLimit}, ralph.StopRateLimited},
		{"500", modelserver.Turn{Status: 500}, []ralph.Fault{ralph.FaultError}, ralph.StopFailed},
		{"401", modelserver.Turn{Status: 401}, []ralph.Fault{ralph.FaultPermanent}, ralph.StopFailed},
		{"event", modelserver.Turn{Text: claim, Break: modelserver.BreakError}, []ralph.Fault{ralph.FaultError, ralph.FaultIncomplete}, ralph.StopFailed},
		{"drop", modelserver.Turn{Text: claim, Break: modelserver.BreakDrop}, []ralph.Fault{ralph.FaultError, ralph.FaultIncomplete}, ralph.StopFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			script := forEver(tt.turn)
			eachAgent(t, script, func(e *e2eRun) {
				e.write("hello.txt", "hello\n") // no claim may come of it
				s, log, err := e.run(e.context(), e.command(), ralph.Limits{Retries: -1, Failures: 1, Wait: 1})
				if s.Stop != tt.stop || len(log.ended) != 1 || !slices.Contains(tt.fault, log.ended[0].Fault) {
					e.Errorf("stopped: %s, faults %q (%v), want %s with %q", s.Stop, log.faults(), err, tt.stop, tt.fault)
				}
				if s.Detail == "" {
					e.Error("nothing is said about the reason")
				}
				e.Logf("%s: %s: %s after %d requests", e.agent, s.Stop, s.Detail, len(e.server.Requests()))
			})
		})
	}
}

// One error is mended by the client if it retries, else by the loop.
func TestE2ERecovers(t *testing.T) {
	script := func(string) []modelserver.Turn { return []modelserver.Turn{{Status: 500}, {Text: claim}} }
	t.Run("client", func(t *testing.T) {
		eachAgent(t, script, func(e *e2eRun) {
			e.write("hello.txt", "hello\n")
			_, log, err := e.run(e.context(), e.command(), ralph.Limits{})
			if diff := cmp.Diff([]ralph.Fault{""}, log.faults()); err != nil || diff != "" {
				e.Errorf("error %v, faults (-want +got):\n%s", err, diff)
			}
		})
	})
	t.Run("loop", func(t *testing.T) {
		script := func(agent, _ string) []modelserver.Turn {
			return append(slices.Repeat([]modelserver.Turn{{Status: 500}}, ownTries(agent)), modelserver.Turn{Text: claim})
		}
		eachClient(t, script, func(e *e2eRun) {
			e.write("hello.txt", "hello\n")
			s, log, err := e.run(e.context(), e.impatient(), ralph.Limits{})
			if diff := cmp.Diff([]ralph.Fault{ralph.FaultError, ""}, log.faults()); err != nil || diff != "" {
				e.Errorf("error %v, faults (-want +got):\n%s", err, diff)
			}
			if s.Iteration != 1 || s.Attempt != 2 {
				e.Errorf("verified in iteration %d, attempt %d, want 1, 2", s.Iteration, s.Attempt)
			}
		})
	})
}

// impatient is the client without retries of its own.
func (e *e2eRun) impatient() *ralph.Command {
	c := e.command()
	switch e.agent {
	case "claude":
		c.Env = append(c.Env, "CLAUDE_CODE_MAX_RETRIES=0")
	case "codex":
		c.Args = slices.Insert(c.Args, len(c.Args)-1,
			"-c", "model_providers.scripted.request_max_retries=0", "-c", "model_providers.scripted.stream_max_retries=0")
	}
	return c
}
