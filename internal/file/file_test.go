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
	if got, err := file.Read("list", path, 5); err != nil || string(got) != "12345" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := file.Read("list", path, 4); got != nil || err == nil || !strings.Contains(err.Error(), "list "+path+" has more than 4 bytes") {
		t.Errorf("%q, %v", got, err)
	}
	for path, want := range map[string]string{"": "no path of a list is given", dir: "is a directory", filepath.Join(dir, "none"): "create it"} {
		if _, err := file.Read("list", path, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", path, err, want)
		}
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "gone"), link); err != nil {
		t.Skip(err)
	}
	want := "list " + link + " is a symbolic link that leads nowhere: file does not exist: give the path of the one you have"
	if _, err := file.Read("list", link, 0); err == nil || err.Error() != want || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := os.Stat("/dev/zero"); err == nil {
		want = "list /dev/zero is not a regular file but a device: give the path of a file"
		if _, err := file.Read("list", "/dev/zero", 0); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// The mode stays, also that of a file that may not be written, and nothing else is
// left in the folder. A file that is made is private.
func TestReplace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real := filepath.Join(dir, "real")
	if err := errors.Join(os.WriteFile(real, []byte("old"), 0o440), os.Chmod(real, 0o440)); err != nil {
		t.Fatal(err)
	}
	if err := file.Replace("list", real, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(real); err != nil || string(got) != "new" {
		t.Errorf("%q, %v", got, err)
	}
	if info, err := os.Lstat(real); err != nil || info.Mode().String() != "-r--r-----" {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
	if err := file.Replace("list", filepath.Join(dir, "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	none := filepath.Join(dir, "new")
	for _, text := range []string{"one", "two"} {
		err := file.Put("view", none, []byte(text))
		got, readErr := os.ReadFile(none)
		if err != nil || readErr != nil || string(got) != text {
			t.Errorf("%q, %v, %v", got, err, readErr)
		}
	}
	if info, err := os.Lstat(none); err != nil || info.Mode().Perm() != file.Private {
		t.Errorf("a new file: %v, %v", info.Mode(), err)
	}
	if err := file.Put("view", filepath.Join(dir, "no", "folder"), nil); err == nil {
		t.Error("a file in a folder that is not there")
	}
}
