package progress_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// TestErrorsSayWhose: an error begins with the package's name, once, and wraps
// what it comes of.
func TestErrorsSayWhose(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "none", "file")
	broken := func() io.Reader { return iotest.ErrReader(io.ErrShortWrite) }
	ended := ralph.Event{Kind: ralph.EventIterationEnded, Time: time.Unix(0, 0), Iteration: ralph.Iteration{Number: 1, Attempt: 1}}
	started := ralph.Event{Kind: ralph.EventLoopStarted, Time: time.Unix(0, 0)}
	for name, f := range map[string]struct {
		call func() error
		is   error // nil = none
	}{
		"JSONL without a writer": {func() error { return (&progress.JSONL{}).Append(t.Context(), ended) }, nil},
		"JSONL on a full disk":   {func() error { return (&progress.JSONL{W: full{}}).Append(t.Context(), ended) }, io.ErrShortWrite},
		"OpenJSONL":              {func() error { _, err := progress.OpenJSONL(missing); return err }, os.ErrNotExist},
		"ReadJSONL": {func() (err error) {
			for _, err = range progress.ReadJSONL(broken()) {
			}
			return err
		}, io.ErrShortWrite},
		"Resume, broken":       {func() error { _, err := progress.Resume(broken(), "T"); return err }, io.ErrShortWrite},
		"Resume, not there":    {func() error { _, err := progress.Resume(strings.NewReader(""), "T"); return err }, nil},
		"Markdown, no path":    {func() error { return (&progress.Markdown{}).Append(t.Context(), started) }, nil},
		"Markdown, no folder":  {func() error { return (&progress.Markdown{Path: missing}).Append(t.Context(), started) }, os.ErrNotExist},
		"Markdown, no file":    {func() error { return (&progress.Markdown{Path: os.DevNull}).Append(t.Context(), started) }, nil},
		"ReadMarkdown":         {func() error { _, err := progress.ReadMarkdown(broken()); return err }, io.ErrShortWrite},
		"Banner":               {func() error { return (&progress.Banner{W: full{}}).Append(t.Context(), ended) }, io.ErrShortWrite},
		"Banner, at the end":   {func() error { return (&progress.Banner{W: full{}}).Close(time.Unix(0, 0), "done") }, io.ErrShortWrite},
		"Redactor, validation": {func() error { return progress.Redactor{Secrets: []string{"x"}}.Validate() }, nil},
	} {
		err := f.call()
		if err == nil || !strings.HasPrefix(err.Error(), "progress: ") || strings.Count(err.Error(), "progress: ") != 1 || f.is != nil && !errors.Is(err, f.is) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
