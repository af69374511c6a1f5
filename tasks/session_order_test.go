package tasks_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks"
)

// A kanban is a source of a program's own, and its agent: for each run at an item there is a
// step, the last again and again: "tick 1.1, add 1.3<1, blocked".
type kanban struct {
	t       *testing.T
	items   []tasks.Item
	steps   map[string][]string
	runs    []string
	prompts []string
}

func (b *kanban) Items(context.Context) ([]tasks.Item, error) { return slices.Clone(b.items), nil }

func (b *kanban) HowDone(it tasks.Item) string { return "move " + it.Key + " to the right" }

func (b *kanban) Run(_ context.Context, req ralph.Request) (resp ralph.Response, err error) {
	n := 0
	for _, task := range b.runs {
		if task == req.Task {
			n++
		}
	}
	b.runs, b.prompts = append(b.runs, req.Task), append(b.prompts, req.Prompt)
	resp.Output = "I did what I could."
	steps := b.steps[req.Task]
	if steps == nil {
		steps = []string{"tick " + req.Task}
	}
	for step := range strings.SplitSeq(steps[min(n, len(steps)-1)], ", ") {
		what, id, _ := strings.Cut(step, " ")
		switch i := slices.IndexFunc(b.items, func(it tasks.Item) bool { return it.Key == id }); what {
		case "tick":
			b.items[i].Done = true
		case "remove":
			b.items = slices.Delete(slices.Clone(b.items), i, i+1)
		case "add":
			parts := graph(b.t, id)
			i = slices.IndexFunc(b.items, func(it tasks.Item) bool { return it.Key == parts[0].Parent })
			b.items = slices.Insert(slices.Clone(b.items), i+1, parts...)
		case "blocked":
			resp.Output = "<promise>BLOCKED</promise>"
		}
	}
	return resp, nil
}

// wrong rejects what is in it.
type wrong []string

func (w wrong) Verify(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
	return ralph.Verdict{Passed: !slices.Contains(w, c.Task.ID), Feedback: "it is wrong"}, nil
}

func TestSessionOrder(t *testing.T) {
	t.Parallel()
	type steps = map[string][]string
	for _, test := range []struct {
		name, items string
		steps       steps
		wrong       wrong // nil = nobody verifies
		pending     string
		runs        string
		want        tasks.Report
		err         string
	}{
		{name: "parts first", items: "1; 1.1<1; 1.2<1; 2", runs: "1.1 1.2 1 2", want: tasks.Report{Status: "completed", TasksCompleted: 4}},
		{name: "the whole is ticked with its last part", items: "1; 1.1<1; 1.2<1; 2", steps: steps{"1.2": {"tick 1, tick 1.2"}},
			runs: "1.1 1.2 2", want: tasks.Report{Status: "completed", TasksCompleted: 4}},
		{name: "a whole whose parts are done", items: "1; 1.1<1 x; 2", runs: "1 2", want: tasks.Report{Status: "completed", TasksCompleted: 2}},
		{name: "predecessors first", items: "1 >3; 2; 3 >2", runs: "2 3 1", want: tasks.Report{Status: "completed", TasksCompleted: 3}},
		{name: "a circle", items: "1 >2; 2 >1", runs: "1 2", want: tasks.Report{Status: "completed", TasksCompleted: 2}},
		{name: "a part is given up", items: "1; 1.1<1; 1.2<1; 2; 3 >1", steps: steps{"1.2": {"blocked"}}, runs: "1.1 1.2 2",
			want: tasks.Report{Status: "failed", TasksCompleted: 2, TasksRemaining: 3, Skipped: []string{"1.2"}, Waiting: []string{"1", "3"}},
			err:  "given up, or no longer in the list: 1.2; 1 waits for 1.2, which was skipped; 3 waits for 1"},
		{name: "a part is removed", items: "1; 1.1<1; 1.2<1", steps: steps{"1.2": {"remove 1.2, blocked"}}, runs: "1.1 1.2",
			want: tasks.Report{Status: "failed", TasksCompleted: 1, TasksRemaining: 2, Skipped: []string{"1.2"}, Waiting: []string{"1"}},
			err:  "given up, or no longer in the list: 1.2; 1 waits for 1.2, which was skipped"},
		{name: "a part is removed beside another", items: "1; 1.1<1; 1.2<1; 2 >1", steps: steps{"1.1": {"tick 1.1, remove 1.2"}}, runs: "1.1",
			want: tasks.Report{Status: "failed", TasksCompleted: 1, TasksRemaining: 3, Waiting: []string{"1", "2"}},
			err:  "given up, or no longer in the list: 1.2; 1 waits for 1.2; 2 waits for 1"},
		{name: "a new part is removed", items: "1; 2", steps: steps{"1": {"add 1.1<1", "tick 1"}, "1.1": {"remove 1.1, tick 2"}}, runs: "1 1.1 1.1 1.1",
			want: tasks.Report{Status: "failed", TasksCompleted: 1, TasksRemaining: 2, Skipped: []string{"1.1"}, Waiting: []string{"1"}},
			err:  "given up, or no longer in the list: 1.1; 1 waits for 1.1, which was skipped"},
		{name: "a part that is done is removed", items: "1; 1.1<1; 1.2<1", steps: steps{"1.2": {"tick 1.2, remove 1.1"}}, runs: "1.1 1.2 1",
			want: tasks.Report{Status: "completed", TasksCompleted: 3}},
		{name: "it gets parts", items: "1; 2", steps: steps{"1": {"add 1.1<1;1.2<1", "tick 1"}}, runs: "1 1.1 1.2 1 2",
			want: tasks.Report{Status: "completed", TasksCompleted: 4}},
		{name: "it gets parts in its last iteration", items: "1; 2", steps: steps{"1": {"", "", "add 1.1<1", "", "tick 1"}}, runs: "1 1 1 1.1 1 1 2",
			want: tasks.Report{Status: "completed", TasksCompleted: 3}},
		{name: "it gets parts and is blocked", items: "1; 2", steps: steps{"1": {"add 1.1<1, blocked", "tick 1"}}, runs: "1 1.1 1 2",
			want: tasks.Report{Status: "completed", TasksCompleted: 3}},
		{name: "a part gets a part", items: "1; 1.1<1", steps: steps{"1.1": {"add 1.1.1<1.1", "tick 1.1"}}, runs: "1.1 1.1.1 1.1 1",
			want: tasks.Report{Status: "completed", TasksCompleted: 3}},
		{name: "a part is rejected", items: "1; 1.1<1; 2", wrong: wrong{"1.1"}, runs: "1.1 1.1 1.1 2",
			want: tasks.Report{Status: "failed", TasksCompleted: 1, TasksRemaining: 2, Skipped: []string{"1.1"}, Waiting: []string{"1"}, Rejected: []string{"1.1"}},
			err:  "given up, rejected, or no longer in the list: 1.1; 1 waits for 1.1, which was skipped"},
		{name: "a part that is ticked is not verified yet", items: "1; 1.1<1 x; 2", wrong: wrong{}, pending: "1.1", runs: "1 2",
			want: tasks.Report{Status: "completed", TasksCompleted: 3}},
		{name: "the whole is ticked, and a part given up", items: "1; 1.1<1", wrong: wrong{}, steps: steps{"1.1": {"tick 1, blocked"}}, runs: "1.1",
			want: tasks.Report{Status: "failed", TasksRemaining: 2, Skipped: []string{"1.1"}, Waiting: []string{"1"}, Unverified: []string{"1"}},
			err:  "given up, or no longer in the list: 1.1; 1 waits for 1.1, which was skipped"},
		{name: "a limit", items: "1; 1.1<1; 1.2<1", steps: steps{"1.1": {"blocked"}, "1.2": {""}}, runs: "1.1 1.2 1.2",
			want: tasks.Report{Status: "failed", TasksRemaining: 3, Skipped: []string{"1.1"}, Waiting: []string{"1"}, MaxIterations: 3}, err: "the limit of iterations"},
	} {
		b := &kanban{t: t, items: graph(t, test.items), steps: test.steps}
		s := tasks.Session{Source: b, Runner: b, Dir: t.TempDir(), Feature: "f", Limits: ralph.Limits{Iterations: test.want.MaxIterations}}
		if s.Limits.Iterations == 0 {
			s.Limits.Iterations, test.want.MaxIterations = 30, 30
		}
		if test.wrong != nil {
			s.Verifier = test.wrong
		}
		if test.pending != "" {
			s.Pending = map[string]string{test.pending: ""}
		}
		got, err := s.Run(t.Context())
		if runs := strings.Join(b.runs, " "); runs != test.runs {
			t.Errorf("%s: %q, want %q", test.name, runs, test.runs)
		}
		test.want.FeatureBranch, test.want.IterationsRun = "f", len(b.runs)
		got.Pending = nil
		if test.wrong == nil {
			got.Unverified = nil // they all are
		}
		if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(tasks.Report{}, "StartTime", "EndTime", "Elapsed", "Unpriced", "Usage", "Detail")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s: %v, want %s", test.name, err, test.err)
		}
	}
}

// What the agent is told of an item: its parts, how it is marked as done, and what there
// is to read.
func TestSessionOrderPrompt(t *testing.T) {
	t.Parallel()
	b := &kanban{t: t, items: graph(t, "1 -; 1.1<1; 1.2<1")}
	s := tasks.Session{Source: b, Runner: b, Dir: t.TempDir(), Feature: "f", Verifier: wrong{}, Documents: []string{"a.md", "b"}}
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	holds := func(prompt int, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if !strings.Contains(b.prompts[prompt], text) {
				t.Errorf("prompt %d does not hold %q:\n%s", prompt, text, b.prompts[prompt])
			}
		}
	}
	holds(0, "1.1 \n\nIt is a part of 1, which comes when", "move 1.1 to the right. Change", "as your task needs it: a.md, b.\n")
	holds(2, "Somebody has begun with it", "- [x] 1.1\n- [x] 1.2\n", "move 1 to the right. Change")

	for _, test := range []struct {
		list  bool // it is a ListFile
		path  string
		want  string
		files []string
	}{
		{false, "", "mark it as done where the tasks are kept|spec.md|spec.md, if it is there", nil},
		{false, "l.md", "tick its box in l.md: \"[ ]\" becomes \"[x]\"|spec.md|spec.md, if it is there", nil},
		{true, "DIR/l.md", "tick its box in DIR/l.md: \"[ ]\" becomes \"[x]\"|DIR/spec.md|DIR/spec.md, if it is there", nil},
		{true, "DIR/l.md", "tick its box in DIR/l.md: \"[ ]\" becomes \"[x]\"|DIR/design.md|DIR/design.md", []string{"design.md"}},
		{true, "DIR/l.md", "tick its box in DIR/l.md: \"[ ]\" becomes \"[x]\"|DIR/spec.md|DIR/spec.md, DIR/plan.md", []string{"plan.md", "spec.md"}},
	} {
		files := map[string]string{"l.md": aList}
		for _, name := range test.files {
			files[name] = ""
		}
		dir := project(t, "", files)
		b := &kanban{t: t, items: graph(t, "T001"), steps: map[string][]string{"T001": {"blocked"}}}
		s := tasks.Session{Source: tasks.SourceFunc(b.Items), Runner: b, Dir: dir, Feature: "f", Template: "{HOW_DONE}|{SPEC_PATH}|{DOCUMENTS}"}
		if s.Path = strings.ReplaceAll(test.path, "DIR", dir); test.list {
			s.Source, s.Path = tasks.ListFile{Path: s.Path}, ""
		}
		_, _ = s.Run(t.Context()) // it is blocked
		if diff := cmp.Diff(strings.ReplaceAll(test.want, "DIR", dir), b.prompts[0]); diff != "" {
			t.Errorf("%t %s (-want +got):\n%s", test.list, test.path, diff)
		}
	}
}

// An item that was given up before it got parts is worked on when they are done, also by
// the session's next run.
func TestSessionOrderResumed(t *testing.T) {
	t.Parallel()
	for items, want := range map[string]string{"1; 1.1<1": "1.1 1", "1; 2": "2"} {
		b := &kanban{t: t, items: graph(t, items)}
		ended := ralph.Start(ralph.Task{ID: "1", Prompt: "1", Blocked: "BLOCKED"})
		ended.Iteration, ended.Stop = 3, ralph.StopIterations
		s := tasks.Session{Source: b, Runner: b, Dir: t.TempDir(), Feature: "f", Begun: map[string]ralph.State{"1": ended}}
		if _, err := s.Run(t.Context()); (err == nil) != (want == "1.1 1") || strings.Join(b.runs, " ") != want {
			t.Errorf("%s: %q, %v; want %q", items, b.runs, err, want)
		}
	}
}
