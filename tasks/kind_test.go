package tasks_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph/tasks"
)

func TestKindOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       tasks.Kind // "" = an error
	}{
		{"tasks.md", "", tasks.KindList},
		{"TASKS.MD", "", tasks.KindList},
		{"todo.txt", "", tasks.KindList},
		{"TODO", "", tasks.KindList},
		{"tasks.yaml", "", tasks.KindDefinitions},
		{"tasks.yml", "", tasks.KindDefinitions},
		{"prd.json", `{"userStories":[]}`, tasks.KindPRD},
		{"bom.json", "\ufeff{\"userStories\":[]}", tasks.KindPRD},
		{"case.json", `{"userstories":[]}`, tasks.KindPRD},
		{"bare.json", `[{"id":"US-1","title":"Login","passes":false}]`, tasks.KindPRD},
		{"other.json", `{}`, tasks.KindPRD},
		{"one.json", `{"id":"T1"}`, tasks.KindDefinitions},
		{"task.json", `{"task":{}}`, tasks.KindDefinitions},
		{"list.json", `[{"id":"T1"}]`, tasks.KindDefinitions},
		{"broken.json", `{"userStories":[`, tasks.KindDefinitions},
		{"a.docx", "", ""},
	} {
		path := filepath.Join(t.TempDir(), tt.name)
		if err := os.WriteFile(path, []byte(tt.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := tasks.KindOf(path); got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
	if _, err := tasks.KindOf(filepath.Join(t.TempDir(), "no.md")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
