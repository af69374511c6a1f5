package verify_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// explode is where the plug-ins of TestPanics panic.
func explode() { panic("boom") }

// TestPanics: a panic of what a caller plugs in is no end of the program and no
// pass. It says what happened and where.
func TestPanics(t *testing.T) {
	t.Parallel()
	bad := ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
		explode()
		return ralph.Pass(), nil
	})
	badJudge := ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
		explode()
		return ralph.Response{}, nil
	})
	task, err := verify.Snapshot(exemplary(t), "exam")
	if err != nil {
		t.Fatal(err)
	}
	redact := func(string) string {
		explode()
		return ""
	}
	for name, tt := range map[string]struct {
		v      ralph.Verifier
		unable bool // it is a check; else it is an error
	}{
		"stage":             {verify.MultiStage{Stages: []verify.Stage{{Name: "bad", Verifier: bad}}}, true},
		"stages at once":    {verify.MultiStage{Parallel: -1, Stages: []verify.Stage{{Name: "bad", Verifier: bad}, {}}}, true},
		"any stage":         {verify.MultiStage{Any: true, Stages: []verify.Stage{{Name: "bad", Verifier: bad}}}, true},
		"judge":             {verify.Semantic{Judge: badJudge, Criteria: []string{"a"}}, true},
		"fallback":          {verify.Semantic{Judge: badJudge, Criteria: []string{"a"}, Fallback: bad}, false},
		"evidence":          {verify.Semantic{Judge: badJudge, Criteria: []string{"a"}, Evidence: func(context.Context, ralph.Claim) (string, error) { explode(); return "", nil }}, false},
		"cache":             {verify.Cache(bad), false},
		"guard":             {verify.Guard{Verifier: bad}, false},
		"held out":          {verify.HeldOut{Verifier: bad, Exam: exemplary(t).Dir}, true},
		"redact":            {verify.External{Shell: "echo secret", Redact: redact}, false},
		"redact, no output": {verify.External{Shell: "true", Redact: redact}, false},
		"redact, judge":     {verify.Semantic{Judge: answering("1. VERIFIED: yes"), Criteria: []string{"a"}, Redact: redact}, false},
		"redact, template":  {verify.Template{Name: "file-exists", Args: []string{"exam"}, Redact: redact}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claim := ralph.Claim{Task: task, Iteration: 1, Attempt: 1, Promised: true, Output: "done", Evidence: t.TempDir()}
			v, err := tt.v.Verify(t.Context(), claim)
			said := ""
			switch {
			case v.Passed:
				t.Errorf("it passes: %+v, %v", v, err)
			case !tt.unable && err != nil:
				said = err.Error()
				if !strings.HasPrefix(said, "verify: ") {
					t.Errorf("the error does not say whose it is: %s", said)
				}
			case tt.unable && err == nil && v.Checks[0].Status == ralph.CheckUnable:
				said = v.Checks[0].Detail
				if strings.Contains(v.Feedback, "explode") {
					t.Errorf("the agent is shown the stack: %s", v.Feedback)
				}
			default:
				t.Fatalf("%+v, %v", v, err)
			}
			for _, want := range []string{"panicked: boom", "verify_test.explode"} {
				if !strings.Contains(said, want) {
					t.Errorf("it does not say %q: %s", want, said)
				}
			}
		})
	}
}

// exemplary is a task whose workspace has a file to guard.
func exemplary(t *testing.T) ralph.Task {
	t.Helper()
	dir := t.TempDir()
	write(t, dir+"/exam", "1\n")
	return ralph.Task{Dir: dir}
}

// TestPanicInCacheReachesAll: those who wait for a call that panics get its error.
func TestPanicInCacheReachesAll(t *testing.T) {
	t.Parallel()
	v := verify.Cache(ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
		explode()
		return ralph.Pass(), nil
	}))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got, err := v.Verify(context.Background(), ralph.Claim{}); err == nil || got.Passed {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	wg.Wait()
}
