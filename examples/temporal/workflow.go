package temporal

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ralph-loop/ralph"
)

// The names of the workflow and of its activity. They are on record: what runs is known
// by them.
const (
	loopType    = "ralph.Loop"
	attemptType = "ralph.Iterate"
	refusedType = "refused" // an attempt that cannot be made, by nobody
)

// A run is what the workflow is given, and what it goes on with in a new history.
type run struct {
	State     ralph.State                  `json:"state"`
	Heartbeat time.Duration                `json:"heartbeat,omitempty"`
	Hosts     map[string]map[string]string `json:"hosts,omitempty"`   // by machine, what the verifier has prepared there and is so there alone
	Pending   *ralph.Event                 `json:"pending,omitempty"` // an answer whose worker was lost before it was verified
	Lost      int                          `json:"lost,omitempty"`    // workers in a row
	Stage     *stage                       `json:"stage,omitempty"`   // of a pipeline; nil = a loop of its own
}

// most is how many workers in a row may be lost with an attempt: from there on it is taken
// for what kills them, a fault, which has its limits.
const most = 3

const forever = 10 * 365 * 24 * time.Hour

// A driver is the workflow of a loop: it takes turns with [ralph.State], as a driver does.
type driver struct {
	run
	ctx     workflow.Context
	changed bool         // somebody has steered it
	signals []func() int // how many of each wait to be taken
}

// loop is the workflow.
func loop(ctx workflow.Context, in run) (ralph.State, error) {
	d := &driver{run: in, ctx: ctx}
	d.State.Loop = cmp.Or(d.State.Loop, workflow.GetInfo(ctx).WorkflowExecution.ID)
	err := d.drive()
	return d.State, err
}

// drive runs the loop until it has stopped.
func (d *driver) drive() error {
	if err := workflow.SetQueryHandler(d.ctx, QueryState, func() (ralph.State, error) { return d.State, nil }); err != nil {
		return err
	}
	listen(d, SignalCancel, func(s ralph.State, reason string) ralph.State { return s.Cancel(cmp.Or(reason, "cancelled")) })
	listen(d, SignalPause, ralph.State.Pause)
	listen(d, SignalLimits, ralph.State.Limit)
	listen(d, SignalGuide, ralph.State.Guide)
	if d.State.Running && d.Hosts == nil {
		d.lose(beat{}, "the process that ran it has ended")
	}
	for d.wait(); !d.State.Done(); d.wait() {
		if workflow.GetInfo(d.ctx).GetContinueAsNewSuggested() {
			return workflow.NewContinueAsNewError(d.ctx, workflow.GetInfo(d.ctx).WorkflowType.Name, d.run)
		}
		if err := d.iterate(); err != nil {
			return err
		}
	}
	return d.index()
}

// listen takes signals of one kind as they come.
func listen[T any](d *driver, name string, steer func(ralph.State, T) ralph.State) {
	c := workflow.GetSignalChannel(d.ctx, name)
	d.signals = append(d.signals, c.Len)
	workflow.Go(d.ctx, func(ctx workflow.Context) {
		for {
			var v T
			c.Receive(ctx, &v)
			d.State, d.changed = steer(d.State, v), true
		}
	})
}

// wait waits until the next attempt may begin, or the loop has stopped, and takes all
// signals.
func (d *driver) wait() {
	steered := func() bool { return d.changed }
	for !d.State.Done() {
		_ = workflow.Await(d.ctx, func() bool {
			for _, waiting := range d.signals {
				if waiting() > 0 {
					return false
				}
			}
			return true
		})
		d.changed = false
		left := min(d.State.NotBefore().Sub(workflow.Now(d.ctx)), d.State.Wait)
		switch {
		case d.ctx.Err() != nil:
			d.State = d.State.Cancel("the workflow was cancelled")
		case d.State.Done():
		case d.State.Paused:
			_ = workflow.Await(d.ctx, steered)
		case left > 0:
			_, _ = workflow.AwaitWithTimeout(d.ctx, left, steered)
		default:
			return
		}
	}
}

// iterate has a worker make the next attempt. The first time, and on each further machine,
// the worker answers with what its verifier has prepared there, and no agent has run.
func (d *driver) iterate() error {
	in := d.run
	ctx, cancel := workflow.WithCancel(d.ctx)
	defer cancel()
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: forever, HeartbeatTimeout: cmp.Or(d.Heartbeat, time.Minute), WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}, // what follows is State.Next's to say
	})
	if d.Hosts != nil {
		d.State = d.State.Apply(ralph.Event{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{
			Number: d.State.Iteration, Attempt: d.State.Attempt, Start: workflow.Now(ctx)}})
	}
	done := workflow.ExecuteActivity(ctx, attemptType, in)
	_ = workflow.Await(d.ctx, func() bool { return done.IsReady() || d.State.Done() })
	if d.ctx.Err() != nil {
		d.State = d.State.Cancel("the workflow was cancelled")
	}
	if d.State.Done() {
		cancel()
	}
	var out outcome
	err := done.Get(d.ctx, &out)
	timeout, refused := (*temporal.TimeoutError)(nil), (*temporal.ApplicationError)(nil)
	switch {
	case err == nil && out.Prepared != nil:
		d.prepared(out)
	case err == nil:
		out.Iteration.End, d.Lost, d.Pending = workflow.Now(d.ctx), 0, nil
		d.State = d.State.Next(out.Iteration)
	case errors.As(err, &refused) && refused.Type() == refusedType:
		return err
	case d.Hosts == nil: // nothing has begun
		if d.Lost++; d.Lost >= most {
			return err
		}
	case errors.As(err, &timeout) && timeout.TimeoutType() == enums.TIMEOUT_TYPE_HEARTBEAT, temporal.IsCanceledError(err):
		var b beat
		if timeout != nil && timeout.HasLastHeartbeatDetails() {
			_ = timeout.LastHeartbeatDetails(&b)
		}
		d.lose(b, "nothing was heard any more of its worker "+cmp.Or(b.Host, "(none yet)"))
	default:
		d.fail(ralph.FaultError, err.Error())
	}
	return d.index()
}

// prepared takes over what was prepared on a machine: the first one's says what holds on
// all.
func (d *driver) prepared(out outcome) {
	if d.Hosts == nil {
		d.State.Task.Guarded, d.State.Base, d.State.Prepared = out.Prepared.Task.Guarded, out.Prepared.Base, out.Prepared.Prepared
		if out.Learned != nil {
			d.State = d.State.Apply(*out.Learned)
		}
		d.Hosts = map[string]map[string]string{}
	}
	d.Hosts = maps.Clone(d.Hosts)
	d.Hosts[out.Host] = out.Here
}

// lose is what follows when the worker of an attempt was lost: what was answered is
// verified by another, else the attempt was interrupted.
func (d *driver) lose(b beat, why string) {
	d.State, d.Pending = d.State.Apply(b.event(d.State)), cmp.Or(b.Answered, d.Pending)
	if b.Host != "" { // else no worker has begun it: the one that it was given to did not hear of it
		d.Lost++
	}
	switch {
	case d.Lost >= most:
		d.fail(ralph.FaultError, fmt.Sprintf("%d workers in a row were lost in it; the last: %s", d.Lost, why))
	case d.Pending == nil || d.State.Done():
		d.fail(ralph.FaultInterrupted, why)
	}
}

// fail ends an attempt that no worker has told the end of.
func (d *driver) fail(f ralph.Fault, why string) {
	it := ralph.Iteration{Number: d.State.Iteration, Attempt: d.State.Attempt, Outcome: ralph.OutcomeFailure, Fault: f, Error: why, End: workflow.Now(d.ctx)}
	if d.Pending = nil; f == ralph.FaultInterrupted {
		it.Outcome = ralph.OutcomeInterrupted
	}
	d.State = d.State.Next(it)
}

// index tells how the loop stands, for those who look for it.
func (d *driver) index() error {
	var all []temporal.SearchAttributeUpdate
	known, cost := workflow.GetTypedSearchAttributes(d.ctx), d.State.Usage.CostUSD
	if was, ok := known.GetFloat64(CostKey); cost != nil && (!ok || was != *cost) {
		all = append(all, CostKey.ValueSet(*cost))
	}
	if _, ok := known.GetKeyword(StopKey); d.State.Done() && !ok {
		all = append(all, StopKey.ValueSet(string(d.State.Stop)))
	}
	if len(all) == 0 {
		return nil
	}
	return workflow.UpsertTypedSearchAttributes(d.ctx, all...)
}
