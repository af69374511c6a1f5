//go:build linux || darwin

package tasks_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph/internal/file/filetest"
	"github.com/ralph-loop/ralph/tasks"
)

// TestToolPlaces: whatever stands in the place of a tool's file, it is read or refused at
// once, and a tick changes no other file. What a link in a folder leads to that is not in
// it is refused.
func TestToolPlaces(t *testing.T) {
	t.Parallel()
	for _, p := range filetest.Places() {
		t.Run("tasks.json "+p.Name, func(t *testing.T) {
			t.Parallel()
			p := p // the other one changes it too
			const text = `{"master":{"tasks":[{"id":1,"title":"a","status":"pending"}]}}`
			path := filepath.Join(t.TempDir(), "tasks.json")
			p.Put(t, path, text)
			src := tasks.TaskmasterFile{Path: path}
			p.Check(t, filetest.Within(t, func() error { return src.Tick("1") }), p.Write, path, text)
			p.Says = ""
			p.Check(t, filetest.Within(t, func() error { _, err := src.Items(t.Context()); return err }), p.Read, path, text)
			p.Check(t, filetest.Within(t, func() error { _, err := tasks.OpenSource(path); return err }), p.Read, path, text)
		})
		if p.Name == "a folder" { // which is none of the files in the folder of tasks
			continue
		}
		t.Run("backlog "+p.Name, func(t *testing.T) {
			t.Parallel()
			p := p
			text := front("id: task-1", "title: a", "status: To Do")
			dir := filepath.Join(t.TempDir(), "backlog")
			path := filepath.Join(dir, "tasks", "task-1 - a.md")
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			p.Put(t, path, text)
			src := tasks.Backlog{Path: dir}
			p.Says = ""
			p.Check(t, filetest.Within(t, func() error { return src.Tick("task-1") }), p.Write, path, text)
		})
	}
}
