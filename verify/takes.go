package verify

import (
	"cmp"
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

// Takes returns the longest time that the judge and then the fallback may take; see
// [External.Takes].
func (s Semantic) Takes(t ralph.Task) time.Duration {
	if s.Judge == nil { // it looks at words alone
		return 0
	}
	return inTurn(cmp.Or(s.Timeout, judgeTime), takes(s.Fallback, t))
}

// Takes returns the longest time that the stages may take, one after the other;
// see [External.Takes].
func (m MultiStage) Takes(t ralph.Task) time.Duration {
	all := time.Duration(0)
	for _, s := range m.Stages {
		all = inTurn(all, takes(s.Verifier, t))
	}
	return all
}

// inTurn adds two times, of which a negative one is without bound.
func inTurn(a, b time.Duration) time.Duration {
	switch {
	case a < 0 || b < 0:
		return -1
	case a+b < a:
		return math.MaxInt64
	}
	return a + b
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
	case interface {
		Takes(ralph.Task) time.Duration
	}:
		return v.Takes(t)
	case nil, String, Contradictions, stageRule, files:
		return 0
	}
	return 5 * time.Minute
}
