package temporal

import (
	"cmp"
	"context"
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

const (
	pipelineType  = "ralph.Pipeline"
	iterationType = "ralph.Iteration"
	mergeType     = "ralph.Merge"
)

// A Pipeline works many tasks off on the workers of a queue, which have Trees: the
// iterations of its stages are child workflows, in the worktrees of their tasks. It takes
// the signals SignalCancel and SignalPause, and QueryState returns a [pipeline.State].
type Pipeline struct {
	Loop
	Name string // of its workflow, with which the names of its loops begin; "" = "pipeline"
	// Pin has a stage stay with one worker, in a session, as long as that lives; it needs
	// worker.Options.EnableSessionWorker. Else each iteration may be another worker's. In
	// either case all workers have the same disk or, by Worktrees.Remote, what was pushed.
	Pin bool
}

// Run does what was agreed, or attaches to what runs under its name, and returns how the
// tasks stand in the end, with the error of [pipeline.Pipeline.Run]. When ctx is done it
// detaches.
func (p *Pipeline) Run(ctx context.Context, a *pipeline.Agreed) (pipeline.State, error) {
	c, err := a.Course(ctx)
	if err != nil {
		return a.State, err
	}
	opts := client.StartWorkflowOptions{ID: cmp.Or(p.Name, "pipeline"), TaskQueue: p.Queue}
	if a.Unsettled() { // what has ended meanwhile is not begun anew
		opts.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY
	}
	final, err := attach(ctx, p.Client, pipelineType, plan{Course: c, Heartbeat: p.Heartbeat, Pin: p.Pin}, a.State.Parts, a.State, p.State, opts)
	if err != nil {
		return final, err
	}
	return final, cmp.Or(final.Err(), a.Settle(context.WithoutCancel(ctx), final))
}

// State returns where a pipeline stands.
func (p *Pipeline) State(ctx context.Context, name string) (s pipeline.State, err error) {
	err = query(ctx, p.Client, name, &s)
	return s, err
}

// A plan is what the workflow of a pipeline is given, and goes on with.
type plan struct {
	Course    pipeline.Course `json:"course"`
	Heartbeat time.Duration   `json:"heartbeat,omitempty"`
	Pin       bool            `json:"pin,omitempty"`
	Loops     map[string]run  `json:"loops,omitempty"` // that were interrupted
}

// A stage is what an iteration of a pipeline has beside others.
type stage struct {
	Told    pipeline.Stage    `json:"told"`
	Pin     bool              `json:"pin,omitempty"`
	Session []byte            `json:"session,omitempty"` // of the worker that it is pinned to
	End     pipeline.StageEnd `json:"end,omitzero"`      // so far, without its state
}

// iteration is the workflow of one iteration of a stage.
func iteration(ctx workflow.Context, in run) (run, error) {
	d := &driver{run: in, ctx: ctx}
	err := d.drive()
	if d.session != nil {
		workflow.CompleteSession(d.session)
	}
	return d.run, err
}

// over reports whether an iteration of a stage has come to its end, or has to wait.
func (d *driver) over(from ralph.State) bool {
	return d.Stage != nil && (d.State.Iteration != from.Iteration || d.State.Wait > 0 && d.State.Attempt != from.Attempt)
}

// on is where the attempts of the loop are made: in a session of one worker, or by any.
func (d *driver) on() (_ workflow.Context, err error) {
	if d.Stage == nil || !d.Stage.Pin {
		return d.ctx, nil
	}
	if d.session != nil && workflow.GetSessionInfo(d.session).SessionState == workflow.SessionStateOpen {
		return d.session, nil
	}
	beat := cmp.Or(max(d.Heartbeat, 0), time.Minute)
	opts := &workflow.SessionOptions{CreationTimeout: beat, ExecutionTimeout: forever, HeartbeatTimeout: beat}
	if d.session, err = workflow.RecreateSession(d.ctx, d.Stage.Session, opts); err != nil { // there was none, or its worker is gone
		opts.CreationTimeout = forever
		d.session, err = workflow.CreateSession(d.ctx, opts)
	}
	if err == nil {
		d.Stage.Session = workflow.GetSessionInfo(d.session).GetRecreateToken()
	}
	return d.session, err
}

// A planner is the workflow of a pipeline: it takes turns with [pipeline.Course].
type planner struct {
	plan
	ctx     workflow.Context
	began   time.Time // with what earlier histories took
	busy    int
	changed bool
}

// work is the workflow of a pipeline.
func work(ctx workflow.Context, in plan) (pipeline.State, error) {
	p := &planner{plan: in, ctx: ctx, began: workflow.Now(ctx).Add(-in.Course.State.Elapsed)}
	if p.Loops == nil {
		p.Loops = map[string]run{}
	}
	_ = workflow.SetQueryHandler(ctx, QueryState, func() (pipeline.State, error) { return p.Course.State, nil }) // its name is allowed
	for {
		p.changed = false
		for _, step := range p.Course.State.Ready() {
			if !p.full() {
				p.begin(step)
			}
		}
		switch now := p.Course.State; {
		case p.busy > 0 || now.Paused && !now.Done() && !p.full():
		case p.full() && (len(now.Ready()) > 0 || !now.Done()):
			return now, workflow.NewContinueAsNewError(ctx, pipelineType, p.plan)
		default:
			return now, nil
		}
		if err := workflow.Await(p.ctx, p.steered); err != nil { // what runs ends as it does
			p.note(pipeline.Event{Kind: pipeline.EventStopped, Stop: ralph.StopCancelled, Text: "the workflow was cancelled"})
			p.ctx, _ = workflow.NewDisconnectedContext(ctx)
		}
	}
}

// full reports whether the history is long: nothing begins until all that runs has come to
// the end of its iteration, and then it goes on in a new one.
func (p *planner) full() bool { return workflow.GetInfo(p.ctx).GetContinueAsNewSuggested() }

// steered takes all signals that have come, and reports whether anything has changed.
func (p *planner) steered() bool {
	take(p.ctx, SignalCancel, func(reason string) {
		p.note(pipeline.Event{Kind: pipeline.EventStopped, Stop: ralph.StopCancelled, Text: reason})
	})
	take(p.ctx, SignalPause, func(paused bool) {
		p.note(pipeline.Event{Kind: map[bool]pipeline.Kind{true: pipeline.EventPaused, false: pipeline.EventContinued}[paused]})
	})
	return p.changed
}

// note applies an event.
func (p *planner) note(ev pipeline.Event) {
	ev.Time, ev.Elapsed = workflow.Now(p.ctx), workflow.Now(p.ctx).Sub(p.began)
	p.Course, p.changed = p.Course.Next(ev), true
}

// begin begins a step.
func (p *planner) begin(step pipeline.Step) {
	do, phase, ev := p.merge, pipeline.PhaseMerging, pipeline.Event{Kind: pipeline.EventMerging, Task: step.Task}
	if step.Kind == pipeline.StepStage {
		do, phase, ev = p.stage, pipeline.PhaseRunning, pipeline.Event{Kind: pipeline.EventBegan, Task: step.Task, Agent: step.Agent, Loop: step.Loop}
	}
	if p.note(ev); p.Course.State.Stands[step.Part].Phase != phase {
		return
	}
	p.busy++
	workflow.Go(p.ctx, func(ctx workflow.Context) {
		do(ctx, step)
		p.busy, p.changed = p.busy-1, true
	})
}

// stage runs the loop of a stage, an iteration after the other, each as it is granted.
func (p *planner) stage(ctx workflow.Context, step pipeline.Step) {
	in := p.Loops[step.Loop]
	if in.Stage == nil {
		in = run{Heartbeat: p.Heartbeat, Stage: &stage{Pin: p.Pin}}
	}
	in.State, in.Stage.Told = p.Course.Begin(step, in.State)
	in.State.Loop = workflow.GetInfo(ctx).WorkflowExecution.ID + "/" + step.Loop
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: in.State.Loop, WaitForCancellation: true, ParentClosePolicy: enums.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		TypedSearchAttributes: temporal.NewSearchAttributes(TaskKey.ValueSet(step.Task), AgentKey.ValueSet(step.Agent)),
	})
	var last *pipeline.Amount
	for p.granted(ctx, step, &in, last) {
		before := in.State
		in.Known = p.Course.Machines
		child, cancel := workflow.WithCancel(ctx)
		done := workflow.ExecuteChildWorkflow(child, iterationType, in)
		p.await(ctx, done, cancel)
		if err := done.Get(ctx, &in); err != nil { // as it was told, or by somebody who has ended it
			if in.State = in.State.Cancel(err.Error()); !temporal.IsCanceledError(err) {
				in.State.Stop = ralph.StopInvalid
			}
		}
		p.Course, last = p.Course.Found(in.Hosts), pipeline.Used(before, in.State)
	}
	in.Stage.End.State, in.Stage.End.Hosts = in.State, in.Hosts
	p.Course, p.changed = p.Course.End(step, in.Stage.End, last), true
	if delete(p.Loops, step.Loop); p.Course.State.Stands[step.Part].Phase == pipeline.PhaseInterrupted {
		p.Loops[step.Loop] = in
	}
}

// await waits for what runs, and has it end if the pipeline is cancelled.
func (p *planner) await(ctx workflow.Context, done workflow.Future, cancel workflow.CancelFunc) {
	_ = workflow.Await(ctx, func() bool { return done.IsReady() || p.Course.State.Stop == ralph.StopCancelled })
	cancel()
}

// granted waits until the next iteration of a stage may begin, and reports whether it does.
func (p *planner) granted(ctx workflow.Context, step pipeline.Step, in *run, last *pipeline.Amount) (is bool) {
	held, ev := step.Reserve(pipeline.EventHeld, in.State, last), step.Reserve(pipeline.EventReserve, in.State, last)
	halted := func() bool {
		now := p.Course.State
		return in.State.Done() || now.Done() || p.full() || now.Stands[step.Part].Phase != pipeline.PhaseRunning || ctx.Err() != nil
	}
	for p.note(held); in.State.NotBefore().After(workflow.Now(ctx)) && !halted(); p.note(held) {
		_, _ = workflow.AwaitWithTimeout(ctx, in.State.NotBefore().Sub(workflow.Now(ctx)), halted)
	}
	var l ralph.Limits
	_ = workflow.Await(ctx, func() bool {
		if is = !halted(); is {
			p.Course = p.Course.Next(ev)
			l, is = p.Course.State.Granted(step.Task, in.State)
		}
		return is || halted()
	})
	if is {
		in.State = in.State.Limit(l)
	}
	return is && !in.State.Done()
}

// merge brings a task's branch to the main branch.
func (p *planner) merge(ctx workflow.Context, step pipeline.Step) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: forever, HeartbeatTimeout: cmp.Or(max(p.Heartbeat, 0), time.Minute), WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 10}})
	var m pipeline.SiteMerge
	child, cancel := workflow.WithCancel(ctx)
	done := workflow.ExecuteActivity(child, mergeType, p.Course.Tasks[step.Part].Definition, p.Course.Verified(step.Part))
	p.await(ctx, done, cancel)
	err := done.Get(ctx, &m)
	ev := pipeline.Event{Kind: pipeline.EventMerged, Task: step.Task, Usage: m.Usage, Conflicts: m.Conflicts, Text: m.Rejected}
	if err != nil {
		ev.Text = err.Error()
	}
	if m.Commit == "" {
		ev.Kind = pipeline.EventUnmerged
	}
	p.note(ev)
}

// Merge is the activity that merges a task, once what comes of it is verified.
func (w *Worker) Merge(ctx context.Context, d spec.Definition, ends []pipeline.StageEnd) (m pipeline.SiteMerge, err error) {
	var move [2]string
	_ = activity.GetHeartbeatDetails(ctx, &move) // of a worker that was lost, if there are any
	p := &pulse[[2]string]{}
	ctx, stop, err := p.start(ctx, move)
	if err != nil {
		return m, err
	}
	defer stop()
	m, err = w.site().Merge(ctx, d.ID, "Merge "+d.ID+": "+d.Title, ends, move, func(move [2]string) error {
		p.last.Store(&move)
		return p.tell(ctx)
	})
	if m.Rejected = w.Redactor.String(m.Rejected); err != nil {
		err = errors.New(w.Redactor.String(err.Error()))
	}
	return m, err
}
