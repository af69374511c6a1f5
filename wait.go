package ralph

import (
	"cmp"
	"time"
)

// NotBefore is the time before which the next attempt should not start, or the zero
// time if it may start at once. A driver waits until then, see [Sleep]: the provider
// has asked for it, and counts a call that comes earlier.
func (s State) NotBefore() time.Time {
	if s.Wait <= 0 || s.Done() {
		return time.Time{}
	}
	return s.Updated.Add(s.Wait)
}

// rateLimited decides how long to wait for the provider. A wait that would exceed
// Limits.Wait is not begun: to sleep for the rest and then stop would help nobody.
func (s State) rateLimited(it Iteration) State {
	s.RateLimits++
	wait := it.RetryAfter
	if wait <= 0 {
		wait = s.backoff(rateLimitBase, rateLimitMax, s.RateLimits)
	}
	if l := s.Task.Limits.wait(); l >= 0 && addSat(s.Waited, wait) > l {
		s = s.stop(StopRateLimited, cmp.Or(it.Error, "the provider limits the rate")).before(s.Iteration, s.Attempt+1)
		s.Unwaited = wait // not a moment of it was counted
		return s
	}
	return s.wait(wait).proceed(s.Iteration, s.Attempt+1)
}

// wait has the next attempt wait, and counts the whole wait. A driver that ends
// a wait early takes the rest back.
func (s State) wait(d time.Duration) State {
	s.Wait = d
	return s.count(d)
}

// count adds to the time of the loop, and to that of its rate limits if it waits for
// one.
func (s State) count(d time.Duration) State {
	s.Elapsed = addSat(s.Elapsed, d)
	if s.RateLimits > 0 {
		s.Waited = addSat(s.Waited, d)
	}
	return s
}

// breakWait takes back what was counted of a wait that ended early, rest before its
// end. What is taken back is kept in Unwaited, for the loop that goes on may have to
// wait it out.
func (s State) breakWait(rest time.Duration) State {
	rest = min(max(rest, 0), s.Elapsed)
	s.Elapsed -= rest
	if s.RateLimits > 0 {
		s.Waited = max(s.Waited-rest, 0)
	}
	if s.Wait > 0 { // else the loop has stopped, and nothing is left to wait for
		s.Unwaited = rest
	}
	return s
}

// resumeWait counts the rest of a wait that was taken back: what of it is still
// to be waited.
func (s State) resumeWait(rest time.Duration) State {
	rest = min(max(rest, 0), s.Unwaited)
	s.Unwaited = 0
	return s.count(max(rest, 0))
}
