package pipeline_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// several are tasks of all kinds: T2 is sent back once, T4 needs two iterations, T5 is in
// conflict with T1 if that is merged meanwhile.
func several(t *testing.T, a *agents, dir string, conflict bool) *pipeline.Pipeline {
	t.Helper()
	a.do = func(_ context.Context, req ralph.Request) (string, error) {
		text, err := os.ReadFile(filepath.Join(req.Dir, req.Task))
		switch made := string(text); {
		case req.Agent == "reviewer" && req.Task == "T2" && !strings.Contains(made, "better"):
			return "T2 must be better.\n\n<promise>" + req.Blocked + "</promise>", nil
		case req.Agent == "reviewer":
			return claim(req), nil
		case req.Task == "T4" && req.Iteration == 1:
			return claim(req), err
		}
		made := "made\n"
		if strings.Contains(req.Prompt, "T2 must be better.") {
			made += "better\n"
		}
		writeAll(t, req.Dir, map[string]string{req.Task: made})
		if conflict && (req.Task == "T1" || req.Task == "T5") {
			line, err := os.ReadFile(filepath.Join(req.Dir, "line"))
			if err != nil {
				return "", err
			}
			kept := slicesOf(string(line), "T1", "T5")
			if !strings.Contains(kept, req.Task) {
				kept += req.Task + "\n"
			}
			writeAll(t, req.Dir, map[string]string{"line": kept})
		}
		return claim(req), nil
	}
	tasks := []string{task("T1", "test -f T1", nil), task("T2", "test -f T2", nil), task("T3", "test -f T1 && test -f T3", []string{"T1"}),
		task("T4", "test -f T4", nil)}
	if conflict {
		tasks = append(tasks, task("T5", "test -f T5", nil))
	}
	return &pipeline.Pipeline{
		Source: file(t, filepath.Join(t.TempDir(), "tasks.yaml"), tasks...), Dir: dir, Runner: a.runner,
		Stages: []string{"coder", "reviewer"}, Config: config(t, "  reviewer: {on_reject: coder}\n"),
		Rules: pipeline.Rules{Slots: 2, Merge: true, Repair: true},
	}
}

// slicesOf are the lines of a text that are some.
func slicesOf(text string, some ...string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		for _, one := range some {
			if strings.TrimSpace(line) == one {
				kept.WriteString(one + "\n")
			}
		}
	}
	return kept.String()
}

// TestCourse: workers are lost at any moment, and go on or not: all is verified and merged,
// what is on main was verified there, and nothing that is on record runs again.
func TestCourse(t *testing.T) {
	t.Parallel()
	for _, far := range []bool{false, true} {
		for seed := range map[bool]uint64{false: 2, true: 1}[far] {
			t.Run(fmt.Sprintf("remote %v, seed %d", far, seed), func(t *testing.T) {
				t.Parallel()
				files := map[string]string{"line": "T0\n"}
				dir, url := "", ""
				if far {
					url = shared(t, files)
					dir = clone(t, url)
				} else {
					dir = repo(t, files)
				}
				a := &agents{}
				p := several(t, a, dir, true)
				v := seeing{spec.Verifier(spec.Env{}), map[string]bool{}, t}
				l := &ralph.Local{Runner: a, Verifier: v}
				e := engineOf(t, p, seed, workers(t, 2, l, dir, url)...)
				e.loss = 3
				e.once(a)
				final := e.run()
				for i, s := range final.Stands {
					if s.Phase != pipeline.PhaseDone || s.Verified != 3 {
						t.Errorf("%s: %+v", final.Parts[i].ID, s)
					}
				}
				if final.Stop != ralph.StopVerified || len(e.Course.Ends)+len(e.Course.Sent)+len(e.Loops) > 0 {
					t.Errorf("stopped %q (%s), left %v, %v", final.Stop, final.Detail, e.Course.Ends, e.Course.Sent)
				}
				main := dir
				if far {
					main = url
				}
				if n := v.onMain(t, main, "coder", "reviewer"); n != len(final.Parts) {
					t.Errorf("%d merges", n)
				}
				if branches, _ := left(t, main); len(branches) > 0 {
					t.Errorf("branches %q are left", branches)
				}
				if line := sh(t, main, "git show main:line"); !strings.Contains(line, "T1") || !strings.Contains(line, "T5") {
					t.Errorf("line: %s", line)
				}
			})
		}
	}
}

// TestCourseSame: without a loss, and with, a course ends as the same pipeline does in this
// process.
func TestCourseSame(t *testing.T) {
	t.Parallel()
	type end struct {
		Stands  []pipeline.Stand
		Settled ralph.Usage
		Stop    ralph.StopReason
		Prompts []string // of T2's coder
		Files   map[string]string
	}
	ended := func(a *agents, dir string, s pipeline.State) end {
		var all []string
		for _, prompt := range a.prompts("T2", "coder") {
			_, why, _ := strings.Cut(prompt, "Why it was sent back to you")
			why, _, _ = strings.Cut(why, "\n## ")
			all = append(all, why)
		}
		return end{s.Stands, s.Settled, s.Stop, all, there(t, dir, "main")}
	}
	files := map[string]string{"line": "T0\n"}
	a, dir := &agents{}, repo(t, files)
	final, err := several(t, a, dir, false).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := ended(a, dir, final)
	if len(want.Prompts) != 2 || !strings.Contains(want.Prompts[1], "T2 must be better.") {
		t.Fatalf("prompts: %q", want.Prompts)
	}
	for _, loss := range []int{0, 2} {
		a, dir := &agents{}, repo(t, files)
		p := several(t, a, dir, false)
		e := engineOf(t, p, 9, workers(t, 2, &ralph.Local{Runner: a, Verifier: spec.Verifier(spec.Env{})}, dir, "")...)
		e.loss = loss
		got := ended(a, dir, e.run())
		if loss > 0 { // agents that were interrupted run again
			got.Settled, got.Prompts = want.Settled, want.Prompts
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("loss %d (-pipeline +course):\n%s", loss, diff)
		}
	}
}

// TestCourseSent: that a loop waits for more of the budget does not make it forgotten why
// the task was sent back, in a course or in a pipeline's record.
func TestCourseSent(t *testing.T) {
	t.Parallel()
	s := begun(t, pipeline.Rules{Slots: 1, Tokens: 100, Back: map[string]pipeline.Back{"r": {To: "c"}}}, planned("a", "c", "r"), nil)
	c := pipeline.Course{State: s, Tasks: []pipeline.AgreedTask{{Stages: []ralph.Task{{ID: "a", Agent: "c", Prompt: "do"}, {ID: "a", Agent: "r", Prompt: "look"}}}}}
	end := func(agent string, stop ralph.StopReason, detail, output string) {
		t.Helper()
		step := c.State.Ready()[0]
		if step.Agent != agent {
			t.Fatalf("next is %+v", step)
		}
		c = c.Next(beginning(step))
		loop, _ := c.Begin(step, ralph.State{})
		loop.Stop, loop.Detail = stop, detail
		c = c.End(step, pipeline.StageEnd{State: loop, Answer: ralph.Response{Output: output}, Commit: "c1"}, nil)
		if again := c.End(step, pipeline.StageEnd{State: loop, Commit: "c2"}, nil); asJSON(t, again) != asJSON(t, c) {
			t.Error("an end that is told twice counts twice")
		}
	}
	end("c", ralph.StopVerified, "", "")
	if got := c.Ends["a"]["c"].Commit; got != "c1" {
		t.Errorf("the end of a stage that is over: %q", got)
	}
	end("r", ralph.StopBlocked, "no", "too long")
	if len(c.Ends) > 0 {
		t.Errorf("ends of stages that are to be run: %v", c.Ends)
	}
	end("c", ralph.StopTokens, "spent", "")
	step := c.State.Ready()[0]
	c.State = c.State.Next(pipeline.Event{Kind: pipeline.EventUsed, Task: "a", Loop: step.Loop, Usage: dollars(0, 7)})
	if loop, told := c.Begin(step, ralph.State{}); loop.Usage.InputTokens != 7 || told.From != "r" || !strings.Contains(told.Feedback, "too long") || !step.GoOn {
		t.Errorf("%+v begins with %v, is told %+v", step, loop.Usage, told)
	}
}

// TestCourseGoesOn: a stage that was interrupted goes on with another worker, in its next
// iteration, with what was made and used.
func TestCourseGoesOn(t *testing.T) {
	t.Parallel()
	url := shared(t, map[string]string{"README": "a\n"})
	dir := clone(t, url)
	a := &agents{}
	a.do = func(_ context.Context, req ralph.Request) (string, error) {
		text, err := os.ReadFile(filepath.Join(req.Dir, "half"))
		if len(a.ran) > 1 && string(text) != "half\n" {
			t.Errorf("it does not go on with what was there: %q, %v", text, err)
		}
		writeAll(t, req.Dir, map[string]string{map[bool]string{true: "half", false: "T1"}[len(a.ran) == 1]: "half\n"})
		return claim(req), nil
	}
	e := engineOf(t, coding(t, a, dir, pipeline.Rules{}, "T1"), 1, workers(t, 1, checked(a), "", url)...)
	e.stop = func(e *engine) bool {
		if len(a.ran) > 0 && e.Jobs[0].Before == nil && e.phase(0) == pipeline.PhaseRunning {
			e.note(pipeline.Event{Kind: pipeline.EventPaused})
			e.interrupt(0)
		}
		return len(e.Jobs) == 0
	}
	if e.run(); e.phase(0) != pipeline.PhaseInterrupted || len(e.Course.Ends) > 0 {
		t.Fatalf("phase %v, %v", e.phase(0), e.Course.Ends)
	}
	e.keep()
	e.note(pipeline.Event{Kind: pipeline.EventContinued})
	e.stop, e.sites = nil, workers(t, 1, checked(a), "", url)
	final := e.run()
	if final.Stands[0].Phase != pipeline.PhaseDone || strings.Join(a.ran, ", ") != "T1.coder 1, T1.coder 2" || final.Settled.Requests != 2 {
		t.Errorf("%+v, ran %q, used %+v", final.Stands[0], a.ran, final.Settled)
	}
}

// TestCourseStalls: what is committed after an iteration is no change of the next one.
func TestCourseStalls(t *testing.T) {
	t.Parallel()
	dir := repo(t, nil)
	a := &agents{do: func(_ context.Context, req ralph.Request) (string, error) {
		writeAll(t, req.Dir, map[string]string{"made": "the same\n"})
		return "I go on.", nil
	}}
	p := coding(t, a, dir, pipeline.Rules{}, "T1")
	p.Limits.Stalls = 2
	e := engineOf(t, p, 1, workers(t, 1, checked(a), dir, "")...)
	var end ralph.State
	e.ended = func(_ *engine, j *job) { end = j.D.State }
	if e.run(); end.Stop != ralph.StopStalled || len(a.ran) != 3 || strings.Join(end.Files, " ") != "made" {
		t.Errorf("%s after %d iterations, changed %q", end.Stop, len(a.ran), end.Files)
	}
}

// TestCourseLearns: a stage that begins learns what Local's Learn says, once.
func TestCourseLearns(t *testing.T) {
	t.Parallel()
	a := &agents{do: func(_ context.Context, req ralph.Request) (string, error) { return claim(req), nil }}
	p, _ := plain(t, a, task("T1", "false", nil))
	p.Record, p.Stages = nil, []string{"coder"}
	l, asked := checked(a), 0
	l.Learn = func(_ context.Context, s ralph.State) (ralph.Lesson, error) {
		asked++
		limits := s.Task.Limits
		limits.Iterations = 2
		return ralph.Lesson{Why: "it was enough", Limits: limits, Rejections: []string{"the page is not found"}}, nil
	}
	final := engineOf(t, p, 1, &pipeline.Site{Local: l, Host: "a"}, &pipeline.Site{Local: l, Host: "b"}).run()
	if prompts := a.prompts("T1", "coder"); asked != 1 || len(prompts) != 2 || !strings.Contains(prompts[0], "the page is not found") {
		t.Errorf("asked %d times, %d prompts; stands %v", asked, len(prompts), final.Stands)
	}
}

// TestCoursePure: no method writes through what it was given.
func TestCoursePure(t *testing.T) {
	t.Parallel()
	a := &agents{}
	e := engineOf(t, several(t, a, repo(t, map[string]string{"line": "T0\n"}), true), 5)
	var all []pipeline.Course
	var was []string
	keep := func() { all, was = append(all, e.Course), append(was, asJSON(t, e.Course)) }
	for range 400 {
		keep()
		steps := e.Course.State.Ready()
		if len(steps) == 0 {
			break
		}
		step := steps[e.IntN(len(steps))]
		e.Course = e.Course.Next(beginning(step))
		keep()
		if step.Kind == pipeline.StepMerge {
			e.Course.Verified(step.Part)
			ev := pipeline.Event{Kind: pipeline.EventMerged, Task: step.Task}
			if e.IntN(3) == 0 {
				ev = pipeline.Event{Kind: pipeline.EventUnmerged, Task: step.Task, Conflicts: []string{"line"}}
			}
			e.Course = e.Course.Next(ev)
			continue
		}
		s, _ := e.Course.Begin(step, ralph.State{})
		s.Stop = pick2(e.Rand, ralph.StopVerified, ralph.StopVerified, ralph.StopBlocked, ralph.StopIterations, "")
		e.Course = e.Course.End(step, pipeline.StageEnd{State: s, Answer: ralph.Response{Output: "x"}}, &pipeline.Amount{Tokens: 3})
	}
	for i, c := range all {
		if now := asJSON(t, c); now != was[i] {
			t.Fatalf("course %d was written through:\nwas %s\nis  %s", i, was[i], now)
		}
	}
	if len(all) < 30 || !e.Course.State.Done() {
		t.Errorf("%d courses, stopped %q", len(all), e.Course.State.Stop)
	}
}

// TestCourseSize: what is kept of a course does not grow with what is done.
func TestCourseSize(t *testing.T) {
	t.Parallel()
	const n = 500
	var tasks []string
	for i := range n {
		tasks = append(tasks, task(fmt.Sprintf("T%d", i), fmt.Sprintf("test -s T%d", i), nil))
	}
	p, _ := plain(t, &agents{}, tasks...)
	p.Record, p.Config, p.Rules = nil, config(t, "  reviewer: {on_reject: coder}\n"), pipeline.Rules{Slots: 1}
	e := engineOf(t, p, 1)
	first := len(asJSON(t, e.Course))
	most, output := 0, strings.Repeat("x", 20<<10)
	for turn := 0; len(e.Course.State.Ready()) > 0; turn++ {
		step := e.Course.State.Ready()[0]
		e.Course = e.Course.Next(beginning(step))
		s, _ := e.Course.Begin(step, ralph.State{})
		s.Stop = ralph.StopVerified
		if turn%7 == 6 {
			s.Stop, s.Detail = ralph.StopBlocked, "no"
		}
		e.Course = e.Course.End(step, pipeline.StageEnd{State: s, Answer: ralph.Response{Output: output}}, nil)
		if turn%100 == 0 {
			most = max(most, len(asJSON(t, e.Course)))
		}
	}
	last := len(asJSON(t, e.Course))
	t.Logf("%d tasks of 4 stages: %d KiB at first, %d KiB at most, %d KiB at last", n, first>>10, most>>10, last>>10)
	if e.Course.State.Stop == "" || most > first+200<<10 || last > first+n*64 || len(e.Course.Ends)+len(e.Course.Sent) > 0 {
		t.Errorf("stopped %q, from %d to %d bytes, %d at most; left %d and %d", e.Course.State.Stop, first, last, most, len(e.Course.Ends), len(e.Course.Sent))
	}
}

// TestCourseMachine: what is so on this machine alone is no part of a course, and stays
// agreed here.
func TestCourseMachine(t *testing.T) {
	t.Parallel()
	p, _ := plain(t, &agents{}, task("T1", "", nil))
	p.Record, p.Verifier = nil, guards{map[string]string{"//program/go": "1", "//exam/x": "3", "/etc/x": "4", "~/x": "5"}}
	a, err := p.Agree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Course(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"//exam/x": "3"}
	if got := c.Tasks[0].Stages[0].Guarded; cmp.Diff(want, got) != "" || len(a.Tasks[0].Stages[0].Guarded) != 4 {
		t.Errorf("the course has %v, this machine %v", got, a.Tasks[0].Stages[0].Guarded)
	}
}
