package ralph_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// TestVerificationIsFound: what a check has started is found by the mark of the attempt,
// so that a resume ends it when this program and its watchdog were killed.
func TestVerificationIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mark, told := ralph.NewMark(), filepath.Join(dir, "environment")
	s := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it.", Dir: dir})
	s = s.Apply(ralph.Event{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: 1, Attempt: 1}, Meta: map[string]string{"mark": mark}})
	l := &ralph.Local{Runner: ralph.Replay("<promise>COMPLETE</promise>"), Verifier: verify.External{Shell: "env > " + told}}
	if it, err := l.Iterate(context.Background(), s); err != nil || !it.Verdict.Passed {
		t.Fatalf("%+v, %v", it, err)
	}
	id, _, _ := strings.Cut(mark, "-")
	if text, err := os.ReadFile(told); err != nil || !strings.Contains(string(text), "RALPH_RUN_"+id+"=1\n") {
		t.Errorf("%s, %v", text, err)
	}
}
