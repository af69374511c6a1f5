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
		for seed := range uint64(3) {
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
