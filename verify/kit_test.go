package verify_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
	"github.com/ralph-loop/ralph/verify/verifytest"
)

// TestKit runs every verifier of this package through the public kit.
func TestKit(t *testing.T) {
	t.Parallel()
	done := t.TempDir()
	if err := os.WriteFile(filepath.Join(done, "done"), []byte("yes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	claim := func(output string, edit func(*ralph.Claim)) ralph.Claim {
		c := ralph.Claim{
			Promised: true, Output: output, Files: []string{"b.go", "a.go"},
			Task: ralph.Task{ID: "T", Dir: done, Acceptance: []string{"b", "a"}, Spec: []byte("{}"), Guarded: map[string]string{"x": "00"}},
		}
		if edit != nil {
			edit(&c)
		}
		return c
	}
	elsewhere := func(c *ralph.Claim) { c.Task.Dir = t.TempDir() }
	judged := func(answer string) ralph.Runner {
		return ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
			return ralph.Response{Output: answer}, nil
		})
	}
	exam := func(c *ralph.Claim) {
		var err error
		if c.Task, err = verify.Snapshot(ralph.Task{Dir: done}, "done"); err != nil {
			t.Error(err)
		}
	}
	words := verify.String{Contains: []string{"tests pass"}}
	unseen := t.TempDir()
	write(t, filepath.Join(unseen, "exam.sh"), "cat done; test -f done")
	for _, tt := range []struct {
		name      string
		v         ralph.Verifier
		good, bad ralph.Claim
	}{
		{"Contradictions", verify.Contradictions{}, claim("All tests pass.", nil), claim("TODO: rate limiting", nil)},
		{"Agent, coder", verify.Agent("coder"), claim("I committed it as 1a2b3c4.", nil), claim("I will commit it later.", nil)},
		{"Agent, tester", verify.Agent("tester"), claim("All 12 tests pass.", nil), claim("11 tests pass, 1 test fails.", nil)},
		{"Agent, reviewer", verify.Agent("reviewer"), claim("Review passed.", nil), claim("I cannot approve this.", nil)},
		{"Semantic", verify.Semantic{Judge: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			if strings.Contains(req.Prompt, "I mended it") {
				return ralph.Response{Output: amidDecoy(req.Prompt, "1. VERIFIED: so it is\n")}, nil
			}
			return ralph.Response{Output: amidDecoy(req.Prompt, "1. NOT_VERIFIED: nothing shows it\n")}, nil
		}), Criteria: []string{"it is mended"}}, claim("I mended it.", nil), claim("Hello.", nil)},
		{"Semantic with a fallback", verify.Semantic{Judge: judged("Sure!"), Criteria: []string{"a"}, Fallback: words}, claim("The tests pass.", nil), claim("Hello.", nil)},
		{"MultiStage", verify.MultiStage{Stages: []verify.Stage{{Name: "words", Verifier: words}, {Name: "done", Verifier: verify.External{Args: []string{"test", "-f", "done"}}}}},
			claim("The tests pass.", nil), claim("The tests pass.", elsewhere)},
		{"MultiStage, any, parallel", verify.MultiStage{Any: true, Parallel: 2, Stages: []verify.Stage{{Name: "words", Verifier: words}, {Name: "more", Verifier: verify.String{Contains: []string{"never"}}}}},
			claim("The tests pass.", nil), claim("Hello.", nil)},
		{"Cache", verify.Cache(words), claim("The tests pass.", nil), claim("Hello.", nil)},
		{"Guard", verify.Guard{Verifier: words}, claim("The tests pass.", exam), claim("The tests pass.", func(c *ralph.Claim) {
			exam(c)
			c.Task.Dir = t.TempDir()
		})},
		{"Template, file-exists", verify.Template{Name: "file-exists", Args: []string{"done"}}, claim("done", nil), claim("done", elsewhere)},
		{"HeldOut", verify.HeldOut{Exam: unseen, Verifier: verify.External{Shell: "sh exam.sh", Contains: []string{"yes"}}, Reveal: verify.RevealAll}, claim("done", nil), claim("done", elsewhere)},
		{"String, promise only", verify.String{}, claim("done", nil), claim("done", func(c *ralph.Claim) { c.Promised = false })},
		{"String after a fault", verify.String{}, claim("done", nil), claim("done", func(c *ralph.Claim) { c.Fault = ralph.FaultIncomplete })},
		{"String contains", verify.String{Contains: []string{"tests pass", "committed"}}, claim("Tests pass. Committed.", nil), claim("Tests pass.", nil)},
		{"String excludes", verify.String{Excludes: []string{"todo"}}, claim("Done.", nil), claim("One TODO is left.", nil)},
		{"External", verify.External{Args: []string{"test", "-f", "done"}}, claim("done", nil), claim("done", elsewhere)},
		{"External in a shell", verify.External{Shell: "cat done", Contains: []string{"yes"}}, claim("done", nil), claim("done", elsewhere)},
		{"External with evidence", verify.External{Args: []string{"cat", "done"}},
			claim("done", func(c *ralph.Claim) { c.Evidence = t.TempDir() }),
			claim("done", func(c *ralph.Claim) { elsewhere(c); c.Evidence = t.TempDir() })},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if err := verifytest.TestVerifier(tt.v, tt.good, tt.bad); err != nil {
				t.Error(err)
			}
		})
	}
}
