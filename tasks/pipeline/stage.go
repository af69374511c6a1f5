package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/plugin"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// beginStep records that a step begins. It is false if the task cannot be had.
func (r *run) beginStep(ctx context.Context, step Step) (bool, error) {
	if mine, err := r.take(ctx, step.Part); err != nil || !mine {
		return false, err
	}
	if step.Kind == StepMerge {
		err := r.note(ctx, Event{Kind: EventMerging, Task: step.Task})
		return r.state().Stands[step.Part].Phase == PhaseMerging, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.s.Ready(), step) { // others have steered it meanwhile
		return false, nil
	}
	return true, r.noteLocked(ctx, Event{Kind: EventBegan, Task: step.Task, Agent: step.Agent, Loop: step.Loop})
}

// take takes a task for this run before its first step, whatever that is: what an earlier
// run had of it may be somebody else's by now.
func (r *run) take(ctx context.Context, part int) (mine bool, err error) {
	if r.taken[part] {
		return true, nil
	}
	id := r.agreed(part).Definition.ID
	err = plugin.Call("pipeline: Source.Take", func() (err error) { mine, err = r.p.Source.Take(ctx, id); return })
	switch {
	case err != nil:
		return false, err
	case !mine:
		return false, cmp.Or(r.look(ctx), r.altered(ctx, id, "taken by somebody else"))
	}
	r.taken[part] = true
	return true, nil
}

// step does a step, and tells what came of it.
func (r *run) step(ctx context.Context, step Step) error {
	if step.Kind == StepMerge {
		return r.merge(ctx, step.Part)
	}
	return r.stage(ctx, step)
}

// A brokenError says why a stage's loop cannot be run, which is how it ends.
type brokenError struct {
	error
	stop ralph.StopReason
}

func (e brokenError) Unwrap() error { return e.error }

// broken is the error of a stage that cannot be run as it is defined.
func broken(err error) error { return brokenError{err, ralph.StopInvalid} }

// stage runs the loop of a stage, and tells what came of it. The error is none of the
// task's: it ends the run.
func (r *run) stage(ctx context.Context, step Step) error {
	s := r.state()
	at := slices.Index(s.Orders[s.Parts[step.Part].Order], step.Agent)
	t := r.agreed(step.Part)
	st := stage{run: r, Step: step, task: t.Stages[at], once: t.Once[at]}
	final, err := st.loop(ctx)
	if live := s.running(step.Part); final.V == 0 && live >= 0 { // it did not come to the loop
		final.Usage = s.Running[live].Used
	}
	ev := Event{Kind: EventEnded, Task: step.Task, Agent: step.Agent, Loop: step.Loop, Stop: final.Stop, Text: st.why(final),
		Usage: final.Usage, Last: st.last(final), Iterations: final.Completed(), Output: lastOf(st.answer.Output, maxOutput)}
	if broken, ok := errors.AsType[brokenError](err); ok && ctx.Err() == nil {
		ev.Stop, ev.Text, err = broken.stop, broken.Error(), nil
	}
	ev.Unverified = st.once && final.Stop == ralph.StopIterations && final.Failures == 0 && !r.evidence(st.task)
	if ev.Stop == ralph.StopVerified || ev.Unverified {
		k := known{state: final, answer: st.answer, tree: st.looks}
		var kept error
		if k.commit, _, kept = r.keep(ctx, step.Part, step.Agent); kept != nil {
			ev.Stop, ev.Unverified, ev.Text = ralph.StopIterations, false, "its work could not be committed: "+kept.Error()
		}
		ev.To, ev.Tree = k.commit, k.tree
		r.mu.Lock()
		r.known[step.Loop] = k
		r.mu.Unlock()
	}
	if ev.Stop == "" || ev.Stop == ralph.StopCancelled { // or the run would have stopped for want of tasks
		r.cancelled(ctx) // its error is note's, too
	}
	r.look(context.WithoutCancel(ctx)) // what was altered does not count; its error is that of what is written
	if told := r.note(ctx, ev); told != nil {
		return told
	}
	if errors.Is(err, errHalted) || final.Done() || ctx.Err() != nil {
		err = nil
	}
	return cmp.Or(err, r.propose(ctx, step.Part), r.settled(ctx, step, ev))
}

// A stage is a stage that runs.
type stage struct {
	*run
	Step
	task   ralph.Task
	once   bool
	answer ralph.Response // the last
	looks  string         // the files, as git names them, when it was given; "" = not known
	fault  string         // of the last iteration
	asked  *ralph.State   // as its last iteration began here, nil = none has
}

// loop runs the loop, from the start or from where it was interrupted.
func (st *stage) loop(ctx context.Context) (ralph.State, error) {
	place, err := st.place(ctx, st.Step)
	if err != nil {
		return ralph.State{}, brokenError{fmt.Errorf("there is no folder to work in: %w", err), ralph.StopBlocked}
	}
	st.task.Dir = place.Dir
	s, err := st.begun()
	if err != nil || s.Done() { // before that was told
		return s, err
	}
	l := st.local
	if l.Runner, err = st.p.Runner(place); err != nil {
		return s, broken(err)
	}
	if v, ok := l.Runner.(interface{ Validate(ralph.Task) error }); ok {
		if err := v.Validate(st.task); err != nil { // whatever the task
			return s, brokenError{err, ralph.StopFailed}
		}
	}
	if st.once && !st.evidence(st.task) {
		l.Verifier = ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
			return ralph.Reject("a single pass, which nothing has checked"), nil
		})
	}
	l.Control = st.control()
	l.Log = progress.Multi(l.Log, ralph.ProgressLogFunc(st.see))
	if l.Prompt, err = st.prompt(st.Step); err != nil {
		return s, broken(err)
	}
	// Before the files are looked at that are guarded: the source may be one of them.
	err = st.write(ctx, st.Part, Update{Status: spec.StatusRunning, Running: &Running{
		Stage: st.Agent, Iteration: s.Iteration, MaxIterations: s.Task.Limits.Iterations,
		StartedAt: time.Now().UTC().Round(time.Second), CompletionPromise: cmp.Or(s.Task.Promise, ralph.DefaultPromise),
	}})
	if err != nil || st.state().Stands[st.Part].Phase == PhaseAltered {
		return s, cmp.Or(err, errHalted)
	}
	if s, err = l.Prepare(ctx, s); err != nil {
		return s, broken(err)
	}
	return l.Run(ctx, s)
}

// begun is the state in which the loop begins, or goes on.
func (st *stage) begun() (ralph.State, error) {
	s := ralph.Start(st.task)
	s.Loop = st.p.loopName(st.Loop)
	if !st.GoOn || st.loops == nil {
		return s, nil
	}
	e, err := st.loops.Look(s.Loop)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err != nil:
		return s, err
	case e.State.Done(): // what it was granted by then does not hold
		l := e.State.Task.Limits
		l.CostUSD, l.Tokens, l.Duration = 0, 0, 0
		if e.State = e.State.Limit(l); e.State.Done() {
			e.State = e.Reopened()
		}
	}
	if a, err := answered(st.loops, s.Loop); err == nil {
		st.answer = a
	}
	return e.State, nil
}

// why is why the loop has stopped; at its limit also what was wrong at last, for whoever
// is to mend it.
func (st *stage) why(final ralph.State) string {
	if wrong := cmp.Or(st.fault, final.Feedback); final.Stop == ralph.StopIterations && wrong != "" {
		return final.Detail + ":\n" + cut(wrong, maxOutput)
	}
	return final.Detail
}

// see notes what the agent has answered, and what is to be verified: what changes
// afterwards was not.
func (st *stage) see(ctx context.Context, ev ralph.Event) error {
	if ev.Kind == ralph.EventIterationEnded {
		st.fault = ev.Iteration.Error
	}
	if ev.Kind != ralph.EventAnswered || ev.Answer == nil {
		return nil
	}
	st.answer, st.looks = *ev.Answer, ""
	if t := st.tree(st.Part); t != nil && (ev.Iteration.Claimed || st.task.Always) {
		st.looks, _ = t.Snapshot(ctx) // where that cannot be known, it is verified again before it is merged
	}
	return nil
}

// evidence reports whether what verifies a task looks at more than the words.
func (r *run) evidence(t ralph.Task) bool {
	v, ok := r.verifier.(interface{ Evidence(ralph.Task) bool })
	return !ok || v.Evidence(t)
}

// prompt is what makes the prompts of a stage.
func (r *run) prompt(step Step) (func(context.Context, ralph.State) (string, error), error) {
	s := r.state()
	now := s.Stands[step.Part]
	told := Stage{Definition: r.agreed(step.Part).Definition, Agent: step.Agent, Branch: r.branch(step.Part)}
	for i, agent := range s.Orders[s.Parts[step.Part].Order] {
		over := uint64(1) << i
		if (now.Verified|now.Passed)&over == 0 {
			continue
		}
		k := r.knownOf(step.Part, agent)
		told.Before = append(told.Before, Record{
			Agent: agent, Verified: now.Verified&over != 0, Unverified: now.Passed&over != 0,
			Iterations: k.state.Completed(), Files: k.state.Files, Checks: k.state.Verdict.Checks, Commit: k.commit,
		})
	}
	told.From, told.Feedback = r.rejection(step)
	if r.p.Prompt != nil {
		return r.p.Prompt(told), nil
	}
	return r.roles.Prompt(r.dir, told) // not the worktree: one agent could write what another is told
}

// rejection is why a stage was sent back to this one.
func (r *run) rejection(step Step) (from, feedback string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ev, s := r.rejected[step.Task], r.s
	switch order := s.Orders[s.Parts[step.Part].Order]; {
	case s.Stands[step.Part].Rounds == 0:
	case ev.Kind == EventUnmerged && step.Agent == order[0]:
		return "merge", "these files conflict with the main branch, which is being merged into this one: " + strings.Join(ev.Conflicts, ", ") +
			"; mend them, so that both sides' changes are there, and conclude the merge with git commit"
	case ev.Kind == EventEnded && s.Rules.Back[ev.Agent].To == step.Agent:
		return ev.Agent, strings.TrimSpace(ev.Text + "\n\n" + ev.Output)
	}
	return "", ""
}

// knownOf is what is known of the stage of a task that is over.
func (r *run) knownOf(part int, agent string) known {
	s := r.state()
	for again := s.Stands[part].Again; again >= 0; again-- {
		loop := s.loop(part, agent, again)
		r.mu.Lock()
		k, ok := r.known[loop]
		r.mu.Unlock()
		if ok {
			return k
		}
		if r.loops == nil {
			continue
		}
		if e, err := r.loops.Look(r.p.loopName(loop)); err == nil && e.State.Done() {
			k = known{state: e.State, commit: r.seen[loop].To} // a record is no evidence: it is verified again
			k.answer, _ = answered(r.loops, r.p.loopName(loop))
			r.mu.Lock()
			r.known[loop] = k
			r.mu.Unlock()
			return k
		}
	}
	return known{}
}

// control lets others steer the loop, and has its iterations wait for the budget.
func (st *stage) control() func(context.Context, ralph.State) (ralph.State, error) {
	return func(ctx context.Context, s ralph.State) (ralph.State, error) {
		for {
			if st.loops != nil {
				var err error
				if s, err = st.loops.Control(ctx, s); err != nil {
					return s, err
				}
			}
			ev := Event{Kind: EventReserve, Task: st.Task, Agent: st.Agent, Loop: st.Loop, Usage: s.Usage, Last: st.last(s)}
			switch {
			case s.Done() || s.Running:
				return s, nil
			case st.halted():
				return s, errHalted
			case s.Paused || time.Until(s.NotBefore()) > 0:
				ev.Kind = EventHeld // what it had reserved is for others meanwhile
				st.reserve(ctx, st.Part, ev)
				return s, nil
			}
			if st.journal != nil {
				st.ask(ctx) // what was asked of the run by now holds for this iteration
			}
			now, changed := st.reserve(ctx, st.Part, ev)
			if l, granted := now.Granted(st.Task, s); granted && !st.halted() {
				asked := s
				st.asked = &asked
				return s.Limit(l), nil
			}
			if st.halted() {
				return s, errHalted
			}
			select {
			case <-changed:
			case <-time.After(time.Second / 2): // others may have steered the loop
			case <-ctx.Done():
				return s, nil // the loop sees what has ended it
			}
		}
	}
}

// halted reports whether no iteration of the loop begins any more, however long it would
// wait: the run ends, or the task does not count.
func (st *stage) halted() bool {
	now := st.state()
	return st.failing() || now.Done() || now.Stands[st.Part].Phase != PhaseRunning
}

// failing reports whether the run ends by an error.
func (r *run) failing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err != nil
}

// last is what the last iteration of the loop has used, nil = none has ended here.
func (st *stage) last(s ralph.State) *Amount {
	if st.asked == nil || s.Completed() == st.asked.Completed() {
		return nil
	}
	return &Amount{CostUSD: s.LastCost, Tokens: tokens(s.Usage) - tokens(st.asked.Usage)}
}

// reserve asks for the next iteration of a loop, or gives back what it had for the last.
// That it still has to wait is no news, nor that it has nothing.
func (r *run) reserve(ctx context.Context, part int, ev Event) (State, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.s.Next(ev)
	i, j := r.s.running(part), next.running(part)
	if i >= 0 && j >= 0 && r.s.Running[i].Reserved == nil && next.Running[j].Reserved == nil && r.s.Running[i].Waits == next.Running[j].Waits && next.Stop == r.s.Stop {
		r.s = next
	} else {
		r.noteLocked(ctx, ev) // its error is in r.err
	}
	return r.s, r.changed
}

// settled writes down how a task stands after a stage.
func (r *run) settled(ctx context.Context, step Step, ev Event) error {
	s := r.state()
	st := s.Stands[step.Part]
	u := Update{Iteration: ev.Iterations}
	switch st.Phase {
	case PhaseFailed:
		u.Status = spec.StatusTodo
	case PhaseBroken:
		u.Status = spec.StatusFailed
	case PhaseDone:
		u.Status = spec.StatusDone
	case PhaseUnverified:
		u.Status, ev.Stop, ev.Text = spec.StatusRunning, "unverified", "none of its stages was verified"
	default:
		return nil // it goes on
	}
	if st.Phase != PhaseDone {
		reason := string(ev.Stop)
		if ev.Text != "" {
			reason += ": " + ev.Text
		}
		u.Failure = &Failure{Stage: step.Agent, IterationsUsed: ev.Iterations, LastOutput: r.redact(ev.Output), Reason: r.redact(reason)}
	}
	return r.write(ctx, step.Part, u)
}

// output is where the agent's words go, and its raw output.
func (r *run) output(req ralph.Request) (display, raw io.Writer) {
	if r.p.Output != nil {
		display, raw = r.p.Output(req)
	}
	if r.loops == nil {
		return display, raw
	}
	if raw == nil {
		return display, r.loops.Output(req)
	}
	return display, io.MultiWriter(raw, r.loops.Output(req))
}
