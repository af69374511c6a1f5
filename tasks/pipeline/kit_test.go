package pipeline_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// sh runs a script in a folder and returns what it said.
func sh(t testing.TB, dir, script string) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-ec", script)
	cmd.Dir = dir
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s%s", script, err, text, said.String())
	}
	return strings.TrimSuffix(string(text), "\n")
}

// writeAll writes files, by their paths in a folder.
func writeAll(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// repo is a git repository with one commit of files, on the branch main.
func repo(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, dir, files)
	sh(t, dir, `git init -q -b main; git config user.name user; git config user.email u@example.org
		git add -A; git commit -q --allow-empty -m first`)
	return dir
}

// record is a folder for what is on record, outside of every workspace.
func record(t testing.TB) *progress.Dir {
	t.Helper()
	return reopened(t, filepath.Join(t.TempDir(), "record"))
}

// reopened is a record as another process has it.
func reopened(t testing.TB, path string) *progress.Dir {
	t.Helper()
	d := &progress.Dir{Path: path}
	t.Cleanup(func() { d.Close() })
	return d
}

// task is a definition as YAML: more are further lines of it, and a coder's check is a
// shell line; "" = its word is enough.
func task(id, check string, after []string, more ...string) string {
	var text strings.Builder
	text.WriteString(fmt.Sprintf("  - id: %s\n    title: Do %s\n    description: Make %[1]s.\n", id, id))
	if len(after) > 0 {
		text.WriteString("    dependencies: [" + strings.Join(after, ", ") + "]\n")
	}
	for _, line := range more {
		text.WriteString("    " + line + "\n")
	}
	text.WriteString("    completion:\n      outcome: it is there\n      acceptance_criteria: [it is there]\n      coder:\n        promise: CODED\n")
	if check == "" {
		return text.String() + "        verification_method: string_match\n"
	}
	return text.String() + fmt.Sprintf("        verification_method: external\n        verification_config: {command: %q}\n", check)
}

// file is a source of tasks in a file.
func file(t testing.TB, path string, tasks ...string) *pipeline.File {
	t.Helper()
	writeAll(t, filepath.Dir(path), map[string]string{filepath.Base(path): "tasks:\n" + strings.Join(tasks, "")})
	return &pipeline.File{Path: path}
}

// stands are the definitions in a file, by their ID.
func stands(t testing.TB, path string) map[string]spec.Definition {
	t.Helper()
	f, err := spec.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]spec.Definition{}
	for _, d := range f.Definitions() {
		all[d.ID] = d
	}
	return all
}

// statuses are those of the tasks in a file, as "id status", in its order.
func statuses(t testing.TB, path string) string {
	t.Helper()
	f, err := spec.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, d := range f.Definitions() {
		all = append(all, d.ID+" "+string(d.Status))
	}
	return strings.Join(all, ", ")
}

// agents is a runner for all agents that does what a function says.
type agents struct {
	do func(ctx context.Context, req ralph.Request) (string, error)

	mu        sync.Mutex
	now, most int             // that work
	ran       []string        // "task.agent iteration"
	asked     []ralph.Request // in their order
}

func (a *agents) Run(ctx context.Context, req ralph.Request) (ralph.Response, error) {
	a.mu.Lock()
	a.now++
	a.most = max(a.most, a.now)
	a.ran = append(a.ran, fmt.Sprintf("%s.%s %d", req.Task, req.Agent, req.Iteration))
	a.asked = append(a.asked, req)
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		a.now--
		a.mu.Unlock()
	}()
	text, err := a.do(ctx, req)
	return ralph.Response{Output: text, Usage: ralph.Usage{Requests: 1}}, err
}

// runner is what a pipeline has as Runner.
func (a *agents) runner(pipeline.Place) (ralph.Runner, error) { return a, nil }

// prompts are what the agent of a task was told, in order.
func (a *agents) prompts(task, agent string) (all []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, req := range a.asked {
		if req.Task == task && req.Agent == agent {
			all = append(all, req.Prompt)
		}
	}
	return all
}

// times is how often an agent worked on a task.
func (a *agents) times(task, agent string) int { return len(a.prompts(task, agent)) }

// claim is an answer that no rule about words rejects.
func claim(req ralph.Request) string {
	return "All is committed, all tests pass (3 passed), approved.\n\n<promise>" + req.Promise + "</promise>"
}

// makes is an agent that makes a file with its task's name, and claims to be done.
func makes(t testing.TB) func(context.Context, ralph.Request) (string, error) {
	return func(_ context.Context, req ralph.Request) (string, error) {
		writeAll(t, req.Dir, map[string]string{req.Task: req.Agent + "\n"})
		return claim(req), nil
	}
}

// there are the files of a commit, and what is in them.
func there(t testing.TB, dir, commit string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name := range strings.Lines(sh(t, dir, "git ls-tree -r --name-only "+commit)) {
		name = strings.TrimSuffix(name, "\n")
		all[name] = sh(t, dir, "git show '"+commit+":"+name+"'")
	}
	return all
}

// left are the branches of ralph and the worktrees beside the user's own.
func left(t testing.TB, dir string) (branches, trees []string) {
	t.Helper()
	branches = strings.Fields(sh(t, dir, "git for-each-ref --format='%(refname:lstrip=2)' refs/heads/ralph"))
	for line := range strings.Lines(sh(t, dir, "git worktree list --porcelain")) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "worktree "); ok && path != dir {
			trees = append(trees, filepath.Base(path))
		}
	}
	slices.Sort(trees)
	return branches, trees
}

// sound checks that a repository is whole, and that nothing is changed in its work tree
// but what is named.
func sound(t testing.TB, dir string, changed ...string) {
	t.Helper()
	if said := sh(t, dir, "git fsck --full --strict --no-dangling 2>&1"); said != "" {
		t.Errorf("git fsck: %s", said)
	}
	var all []string
	for line := range strings.Lines(sh(t, dir, "git status --porcelain")) {
		all = append(all, strings.TrimSpace(line))
	}
	if !slices.Equal(all, changed) {
		t.Errorf("git status: %q, want %q", all, changed)
	}
}

// journey runs a pipeline and returns its events, each as "kind task.agent".
func journey(t testing.TB, p *pipeline.Pipeline) (all []string, final pipeline.State, err error) {
	t.Helper()
	for ev, wrong := range p.Events(t.Context()) {
		if err = wrong; err != nil {
			break
		}
		switch ev.Kind {
		case pipeline.EventReserve, pipeline.EventUsed, pipeline.EventHeld, pipeline.EventNoted:
			continue
		}
		final = final.Apply(ev)
		name := string(ev.Kind)
		if ev.Task != "" {
			name += " " + ev.Task
		}
		if ev.Agent != "" {
			name += "." + ev.Agent
		}
		if ev.Stop != "" {
			name += " " + string(ev.Stop)
		}
		all = append(all, name)
	}
	return all, final, err
}
