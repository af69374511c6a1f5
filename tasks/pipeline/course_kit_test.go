package pipeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// An engine drives a course as a workflow engine does, in one goroutine: what is on record
// is JSON, which is written and read after each turn. Which of its workers makes an
// attempt, and which is lost, is up to chance.
type engine struct {
	*testing.T
	*rand.Rand
	recordOf
	sites   []*pipeline.Site
	loss    int                  // of ten attempts, how many are lost with their worker
	known   map[string]bool      // iterations, and answers, that are on record: no agent runs for them again
	stop    func(*engine) bool   // nil = never: asked before each turn, what runs is interrupted
	ended   func(*engine, *job)  // nil = nobody is told that a stage has ended
	entered func(*job, error)    // nil = nobody is told what Enter has said
	merged  []pipeline.SiteMerge // what came of merges
}

type recordOf struct {
	Course pipeline.Course
	Jobs   []*job
	Loops  map[string]*job // that were interrupted
}

// A job is a step that has begun.
type job struct {
	Step   pipeline.Step
	D      ralph.Dispatch
	Told   pipeline.Stage
	End    pipeline.StageEnd
	Last   *pipeline.Amount
	Before *ralph.State // of the iteration that was granted; nil = none is
	Moving [2]string    // of a merge
}

// workers are the sites of workers: in one folder, or each with a clone.
func workers(t *testing.T, n int, l *ralph.Local, main, remote string) (all []*pipeline.Site) {
	t.Helper()
	for i := range n {
		dir := main
		if remote != "" {
			dir = clone(t, remote)
		}
		all = append(all, &pipeline.Site{Local: l, Trees: opened(t, dir, remote).Worktrees, Host: fmt.Sprintf("host%d", i+1)})
	}
	return all
}

// engineOf is an engine for what a pipeline agrees to.
func engineOf(t *testing.T, p *pipeline.Pipeline, seed uint64, sites ...*pipeline.Site) *engine {
	t.Helper()
	a, err := p.Agree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	course, err := a.Course(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &engine{T: t, Rand: rand.New(rand.NewPCG(seed, 3)), recordOf: recordOf{Course: course}, sites: sites, known: map[string]bool{}}
}

func (e *engine) phase(part int) pipeline.Phase { return e.Course.State.Stands[part].Phase }

// run takes turns until nothing runs and nothing may begin.
func (e *engine) run() pipeline.State {
	e.Helper()
	for turn := 0; ; turn++ {
		if turn > 5000 {
			e.Fatalf("it does not end: %s", asJSON(e, e.Course.State))
		}
		for _, step := range e.Course.State.Ready() {
			e.begin(step)
		}
		if len(e.Jobs) == 0 {
			return e.Course.State
		}
		if e.stop != nil && e.stop(e) {
			return e.Course.State
		}
		i := e.IntN(len(e.Jobs))
		do := e.stage
		if e.Jobs[i].Step.Kind == pipeline.StepMerge {
			do = e.merge
		}
		if do(e.Jobs[i]) {
			e.Jobs = slices.Delete(e.Jobs, i, i+1)
		}
		e.keep()
	}
}

// keep writes the record, and reads it as another process would.
func (e *engine) keep() {
	e.Helper()
	text := asJSON(e, e.recordOf)
	var again recordOf
	if err := json.Unmarshal([]byte(text), &again); err != nil {
		e.Fatal(err)
	}
	if now := asJSON(e, again); now != text {
		e.Fatalf("the record is not what it was:\nwas %s\nis  %s", text, now)
	}
	e.recordOf = again
}

func (e *engine) note(ev pipeline.Event) {
	ev.Elapsed = e.Course.State.Elapsed + time.Second
	e.Course = e.Course.Next(ev)
}

func (e *engine) begin(step pipeline.Step) {
	e.Helper()
	e.note(beginning(step))
	j := &job{Step: step}
	if step.Kind == pipeline.StepStage {
		if was := e.Loops[step.Loop]; was != nil {
			*j = *was
			j.Step, j.Last = step, nil
		}
		j.D.State, j.Told = e.Course.Begin(step, j.D.State)
	}
	if phase := e.phase(step.Part); phase == pipeline.PhaseRunning || phase == pipeline.PhaseMerging {
		e.Jobs = append(e.Jobs, j)
	}
}

// stage does one thing for a stage, and reports whether it is over.
func (e *engine) stage(j *job) bool {
	e.Helper()
	if j.Before != nil {
		before := j.Before
		e.serve(j)
		if j.D.State.Done() || j.D.State.Iteration != before.Iteration {
			j.Before = nil
			j.Last = pipeline.Used(*before, j.D.State)
		}
		return false
	}
	if !j.D.State.Done() && !e.Course.State.Done() && e.phase(j.Step.Part) == pipeline.PhaseRunning {
		e.note(j.Step.Reserve(pipeline.EventReserve, j.D.State, j.Last))
		l, granted := e.Course.State.Granted(j.Step.Task, j.D.State)
		if !granted {
			return false
		}
		if j.D.State = j.D.State.Limit(l); !j.D.State.Done() {
			s := j.D.State
			j.Before = &s
			return false
		}
	}
	e.over(j)
	return true
}

// interrupt ends a job between two iterations.
func (e *engine) interrupt(i int) {
	e.over(e.Jobs[i])
	e.Jobs = slices.Delete(e.Jobs, i, i+1)
}

// over tells that the loop of a stage has ended, or was interrupted.
func (e *engine) over(j *job) {
	j.End.State, j.End.Hosts = j.D.State, j.D.Hosts
	e.Course = e.Course.End(j.Step, j.End, j.Last)
	if e.Loops == nil {
		e.Loops = map[string]*job{}
	}
	if delete(e.Loops, j.Step.Loop); e.phase(j.Step.Part) == pipeline.PhaseInterrupted {
		e.Loops[j.Step.Loop] = j
	}
	if e.ended != nil {
		e.ended(e, j)
	}
}

// serve has a worker make an attempt, or prepare for it. One that is lost has told its
// first beats, and then either dies, or goes on and nobody takes its report.
func (e *engine) serve(j *job) {
	e.Helper()
	site := e.sites[e.IntN(len(e.sites))]
	lost, after, dies := e.IntN(10) < e.loss, e.IntN(3), e.IntN(2) == 0
	now := j.D.State.Updated.Add(j.D.State.Wait + time.Second)
	in := j.D
	j.D = in.Begin(now)
	ctx, die := context.WithCancel(e.Context())
	defer die()
	b := ralph.Beat{Host: site.Host, Mark: ralph.NewMark()}
	last := b
	v, err := site.Enter(ctx, in.State, j.Told)
	if e.entered != nil {
		e.entered(j, err)
	}
	if err != nil {
		j.D = j.D.Failed(err.Error(), now)
		return
	}
	in.State = v.State
	beats := 0
	report, err := v.Local.Serve(ctx, in, b, func(b ralph.Beat) error {
		if b.Answered != nil {
			if err := v.Answered(ctx, *b.Answered); err != nil {
				return err
			}
		}
		if beats++; !lost || beats <= after {
			if last = b; b.Answered != nil {
				e.known[fmt.Sprintf("%s %d.%d", in.State.Loop, in.State.Iteration, in.State.Attempt)] = true
			}
		} else if dies {
			die()
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		e.Fatal(err)
	}
	if !lost || !dies {
		end, left := v.Leave(ctx)
		if left != nil {
			e.Logf("%s: %v", in.State.Loop, left)
		}
		if !lost {
			j.End = end
		}
	}
	if lost {
		j.D = j.D.Missed(last, "gone", now)
		return
	}
	if report.Prepared == nil {
		e.known[fmt.Sprintf("%s %d", in.State.Loop, in.State.Iteration)] = j.D.Told(report, now).State.Iteration != in.State.Iteration
	}
	j.D = j.D.Told(report, now)
}

// merge has a worker merge a task, and reports whether that is over.
func (e *engine) merge(j *job) bool {
	e.Helper()
	site := e.sites[e.IntN(len(e.sites))]
	lost, told, dies := e.IntN(10) < e.loss, e.IntN(2) == 0, e.IntN(2) == 0
	m, err := site.Merge(e.Context(), j.Step.Task, "Merge "+j.Step.Task, e.Course.Verified(j.Step.Part), j.Moving, func(move [2]string) error {
		if !lost || told {
			j.Moving = move
		}
		if lost && (dies || !told) { // what is not on record does not happen
			return errors.New("killed")
		}
		return nil
	})
	if lost {
		return false
	}
	ev := pipeline.Event{Kind: pipeline.EventMerged, Task: j.Step.Task, Usage: m.Usage, Conflicts: m.Conflicts, Text: m.Rejected}
	if err != nil {
		ev.Text = err.Error()
	}
	if m.Commit == "" {
		ev.Kind = pipeline.EventUnmerged
	}
	e.merged = append(e.merged, m)
	e.note(ev)
	return true
}

// once is an agent that must not be run for what is on record.
func (e *engine) once(a *agents) {
	do := a.do
	a.do = func(ctx context.Context, req ralph.Request) (string, error) {
		for _, key := range []string{fmt.Sprintf("%s %d", req.Loop, req.Iteration), fmt.Sprintf("%s %d.%d", req.Loop, req.Iteration, req.Attempt)} {
			if e.known[key] {
				e.Errorf("%s is on record, and the agent runs for it again", key)
			}
		}
		return do(ctx, req)
	}
}

// A seeing verifier notes which files it has accepted, as git names them.
type seeing struct {
	ralph.Verifier
	seen map[string]bool // "task agent tree"
	t    *testing.T
}

func (v seeing) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	out, err := v.Verifier.Verify(ctx, c)
	if err == nil && out.Passed {
		v.seen[c.Task.ID+" "+c.Task.Agent+" "+treeOf(v.t, c.Task.Dir)] = true
	}
	return out, err
}

// treeOf is what lies in a folder, as git names it.
func treeOf(t *testing.T, dir string) string {
	t.Helper()
	return sh(t, dir, `export GIT_INDEX_FILE="$(mktemp -d)/index"; git read-tree HEAD; git add -A .; git write-tree; rm -r "$(dirname "$GIT_INDEX_FILE")"`)
}

// onMain checks that each merge on the main branch holds what the stages of its task have
// accepted.
func (v seeing) onMain(t *testing.T, dir string, stages ...string) (merges int) {
	t.Helper()
	for line := range strings.Lines(sh(t, dir, "git log --first-parent --format='%T %s' main")) {
		tree, title, _ := strings.Cut(strings.TrimSpace(line), " ")
		task, is := strings.CutPrefix(title, "Merge ")
		if !is {
			continue
		}
		merges++
		for _, agent := range stages {
			if !v.seen[task+" "+agent+" "+tree] {
				t.Errorf("what is on main of %s was not verified by %s", task, agent)
			}
		}
	}
	return merges
}
