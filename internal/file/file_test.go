package file_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/file"
)

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int]string{0: "12345", 3: "1234", 5: "12345"} {
		if got, err := file.Read("list", path, most); err != nil || string(got) != want {
			t.Errorf("%d: %q, %v", most, got, err)
		}
	}
	for path, want := range map[string]string{"": "no path of a list is given", dir: "is a directory", filepath.Join(dir, "none"): "create it"} {
		if _, err := file.Read("list", path, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", path, err, want)
		}
	}
}

// A link is followed, the mode stays, and nothing else is left in the folder.
func TestReplace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(real, []byte("old"), 0o640), os.Chmod(real, 0o640), os.Symlink("real", link)); err != nil {
		t.Fatal(err)
	}
	if err := file.Replace(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(real); err != nil || string(got) != "new" {
		t.Errorf("%q, %v", got, err)
	}
	if info, err := os.Lstat(real); err != nil || info.Mode().String() != "-rw-r-----" {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
	if err := file.Replace(filepath.Join(dir, "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}
