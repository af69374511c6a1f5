//go:build linux || darwin

package spec_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph/internal/file/filetest"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// TestPlaces: whatever stands in the place of definitions or of a configuration,
// it is read or refused at once, and a status is written to no other file.
func TestPlaces(t *testing.T) {
	t.Parallel()
	const text = "id: A\n"
	for _, p := range filetest.Places() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			p := p
			path := filepath.Join(t.TempDir(), "tasks.yaml")
			p.Put(t, path, text)
			save := func() error {
				f, err := spec.Parse(path, []byte(text)) // as if it had been something else
				if err == nil {
					err = errors.Join(f.SetStatus("A", spec.StatusDone), f.Save())
				}
				return err
			}
			p.Check(t, filetest.Within(t, save), p.Write, path, text)
			p.Says = ""
			p.Check(t, filetest.Within(t, func() error { _, err := spec.Load(path); return err }), p.Read, path, text)
			p.Check(t, filetest.Within(t, func() error { _, err := spec.LoadConfig(path); return err }), p.Read, path, text)
		})
		t.Run("Create "+p.Name, func(t *testing.T) {
			t.Parallel()
			p := p
			path := filepath.Join(t.TempDir(), "tasks.yaml")
			p.Put(t, path, " \n")
			p.Says = ""
			p.Check(t, filetest.Within(t, func() error { return spec.Create(path, []byte(text)) }), p.Write, path, " \n")
		})
	}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tasks.yaml")
	if err := spec.Create(path, []byte("id: A\n")); err != nil {
		t.Fatal(err)
	}
	if err := spec.Create(path, []byte("id: B\n")); !errors.Is(err, os.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
	if got, err := os.ReadFile(path); string(got) != "id: A\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
