package verify_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// unsupported reports whether the system has no sandbox, and then checks that the
// verdict says so.
func unsupported(t *testing.T, v ralph.Verdict) bool {
	t.Helper()
	for _, check := range v.Checks {
		if strings.Contains(check.Detail, "sandbox: it is required, but") {
			if check.Status != ralph.CheckUnable || v.Passed {
				t.Errorf("the check is %+v", check)
			}
			return true
		}
	}
	return false
}

func TestExternalSandbox(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	e := verify.External{
		Shell: `echo x >../inside && echo x >"$TMPDIR/t" && echo "$TMPDIR" && ! (echo x >` + outside + `/new)`,
		Dir:   "sub", Sandbox: &ralph.Sandbox{Require: true}, Contains: []string{"ralph-run-"},
	}
	v, err := e.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: dir}, Promised: true})
	if err != nil {
		t.Fatal(err)
	}
	if unsupported(t, v) {
		return
	}
	if !v.Passed {
		t.Errorf("the verdict is %+v", v)
	}
	if _, err := os.Stat(filepath.Join(outside, "new")); err == nil {
		t.Error("it wrote outside")
	}
}

// A Sandbox that would have the state writable is an error of the configuration, and
// never a verdict.
func TestExternalSandboxProtectsTheState(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_STATE_HOME", home)
	e := verify.External{Args: []string{"true"}, Sandbox: &ralph.Sandbox{}}
	template := verify.Template{Name: "npm-test", Sandbox: e.Sandbox}
	task := ralph.Task{Dir: home}
	for _, v := range []interface{ Validate(ralph.Task) error }{e, template} {
		if err := v.Validate(task); err == nil || !strings.HasPrefix(err.Error(), "verify: External: sandbox: ") {
			t.Errorf("Validate of %T: %v", v, err)
		}
	}
	if v, err := e.Verify(t.Context(), ralph.Claim{Task: task, Promised: true}); err == nil || v.Passed {
		t.Errorf("%+v, %v", v, err)
	}
}

// What a template has its tool write beside the workspace is granted to it.
func TestTemplateSandbox(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("go is not installed")
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module m\n\ngo 1.26\n",
		"m.go":      "package m\n\nfunc F() int { return 1 }\n",
		"m_test.go": "package m\n\nimport \"testing\"\n\nfunc Test(t *testing.T) { F() }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	v, err := verify.Template{Name: "go-test", Args: []string{"90"}, Sandbox: &ralph.Sandbox{
		Write: []string{strings.TrimSpace(string(cache))}, Require: true,
	}}.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: dir}, Promised: true})
	if err != nil {
		t.Fatal(err)
	}
	if !unsupported(t, v) && !v.Passed {
		t.Errorf("the verdict is %+v", v)
	}
}

// A judge works in a folder of its own and cannot write to the workspace.
func TestJudgeSandbox(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	client := &ralph.Command{
		Args: []string{"/bin/sh", "-c", `cat >/dev/null; echo x >own || exit 1
			if echo x >` + dir + `/theirs; then echo '1. NOT_VERIFIED: it could write'; else echo '1. VERIFIED: it could not write'; fi`},
		Sandbox: &ralph.Sandbox{Require: true},
	}
	judge := ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
		resp, err := client.Run(ctx, req)
		resp.Output = amidDecoy(req.Prompt, resp.Output)
		return resp, err
	})
	s := verify.Semantic{Judge: judge, Criteria: []string{"it works"}, Evidence: func(context.Context, ralph.Claim) (string, error) { return "a diff", nil }}
	v, err := s.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: dir}, Promised: true, Output: "done"})
	if err != nil {
		t.Fatal(err)
	}
	if unsupported(t, v) {
		return
	}
	if entries, err := os.ReadDir(dir); !v.Passed || err != nil || len(entries) > 0 {
		t.Errorf("the verdict is %+v; in the workspace: %v, %v", v, entries, err)
	}
}

// What does not hold on this system for the judge is told with its check.
func TestJudgeWarnings(t *testing.T) {
	t.Parallel()
	judge := ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
		return ralph.Response{Output: amidDecoy(req.Prompt, "1. VERIFIED: it works"), Warnings: []string{"the judge is not restricted"}}, nil
	})
	v, err := verify.Semantic{Judge: judge, Criteria: []string{"it works"}}.Verify(t.Context(), ralph.Claim{Promised: true, Output: "done"})
	if err != nil || !v.Passed || v.Checks[0].Status != ralph.CheckWarning || v.Checks[0].Detail != "the judge is not restricted" {
		t.Errorf("%+v, %v", v, err)
	}
}
