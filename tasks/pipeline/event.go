package pipeline

import (
	"time"

	"github.com/ralph-loop/ralph"
)

// A Kind says what an [Event] tells. Each constant names the fields of the event that
// it uses; the others are left zero.
type Kind string

const (
	// A run begins, or goes on, with State.
	EventStarted Kind = "started"
	// A stage of a task begins, or goes on: Task, Agent, Loop.
	EventBegan Kind = "began"
	// Its loop asks for its next iteration, also when it goes on: Usage so far, Last.
	// It begins when [State.Granted] says so.
	EventReserve Kind = "reserve"
	// What its loop has used so far: Usage. It is told as it comes and need not be
	// exact; the end of the loop is.
	EventUsed Kind = "used"
	// Its next iteration waits for a rate limit or for people: Usage, Last. What it had
	// reserved is for others meanwhile.
	EventHeld Kind = "held"
	// Its loop has ended: Stop ("" = it was interrupted, and goes on), Usage,
	// Iterations; with Unverified, of a single pass that nothing has checked.
	EventEnded Kind = "ended"
	// A task's branch is being merged. It is told again, with From, main's commit, and
	// To, the merge, before main moves: what a run that is killed then must finish.
	EventMerging Kind = "merging"
	// The merge is on the main branch, and the task is done.
	EventMerged Kind = "merged"
	// It could not be merged: Text says why; Conflicts are the files that conflict.
	EventUnmerged Kind = "unmerged"
	// Somebody else has changed the task's definition or status: Text says how.
	EventAltered Kind = "altered"
	// The task cannot be run as it is defined: Text says why.
	EventBroken Kind = "broken"
	// State holds further parts, with their orders, which run too.
	EventAdded Kind = "added"
	// Text, for people; nothing changes.
	EventNoted Kind = "noted"
	// Somebody has set another budget: CostUSD, Tokens, Duration and Priced of
	// State.Rules, all four.
	EventRules Kind = "rules"
	// Nothing more begins until EventContinued, no iteration either. What runs ends.
	EventPaused    Kind = "paused"
	EventContinued Kind = "continued"
	// Nothing more begins, for good: Stop and Text.
	EventStopped Kind = "stopped"
)

// An Event is something that happened in a pipeline. The events of one, folded by
// [State.Apply], give its state.
//
// It is a plain value and says what happened, never what is to be done: a record of
// events can be read by later versions whose rules are others.
type Event struct {
	Kind Kind `json:"kind"`
	// Time in UTC. No rule looks at it.
	Time time.Time `json:"time"`
	// Elapsed is the run's wall clock, summed over resumes. It comes with the event
	// because [State.Next] has no clock.
	Elapsed time.Duration `json:"elapsed,omitempty"`
	Task    string        `json:"task,omitempty"`
	Agent   string        `json:"agent,omitempty"`
	// Loop is the name of the stage's loop, see [State.Loop]. An event of an earlier
	// loop of the same stage is told from one of this by it.
	Loop string `json:"loop,omitempty"`

	// Stop is why a loop, or the pipeline, has stopped.
	Stop ralph.StopReason `json:"stop,omitempty"`
	// Unverified says of a single pass that it was done and nothing has checked it.
	Unverified bool `json:"unverified,omitempty"`
	// Iterations is how many the loop had when it ended.
	Iterations int `json:"iterations,omitempty"`
	// Usage is that of the loop so far; of a merge, that of its verifications.
	Usage ralph.Usage `json:"usage,omitzero"`
	// Last is what the loop's last iteration has used. nil = none has ended.
	Last *Amount `json:"last,omitempty"`
	// Blind says, of a loop that has ended or asks for its next iteration, why the cost
	// of its last answer in this run is not known, see [ralph.State]. "" = it is known.
	Blind string `json:"blind,omitempty"`

	// From and To are commits, as git names them. Of a stage that ended, To is the
	// commit it was verified with.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Tree is what lay in the workspace when the stage was verified, as git names it. A
	// merge of just these files need not be verified again.
	Tree string `json:"tree,omitempty"`
	// Conflicts are paths in the repository, sorted.
	Conflicts []string `json:"conflicts,omitempty"`

	// Text is for people. Nothing is decided by it.
	Text string `json:"text,omitempty"`
	// Output is the end of the last words of a loop's agent, at most 4 KiB: for the
	// agent that its work goes back to.
	Output string `json:"output,omitempty"`
	// State is that of EventStarted, EventAdded and EventRules. It must not be changed.
	State *State `json:"state,omitempty"`
	// Titles are those of the parts of State, by their IDs, for people: at most 120
	// characters of each. A state does not hold them, since it is copied with every event.
	// They come with EventStarted and EventAdded of [Pipeline]; nil = they are not known.
	Titles map[string]string `json:"titles,omitempty"`
}

// loops reports whether what an event tells is on the record of the stage's loop
// itself. Such events come with each iteration, and two records could contradict each
// other.
func (ev Event) loops() bool {
	return ev.Kind == EventReserve || ev.Kind == EventUsed || ev.Kind == EventHeld
}
