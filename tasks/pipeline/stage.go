package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/plugin"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// step does a step, and tells what came of it.
func (r *run) step(ctx context.Context, step Step) error {
	if step.Kind == StepMerge {
		return r.merge(ctx, step.Part)
	}
	return r.stage(ctx, step)
}

// A brokenError says why a stage's loop cannot be run, which is how it ends: stop is
// what the state makes of it, and decides who is concerned: this task, or the run.
type brokenError struct {
	error
	stop ralph.StopReason
}

func (e brokenError) Unwrap() error { return e.error }

// broken is the error of a stage that cannot be run as it is defined.
func broken(err error) error { return brokenError{err, ralph.StopInvalid} }

// stage runs the loop of a stage, and tells what came of it. The error is none of the
// task's: it ends the run.
//
// What was verified is committed before its end is told. If that cannot be done, the
// stage has failed: a verified stage whose work is nowhere would be merged without it.
func (r *run) stage(ctx context.Context, step Step) error {
	s := r.state()
	at := slices.Index(s.Orders[s.Parts[step.Part].Order], step.Agent)
	t := r.agreed(step.Part)
	st := stage{run: r, Step: step, task: t.Stages[at], once: t.Once[at]}
	final, err := st.loop(ctx)
	if live := s.running(step.Part); final.V == 0 && live >= 0 { // it did not come to the loop
		final.Usage = s.Running[live].Used
	}
	ev := StageEnd{State: final, Answer: st.answer, Unchecked: !evidence(r.verifier, st.task)}.event(step, st.once, st.wrong)
	ev.Last, ev.Blind = st.last(final), st.blind(final)
	if broken, ok := errors.AsType[brokenError](err); ok && ctx.Err() == nil {
		ev.Stop, ev.Text, err = broken.stop, broken.Error(), nil
	}
	if ev.Stop == ralph.StopVerified || ev.Unverified {
		k := StageEnd{State: final, Answer: st.answer, Tree: st.looks}
		var kept error
		if k.Commit, _, kept = r.keep(ctx, step.Part, step.Agent); kept != nil {
			ev.Stop, ev.Unverified, ev.Text = ralph.StopIterations, false, "its work could not be committed: "+kept.Error()
		}
		ev.To, ev.Tree = k.Commit, k.Tree
		r.mu.Lock()
		r.known[step.Loop] = k
		r.mu.Unlock()
	}
	if told := r.tell(ctx, ev); told != nil {
		return told
	}
	if errors.Is(err, errHalted) || final.Done() || ctx.Err() != nil {
		err = nil
	}
	return cmp.Or(err, r.propose(ctx, step.Part), r.settled(ctx, step, ev))
}

// tell records how a stage has ended. First comes whatever explains it: that the run is
// cancelled, for else it would have stopped for want of tasks, and what somebody else
// has changed, for then the stage does not count.
func (r *run) tell(ctx context.Context, ev Event) error {
	if ev.Stop == "" || ev.Stop == ralph.StopCancelled {
		r.cancelled(ctx) // its error is note's, too
	}
	if ev.Stop == ralph.StopCancelled {
		r.ask(ctx) // a loop may see sooner than its run that both are cancelled
	}
	r.look(context.WithoutCancel(ctx)) // its error is that of what is written next
	return r.note(ctx, ev)
}

// A stage is a stage that runs, in one run, on one goroutine.
type stage struct {
	*run
	Step
	task ralph.Task
	// once says that it is a single pass.
	once bool
	// answer is the last one.
	answer ralph.Response
	// looks are the files, as git names them, when the answer was given; "" = not
	// known.
	looks string
	// wrong is what was wrong with its last iteration, in that iteration's words.
	wrong string
	// asked is the state in which its last iteration began in this run; nil = none has.
	asked *ralph.State
}

// loop runs the loop, from the start or from where it was interrupted. Each error says
// by its kind whose it is: the folder's (blocked), the definition's (invalid), the
// runner's, which is the same for all tasks (failed), or none of these (the run ends).
//
// Whatever can be wrong with the configuration is asked before the task is prepared,
// and it is prepared before the first iteration: until then no agent has cost anything.
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
	if err = plugin.Call("Pipeline.Runner", func() (err error) { l.Runner, err = st.p.Runner(place); return }); err != nil {
		return s, broken(err)
	}
	if v, ok := l.Runner.(interface{ Validate(ralph.Task) error }); ok {
		if err := plugin.Call("Validate", func() error { return v.Validate(st.task) }); err != nil { // whatever the task
			return s, brokenError{err, ralph.StopFailed}
		}
	}
	if st.once && !evidence(st.verifier, st.task) {
		l.Verifier = unchecked()
	}
	l.Control, l.Learn = st.control(), st.learn()
	l.Log = progress.Multi(l.Log, ralph.ProgressLogFunc(st.see))
	if l.Prompt, err = st.prompt(st.Step); err != nil {
		return s, broken(err)
	}
	if st.halted() { // since it was ready
		return s, errHalted
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

// learn asks what earlier loops have taught, with two numbers: how many iterations the
// agent usually has, which may be learned, and how many somebody has configured, which
// bounds it.
func (st *stage) learn() func(context.Context, ralph.State) (ralph.Lesson, error) {
	if st.p.Learn == nil {
		return nil
	}
	usual := st.task.Limits.Iterations
	most := usual
	if st.p.Task == nil {
		usual, most = st.p.Config.Iterations(st.agreed(st.Part).Definition, st.Agent)
	}
	if !st.once {
		most = cmp.Or(st.p.Limits.Iterations, most)
	}
	return func(ctx context.Context, s ralph.State) (ralph.Lesson, error) { return st.p.Learn(ctx, s, usual, most) }
}

// begun is the state in which the loop begins, or goes on. The loop's own record says
// where it was: the pipeline's tells only that it was interrupted. A loop that was told
// as begun and has no record was killed before its first iteration.
func (st *stage) begun() (ralph.State, error) {
	s := st.state().start(st.Part, st.task)
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
	}
	if a, err := answered(st.loops, s.Loop); err == nil {
		st.answer = a
	}
	return goesOn(e.State), nil
}

// see notes what the agent has answered, and which files are to be verified: what
// changes afterwards was not.
func (st *stage) see(ctx context.Context, ev ralph.Event) error {
	if ev.Kind == ralph.EventIterationEnded {
		st.wrong = cmp.Or(ev.Iteration.Error, ev.Iteration.Verdict.Feedback)
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

// evidence reports whether what verifies a task looks at more than the words. A
// verifier that does not say is taken to, as one of a program's own usually does.
func evidence(v ralph.Verifier, t ralph.Task) bool {
	able, ok := v.(interface{ Evidence(ralph.Task) bool })
	return !ok || able.Evidence(t)
}

// unchecked verifies a single pass without evidence: nothing can. It rejects instead of
// passing, and the pipeline then counts the stage as done and unverified: a pass here
// would be shown as a verdict.
func unchecked() ralph.Verifier {
	return ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
		return ralph.Reject("a single pass, which nothing has checked"), nil
	})
}

// prompt is what makes the prompts of a stage. It is built when the stage begins, with
// what is on record then.
func (r *run) prompt(step Step) (func(context.Context, ralph.State) (string, error), error) {
	told := r.state().brief(step, r.agreed(step.Part).Definition, func(agent string) StageEnd { return r.knownOf(step.Part, agent) }, r.sent(step.Task))
	if r.p.Prompt != nil {
		var prompt func(context.Context, ralph.State) (string, error)
		err := plugin.Call("Pipeline.Prompt", func() error { prompt = r.p.Prompt(told); return nil })
		return prompt, err
	}
	return r.roles.Prompt(r.dir, told) // not the worktree: one agent could write what another is told
}

// sent is why a task was last sent back; the zero Event if it was not.
func (r *run) sent(task string) Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rejected[task]
}

// knownOf is what is known of the stage of a task that is over. It is looked for under
// the names of its loops from the newest on, since a stage that was begun anew has
// several.
func (r *run) knownOf(part int, agent string) StageEnd {
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
			k = StageEnd{State: e.State, Commit: r.seen[loop].To} // a record is no evidence: it is verified again
			k.Answer, _ = answered(r.loops, r.p.loopName(loop))
			r.mu.Lock()
			r.known[loop] = k
			r.mu.Unlock()
			return k
		}
	}
	return StageEnd{}
}

// settled writes down how a task stands after a stage. Nothing is written while the
// task goes on: the source has it as running.
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
		u.Failure = &Failure{Stage: step.Agent, IterationsUsed: ev.Iterations, LastOutput: r.redact(ev.Output), Reason: r.redact(ev.reason())}
	}
	return r.write(ctx, step.Part, u)
}

// output is where the agent's words go, and its raw output, which is kept with the
// loop's record besides.
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
