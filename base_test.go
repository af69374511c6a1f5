package ralph_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// TestBase: the commit at which a loop begins is recorded with its start, stays what
// it was whatever is committed, and is what the verifier is told; a driver that
// prepares loops gets it in the state.
func TestBase(t *testing.T) {
	t.Parallel()
	dir := gitRepo(t)
	out, err := exec.CommandContext(t.Context(), "git", "-C", dir, "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.TrimSpace(string(out))
	var recorded string
	var told []string
	l := &ralph.Local{
		Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
			runIn(t, dir, "echo x >>a; git commit -qam next")
			return ralph.Response{Output: "<promise>COMPLETE</promise>"}, nil
		}),
		Verifier: ralph.VerifierFunc(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
			told = append(told, c.Base)
			return ralph.Verdict{Passed: len(told) == 3}, nil
		}),
		Log: ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error {
			if ev.Kind == ralph.EventLoopStarted {
				recorded = ev.State.Base
			}
			return nil
		}),
		Workspace: func(context.Context, string) (string, []string, error) { return "", nil, nil },
	}
	start := ralph.Start(ralph.Task{ID: "T", Prompt: "p", Dir: dir, Limits: ralph.Limits{Iterations: 2}})
	ready, err := l.Prepare(t.Context(), start)
	if err != nil || ready.Base != want {
		t.Errorf("prepared: %q, %v; want %q", ready.Base, err, want)
	}
	s, err := l.Run(t.Context(), start)
	if err == nil || s.Base != want || recorded != want {
		t.Errorf("%q and %q, %v; want %q", s.Base, recorded, err, want)
	}
	// It goes on from there, also as another process would.
	on := s
	on.Stop, on.Detail = "", ""
	on.Iteration, on.Task.Limits.Iterations = 3, 3
	if s, err = l.Run(t.Context(), on); err != nil || s.Base != want || recorded != want {
		t.Errorf("%q and %q, %v", s.Base, recorded, err)
	}
	if strings.Join(told, " ") != strings.Join([]string{want, want, want}, " ") {
		t.Errorf("the verifier is told %q", told)
	}
	// What has begun without one has none: a later commit is not where it began.
	on.Base = ""
	if ready, err = l.Prepare(t.Context(), on); err != nil || ready.Base != "" {
		t.Errorf("%q, %v", ready.Base, err)
	}
	// Nor has one elsewhere.
	l.Verifier = verify.String{}
	if ready, err = l.Prepare(t.Context(), ralph.Start(ralph.Task{Prompt: "p", Dir: t.TempDir()})); err != nil || ready.Base != "" {
		t.Errorf("%q, %v", ready.Base, err)
	}
}
