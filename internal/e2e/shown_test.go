//go:build linux

package e2e_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/internal/modelserver"
)

// A dialect is how a client calls what all of them have, and what it tells of it.
type dialect struct {
	shell, write string // names of tools
	failed       string // what is shown of a command that fails; "" = its stream does not tell
	missing      string // that of a file that is not there; "" = it has no tool that reads files
	plan         string // a tool that keeps a list; "" = it has none, or none that it offers here
	planned      any    // its input
	read, path   string // a tool that reads a file, and its argument
}

func dialects() map[string]dialect {
	item := func(text, as string, more ...string) map[string]string {
		m := map[string]string{as: text, "status": "in_progress"}
		for _, name := range more {
			m[name] = "high"
		}
		return m
	}
	const failed = ": exit code 3: FAIL: TestGreets"
	return map[string]dialect{
		"claude": {shell: "Bash", write: "Write", failed: failed, missing: "File does not exist.", read: "Read", path: "file_path",
			plan: "TodoWrite", planned: map[string]any{"todos": []any{map[string]string{"content": "Greet", "status": "in_progress", "activeForm": "Greeting"}}}},
		"codex": {shell: "shell", failed: failed},
		"copilot": {shell: "bash", write: "create", failed: failed, missing: "Path does not exist", read: "view", path: "path",
			plan: "sql", planned: map[string]string{"description": "Plan", "query": "INSERT INTO todos (id, title, status) VALUES ('a', 'Greet', 'in_progress')"}},
		"gemini": {shell: "run_shell_command", write: "write_file", missing: "File not found: nope.go", read: "read_file", path: "file_path",
			plan: "write_todos", planned: map[string]any{"todos": []any{item("Greet", "description")}}},
		"opencode": {shell: "bash", write: "write", failed: failed, missing: "File not found: nope.go", read: "read", path: "filePath",
			plan: "todowrite", planned: map[string]any{"todos": []any{item("Greet", "content", "priority")}}},
		"cline": {shell: "run_commands", write: "editor", failed: failed},
	}
}

func input(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What a person sees of a run with a real client: what the agent plans, does and fails to
// do, why its claim is rejected, and how it ends; and not what the client says of its own.
func TestE2EShown(t *testing.T) {
	tool := builtTool(t)
	script := func(agent, dir string) []modelserver.Turn {
		c := dialects()[agent]
		turns := []modelserver.Turn{{Text: "I begin.", Shell: "cd " + dir + " && echo 'FAIL: TestGreets' && exit 3"}}
		if c.plan != "" {
			turns = append(turns, modelserver.Turn{Calls: []modelserver.Call{{Name: c.plan, Input: input(t, c.planned)}}})
		}
		if c.read != "" {
			path := map[string]string{c.path: filepath.Join(dir, "nope.go")}
			turns = append(turns, modelserver.Turn{Calls: []modelserver.Call{{Name: c.read, Input: input(t, path)}}})
		}
		return append(turns, modelserver.Turn{Shell: "echo \"it's\" '$HOME'"}, modelserver.Turn{Text: claim},
			modelserver.Turn{Write: helloIn(dir)}, modelserver.Turn{Text: claim})
	}
	eachClient(t, script, func(e *e2eRun) {
		c := dialects()[e.agent]
		if e.agent == "claude" { // these tools are offered to some models only
			e.env = append(e.env, "CLAUDE_CODE_ENABLE_TODO_TOOLS=1", "CLAUDE_CODE_ENABLE_TASKS=0", "ENABLE_TOOL_SEARCH=false")
		}
		var stdout, stderr bytes.Buffer
		cmd := e.cli(tool(e), "2")
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			e.Error(err)
		}
		if diff := cmp.Diff(c.shown(e.agent), e.seen(c, stderr.String())); diff != "" {
			e.Errorf("-want +got:\n%s\n%s", diff, &stderr)
		}
		if first, _, _ := strings.Cut(stdout.String(), "\n"); !strings.HasPrefix(first, "verified by test -f hello.txt (exit code 0, ") {
			e.Errorf("the closing begins with %q", first)
		}
	})
}

// shown is what is to be seen of the run.
func (c dialect) shown(agent string) []string {
	want := []string{"iteration 1/2 · " + agent, "→ " + c.shell + " echo 'FAIL: TestGreets' && exit 3"}
	if c.failed != "" {
		want = append(want, "✗ "+c.shell+c.failed)
	}
	if c.plan != "" {
		want = append(want, "→ "+c.plan+" 0 of 1 done", "  [~] Greet")
	}
	if c.read != "" {
		want = append(want, "→ "+c.read+" nope.go", "✗ "+c.read+": "+c.missing)
	}
	want = append(want, "→ "+c.shell+" echo \"it's\" '$HOME'", "All done.",
		"iteration 1/2: claims to be done, rejected", "   | test -f hello.txt ended with exit code 1, expected 0", "   | It printed nothing.",
		"iteration 2/2 · "+agent)
	if c.write != "" {
		want = append(want, "→ "+c.write+" hello.txt")
	}
	return append(want, "All done.", "iteration 2/2: verified")
}

// seen is what is seen of it, without what differs from run to run, as times and costs, and
// without what a client says of its own, of which there may be one line.
func (e *e2eRun) seen(c dialect, stderr string) []string {
	e.Helper()
	own := 0
	clock := regexp.MustCompile(`^\d\d:\d\d:\d\d `)
	var got []string
	for line := range strings.Lines(stderr) {
		line = strings.TrimRight(line, "\n")
		line = clock.ReplaceAllString(line, "")
		line, _, _ = strings.Cut(line, " · took ")
		if c.missing != "" && strings.HasPrefix(line, "✗ "+c.read+": "+c.missing) {
			line = "✗ " + c.read + ": " + c.missing
		}
		switch {
		case line == "", line == "I begin.", line == "<promise>COMPLETE</promise>", strings.HasPrefix(line, "ralph: "):
		case strings.HasPrefix(line, e.agent+": "):
			own++
		case c.write == "" && strings.Contains(line, "printf"): // its shell writes files
		default:
			got = append(got, line)
		}
	}
	if own > 2 {
		e.Errorf("%d lines of the client's own in two attempts", own)
	}
	return got
}
