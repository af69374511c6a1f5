//go:build linux || darwin

// Package filetest puts what a stranger could in the place of files, for tests of
// all that reads and writes them.
package filetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A Place is what stands where a file should.
type Place struct {
	Name        string
	Read, Write bool   // whether it may be read and written
	Says        string // a part of the error if not
	make        func(path, victim, text string) error
}

// Victim is a file elsewhere that a link leads to.
func Victim(path string) string { return path + ".victim" }

// stranger owns nothing.
const stranger = 12345

// Places are all of them. What needs root stands in them only for root.
func Places() []Place {
	fill := func(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }
	link := func(to string) func(path, victim, text string) error {
		return func(path, victim, text string) error { return os.Symlink(to, path) }
	}
	places := []Place{
		{"a file", true, true, "", func(path, _, text string) error { return fill(path, text) }},
		{"a link", true, false, "is a symbolic link", func(path, victim, text string) error {
			return errors.Join(fill(victim, text), os.Symlink(filepath.Base(victim), path))
		}},
		{"a dangling link", false, false, "", func(path, victim, _ string) error { return os.Symlink(victim, path) }},
		{"a link to a pipe", false, false, "is ", func(path, victim, _ string) error {
			return errors.Join(syscall.Mkfifo(victim, 0o600), os.Symlink(victim, path))
		}},
		{"a link to /dev/zero", false, false, "is ", link("/dev/zero")},
		{"a link to a folder", false, false, "is ", link(".")},
		{"a hard link", true, false, "has 2 names", func(path, victim, text string) error {
			return errors.Join(fill(victim, text), os.Link(victim, path))
		}},
		{"a pipe", false, false, "is not a regular file but a named pipe", func(path, _, _ string) error { return syscall.Mkfifo(path, 0o600) }},
		{"a folder", false, false, "is a directory", func(path, _, _ string) error { return os.Mkdir(path, 0o700) }},
		{"a socket", false, false, "is not a regular file but a socket", func(path, _, _ string) error {
			return syscall.Mknod(path, syscall.S_IFSOCK|0o600, 0)
		}},
	}
	if os.Geteuid() == 0 {
		places = append(places,
			Place{"a device", false, false, "is not a regular file but a device", func(path, _, _ string) error {
				return syscall.Mknod(path, syscall.S_IFCHR|0o600, 1<<8|5) // /dev/zero
			}},
			Place{"a stranger's file", true, false, "belongs to another user (12345)", func(path, _, text string) error {
				return errors.Join(fill(path, text), os.Chown(path, stranger, stranger))
			}},
			Place{"a file of the folder's owner", true, true, "", func(path, _, text string) error {
				return errors.Join(fill(path, text), os.Chown(path, stranger, stranger), os.Chown(filepath.Dir(path), stranger, stranger))
			}},
		)
	}
	return places
}

// Put puts it at a path, with this text if it has any. Where the system does not
// let us, the test is skipped.
func (p Place) Put(t *testing.T, path, text string) {
	t.Helper()
	err := os.Remove(path)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		err = p.make(path, Victim(path), text)
	}
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) {
		t.Skipf("%s: %v", p.Name, err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Check checks the error of reading or writing what was put at a path, which must
// name it, and that what it leads to was not written.
func (p Place) Check(t *testing.T, err error, may bool, path, text string) {
	t.Helper()
	switch {
	case may && err != nil:
		t.Errorf("%s: %v", p.Name, err)
	case !may && err == nil:
		t.Errorf("%s: no error", p.Name)
	case !may && (!strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), p.Says)):
		t.Errorf("%s: the error is %q, want %q and %q in it", p.Name, err, path, p.Says)
	}
	if info, err := os.Lstat(Victim(path)); err == nil && info.Mode().IsRegular() {
		if got, err := os.ReadFile(Victim(path)); err != nil || string(got) != text {
			t.Errorf("%s: %q was written elsewhere, %v", p.Name, got, err)
		}
	}
}

// Within runs what must not wait for anybody. It fails a test that would hang.
func Within(t *testing.T, run func() error) error {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- run() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		t.Fatal("it hangs")
		return nil
	}
}
