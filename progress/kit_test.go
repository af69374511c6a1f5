package progress_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/progress/progresstest"
)

// TestKit runs the logs of this package through the public kit.
func TestKit(t *testing.T) {
	t.Parallel()
	folder := func() (string, error) { return os.MkdirTemp(t.TempDir(), "log") }
	type lines struct {
		ralph.ProgressLog
		to *bytes.Buffer
	}
	inMemory := func(wrap func(ralph.ProgressLog) ralph.ProgressLog) func() (ralph.ProgressLog, error) {
		return func() (ralph.ProgressLog, error) {
			to := &bytes.Buffer{}
			return lines{wrap(&progress.JSONL{W: to}), to}, nil
		}
	}
	readBack := func(log ralph.ProgressLog) ([]ralph.Event, error) {
		var events []ralph.Event
		for r, err := range progress.ReadJSONL(bytes.NewReader(log.(lines).to.Bytes())) {
			if err != nil {
				return nil, err
			}
			events = append(events, r.Event)
		}
		return events, nil
	}
	broken := func() (ralph.ProgressLog, error) { return progresstest.FailAfter(nil, 0, nil), nil }
	for _, tt := range []struct {
		name   string
		open   func() (ralph.ProgressLog, error)
		traits progresstest.Traits
	}{
		{"Markdown", func() (ralph.ProgressLog, error) {
			dir, err := folder()
			return &progress.Markdown{Path: filepath.Join(dir, "progress.txt")}, err
			// It writes only of iterations that are not run again, and so fails only
			// at them; see TestMarkdownErrors.
		}, progresstest.Traits{Shared: true}},
		{"JSONL", inMemory(func(l ralph.ProgressLog) ralph.ProgressLog { return l }), progresstest.Traits{Shared: true, Read: readBack, Failing: func() (ralph.ProgressLog, error) {
			return &progress.JSONL{W: nowhere{}}, nil
		}}},
		{"StateFile", func() (ralph.ProgressLog, error) {
			dir, err := folder()
			return &progress.StateFile{Path: filepath.Join(dir, "new", "state.json")}, err
		}, progresstest.Traits{Shared: true, Failing: func() (ralph.ProgressLog, error) {
			dir, err := folder()
			return &progress.StateFile{Path: dir}, err
		}}},
		{"TaskFile", func() (ralph.ProgressLog, error) {
			dir, err := folder()
			return &progress.TaskFile{Path: filepath.Join(dir, "tasks.json")}, err
		}, progresstest.Traits{Shared: true, Failing: func() (ralph.ProgressLog, error) {
			dir, err := folder()
			return &progress.TaskFile{Path: dir}, err
		}}},
		{"Multi", inMemory(func(l ralph.ProgressLog) ralph.ProgressLog {
			return progress.Multi(nil, l, &progress.Banner{W: &bytes.Buffer{}})
		}),
			progresstest.Traits{Shared: true, Read: readBack, Failing: func() (ralph.ProgressLog, error) {
				bad, err := broken()
				return progress.Multi(&progress.Banner{W: &bytes.Buffer{}}, bad), err
			}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if err := progresstest.TestLog(tt.open, tt.traits); err != nil {
				t.Error(err)
			}
		})
	}
}

// nowhere cannot be written to.
type nowhere struct{}

func (nowhere) Write([]byte) (int, error) { return 0, os.ErrClosed }
