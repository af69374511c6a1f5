package progress_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// TestLearn: a loop that begins asks once, what it has learned is on record, is in its first
// prompt, survives the end of the process, and is not asked for when it goes on.
func TestLearn(t *testing.T) {
	t.Parallel()
	dir := recorded(t, several("a", "m", 1, 1, 1, 1, 1, 1)...)
	for _, name := range []string{"b", "c"} {
		pastLoop{name: name, agent: "a", method: "m", rejected: []string{"the tests fail"}}.run(t, dir)
	}
	asked := 0
	var prompts []string
	ctx, cancel := context.WithCancelCause(t.Context())
	local := func(answer string) *ralph.Local {
		return &ralph.Local{
			Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
				prompts = append(prompts, req.Prompt)
				cancel(errors.New("the process ends"))
				return ralph.Response{Output: answer}, nil
			}),
			Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) { return ralph.Reject("no"), nil }),
			Learn: func(ctx context.Context, s ralph.State) (ralph.Lesson, error) {
				asked++
				return dir.Learn(ctx, s, 10, 0)
			},
		}
	}
	s := ralph.Start(ralph.Task{ID: "new", Agent: "a", Method: "m", Prompt: "Do it."})
	j, err := dir.Create(s, progress.KindLoop)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = j.Run(ctx, local("Not done yet.")); err == nil || s.Done() {
		t.Fatalf("%v, %v: it was to be interrupted", s, err)
	}
	if err := errors.Join(j.Close(), dir.Close()); err != nil {
		t.Fatal(err)
	}
	again := &progress.Dir{Path: dir.Path, NoSync: true} // of another process
	defer again.Close()
	if j, err = again.Open(s.Loop); err != nil {
		t.Fatal(err)
	}
	if l := j.State.Task.Limits.Iterations; l != 2 {
		t.Errorf("%d iterations are on record, want 2", l)
	}
	s, err = j.Run(t.Context(), local("<promise>COMPLETE</promise>"))
	if stop, ok := errors.AsType[*ralph.StopError](err); !ok || stop.Reason != ralph.StopIterations || s.Iteration != 2 {
		t.Errorf("%v at iteration %d, want that 2 iterations are the limit", err, s.Iteration)
	}
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
	if len(prompts) != 3 || !strings.Contains(prompts[0], "the tests fail") || !strings.Contains(prompts[1], "the tests fail") || strings.Contains(prompts[2], "the tests fail") {
		t.Errorf("%d prompts:\n%s", len(prompts), strings.Join(prompts, "\n=====\n"))
	}
	text, err := os.ReadFile(again.File(s.Loop))
	if n := strings.Count(string(text), `{"kind":"learned"`); err != nil || n != 1 {
		t.Errorf("%d times on record (%v)", n, err)
	}
}

// TestLearnNothing: of a history without anything to say nothing is recorded, and an error
// of the folder ends the run before the agent is started.
func TestLearnNothing(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: filepath.Join(t.TempDir(), "records")}
	lesson, err := dir.Learn(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it."}), 10, 0)
	if err != nil || lesson.Why != "" {
		t.Errorf("%+v, %v", lesson, err)
	}
	if err := os.WriteFile(dir.Path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Learn(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it."}), 10, 0); err == nil || !strings.HasPrefix(err.Error(), "progress: ") {
		t.Errorf("a file in place of the folder: %v", err)
	}
}
