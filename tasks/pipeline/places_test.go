//go:build linux || darwin

package pipeline_test

import (
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph/internal/file/filetest"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// Whatever stands in the place of a task file or a proposal, it is read or refused at
// once, and a status is written to no other file.
func TestPlaces(t *testing.T) {
	t.Parallel()
	const text = "id: A\ntitle: a\ncompletion: {outcome: o, acceptance_criteria: [a]}\n"
	for _, p := range filetest.Places() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			p := p
			path := filepath.Join(t.TempDir(), "tasks.yaml")
			p.Put(t, path, text)
			p.Says = ""
			f := &pipeline.File{Path: put(t, "tasks.yaml", three)}
			read(t, f)
			if p.Name == "a dangling link" {
				p.Read = true // it is as good as no file
			}
			p.Check(t, filetest.Within(t, func() error { _, err := f.ReadFollowups(t.Context(), path); return err }), p.Read, path, text)
			f = &pipeline.File{Path: path}
			write := func() error {
				if _, err := f.Read(t.Context()); err != nil {
					return err
				}
				return f.Write(t.Context(), "A", pipeline.Update{Status: spec.StatusDone})
			}
			p.Check(t, filetest.Within(t, write), p.Write, path, text)
		})
	}
}
