package stream

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph/internal/term/termtest"
)

// display decodes with a display, with which a stream must say what it says without one,
// and returns what people see.
func display(t testing.TB, format string, data []byte, size int, verbose bool) string {
	t.Helper()
	var out bytes.Buffer
	notes := &Notes{To: &out, Name: format, Verbose: verbose}
	got := decode(t, format, data, size, Options{Display: &out, Notes: notes, Dir: "/repo"})
	notes.Close(!got.Ended || got.Failed)
	if diff := cmp.Diff(decode(t, format, data, size, Options{}), got); diff != "" {
		t.Errorf("%s: the display decides (-without +with):\n%s", format, diff)
	}
	return out.String()
}

// TestGoldenDisplay compares what people see of each stream of TestGolden with the
// .display file of its folder, which -update rewrites.
func TestGoldenDisplay(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"captures", "fixtures", "tools"} {
		files, err := filepath.Glob("testdata/" + folder + "/*.ndjson")
		if err != nil || len(files) < 8 {
			t.Fatalf("%d files, %v", len(files), err)
		}
		var got strings.Builder
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			format, _, _ := strings.Cut(filepath.Base(file), "-")
			once := display(t, format, data, 0, false)
			for _, size := range []int{1, 13} {
				if diff := cmp.Diff(once, display(t, format, data, size, false)); diff != "" {
					t.Errorf("%s, at once and in pieces of %d (-once +pieces):\n%s", file, size, diff)
				}
			}
			fmt.Fprintf(&got, "== %s\n%s\n", filepath.Base(file), once)
		}
		golden := "testdata/" + folder + ".display"
		if *update {
			if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", golden, diff)
		}
	}
}

// TestHostileTools: whatever a tool is given, it is one line, safe to show, and short.
func TestHostileTools(t *testing.T) {
	t.Parallel()
	inputs := []string{
		`{"command":"` + strings.Repeat(`x\n`, 1<<19) + `"}`,
		`{"command":` + strings.Repeat(`[`, 500) + strings.Repeat(`]`, 500) + `}`,
		strings.Repeat(`{"a":`, 500) + `1` + strings.Repeat(`}`, 500),
		`{"` + strings.Repeat("k", 1<<12) + `":"` + strings.Repeat("v", 1<<16) + `"}`,
		`{` + strings.Repeat(`"k":1,`, 5000) + `"k":2}`,
		`{"file_path":"` + strings.Repeat("../", 1<<14) + `"}`,
		`{"todos":[` + strings.Repeat(`{"content":"x","status":"done"},`, 2000) + `{}]}`,
		`{"todos":"` + strings.Repeat("- [x] a\\n", 1<<14) + `"}`,
		`"` + strings.Repeat("é", 1<<14) + `"`, `7`, `null`, `[]`, `[[{"a":[1]}]]`, `{"command":1e999}`,
	}
	for _, s := range termtest.Sequences() {
		inputs = append(inputs, fmt.Sprintf(`{"command":%q,%[1]q:%[1]q}`, strings.ToValidUTF8(s, "")))
	}
	tools := map[string]string{
		"claude":   `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":"%s","input":%s}]}}` + "\n" + `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"1","is_error":true,"content":%[2]s}]}}`,
		"gemini":   `{"type":"tool_use","tool_name":"%s","parameters":%s}` + "\n" + `{"type":"tool_result","status":"error","error":%[2]s}`,
		"opencode": `{"type":"tool_use","part":{"tool":"%s","state":{"status":"error","input":%s,"error":%[2]s}}}`,
		"copilot":  `{"type":"tool.execution_start","data":{"toolName":"%s","arguments":%s}}` + "\n" + `{"type":"tool.execution_complete","data":{"success":false,"error":%[2]s}}`,
		"cline":    `{"type":"agent_event","event":{"type":"content_start","contentType":"tool","toolName":"%s","input":%s}}` + "\n" + `{"type":"agent_event","event":{"type":"content_end","contentType":"tool","toolName":"x","error":%[2]s}}`,
		"codex":    `{"type":"item.completed","item":{"type":"mcp_tool_call","tool":"%s","arguments":%s,"status":"failed","error":%[2]s}}`,
		"cursor":   `{"type":"tool_call","subtype":"started","tool_call":{"%sToolCall":{"args":%s}}}` + "\n" + `{"type":"tool_call","subtype":"completed","tool_call":{"x":{"result":{"error":%[2]s}}}}`,
	}
	for format, line := range tools {
		for _, name := range []string{"Bash", "bash", "Read", "TodoWrite", "update_todo", "TaskCreate", "TaskUpdate", "sql", "unknown", `\u001b[2J` + strings.Repeat("n", 1<<12)} {
			for n, input := range inputs {
				data := fmt.Sprintf(line, name, input)
				got := display(t, format, []byte(data+"\n"), 1<<16, false)
				if found := termtest.Unsafe(got); found != "" {
					t.Errorf("%s, %.9s, input %d shows %s: %.200q", format, name, n, found, got)
				}
				lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
				if len(lines) > maxTodos+4 {
					t.Errorf("%s, %.9s, input %d: %d lines", format, name, n, len(lines))
				}
				for _, l := range lines {
					if utf8.RuneCountInString(l) > 2*maxGist || !utf8.ValidString(l) {
						t.Errorf("%s, %.9s, input %d: %d characters: %.200q", format, name, n, utf8.RuneCountInString(l), l)
					}
				}
			}
		}
	}
}

// TestPlaces: files are named as people know them.
func TestPlaces(t *testing.T) {
	t.Parallel()
	real := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, link); err != nil {
		t.Skip(err)
	}
	real, err := filepath.EvalSymlinks(real)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ dir, path, want string }{
		{real, real + "/src/a.go", "src/a.go"},
		{link, link + "/src/a.go", "src/a.go"},
		{link, real + "/src/a.go", "src/a.go"},
		{real, "src/a.go", "src/a.go"},
		{real, "./src//b/../a.go", "src/a.go"},
		{real, real, "."},
		{real, real + "more/a.go", real + "more/a.go"},
		{real, "/etc/passwd", "/etc/passwd"},
		{real, "../other/a.go", filepath.Dir(real) + "/other/a.go"},
		{real, real + "/../../x", filepath.Dir(filepath.Dir(real)) + "/x"},
		{real, "~/a.go", "~/a.go"},
		{"", "/repo/a.go", "/repo/a.go"},
	} {
		d := &Decoder{dirs: workspace(tt.dir)}
		if got := d.place(tt.path); got != tt.want {
			t.Errorf("%s in %s: %q, want %q", tt.path, tt.dir, got, tt.want)
		}
	}
}

// TestNotes: a client's own lines are folded into one, unless it fails or they are wanted.
func TestNotes(t *testing.T) {
	t.Parallel()
	const noise = "Ripgrep is not \x1b[31mavailable\x1b[0m.\n\n  Warning: 256 colours\nlast"
	many := strings.Repeat(strings.Repeat("x", 99)+"\n", 1000)
	for _, tt := range []struct {
		name, text      string
		verbose, failed bool
		want            string
	}{
		{"none", "\n \n", false, false, ""},
		{"folded", noise, false, false, "gemini: 3 lines of its own; --verbose shows them\n"},
		{"failed", noise, false, true, "Ripgrep is not available.\nWarning: 256 colours\nlast\n"},
		{"failed, with stack traces", "TypeError: no\nat f (file:///a.js:1:2)\nat async g (b.js:3) {\n  status: 500\nat home", false, true,
			"TypeError: no\n… 2 lines of a stack trace\nstatus: 500\nat home\n"},
		{"asks again", "Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {}\nAttempt x failed with status 1. Retrying with backoff\nAttempt 2 failed: {}\n", false, false,
			"→ Attempt 1 failed with status 429\ngemini: 3 lines of its own; --verbose shows them\n"},
		{"verbose", noise, true, false, "Ripgrep is not available.\n\n  Warning: 256 colours\nlast"},
		{"one", "npm notice\n", false, false, "gemini: npm notice\n"},
		{"many", many, false, false, "gemini: 1000 lines of its own; --verbose shows them\n"},
		{"many, failed", many, false, true, "gemini: 1000 lines of its own, the last 165:\n" + many[:165*100]},
		{"a long one, failed", strings.Repeat("y", 1<<20) + "\nz", false, true, strings.Repeat("y", 500) + "…\nz\n"},
	} {
		for _, size := range []int{1, 7, 1 << 21} {
			var out bytes.Buffer
			n := &Notes{To: &out, Name: "gemini", Verbose: tt.verbose}
			for p := []byte(tt.text); len(p) > 0; p = p[min(size, len(p)):] {
				n.Write(p[:min(size, len(p))])
			}
			n.Close(tt.failed)
			n.Close(tt.failed)
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("%s, in pieces of %d (-want +got):\n%s", tt.name, size, diff)
			}
		}
	}
	var out bytes.Buffer
	n := &Notes{To: &out, Name: "gemini", explained: true}
	n.Write([]byte(noise))
	n.Close(true)
	if diff := cmp.Diff("gemini: 3 lines of its own; --verbose shows them\n", out.String()); diff != "" {
		t.Errorf("the stream tells why it failed (-want +got):\n%s", diff)
	}
	var none *Notes
	none.Write([]byte(noise))
	none.Close(true)
}

// TestNotesBetweenEvents: what is no event is not the agent's.
func TestNotesBetweenEvents(t *testing.T) {
	t.Parallel()
	data := lines("npm notice 1", `{"type":"assistant","message":{"content":"I look."}}`, "npm notice 2",
		`{"type":"result","subtype":"success","is_error":false,"result":"I look."}`)
	for verbose, want := range map[bool]string{
		false: "I look.\nclaude: 2 lines of its own; --verbose shows them\n",
		true:  "npm notice 1\nI look.\nnpm notice 2\n",
	} {
		if diff := cmp.Diff(want, display(t, "claude", data, 0, verbose)); diff != "" {
			t.Errorf("verbose %v (-want +got):\n%s", verbose, diff)
		}
	}
	if diff := cmp.Diff("npm notice 1\nnpm notice 2\nDone.\n", display(t, "text", []byte("npm notice 1\nnpm notice 2\nDone.\n"), 0, false)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

// TestNotesAmongWords: that a client asks again is a line of its own also where the agent
// is in the middle of one.
func TestNotesAmongWords(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	notes := &Notes{To: &out, Name: "gemini"}
	d, err := New("gemini", Options{Display: &out, Notes: notes})
	if err != nil {
		t.Fatal(err)
	}
	d.Write(lines(`{"type":"message","role":"assistant","delta":true,"content":"I look"}`))
	notes.Write([]byte("Attempt 1 failed with status 503. Retrying with backoff...\n"))
	d.Write(lines(`{"type":"message","role":"assistant","delta":true,"content":" again."}`))
	d.Result()
	if diff := cmp.Diff("I look\n→ Attempt 1 failed with status 503\n again.\n", out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
