//go:build linux || darwin

package progress_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file/filetest"
	"github.com/ralph-loop/ralph/progress"
)

// dirCalls is all that one may do with a loop in a folder.
func dirCalls(t *testing.T, d *progress.Dir) map[string]func() error {
	fresh := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."})
	return map[string]func() error{
		"Open":   func() error { _, err := d.Open("T"); return err },
		"Look":   func() error { _, err := d.Look("T"); return err },
		"Guide":  func() error { _, err := d.Guide("T", advice); return err },
		"Cancel": func() error { _, err := d.Cancel("T", ""); return err },
		"Create": func() error { _, err := d.Create(fresh, progress.KindLoop); return err },
		"Loops": func() error {
			for _, err := range d.Loops(t.Context()) {
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// TestDirPlaces: whatever stands in the place of a journal, it is refused at once,
// and nothing is written elsewhere.
func TestDirPlaces(t *testing.T) {
	t.Parallel()
	const text = "text\n"
	for _, p := range filetest.Places() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			dir := &progress.Dir{Path: t.TempDir()}
			p.Put(t, dir.File("T"), text)
			for name, call := range dirCalls(t, dir) {
				err := filetest.Within(t, call)
				if p.Name == "a dangling link" && (name == "Create" || name == "Loops") {
					continue // as if nothing was there, until it is written to
				}
				if err == nil || !strings.HasPrefix(err.Error(), "progress: ") {
					t.Errorf("%s: %v", name, err)
				}
				if _, corrupt := errors.AsType[*progress.CorruptError](err); corrupt && !p.Read {
					t.Errorf("%s has read it: %v", name, err)
				}
			}
			start := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."})
			start.Iteration = 2 // it goes on
			err := filetest.Within(t, func() error {
				return dir.Append(t.Context(), ralph.Event{Kind: ralph.EventLoopStarted, Loop: "T", State: &start})
			})
			p.Check(t, err, p.Write, dir.File("T"), text)
			if err := dir.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDirCorrupt: a journal that cannot be read stays as it is until it is set
// aside, and its error tells where it is wrong.
func TestDirCorrupt(t *testing.T) {
	t.Parallel()
	model := &progress.Dir{Path: t.TempDir()}
	runLoop(t, create(t, model, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."})), answers("not yet", done))
	whole := read(t, model.File("T"))
	lines := strings.SplitAfter(whole, "\n")
	edit := func(line int, from, to string) string {
		edited := strings.Replace(lines[line-1], from, to, 1)
		if edited == lines[line-1] {
			t.Errorf("line %d holds no %s", line, from)
		}
		return strings.Join(lines[:line-1], "") + edited + strings.Join(lines[line:], "")
	}
	for _, tt := range []struct {
		name, text string
		line       int // 0 = nothing is wrong
		none       bool
	}{
		{"whole", whole, 0, false},
		{"nothing", "", 0, true},
		{"a line that was torn, alone", lines[0][:40], 0, true},
		{"a line that was torn", whole[:len(whole)-20], 0, false},
		{"bytes after the last line", whole + "\x00\x00\x00", 0, false},
		{"a newer journal", edit(1, `"v":1`, `"v":99`), 1, false},
		{"a newer event", edit(2, `"v":1`, `"v":99`), 2, false},
		{"another loop's journal", edit(1, `"loop":"T"`, `"loop":"U"`), 1, false},
		{"another loop's event", edit(2, `"loop":"T"`, `"loop":"U"`), 2, false},
		{"zeros", edit(2, lines[1], strings.Repeat("\x00", 100)+"\n"), 2, false},
		{"a line that is cut", edit(4, `"event"`, ``), 4, false},
		{"no first line", strings.Join(lines[1:], ""), 1, false},
		{"text", "Hello.\n", 1, false},
		{"a blank line", lines[0] + "\n" + strings.Join(lines[1:], ""), 2, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := &progress.Dir{Path: t.TempDir()}
			if err := os.WriteFile(dir.File("T"), []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			j, err := dir.Open("T")
			switch corrupt, is := errors.AsType[*progress.CorruptError](err); {
			case tt.none:
				if !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%v", err)
				}
				runLoop(t, create(t, dir, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."})), answers(done))
			case tt.line == 0:
				if err != nil {
					t.Fatal(err)
				}
				if s := runLoop(t, j, answers()); s.Stop != ralph.StopVerified {
					t.Errorf("%+v", s)
				}
			case !is || corrupt.Line != int64(tt.line) || corrupt.Offset != int64(strings.LastIndexByte("\n"+strings.Join(strings.SplitAfter(tt.text, "\n")[:tt.line-1], ""), '\n')):
				t.Errorf("%v", err)
			default:
				for name, call := range dirCalls(t, dir) {
					if tt.line > 1 && (name == "Look" || name == "Loops") {
						continue // of what is over they read the start and the end
					}
					if _, is := errors.AsType[*progress.CorruptError](call()); !is {
						t.Errorf("%s: no such error", name)
					}
				}
				if read(t, dir.File("T")) != tt.text {
					t.Error("it was changed")
				}
				to, _, err := dir.SetAside("T")
				if err != nil || read(t, to) != tt.text {
					t.Errorf("%s, %v", to, err)
				}
				runLoop(t, create(t, dir, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."})), answers(done))
			}
		})
	}
}

// TestDirLinked: the folder may be a symbolic link.
func TestDirLinked(t *testing.T) {
	t.Parallel()
	at := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(at, link); err != nil {
		t.Fatal(err)
	}
	runLoop(t, create(t, &progress.Dir{Path: link}, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."})), answers(done))
	if e, err := (&progress.Dir{Path: at}).Look("T"); err != nil || e.Status != progress.StatusCompleted {
		t.Error(e, err)
	}
	for name, path := range map[string]string{"a file": filepath.Join(at, "file"), "below a file": filepath.Join(at, "file", "x"), "a link that leads nowhere": filepath.Join(at, "none")} {
		if err := errors.Join(os.WriteFile(filepath.Join(at, "file"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		_ = os.Symlink(filepath.Join(at, "nowhere"), filepath.Join(at, "none"))
		err := (&progress.Dir{Path: path}).Make()
		if err == nil || !strings.HasPrefix(err.Error(), "progress: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// smallDisk is a folder on a disk of 128 KiB, and a function that makes it
// read-only.
func smallDisk(t *testing.T) (path string, readOnly func()) {
	t.Helper()
	path = t.TempDir()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("only root mounts disks")
	}
	mountDisk(t, path, "size=128k", false)
	return path, func() { mountDisk(t, path, "size=128k", true) }
}

// TestDirFullDisk: what cannot be written is an error that says why, nothing of
// what is on record is lost, and the loop goes on when there is room again.
func TestDirFullDisk(t *testing.T) {
	path, readOnly := smallDisk(t)
	dir := &progress.Dir{Path: filepath.Join(path, "loops")}
	j := create(t, dir, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1000, Retries: -1}}))
	recorded := 0
	l := answers()
	l.Runner = ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
		recorded = req.Iteration - 1
		return ralph.Response{Output: strings.Repeat("x", 3000)}, nil
	})
	_, err := j.Run(t.Context(), l)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("after %d iterations: %v", recorded, err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	e, err := dir.Look("T")
	if err != nil || e.State.Iteration < recorded+1 || recorded == 0 {
		t.Errorf("%d iterations are on record: %+v, %v", recorded, e, err)
	}
	for range 1000 { // a line that did not fit may have left some room
		if _, err = dir.Guide("T", strings.Repeat(advice, 400)); err != nil {
			break
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	if err := os.RemoveAll(strings.TrimSuffix(dir.File("T"), "jsonl") + "raw"); err != nil { // there is room
		t.Fatal(err)
	}

	mounted := dir.File("T")
	before := read(t, mounted)
	readOnly()
	if e, err := dir.Look("T"); err != nil || e.State.Iteration < recorded+1 {
		t.Errorf("%+v, %v", e, err)
	}
	for name, call := range dirCalls(t, dir) {
		if err := filetest.Within(t, call); name != "Look" && name != "Loops" && !errors.Is(err, syscall.EROFS) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if read(t, mounted) != before {
		t.Error("it was changed")
	}
}
