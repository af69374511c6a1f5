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
// dollars, as far as that is known.
var (
	TaskKey  = temporal.NewSearchAttributeKeyKeyword("RalphTask")
	AgentKey = temporal.NewSearchAttributeKeyKeyword("RalphAgent")
	StopKey  = temporal.NewSearchAttributeKeyKeyword("RalphStop")
	CostKey  = temporal.NewSearchAttributeKeyFloat64("RalphCost")
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

const taskMemo = "task" // digest of it

// A Loop runs loops on the workers of a task queue. It is a [ralph.Loop], and may be used
// concurrently. A loop's name is its workflow's ID.
type Loop struct {
	Client client.Client
	Queue  string // the workers' task queue
	// Heartbeat is how long nothing is heard of a worker until its attempt is another's.
	// 0 = one minute. A worker that cannot tell it ends its agent in two thirds of that.
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
	if err != nil {
		return final, err
	}
	return final, final.Err()
}

func (l *Loop) run(ctx context.Context, s ralph.State, reuse enums.WorkflowIdReusePolicy) (ralph.State, error) {
	sum := digest(s.Task)
	opts := client.StartWorkflowOptions{
		ID: s.Loop, TaskQueue: l.Queue, WorkflowIDReusePolicy: reuse, WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary: s.Task.Title, Memo: map[string]any{taskMemo: sum}, // which a history hands on to the next one
		TypedSearchAttributes: temporal.NewSearchAttributes(TaskKey.ValueSet(s.Task.ID), AgentKey.ValueSet(s.Task.Agent)),
	}
	h, err := l.Client.ExecuteWorkflow(ctx, opts, loopType, run{State: s, Heartbeat: l.Heartbeat})
	if err != nil {
		return s, fmt.Errorf("temporal: loop %q cannot be started: %w", s.Loop, err)
	}
	desc, err := l.Client.DescribeWorkflow(ctx, s.Loop, h.GetRunID())
	if err != nil {
		return s, fmt.Errorf("temporal: loop %q: %w", s.Loop, err)
	}
	var was string
	if err := converter.GetDefaultDataConverter().FromPayload(desc.Memo.GetFields()[taskMemo], &was); err != nil || was != sum {
		return s, errors.Join(fmt.Errorf("temporal: the workflow %q is a loop of another task: give this one another name", s.Loop), err)
	}
	final := s
	if err = h.Get(ctx, &final); ctx.Err() == nil {
		return final, err
	}
	return l.detach(ctx, s, h)
}

// detach returns the state of a loop that nobody waits for any more.
func (l *Loop) detach(ctx context.Context, s ralph.State, h client.WorkflowRun) (ralph.State, error) {
	cause := context.Cause(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(l.Heartbeat, time.Minute))
	defer cancel()
	if errors.Is(cause, ralph.ErrCancelled) && l.Client.SignalWorkflow(ctx, s.Loop, "", SignalCancel, cause.Error()) == nil {
		err := h.Get(ctx, &s)
		return s, err
	}
	now, err := l.State(ctx, s.Loop)
	if err != nil {
		return s, errors.Join(cause, err)
	}
	return now, cause
}

// State returns where a loop stands, also with what its attempt has used by now.
func (l *Loop) State(ctx context.Context, name string) (s ralph.State, err error) {
	v, err := l.Client.QueryWorkflow(ctx, name, "", QueryState)
	if err == nil {
		err = v.Get(&s)
	}
	if err != nil {
		return s, fmt.Errorf("temporal: loop %q: %w", name, err)
	}
	desc, err := l.Client.DescribeWorkflowExecution(ctx, name, "")
	for _, a := range desc.GetPendingActivities() {
		var b beat
		if converter.GetDefaultDataConverter().FromPayloads(a.GetHeartbeatDetails(), &b) == nil {
			s = s.Apply(b.event(s))
		}
	}
	return s, err
}

// digest is the same for tasks that differ in their limits alone, which may be changed.
func digest(t ralph.Task) string {
	t.Limits, t.Guarded = ralph.Limits{}, nil
	text, _ := json.Marshal(t) // it is made of what JSON can say
	return fmt.Sprintf("task sha256:%x", sha256.Sum256(text))
}
