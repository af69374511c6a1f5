package temporal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// A Worker makes attempts on its machine. Give the worker that it is registered with a
// WorkerStopTimeout: when it is told to stop, its agents are ended, and say so within it.
type Worker struct {
	// Local has the runner and the verifier. What loops differ by is in their tasks: a
	// verifier for all is spec.Verifier. Log, Control and Pending are not used.
	Local *ralph.Local
	// Host names the machine, or the container: what a verifier has prepared of home files
	// and programs holds for it. "" = its host name.
	Host string
	// Redactor hides secrets in what goes into histories. The task goes there as it is.
	Redactor progress.Redactor

	// For stages of a [Pipeline], see [pipeline.Site]: Trees are the worktrees, Agent is
	// its Runner, Roles its Roles.
	Trees *pipeline.Worktrees
	Agent func(pipeline.Place) (ralph.Runner, error)
	Roles pipeline.Roles
}

// Register has a worker run loops.
func Register(w worker.Registry, l *ralph.Local) error { return (&Worker{Local: l}).Register(w) }

// Register ends what workers that were killed have left on this machine, and registers
// the workflows and the activities.
func (w *Worker) Register(r worker.Registry) (err error) {
	own := *w
	if own.Host == "" {
		own.Host, err = os.Hostname()
	}
	if err == nil {
		_, err = progress.EndAttempts(context.Background())
	}
	if err != nil {
		return fmt.Errorf("temporal: worker: %w", err)
	}
	r.RegisterWorkflowWithOptions(loop, workflow.RegisterOptions{Name: loopType})
	r.RegisterWorkflowWithOptions(work, workflow.RegisterOptions{Name: pipelineType})
	r.RegisterWorkflowWithOptions(iteration, workflow.RegisterOptions{Name: iterationType})
	r.RegisterActivityWithOptions(own.Iterate, activity.RegisterOptions{Name: attemptType})
	r.RegisterActivityWithOptions(own.Merge, activity.RegisterOptions{Name: mergeType})
	return nil
}

// An outcome is what the activity returns.
type outcome struct {
	ralph.Report
	End *pipeline.StageEnd `json:"end,omitempty"` // of a stage
}

// Iterate is the activity: it makes one attempt, or prepares for it.
func (w *Worker) Iterate(ctx context.Context, in run) (out outcome, err error) {
	first, p := ralph.Beat{Host: w.Host, Mark: ralph.NewMark()}, &pulse[ralph.Beat]{}
	held, err := progress.HoldAttempt(first.Mark)
	if err != nil {
		return out, err
	}
	defer held.Close()
	ctx, stop, err := p.start(ctx, first)
	if err != nil {
		return out, err
	}
	defer stop()
	local, visit := w.Local, (*pipeline.Visit)(nil)
	if in.Stage != nil {
		if visit, err = w.site().Enter(ctx, in.State, in.Stage.Told); err != nil && ctx.Err() == nil { // which is gone after a while, or on another worker
			out.Host, out.Iteration = w.Host, ralph.Iteration{Number: in.State.Iteration, Attempt: in.State.Attempt, Outcome: ralph.OutcomeInterrupted, Fault: ralph.FaultRateLimit, Error: w.Redactor.String(err.Error())}
			return out, nil
		} else if err != nil {
			return out, temporal.NewCanceledError()
		}
		local, in.State = &visit.Local, visit.State
	}
	out.Report, err = local.Serve(ctx, in.Dispatch, first, func(b ralph.Beat) error { return w.told(ctx, p, visit, b) })
	if visit != nil && err == nil {
		end, left := visit.Leave(ctx)
		out.End, err = &end, left
	}
	switch {
	case err != nil && out.Host != "":
		activity.GetLogger(ctx).Error("the attempt counts, but", "error", err)
	case err != nil && ctx.Err() != nil: // it was ended
		return out, temporal.NewCanceledError()
	case err != nil && in.Hosts != nil: // it could be run by now: maybe another worker can
		return out, errors.New(w.Redactor.String(err.Error()))
	case err != nil:
		return out, temporal.NewNonRetryableApplicationError(w.Redactor.String(err.Error()), refusedType, nil)
	}
	if out.Learned != nil {
		out.Learned = w.redact(out.Learned)
	}
	out.Iteration = w.redact(&ralph.Event{Kind: ralph.EventIterationEnded, Iteration: out.Iteration}).Iteration
	return out, nil
}

// told passes on what is known of an attempt: its answer at once, before it is verified.
func (w *Worker) told(ctx context.Context, p *pulse[ralph.Beat], visit *pipeline.Visit, b ralph.Beat) error {
	if b.Answered != nil {
		b.Answered = w.redact(b.Answered)
		if visit != nil {
			if err := visit.Answered(ctx, *b.Answered); err != nil {
				return err // nobody else has the work
			}
		}
	}
	if p.last.Store(&b); b.Answered != nil && b.Answered.Iteration.Claimed {
		_ = p.tell(ctx) // or the attempt is made again, should this worker be lost now
	}
	return nil
}

func (w *Worker) site() *pipeline.Site {
	return &pipeline.Site{Local: w.Local, Trees: w.Trees, Runner: w.Agent, Roles: w.Roles, Host: w.Host}
}

// redact returns an event without secrets.
func (w *Worker) redact(ev *ralph.Event) *ralph.Event {
	var out ralph.Event
	_ = w.Redactor.Log(ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error { out = ev; return nil })).Append(context.Background(), *ev)
	return &out
}

// A pulse is what the service is told while an activity runs.
type pulse[T any] struct{ last atomic.Pointer[T] }

// tell tells the last, now.
func (p *pulse[T]) tell(ctx context.Context) error {
	info := activity.GetInfo(ctx)
	ctx, cancel := context.WithTimeout(ctx, max(info.HeartbeatTimeout/6, time.Second))
	defer cancel()
	err, lost := activity.GetClient(ctx).RecordActivityHeartbeat(ctx, info.TaskToken, *p.last.Load()), (*serviceerror.NotFound)(nil)
	if temporal.IsCanceledError(err) || errors.As(err, &lost) || errors.Is(err, activity.ErrActivityPaused) || errors.Is(err, activity.ErrActivityReset) {
		return fmt.Errorf("%w: %w", ralph.ErrGone, err)
	}
	return err
}

// start begins to tell, and returns a context that is done when the activity is to end.
func (p *pulse[T]) start(ctx context.Context, first T) (context.Context, func(), error) {
	p.last.Store(&first)
	return ralph.Pulse(ctx, activity.GetInfo(ctx).HeartbeatTimeout, activity.GetWorkerStopChannel(ctx), p.tell)
}
