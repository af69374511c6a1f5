package verify_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/term/termtest"
	"github.com/ralph-loop/ralph/verify"
)

// TestEvidenceModes: full outputs are for their owner, in folders that only the
// owner may enter; they hold nothing that a terminal should not be shown.
func TestEvidenceModes(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	for _, text := range termtest.Sequences() {
		top := t.TempDir()
		if err := os.WriteFile(filepath.Join(work, "said"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		claim := ralph.Claim{Task: ralph.Task{Dir: work}, Evidence: filepath.Join(top, "evidence", "T", "001.1"), Output: text}
		for _, v := range []ralph.Verifier{
			verify.External{Args: []string{"cat", "said"}},
			verify.Semantic{Judge: ralph.Replay(text), Criteria: []string{"It works."}},
		} {
			if _, err := v.Verify(t.Context(), claim); err != nil {
				t.Fatal(err)
			}
		}
		files := 0
		if err := filepath.WalkDir(filepath.Join(top, "evidence"), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if d.IsDir() {
				if info.Mode().Perm() != 0o700 {
					t.Errorf("%s is %v", path, info.Mode())
				}
				return nil
			}
			files++
			if info.Mode().Perm() != 0o600 {
				t.Errorf("%s is %v", path, info.Mode())
			}
			content, err := os.ReadFile(path)
			termtest.Check(t, d.Name(), string(content))
			return err
		}); err != nil || files != 2 {
			t.Errorf("%q: %d files, %v", text, files, err)
		}
	}
}
