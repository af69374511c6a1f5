package pipeline_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// TestFollowups has an agent propose further tasks: they are added to the file and
// named, and run in this run only where that is agreed and their checks are trusted.
func TestFollowups(t *testing.T) {
	t.Parallel()
	two := "tasks:\n" + task("F1", "", nil) + task("F2", "test -f F2", []string{"F1"})
	for _, test := range []struct {
		name, proposes string
		follow, trust  bool
		ends, ran      string
		said           string
	}{
		{"added", two, false, false, "T done, F1 todo, F2 todo", "T", "F1 follows T and was added; it waits for the next run"},
		{"followed", two, true, false, "T done, F1 done, F2 todo", "T F1", "F2 follows T and was added; its checks run commands that nobody has seen"},
		{"trusted", two, true, true, "T done, F1 done, F2 done", "T F1 F2", ""},
		{"on one that waits", "tasks:\n" + task("F2", "true", nil) + task("F1", "", []string{"F2"}), true, false, "T done, F2 todo, F1 todo", "T",
			"F1 follows T and was added; F2, which it depends on, is not in this run"},
		{"in another order", "tasks:\n" + task("F2", "", []string{"F1"}) + task("F1", "", nil), true, false, "T done, F2 done, F1 done", "T F1 F2", ""},
		{"wrong", "tasks:\n  - {id: F1, title: x}\n", true, true, "T done", "T", "T: what it proposes as further tasks is not added (it is kept in .ralph/worktrees/T.followup.yaml)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := repo(t, map[string]string{"a": "a\n"})
			path := filepath.Join(t.TempDir(), "tasks.yaml")
			a := &agents{}
			a.do = func(ctx context.Context, req ralph.Request) (string, error) {
				if req.Task == "T" {
					writeAll(t, req.Dir, map[string]string{pipeline.FollowupFile: test.proposes})
				}
				return makes(t)(ctx, req)
			}
			p := &pipeline.Pipeline{Source: file(t, path, task("T", "", nil)), Dir: dir, Record: record(t), Runner: a.runner, Stages: []string{"coder"},
				Rules: pipeline.Rules{Slots: 2, Merge: true}, Follow: test.follow}
			if test.trust {
				p.Trusted = func(pipeline.AgreedTask) bool { return true }
			}
			said := false
			for ev, err := range p.Events(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				said = said || ev.Kind == pipeline.EventNoted && strings.HasPrefix(ev.Text, test.said)
			}
			if got := statuses(t, path); got != test.ends || said != (test.said != "") {
				t.Errorf("%s; said so: %v", got, said)
			}
			var ran, want []string
			for _, req := range a.asked {
				ran = append(ran, req.Task)
			}
			if want = strings.Fields(test.ran); !slices.Equal(ran, want) {
				t.Errorf("ran %q", ran)
			}
			for name := range there(t, dir, "main") {
				if name != "a" && !slices.Contains(want, name) {
					t.Errorf("%s is on main", name)
				}
			}
			sound(t, dir)
			if kept, _ := os.ReadFile(filepath.Join(dir, ".ralph", "worktrees", "T.followup.yaml")); test.name == "wrong" && string(kept) != test.proposes {
				t.Errorf("kept: %q", kept)
			}
		})
	}
}

// TestFollowupsEnd: where each task proposes another, a run ends all the same. What it has
// agreed to can be read while tasks are added.
func TestFollowupsEnd(t *testing.T) {
	t.Parallel()
	a := &agents{}
	a.do = func(_ context.Context, req ralph.Request) (string, error) {
		writeAll(t, req.Dir, map[string]string{pipeline.FollowupFile: "tasks:\n" + task("F", "", nil)})
		return claim(req), nil
	}
	p, path := plain(t, a, task("T", "", nil))
	p.Stages, p.Follow = []string{"coder"}, true
	agreed, err := p.Agree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	began := 0
	for ev, wrong := range agreed.Events(t.Context()) {
		if err = wrong; ev.Kind == pipeline.EventBegan {
			began++
		}
		if len(agreed.Tasks) != 1 && err == nil || began > 5 {
			break
		}
	}
	if got := statuses(t, path); err != nil || got != "T done, F done, F-F1 todo" || len(agreed.Tasks) != 2 {
		t.Errorf("%v: %s; %d tasks", err, got, len(agreed.Tasks))
	}
}
