package pipeline_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// parallel is a list with one task, eight beside each other that may be worked on at
// the same time, and one that comes after them.
func parallel() string {
	var b strings.Builder
	b.WriteString("# Tasks\n\n## Phase 1: Setup\n\n- [ ] T000 Make the folder\n\n## Phase 2: Work\n\n")
	for n := range 8 {
		fmt.Fprintf(&b, "- [ ] T00%d [P] Write out/T00%[1]d\n", n+1)
	}
	b.WriteString("\n## Phase 3: Polish\n\n- [ ] T009 Tidy up\n")
	return b.String()
}

// TestList works a list off, several of its items at a time: the boxes are ticked in the
// commits that bring the work, and what an agent does to the list is dropped.
func TestList(t *testing.T) {
	t.Parallel()
	dir := repo(t, map[string]string{"tasks.md": parallel()})
	a := &agents{do: func(_ context.Context, req ralph.Request) (string, error) {
		need := map[string]string{"T000": "", "T009": "out/T001 out/T002 out/T003 out/T004 out/T005 out/T006 out/T007 out/T008"}
		files, known := need[req.Task]
		if !known {
			files = "out/T000"
		}
		if req.Agent == "coder" {
			sh(t, req.Dir, "for f in "+files+"; do test -f $f; done; mkdir -p out; echo x >out/"+req.Task+"; sed -i s/'[ ]'/'[x]'/ tasks.md; echo '- [ ] T100 More' >>tasks.md; git add -A; git commit -qm work")
		}
		return claim(req), nil
	}}
	p := &pipeline.Pipeline{
		Source: pipeline.List{Source: tasks.ListFile{Path: filepath.Join(dir, "tasks.md")}}, Dir: dir, Runner: a.runner,
		Record: record(t), Stages: []string{"coder", "reviewer"}, Rules: pipeline.Rules{Slots: 4, Merge: true},
	}
	all, _, err := journey(t, p)
	if err != nil {
		t.Fatal(err)
	}
	got := there(t, dir, "main")
	if want := strings.TrimSuffix(strings.ReplaceAll(parallel(), "[ ]", "[x]"), "\n"); got["tasks.md"] != want {
		t.Errorf("the list on main:\n%s", got["tasks.md"])
	}
	if len(got) != 11 {
		t.Errorf("files %v", got)
	}
	sound(t, dir)
	if b, w := left(t, dir); len(b)+len(w) > 0 {
		t.Errorf("left are %q, %q", b, w)
	}
	for commit := range strings.FieldsSeq(sh(t, dir, "git log --first-parent --format=%h main~10..main")) { // each ticks its own
		said := sh(t, dir, "git diff --numstat "+commit+"^ "+commit)
		if !strings.Contains(said, "1\t1\ttasks.md") || !strings.Contains(said, "1\t0\tout/T00") || strings.Count(said, "\n") != 1 {
			t.Errorf("%s brings\n%s", commit, said)
		}
	}
	first, last := slices.Index(all, "began T009.coder"), 0
	for i, ev := range all {
		if strings.HasPrefix(ev, "merged T00") && ev != "merged T009" {
			last = i
		}
	}
	if slices.Index(all, "began T001.coder") < slices.Index(all, "merged T000") || first < last {
		t.Errorf("phases: %q", all)
	}

	b := &agents{do: a.do}
	p.Runner = b.runner
	if _, _, err := journey(t, p); err != nil || len(b.ran) > 0 {
		t.Errorf("again: %v, ran %q", err, b.ran)
	}
}

// TestListGoesOn interrupts the run of a list: what was verified is not run again, though
// its box is not ticked, and the loop that was interrupted goes on.
func TestListGoesOn(t *testing.T) {
	t.Parallel()
	dir := repo(t, map[string]string{"tasks.md": "- [ ] T1 One\n- [ ] T2 Two\n", "line": "none\n"})
	ctx, interrupt := context.WithCancel(t.Context())
	a := &agents{do: makes(t)}
	work := a.do
	a.do = func(ctx context.Context, req ralph.Request) (string, error) {
		if req.Agent == "reviewer" && ctx.Err() == nil {
			interrupt()
			<-ctx.Done()
			return "", ctx.Err()
		}
		return work(ctx, req)
	}
	p := &pipeline.Pipeline{
		Source: pipeline.List{Source: tasks.ListFile{Path: filepath.Join(dir, "tasks.md")}}, Dir: dir, Runner: a.runner,
		Record: record(t), Stages: []string{"coder", "reviewer"}, Rules: pipeline.Rules{Merge: true},
	}
	if _, err := p.Run(ctx); err != context.Canceled {
		t.Fatal(err)
	}
	sh(t, dir, "echo mine >T1; git add T1; git commit -qm mine") // T1 will conflict
	a.do = work
	for range 2 {
		if _, err := p.Run(t.Context()); err == nil {
			t.Fatal("merged")
		}
	}
	if want := []string{"T1.coder 1", "T1.reviewer 1", "T1.reviewer 1"}; !slices.Equal(a.ran, want) {
		t.Errorf("ran %q", a.ran)
	}
	sh(t, dir, "git rm -q T1; git commit -qm sorry")
	if _, err := p.Run(t.Context()); err != nil {
		t.Error(err)
	}
	if want := []string{"T1.coder 1", "T1.reviewer 1", "T1.reviewer 1", "T2.coder 1", "T2.reviewer 1"}; !slices.Equal(a.ran, want) {
		t.Errorf("ran %q", a.ran)
	}
	sound(t, dir)
}
