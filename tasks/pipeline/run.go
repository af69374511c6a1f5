package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/plugin"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// A run is one run of a pipeline. This file has its course: steps begin as the state
// says that they may, each on a goroutine of its own, and what comes of them is
// recorded and applied in turn (note). stage.go runs an agent's loop, merge.go brings a
// task to the main branch, worktree.go has the folders. Nothing here decides: where a
// rule seems to be missing it belongs into State.
type run struct {
	*Agreed
	// watch is told each event once it is recorded; nil = nobody is.
	watch func(Event)
	began time.Time
	// nil = nothing is recorded
	journal *progress.Journal
	// goesOn says that the record was begun by an earlier run.
	goesOn bool
	// of the stages; nil with journal
	loops *progress.Dir
	// nil = there are no worktrees
	repo *git.Repo
	// files are those of the source, as paths in the repository.
	files []string

	// mu is held while an event is recorded, so that the order of the record is the one
	// in which things were decided.
	mu      sync.Mutex
	s       State
	elapsed time.Duration // before this run
	// closed and replaced when s changes
	changed chan struct{}
	// what could not be recorded: nothing more begins
	err   error
	known map[string]StageEnd // how loops have ended, by their names
	noted map[string]bool     // what was told already
	// taken are the tasks that were taken for this run. Only drive's goroutine uses it.
	taken map[int]bool
	local ralph.Local // what all loops have

	trees *Worktrees // nil with repo
	// tips are the commits that the tasks' branches were left at, by task.
	tips map[int]string
	lies lies
	// tasks that a run which was killed had all but merged
	ahead []int
	// agreedTo is the number of tasks without those that were added.
	agreedTo int
	later    []string // what is to be told when the run has begun
}

// errHalted ends a loop, which goes on in another run: nothing more begins in this one.
// To the loop it is an error like any other, by which it is interrupted and not failed.
var errHalted = errors.New("pipeline: nothing more begins")

func (a *Agreed) run(ctx context.Context, watch func(Event)) (State, error) {
	own := *a // others may read a meanwhile
	own.Tasks, own.rejected = slices.Clone(a.Tasks), maps.Clone(a.rejected)
	r := &run{
		Agreed: &own, watch: watch, began: time.Now(), s: a.State, elapsed: a.State.Elapsed, changed: make(chan struct{}),
		known: map[string]StageEnd{}, tips: map[int]string{}, noted: map[string]bool{}, taken: map[int]bool{},
		agreedTo: len(a.Tasks),
	}
	if ctx.Err() != nil {
		return r.s, context.Cause(ctx)
	}
	if err := r.open(); err != nil {
		return r.s, err
	}
	err := r.begin(ctx)
	if err == nil {
		err = r.drive(ctx)
	}
	a.all = r.Tasks
	return r.s, r.end(ctx, err)
}

// open opens the record, which nobody else may have meanwhile: the lock on it is what
// keeps two runs apart, and dies with the process. A record that has ended is set aside
// and a new one begun, so that an end is never followed by something else.
func (r *run) open() error {
	if r.p.Record == nil {
		return nil
	}
	name := r.p.name()
	j, err := r.p.Record.Under("").Open(name)
	if err == nil && (j.State.Done() || r.p.Anew) {
		if err = j.Close(); err == nil && !j.State.Done() {
			_, _, err = r.p.Record.SetAside(name)
		}
		j = nil
	}
	r.goesOn = j != nil
	if !r.goesOn && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		start := ralph.Start(ralph.Task{ID: name, Prompt: name, Dir: r.dir})
		start.Loop = name
		j, err = r.p.Record.Under("").Create(start, progress.KindPipeline)
	}
	if err != nil {
		return err
	}
	j.State.Task.Limits = r.s.Rules.limits()
	j.State.Task.Limits.Iterations = unbounded
	r.journal, r.loops, j.Meta = j, r.p.Record.Under(name), r.p.Meta
	return nil
}

// unbounded is the number of iterations of a pipeline's own record: a lower one asks it
// to stop. A pipeline has no iterations; people stop it with the same command as a
// loop.
const unbounded = 1<<31 - 1

// begin records that the run begins, and brings to its end what a run that was killed
// has left half done. The order matters: a merge that was killed is finished before
// anybody looks whether the work tree is clean, and all that before a task is on
// record, since from then on what lies in its worktree is its own.
func (r *run) begin(ctx context.Context) error {
	if r.journal != nil {
		if err := r.journal.Begin(ctx, r.goesOn); err != nil {
			return err
		}
	}
	if err := r.openRepo(ctx); err != nil { // first: once a task is on record, what lies there is its own
		return err
	}
	s := r.s
	if err := r.note(ctx, Event{Kind: EventStarted, State: &s, Titles: r.titles(r.Tasks...)}); err != nil {
		return err
	}
	for _, text := range r.later {
		r.say(ctx, "", text)
	}
	r.local = ralph.Local{Verifier: r.verifier, Log: r.p.Log, Output: r.output, Live: r.p.Live, Evidence: r.p.Evidence, Meta: r.p.Meta}
	if r.loops != nil {
		r.local.Log, r.local.Pending = progress.Multi(r.loops, r.p.Log), r.loops.Pending
	}
	r.ask(ctx) // what others have asked for since
	return r.catchUp(ctx)
}

// drive has steps begin until none runs and none may begin. Everything that begins does
// so on this goroutine, so no step begins twice.
//
// It waits for a step to end or for the state to change. Only while nothing runs, as in
// a pause, does it wait for ctx itself: steps that run end by it, and their ends are
// told.
//
// An error that is not of one task lets what runs come to its end: an agent that is cut
// off has been paid for in vain.
func (r *run) drive(ctx context.Context) error {
	ctx, stop := r.steered(ctx)
	defer stop()
	done, busy := make(chan over), map[int]bool{}
	var failed error
	for {
		changed := r.waiting() // first, so that no change is missed
		for _, step := range r.next(ctx, failed, busy) {
			began, err := r.beginStep(ctx, step)
			if failed = r.fails(failed, err); err != nil || !began {
				continue
			}
			busy[step.Part] = true
			go func() {
				done <- over{step.Part, plugin.Call("pipeline: "+string(step.Kind)+" of "+step.Task, func() error { return r.step(ctx, step) })}
			}()
		}
		if len(busy) == 0 && len(r.next(ctx, failed, busy)) == 0 && !r.waits(ctx, failed) {
			break
		}
		var ended <-chan struct{}
		if len(busy) == 0 { // a pause ends with the context; what runs ends by it
			ended = ctx.Done()
		}
		select {
		case one := <-done:
			delete(busy, one.part)
			failed = r.fails(failed, one.err)
		case <-changed:
		case <-ended:
		}
	}
	if err := r.inspect(context.WithoutCancel(ctx)); err != nil && failed == nil {
		r.say(ctx, "", err.Error())
	}
	if err := r.look(context.WithoutCancel(ctx)); ctx.Err() == nil {
		failed = cmp.Or(failed, err)
	}
	return r.outcome(ctx, failed)
}

// outcome is the error of the run, nil = all is done. What went wrong comes first, for
// it is why the rest has ended. A run that was interrupted when all was done is done.
func (r *run) outcome(ctx context.Context, failed error) error {
	switch err := context.Cause(ctx); {
	case failed != nil:
		return failed
	case err != nil && errors.Is(err, ralph.ErrCancelled):
		r.cancelled(ctx) // its error is in r.err
	case err != nil && !r.state().Done():
		return err
	}
	return r.state().Err()
}

// cancelled notes that the run is cancelled, if it is. An interrupt is no cancel: the
// run goes on another time.
func (r *run) cancelled(ctx context.Context) error {
	if err := context.Cause(ctx); errors.Is(err, ralph.ErrCancelled) && !r.state().Done() {
		return r.note(ctx, Event{Kind: EventStopped, Stop: ralph.StopCancelled, Text: err.Error()})
	}
	return nil
}

// fails notes an error that is not of one task: no iteration begins after it. The first
// one stays, since those that follow are often of its making.
func (r *run) fails(failed, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	failed = cmp.Or(failed, err)
	r.err = cmp.Or(r.err, failed)
	return failed
}

// over says that a step of a task is over.
type over struct {
	part int
	err  error
}

// next are the steps that may begin. A task's next step waits until what came of the
// one before is written down: it could otherwise be merged while the status of its last
// stage is still being written.
func (r *run) next(ctx context.Context, failed error, busy map[int]bool) []Step {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() != nil || failed != nil || r.err != nil {
		return nil
	}
	return slices.DeleteFunc(r.s.Ready(), func(s Step) bool { return busy[s.Part] })
}

// waits reports whether steps may begin later although none runs. Only a pause is such
// a wait: what waits for budget waits for something that runs.
func (r *run) waits(ctx context.Context, failed error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.s.Paused && !r.s.Done() && ctx.Err() == nil && failed == nil && r.err == nil
}

func (r *run) state() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.s
}

// agreed is a task of the run. Tasks may be added while the run goes on, so the list is
// read under the lock.
func (r *run) agreed(part int) AgreedTask {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Tasks[part]
}

// waiting is closed when the state has changed since. A channel for each state, and not
// one that is sent to, lets any number of loops wait for the same change.
func (r *run) waiting() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// note records an event and applies it: what is recorded and what is decided cannot
// come apart. What a loop uses is on its own record, and only applied.
func (r *run) note(ctx context.Context, ev Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.noteLocked(ctx, ev)
}

// noteLocked is note with the lock held. An event that cannot be recorded has happened
// all the same, so it is applied, and the run ends; only what has not been done yet, a
// stage or a merge, does not begin.
func (r *run) noteLocked(ctx context.Context, ev Event) error {
	ev.Time, ev.Elapsed = time.Now().UTC().Round(0), r.elapsed+time.Since(r.began)
	ev.Text, ev.Output = r.redact(ev.Text), r.redact(ev.Output)
	if r.journal != nil && !ev.loops() {
		text, err := json.Marshal(ev)
		if err == nil {
			_, err = r.journal.Record(context.WithoutCancel(ctx), ralph.Event{
				Kind: ralph.EventStep, Time: ev.Time, Task: ev.Task, Agent: ev.Agent, Text: ev.Text, Meta: map[string]string{metaEvent: string(text)},
			})
		}
		if err != nil {
			r.err = cmp.Or(r.err, fmt.Errorf("pipeline: %s of %s could not be recorded: %w", ev.Kind, cmp.Or(ev.Task, r.p.name()), err))
			if ev.Kind == EventBegan || ev.Kind == EventMerging {
				return r.err // it does not begin
			}
		}
	}
	before := r.s
	if r.s = before.Next(ev); r.s.sends(before, ev) {
		r.rejected[ev.Task] = ev
	}
	if r.watch != nil {
		r.watch(ev)
	}
	close(r.changed)
	r.changed = make(chan struct{})
	if r.s.Stop != before.Stop && r.s.Done() && ev.Kind != EventStopped { // what the state has decided, maybe by what is not recorded
		return r.noteLocked(ctx, Event{Kind: EventStopped, Stop: r.s.Stop, Text: r.s.Detail})
	}
	return r.err
}

// redact hides the caller's secrets in what is recorded and written to the source.
func (r *run) redact(text string) string {
	if r.p.Redact == nil {
		return text
	}
	return r.p.Redact(text)
}

// end records how the run ended, also when ctx is done: a run whose end is not on
// record looks like one that was killed.
func (r *run) end(ctx context.Context, err error) error {
	if r.journal == nil {
		return err
	}
	if r.err != nil {
		err = cmp.Or(err, r.err)
	}
	told := r.journal.End(context.WithoutCancel(ctx), err)
	return cmp.Or(err, told)
}

// write writes down how far a task is, where people look. That somebody else has
// changed the task is no error of the run. It is written also when ctx is done, for
// what came of the stage is known by then.
func (r *run) write(ctx context.Context, part int, u Update) error {
	u.Time = time.Now().UTC().Round(time.Second)
	err := plugin.Call("pipeline: Source.Write", func() error { return r.p.Source.Write(context.WithoutCancel(ctx), r.agreed(part).Definition.ID, u) })
	if altered, ok := errors.AsType[*AlteredError](err); ok {
		return r.altered(ctx, altered.ID, altered.What)
	}
	return err
}

// say tells people something, once: what is looked at again and again is found each
// time.
func (r *run) say(ctx context.Context, task, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.noted[text] {
		r.noted[text] = true
		r.noteLocked(ctx, Event{Kind: EventNoted, Task: task, Text: text}) // its error is in r.err
	}
}

// catchUp writes down what is on record of earlier runs and did not come to the source:
// they were killed in between. To write it twice does no harm.
func (r *run) catchUp(ctx context.Context) error {
	for i, t := range r.Tasks {
		if t.Stages != nil && r.s.Stands[i].Phase == PhaseDone {
			if err := r.write(ctx, i, Update{Status: spec.StatusDone}); err != nil {
				return err
			}
		}
	}
	for _, part := range r.ahead {
		if err := r.finished(ctx, part, ralph.Usage{}); err != nil {
			return err
		}
	}
	return nil
}
