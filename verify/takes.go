package verify

import (
	"math"
	"time"

	"github.com/ralph-loop/ralph"
)

// Takes returns the longest time that the command may take, [External.Timeout],
// negative = any. A loop without a time-out of its own gives a verification at
// least that.
func (e External) Takes(ralph.Task) time.Duration { return e.limit() }

// Takes returns the longest time that the check may take, see [External.Takes].
func (t Template) Takes(task ralph.Task) time.Duration {
	v, err := t.verifier()
	if err != nil {
		return 0
	}
	return takes(v, task)
}

// Takes returns the longest time that the stages may take, one after the other;
// see [External.Takes].
func (m MultiStage) Takes(t ralph.Task) time.Duration {
	all := time.Duration(0)
	for _, s := range m.Stages {
		d := takes(s.Verifier, t)
		if d < 0 {
			return -1
		}
		if all += d; all < d {
			return math.MaxInt64
		}
	}
	return all
}

// Takes returns the longest time that the guarded verifier may take.
func (g Guard) Takes(t ralph.Task) time.Duration { return takes(g.Verifier, t) }

// Takes implements the method that [External.Takes] describes.
func (k *cache) Takes(t ralph.Task) time.Duration { return takes(k.verifier, t) }

// takes is the longest time that a verifier may take, as far as it says: what
// runs a command or an agent and does not say is given five minutes, and looking
// at words takes no time that counts.
func takes(v ralph.Verifier, t ralph.Task) time.Duration {
	switch v := v.(type) {
	case interface{ Takes(ralph.Task) time.Duration }:
		return v.Takes(t)
	case nil, String, Contradictions, stageRule, files:
		return 0
	}
	return 5 * time.Minute
}
