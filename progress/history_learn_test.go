package progress_test

import (
	"context"
	"encoding/json"
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

// TestHistoryOfHooks: loops in sessions of hosts are loops as well, each of them one.
func TestHistoryOfHooks(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: filepath.Join(t.TempDir(), "records"), NoSync: true}
	c := newChat(dir)
	c.hook.Verifier = ralph.VerifierFunc(func(_ context.Context, claim ralph.Claim) (ralph.Verdict, error) {
		if claim.Iteration == 2 {
			return ralph.Reject("the tests fail"), nil
		}
		return ralph.Verdict{Passed: true}, nil
	})
	const claims = "<promise>DONE</promise>"
	task := ralph.Task{Prompt: "Do it.", Promise: "DONE", Agent: "chat", Method: "external"}
	for _, answers := range [][]string{{"Not yet.", claims, claims}, {claims}} {
		c.start(t, "s", task)
		if x := c.answers(t, "s", answers...); x.State.Stop != ralph.StopVerified {
			t.Fatalf("%+v", x.State)
		}
	}
	c.start(t, "s", task) // and another one goes on
	c.start(t, "other", task)
	c.answers(t, "other", "Not yet.", claims, "Not yet.")
	h := historyOf(t, dir)
	if h.Skipped != 0 || len(h.Stats) != 1 {
		t.Fatalf("%+v", h)
	}
	s := h.Stats[0]
	if s.Loops != 3 || s.Verified != 1 || s.Iterations(95, 1) != 1 || len(s.Rejections) != 1 || s.Rejections[0].Text != "the tests fail" {
		t.Errorf("%+v", s)
	}
}

// TestHistoryDecoded: as JSON a history does not hold what its loops took, and so gives
// the limits, and the reasons for them, of no loops.
func TestHistoryDecoded(t *testing.T) {
	t.Parallel()
	h := historyOf(t, recorded(t, several("a", "m", 1, 3, 3, 3, 3, 3)...))
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var decoded progress.History
	if err := json.Unmarshal(text, &decoded); err != nil || decoded.Stats[0].Verified != 5 {
		t.Fatalf("%+v, %v", decoded, err)
	}
	task := ralph.Task{Agent: "a", Method: "m", Prompt: "Do it."}
	if got := decoded.Limits(task, 15, 0).Iterations; got != 15 {
		t.Errorf("%d iterations, want 15", got)
	}
	if got := decoded.Lesson(ralph.Start(task), 15, 0).Why; !strings.Contains(got, "15, for fewer than 5 verified loops of a with m checks are on record (0)") {
		t.Error(got)
	}
}

// TestHistoryOfEndlessLine: a journal without the end of a line is not read to its end,
// however long it is, and is counted as one that makes no sense.
func TestHistoryOfEndlessLine(t *testing.T) {
	t.Parallel()
	dir := recorded(t, pastLoop{name: "a"})
	path := filepath.Join(dir.Path, "endless.jsonl")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 65<<20); err != nil { // a hole, which needs no room
		t.Fatal(err)
	}
	if h := historyOf(t, dir); h.Skipped != 1 || h.Stats[0].Loops != 1 {
		t.Errorf("%+v", h)
	}
}
