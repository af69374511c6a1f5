package pipeline_test

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// TestSummaries: what a closing table says of tasks that are done, have failed, wait, are
// altered, or were done before; and the same is told of what is on record.
func TestSummaries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := file(t, filepath.Join(dir, "tasks.yaml"),
		task("A", "test -f A", nil), task("B", "false", nil), task("C", "true", []string{"B"}),
		task("D", "true", nil, "status: done", "iteration: 7"), task("E", "true", nil, "status: skipped"))
	a := &agents{do: func(ctx context.Context, req ralph.Request) (string, error) {
		if req.Task == "A" {
			sh(t, dir, `sed -i 's/Do B/Do something else/' tasks.yaml`)
		}
		return makes(t)(ctx, req)
	}}
	p := &pipeline.Pipeline{Source: src, Dir: dir, Record: record(t), Runner: a.runner, Stages: []string{"coder"}, HowVerified: "the tests pass too",
		Config: spec.Config{TakePromises: true}, Limits: ralph.Limits{Iterations: 2}}
	agreed, err := p.Agree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if how := agreed.Tasks[0].Stages[0].HowVerified; !strings.HasSuffix(how, "; the tests pass too") {
		t.Errorf("the agent is told %q", how)
	}
	s, events := agreed.State, []pipeline.Event(nil)
	for ev, err := range agreed.Events(t.Context()) {
		if err == nil {
			s, events = s.Apply(ev), append(events, ev)
		}
	}
	var got []string
	say := func(sums []pipeline.Summary) (all []string) {
		for _, sum := range sums {
			var line strings.Builder
			line.WriteString(sum.ID + " " + string(sum.Status))
			for _, st := range sum.Stages {
				line.WriteString(" " + st.Agent + ":" + string(st.Status))
			}
			if sum.Iterations > 0 {
				line.WriteString(" x" + strings.Repeat("I", sum.Iterations))
			}
			all = append(all, strings.TrimSpace(line.String()+" "+sum.Altered))
		}
		return all
	}
	got = say(agreed.Summaries(s, events))
	left := " reviewer:left tester:left qa:left"
	want := []string{"A done coder:verified" + left + " xI", "B running coder:open" + left + " changed (title)", "C todo coder:open" + left, "D done xIIIIIII", "E skipped"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	all, err := pipeline.Standings(t.Context(), p.Record)
	if err != nil || len(all) != 2 || all[0].TasksCompleted != 2 || all[0].TasksRemaining != 3 {
		t.Fatalf("got %+v, %v", all, err)
	}
	if d := cmp.Diff("A done coder:verified xI", say(all[0].Tasks)[0]); d != "" {
		t.Error(d)
	}
}

// TestOrder: what would be run is told before, in the order in which it would begin.
func TestOrder(t *testing.T) {
	t.Parallel()
	s, err := pipeline.Plan(pipeline.Rules{Slots: 2, Merge: true}, planned("c:a,b a b", "coder", "qa"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, step := range s.Order() {
		got = append(got, strings.Trim(step.Task+"."+step.Agent, "."))
	}
	if d := cmp.Diff("a.coder b.coder a.qa b.qa a b c.coder c.qa c", strings.Join(got, " ")); d != "" {
		t.Error(d)
	}
	if s.Stands[0].Phase != pipeline.PhaseOpen {
		t.Error("the state was changed")
	}
}

// TestInterruptedLoops: who resumes finds what would go on, and whether it is still what was
// agreed; and the prompt that its agent would be given is known before.
func TestInterruptedLoops(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "tasks.yaml")
	src := file(t, path, task("A", "test -f A", nil))
	ctx, cancel := context.WithCancelCause(t.Context())
	a := &agents{do: func(ctx context.Context, req ralph.Request) (string, error) {
		cancel(errors.New("enough"))
		<-ctx.Done()
		return "", context.Cause(ctx)
	}}
	p := &pipeline.Pipeline{Source: src, Dir: dir, Record: record(t), Runner: a.runner, Stages: []string{"coder"}}
	if _, err := p.Run(ctx); err == nil {
		t.Fatal("it was not interrupted")
	}
	for _, tt := range []struct {
		change  string
		changed bool
	}{{"", false}, {"weaker", true}} {
		if tt.change != "" {
			sh(t, dir, `sed -i 's/test -f A/true/' tasks.yaml`)
		}
		agreed, err := p.Agree(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		loops, err := agreed.Interrupted(t.Context())
		if err != nil || len(loops) != 1 || loops[0].Entry.State.Task.ID != "A" || loops[0].Changed != tt.changed {
			t.Errorf("%s: got %+v, %v", tt.change, loops, err)
		}
		text, err := agreed.Prompt(t.Context(), pipeline.Step{Kind: pipeline.StepStage, Task: "A", Agent: "coder"})
		if err != nil || !strings.Contains(text, "<promise>CODED</promise>") {
			t.Errorf("the prompt is %q, %v", text, err)
		}
		if _, err := agreed.Prompt(t.Context(), pipeline.Step{Kind: pipeline.StepStage, Task: "A", Agent: "qa"}); err == nil {
			t.Error("a stage that is left out has a prompt")
		}
	}
}

// guards is a verifier that has tasks guard things.
type guards struct{ sums map[string]string }

func (g guards) Prepare(_ context.Context, t ralph.Task) (ralph.Task, error) {
	t.Guarded = maps.Clone(g.sums)
	return t, nil
}

func (guards) Verify(context.Context, ralph.Claim) (ralph.Verdict, error) { return ralph.Pass(), nil }

// TestOutside: what lies outside the workspace and decides about a task is agreed when
// the run begins, not when its turn comes: an agent before it could have changed it.
func TestOutside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := &pipeline.Pipeline{
		Source: file(t, filepath.Join(dir, "tasks.yaml"), task("A", "", nil)), Dir: dir, Runner: (&agents{}).runner, Stages: []string{"coder"},
		Verifier: guards{map[string]string{"//program/go": "1", "//config/~/.gitconfig": "2", "//exam/x": "3", "/etc/x": "4", "~/x": "5", "a_test.go": "6", "//template/go-test": "7"}},
	}
	agreed, err := p.Agree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"//program/go": "1", "//config/~/.gitconfig": "2", "//exam/x": "3", "/etc/x": "4", "~/x": "5"}
	if d := cmp.Diff(want, agreed.Tasks[0].Stages[0].Guarded); d != "" {
		t.Error(d)
	}
}

// TestListTask: an item is one agent's, which needs no name, and may have a prompt of the
// user's.
func TestListTask(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeAll(t, dir, map[string]string{"tasks.md": "- [ ] T1 one\n"})
	l := pipeline.List{Source: tasks.ListFile{Path: filepath.Join(dir, "tasks.md")}}
	a := &agents{do: func(_ context.Context, req ralph.Request) (string, error) { return "<promise>COMPLETE</promise>", nil }}
	p := &pipeline.Pipeline{Source: l, Dir: dir, Runner: a.runner, Task: l.Task, Stages: []string{""},
		Prompt: l.Prompt("{{ITERATION_NUMBER}}: {{CURRENT_TASK}} of {{FEATURE}}", map[string]string{"FEATURE": "shop"}),
		Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
			return ralph.Reject("not yet"), nil
		})}
	s, err := p.Run(t.Context())
	if err == nil || s.Remaining() != 1 {
		t.Fatalf("got %+v, %v", s, err)
	}
	prompts := a.prompts("T1", "")
	if len(prompts) != 3 || !strings.HasPrefix(prompts[1], "2: T1 one of shop") {
		t.Errorf("got %q", prompts)
	}
}
