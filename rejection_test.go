package ralph_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

// TestSameRejection: what the agent is told when a check says the same again, and which
// differences count.
func TestSameRejection(t *testing.T) {
	t.Parallel()
	const told = "This check has now failed three times with the same output"
	failed := func(feedback string) ralph.Verdict {
		return ralph.Verdict{Feedback: feedback, Checks: []ralph.Check{{Name: "tests", Status: ralph.CheckFailed, Digest: "sha256:" + feedback}}}
	}
	for _, tt := range []struct {
		name string
		says func(n int) ralph.Verdict
		same bool
	}{
		{"the very same", func(int) ralph.Verdict { return failed("TestA fails") }, true},
		{"other durations", func(n int) ralph.Verdict { return failed(fmt.Sprintf("FAIL pkg 0.%d3s (1m%d.5s)", n, n)) }, true},
		{"a unit apart", func(n int) ralph.Verdict { return failed(fmt.Sprintf("Time: %d.4 s, 3 failed", n)) }, true},
		{"other clock times", func(n int) ralph.Verdict { return failed(fmt.Sprintf("1%d:00:03 TestA fails", n)) }, true},
		{"other addresses", func(n int) ralph.Verdict { return failed(fmt.Sprintf("panic: goroutine 7 at 0xc000%d", n)) }, true},
		{"other numbers", func(n int) ralph.Verdict { return failed(fmt.Sprintf("%d tests failed", n)) }, false},
		{"other lines", func(n int) ralph.Verdict { return failed(fmt.Sprintf("a.go:%d:%d: undefined", n, n)) }, false},
		{"another check", func(n int) ralph.Verdict {
			return ralph.Verdict{Feedback: "no", Checks: []ralph.Check{{Name: fmt.Sprint("check ", "abc"[n:n+1]), Status: ralph.CheckFailed}}}
		}, false},
		{"it says nothing", func(int) ralph.Verdict { return ralph.Verdict{} }, false},
		{"it could not run", func(int) ralph.Verdict {
			return ralph.Verdict{Feedback: "no", Checks: []ralph.Check{{Name: "tests", Status: ralph.CheckUnable}}}
		}, false},
	} {
		s := ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Failures: -1}})
		for n := range 3 {
			if strings.Contains(s.Prompt(), "three times") {
				t.Errorf("%s: told after %d", tt.name, n)
			}
			s = play(s, ralph.Iteration{Claimed: true, Workspace: fmt.Sprint(n), Verdict: tt.says(n)})
		}
		if got := strings.Contains(s.Prompt(), told); got != tt.same {
			t.Errorf("%s: told %t, %d times:\n%s", tt.name, got, s.Repeated, s.Continuation())
		}
	}
	s := ralph.Start(ralph.Task{Prompt: "Do it."})
	for range 5 {
		s = play(s, ralph.Iteration{Claimed: true, Workspace: "a", Verdict: failed("no")})
	}
	if s.Repeated != 1 || s.Stalled != 4 {
		t.Errorf("nothing changed in between: %s", describe(s))
	}
}

// TestBlockedAgain: before the limit the next prompt asks for another way, with what was
// in the way, which is the agent's and claims nothing.
func TestBlockedAgain(t *testing.T) {
	t.Parallel()
	s := ralph.Start(ralph.Task{Prompt: "Do it.", Blocked: "STUCK", Limits: ralph.Limits{Blocked: 2}})
	if first := s.Prompt(); !strings.Contains(first, "2 in a row that end so stop the loop and call a person") {
		t.Error(first)
	}
	answer := strings.Repeat("I tried a lot. ", 200) + "\nThere is no database.\n<promise>COMPLETE</promise> is not true.\n\n<promise>STUCK</promise>\n"
	var prompts []string
	local := ralph.Local{
		Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			prompts = append(prompts, req.Prompt)
			return ralph.Response{Output: answer}, nil
		}),
		Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) { return ralph.Pass(), nil }),
	}
	s, _, err := runLoop(t, t.Context(), local, s)
	if stopReason(t, err) != ralph.StopBlocked || len(prompts) != 2 || !strings.Contains(s.Detail, "2 times in a row: …") || !strings.Contains(s.Detail, "There is no database.") {
		t.Fatalf("%v, %d prompts", err, len(prompts))
	}
	if len(s.Obstacle) > 1<<10 {
		t.Errorf("an obstacle of %d bytes", len(s.Obstacle))
	}
	for _, want := range []string{"## What was in the way", "    There is no database.\n", "Look for another way", "That stops the loop and calls a person."} {
		if !strings.Contains(prompts[1], want) {
			t.Errorf("no %q in:\n%s", want, prompts[1])
		}
	}
	if strings.Contains(prompts[1], "ended without the line") {
		t.Errorf("two stories of the last iteration:\n%s", prompts[1])
	}
	for _, tag := range []string{"COMPLETE", "STUCK"} {
		if p := ralph.FindPromise(prompts[1], tag, ralph.MatchLastLine); p.Found {
			t.Errorf("the prompt claims %s", tag)
		}
	}
}

// TestUnseenWorkspace: a workspace that the agent has broken, so that git cannot read it,
// is told once, is no stall, and is told again if it was mended in between.
func TestUnseenWorkspace(t *testing.T) {
	t.Parallel()
	dir := gitRepo(t)
	index := filepath.Join(dir, ".git", "index")
	whole, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	local := ralph.Local{
		Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			switch text := whole; req.Iteration {
			case 2, 3, 4, 7:
				return ralph.Response{Output: "so far"}, os.WriteFile(index, text[:20], 0o644)
			default:
				return ralph.Response{Output: "so far"}, os.WriteFile(index, text, 0o644)
			}
		}),
		Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) { return ralph.Pass(), nil }),
	}
	log := &memory{}
	local.Log = log
	s, err := local.Run(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it.", Dir: dir, Limits: ralph.Limits{Iterations: 9, Stalls: 3}}))
	var told []int
	for _, ev := range log.events(t) {
		if ev.Kind == ralph.EventIterationEnded && ev.Iteration.Unseen != "" {
			told = append(told, ev.Iteration.Number)
		}
	}
	if stopReason(t, err) != ralph.StopIterations || fmt.Sprint(told) != "[2 7]" {
		t.Errorf("%v, told in %v: %s", err, told, describe(s))
	}

	if err := os.WriteFile(index, whole[:20], 0o644); err != nil { // from the beginning
		t.Fatal(err)
	}
	log = &memory{}
	local.Log, local.Runner = log, ralph.Replay("so far", "so far", "so far")
	s, err = local.Run(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it.", Dir: dir, Limits: ralph.Limits{Iterations: 3, Stalls: 1}}))
	times := 0
	for _, ev := range log.events(t) {
		if ev.Iteration.Unseen != "" || ev.Kind == ralph.EventLoopStarted && strings.Contains(ev.State.Unseen, "index") {
			times++
		}
	}
	if stopReason(t, err) != ralph.StopIterations || times != 1 {
		t.Errorf("%v, told %d times: %s", err, times, describe(s))
	}
}

// TestStallSaysWhatWasCompared, by git where the workspace is git's.
func TestStallSaysWhatWasCompared(t *testing.T) {
	t.Parallel()
	n := 0
	local := ralph.Local{
		Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			n++
			return ralph.Response{Output: fmt.Sprint("other words, ", n)}, os.WriteFile(filepath.Join(req.Dir, "ignored"), fmt.Append(nil, n), 0o600)
		}),
		Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) { return ralph.Pass(), nil }),
	}
	_, err := local.Run(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it.", Dir: gitRepo(t), Limits: ralph.Limits{Stalls: 3}}))
	if stopReason(t, err) != ralph.StopStalled || n != 3 || !strings.Contains(err.Error(), "3 iterations in a row changed nothing: git's view of the workspace (the commit") || !strings.Contains(err.Error(), "was git:") {
		t.Errorf("%d runs, %v", n, err)
	}
	local.Runner = ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
		return ralph.Response{Output: "the same words"}, os.WriteFile(filepath.Join(req.Dir, "a"), fmt.Append(nil, req.Iteration, "x"), 0o600)
	})
	_, err = local.Run(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it.", Dir: gitRepo(t), Limits: ralph.Limits{Iterations: 6, Stalls: 2}}))
	if stopReason(t, err) != ralph.StopIterations {
		t.Errorf("the same words are no stall, but: %v", err)
	}
}

// TestLearn: a loop that begins is told once what earlier ones have taught; one that goes
// on is not asked about.
func TestLearn(t *testing.T) {
	t.Parallel()
	asked := 0
	var prompts []string
	local := ralph.Local{
		Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			prompts = append(prompts, req.Prompt)
			if len(prompts) == 1 {
				return ralph.Response{}, errors.New("broke")
			}
			return ralph.Response{Output: "so far"}, nil
		}),
		Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) { return ralph.Pass(), nil }),
		Learn: func(_ context.Context, s ralph.State) (ralph.Lesson, error) {
			asked++
			l := s.Task.Limits
			l.Iterations = 2
			return ralph.Lesson{Limits: l, Rejections: []string{"TestA fails\n<promise>COMPLETE</promise>"}, Why: "12 loops needed at most 2 iterations"}, nil
		},
	}
	s, log, err := runLoop(t, t.Context(), local, ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Iterations: 15}}))
	if stopReason(t, err) != ralph.StopIterations || len(prompts) != 3 || asked != 1 {
		t.Fatalf("%v, asked %d times, %d prompts", err, asked, len(prompts))
	}
	for i, quoted := range []bool{true, true, false} { // the second is a retry
		if got := strings.Contains(prompts[i], "    TestA fails\n    <promise>"); got != quoted {
			t.Errorf("prompt %d: %t\n%s", i+1, got, prompts[i])
		}
	}
	var fold ralph.State
	learned := ""
	for _, ev := range log.events(t) {
		if ev.Kind == ralph.EventLearned {
			learned = ev.Text
		}
		fold = fold.Apply(ev)
	}
	if learned != "12 loops needed at most 2 iterations" || fold.Stop != s.Stop || fold.Task.Limits != s.Task.Limits {
		t.Errorf("recorded %q; fold: %s", learned, describe(fold))
	}
	again := s.Limit(ralph.Limits{Iterations: 3})
	if _, _, err := runLoop(t, t.Context(), local, again); stopReason(t, err) != ralph.StopIterations || asked != 1 {
		t.Errorf("going on: %v, asked %d times", err, asked)
	}
	for name, learn := range map[string]func(context.Context, ralph.State) (ralph.Lesson, error){
		"an error": func(context.Context, ralph.State) (ralph.Lesson, error) {
			return ralph.Lesson{}, errors.New("no history")
		},
		"a panic": func(context.Context, ralph.State) (ralph.Lesson, error) { panic("no history") },
		"limits that are not valid": func(context.Context, ralph.State) (ralph.Lesson, error) {
			return ralph.Lesson{Limits: ralph.Limits{Iterations: -1}, Why: "no history"}, nil
		},
	} {
		local.Learn, prompts = learn, nil
		if s, _, err := runLoop(t, t.Context(), local, ralph.Start(ralph.Task{Prompt: "Do it."})); err == nil || !strings.HasPrefix(err.Error(), "ralph: learn: ") || len(prompts) != 0 || s.Done() {
			t.Errorf("%s: %v, %d prompts", name, err, len(prompts))
		}
	}
}

// TestPassedAlthoughBlocked: where every answer is verified, the verdict that ends the
// loop is the one on record, whatever the agent said.
func TestPassedAlthoughBlocked(t *testing.T) {
	t.Parallel()
	s := ralph.Start(ralph.Task{Always: true, Blocked: "B"})
	s = s.Next(ralph.Iteration{Number: 1, Attempt: 1, Claimed: true, Verdict: ralph.Reject("no")})
	s = s.Next(ralph.Iteration{Number: 2, Attempt: 1, Blocked: true, Verdict: ralph.Pass()})
	if s.Stop != ralph.StopVerified || !s.Verdict.Passed || s.Feedback != "" {
		t.Errorf("%s; %+v", describe(s), s.Verdict)
	}
}
