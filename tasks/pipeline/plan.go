package pipeline

import (
	"fmt"
	"slices"

	"github.com/ralph-loop/ralph"
)

// A Planned is a task of a run, as [Plan] makes a part of it.
type Planned struct {
	ID, Sum string   // see [Part]
	After   []string // the tasks that it waits for
	Agents  []string // through which it goes, in their order: one at least, and none twice
	// Phase is PhaseOpen, PhaseDone or PhaseLeft, as its source says.
	Phase Phase
	// Anew has what is on record of it not count: its source wants it done again.
	Anew bool
}

// Plan returns the state in which a run begins, with all tasks in the order in which they
// are to be begun and merged, to be told by [EventStarted]. Last is where an earlier run
// stood, nil = there is none: of tasks that are as they were, what was verified stays so,
// loops that were interrupted go on, and what has failed is begun anew; if that run had
// not come to its end, what it used counts.
//
// It is an error if a task has no agent, or more than 64, or waits for one that is not
// there, or for itself.
func Plan(rules Rules, all []Planned, last *State) (State, error) {
	s := State{V: Version, Rules: rules}
	at := make(map[string]int, len(all))
	for i, t := range all {
		if _, twice := at[t.ID]; twice {
			return State{}, fmt.Errorf("pipeline: the task %q is given twice", t.ID)
		}
		at[t.ID] = i
	}
	was := map[string]int{}
	if last != nil {
		for i, p := range last.Parts {
			was[p.ID] = i
		}
		if last.resumes() {
			s.Settled, s.Last, s.Elapsed = last.Settled, last.Last, last.Elapsed
		}
	}
	for i, t := range all {
		if len(t.Agents) == 0 || len(t.Agents) > 64 {
			return State{}, fmt.Errorf("pipeline: the task %q has %d agents; it must have 1 to 64", t.ID, len(t.Agents))
		}
		p := Part{ID: t.ID, Sum: t.Sum}
		for _, id := range t.After {
			j, known := at[id]
			if !known || j == i {
				return State{}, fmt.Errorf("pipeline: the task %q waits for %q, which is no other task", t.ID, id)
			}
			p.After = append(p.After, j)
		}
		p.Order = slices.IndexFunc(s.Orders, func(o []string) bool { return slices.Equal(o, t.Agents) })
		if p.Order < 0 {
			p.Order = len(s.Orders)
			s.Orders = append(s.Orders, slices.Clone(t.Agents))
		}
		s.Parts, s.Stands = append(s.Parts, p), append(s.Stands, Stand{Phase: t.Phase})
		if j, known := was[t.ID]; known {
			s.carry(i, t, *last, j)
		}
	}
	return s, nil
}

// resumes reports whether a run that stood so has not come to its end.
func (s State) resumes() bool {
	return !slices.Contains([]ralph.StopReason{ralph.StopVerified, ralph.StopStalled, ralph.StopCancelled, ralph.StopInvalid}, s.Stop)
}

// carry takes over how far a task was.
func (s *State) carry(part int, t Planned, last State, was int) {
	before, now := last.Stands[was], &s.Stands[part]
	run := last.running(was)
	now.Again = before.Again
	same := last.Parts[was].Sum == t.Sum && !t.Anew
	if same && t.Phase == PhaseOpen {
		now.Rounds = before.Rounds
		now.Verified = moved(before.Verified, last.Orders[last.Parts[was].Order], t.Agents)
		now.Passed = moved(before.Passed, last.Orders[last.Parts[was].Order], t.Agents)
		_, left := s.Agent(part)
		switch before.Phase {
		case PhaseDone:
			now.Phase = PhaseDone
		case PhaseRunning, PhaseInterrupted:
			if run >= 0 && s.Loop(part) == last.Loop(was) {
				now.Phase = PhaseInterrupted
				s.Running = append(s.Running, Live{Part: part, Used: last.Running[run].Used})
				return
			}
		case PhaseFailed:
			now.Rounds = 0
		}
		if now.Phase == PhaseOpen && !left {
			*s = s.passed(part, *now)
		}
	} else if t.Phase == PhaseOpen && before.Phase != PhaseOpen {
		now.Again++ // the loops of what it was keep their names
	}
	if run >= 0 && last.resumes() {
		s.Settled = s.Settled.Add(last.Running[run].Used)
	}
}

// moved are the bits of the agents of one order in another.
func moved(bits uint64, from, to []string) (now uint64) {
	for i, agent := range from {
		if at := slices.Index(to, agent); at >= 0 && bits&(1<<i) != 0 {
			now |= 1 << at
		}
	}
	return now
}
