package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

// Version is the version of the JSON form of [State] and [Event]. Fields are added,
// never renamed.
const Version = 1

// A State is where a pipeline stands. It is a plain value: its methods are pure, return
// a new one and never write through a slice, map or pointer, so states may be kept,
// compared and shared between goroutines. Why something failed is in the events, not
// here: as JSON, a state of 500 tasks stays under 64 KiB. The zero value has no tasks;
// begin with [Plan].
//
// A driver takes turns with it: it begins with the state that [Plan] returns, asks
// [State.Ready] what may begin, does that, and tells what came of it by [State.Next],
// one event after the other. Every rule of a pipeline is here: the order, the number of
// slots, what a rejection leads to, what may be spent.
//
// For a stage the driver tells [EventBegan]; [EventReserve] before each iteration of
// its loop, which begins when [State.Granted] says so; and [EventEnded]. For a merge it
// tells [EventMerging], then [EventMerged] or [EventUnmerged]. The driver is over when
// nothing is ready and nothing runs; that stays so unless the pipeline is paused.
//
// All events are recorded but [EventReserve], [EventUsed] and [EventHeld], whose
// figures the loops have on record themselves. One of these three may stop the
// pipeline, when the budget is spent: then an [EventStopped] with Stop and Detail of
// the state is recorded instead. The fold of the record by [State.Apply], and one
// [EventUsed] for each loop in Running, give the state again, except Last and what is
// reserved: an iteration that was cut off asks again. To go on after a crash, give that
// state to [Plan].
//
// A state that was edited by hand decides wrongly, but no method panics.
type State struct {
	// V is [Version].
	V int `json:"v"`
	// Rules are what was agreed; see [EventRules] for what may change later.
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

	// Settled is what the run has used, without the loops in Running, see
	// [State.Used].
	Settled ralph.Usage `json:"settled,omitzero"`
	// Last is what the last iteration of each agent has used: the forecast for its next.
	Last map[string]Amount `json:"last,omitempty"`
	// Gone are tasks of earlier runs that are not among the Parts and whose loops were
	// interrupted: their Again, should they come again.
	Gone map[string]int `json:"gone,omitempty"`
	// Elapsed is the wall clock of the run, summed over resumes.
	Elapsed time.Duration `json:"elapsed,omitempty"`

	// Paused says that nothing begins, no iteration either.
	Paused bool `json:"paused,omitempty"`
	// Stop is why nothing more begins: verified = all is done; "" = it goes on.
	Stop ralph.StopReason `json:"stop,omitempty"`
	// Detail of Stop, for people, at most 1 KiB.
	Detail string `json:"detail,omitempty"`
}

// Rules are what was agreed for a run. The zero value is one task at a time, in one
// workspace, without a budget.
//
// They are agreed when a run begins and are part of the state, so that whoever reads a
// record knows by which rules it came about.
type Rules struct {
	// Slots is how many agents work at the same time. 0 = 1.
	Slots int `json:"slots,omitempty"`
	// Merge says that each task has a branch of its own, and is done only when that was
	// merged.
	Merge bool `json:"merge,omitempty"`
	// Unverified lets a task count as done although none of its stages was verified.
	Unverified bool `json:"unverified,omitempty"`
	// Repair gives a conflict to the task's first agent, as a further round.
	Repair bool `json:"repair,omitempty"`
	// Back says, by agent, whose work the agent may reject. If an agent that is not in
	// it rejects, its stage has failed.
	Back map[string]Back `json:"back,omitempty"`

	// CostUSD (US dollars), Tokens (input and output) and Duration (wall clock) bound
	// the run: all its loops, their verifications, and all its resumes. 0 = no bound.
	//
	// Each iteration is granted a part of the cost and of the tokens before it begins.
	// So they are exceeded only by what an iteration uses beyond what it was granted
	// before it can be stopped, and by the verifications of merges.
	CostUSD  float64       `json:"cost_usd,omitempty"`
	Tokens   int64         `json:"tokens,omitempty"`
	Duration time.Duration `json:"duration,omitempty"`
	// Priced stops a run that has a CostUSD after the first answer, or the first
	// verification, whose cost is not known: see [ralph.Limits]. What runs beside it
	// comes to the end of its iteration. False = what is not known does not count.
	Priced bool `json:"priced,omitempty"`
}

// limits are the budget as the limits of a loop: the same four say the same in both
// places, and what makes no sense is refused by the same rule.
func (r Rules) limits() ralph.Limits {
	return ralph.Limits{CostUSD: r.CostUSD, Tokens: r.Tokens, Duration: r.Duration, Priced: r.Priced}
}

// with are the rules with the budget of such limits.
func (r Rules) with(l ralph.Limits) Rules {
	r.CostUSD, r.Tokens, r.Duration, r.Priced = l.CostUSD, l.Tokens, l.Duration, l.Priced
	return r
}

func (r Rules) slots() int { return max(r.Slots, 1) }

// Back is where a rejection leads to. Without a bound two agents that do not agree
// would send the work back and forth until the budget is spent.
type Back struct {
	// To is an agent before it in the order.
	To string `json:"to"`
	// Rounds is how often at most, for each task and run; 0 = 3.
	Rounds int `json:"rounds,omitempty"`
}

func (b Back) rounds() int {
	if b.Rounds <= 0 {
		return 3
	}
	return b.Rounds
}

// A Part is a task, as it was agreed. Other tasks and orders are named by their
// indices: that keeps a state with many tasks small.
type Part struct {
	// ID names the task, for its source and on record.
	ID string `json:"id"`
	// Sum is a hash of what was agreed: a task with another sum is another task. "" =
	// it is not known, as of a task that is not run.
	Sum string `json:"sum,omitempty"`
	// After are the indices of the parts that must be done before.
	After []int `json:"after,omitempty"`
	// Order is the index of the order that it goes through, in [State.Orders].
	Order int `json:"order,omitempty"`
}

// A Stand is how far a task is.
type Stand struct {
	// Phase says what is to happen with it next.
	Phase Phase `json:"phase,omitempty"`
	// Verified and Passed are the stages that are over, as bits: 1<<i is the agent of
	// index i in the part's order. Passed are those that nothing has verified.
	Verified uint64 `json:"verified,omitempty"`
	Passed   uint64 `json:"passed,omitempty"`
	// Rounds is how often it was sent back in this run.
	Rounds int `json:"rounds,omitempty"`
	// Again is how many of its stages were begun anew. It is part of their loops'
	// names, so that no loop is taken for one before it.
	Again int `json:"again,omitempty"`
}

// over are the stages that are over, as bits.
func (st Stand) over() uint64 { return st.Verified | st.Passed }

// A Live is a loop that has begun and has not ended. It is known by its task: of one
// task one stage runs at a time.
type Live struct {
	// Part is the index of the task.
	Part int `json:"part"`
	// Used is what the loop has used so far, since its first iteration.
	Used ralph.Usage `json:"used,omitzero"`
	// Reserved is what the loop may have used in all when the iteration that runs has
	// ended; nil = none runs.
	Reserved *Amount `json:"reserved,omitempty"`
	// Waits says that the next iteration waits for what others have reserved, or for
	// the end of a pause.
	Waits bool `json:"waits,omitempty"`
}

// Done reports whether nothing more begins. What runs still ends, and is to be told: a
// driver that stops here loses it.
func (s State) Done() bool { return s.Stop != "" }

// Err is nil if the pipeline goes on or all of it is done, else a [*ralph.StopError].
func (s State) Err() error {
	if s.Stop == "" || s.Stop == ralph.StopVerified {
		return nil
	}
	return &ralph.StopError{Reason: s.Stop, Detail: s.Detail}
}

// Find is the index of a task in [State.Parts], -1 = there is none of this ID.
func (s State) Find(id string) int {
	for _, r := range s.Running { // most events are of those
		if r.Part >= 0 && r.Part < len(s.Parts) && s.Parts[r.Part].ID == id {
			return r.Part
		}
	}
	for i := range s.Parts {
		if s.Parts[i].ID == id {
			return i
		}
	}
	return -1
}

// phase, stand and order are those of a part, also where an edited state has none. What is
// asked of each task has a pointer: a State is too large to be copied ten thousand times.
func (s *State) phase(part int) Phase {
	if part < 0 || part >= len(s.Stands) {
		return PhaseBroken
	}
	return s.Stands[part].Phase
}

func (s *State) stand(part int) Stand {
	if part < 0 || part >= len(s.Stands) {
		return Stand{Phase: PhaseBroken}
	}
	return s.Stands[part]
}

func (s *State) order(part int) []string {
	if part < 0 || part >= len(s.Parts) || s.Parts[part].Order < 0 || s.Parts[part].Order >= len(s.Orders) {
		return nil
	}
	order := s.Orders[s.Parts[part].Order]
	return order[:min(len(order), maxAgents)]
}

// maxAgents is how many bits a Stand has for them. No task needs as many; a set of
// names would make each state several times as large.
const maxAgents = 64

// Agent is the agent whose stage of a task runs or is next; "" and false if all are
// over. Part is an index of [State.Parts]; one that is none has no agent.
func (s State) Agent(part int) (string, bool) {
	now := s.stand(part)
	return left(s.order(part), now.over())
}

// left is the first agent whose stage is not over; "" and false if all are.
func left(order []string, over uint64) (string, bool) {
	for i, agent := range order {
		if over&(1<<i) == 0 {
			return agent, true
		}
	}
	return "", false
}

// Loop names the loop of a task's stage that runs or is next, after the task, the
// agent, and how often it was begun: "T1.coder", "T1.coder.2". No two loops of a
// pipeline have the same name, in this run or in those before it, since a record is
// found by its name. For that, in an agent's name a dot, a percent sign and a digit at
// its beginning are written as %2E, %25, %3N.
func (s State) Loop(part int) string {
	agent, _ := s.Agent(part)
	return s.loop(part, agent, s.stand(part).Again)
}

func (s State) loop(part int, agent string, again int) string {
	name := ""
	if part >= 0 && part < len(s.Parts) {
		name = s.Parts[part].ID
	}
	if agent != "" {
		name += "." + escaped(agent)
	}
	if again > 0 {
		name += fmt.Sprintf(".%d", again+1)
	}
	return name
}

// escaped is an agent's name without dots and not like a number, so that a loop's name
// can be taken apart from its end.
func escaped(agent string) string {
	agent = strings.NewReplacer("%", "%25", ".", "%2E").Replace(agent)
	if agent[0] >= '0' && agent[0] <= '9' {
		agent = fmt.Sprintf("%%%02X", agent[0]) + agent[1:]
	}
	return agent
}

// Remaining is the number of tasks that are not done, also those that are not to be
// run: it is 0 exactly if all is done.
func (s State) Remaining() int {
	n := 0
	for i := range s.Parts {
		if s.phase(i) != PhaseDone {
			n++
		}
	}
	return n
}

// remains reports whether a task is not done. It is asked after each event, and usually
// answered by the first task.
func (s State) remains() bool {
	for i := range s.Parts {
		if s.phase(i) != PhaseDone {
			return true
		}
	}
	return false
}

// running is the index of a task's loop in Running, -1 = it has none.
func (s State) running(part int) int {
	return slices.IndexFunc(s.Running, func(r Live) bool { return r.Part == part })
}

// working is how many agents work, also on tasks that were altered meanwhile.
func (s State) working() int {
	n := 0
	for _, r := range s.Running {
		if s.phase(r.Part) != PhaseInterrupted {
			n++
		}
	}
	return n
}
