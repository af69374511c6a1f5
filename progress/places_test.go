//go:build linux || darwin

package progress_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file/filetest"
	"github.com/ralph-loop/ralph/progress"
)

// TestPlaces: whatever stands in the place of a log, it is written or refused at
// once, and nothing is written elsewhere.
func TestPlaces(t *testing.T) {
	t.Parallel()
	const text = "text\n"
	state := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."})
	start := ralph.Event{Kind: ralph.EventLoopStarted, State: &state}
	for how, write := range map[string]func(path string) error{
		"OpenJSONL": func(path string) error {
			f, err := progress.OpenJSONL(path)
			if err == nil {
				_, err = f.WriteString("more")
				err = errors.Join(err, f.Close())
			}
			return err
		},
		"File":       func(path string) error { _, err := progress.File{Path: path}.Write([]byte("more")); return err },
		"File check": func(path string) error { _, err := progress.File{Path: path}.Write(nil); return err },
		"Markdown": func(path string) error {
			log := &progress.Markdown{Path: path}
			ended := ralph.Iteration{Number: 1, Attempt: 1, Outcome: ralph.OutcomeSuccess}
			return errors.Join(log.Append(t.Context(), ralph.Event{Kind: ralph.EventIterationEnded, Iteration: ended}),
				log.Append(t.Context(), ralph.Event{Kind: ralph.EventLoopStopped}))
		},
		"StateFile": func(path string) error { return (&progress.StateFile{Path: path}).Append(t.Context(), start) },
		"TaskFile":  func(path string) error { return (&progress.TaskFile{Path: path}).Append(t.Context(), start) },
		"raw output": func(path string) error {
			w, err := progress.NewRaw(path, 10)
			if err == nil {
				_, err = w.Write([]byte("more"))
				err = errors.Join(err, w.Close())
			}
			return err
		},
		"Markdown start": func(path string) error {
			return (&progress.Markdown{Path: path}).Append(t.Context(), ralph.Event{Kind: ralph.EventLoopStarted})
		},
	} {
		for _, p := range filetest.Places() {
			t.Run(how+" "+p.Name, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "log")
				p.Put(t, path, text)
				p.Check(t, filetest.Within(t, func() error { return write(path) }), p.Write, path, text)
			})
		}
	}
	for _, p := range filetest.Places() {
		t.Run("OpenRaw "+p.Name, func(t *testing.T) {
			t.Parallel()
			p := p
			path := filepath.Join(t.TempDir(), "log")
			p.Put(t, path, "") // of which nothing was written yet
			p.Says = ""        // what is read is refused with other words
			p.Check(t, filetest.Within(t, func() error {
				r, err := progress.OpenRaw(path)
				if err == nil {
					err = r.Close()
				}
				return err
			}), p.Read, path, "")
		})
		t.Run("Create "+p.Name, func(t *testing.T) {
			t.Parallel()
			p := p // which the one above reads meanwhile
			path := filepath.Join(t.TempDir(), "log")
			p.Put(t, path, text)
			err := filetest.Within(t, func() error { _, err := progress.File{Path: path}.Create(); return err })
			if !errors.Is(err, fs.ErrExist) {
				t.Error(err)
			}
			p.Says = ""
			p.Check(t, err, false, path, text)
		})
	}
}

// TestFileModes: a log is its owner's, and so are the folders made for it;
// progress.txt is for all who may read the folder. A log that nobody wants is none.
func TestFileModes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := progress.File{Path: filepath.Join(dir, ".ralph", "log.jsonl")}
	if _, err := log.Write(nil); err != nil {
		t.Fatal(err)
	}
	session, err := progress.File{Path: filepath.Join(dir, "logs", "session.log")}.Create()
	if err == nil {
		err = session.Close()
	}
	text := filepath.Join(dir, "progress.txt")
	if err := errors.Join(err, (&progress.Markdown{Path: text}).Append(t.Context(), ralph.Event{Kind: ralph.EventLoopStarted})); err != nil {
		t.Fatal(err)
	}
	probe := filepath.Join(dir, "probe") // the umask, as files of people have it
	if err := os.WriteFile(probe, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	shared, err := os.Stat(probe)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{
		log.Path: 0o600, filepath.Dir(log.Path): 0o700, filepath.Join(dir, ".ralph", ".gitignore"): 0o600,
		filepath.Join(dir, "logs"): 0o700, filepath.Join(dir, "logs", ".gitignore"): 0o600, filepath.Join(dir, "logs", "session.log"): 0o600,
		text: shared.Mode().Perm(),
	} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
	before, err := os.Stat(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (progress.File{Path: os.DevNull}).Write([]byte("x")); err != nil {
		t.Error(err)
	}
	if after, err := os.Stat(os.DevNull); err != nil || after.Mode() != before.Mode() {
		t.Errorf("%s is %v now, %v", os.DevNull, after.Mode(), err)
	}
}
