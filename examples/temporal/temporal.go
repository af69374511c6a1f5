// Package temporal runs loops on Temporal, when they outgrow one machine: [Loop] starts
// them as workflows and waits for them, a [Worker] runs their attempts, [Pipeline] works
// many tasks off. The workflow is [ralph.State], and every rule is the library's; what is
// here is how its driver's contract is kept: what is on record is the workflow's history.
package temporal

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/ralph-loop/ralph"
)

// What every loop is found by, in the Temporal service, which must know these names: see
// the README. RalphStop is why a loop has stopped, RalphCost what it has cost, in US
// dollars, as far as that is known, and RalphSum a hash of what was agreed.
var (
	TaskKey  = temporal.NewSearchAttributeKeyKeyword("RalphTask")
	AgentKey = temporal.NewSearchAttributeKeyKeyword("RalphAgent")
	StopKey  = temporal.NewSearchAttributeKeyKeyword("RalphStop")
	CostKey  = temporal.NewSearchAttributeKeyFloat64("RalphCost")
	SumKey   = temporal.NewSearchAttributeKeyKeyword("RalphSum")
)

// The workflow's signals, and what they carry, and its query, which returns a
// [ralph.State].
const (
	SignalCancel = "cancel" // a reason: the loop stops for good, and its agent is ended
	SignalPause  = "pause"  // true or false; the attempt that runs comes to its end
	SignalLimits = "limits" // ralph.Limits, all of them, from the next attempt on
	SignalGuide  = "guide"  // advice for the next prompt
	QueryState   = "state"
)

// A Loop runs loops on the workers of a task queue. It is a [ralph.Loop], and may be used
// concurrently. A loop's name is its workflow's ID.
type Loop struct {
	Client client.Client
	Queue  string // the workers' task queue
	// Heartbeat is how long nothing is heard of a worker until its attempt is another's.
	// 0 = one minute. A worker that cannot tell it ends its agent once it could not for half of that.
	Heartbeat time.Duration
}

var _ ralph.Loop = (*Loop)(nil)

// Run starts the loop, or attaches to it if it runs, or has come to its end, and returns
// how it ended. One of the same name with another task is an error. A state that is ahead
// of where the loop has ended, see [ralph.State.Reopen], lets it go on, and one whose
// workflow has failed, or was terminated, begins from s.
//
// When ctx is done it detaches: the loop goes on, and the state is the one it has now.
// But if the cause is [ralph.ErrCancelled], the loop is cancelled.
func (l *Loop) Run(ctx context.Context, s ralph.State) (ralph.State, error) {
	if s.Done() {
		return s, s.Err()
	}
	s.Loop = cmp.Or(s.Loop, "loop-"+rand.Text()[:10])
	final, err := l.run(ctx, s, enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY)
	ahead := cmp.Or(cmp.Compare(s.Iteration, final.Iteration), cmp.Compare(s.Attempt, final.Attempt)) > 0
	if err == nil && final.Done() && s.Begun() && ahead {
		final, err = l.run(ctx, s, enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE)
	}
	return final, cmp.Or(err, final.Err())
}

func (l *Loop) run(ctx context.Context, s ralph.State, reuse enums.WorkflowIdReusePolicy) (ralph.State, error) {
	sum := s.Task
	sum.Limits, sum.Guarded = ralph.Limits{}, nil // they may be changed
	return attach(ctx, l.Client, loopType, run{Dispatch: ralph.Dispatch{State: s}, Heartbeat: l.Heartbeat}, sum, s, l.State, client.StartWorkflowOptions{
		ID: s.Loop, TaskQueue: l.Queue, WorkflowIDReusePolicy: reuse, StaticSummary: s.Task.Title,
	}, TaskKey.ValueSet(s.Task.ID), AgentKey.ValueSet(s.Task.Agent))
}

// attach starts a workflow, or finds that of the same name, which must be of the same
// thing, and waits for what it returns in the end, or for ctx, and then asks where it
// stands.
func attach[In, Of, S any](ctx context.Context, c client.Client, kind string, in In, of Of, s S, now func(ctx context.Context, name string) (S, error), opts client.StartWorkflowOptions, found ...temporal.SearchAttributeUpdate) (S, error) {
	text, _ := json.Marshal(of) // what cannot be written as JSON cannot be started
	sum := fmt.Sprintf("%x", sha256.Sum256(text))
	opts.WorkflowIDConflictPolicy, opts.TypedSearchAttributes = enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING, temporal.NewSearchAttributes(append(found, SumKey.ValueSet(sum))...)
	h, err := c.ExecuteWorkflow(ctx, opts, kind, in)
	if err != nil {
		return s, fmt.Errorf("temporal: %q cannot be started: %w", opts.ID, err)
	}
	desc, err := c.DescribeWorkflow(ctx, opts.ID, h.GetRunID())
	if err != nil {
		return s, fmt.Errorf("temporal: %q: %w", opts.ID, err)
	}
	if was, _ := desc.TypedSearchAttributes.GetKeyword(SumKey); was != sum {
		return s, fmt.Errorf("temporal: the workflow %q is of another task: give this one another name", opts.ID)
	}
	if err = h.Get(ctx, &s); ctx.Err() == nil {
		if err == nil {
			return s, nil
		} else if last, asked := now(ctx, opts.ID); asked == nil {
			s = last // what was spent, which nobody has returned
		}
		return s, err
	}
	cause := context.Cause(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if errors.Is(cause, ralph.ErrCancelled) && c.SignalWorkflow(ctx, opts.ID, "", SignalCancel, cause.Error()) == nil {
		err = h.Get(ctx, &s)
		return s, err
	}
	s, err = now(ctx, opts.ID)
	return s, errors.Join(cause, err)
}

// State returns where a loop stands, also with what its attempt has used by now.
func (l *Loop) State(ctx context.Context, name string) (s ralph.State, err error) {
	if err = query(ctx, l.Client, name, &s); err != nil {
		return s, err
	}
	desc, err := l.Client.DescribeWorkflowExecution(ctx, name, "")
	for _, a := range desc.GetPendingActivities() {
		var b ralph.Beat
		if converter.GetDefaultDataConverter().FromPayloads(a.GetHeartbeatDetails(), &b) == nil {
			s = ralph.Dispatch{State: s}.Heard(b)
		}
	}
	return s, err
}

func query[S any](ctx context.Context, c client.Client, name string, s *S) error {
	v, err := c.QueryWorkflow(ctx, name, "", QueryState)
	if err == nil {
		err = v.Get(s)
	}
	return err
}
