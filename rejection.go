package ralph

import (
	"slices"

	"github.com/ralph-loop/ralph/internal/steady"
)

// judge takes over the verdict on a claim.
//
// Feedback stays until the next claim is judged, over retries and time-outs: what was
// missing is still missing.
func (s State) judge(it Iteration) State {
	if it.Fault != FaultRateLimit && it.Fault != FaultInterrupted {
		s.RateLimits = 0
	}
	if !it.Verdict.Passed && (it.Fault == FaultInterrupted || it.Blocked) || !it.Claimed && !s.Task.Always {
		return s
	}
	before := s.Verdict
	s.Verdict = it.Verdict.bounded()
	if it.Verdict.Passed {
		s.Feedback, s.Repeated = "", 0
		return s
	}
	s.Repeated = s.repeated(before, it)
	s.Feedback = it.Verdict.Feedback
	if it.Verdict.Undecided() {
		s.Feedback = undecidedNote + s.Feedback
	}
	s.Feedback = bound(s.Feedback, maxFeedback)
	return s
}

// undecidedNote goes before the feedback of checks that could not be run: without it an
// agent mends what is not broken.
const undecidedNote = "The checks could not be run, so this says nothing about your work: "

// repeated counts how often in a row a rejection has come, the one of it included,
// where before is the verdict on the last claim. An iteration that changed nothing
// gives no new one: that is a stall, and one whose checks could not run says nothing.
func (s State) repeated(before Verdict, it Iteration) int {
	now := s.Verdict
	switch {
	case now.Undecided() || now.Feedback == "" && len(now.Checks) == 0:
		return s.Repeated
	case s.Repeated == 0 || !now.sameAs(before):
		return 1
	case s.unchanged(it):
		return s.Repeated
	}
	return s.Repeated + 1
}

// sameAs reports whether two rejections say the same, but for what differs each time.
// Test runners print times and addresses, which would make each rejection a new one.
func (v Verdict) sameAs(w Verdict) bool {
	return steady.Text(v.Feedback) == steady.Text(w.Feedback) && slices.EqualFunc(v.Checks, w.Checks, func(a, b Check) bool {
		return a.Name == b.Name && a.Status == b.Status
	})
}
