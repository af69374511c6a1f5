// Package pipeline works many tasks off with many agents: a coder, a reviewer, a tester,
// qa, each in its turn, several tasks at a time, each in a git worktree of its own. What
// was verified is merged into the main branch, and nothing else is.
//
//	p := pipeline.Pipeline{
//		Source: &pipeline.File{Path: "tasks.yaml"},
//		Runner: func(pipeline.Place) (ralph.Runner, error) { return ralph.Preset("claude") },
//		Rules:  pipeline.Rules{Slots: 4, Merge: true},
//	}
//	final, err := p.Run(ctx)
//
// Each stage of a task is a loop, see package ralph, with a promise, a verifier and limits
// of its own. What may begin, what a rejection leads to, and what may be spent is decided
// by [State], which is pure; [Pipeline] is its driver in this process. Another one, for a
// workflow engine, takes turns with the state as Pipeline does: [State.Ready],
// [State.Next]. [Worktrees] are what it has done with git.
package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// A Pipeline runs tasks in this process. It is configuration: its fields must not be
// changed while it runs, and it may be run again, but not twice at the same time.
// Source and Runner are required; all else may be left zero. Its functions are called
// from several goroutines where Rules.Slots is more than 1. One that panics is an
// error, with its stack.
type Pipeline struct {
	// Name is the run's: that of its record, and of its loops, which are Name, a slash,
	// the task, a dot and the agent. "" = "pipeline".
	Name string
	// Source has the tasks. It is required.
	Source Source
	// Dir is the workspace. "" = the current folder. With Rules.Merge it is the top of a
	// git work tree, whose branch the tasks are merged into.
	Dir string
	// Branch is that branch, for Rules.Merge: it is checked out before anything begins, and
	// made where the head is, if there is none. See [Pipeline.Switch]. "" = the one that is
	// checked out.
	Branch string
	// Record is where it is recorded what was agreed and what came of it: after a crash the
	// next run goes on from it. It must lie where no agent works, see
	// [progress.WorkspaceDir]. nil = nothing is recorded, and each run is the first.
	Record *progress.Dir
	// Anew has what is on record of an earlier run not count: all tasks that are open
	// begin with their first stage. What lies there of them is kept as other branches.
	Anew bool

	// Runner returns the client of an agent, which works in a place. It is required. It
	// is called when a stage begins, and may return the same for all: agents differ by
	// what they are told, and may be different clients as well.
	//
	// An error is a mistake in the task's definition: the task is set to
	// [spec.StatusFailed], and waits for a person. An error that goes away by itself is
	// for [ralph.Runner.Run] to return. If the Runner has a method Validate(ralph.Task)
	// error, an error of that ends the run, since the next task would meet the same.
	Runner func(Place) (ralph.Runner, error)
	// Verifier verifies the tasks that Task returns. nil = [spec.Verifier], without a judge,
	// which needs the Spec that [spec.Config.Task] gives a task.
	Verifier ralph.Verifier
	// Config has the defaults of the agents, and who rejects whose work. The zero value
	// has the built-in ones, and nobody rejects.
	Config spec.Config
	// Task is what a loop runs for an agent's stage of a definition; nil = [spec.Config.Task]
	// of Config. Its ID, Agent and Dir are set by the pipeline, and its limits as Limits says.
	Task func(d spec.Definition, agent string) (ralph.Task, error)
	// HowVerified tells the agents how their work is verified beside what the definitions
	// say: "the command `go test ./...` must succeed". "" = by nothing else.
	HowVerified string
	// Stages are the agents of this run, in any order; the others are left out. nil =
	// coder, reviewer, tester and qa, and what others Config and the definition have,
	// see [spec.Config.Stages].
	//
	// With Task they may be any, and work in the order in which they stand here; "" is
	// one that needs no name.
	Stages []string
	// Prompts are what agents are told. Prompt is used in its place, if it is set: see
	// [ralph.Local.Prompt].
	Prompts Prompts
	Prompt  func(Stage) func(context.Context, ralph.State) (string, error)

	// Rules say how many agents work at the same time, and what may be spent in all.
	// The zero value is one agent and no bound.
	Rules Rules
	// Limits are those of each loop. Iterations here win over a task's own; of the
	// other limits a task's own win. IterationTimeout: 0 = one hour, negative = none.
	//
	// Retries and Failures are ignored, also a task's: an agent that fails, or a check
	// that cannot run, is a failed iteration. So are CostUSD, Tokens and Duration,
	// which Rules has for the whole run.
	Limits ralph.Limits
	// Learn says what a stage's loop that begins learns from earlier ones, see
	// [ralph.Local.Learn]; [progress.Dir.Learn] is such a function. usual is how many
	// iterations the agent usually has, and most is how many Limits, the definition or
	// Config give it, 0 = none of them does. With Task both are what Task gives. nil =
	// nothing is learned.
	Learn func(ctx context.Context, s ralph.State, usual, most int) (ralph.Lesson, error)
	// Share lets several agents work at the same time in the same folder, without a
	// worktree for each. They see and break each other's work, which is why it must be
	// asked for.
	Share bool
	// Include are globs, as in a .gitignore, of untracked files of the workspace that come
	// into each worktree, beside those that the file .worktreeinclude there names.
	Include []string
	// Follow has tasks that agents propose run in this run; what the agents of those
	// propose waits for the next.
	//
	// Proposals are added to the source in any case, if it is a [Follower], and the
	// next run runs them like any other task, with the commands that an agent has
	// written for their checks. Have somebody look at them before: see [Pipeline.Agree]
	// and [spec.TaskVerifier.Starts].
	Follow bool
	// Trusted says whether the checks of a task that Follow would run may run their
	// commands, which an agent has written. It must not ask anybody, since the run
	// waits for it. nil = only tasks whose checks run no command.
	Trusted func(AgreedTask) bool

	// Log, Output, Live, Evidence and Meta are those of each loop, see [ralph.Local].
	Log      ralph.ProgressLog
	Output   func(ralph.Request) (display, raw io.Writer)
	Live     func(ralph.Request, ralph.Usage)
	Evidence string
	Meta     map[string]string
	// Redact returns a text without its secrets; what is written to the source and to the
	// record passes it. nil = nothing is hidden.
	Redact func(string) string
}

// A Place is where an agent works, and for what.
type Place struct {
	// Task and Agent are the task's ID and the agent's name.
	Task  string
	Agent string
	// Dir is its workspace, an absolute path: the task's own worktree, with
	// Rules.Merge.
	Dir string
	// Write is what it must be able to write to outside of Dir, to commit there: for
	// [ralph.Sandbox]. nil = nothing.
	Write []string
	// Client names the program that the configuration wants for the agent. "" = any.
	Client string
}

// Run runs the tasks until all are done or nothing more can be, and returns how they
// stand then. The error is nil exactly if all are done. Else it is a [*ralph.StopError]
// that says what stopped the run, context.Cause(ctx) if it was interrupted, or what
// went wrong.
//
// Run it again to go on: loops that were interrupted go on, tasks that have failed get
// a new loop, and what was verified is not run again.
//
// With ctx done, all agents are ended; with [ralph.ErrCancelled] as its cause the run
// is cancelled for good, and so it is if another process cancels it in Record.
func (p *Pipeline) Run(ctx context.Context) (State, error) {
	if err := p.toBranch(ctx, p.Dir, true); err != nil {
		return State{}, err
	}
	a, err := p.Agree(ctx)
	if err != nil {
		return State{}, err
	}
	return a.Run(ctx)
}

// Events runs the tasks and yields what happens as it happens, one event after the other;
// the last pair is the error that Run would have returned, if it is not nil, with a zero
// Event. Breaking off interrupts the run, with [ralph.ErrAbandoned] as the cause, and
// waits for its end. The sequence can be used once.
func (p *Pipeline) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		a, err := (*Agreed)(nil), p.toBranch(ctx, p.Dir, true)
		if err == nil {
			a, err = p.Agree(ctx)
		}
		if err != nil {
			yield(Event{}, err)
			return
		}
		a.Events(ctx)(yield)
	}
}

// validate refuses what cannot be run, before anything is read.
func (p *Pipeline) validate() error {
	switch {
	case p.Source == nil:
		return errors.New("pipeline: there is no Source")
	case p.Runner == nil:
		return errors.New("pipeline: there is no Runner, which is the agent")
	case p.Branch != "" && !p.Rules.Merge:
		return fmt.Errorf("pipeline: the branch %s is to be worked on, but nothing is merged into it: set Rules.Merge", p.Branch)
	case p.Rules.slots() > 1 && !p.Rules.Merge && !p.Share:
		return errors.New("pipeline: several agents in one folder break each other's work: give each task a worktree (Rules.Merge), or set Share")
	}
	l := p.Limits
	l.IterationTimeout = max(l.IterationTimeout, 0)
	return ours(l.Validate())
}

// name is the run's.
func (p *Pipeline) name() string { return cmp.Or(p.Name, "pipeline") }

// workspace is the folder in which the tasks are worked on, or that they are merged
// into, as an absolute path: the caller's current folder may change while it runs.
func (p *Pipeline) workspace() (string, error) {
	dir, err := filepath.Abs(p.Dir)
	if err == nil {
		_, err = os.ReadDir(dir)
	}
	if err != nil {
		return "", fmt.Errorf("pipeline: workspace: %w", err)
	}
	return dir, nil
}
