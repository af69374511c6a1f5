package progress_test

import (
	"testing"

	"github.com/ralph-loop/ralph/progress"
)

// TestClosingRoom: a line that is as wide as the terminal has room, with its command.
func TestClosingRoom(t *testing.T) {
	t.Parallel()
	const line = "records: .ralph; go on: ralph resume T1"
	for columns, want := range map[int]string{len(line): "x\n" + line + "\n", len(line) - 1: "x\nrecords: .ralph\ngo on: ralph resume T1\n"} {
		if got := (progress.Closing{Result: "x", Records: ".ralph", Next: "ralph resume T1", Columns: columns}).String(); got != want {
			t.Errorf("%d columns: %q, want %q", columns, got, want)
		}
	}
}
