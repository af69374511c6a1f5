package progress_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/term/termtest"
	"github.com/ralph-loop/ralph/progress"
)

// readably writes a text in pieces of a size, and returns what is shown of it.
func readably(text string, format ralph.Format, size int) string {
	var shown bytes.Buffer
	w := progress.Readable(&shown, format, "")
	for p := []byte(text); len(p) > 0; p = p[min(size, len(p)):] {
		w.Write(p[:min(size, len(p))])
	}
	w.Close()
	return shown.String()
}

// TestReadableCaptures: what real clients have printed is known for what it is, and shown
// as its own decoder shows it, at once and byte by byte.
func TestReadableCaptures(t *testing.T) {
	t.Parallel()
	const captures = "../internal/stream/testdata/captures"
	golden, err := os.ReadFile(captures + ".display")
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range strings.Split(string(golden), "== ")[1:] {
		name, want, _ := strings.Cut(section, "\n")
		text, err := os.ReadFile(filepath.Join(captures, name))
		if err != nil {
			t.Fatal(err)
		}
		want = quiet(want)
		if want == "" { // a failure before the agent has said anything: what its client said is all there is
			want = quiet(progress.Printable(string(text)))
		}
		client, _, _ := strings.Cut(name, "-")
		for _, format := range []ralph.Format{"", ralph.Format(client)} {
			for _, size := range []int{len(text), 1} {
				if diff := cmp.Diff(want, quiet(readably(string(text), format, size))); diff != "" {
					t.Errorf("%s as %q in pieces of %d:\n%s", name, format, size, diff)
				}
			}
		}
	}
}

// quiet is what is shown without the one warning that codex gives in every run of the
// captures, which a decoder that has seen the end of a run folds.
func quiet(shown string) string {
	var b strings.Builder
	for line := range strings.Lines(shown) {
		if !strings.Contains(line, "Model metadata for `fake-model`") {
			b.WriteString(line)
		}
	}
	return strings.TrimSpace(b.String())
}

// TestReadable: what no known client prints is shown as it is, warnings stand between
// what an agent says, and nothing of it is a command for a terminal.
func TestReadable(t *testing.T) {
	t.Parallel()
	const says = `{"type":"assistant","message":{"id":"1","content":[{"type":"text","text":"Hello"}]}}` + "\n"
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"plain", "one\ntwo", "one\ntwo"},
		{"JSON of no client", "{\"a\":1}\n{\"b\":2}\n", "{\"a\":1}\n{\"b\":2}\n"},
		{"torn", "{\"type\":\"assi", "{\"type\":\"assi"},
		{"a warning before", "warning: old\n" + says, "warning: old\nHello\n"},
		{"a warning behind", says + "warning: old\n", "Hello\nwarning: old\n"},
		{"much that is unknown", strings.Repeat("{\"a\":1}\n", 40_000), strings.Repeat("{\"a\":1}\n", 40_000)},
	} {
		for _, size := range []int{len(tt.text) + 1, 7} {
			if diff := cmp.Diff(tt.want, readably(tt.text, "", size)); diff != "" {
				t.Errorf("%s in pieces of %d:\n%s", tt.name, size, diff)
			}
		}
	}
	if got := readably(says, ralph.FormatText, 9); got != says {
		t.Errorf("of a client that prints plain text %q is shown", got)
	}
	for _, text := range termtest.Sequences() {
		if got := readably(text+"\n{"+text, "", 3); termtest.Unsafe(got) != "" {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}

// TestReadableOrder: lines of JSON among plain ones stand where they were printed, and are
// shown before the stream has ended.
func TestReadableOrder(t *testing.T) {
	t.Parallel()
	const log, typed = `{"level":"error","msg":"the build broke"}` + "\n", `{"type":"build","ok":false}` + "\n"
	for _, tt := range []struct{ name, text, want string }{
		{"a log", "first\n" + log, "first\n" + log},
		{"a log among plain lines", "first\n" + log + "last\n", "first\n" + log + "last\n"},
		{"a log with types", "first\n" + typed + "last\n", "first\n" + typed + "last\n"},
		{"a log with types, then without", typed + log, typed + log},
		{"a client behind a log", log + `{"type":"assistant","message":{"id":"1","content":[{"type":"text","text":"Hello"}]}}` + "\n", log + "Hello\n"},
		{"an empty line between events", `{"type":"system","subtype":"init"}` + "\n\n", "\n"},
	} {
		for _, size := range []int{len(tt.text), 1} {
			var shown bytes.Buffer
			w := progress.Readable(&shown, "", "")
			for p := []byte(tt.text); len(p) > 0; p = p[min(size, len(p)):] {
				w.Write(p[:min(size, len(p))])
			}
			if diff := cmp.Diff(tt.want, shown.String()); diff != "" {
				t.Errorf("%s in pieces of %d:\n%s", tt.name, size, diff)
			}
			w.Close()
		}
	}
}

// TestReadableBounded: of a line without an end little is kept, also when all of it comes
// at once.
func TestReadableBounded(t *testing.T) { // alone, for it looks at what is in use
	line := []byte("{" + strings.Repeat("x", 32<<20))
	used := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := used()
	w := progress.Readable(io.Discard, "", "")
	w.Write(line)
	if more := int64(used()) - int64(before); more > 4<<20 {
		t.Errorf("%d bytes are kept", more)
	}
	w.Close()
	runtime.KeepAlive(line)
}
