//go:build linux || darwin

package file_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/internal/file"
	"github.com/ralph-loop/ralph/internal/file/filetest"
)

// TestPlaces: whatever stands in the place of a file, each way of opening it takes
// what it may and refuses the rest at once; nothing is written elsewhere.
func TestPlaces(t *testing.T) {
	t.Parallel()
	const text = "text\n"
	closed := func(f *os.File, err error) error {
		if err == nil {
			_, err = f.WriteString("more")
			err = errors.Join(err, f.Close())
		}
		return err
	}
	for how, open := range map[string]func(path string) error{
		"Append":  func(path string) error { return closed(file.Append("log", path, file.Private)) },
		"Edit":    func(path string) error { return closed(file.Edit("log", path)) },
		"Replace": func(path string) error { return file.Replace("log", path, []byte("more")) },
		"Put":     func(path string) error { return file.Put("log", path, []byte("more")) },
	} {
		for _, p := range filetest.Places() {
			t.Run(how+" "+p.Name, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "f")
				p.Put(t, path, text)
				err := filetest.Within(t, func() error { return open(path) })
				p.Check(t, err, p.Write, path, text)
			})
		}
	}
	for _, p := range filetest.Places() {
		t.Run("Read "+p.Name, func(t *testing.T) {
			t.Parallel()
			p := p
			path := filepath.Join(t.TempDir(), "f")
			p.Put(t, path, text)
			err := filetest.Within(t, func() error {
				got, err := file.Read("log", path, 100)
				if p.Read && string(got) != text {
					t.Errorf("%q", got)
				}
				return err
			})
			if p.Says == "has 2 names" || !p.Read {
				p.Says = "" // read with other words than written
			}
			p.Check(t, err, p.Read, path, text)
		})
		t.Run("OpenIn "+p.Name, func(t *testing.T) {
			t.Parallel()
			p := p
			p.Says = ""
			path := filepath.Join(t.TempDir(), "f")
			p.Put(t, path, text)
			p.Check(t, filetest.Within(t, func() error { return openIn(filepath.Dir(path), "f") }), p.Read, path, text)
		})
		t.Run("Create "+p.Name, func(t *testing.T) {
			t.Parallel()
			p := p
			path := filepath.Join(t.TempDir(), "f")
			p.Put(t, path, text)
			err := filetest.Within(t, func() error { return closed(file.Create("log", path, file.Shared)) })
			if !errors.Is(err, fs.ErrExist) {
				t.Error(err)
			}
			p.Says = ""
			p.Check(t, err, false, path, text)
		})
	}
}

func openIn(dir, name string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	f, err := file.OpenIn("log", root, name)
	if err == nil {
		err = f.Close()
	}
	if err = errors.Join(err, root.Close()); err != nil {
		err = fmt.Errorf("%s: %w", filepath.Join(dir, name), err) // it names the file as the folder does
	}
	return err
}

// TestOpenIn: a link that leads out of the folder leads nowhere.
func TestOpenIn(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir := filepath.Join(top, "in")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(top, "out"), nil, 0o600), os.WriteFile(filepath.Join(dir, "f"), nil, 0o600),
		os.Symlink("f", filepath.Join(dir, "within")), os.Symlink("../out", filepath.Join(dir, "away")), os.Symlink("..", filepath.Join(dir, "up"))); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"f": true, "within": true, "away": false, "up/out": false, "../out": false, "none": false, "": false} {
		if err := openIn(dir, name); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestModes: what is private is so from the start, also where an earlier version
// left it open to all; what a person chose for a group stays, and what is shared
// keeps to the umask.
func TestModes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		had, makes, want fs.FileMode // had: 0 = it is not there
	}{
		{0, file.Private, 0o600}, {0o644, file.Private, 0o600}, {0o666, file.Private, 0o600}, {0o755, file.Private, 0o700},
		{0o640, file.Private, 0o640}, {0o660, file.Private, 0o660},
		{0o644, file.Shared, 0o644}, {0o666, file.Shared, 0o666},
	} {
		path := filepath.Join(t.TempDir(), "f")
		if tt.had != 0 {
			if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, tt.had)); err != nil {
				t.Fatal(err)
			}
		}
		f, err := file.Append("log", path, tt.makes)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err = errors.Join(err, f.Close()); err != nil || info.Mode().Perm() != tt.want {
			t.Errorf("%o, opened with %o: %o, %v; want %o", tt.had, tt.makes, info.Mode().Perm(), err, tt.want)
		}
	}
}

// TestFolder: the folders that are made are private, the others stay as they are.
func TestFolder(t *testing.T) {
	t.Parallel()
	top := filepath.Join(t.TempDir(), "top")
	if err := errors.Join(os.Mkdir(top, 0o700), os.Chmod(top, 0o755)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		f, err := file.Temp(filepath.Join(top, "a", "b"), "x-*.log")
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]fs.FileMode{}
		for name, path := range map[string]string{"top": top, "a": filepath.Join(top, "a"), "b": filepath.Join(top, "a", "b"), "file": f.Name()} {
			if info, err := os.Stat(path); err == nil {
				got[name] = info.Mode().Perm()
			}
		}
		if diff := cmp.Diff(map[string]fs.FileMode{"top": 0o755, "a": 0o700, "b": 0o700, "file": 0o600}, got); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := file.Temp(filepath.Join(top, "a", "f"), "x"); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(top, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := file.Folder(filepath.Join(top, "file", "in")); err == nil {
		t.Error("a folder in a file")
	}
}

// TestGive: what root makes in somebody's folder is theirs, as in a container with
// a workspace of the host; what it replaces stays theirs.
func TestGive(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	const host = 54321
	dir := t.TempDir()
	list := filepath.Join(dir, "tasks.md")
	if err := errors.Join(os.WriteFile(list, nil, 0o640), os.Chown(list, host, host), os.Chown(dir, host, host)); err != nil {
		t.Fatal(err)
	}
	log, err := file.Append("log", filepath.Join(dir, "log"), file.Private)
	if err == nil {
		err = log.Close()
	}
	temp, tempErr := file.Temp(filepath.Join(dir, ".ralph", "evidence"), "x")
	if tempErr == nil {
		tempErr = temp.Close()
	}
	put := filepath.Join(dir, "put")
	if err := errors.Join(err, tempErr, file.Replace("list", list, []byte("new")), file.Put("view", put, nil)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{log.Name(), put, temp.Name(), filepath.Dir(temp.Name()), filepath.Join(dir, ".ralph"), list} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if s := info.Sys().(*syscall.Stat_t); s.Uid != host || s.Gid != host {
			t.Errorf("%s belongs to %d:%d", path, s.Uid, s.Gid)
		}
	}
}

// TestThroughFolders: folders on the way may be links, as a home folder or /tmp is
// in places.
func TestThroughFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "real"), 0o700), os.Symlink("real", filepath.Join(dir, "home"))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "home", "log")
	for _, want := range []string{"one", "oneone"} {
		f, err := file.Append("log", path, file.Private)
		if err == nil {
			_, err = f.WriteString("one")
			err = errors.Join(err, f.Close())
		}
		got, readErr := file.Read("log", path, 100)
		if err != nil || readErr != nil || string(got) != want {
			t.Errorf("%q, %v, %v", got, err, readErr)
		}
	}
	if err := file.Replace("log", path, []byte("two")); err != nil {
		t.Error(err)
	}
}
