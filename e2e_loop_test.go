package ralph_test

import (
	"slices"
	"strings"
	"testing"

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
			e.Errorf("faults (-want +got):\n%s", diff)
		}
		asked := e.server.Requests()
		if len(asked) != 3 {
			e.Fatalf("%d requests, want 3", len(asked))
		}
		feedback := log.ended[0].Verdict.Feedback
		for line := range strings.Lines(feedback) {
			if !asked[1].Holds(strings.TrimSpace(line)) || asked[0].Holds(strings.TrimSpace(line)) {
				e.Errorf("the feedback %q is not quoted in the second prompt alone", line)
			}
		}
		if feedback == "" || !asked[0].Holds(e2ePrompt) || !asked[1].Holds(e2ePrompt) {
			e.Errorf("a prompt does not hold the task, or the claim was rejected without a word: %q", feedback)
		}
		last := log.ended[1]
		if !slices.Contains(last.Files, "hello.txt") || last.Workspace == log.ended[0].Workspace {
			e.Errorf("the written file is not seen: files %q, workspace %s, before %s", last.Files, last.Workspace, log.ended[0].Workspace)
		}
		e.Logf("%+v", last)
		if s.Usage.InputTokens == 0 || s.Usage.OutputTokens == 0 || last.Session == "" {
			e.Errorf("usage %+v, session %q", s.Usage, last.Session)
		}
	})
}
