//go:build linux || darwin

package filetest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ralph-loop/ralph/internal/file"
)

// TestDisk: what is left after a crash is what was synced, and what was not may be
// there, in its order.
func TestDisk(t *testing.T) {
	t.Parallel()
	found := map[string]int{}
	for seed := range uint64(300) {
		root := t.TempDir()
		d := &Disk{Seed: seed}
		a, b := filepath.Join(root, "new", "a"), filepath.Join(root, "new", "b")
		write := func(f file.Handle, text string) {
			if n, err := f.Write([]byte(text)); n != len(text) || err != nil {
				t.Fatal(n, err)
			}
		}
		f, err := d.Append(filepath.Join(root, "old"))
		if err = errors.Join(err, f.Sync(), d.Sync(root), d.Folder(filepath.Dir(a)), d.Sync(root)); err != nil {
			t.Fatal(err)
		}
		write(f, "lost?")
		g, err := d.Append(a)
		if err != nil {
			t.Fatal(err)
		}
		write(g, "kept,")
		if err := errors.Join(g.Sync(), d.Sync(filepath.Dir(a))); err != nil {
			t.Fatal(err)
		}
		write(g, "torn?")
		if err := errors.Join(g.Close(), f.Close(), d.Rename(a, b), d.Crash()); err != nil {
			t.Fatal(err)
		}
		old, err := os.ReadFile(filepath.Join(root, "old"))
		if err != nil || !strings.HasPrefix("lost?", string(old)) {
			t.Errorf("seed %d: %q, %v", seed, old, err)
		}
		name := "a"
		text, err := os.ReadFile(a)
		if errors.Is(err, fs.ErrNotExist) {
			name = "b"
			text, err = os.ReadFile(b)
		} else if _, err := os.Stat(b); err == nil {
			t.Errorf("seed %d: both names", seed)
		}
		if err != nil || !strings.HasPrefix(string(text), "kept,") || !strings.HasPrefix("kept,torn?", string(text)) {
			t.Errorf("seed %d: %q, %v", seed, text, err)
		}
		found[name+string(text)]++
	}
	if len(found) != 12 {
		t.Errorf("%d kinds: %v", len(found), found)
	}
}

// TestDiskFails: an operation fails as it was told to, and those after it if it
// was told so.
func TestDiskFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		disk *Disk
		want [4]error // of making a file, writing, syncing and truncating
	}{
		{&Disk{At: 2, Mode: NoRoom}, [4]error{nil, syscall.ENOSPC, nil, nil}},
		{&Disk{At: 2, Mode: NoRoom, Ever: true}, [4]error{nil, syscall.ENOSPC, syscall.ENOSPC, syscall.ENOSPC}},
		{&Disk{At: 3, Mode: Broken}, [4]error{nil, nil, syscall.EIO, nil}},
		{&Disk{At: 3}, [4]error{nil, nil, ErrStopped, ErrStopped}},
	} {
		d := tt.disk
		stops := 0
		d.OnStop = func() { stops++ }
		f, err := d.Append(filepath.Join(t.TempDir(), "f"))
		if err != nil {
			t.Fatal(err)
		}
		n, werr := f.Write([]byte("text"))
		got := [4]error{err, werr, f.Sync(), f.Truncate(0)}
		for i, err := range got {
			if !errors.Is(err, tt.want[i]) {
				t.Errorf("at %d, operation %d: %v, want %v", d.At, i+1, err, tt.want[i])
			}
		}
		if d.Ops() < 3 || n < 4 != (werr != nil) && n != 4 || d.Stopped() != (stops == 1) {
			t.Errorf("%d operations, %d bytes, stopped %d times", d.Ops(), n, stops)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
