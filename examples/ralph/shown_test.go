package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph/internal/term/termtest"
)

// project makes a git repository with files in it, and returns its folder.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// ran runs a command, and returns its exit code and what it printed.
func ran(args ...string) (code int, stdout, stderr string) {
	var out, errs strings.Builder
	code = run(args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// TestShown: whatever a file, an agent or an argument holds, no command shows what
// a terminal should not be given, nor do its logs hold it; JSON stays JSON.
func TestShown(t *testing.T) {
	t.Parallel()
	for some := range slices.Chunk(termtest.Sequences(), 4) { // with each alone it takes a minute
		t.Run("", func(t *testing.T) {
			t.Parallel()
			text := strings.Join(some, " ")
			quoted, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			title := strings.Trim(string(quoted), `"`)
			flat := strings.NewReplacer("\n", " ", "\r", " ").Replace(text)
			dir := project(t, map[string]string{
				"said": text, "agent": "cat said; cat said >&2; printf '\\n\\nThe task is done, all changes are committed.\\n\\n<promise>COMPLETE</promise>\\n'", "prompt.md": "Do " + strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "") + ", then say <promise>COMPLETE</promise> and stop.\n",
				"tasks.md": "- [ ] T001 " + flat + "\n",
				"tasks.json": `[{"id":"T-` + title + `","title":"` + title + `","completion":{"outcome":"` + title + `","acceptance_criteria":["` + title + `"],` +
					`"coder":{"promise":"COMPLETE","description":"` + title + `","verification_method":"external","verification_config":{"command":"cat said; cat said >&2; exit 1"}}}}]`,
				"plain.json": `[{"id":"T1","title":"` + title + `","status":"` + title + `","completion":{"outcome":"o","acceptance_criteria":["a"],` +
					`"coder":{"promise":"COMPLETE","description":"d","verification_method":"external","verification_config":{"command":"cat said; cat said >&2; exit 1"}}}}]`,
				"prd.json":                `{"branchName":"` + title + `","userStories":[{"id":"A","title":"` + title + `","passes":false}, {"id":"B","title":"` + title + `","status":"` + title + `"}]}`,
				"boxes.md":                strings.ToValidUTF8("- [ ] T001 One\n  - [ ] "+flat+"\n-[ ] "+flat+"\n- ["+flat+"] x\n- [ ]* T002 "+flat+"\n## Definition of done "+flat+"\n- [ ] "+flat+"\n", "\uFFFD"),
				"tm.json":                 `{"` + title + `":{"tasks":[{"id":1,"title":"` + title + `","status":"` + title + `","dependencies":[],"subtasks":[{"id":1,"title":"` + title + `","status":"cancelled"}]}]},"b":{"tasks":[]}}`,
				"backlog/config.yml":      "statuses: [\"To Do\", \"Done\"]\n",
				"backlog/tasks/task-1.md": "---\nid: task-1\ntitle: \"" + title + "\"\nstatus: \"" + title + "\"\ndependencies: [\"" + title + "\"]\n---\n" + text + "\n",
				"backlog/tasks/notes.md":  flat + "\n",
				"log.jsonl":               `{"task_id":"` + title + `","stage":"` + title + `","ralph_iteration":1,"outcome":"` + title + `","fault":"` + title + `","error":"` + title + `","kind":"iteration_ended"}` + "\n",
				"log.txt":                 "# Ralph Progress Log\n\nFeature: " + flat + "\n\n---\n\n## Iteration 1 - 2026-01-01T00:00:00Z\n\n**Task**: " + flat + "\n**Title**: " + flat + "\n",
				"cfg":                     "AGENT_TYPE=" + flat + "\n",
			})
			at := func(name string) string { return filepath.Join(dir, name) }
			agent := []string{"--dir", dir, "--max", "1", "--agent-cmd", "sh agent"}
			for _, tt := range []struct {
				args  []string
				holds bool // what is to be seen of the text
			}{
				{[]string{"log", at("log.jsonl")}, true},
				{[]string{"log", at("log.txt")}, false},
				{[]string{"task", "list", at("tasks.md")}, false},
				{[]string{"task", "list", at("prd.json")}, false},
				{[]string{"task", "list", at("tasks.json")}, false},
				{[]string{"task", "check", at("tasks.json")}, false},
				{[]string{"task", "check", at("boxes.md")}, true},
				{[]string{"task", "check", at("prd.json")}, false},
				{[]string{"task", "check", at("tm.json")}, false},
				{[]string{"task", "check", at("backlog")}, false},
				{[]string{"task", "list", at("tm.json"), "--tag", text}, false},
				{[]string{"task", "list", at("backlog")}, false},
				{append([]string{"run", at("boxes.md"), "--spec", text, "--dry-run"}, agent...), false},
				{append([]string{"run", at("boxes.md"), "--dry-run"}, agent...), false},
				{append([]string{"run", at("prd.json"), "--worktrees"}, agent...), false},
				{append([]string{"run", at("tm.json"), "--tag", text, "--dry-run"}, agent...), false},
				{append([]string{"run", at("backlog"), "--dry-run"}, agent...), false},
				{append([]string{"prompt", at("prompt.md"), "--dry-run"}, agent...), false},
				{append([]string{"prompt", at("prompt.md"), "--log", at("events.jsonl")}, agent...), false},
				{append([]string{"prompt", at("prompt.md"), "--new", "--json"}, agent...), false},
				{append([]string{"prompt", at("prompt.md"), "--new", "--quiet"}, agent...), false},
				{append([]string{"run", at("tasks.md"), "--dry-run"}, agent...), false},
				{append([]string{"run", at("tasks.md")}, agent...), false},
				{append([]string{"run", at("prd.json")}, agent...), false},
				{append([]string{"run", at("tasks.json"), "--dry-run"}, agent...), false},
				{append([]string{"run", at("tasks.json")}, agent...), false},
				{append([]string{"run", at("plain.json")}, agent...), false},
				{append([]string{"run", at("plain.json"), "--json", "--new"}, agent...), false},
				{[]string{"verify", at("plain.json"), "--dir", dir}, false},
				{[]string{"verify", at("tasks.json"), "--dir", dir, "--json"}, false},
				{[]string{"verify", at("plain.json"), "--dir", dir, "--output", at("said")}, false},
				{[]string{"plan", "--dir", dir, "--config", at("cfg"), "--dry-run"}, false},
				{[]string{"log", text}, false}, {[]string{text}, false}, {[]string{"task", text}, false}, {[]string{"task", "list", text}, false},
				{[]string{"plan", "--dir", text}, false}, {[]string{"plan", "--" + text}, false}, {[]string{"plan", "--agent", text, "--dir", dir}, false},
				{[]string{"prompt", text, "--dir", dir}, false}, {[]string{"verify", at("plain.json"), text}, false},
				{[]string{"run", at("tasks.md"), "--dir", dir, "--agent-cmd", text}, false}, {[]string{"task", "create", text, text, text, "--outcome", "o", "--acceptance", "a", "--file", at("new.yaml")}, false},
			} {
				code, stdout, stderr := ran(tt.args...)
				if found := termtest.Unsafe(stdout + stderr); found != "" {
					t.Errorf("%q: %q shows %s: %q", text, tt.args, found, stdout+stderr)
				}
				if slices.Contains(tt.args, "--json") && tt.args[0] != "verify" {
					for text := range strings.Lines(stdout) {
						if !json.Valid([]byte(text)) {
							t.Errorf("%q: %q shows no JSON: %q", text, tt.args, text)
						}
					}
				} else if slices.Contains(tt.args, "--json") {
					var results []verified
					if err := json.Unmarshal([]byte(stdout), &results); err != nil || len(results) != 1 || results[0].Task != "T-"+strings.ToValidUTF8(text, "\uFFFD") {
						t.Errorf("%q: exit code %d, %v: %s", text, code, err, stdout)
					}
				}
				if tt.holds && !strings.Contains(stdout, "EVIL") {
					t.Errorf("%q: %q does not show it: %q", text, tt.args, stdout)
				}
			}
			logs, err := filepath.Glob(at(".ralph/evidence/*/*/*"))
			sessions, errSessions := filepath.Glob(at("logs/*.log"))
			if err := errors.Join(err, errSessions); err != nil || len(sessions) == 0 || len(logs) == 0 {
				t.Fatalf("%q: %d evidence, %d session logs, %v", text, len(logs), len(sessions), err)
			}
			for _, name := range append(append(logs, sessions...), at("events.jsonl"), at(".ralph/log.jsonl"), at("progress.txt")) {
				content, err := os.ReadFile(name)
				if err != nil {
					t.Error(err)
				}
				if found := termtest.Unsafe(string(content)); found != "" || len(content) == 0 {
					t.Errorf("%q: %s holds %s", text, name, found)
				}
				if info, err := os.Stat(name); err != nil || filepath.Base(name) != "progress.txt" && info.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v, %v", name, info.Mode(), err)
				}
			}
		})
	}
}

// TestColours: colours are ours and stay; those of a log's text go.
func TestColours(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := filepath.Join(dir, "log.jsonl")
	if err := os.WriteFile(log, []byte(`{"task_id":"A\u001b[35m","ralph_iteration":1,"outcome":"success","kind":"iteration_ended"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for colours, want := range map[bool]int{true: 2, false: 0} {
		var out bytes.Buffer
		e := env{ctx: t.Context(), stdout: &outlet{Writer: &out, colours: colours}}
		if err := (&logFlags{as: "table"}).run(e, []string{log}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out.String(), "\x1b"); got != want || strings.Contains(out.String(), "[35m") {
			t.Errorf("%v: %q", colours, out.String())
		}
		if colours && !strings.Contains(out.String(), "\x1b[32mA ") {
			t.Errorf("%q", out.String())
		}
	}
}

// TestInlet: nobody waits for standard input once the run has ended.
func TestInlet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		from, to := io.Pipe()
		defer to.Close()
		done := make(chan error)
		go func() {
			_, err := io.ReadAll(inlet{ctx, from})
			done <- err
		}()
		if _, err := to.Write([]byte("some")); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		cause := errors.New("interrupted")
		cancel(cause)
		if err := <-done; !errors.Is(err, cause) {
			t.Error(err)
		}
	})
}

// TestFollow: what is added to a log is printed as it comes, once, and a log that was
// written anew is printed anew.
func TestFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "log.jsonl")
		write := func(text string, flags int) {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flags, 0o600)
			if err == nil {
				_, err = f.WriteString(text)
			}
			if err = errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
		}
		attempt := func(n int) string {
			return fmt.Sprintf(`{"task_id":"T","ralph_iteration":%d,"outcome":"success","kind":"iteration_ended"}`+"\n", n)
		}
		write(attempt(1), 0)
		ctx, cancel := context.WithCancel(t.Context())
		var out lockedBuffer
		done := make(chan error)
		go func() {
			f := &logFlags{as: "table", follow: true}
			done <- f.run(env{ctx: ctx, stdout: &out, stderr: io.Discard}, []string{path})
		}()
		shown := func(want ...int) {
			t.Helper()
			time.Sleep(time.Second)
			var got []int
			for line := range strings.Lines(out.take()) {
				if fields := strings.Fields(line); fields[0] == "T" {
					n, _ := strconv.Atoi(fields[1])
					got = append(got, n)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("shown were %v, want %v", got, want)
			}
		}
		shown(1)
		shown()
		write(attempt(2)+attempt(3)+attempt(4)[:20], os.O_APPEND)
		shown(2, 3)
		write(attempt(4)[20:], os.O_APPEND)
		shown(4)
		write(attempt(7), os.O_TRUNC)
		shown(7)
		cancel()
		if err := <-done; err != nil || out.take() != "1 attempt\n" {
			t.Error(err)
		}
	})
}

// A lockedBuffer is written to by one goroutine and emptied by another.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.b.Reset()
	return l.b.String()
}
