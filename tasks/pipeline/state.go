package pipeline

import (
	"fmt"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
)

// Version is the version of the JSON form of [State] and [Event]. Fields are added,
// never renamed.
const Version = 1

// A State is where a pipeline stands. It is a plain value: its methods are pure, return
// a new one and never write through a slice, map or pointer, so states may be kept,
// compared and shared between goroutines. Why something failed is in the events, not
// here: as JSON, a state of 500 tasks stays under 64 KiB.
//
// A driver takes turns with it: it asks [State.Ready] what may begin, does that, and
// tells what came of it by [State.Next]. Every rule of a pipeline is here: the order,
// the number of slots, what a rejection leads to, what may be spent.
type State struct {
	V     int   `json:"v"`
	Rules Rules `json:"rules"`
	// Orders are the agents through which tasks go, in their order; a part names one
	// of them by its index.
	Orders [][]string `json:"orders"`
	// Parts are the tasks, in the order in which they are begun and merged. They do not
	// change; new ones come behind.
	Parts []Part `json:"parts"`
	// Stands says how far each of them is.
	Stands []Stand `json:"stands"`
	// Running are the loops that have begun and have not ended, also those that were
	// interrupted.
	Running []Live `json:"running,omitempty"`

	// Settled is what all has used but the loops in Running, see [State.Used].
	Settled ralph.Usage `json:"settled,omitzero"`
	// Last is what the last iteration of each agent has used: the forecast for its next.
	Last map[string]Amount `json:"last,omitempty"`
	// Elapsed is the wall clock of the run, summed over resumes.
	Elapsed time.Duration `json:"elapsed,omitempty"`

	Paused bool             `json:"paused,omitempty"`
	Stop   ralph.StopReason `json:"stop,omitempty"`   // why nothing more begins: verified = all is done; "" = it goes on
	Detail string           `json:"detail,omitempty"` // of Stop, for people
}

// Rules are what was agreed for a run. The zero value is one task at a time, in one
// workspace, without a budget.
type Rules struct {
	// Slots is how many agents work at the same time. 0 = 1.
	Slots int `json:"slots,omitempty"`
	// Merge says that each task has a branch of its own, and is done only when that was
	// merged.
	Merge bool `json:"merge,omitempty"`
	// Unverified has tasks done of which no stage was verified.
	Unverified bool `json:"unverified,omitempty"`
	// Repair gives a conflict to the task's first agent, as a further round.
	Repair bool `json:"repair,omitempty"`
	// Back says, by agent, whose work it is that the agent may reject. An agent that is
	// not in it fails the stage.
	Back map[string]Back `json:"back,omitempty"`

	// CostUSD, Tokens (input and output) and Duration (of the wall clock) bound the run:
	// all its loops, their verifications, and all its resumes. 0 = none.
	CostUSD  float64       `json:"cost_usd,omitempty"`
	Tokens   int64         `json:"tokens,omitempty"`
	Duration time.Duration `json:"duration,omitempty"`
}

func (r Rules) slots() int { return max(r.Slots, 1) }

// Back is where a rejection leads to.
type Back struct {
	To     string `json:"to"`               // an agent before it
	Rounds int    `json:"rounds,omitempty"` // at most, for each task; 0 = 3
}

func (b Back) rounds() int {
	if b.Rounds <= 0 {
		return 3
	}
	return b.Rounds
}

// A Part is a task, as it was agreed.
type Part struct {
	ID    string `json:"id"`
	Sum   string `json:"sum,omitempty"`   // of what was agreed: another one is another task
	After []int  `json:"after,omitempty"` // the parts that must be done before
	Order int    `json:"order,omitempty"` // which of the orders it goes through
}

// A Phase says how far a task is.
type Phase string

const (
	PhaseOpen        Phase = ""            // its next stage begins when the tasks before it are done
	PhaseRunning     Phase = "running"     // an agent works on it
	PhaseInterrupted Phase = "interrupted" // its loop was interrupted, and goes on
	PhaseReady       Phase = "ready"       // its stages are over, and it waits to be merged
	PhaseMerging     Phase = "merging"
	PhaseDone        Phase = "done"
	PhaseFailed      Phase = "failed"     // a stage ended without a verified claim; a new loop at the next run
	PhaseUnmerged    Phase = "unmerged"   // it could not be merged: its branch is there
	PhaseUnverified  Phase = "unverified" // none of its stages was verified: its branch is there
	PhaseAltered     Phase = "altered"    // somebody else has changed it meanwhile: it does not count
	PhaseBroken      Phase = "broken"     // it cannot be run as it is defined
	PhaseLeft        Phase = "left"       // it is not to be run
)

// A Stand is how far a task is.
type Stand struct {
	Phase Phase `json:"phase,omitempty"`
	// Verified and Passed are the stages that are over, as bits in the part's order:
	// Passed those that nothing has verified.
	Verified uint64 `json:"verified,omitempty"`
	Passed   uint64 `json:"passed,omitempty"`
	Rounds   int    `json:"rounds,omitempty"` // how often it was sent back in this run
	Again    int    `json:"again,omitempty"`  // how many of its stages were begun anew: loops of the same name are told apart by it
}

// A Live is a loop that has begun.
type Live struct {
	Part int         `json:"part"`
	Used ralph.Usage `json:"used,omitzero"` // so far
	// Reserved is what the iteration that runs may use, nil = none runs; Waits says that
	// the next one waits for what others have reserved.
	Reserved *Amount `json:"reserved,omitempty"`
	Waits    bool    `json:"waits,omitempty"`
}

// Done reports whether nothing more begins. What runs still ends.
func (s State) Done() bool { return s.Stop != "" }

// Err is nil if the pipeline goes on or all of it is done, else a [*ralph.StopError].
func (s State) Err() error {
	if s.Stop == "" || s.Stop == ralph.StopVerified {
		return nil
	}
	return &ralph.StopError{Reason: s.Stop, Detail: s.Detail}
}

// Find is the index of a task, -1 = there is none of this ID.
func (s State) Find(id string) int {
	return slices.IndexFunc(s.Parts, func(p Part) bool { return p.ID == id })
}

// Agent is the agent whose stage of a task runs or is next; "" and false if all are over.
func (s State) Agent(part int) (string, bool) {
	over := s.Stands[part].Verified | s.Stands[part].Passed
	for i, agent := range s.Orders[s.Parts[part].Order] {
		if over&(1<<i) == 0 {
			return agent, true
		}
	}
	return "", false
}

// Loop names the loop of a task's stage that runs or is next, after the task and the agent.
func (s State) Loop(part int) string {
	agent, _ := s.Agent(part)
	return s.loop(part, agent, s.Stands[part].Again)
}

func (s State) loop(part int, agent string, again int) string {
	name := s.Parts[part].ID
	if agent != "" {
		name += "." + agent
	}
	if again > 0 {
		name += fmt.Sprintf(".%d", again+1)
	}
	return name
}

// Open reports whether a task is not done and may still be, in this run or the next.
func (p Phase) Open() bool {
	return !slices.Contains([]Phase{PhaseDone, PhaseBroken, PhaseLeft, PhaseAltered}, p)
}

// Remaining is the number of tasks that are not done.
func (s State) Remaining() int {
	n := 0
	for _, st := range s.Stands {
		if st.Phase != PhaseDone {
			n++
		}
	}
	return n
}

// running is the index of a task's loop in Running, -1 = it has none.
func (s State) running(part int) int {
	return slices.IndexFunc(s.Running, func(r Live) bool { return r.Part == part })
}

// working is how many agents work.
func (s State) working() int {
	n := 0
	for _, r := range s.Running {
		if s.Stands[r.Part].Phase == PhaseRunning {
			n++
		}
	}
	return n
}
