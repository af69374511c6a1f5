package pipeline

import (
	"fmt"
	"slices"
)

// A Phase says how far a task is. As text, and in JSON, it is its name. It is a number so
// that what stands of many tasks is small, and copied fast.
//
// Done, broken, left and altered are final in a run; failed, unmerged and unverified
// wait for the next one, or for a person.
type Phase uint8

const (
	PhaseOpen        Phase = iota // its next stage begins when the tasks before it are done
	PhaseRunning                  // an agent works on it
	PhaseInterrupted              // its loop was interrupted, and goes on
	PhaseReady                    // its stages are over, and it waits to be merged
	PhaseMerging                  // its branch is being merged
	PhaseDone                     // all its stages are over, and it is merged where that is to be
	PhaseFailed                   // a stage ended without a verified claim; a new loop at the next run
	PhaseUnmerged                 // it could not be merged: its branch is there
	PhaseUnverified               // none of its stages was verified: its branch is there
	PhaseAltered                  // somebody else has changed it meanwhile: it does not count
	PhaseBroken                   // it cannot be run as it is defined
	PhaseLeft                     // it is not to be run
)

// phases are the names, by their numbers. An open task has none, so that it is left out.
func phases() []string {
	return []string{"", "running", "interrupted", "ready", "merging", "done", "failed", "unmerged", "unverified", "altered", "broken", "left"}
}

// String is the name; that of PhaseOpen is empty.
func (p Phase) String() string {
	if names := phases(); int(p) < len(names) {
		return names[p]
	}
	return fmt.Sprintf("phase %d", uint8(p))
}

// MarshalText is String, as an error for a number that is no phase. A number that
// nothing stands for would be read as another one by the next version.
func (p Phase) MarshalText() ([]byte, error) {
	if int(p) >= len(phases()) {
		return nil, fmt.Errorf("pipeline: there is no %s", p)
	}
	return []byte(p.String()), nil
}

// UnmarshalText reads what MarshalText has written. A name that is not known is an
// error.
func (p *Phase) UnmarshalText(text []byte) error {
	i := slices.Index(phases(), string(text))
	if i < 0 {
		return fmt.Errorf("pipeline: there is no phase %q", text)
	}
	*p = Phase(i)
	return nil
}

// Open reports whether a task is not done and may still be, in this run or the next. A
// task that was altered is not, for what it is now nobody has agreed to.
func (p Phase) Open() bool {
	return !slices.Contains([]Phase{PhaseDone, PhaseBroken, PhaseLeft, PhaseAltered}, p)
}
