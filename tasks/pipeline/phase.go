package pipeline

import (
	"fmt"
	"slices"
)

// A Phase says how far a task is. As text, and in JSON, it is its name; the number
// means nothing outside this program. It is a number because the state of many tasks
// is copied with every event, and so should be small. The zero value is PhaseOpen.
type Phase uint8

const (
	// PhaseOpen: its next stage begins when the tasks before it are done.
	PhaseOpen Phase = iota
	// PhaseRunning: an agent works on it.
	PhaseRunning
	// PhaseInterrupted: its loop was interrupted, and goes on in this run or the next.
	PhaseInterrupted
	// PhaseReady: its stages are over, and it waits to be merged.
	PhaseReady
	// PhaseMerging: its branch is being merged, and verified with the main branch.
	PhaseMerging
	// PhaseDone: all its stages are over, and it is merged where that is to be.
	PhaseDone
	// PhaseFailed: a stage ended without a verified claim; the next run begins a new
	// loop.
	PhaseFailed
	// PhaseUnmerged: it could not be merged. Its branch is there, and the next run
	// tries again.
	PhaseUnmerged
	// PhaseUnverified: its stages are over, and none of them was verified. Its branch
	// is there, for a person to look at.
	PhaseUnverified
	// PhaseAltered: somebody else has changed it meanwhile, so what was done does not
	// count.
	PhaseAltered
	// PhaseBroken: it cannot be run as it is defined, and waits for a person.
	PhaseBroken
	// PhaseLeft: it is not to be run, as its source says.
	PhaseLeft
)

// phases are the names, by their numbers. An open task has none, so that it is left out.
func phases() []string {
	return []string{"", "running", "interrupted", "ready", "merging", "done", "failed", "unmerged", "unverified", "altered", "broken", "left"}
}

// String is the name; that of PhaseOpen is empty, and that of a number which is no
// phase says so.
func (p Phase) String() string {
	if names := phases(); int(p) < len(names) {
		return names[p]
	}
	return fmt.Sprintf("phase %d", uint8(p))
}

// MarshalText returns the name. A number that is no phase is an error.
func (p Phase) MarshalText() ([]byte, error) {
	if int(p) >= len(phases()) {
		return nil, fmt.Errorf("pipeline: there is no %s", p)
	}
	return []byte(p.String()), nil
}

// UnmarshalText reads what MarshalText has written. A name that is not known is an
// error: a newer version may have added it, and no phase can stand in for it.
func (p *Phase) UnmarshalText(text []byte) error {
	i := slices.Index(phases(), string(text))
	if i < 0 {
		return fmt.Errorf("pipeline: there is no phase %q", text)
	}
	*p = Phase(i)
	return nil
}

// Open reports whether a task is not done and may still be, in this run or the next.
func (p Phase) Open() bool {
	return !slices.Contains([]Phase{PhaseDone, PhaseBroken, PhaseLeft, PhaseAltered}, p)
}
