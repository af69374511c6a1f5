package verifytest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

// faults makes the runs that end in one. A wait that is told as a time of day,
// and not as a duration, has become shorter by the time the run took, so both
// are right.
func (k *runnerKit) faults(ctx context.Context) {
	for _, run := range k.Faults {
		c := k.prepare(fmt.Sprintf("the run that ends in %q", run.Fault), run)
		c.start(ctx, nil)
		if !k.back(c, "") {
			if k.hung {
				return
			}
			continue
		}
		k.processes(c)
		it, err := ending(c.resp, c.err)
		// A second either way is for clocks that are read at different moments.
		early, late := c.RetryAfter-c.took-time.Second, c.RetryAfter+time.Second
		switch {
		case err != nil:
			k.report("faults", "%v", err)
		case it.Fault != c.Fault:
			k.report("faults", "%s ended in %q: %v", c.name, it.Fault, c.err)
		case it.RetryAfter < early || it.RetryAfter > late:
			k.report("faults", "%s says to wait for %v, not %v", c.name, it.RetryAfter, c.RetryAfter)
		}
		if c.err != nil && !strings.Contains(c.resp.Output, c.Says) {
			k.report("partial", "%s does not say %q but %q", c.name, c.Says, short(c.resp.Output))
		}
	}
}

// cancelled makes a call whose context is done before it begins, and one whose
// context is cancelled while it runs. The second waits until the agent has said
// something: cancelled earlier, the call could not show that what was said is
// kept.
func (k *runnerKit) cancelled(ctx context.Context) {
	before, cancel := context.WithCancelCause(ctx)
	cancel(ralph.ErrCancelled)
	k.stopped(before, k.prepare("the good run, cancelled before,", k.Good), func() {})
	if !k.Long.given() || k.hung {
		return
	}
	during, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := k.prepare("the long run", k.Long)
	said := false
	k.stopped(during, c, func() {
		timer := time.NewTimer(beginWait)
		defer timer.Stop()
		select {
		case <-c.heard:
			c.wait(settle)
		case <-c.done:
		case <-timer.C:
		}
		said = c.display.got(c.Says) || c.raw.got(c.Says)
		if c.returned() {
			k.report("cancel", "%s ended before it was cancelled: %q, error %v", c.name, short(c.resp.Output), c.err)
		}
		cancel(ralph.ErrCancelled)
	})
	if said && c.returned() && c.panicked == nil && !strings.Contains(c.resp.Output, c.Says) {
		k.report("partial", "%s had said %q before it was cancelled, and answers %q", c.name, c.Says, short(c.resp.Output))
	}
}

// stopped makes a call whose context is done when stop returns, at the latest.
// The error must not be permanent nor a rate limit: a loop that goes on after
// an interrupt would stop for ever, or wait for nothing.
func (k *runnerKit) stopped(ctx context.Context, c *runnerCall, stop func()) {
	c.start(ctx, nil)
	stop()
	if !c.wait(k.Grace) {
		k.hung = true
		k.report("cancel", "%s after its context was done", c.missing(k.Grace))
		return
	}
	if !k.back(c, "") {
		return
	}
	k.processes(c)
	if c.err == nil {
		k.report("cancel", "%s returned no error although its context was done", c.name)
		return
	}
	if it, err := ending(ralph.Response{}, c.err); err == nil && (it.Fault == ralph.FaultPermanent || it.Fault == ralph.FaultRateLimit) {
		k.report("cancel", "%s returned an error of the kind %q because its context was done: %v", c.name, it.Fault, c.err)
	}
}
