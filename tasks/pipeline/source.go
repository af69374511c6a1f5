package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/tasks/spec"
)

// A Source holds the definitions that a pipeline works on: [File] is one, and so is
// [List]; programs write others, for a database or an issue tracker. Its methods may be
// called concurrently. With ctx done they return soon, with its cause.
//
// Read returns all definitions as they are now, in their order, also those that are
// done; the caller does not change them. It is called when a run begins, and what it
// returns is what the run agrees to: those that are [spec.StatusTodo] or
// [spec.StatusRunning], by [spec.Status.Effective], are worked on, as far as they can
// be taken.
//
// Take takes a task for this run. It is asked once in each run, before anything is done
// to the task, also before it goes on with a loop that an earlier run has begun, or is
// merged: what was taken by an earlier run, this one can take. False means that the
// task is not this run's to work on: somebody else has it, has changed it, or it is
// gone. It is then left alone, and so is what waits for it. An error means that this
// cannot be known.
//
// Write writes down how far a task is. With [spec.StatusTodo] and [spec.StatusFailed]
// the run has given it back; what others may take from then on is the source's to say.
// What somebody else has changed since Read is left as it is, and the error is an
// [*AlteredError], which is not the end of other tasks. The same may be written twice.
//
// Any other error ends the run, which returns it: agents that work end their iteration,
// and nothing more begins. Where there is nothing left to write to it is a
// [*LostError]. That a task is done is on [Pipeline.Record] too, and is written by the
// next run if it could not be.
type Source interface {
	Read(ctx context.Context) ([]spec.Definition, error)
	Take(ctx context.Context, id string) (bool, error)
	Write(ctx context.Context, id string, u Update) error
}

// A Watcher is a Source that can say what somebody else has done to its definitions
// since Read: of which tasks it is that they are altered, and how ("removed", "changed
// (title)"), and which were added. What was altered once stays so until the next Read.
type Watcher interface {
	Changes(ctx context.Context) (altered map[string]string, added []spec.Definition, err error)
}

// InCommit is a Source whose statuses belong into the commit that brings the work: a
// list, in which the box is ticked. Then a person who reverts the work reverts the box
// with it, and every branch that has the one has the other.
//
// If its tasks are in several files, it has a method FilenameOf(id string) string too,
// which is asked in place of Filename: the absolute path of the file that has the task,
// "" = there is none.
type InCommit interface {
	// Filename is the absolute path of the file, "" = there is none.
	Filename() string
	// Mark returns a text of that file in which the task is done, and nothing else
	// differs. The text need not be the one that was read. It is pure.
	Mark(id string, text []byte) ([]byte, error)
}

// An Update is what is written down of a task.
type Update struct {
	Status spec.Status
	// Iteration is how many iterations the stage has had. 0 = as it is.
	Iteration int
	// Time is when that was, updated_at, in UTC. The zero time = as it is.
	Time time.Time

	// Running is for the metadata "ralph"; nil = it is removed.
	Running *Running
	// Failure is for the metadata "ralph_failure"; nil = as it is, but removed where
	// the task is done.
	Failure *Failure
}

// Running says what a task is doing, for people who look at its source. The names in
// JSON are those that stand in files.
type Running struct {
	Stage     string `json:"stage"`
	Iteration int    `json:"iteration"`
	// MaxIterations is what its loop may have; negative = any number.
	MaxIterations     int       `json:"max_iterations"`
	StartedAt         time.Time `json:"started_at"`
	CompletionPromise string    `json:"completion_promise"`
}

// A Failure says why a stage of a task ended without a verified claim, for the person
// who has to decide what to do about it.
type Failure struct {
	Stage          string `json:"stage"`
	IterationsUsed int    `json:"iterations_used"`
	// LastOutput is the end of the agent's last answer, without secrets; at most 4 KiB
	// are written.
	LastOutput string `json:"last_output"`
	Reason     string `json:"reason"`
}

// An AlteredError says that somebody else has changed a task since it was read: nothing
// is written to it, for what the run knows of it is about another task.
type AlteredError struct {
	ID string
	// What was done to it: "removed", "given twice", "changed (title)", "set to done".
	What string
}

func (e *AlteredError) Error() string {
	return fmt.Sprintf("pipeline: %s was %s by somebody else; it is left as it is", e.ID, e.What)
}

// A LostError says that what holds the definitions can no longer be read. Nothing is
// written over it: it may be half of what somebody is writing, and the only copy.
type LostError struct{ Err error }

func (e *LostError) Error() string {
	return "pipeline: the task file can no longer be read, and nothing is written over it: " + strings.TrimPrefix(e.Err.Error(), "tasks: ")
}

func (e *LostError) Unwrap() error { return e.Err }

// isOpen reports whether a task of this status is to be worked on, by what its word
// means.
func isOpen(s spec.Status) bool {
	return slices.Contains([]spec.Status{spec.StatusTodo, spec.StatusRunning}, s.Effective())
}

// taken is what a run takes a status for. [spec.StatusRunning] is what a run has written
// that has taken the task; the "in progress" of others is no such thing, and the task is to
// be done as any other.
func taken(s spec.Status) spec.Status {
	now := s.Effective()
	if now == spec.StatusRunning && s != spec.StatusRunning {
		return spec.StatusTodo
	}
	return now
}
