//go:build linux || darwin

package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ralph-loop/ralph/internal/file/filetest"
)

const (
	aPrompt     = "Do it, then say <promise>COMPLETE</promise> and stop.\n"
	aList       = "- [ ] T001 One\n"
	aPRD        = `{"userStories":[{"id":"A","title":"One","passes":false}]}`
	aTask       = "- id: T001\n  title: One\n  completion:\n    outcome: It works.\n    acceptance_criteria: [it works]\n    coder:\n      promise: COMPLETE\n      description: it works\n      verification_method: external\n      verification_config: {command: \"true\"}\n"
	aTaskmaster = `{"master":{"tasks":[{"id":1,"title":"One","status":"pending","dependencies":[],"subtasks":[]}]}}`
	aBacklog    = "---\nid: task-1\ntitle: One\nstatus: To Do\n---\n"
	aLog        = `{"task_id":"A","stage":"qa","ralph_iteration":1,"ralph_max":5,"outcome":"failure","kind":"iteration_ended"}` + "\n"
)

// TestPlaces puts whatever a stranger could put in the place of each file that is
// read or written by a command. The command takes it, or ends at once with one
// error that names the file; nothing is written elsewhere.
func TestPlaces(t *testing.T) {
	t.Parallel()
	echo := []string{"--agent-cmd", "echo Not yet.", "--max", "1"}
	for _, tt := range []struct {
		name, file, text string
		args             []string // FILE stands for the path, DIR for the project
		write            bool
		named            bool   // for writing: a link may be named
		none             string // places that are as good as no file
	}{
		{name: "prompt", file: "in/p.md", text: aPrompt, args: append([]string{"prompt", "FILE", "--dir", "DIR"}, echo...)},
		{name: "template", file: "in/t.md", text: "Do {{CURRENT_TASK}}\n", args: append([]string{"run", "DIR/tasks.md", "--dir", "DIR", "--template", "FILE"}, echo...)},
		{name: "default template", file: "templates/ralph-prompt.md", text: "Do {{CURRENT_TASK}}\n", args: append([]string{"run", "DIR/tasks.md", "--dir", "DIR"}, echo...), none: "a dangling link, a folder, a link to a folder"},
		{name: "default prompt", file: "prompts/plan.md", text: aPrompt, args: append([]string{"plan", "--dir", "DIR"}, echo...), none: "a dangling link, a folder, a link to a folder"},
		{name: "config", file: "in/config", text: "A=1\n", args: append([]string{"plan", "--dir", "DIR", "--config", "FILE"}, echo...)},
		{name: "default config", file: ".ralph/config", text: "A=1\n", args: append([]string{"plan", "--dir", "DIR"}, echo...), none: "a dangling link, a folder, a link to a folder"},
		{name: "defaults of definitions", file: ".ralph/config.yaml", text: "ralph: {}\n", args: append([]string{"run", "DIR/tasks.yaml", "--dir", "DIR"}, echo...), none: "a dangling link"},
		{name: "list", file: "in/tasks.md", text: aList, args: append([]string{"run", "FILE", "--dir", "DIR"}, echo...)},
		{name: "task list", file: "in/tasks.md", text: aList, args: []string{"task", "list", "FILE"}},
		{name: "task check", file: "in/prd.json", text: aPRD, args: []string{"task", "check", "FILE"}},
		{name: "prd", file: "in/prd.json", text: aPRD, args: append([]string{"run", "FILE", "--dir", "DIR"}, echo...)},
		{name: "taskmaster", file: "in/tm.json", text: aTaskmaster, args: append([]string{"run", "FILE", "--dir", "DIR"}, echo...)},
		{name: "backlog", file: "in/backlog/tasks/task-1.md", text: aBacklog, args: append([]string{"run", "DIR/in/backlog", "--dir", "DIR"}, echo...), none: "a folder"},
		{name: "verify", file: "in/tasks.yaml", text: aTask, args: []string{"verify", "FILE", "--dir", "DIR"}},
		{name: "output", file: "in/said", text: "Done.\n<promise>COMPLETE</promise>\n", args: []string{"verify", "DIR/tasks.yaml", "--dir", "DIR", "--output", "FILE"}},
		{name: "log", file: "in/log.jsonl", text: aLog, args: []string{"log", "FILE"}},
		{name: "definitions", file: "in/tasks.yaml", text: aTask, args: append([]string{"run", "FILE", "--dir", "DIR"}, echo...), write: true, named: true},
		{name: "create", file: "in/tasks.yaml", text: aTask, args: []string{"task", "create", "T002", "s", "Two", "--outcome", "It works.", "--acceptance", "it works", "--file", "FILE"}, write: true},
		{name: "create in an empty file", file: "in/tasks.yaml", text: "\n", args: []string{"task", "create", "T002", "s", "Two", "--outcome", "It works.", "--acceptance", "it works", "--file", "FILE"}, write: true},
		{name: "execution log", file: ".ralph/log.jsonl", text: aLog, args: append([]string{"run", "DIR/tasks.md", "--dir", "DIR"}, echo...), write: true},
		{name: "--log", file: "in/log.jsonl", text: aLog, args: append([]string{"run", "DIR/tasks.md", "--dir", "DIR", "--log", "FILE"}, echo...), write: true, named: true},
		{name: "prompt --log", file: "in/log.jsonl", text: aLog, args: append([]string{"prompt", "DIR/p.md", "--dir", "DIR", "--log", "FILE"}, echo...), write: true, named: true},
		{name: "progress", file: "in/progress.txt", text: "x\n", args: append([]string{"run", "DIR/in/tasks.md", "--dir", "DIR"}, echo...), write: true},
		{name: "progress of definitions", file: "in/progress.txt", text: "x\n", args: append([]string{"run", "DIR/in/tasks.yaml", "--dir", "DIR"}, echo...), write: true},
		{name: "execution log of definitions", file: ".ralph/log.jsonl", text: aLog, args: append([]string{"run", "DIR/tasks.yaml", "--dir", "DIR"}, echo...), write: true},
		{name: "hook install", file: ".claude/settings.json", text: `{"a":1}` + "\n", args: []string{"hook", "install", "--dir", "DIR"}, write: true, named: true},
		{name: "hook uninstall", file: ".claude/settings.json", text: `{"a":1}` + "\n", args: []string{"hook", "uninstall", "--dir", "DIR"}, none: "a dangling link"},
		{name: "hook command", file: ".claude/commands/ralph.md", text: "theirs\n", args: []string{"hook", "uninstall", "--dir", "DIR"}, none: "a dangling link"},
		{name: "--progress", file: "in/p.txt", text: "x\n", args: append([]string{"run", "DIR/tasks.md", "--dir", "DIR", "--progress", "FILE"}, echo...), write: true, named: true},
	} {
		for _, p := range filetest.Places() {
			t.Run(tt.name+" "+p.Name, func(t *testing.T) {
				t.Parallel()
				dir := project(t, map[string]string{"tasks.md": aList, "tasks.yaml": aTask, "p.md": aPrompt, "in/tasks.md": aList, "in/tasks.yaml": aTask, "in/backlog/tasks/task-2.md": strings.ReplaceAll(aBacklog, "task-1", "task-2"), filepath.Dir(tt.file) + "/other": ""})
				path := filepath.Join(dir, tt.file)
				p.Put(t, path, tt.text)
				var args []string
				for _, arg := range tt.args {
					args = append(args, strings.NewReplacer("FILE", path, "DIR", dir).Replace(arg))
				}
				resolved := tt.named && p.Name == "a link"
				may := p.Read && (!tt.write || p.Write || resolved) || slices.Contains(strings.Split(tt.none, ", "), p.Name)
				err := filetest.Within(t, func() error {
					code, _, stderr := ran(args...)
					if code != exitConfig && code != exitUsage {
						return nil
					}
					return errors.New(stderr)
				})
				if resolved {
					path += "?" // what it leads to is written
				}
				p.Says = ""
				p.Check(t, err, may, path, tt.text)
			})
		}
	}
}

// TestReached: a workspace that is reached through a link works as any other, and
// so does one of somebody else in which root works, as in a container: what is made
// there is theirs.
func TestReached(t *testing.T) {
	t.Parallel()
	agent := []string{"--max", "1", "--agent-cmd", "echo Not yet."}
	dir := project(t, map[string]string{"tasks.md": aList})
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for range 2 { // with logs that are not there, and that are
		if code, _, stderr := ran(append([]string{"run", filepath.Join(link, "tasks.md"), "--dir", link}, agent...)...); code != exitNotVerified {
			t.Errorf("through a link: %d, %s", code, stderr)
		}
	}
	if os.Geteuid() != 0 {
		return
	}
	const host = 54321
	home := t.TempDir()
	list := filepath.Join(home, "tasks.md")
	if err := errors.Join(os.WriteFile(list, []byte(aList), 0o644), os.Chown(list, host, host), os.Chown(home, host, host)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if code, _, stderr := ran(append([]string{"run", list, "--dir", home}, agent...)...); code != exitNotVerified {
			t.Errorf("as root: %d, %s", code, stderr)
		}
		if out, err := exec.Command("git", "init", "-q", home).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	for _, name := range []string{".ralph", ".ralph/log.jsonl", ".ralph/.gitignore", "progress.txt"} {
		info, err := os.Stat(filepath.Join(home, name))
		if err != nil {
			t.Fatal(err)
		}
		if s := info.Sys().(*syscall.Stat_t); s.Uid != host {
			t.Errorf("%s belongs to %d", name, s.Uid)
		}
	}
}

// TestEndsWhileReading: what ends a run, a signal or a reader that has gone, ends it
// also while it waits for standard input.
func TestEndsWhileReading(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"tasks.yaml": strings.Replace(aTask, "title: One", "title: One\n  status: odd", 1)})
	never, to := io.Pipe()
	defer to.Close()
	err := filetest.Within(t, func() error {
		code := run([]string{"verify", filepath.Join(dir, "tasks.yaml"), "--dir", dir, "--output", "-"}, never, io.Discard, gone{})
		if code != exitSignal+int(syscall.SIGPIPE) {
			t.Errorf("exit code %d", code)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// gone is a pipe that nobody reads.
type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, syscall.EPIPE }
