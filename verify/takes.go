package verify

import (
	"cmp"
	"math"
	"time"

	"github.com/ralph-loop/ralph"
)

// Takes returns the longest time that the command may take, [External.Timeout]
// or its default; negative = any. A loop whose limits set no time for
// verification gives it at least that, so that a check with ten minutes of its
// own is not cut off after five. Wrappers hand the method on.
func (e External) Takes(ralph.Task) time.Duration { return e.limit() }

// Takes returns the longest time that the check may take, 0 if there is no such
// template; see [External.Takes].
func (t Template) Takes(task ralph.Task) time.Duration {
	v, err := t.verifier()
	if err != nil {
		return 0
	}
	return takes(v, task)
}

// Takes returns the longest time that the judge and then the fallback may take:
// the worst case is a judge that fails at the last moment. See
// [External.Takes].
func (s Semantic) Takes(t ralph.Task) time.Duration {
	if s.Judge == nil { // it looks at words alone
		return 0
	}
	return inTurn(cmp.Or(s.Timeout, judgeTime), takes(s.Fallback, t))
}

// Takes returns the longest time that the stages may take one after the other,
// also where Parallel runs some at once: how many really run beside each other
// is not known before. See [External.Takes].
func (m MultiStage) Takes(t ralph.Task) time.Duration {
	all := time.Duration(0)
	for _, s := range m.Stages {
		all = inTurn(all, takes(s.Verifier, t))
	}
	return all
}

// inTurn adds two times, of which a negative one is without bound. A sum that
// is too large for a Duration is the largest, and not a negative one, which
// would mean something else.
func inTurn(a, b time.Duration) time.Duration {
	switch {
	case a < 0 || b < 0:
		return -1
	case a+b < a:
		return math.MaxInt64
	}
	return a + b
}

// Takes returns the longest time that the guarded verifier may take; hashing
// files is not counted. See [External.Takes].
func (g Guard) Takes(t ralph.Task) time.Duration { return takes(g.Verifier, t) }

// Takes implements the method that [External.Takes] describes.
func (k *cache) Takes(t ralph.Task) time.Duration { return takes(k.verifier, t) }

// takes is the longest time that a verifier may take, as far as it says. What
// does not say is given five minutes, since it may run a command or an agent;
// looking at words takes no time that counts.
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
