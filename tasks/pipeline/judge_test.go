package pipeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// A fate is what the agents of a task do, and what becomes of it.
type fate struct {
	id    string
	after []string
	does  string // "" = the work, at once; see script.code
	ends  string // "" = it is merged
}

// forty are four tasks that get in each other's way, and nine diamonds.
func forty() []fate {
	all := []fate{
		{id: "T01", does: "line"},                   // changes a line
		{id: "T02", does: "line", ends: "unmerged"}, // and so does this one
		{id: "T03", does: "test"},                   // a test of what
		{id: "T04", does: "lib", ends: "unmerged"},  // this one changes
	}
	does := map[string]string{"C1": "late", "B2": "unclaimed", "C3": "false", "D4": "slow", "B5": "error", "C5": "blocked"}
	waits := map[string]bool{"D2": true, "D3": true, "D5": true, "D6": true}
	for n := 1; n <= 9; n++ {
		a, b, c, d := fmt.Sprint("A", n), fmt.Sprint("B", n), fmt.Sprint("C", n), fmt.Sprint("D", n)
		diamond := []fate{{id: a}, {id: b, after: []string{a}}, {id: c, after: []string{a}}, {id: d, after: []string{b, c}}}
		if n > 5 {
			diamond[0].after = []string{fmt.Sprint("D", n-5)}
		}
		if n == 6 {
			diamond[3].after = append(diamond[3].after, "T02")
		}
		for _, t := range diamond {
			t.does = does[t.id]
			switch {
			case t.does != "" && t.does != "late":
				t.ends = "failed"
			case waits[t.id] || n > 6: // their first waits for a diamond that is not whole
				t.ends = "waits"
			}
			all = append(all, t)
		}
	}
	return all
}

// A script is agents that work by a plan.
type script struct {
	t      *testing.T
	plan   map[string]fate
	began  map[string]chan struct{} // by task, of the first four: its agent works
	merged map[string]chan struct{}
}

func (s script) run(ctx context.Context, req ralph.Request) (string, error) {
	p := s.plan[req.Task]
	for _, on := range p.after { // what it depends on is there
		if _, err := os.Stat(filepath.Join(req.Dir, "out", on)); err != nil {
			s.t.Errorf("%s does not have %s", p.id, on)
		}
	}
	if req.Agent != "coder" {
		return claim(req), nil
	}
	return s.code(ctx, p, req)
}

func (s script) code(ctx context.Context, p fate, req ralph.Request) (string, error) {
	made := map[string]string{"out/" + p.id: p.id + "\n"}
	switch p.does {
	case "line":
		made["line"] = p.id + "\n"
	case "test":
		made["tests/lib.sh"] = "grep -q one lib\n"
	case "lib":
		made["lib"] = "two\n"
	case "false":
		made = map[string]string{"out/wrong": "\n"}
	case "late":
		if req.Iteration == 1 {
			return claim(req), nil
		}
	}
	writeAll(s.t, req.Dir, made)
	if p.id > "B" { // some commit what they do, others leave it
		sh(s.t, req.Dir, "git add -A; git commit -q --allow-empty -m '"+p.id+"'")
	}
	switch p.does {
	case "error":
		return "", errors.New("it broke")
	case "unclaimed":
		return "More is to be done.", nil
	case "blocked":
		return "I cannot.\n\n<promise>CANNOT</promise>", nil
	case "slow":
		<-ctx.Done()
		return "", ctx.Err()
	}
	return claim(req), s.meet(ctx, p.id)
}

// meet has the first four begin at the same commit, and be merged in their order.
func (s script) meet(ctx context.Context, id string) error {
	if s.began[id] == nil {
		return nil
	}
	close(s.began[id])
	wait := slices.Collect(maps.Values(s.began))
	if first := map[string]string{"T02": "T01", "T04": "T03"}[id]; first != "" {
		wait = append(wait, s.merged[first])
	}
	for _, c := range wait {
		select {
		case <-c:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// judged is a repository with the plan's tasks in a file, which is committed.
func judged(t *testing.T) (dir string, src *pipeline.File) {
	dir = repo(t, map[string]string{"line": "none\n", "lib": "one\n", "tests/a.sh": "true\n"})
	var tasks []string
	for _, p := range forty() {
		tasks = append(tasks, task(p.id, "test -f out/"+p.id+` && for f in tests/*.sh; do sh "$f" || exit 1; done`, p.after)+
			"        max_iterations: 2\n        blocked: CANNOT\n      reviewer:\n        promise: REVIEWED\n        verification_method: string_match\n")
	}
	src = file(t, filepath.Join(dir, "tasks.yaml"), tasks...)
	sh(t, dir, "git add -A; git commit -qm tasks")
	return dir, src
}

// TestForty works forty tasks off, of which some fail, some cannot be merged, and some
// wait for those.
func TestForty(t *testing.T) {
	t.Parallel()
	dir, src := judged(t)
	s := script{t: t, plan: map[string]fate{}, began: map[string]chan struct{}{}, merged: map[string]chan struct{}{}}
	want, ends := map[string]string{"line": "T01", "lib": "one", "tests/a.sh": "true", "tests/lib.sh": "grep -q one lib"}, map[string][]string{}
	for _, p := range forty() {
		s.plan[p.id], s.merged[p.id] = p, make(chan struct{})
		if strings.HasPrefix(p.id, "T") {
			s.began[p.id] = make(chan struct{})
		}
		if ends[p.ends] = append(ends[p.ends], p.id); p.ends == "" {
			want["out/"+p.id] = p.id
		}
	}
	a := &agents{do: s.run}
	p := &pipeline.Pipeline{
		Source: src, Dir: dir, Record: record(t), Runner: a.runner, Stages: []string{"coder", "reviewer"},
		Rules: pipeline.Rules{Slots: 4, Merge: true},
		Task: func(d spec.Definition, agent string) (ralph.Task, error) {
			task, err := spec.Config{}.Task(d, agent)
			if s.plan[d.ID].does == "slow" {
				task.Limits.IterationTimeout = time.Millisecond
			}
			return task, err
		},
	}
	var merged []string
	var err error
	for ev, wrong := range p.Events(t.Context()) {
		if err = wrong; wrong == nil && ev.Kind == pipeline.EventMerged {
			merged = append(merged, ev.Task)
			close(s.merged[ev.Task])
		}
	}
	if stop, ok := errors.AsType[*ralph.StopError](err); !ok || stop.Reason != ralph.StopStalled || stop.Detail != "23 of 40 tasks remain" {
		t.Errorf("error %v", err)
	}
	if a.most != 4 {
		t.Errorf("%d agents at the same time", a.most)
	}

	got := there(t, dir, "main")
	delete(got, "tasks.yaml")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("on main: %s", diff)
	}
	sound(t, dir, "M tasks.yaml")
	if diff := cmp.Diff(sh(t, dir, "git log --first-parent --format=%s main~"+fmt.Sprint(len(merged))+"..main | sed 's/^Merge \\(.*\\):.*/\\1/'"), backwards(merged)); diff != "" {
		t.Errorf("merges: %s", diff)
	}
	branches, trees := left(t, dir)
	kept := slices.Sorted(slices.Values(slices.Concat(ends["failed"], ends["unmerged"])))
	if !slices.Equal(trees, kept) || len(branches) != len(kept) {
		t.Errorf("left are the branches %q and worktrees %q, want %q", branches, trees, kept)
	}
	for _, id := range ends["waits"] {
		if a.times(id, "coder") > 0 {
			t.Errorf("%s has begun", id)
		}
	}
	s.look(stands(t, src.Path))
}

func backwards(all []string) string {
	all = slices.Clone(all)
	slices.Reverse(all)
	return strings.Join(all, "\n")
}

// look compares what the task file says with the plan.
func (s script) look(got map[string]spec.Definition) {
	status := map[string]spec.Status{"": spec.StatusDone, "failed": spec.StatusTodo, "unmerged": spec.StatusRunning}
	reasons := map[string]string{
		"unclaimed": "iterations: ", "false": "iterations: ", "slow": "iterations: ", "error": "iterations: ", "blocked": "blocked: ",
		"line": "it conflicts with the main branch in line", "lib": "after the merge with the main branch, coder is rejected: ",
	}
	outputs := map[string]string{"unclaimed": "More is to be done.", "blocked": "I cannot.\n\n<promise>CANNOT</promise>"}
	for id, p := range s.plan {
		d := got[id]
		if d.Status.Effective() != status[p.ends].Effective() {
			s.t.Errorf("%s: status %s, its plan ends %q", id, d.Status, p.ends)
		}
		if p.ends != "waits" && d.UpdatedAt.IsZero() {
			s.t.Errorf("%s: no updated_at", id)
		}
		var f pipeline.Failure
		if text := d.Metadata["ralph_failure"]; (len(text) > 0) != (p.ends == "failed" || p.ends == "unmerged") {
			s.t.Errorf("%s: ralph_failure %s", id, text)
		} else if len(text) > 0 {
			if err := json.Unmarshal(text, &f); err != nil {
				s.t.Errorf("%s: %v", id, err)
			}
			if !strings.HasPrefix(f.Reason, reasons[p.does]) || outputs[p.does] != "" && f.LastOutput != outputs[p.does] {
				s.t.Errorf("%s: %+v", id, f)
			}
		}
		stage, used := "coder", 2
		switch {
		case p.ends == "unmerged":
			stage, used = "merge", 0
		case p.does == "blocked":
			used = 1
		}
		if len(d.Metadata["ralph_failure"]) > 0 && (f.Stage != stage || f.IterationsUsed != used) {
			s.t.Errorf("%s: %+v", id, f)
		}
		if len(d.Metadata["ralph"]) > 0 {
			s.t.Errorf("%s is said to run: %s", id, d.Metadata["ralph"])
		}
	}
	if len(got) != len(s.plan) {
		s.t.Errorf("tasks %q", slices.Sorted(maps.Keys(got)))
	}
}
