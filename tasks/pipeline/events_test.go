package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// TestEvents are the events of a run in their order, whose fold is the state that Run
// returns, and which are on record.
func TestEvents(t *testing.T) {
	t.Parallel()
	dir := repo(t, map[string]string{"a": "a\n"})
	a := &agents{do: makes(t)}
	p := &pipeline.Pipeline{Source: file(t, filepath.Join(t.TempDir(), "tasks.yaml"), task("T1", "", nil), task("T2", "", []string{"T1"})), Dir: dir,
		Record: record(t), Runner: a.runner, Stages: []string{"coder", "tester"}, Rules: pipeline.Rules{Slots: 2, Merge: true}}
	all, final, err := journey(t, p)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"started"}
	for _, id := range []string{"T1", "T2"} {
		want = append(want, "began "+id+".coder", "ended "+id+".coder verified", "began "+id+".tester", "ended "+id+".tester verified", "merging "+id, "merging "+id, "merged "+id)
	}
	if diff := cmp.Diff(append(want, "stopped verified"), all); diff != "" {
		t.Error(diff)
	}
	on, events, err := pipeline.Recorded(t.Context(), p.Record, "pipeline")
	final.Last, on.Last, final.Elapsed, on.Elapsed, final.Rules.Back = nil, nil, 0, 0, nil
	if diff := cmp.Diff(final, on); err != nil || diff != "" || len(events) != len(all) {
		t.Errorf("on record: %v, %d events, %s: %v", err, len(events), diff, events)
	}
}

// TestBreakOff breaks off, or panics, while events come: the run is interrupted, and has
// ended then.
func TestBreakOff(t *testing.T) {
	t.Parallel()
	for _, panics := range []bool{false, true} {
		t.Run(fmt.Sprint(panics), func(t *testing.T) {
			t.Parallel()
			ended := make(chan error, 1)
			a := &agents{do: func(ctx context.Context, _ ralph.Request) (string, error) {
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return "", ctx.Err()
			}}
			p, path := plain(t, a, task("T1", "", nil))
			func() {
				defer func() { recover() }()
				for ev := range p.Events(t.Context()) {
					if ev.Kind == pipeline.EventReserve {
						if panics {
							panic("a consumer")
						}
						break
					}
				}
			}()
			if len(a.ran) > 0 {
				if err := <-ended; !errors.Is(err, ralph.ErrAbandoned) {
					t.Error(err)
				}
			}
			if got := statuses(t, path); got != "T1 running" {
				t.Error(got)
			}
			a.do = makes(t)
			if _, err := again(t, p, a).Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAgree shows what a run will do, and does nothing.
func TestAgree(t *testing.T) {
	t.Parallel()
	dir := repo(t, map[string]string{"a": "a\n"})
	sh(t, dir, "git config filter.up.clean 'tr a-z A-Z'")
	path := filepath.Join(dir, "tasks.yaml")
	a := &agents{do: makes(t)}
	p := &pipeline.Pipeline{Source: file(t, path, task("T3", "", nil, "priority: 3"), task("T0", "", nil), task("T1", "true", []string{"T3"}, "priority: 1"), task("D", "", nil, "status: done")),
		Dir: dir, Record: record(t), Runner: a.runner, Stages: []string{"coder"}, Rules: pipeline.Rules{Slots: 3, Merge: true}}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	agreed, err := p.Agree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for i, task := range agreed.Tasks {
		if order = append(order, task.Definition.ID); agreed.State.Parts[i].ID != task.Definition.ID || (len(task.Stages) == 1) != (task.Definition.ID != "D") {
			t.Errorf("%d: %v", i, task)
		}
	}
	if got := strings.Join(order, " "); got != "T1 T3 T0 D" {
		t.Error(got)
	}
	if !slices.Equal(agreed.Filters, []string{"filter.up.clean = tr a-z A-Z"}) {
		t.Errorf("filters %q", agreed.Filters)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) || len(a.ran) > 0 {
		t.Errorf("%v, ran %q, the file:\n%s", err, a.ran, after)
	}
	if _, err := os.Stat(p.Record.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a record: %v", err)
	}
}

// TestRefused are pipelines that do not begin.
func TestRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*pipeline.Pipeline){
		"there is no Source":           func(p *pipeline.Pipeline) { p.Source = nil },
		"there is no Runner":           func(p *pipeline.Pipeline) { p.Runner = nil },
		"several agents in one folder": func(p *pipeline.Pipeline) { p.Rules.Slots = 2 },
		"limits":                       func(p *pipeline.Pipeline) { p.Limits.Stalls = -1 },
		"workspace":                    func(p *pipeline.Pipeline) { p.Dir = filepath.Join(p.Dir, "none") },
		"not in a git":                 func(p *pipeline.Pipeline) { p.Rules.Merge = true },
		`an agent "tster"; did you mean "tester"`: func(p *pipeline.Pipeline) { p.Stages = []string{"tster"} },
		"unknown verification method": func(p *pipeline.Pipeline) {
			p.Task = nil
			p.Source = file(t, filepath.Join(p.Dir, "x.yaml"), strings.Replace(task("T", "", nil), "string_match", "strng_match", 1))
		},
		"the tasks wait for each other": func(p *pipeline.Pipeline) {
			p.Source = file(t, filepath.Join(p.Dir, "x.yaml"), task("T1", "", []string{"T2"}), task("T2", "", []string{"T1"}))
		},
		"none of its stages": func(p *pipeline.Pipeline) {
			p.Stages = []string{"docs"}
			p.Source = file(t, filepath.Join(p.Dir, "x.yaml"), task("T1", "", nil), task("T2", "", nil)+"      docs: {max_iterations: 1}\n")
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			a := &agents{do: makes(t)}
			p, path := plain(t, a, task("T", "", nil))
			change(p)
			if _, err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) || len(a.ran) > 0 || statuses(t, path) != "T " {
				t.Errorf("%v, ran %q", err, a.ran)
			}
		})
	}
}
