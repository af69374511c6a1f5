package stream

import (
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/internal/jsonlines"
	"github.com/ralph-loop/ralph/internal/reply"
	"github.com/ralph-loop/ralph/internal/term"
)

// Bounds of what is shown of tools.
const (
	maxGist  = 160 // characters of an input or an error
	maxTodos = 30  // of a list
	maxCalls = 32  // tools that may fail yet
)

// A call is a tool's use.
type call struct {
	id, name string // "" = not told
	sub      bool   // by a sub-agent
}

func (d *Decoder) display(s string) {
	if d.show != nil && s != "" {
		io.WriteString(d.show, s)
		d.midLine = !strings.HasSuffix(s, "\n")
	}
}

func (d *Decoder) newline() {
	if d.midLine {
		d.display("\n")
	}
}

// put shows a line of its own; what a sub-agent does is indented.
func (d *Decoder) put(sub bool, parts ...string) {
	d.newline()
	d.text = d.text[:0]
	if sub {
		d.text = append(d.text, "  "...)
	}
	for _, p := range parts {
		d.text = append(d.text, p...)
	}
	d.text = append(d.text, '\n')
	d.show.Write(d.text)
}

// aside shows a sub-agent's words, indented. They are not the run's.
func (d *Decoder) aside(t *reply.Text) {
	if d.show == nil || t == nil || t.Blank() {
		return
	}
	for line := range strings.Lines(term.Clean(strings.TrimSpace(t.String()))) {
		d.put(true, strings.TrimRight(line, "\n"))
	}
}

// use takes over that the agent uses a tool, and the file that it names if it is one of
// those that write.
func (d *Decoder) use(c call, input *jsonlines.Value, writers ...string) {
	d.worked = d.worked || c.name != ""
	d.used(c, input)
	if slices.Contains(writers, c.name) {
		d.file(input.FirstOf("file_path", "filePath", "notebook_path", "path"))
	}
}

// tool takes over that the agent uses a tool whose input is told in one word.
func (d *Decoder) tool(c call, what string) {
	d.worked = d.worked || c.name != ""
	d.shows(c, what)
}

// used shows a tool's use, and nothing else: it may be a sub-agent's.
func (d *Decoder) used(c call, input *jsonlines.Value) {
	switch {
	case d.show == nil || d.tools[c.name].how == hidden:
	case d.tools[c.name].how == asTodos:
		d.todos(c, input)
	case d.tools[c.name].how == asTasks:
		d.task(c, input)
	case d.tools[c.name].how == asSQL:
		d.sql(c, input)
	default:
		d.shows(c, d.gist(c.name, input))
	}
}

func (d *Decoder) shows(c call, what string) {
	if d.show == nil || c.name == "" {
		return
	}
	d.called(c)
	name, what := cut(tidy(c.name), 60), cut(tidy(what), maxGist)
	if what == "" {
		d.put(c.sub, "→ ", name)
		return
	}
	d.put(c.sub, "→ ", name, " ", what)
}

// called keeps what a tool is called whose result may come.
func (d *Decoder) called(c call) {
	if c.id == "" {
		return
	}
	if len(d.calls) == maxCalls {
		d.calls = slices.Delete(d.calls, 0, 1)
	}
	d.calls = append(d.calls, call{strings.Clone(c.id[:min(len(c.id), 256)]), c.name[:min(len(c.name), 256)], c.sub})
}

// caller is whose result comes: the call with its id.
func (d *Decoder) caller(id string) call {
	for _, c := range slices.Backward(d.calls) {
		if c.id == id {
			return c
		}
	}
	return call{id: id, name: "tool"}
}

// failed shows that a tool failed: with its exit code, unless that is 0, and the first
// line of what it said.
func (d *Decoder) failed(c call, code int64, words string) {
	if d.show == nil {
		return
	}
	words = strings.TrimSpace(words)
	for _, tag := range []string{"<tool_use_error>", "</tool_use_error>"} {
		words = strings.TrimSuffix(strings.TrimPrefix(words, tag), tag)
	}
	line, rest, _ := strings.Cut(words, "\n")
	if n, ok := exitCode(line); ok { // before what was printed
		code = n
		line, _, _ = strings.Cut(strings.TrimSpace(rest), "\n")
	}
	parts := []string{"✗ ", cut(tidy(c.name), 60)}
	if code != 0 {
		parts = append(parts, ": exit code "+strconv.FormatInt(code, 10))
	}
	if line = cut(tidy(d.near(line)), maxGist); line != "" {
		parts = append(parts, ": ", line)
	}
	d.put(c.sub, parts...)
}

// exitCode reads the line that Claude Code and Cline put before what a command has
// printed.
func exitCode(line string) (int64, bool) {
	for _, words := range []string{"Exit code ", "Command exited with code "} {
		if digits, ok := strings.CutPrefix(line, words); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 32)
			return n, err == nil
		}
	}
	return 0, false
}

// waits shows that the client asks the model again, as what it is about. It does so for
// minutes, in which nothing else is to be seen.
func (d *Decoder) waits(what string) {
	if d.show != nil {
		d.put(false, "→ ", cut(tidy(what), maxGist))
	}
}

// place is a path as people know it: relative to the workspace if it is in there, else
// absolute.
func (d *Decoder) place(path string) string {
	if path == "" || d.dirs == nil || len(path) > 4<<10 || strings.HasPrefix(path, "~") {
		return path
	}
	full := filepath.Clean(path)
	if !filepath.IsAbs(full) {
		full = filepath.Join(d.dirs[0], full)
	}
	for _, dir := range d.dirs {
		if full == dir {
			return "."
		}
		if rel, ok := strings.CutPrefix(full, dir+string(filepath.Separator)); ok {
			return rel
		}
	}
	return full
}

// workspace is the names of a folder: as it is given, and without links.
func workspace(dir string) []string {
	if dir == "" {
		return nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		return []string{dir, real}
	}
	return []string{dir}
}

// tidy is what [term.Line] makes of a text; most need nothing.
func tidy(s string) string {
	s = s[:min(len(s), 4<<10)]
	blank := true
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c >= 0x7f || c == ' ' && blank {
			return term.Line(s)
		}
		blank = c == ' '
	}
	return strings.TrimSuffix(s, " ")
}

// cut keeps the first characters of a text.
func cut(s string, most int) string {
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// oneLine folds white space and bounds the length.
func oneLine(s string) string {
	if len(s) > 4<<10 {
		s = s[:4<<10]
	}
	s = term.Line(s)
	if len(s) > 500 {
		s = strings.ToValidUTF8(s[:500], "") + "…"
	}
	return s
}
