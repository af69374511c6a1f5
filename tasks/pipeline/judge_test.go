package pipeline_test

import (
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph/tasks/pipeline"
)

func TestSmoke(t *testing.T) {
	t.Parallel()
	dir := repo(t, map[string]string{"a": "a\n"})
	path := filepath.Join(dir, "tasks.yaml")
	src := file(t, path, task("T1", "test -f T1", nil), task("T2", "test -f T1 && test -f T2", []string{"T1"}))
	sh(t, dir, "git add -A; git commit -qm tasks")
	a := &agents{do: makes(t)}
	p := &pipeline.Pipeline{Source: src, Dir: dir, Record: record(t), Runner: a.runner, Stages: []string{"coder"}, Rules: pipeline.Rules{Slots: 2, Merge: true}}
	all, final, err := journey(t, p)
	t.Log(all, final, err)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(there(t, dir, "main"), statuses(t, path))
	sound(t, dir, "M tasks.yaml")
	b, w := left(t, dir)
	if len(b)+len(w) > 0 {
		t.Error(b, w)
	}
}
