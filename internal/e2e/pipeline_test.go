//go:build linux

package e2e_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/modelserver"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

const pipelineTasks = `
- id: ADD
  title: Add two numbers
  completion:
    outcome: Add returns the sum
    acceptance_criteria: [Add(2, 3) is 5]
    coder: {promise: ADDED, description: Add is there, verification_method: external, verification_config: {command: go test -run TestAdd ./...}}
    reviewer: {promise: REVIEWED, description: it is sound, verification_method: external, verification_config: {command: go vet ./...}}
- id: DOUBLE
  title: Double a number
  dependencies: [ADD]
  completion:
    outcome: Double returns the sum of a number and itself
    acceptance_criteria: [Double(4) is 8]
    coder: {promise: DOUBLED, description: Double is there, verification_method: external, verification_config: {command: go test -run . ./...}}
    reviewer: {promise: REVIEWED, description: it is sound, verification_method: external, verification_config: {command: go vet ./...}}
`

// One client codes and another one reviews: a false claim is found out, the reviewer
// sends the work back, and what both have done is on the main branch.
func TestE2EPipeline(t *testing.T) {
	dir := t.TempDir()
	gitInit(t, dir)
	in := func(task, name string) string { return filepath.Join(dir, ".ralph", "worktrees", task, name) }
	file := func(task, name, text string) modelserver.Turn {
		return modelserver.Turn{Write: &modelserver.File{Path: in(task, name), Content: "package sum\n\n" + text}}
	}
	test := func(name, is string) string {
		return "import \"testing\"\n\nfunc Test" + name + "(t *testing.T) {\n\tif " + is + " {\n\t\tt.Fatal()\n\t}\n}\n"
	}
	says := func(text, promise string) modelserver.Turn {
		return modelserver.Turn{Text: text + "\n\n<promise>" + promise + "</promise>"}
	}
	claude := newE2E(t, "claude", dir, []modelserver.Turn{
		file("ADD", "add_test.go", test("Add", "Add(2, 3) != 5")), says("I have committed it.", "ADDED"), // which is not there
		file("ADD", "add.go", "func Add(a, b int) int { return b + a }\n"), says("I have committed it.", "ADDED"),
		file("ADD", "add.go", "// Add adds.\nfunc Add(a, b int) int { return a + b }\n"), says("I have committed it.", "ADDED"),
		file("DOUBLE", "double_test.go", test("Double", "Double(4) != 8")),
		file("DOUBLE", "double.go", "// Double doubles.\nfunc Double(a int) int { return Add(a, a) }\n"), says("I have committed it.", "DOUBLED"),
	})
	codex := newE2E(t, "codex", dir, []modelserver.Turn{
		says("Add has no comment: that must be mended.", "REVIEWER_REJECTED"),
		says("REVIEW PASSED: I have approved it.", "REVIEWED"),
		says("REVIEW PASSED: I have approved it.", "REVIEWED"),
	})
	claude.write("go.mod", "module example.com/sum\n\ngo 1.26\n")
	claude.write("tasks.yaml", pipelineTasks)
	claude.sh("git config user.name Tester && git config user.email tester@example.com && git add go.mod tasks.yaml && git commit -qm 'the project'")
	p := &pipeline.Pipeline{
		Source: &pipeline.File{Path: filepath.Join(dir, "tasks.yaml")}, Dir: dir, Record: &progress.Dir{Path: t.TempDir()},
		Stages: []string{"coder", "reviewer"}, Rules: pipeline.Rules{Slots: 2, Merge: true},
		Config: spec.Config{Agents: []spec.AgentConfig{{Agent: "coder", Client: "claude"}, {Agent: "reviewer", Client: "codex", OnReject: "coder"}}},
		Runner: func(at pipeline.Place) (ralph.Runner, error) {
			return map[string]*e2eRun{"claude": claude, "codex": codex}[at.Client].command(), nil
		},
	}
	var told []string
	for ev, err := range p.Events(claude.context()) {
		if err != nil {
			t.Error(err)
		}
		if ev.Kind == pipeline.EventEnded || ev.Kind == pipeline.EventMerged {
			told = append(told, strings.TrimSpace(string(ev.Kind)+" "+ev.Task+" "+ev.Agent+" "+string(ev.Stop)))
		}
	}
	want := []string{
		"ended ADD coder verified", "ended ADD reviewer blocked", "ended ADD coder verified", "ended ADD reviewer verified", "merged ADD",
		"ended DOUBLE coder verified", "ended DOUBLE reviewer verified", "merged DOUBLE",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if out := claude.sh("go test ./... && git fsck && git worktree list && git branch --list 'ralph/*'"); strings.Count(out, dir) != 1 || strings.Contains(out, "ralph/") {
		t.Errorf("a worktree or a branch is left:\n%s", out)
	}
	asked := claude.server.Requests()
	back := asked[4]
	if !back.Holds("must be mended") {
		t.Error("the coder is not told why its work was sent back")
	}
	if q := codex.server.Requests()[0]; !q.Holds("Add two numbers") || !q.Holds("coder: verified") {
		t.Errorf("the reviewer is not told of the coder's record:\n%s", q.LastUser())
	}
}

// sh runs a command line of the shell in the workspace.
func (e *e2eRun) sh(line string) string {
	e.Helper()
	cmd := exec.CommandContext(e.Context(), "sh", "-c", line)
	cmd.Dir = e.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		e.Errorf("%s: %v: %s", line, err, out)
	}
	return string(out)
}
