package ralph_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// TestCommandVerbose: what a client says of its own is one line, unless it fails and its
// stream does not say why, or a person wants to see it; what it decides is the same.
func TestCommandVerbose(t *testing.T) {
	t.Parallel()
	const noise = "printf 'YOLO mode is enabled.\\n  Ripgrep is not \\033[31mavailable\\033[0m.\\n' >&2; "
	words := `{"type":"message","role":"assistant","content":"Done."}`
	good := noise + says(words, `{"type":"result","status":"success"}`)
	cut := noise + says(words) + "exit 1"
	bad := noise + says(words, `{"type":"result","status":"error","error":{"message":"it broke"}}`) + "exit 1"
	const shown = "YOLO mode is enabled.\nRipgrep is not available.\n"
	for _, tt := range []struct {
		name, format, script string
		verbose              bool
		want                 string
	}{
		{"folded", "gemini", good, false, "Done.\ngemini: 2 lines of its own; --verbose shows them\n"},
		{"verbose", "gemini", good, true, "YOLO mode is enabled.\n  Ripgrep is not available.\nDone.\n"},
		{"failed", "gemini", bad, false, "Done.\ngemini: 2 lines of its own; --verbose shows them\n"},
		{"failed without a word", "gemini", cut, false, "Done.\n" + shown},
		{"not started well", "gemini", noise + "exit 42", false, shown},
		{"text", "text", noise + "echo Done.", false, "YOLO mode is enabled.\n  Ripgrep is not available.\nDone.\n"},
		{"no format", "", noise + "echo Done.", false, "YOLO mode is enabled.\n  Ripgrep is not available.\nDone.\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var display bytes.Buffer
			c := sh(ralph.Format(tt.format), tt.script)
			c.Verbose = tt.verbose
			_, err := c.Run(t.Context(), ralph.Request{Dir: t.TempDir(), Prompt: "Go on.", Display: &display})
			// The two streams come in any order.
			got, want := strings.SplitAfter(display.String(), "\n"), strings.SplitAfter(tt.want, "\n")
			if tt.verbose || tt.format != "gemini" {
				slices.Sort(got)
				slices.Sort(want)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			c.Verbose = !c.Verbose
			if _, other := c.Run(t.Context(), ralph.Request{Dir: t.TempDir(), Prompt: "Go on.", Display: &display}); (err == nil) != (other == nil) || err != nil && err.Error() != other.Error() {
				t.Errorf("Verbose decides: %v, %v", err, other)
			}
		})
	}
}

// overwritten is a display that knows what a carriage return does.
type overwritten struct{ bytes.Buffer }

func (*overwritten) Overwrites() bool { return true }

// TestCommandFrames: a display that knows what a carriage return does gets those of a
// client's progress bars, and another gets lines.
func TestCommandFrames(t *testing.T) {
	t.Parallel()
	const bars = `printf '1%%\r2%%\n'; printf '3%%\r\033[K4%%\r\n' >&2; echo '<promise>COMPLETE</promise>'`
	for want, display := range map[string]interface {
		io.Writer
		String() string
	}{"1%\r2%\n3%\r4%\n<promise>COMPLETE</promise>\n": &overwritten{}, "1%\n2%\n3%\n4%\n<promise>COMPLETE</promise>\n": &bytes.Buffer{}} {
		loop := ralph.Local{Runner: sh("", bars), Verifier: verify.String{}, Output: func(ralph.Request) (io.Writer, io.Writer) { return display, nil }}
		if _, err := loop.Run(t.Context(), ralph.Start(ralph.Task{Prompt: "Go on.", Dir: t.TempDir()})); err != nil {
			t.Fatal(err)
		}
		got := strings.SplitAfter(display.String(), "\n") // the two streams come in any order
		slices.Sort(got)
		if diff := cmp.Diff(want, strings.Join(got, "")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestCommandPlaces: files are named as they are in the workspace.
func TestCommandPlaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var display bytes.Buffer
	edit := `{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Edit","input":{"file_path":"` + dir + `/src/a.go"}}]}}`
	if _, err := sh("claude", says(edit, claudeDone, claudeEnd)).Run(t.Context(), ralph.Request{Dir: dir, Display: &display}); err != nil {
		t.Fatal(err)
	}
	if got := display.String(); !strings.HasPrefix(got, "→ Edit src/a.go\n") {
		t.Errorf("%q", got)
	}
}
