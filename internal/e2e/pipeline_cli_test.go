//go:build linux

package e2e_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/modelserver"
)

const pipelineCLITasks = `
- id: ADD
  title: Add two numbers
  completion:
    outcome: Add returns the sum
    acceptance_criteria: [Add(2, 3) is 5]
    coder: {promise: ADDED, description: Add is there, verification_method: external, verification_config: {command: "grep -q 'return a + b' add.go"}}
    reviewer: {promise: REVIEWED, description: it is sound, verification_method: external, verification_config: {command: "grep -q '// Add' add.go"}}
`

// The tool is killed while a tool of the coder's client runs. The same command goes on in
// the same worktree; another client reviews, and what both agree on is merged.
func TestE2EPipelineCLI(t *testing.T) {
	tool := builtTool(t)
	dir := t.TempDir()
	gitInit(t, dir)
	claude := newE2E(t, "claude", dir, append(slowTool(dir)[:1],
		modelserver.Turn{Write: &modelserver.File{
			Path: filepath.Join(dir, ".ralph", "worktrees", "ADD", "add.go"), Content: "package sum\n\n// Add adds.\nfunc Add(a, b int) int { return a + b }\n",
		}},
		modelserver.Turn{Text: "I have committed it.\n\n<promise>ADDED</promise>"},
	))
	codex := newE2E(t, "codex", dir, []modelserver.Turn{{Text: "REVIEW PASSED: I have approved it.\n\n<promise>REVIEWED</promise>"}})
	claude.write("tasks.yaml", pipelineCLITasks)
	claude.sh("git config user.name Tester && git config user.email tester@example.com && git add tasks.yaml && git commit -qm 'the project' && mkdir .ralph")
	claude.write(".ralph/config.yaml", "ralph:\n  coder: {client: claude}\n  reviewer: {client: codex}\n")
	bin := tool(claude)
	run := func() (*exec.Cmd, *bytes.Buffer) {
		var stdout bytes.Buffer
		cmd := claude.ralph(bin, "run", "tasks.yaml", "--slots", "2", "--worktrees", "--stages", "coder,reviewer", "--trust")
		cmd.Env = append(cmd.Env, "CODEX_HOME="+filepath.Join(codex.home, ".codex"), "FAKE_KEY=dummy")
		cmd.Stdout = &stdout
		return cmd, &stdout
	}
	cmd, _ := run()
	claude.inTool(cmd, func() { cmd.Process.Kill() })
	claude.endedSoon()
	calls := len(claude.server.Requests())
	status, err := claude.ralph(bin, "status").CombinedOutput()
	if err != nil || !strings.Contains(string(status), "Interrupted:\n  tasks.yaml: iteration 0 (0 of 1 done)") {
		t.Errorf("status: %v\n%s", err, status)
	}
	cmd, stdout := run()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil || calls != 1 || len(claude.server.Requests()) != 3 || len(codex.server.Requests()) != 1 {
		t.Errorf("%v after %d and then %d calls of the coder's model, and %d of the reviewer's:\n%s%s", err, calls, len(claude.server.Requests()), len(codex.server.Requests()), &stderr, stdout)
	}
	for _, want := range []string{"ralph: going on with 'tasks.yaml'", "ADD.coder · task 1 of 1 · claude · iteration 1/15, attempt 2\n", "ralph: ADD is merged"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("%q is not shown:\n%s", want, &stderr)
		}
	}
	if !strings.Contains(stdout.String(), "coder ✓ reviewer ✓ tester – qa –") {
		t.Errorf("standard output is not the result:\n%s", stdout)
	}
	if out := claude.sh("git show HEAD:add.go && git fsck && git worktree list && git branch --list 'ralph/*' && git status --porcelain -uno"); !strings.Contains(out, "return a + b") || strings.Count(out, dir) != 1 || strings.Contains(out, "ralph/") {
		t.Errorf("what is left:\n%s", out)
	}
	claude.nothingRuns()
}
