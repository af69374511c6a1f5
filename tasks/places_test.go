//go:build linux || darwin

package tasks_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/file/filetest"
	"github.com/ralph-loop/ralph/tasks"
)

type ticker interface {
	tasks.Source
	Tick(key string) error
}

// TestPlaces: whatever stands in the place of a list or a prd.json, it is read or
// refused at once, and a tick changes no other file.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, kind := range []struct {
		name, text, key string
		source          func(path string) ticker
	}{
		{"tasks.md", "- [ ] T001 a\n", "T001", func(path string) ticker { return tasks.ListFile{Path: path} }},
		{"prd.json", `{"userStories":[{"id":"A","title":"a","passes":false}]}`, "A", func(path string) ticker { return tasks.PRDFile{Path: path} }},
	} {
		for _, p := range filetest.Places() {
			t.Run(kind.name+" "+p.Name, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), kind.name)
				p.Put(t, path, kind.text)
				src := kind.source(path)
				p.Check(t, filetest.Within(t, func() error { return src.Tick(kind.key) }), p.Write, path, kind.text)
				p.Says = ""
				p.Check(t, filetest.Within(t, func() error { _, err := src.Items(t.Context()); return err }), p.Read, path, kind.text)
				p.Check(t, filetest.Within(t, func() error { _, err := tasks.OpenSource(path); return err }), p.Read, path, kind.text)
			})
		}
	}
}

// TestFindLink: a link to a file of the project is that file, so that it can be
// written back; one that leads elsewhere is for a person to name.
func TestFindLink(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), write(t, "tasks.md", "- [ ] T001 a\n")
	real := filepath.Join(dir, "specs", "tasks.md")
	if err := errors.Join(os.Mkdir(filepath.Dir(real), 0o700), os.WriteFile(real, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "tasks.md")
	for to, want := range map[string]string{"specs/tasks.md": real, elsewhere: link} {
		_ = os.Remove(link)
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
		if got, err := tasks.Find(t.Context(), dir); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", to, got, err, want)
		}
	}
}

// TestReadBound: a list is bounded, and what is larger is not read.
func TestReadBound(t *testing.T) {
	t.Parallel()
	path := write(t, "tasks.md", "- [ ] T001 a\n")
	if err := os.Truncate(path, 1<<40); err != nil { // it takes no room
		t.Skip(err)
	}
	if _, err := tasks.KindOf(path); err == nil || !strings.Contains(err.Error(), path+" has more than 16777216 bytes") {
		t.Error(err)
	}
}

// TestFindOutside: what a link of the project leads to outside of it is not looked into,
// and what cannot be looked at is told.
func TestFindOutside(t *testing.T) {
	t.Parallel()
	elsewhere := project(t, "", map[string]string{"001/tasks.md": aList})
	dir := project(t, "", map[string]string{"specs/002/spec.md": ""})
	if err := os.MkdirAll(filepath.Join(elsewhere, "changes"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(elsewhere, filepath.Join(dir, "openspec")), os.Symlink(filepath.Join(elsewhere, "001"), filepath.Join(dir, "specs", "001"))); err != nil {
		t.Fatal(err)
	}
	const want = "specs/001/tasks.md: is a link that leads out of the project"
	if got, err := tasks.Find(t.Context(), dir); got != "" || err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "openspec/changes: is a link that leads out of the project") {
		t.Errorf("%q, %v", got, err)
	}
	for _, name := range []string{"003", "004"} {
		path := filepath.Join(dir, "specs", name, "tasks.md")
		if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(aList), 0o600)); err != nil {
			t.Fatal(err)
		}
		got, err := tasks.Find(t.Context(), dir)
		if name == "003" && (got != path || err != nil) {
			t.Errorf("%q, %v; want %s", got, err, path)
		} else if name == "004" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q, %v", got, err)
		}
	}
}
