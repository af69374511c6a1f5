package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// config is what stands below ralph: in a configuration.
func config(t testing.TB, text string) spec.Config {
	t.Helper()
	c, err := spec.ParseConfig("config.yaml", []byte("ralph:\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// plain is a pipeline in a folder without git, with a file of tasks.
func plain(t testing.TB, a *agents, tasks ...string) (p *pipeline.Pipeline, path string) {
	t.Helper()
	dir := t.TempDir()
	path = filepath.Join(dir, "tasks.yaml")
	return &pipeline.Pipeline{Source: file(t, path, tasks...), Dir: dir, Record: record(t), Runner: a.runner}, path
}

// reason is why a run stopped, "" = all is done.
func reason(t testing.TB, err error) ralph.StopReason {
	t.Helper()
	if err == nil {
		return ""
	}
	stop, ok := errors.AsType[*ralph.StopError](err)
	if !ok {
		t.Fatalf("error %v", err)
	}
	return stop.Reason
}

// TestStages is which agents work on a task, in which order, and what is left out.
func TestStages(t *testing.T) {
	t.Parallel()
	one := task("T", "", nil)
	checked := func(agent, check string) string {
		return fmt.Sprintf("      %s:\n        verification_method: external\n        verification_config: {command: %q}\n", agent, check)
	}
	tests := []struct {
		name, config string
		tasks        []string
		stages       []string
		rules        pipeline.Rules
		ran, left    string // of T
		ends         string // "id status"
		reason       ralph.StopReason
		passed       string // events that end a stage which nothing has verified
	}{
		{name: "default", ran: "coder reviewer tester qa", ends: "T done"},
		{name: "no criteria", tasks: []string{"  - {id: T, title: t, description: d}\n"}, ran: "coder reviewer tester qa", ends: "T done"},
		{name: "own agents", config: "  audit: {max_iterations: 2}\n", tasks: []string{one + checked("docs", "true")}, ran: "coder reviewer tester qa audit docs", ends: "T done"},
		{name: "skip", config: "  reviewer: {skip: true}\n  qa: {skip: true}\n", ran: "coder tester", left: "reviewer qa", ends: "T done"},
		{name: "some", stages: []string{"tester", "coder"}, ran: "coder tester", left: "reviewer qa", ends: "T done"},
		{name: "one that is skipped", config: "  reviewer: {skip: true}\n", stages: []string{"tester", "reviewer"}, ran: "reviewer tester", left: "coder qa", ends: "T done"},
		{name: "of another task", stages: []string{"docs", "coder"}, tasks: []string{one, task("U", "", nil) + checked("docs", "true")}, ran: "coder", left: "reviewer tester qa", ends: "T done, U done"},
		{name: "a later one fails", stages: []string{"coder", "tester"}, tasks: []string{one + checked("tester", "false") + "        max_iterations: 2\n"},
			ran: "coder tester tester", left: "reviewer qa", ends: "T todo", reason: ralph.StopStalled},
		{name: "single pass, checked", config: "  enabled: false\n", stages: []string{"coder"}, tasks: []string{task("T", "true", nil)}, ran: "coder", left: "reviewer tester qa", ends: "T done"},
		{name: "single pass, rejected", config: "  coder: {enabled: false}\n", stages: []string{"coder"}, tasks: []string{task("T", "false", nil)},
			ran: "coder", left: "reviewer tester qa", ends: "T todo", reason: ralph.StopStalled},
		{name: "single pass, not checked", config: "  coder: {enabled: false}\n", stages: []string{"coder", "reviewer"}, ran: "coder reviewer", left: "tester qa", ends: "T done", passed: "coder"},
		{name: "nothing verified", config: "  enabled: false\n", stages: []string{"coder", "reviewer"}, ran: "coder reviewer", left: "tester qa", ends: "T running", reason: ralph.StopStalled, passed: "coder reviewer"},
		{name: "nothing verified, which is agreed", config: "  enabled: false\n", stages: []string{"coder"}, rules: pipeline.Rules{Unverified: true}, ran: "coder", left: "reviewer tester qa", ends: "T done", passed: "coder"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a := &agents{do: func(_ context.Context, req ralph.Request) (string, error) {
				if test.passed == "" {
					return claim(req), nil
				}
				return "I have looked at it, and approved it; it is committed.", nil
			}}
			if strings.HasPrefix(test.name, "single pass, not") {
				a.do = func(_ context.Context, req ralph.Request) (string, error) { return claim(req), nil }
			}
			if test.tasks == nil {
				test.tasks = []string{one}
			}
			p, path := plain(t, a, test.tasks...)
			p.Config, p.Stages, p.Rules = config(t, cmpOr(test.config, "  enabled: true\n")), test.stages, test.rules
			agreed, err := p.Agree(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(agreed.Tasks[0].Left, " "); got != test.left {
				t.Errorf("left out %q, want %q", got, test.left)
			}
			var ran, passed []string
			for ev, wrong := range agreed.Events(t.Context()) {
				if err = wrong; ev.Unverified {
					passed = append(passed, ev.Agent)
				}
			}
			if got := reason(t, err); got != test.reason {
				t.Errorf("stopped %q: %v", got, err)
			}
			for _, req := range a.asked {
				if req.Task == "T" {
					ran = append(ran, req.Agent)
				}
			}
			got := []string{strings.Join(ran, " "), statuses(t, path), strings.Join(passed, " ")}
			if diff := cmp.Diff([]string{test.ran, test.ends, test.passed}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// TestOnReject has a later agent send a task back: the earlier one is told why, at most
// so often, and what comes after it runs again.
func TestOnReject(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		rejects int // how often the tester does
		ran     string
		ends    string
	}{
		{"never", 0, "coder reviewer tester", "T done"},
		{"once", 1, "coder reviewer tester coder reviewer tester", "T done"},
		{"too often", 9, "coder reviewer tester coder reviewer tester coder reviewer tester", "T todo"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rejected := 0
			a := &agents{}
			a.do = func(_ context.Context, req ralph.Request) (string, error) {
				if req.Agent == "tester" && rejected < test.rejects {
					rejected++
					return fmt.Sprintf("The page is not found, try %d.\n\n<promise>%s</promise>", rejected, req.Blocked), nil
				}
				return claim(req), nil
			}
			p, path := plain(t, a, task("T", "", nil))
			p.Config, p.Stages = config(t, "  tester: {on_reject: coder, max_rounds: 2}\n"), []string{"coder", "reviewer", "tester"}
			all, final, err := journey(t, p)
			if (err == nil) != (test.ends == "T done") {
				t.Errorf("error %v", err)
			}
			var ran []string
			for _, req := range a.asked {
				ran = append(ran, req.Agent)
			}
			if got := strings.Join(ran, " "); got != test.ran || statuses(t, path) != test.ends {
				t.Errorf("ran %q, and %s: %q", got, statuses(t, path), all)
			}
			for i, prompt := range a.prompts("T", "coder") {
				if said := strings.Contains(prompt, fmt.Sprintf("The page is not found, try %d.", i)); said != (i > 0) {
					t.Errorf("round %d: is told why: %v", i, said)
				}
			}
			if want := min(test.rejects, 2); final.Stands[0].Rounds != want {
				t.Errorf("rounds %d", final.Stands[0].Rounds)
			}
			rejects := strings.Contains(a.prompts("T", "tester")[0], "TESTER_REJECTED")
			if !rejects || strings.Contains(a.prompts("T", "reviewer")[0], "_REJECTED") {
				t.Error("only the tester is told that it may reject")
			}
		})
	}
}

// TestRoundsAcrossRuns interrupts a run after a rejection: the next one tells the coder
// why all the same.
func TestRoundsAcrossRuns(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	a := &agents{}
	a.do = func(c context.Context, req ralph.Request) (string, error) {
		switch n := a.times("T", req.Agent); {
		case req.Agent == "reviewer" && n == 1:
			return "The name is wrong.\n\n<promise>" + req.Blocked + "</promise>", nil
		case req.Agent == "coder" && n == 2:
			interrupt()
			<-c.Done()
			return "", c.Err()
		}
		return claim(req), nil
	}
	p, path := plain(t, a, task("T", "", nil))
	p.Config, p.Stages = config(t, "  reviewer: {on_reject: coder}\n"), []string{"coder", "reviewer"}
	if _, err := p.Run(ctx); err != context.Canceled {
		t.Fatal(err)
	}
	p.Source, p.Record = &pipeline.File{Path: path}, reopened(t, p.Record.Path)
	if _, err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	prompts := a.prompts("T", "coder")
	if len(prompts) != 3 || !strings.Contains(prompts[2], "The name is wrong.") {
		t.Errorf("%d prompts, the last: %s", len(prompts), prompts[len(prompts)-1])
	}
	if want := []string{"T.coder 1", "T.reviewer 1", "T.coder 1", "T.coder 1", "T.reviewer 1"}; !slices.Equal(a.ran, want) {
		t.Errorf("ran %q", a.ran)
	}
}

// TestRepair gives a conflict to the coder, who mends it: it is merged and verified.
func TestRepair(t *testing.T) {
	t.Parallel()
	dir := repo(t, map[string]string{"line": "none\n"})
	began := map[string]chan struct{}{"T1": make(chan struct{}), "T2": make(chan struct{})}
	merged := make(chan struct{})
	a := &agents{}
	a.do = func(_ context.Context, req ralph.Request) (string, error) {
		switch {
		case a.times(req.Task, "coder") > 1:
			sh(t, req.Dir, `grep -q '<<<<<<<' line; printf 'T1\nT2\n' >line; git add line; git commit -qm mended`)
		case began[req.Task] != nil:
			writeAll(t, req.Dir, map[string]string{"line": req.Task + "\n"})
			close(began[req.Task])
			<-began["T1"]
			<-began["T2"]
			if req.Task == "T2" {
				<-merged
			}
		}
		return claim(req), nil
	}
	p := &pipeline.Pipeline{
		Source: file(t, filepath.Join(t.TempDir(), "tasks.yaml"), task("T1", "grep -q T1 line", nil), task("T2", "grep -q T2 line", nil),
			task("T3", "grep -q T1 line && grep -q T2 line", []string{"T1", "T2"})),
		Dir: dir, Record: record(t), Runner: a.runner, Stages: []string{"coder"}, Rules: pipeline.Rules{Slots: 2, Merge: true, Repair: true},
	}
	var all []string
	for ev, err := range p.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev.Kind {
		case pipeline.EventMerged, pipeline.EventUnmerged:
			all = append(all, fmt.Sprint(ev.Kind, " ", ev.Task, " ", ev.Conflicts))
			if ev.Task == "T1" {
				close(merged)
			}
		}
	}
	if want := []string{"merged T1 []", "unmerged T2 [line]", "merged T2 []", "merged T3 []"}; !slices.Equal(all, want) {
		t.Errorf("%q", all)
	}
	if prompt := a.prompts("T2", "coder")[1]; !strings.Contains(prompt, "conclude the merge with git commit") {
		t.Errorf("prompt: %s", prompt)
	}
	if got := sh(t, dir, "git show main:line"); got != "T1\nT2" {
		t.Errorf("line: %s", got)
	}
	sound(t, dir)
}
