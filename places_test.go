//go:build linux || darwin

package ralph_test

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file/filetest"
)

// TestOpenFile: whatever stands in the place of a file, it is read or refused at
// once.
func TestOpenFile(t *testing.T) {
	t.Parallel()
	for _, p := range filetest.Places() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "prompt.md")
			p.Put(t, path, "Do it.\n")
			err := filetest.Within(t, func() error {
				f, err := ralph.OpenFile(path)
				if err != nil {
					return err
				}
				defer f.Close()
				if text, err := io.ReadAll(f); string(text) != "Do it.\n" || err != nil {
					t.Errorf("%q, %v", text, err)
				}
				return nil
			})
			if err != nil && !strings.HasPrefix(err.Error(), "ralph: "+path) {
				t.Error(err)
			}
			p.Says = "" // other words than those for what is written
			p.Check(t, err, p.Read, path, "Do it.\n")
		})
	}
}
