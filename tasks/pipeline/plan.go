package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/ralph-loop/ralph"
)

// A Planned is a task of a run, as [Plan] makes a part of it: for drivers of their own.
// [Pipeline] plans by itself.
type Planned struct {
	// ID and Sum are those of [Part].
	ID, Sum string
	// After are the IDs of the tasks that it waits for.
	After []string
	// Agents are those through which it goes, in their order: one at least, at most 64,
	// and none twice; one alone may be "".
	Agents []string
	// Phase is PhaseOpen, PhaseDone or PhaseLeft, as its source says.
	Phase Phase
	// Anew has what is on record of it not count: its source wants it done again.
	Anew bool
}

// Plan returns the state in which a run begins, with all tasks in the order in which they
// are to be begun and merged, to be told by [EventStarted]. Last is where an earlier run
// stood, nil = there is none.
//
// Of tasks that are as they were then, what was verified stays so, loops that were
// interrupted go on, what was not merged is merged, and what has failed is begun anew:
// that stage, and not those before it. Stages are known by their agents, so the order of
// these may be another one; those that are left out now are forgotten, and a loop that was
// interrupted goes on only if its stage is the next. A task with another sum, or Anew,
// begins with its first stage; one that is done or left now keeps what is on record of it
// for a later run, if it has no Sum or the same.
//
// What the last run used counts if it had not come to its end (all was done, nothing more
// could begin, it was cancelled, or invalid), or if its loop goes on.
//
// It is an error if the budgets make no sense, if a task is given twice, has no agent, one
// twice, or more than 64, or waits for one that is not there, or for itself, also by way of
// others.
func Plan(rules Rules, all []Planned, last *State) (State, error) {
	if err := rules.limits().Validate(); err != nil {
		return State{}, ours(err)
	}
	s := State{V: Version, Rules: rules}
	at := make(map[string]int, len(all))
	for i, t := range all {
		if _, twice := at[t.ID]; twice {
			return State{}, fmt.Errorf("pipeline: the task %q is given twice", t.ID)
		}
		at[t.ID] = i
	}
	for _, t := range all {
		p, err := s.part(t, at)
		if err != nil {
			return State{}, err
		}
		s.Parts, s.Stands = append(s.Parts, p), append(s.Stands, Stand{Phase: t.Phase})
	}
	if i := circle(s.Parts, 0); i >= 0 {
		return State{}, fmt.Errorf("pipeline: the task %q waits for itself, by way of those that it waits for", s.Parts[i].ID)
	}
	if last != nil {
		s.resume(all, at, *last)
	}
	return s, nil
}

// part is a task as a part of the state, in which tasks and orders are indices: many
// tasks have the same order, and a state is kept for each event of some engines.
func (s *State) part(t Planned, at map[string]int) (Part, error) {
	p := Part{ID: t.ID, Sum: t.Sum}
	if err := sound(t.Agents); err != nil {
		return p, fmt.Errorf("pipeline: the task %q %w", t.ID, err)
	}
	for _, id := range t.After {
		j, known := at[id]
		if !known || id == t.ID {
			return p, fmt.Errorf("pipeline: the task %q waits for %q, which is no other task", t.ID, id)
		}
		p.After = append(p.After, j)
	}
	p.Order = s.ordered(t.Agents)
	return p, nil
}

// sound refuses agents through which no task can go. One that is named twice would be
// over with its first stage: stages are known by their agents.
func sound(agents []string) error {
	if len(agents) == 0 || len(agents) > maxAgents {
		return fmt.Errorf("has %d agents; it must have 1 to %d", len(agents), maxAgents)
	}
	for i, agent := range agents {
		if agent == "" && len(agents) > 1 { // the only one needs none
			return errors.New("has an agent without a name")
		}
		if slices.Contains(agents[:i], agent) {
			return fmt.Errorf("has the agent %q twice", agent)
		}
	}
	return nil
}

// ordered is the index of an order, which is added if it is not there. Tasks usually
// have one or two orders in all.
func (s *State) ordered(agents []string) int {
	for i, o := range s.Orders {
		if slices.Equal(o, agents) {
			return i
		}
	}
	s.Orders = append(slices.Clip(s.Orders), slices.Clone(agents))
	return len(s.Orders) - 1
}

// circle is a part, from the one at first on, that waits for itself, also by way of
// others; -1 = there is none. Those before first wait for none of these. Tasks that
// wait for nobody are taken away until none is left, or only circles: a walk along the
// dependencies would need a stack as deep as the longest chain.
func circle(parts []Part, first int) int {
	waits, before := make([]int, len(parts)), make([][]int, len(parts))
	var free []int
	for i := first; i < len(parts); i++ {
		for _, j := range parts[i].After {
			if j >= first {
				waits[i]++
				before[j] = append(before[j], i)
			}
		}
		if waits[i] == 0 {
			free = append(free, i)
		}
	}
	for len(free) > 0 {
		i := free[len(free)-1]
		free = free[:len(free)-1]
		for _, j := range before[i] {
			if waits[j]--; waits[j] == 0 {
				free = append(free, j)
			}
		}
	}
	return slices.IndexFunc(waits, func(n int) bool { return n > 0 })
}

// resumes reports whether a run that stood so has not come to its end. A limit is no
// end: a run that goes on with a higher one is the same run, and what it has spent
// counts.
func (s State) resumes() bool {
	return !slices.Contains([]ralph.StopReason{ralph.StopVerified, ralph.StopStalled, ralph.StopCancelled, ralph.StopInvalid}, s.Stop)
}

// resume takes over where the last run stood. Tasks are known by their IDs, since their
// order, and which there are, may have changed.
func (s *State) resume(all []Planned, at map[string]int, last State) {
	gone := maps.Clone(last.Gone)
	if last.resumes() {
		s.Settled, s.Last, s.Elapsed = last.Settled, last.Last, last.Elapsed
	}
	for was, p := range last.Parts {
		i, known := at[p.ID]
		run := last.running(was)
		goesOn := known && s.carry(i, all[i], last, was, run)
		switch {
		case run < 0:
			continue
		case goesOn:
			s.Running = append(s.Running, Live{Part: i, Used: last.Running[run].Used})
			continue
		case !known:
			gone = with(gone, p.ID, last.stand(was).Again+1)
		}
		if last.resumes() {
			s.Settled = s.Settled.Add(last.Running[run].Used)
		}
	}
	slices.SortStableFunc(s.Running, func(a, b Live) int { return cmp.Compare(a.Part, b.Part) })
	for id, again := range gone {
		if i, known := at[id]; known {
			s.Stands[i].Again = max(s.Stands[i].Again, again)
			delete(gone, id)
		}
	}
	if len(gone) > 0 {
		s.Gone = gone
	}
}

// carry takes over how far a task was, and reports whether its loop goes on; run = -1:
// it has none. A loop goes on only if the loop of the stage that is next has the same
// name: then it is the same work of the same agent. All others get a name that no loop
// has had, so that no record is taken for another's.
func (s *State) carry(part int, t Planned, last State, was, run int) (goesOn bool) {
	before, now := last.stand(was), &s.Stands[part]
	if t.Phase != PhaseOpen && t.Sum == "" {
		s.Parts[part].Sum = last.Parts[was].Sum
	}
	same := !t.Anew && s.Parts[part].Sum == last.Parts[was].Sum
	now.Again = before.Again
	if same {
		now.Rounds = before.Rounds
		now.Verified = moved(before.Verified, last.order(was), t.Agents)
		now.Passed = moved(before.Passed, last.order(was), t.Agents)
		if goesOn = t.Phase == PhaseOpen && run >= 0 && before.interrupted() && s.Loop(part) == last.Loop(was); goesOn {
			now.Phase = PhaseInterrupted
			return true
		}
	}
	if run >= 0 || bits.OnesCount64(before.over()) > bits.OnesCount64(now.over()) {
		now.Again++ // the loops that have begun keep their names
	}
	if same && t.Phase == PhaseOpen {
		now.Phase = before.Phase // done stays done; else it is what follows from the stages that are over
		if before.Phase != PhaseDone {
			now.Phase = s.passed(part, *now)
		}
		if before.Phase == PhaseFailed || before.Phase == PhaseUnmerged {
			now.Rounds = 0
		}
	}
	return false
}

// interrupted reports whether a loop had begun when the run ended. A task that was
// running then is one: the process has died over it.
func (st Stand) interrupted() bool {
	return st.Phase == PhaseRunning || st.Phase == PhaseInterrupted
}

// moved are the bits of the agents of one order in another. Agents that are not in the
// new order are forgotten, and new ones have nothing verified.
func moved(over uint64, from, to []string) (now uint64) {
	for i, agent := range from {
		if at := slices.Index(to, agent); at >= 0 && over&(1<<i) != 0 {
			now |= 1 << at
		}
	}
	return now
}
