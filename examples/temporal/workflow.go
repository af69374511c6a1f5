package temporal

import (
	"cmp"
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ralph-loop/ralph"
)

// The names of the workflow, of its activity, and of the error of one that nobody can do.
// They are on record: what runs is known by them.
const (
	loopType    = "ralph.Loop"
	attemptType = "ralph.Iterate"
	refusedType = "refused"
)

const forever = 10 * 365 * 24 * time.Hour

// A run is what the workflow is given, and goes on with in a new history, and what the
// activity is given.
type run struct {
	ralph.Dispatch
	Heartbeat time.Duration `json:"heartbeat,omitempty"`
	Stage     *stage        `json:"stage,omitempty"` // of a pipeline; nil = a loop of its own
}

// A driver is the workflow: it takes turns with [ralph.Dispatch].
type driver struct {
	run
	ctx     workflow.Context
	session workflow.Context // of the worker that a stage is pinned to; nil = none
}

// loop is the workflow of a loop.
func loop(ctx workflow.Context, in run) (ralph.State, error) {
	d := &driver{run: in, ctx: ctx}
	err := d.drive()
	return d.State, err
}

// drive runs the loop until it has stopped, or the iteration of a stage is over.
func (d *driver) drive() error {
	d.State.Loop = cmp.Or(d.State.Loop, workflow.GetInfo(d.ctx).WorkflowExecution.ID)
	_ = workflow.SetQueryHandler(d.ctx, QueryState, func() (ralph.State, error) { return d.State, nil }) // its name is allowed
	if d.State.Running && d.Hosts == nil {                                                               // it comes from another driver
		d.Dispatch = d.Missed(ralph.Beat{}, "the process that ran it has ended", workflow.Now(d.ctx))
	}
	from := d.State
	for d.wait(); !d.State.Done(); d.wait() {
		if workflow.GetInfo(d.ctx).GetContinueAsNewSuggested() {
			return workflow.NewContinueAsNewError(d.ctx, workflow.GetInfo(d.ctx).WorkflowType.Name, d.run)
		}
		if err := d.iterate(); err != nil || d.over(from) {
			return err
		}
	}
	return d.index()
}

// steered takes all signals that have come, and reports whether there were any.
func (d *driver) steered() bool {
	return 0 < take(d.ctx, SignalCancel, func(reason string) { d.State = d.State.Cancel(cmp.Or(reason, "cancelled")) })+
		take(d.ctx, SignalPause, func(paused bool) { d.State = d.State.Pause(paused) })+
		take(d.ctx, SignalLimits, func(l ralph.Limits) { d.State = d.State.Limit(l) })+
		take(d.ctx, SignalGuide, func(text string) { d.State = d.State.Guide(text) })
}

func take[T any](ctx workflow.Context, name string, each func(T)) (n int) {
	var v T
	for c := workflow.GetSignalChannel(ctx, name); c.ReceiveAsync(&v); n++ {
		each(v)
		v = *new(T)
	}
	return n
}

// wait waits until the next attempt may begin, or the loop has stopped.
func (d *driver) wait() {
	for d.steered(); !d.State.Done(); {
		err, left := d.ctx.Err(), min(d.State.NotBefore().Sub(workflow.Now(d.ctx)), d.State.Wait)
		switch {
		case err != nil:
		case d.State.Paused:
			err = workflow.Await(d.ctx, d.steered)
		case left > 0:
			_, err = workflow.AwaitWithTimeout(d.ctx, left, d.steered)
		default:
			return
		}
		if err != nil {
			d.State = d.State.Cancel("the workflow was cancelled")
		}
	}
}

// iterate has a worker make the next attempt, or prepare for it.
func (d *driver) iterate() error {
	in := d.run
	ctx, err := d.on()
	if err != nil {
		return err
	}
	ctx, cancel := workflow.WithCancel(ctx)
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: forever, HeartbeatTimeout: cmp.Or(max(d.Heartbeat, 0), time.Minute), WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}, // what follows is for the state to say
	})
	d.Dispatch = d.Begin(workflow.Now(ctx))
	done := workflow.ExecuteActivity(ctx, attemptType, in)
	if workflow.Await(d.ctx, func() bool { d.steered(); return done.IsReady() || d.State.Done() }) != nil {
		d.State = d.State.Cancel("the workflow was cancelled")
	}
	if d.State.Done() {
		cancel()
	}
	out, b := outcome{}, ralph.Beat{}
	timeout, refused := (*temporal.TimeoutError)(nil), (*temporal.ApplicationError)(nil)
	switch err, now := done.Get(d.ctx, &out), workflow.Now(d.ctx); {
	case err == nil:
		if d.Dispatch = d.Told(out.Report, now); d.Stage != nil && out.End != nil {
			d.Stage.End = *out.End
		}
	case errors.As(err, &refused) && refused.Type() == refusedType:
		return err
	case errors.As(err, &timeout) && timeout.TimeoutType() == enums.TIMEOUT_TYPE_HEARTBEAT, temporal.IsCanceledError(err):
		if timeout != nil && timeout.HasLastHeartbeatDetails() {
			_ = timeout.LastHeartbeatDetails(&b)
		}
		d.Dispatch = d.Missed(b, "nothing was heard any more of its worker "+b.Host, now)
		if d.session != nil { // the next attempt is another worker's
			workflow.CompleteSession(d.session)
			d.session, d.Stage.Session = nil, nil
		}
	default:
		d.Dispatch = d.Failed(err.Error(), now)
	}
	return d.index()
}

// index tells how the loop stands, for those who look for it.
func (d *driver) index() error {
	var all []temporal.SearchAttributeUpdate
	known, cost := workflow.GetTypedSearchAttributes(d.ctx), d.State.Usage.CostUSD
	if was, ok := known.GetFloat64(CostKey); cost != nil && (!ok || was != *cost) {
		all = append(all, CostKey.ValueSet(*cost))
	}
	if _, told := known.GetKeyword(StopKey); d.State.Done() && !told {
		all = append(all, StopKey.ValueSet(string(d.State.Stop)))
	}
	if len(all) == 0 {
		return nil
	}
	return workflow.UpsertTypedSearchAttributes(d.ctx, all...)
}
