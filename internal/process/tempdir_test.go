//go:build unix

package process

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestTempDir: the folders of programs that died are removed, and nothing else is.
func TestTempDir(t *testing.T) {
	t.Parallel()
	parent, elsewhere := t.TempDir(), t.TempDir()
	const dead = "ralph-run-ABCDEFGHIJKLMN27"
	keep := []string{
		"ralph-run-", "ralph-run-1", "ralph-run-abcdefghijklmn27", dead + "A", "ralph-run-ABCDEFGHIJKLMN01", "ralph-demo-ABCDEFGHIJKLMN27", "other",
	}
	for _, name := range append(keep, dead) {
		if err := os.MkdirAll(filepath.Join(parent, name, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	open, file, link := "ralph-run-BBBBBBBBBBBBBBBB", "ralph-run-CCCCCCCCCCCCCCCC", "ralph-run-DDDDDDDDDDDDDDDD"
	err := errors.Join(
		os.WriteFile(filepath.Join(parent, dead, "sub", "file"), nil, 0o600),
		os.Chmod(filepath.Join(parent, dead, "sub"), 0o500), // as a cache of modules is
		os.Mkdir(filepath.Join(parent, open), 0o700), os.Chmod(filepath.Join(parent, open), 0o755),
		os.WriteFile(filepath.Join(parent, file), nil, 0o700),
		os.Symlink(elsewhere, filepath.Join(parent, link)),
		os.WriteFile(filepath.Join(elsewhere, "file"), nil, 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	inUse, err := lock(mkdir(t, parent, "ralph-run-EEEEEEEEEEEEEEEE"))
	if err != nil {
		t.Skip("folders cannot be locked here: ", err)
	}
	defer inUse.Close()
	keep = append(keep, open, file, link, "ralph-run-EEEEEEEEEEEEEEEE")
	if os.Getuid() == 0 {
		others := mkdir(t, parent, "ralph-run-FFFFFFFFFFFFFFFF")
		if err := os.Chown(others, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		keep = append(keep, filepath.Base(others))
	}

	d, err := NewTempDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(d.Path); err != nil || info.Mode().Perm() != 0o700 || filepath.Dir(d.Path) != parent {
		t.Errorf("%s: %v, %v", d.Path, info, err)
	}
	sweep(parent) // as another program does: this one is in use
	for _, name := range append(keep, filepath.Base(d.Path)) {
		if _, err := os.Lstat(filepath.Join(parent, name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(elsewhere, "file")); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(parent, dead)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is there: %v", dead, err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(d.Path, "a", "b"), 0o700), os.Chmod(filepath.Join(d.Path, "a"), 0o500), d.Remove()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(d.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is there: %v", d.Path, err)
	}
	if _, err := NewTempDir(filepath.Join(parent, "none")); err == nil {
		t.Error("made a folder in none")
	}
}

func mkdir(t *testing.T, parent, name string) string {
	t.Helper()
	path := filepath.Join(parent, name)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}
