package verifytest

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"
	"time"
)

// broken holds what was found, by the rule that is broken. A verifier that
// breaks a rule does so at most calls, so the kit collects what is found, and
// reports it by rule at the end instead of failing at the first.
type broken map[string][]string

// report notes that a rule is broken. Three different findings of a rule are
// kept: more would say the same. Line breaks go, since a rule is one line of
// the report.
func (b broken) report(rule, format string, args ...any) {
	text := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	if list := b[rule]; len(list) < 3 && !slices.Contains(list, text) {
		b[rule] = append(list, text)
	}
}

// err joins the broken rules, in this order, which is the one of the
// documentation and not of what was found first: the same verifier gets the
// same report. nil = none is broken.
func (b broken) err(rules ...string) error {
	var errs []error
	for _, rule := range rules {
		if list := b[rule]; len(list) > 0 {
			errs = append(errs, fmt.Errorf("%s: %s", rule, strings.Join(list, "; ")))
		}
	}
	return errors.Join(errs...)
}

// labelKey is the key of the label that a call's goroutines carry in profiles.
// The value names the run of the kit and the call, since several kits may run
// at the same time.
const labelKey = "verifytest"

// A routine is one call of what is tested, on a goroutine of its own, so that
// one that never returns cannot hang the kit. What it writes may be read once
// done is closed, and not before.
type routine struct {
	name  string
	label string
	done  chan struct{}
	ended bool          // and not by Goexit; known once done is closed
	took  time.Duration // known once done is closed
}

func newRoutine(name, id string, number int) routine {
	return routine{name: name, label: fmt.Sprintf("%s.%d", id, number), done: make(chan struct{})}
}

// run begins the call, as soon as the gate is closed if there is one. The time
// is taken after the gate has opened: patience with later calls goes by how
// long one takes.
func (r *routine) run(ctx context.Context, gate <-chan struct{}, call func(context.Context)) {
	go func() {
		defer close(r.done) // also if the call ends its goroutine, as t.FailNow does
		if gate != nil {
			<-gate
		}
		start := time.Now()
		pprof.Do(ctx, pprof.Labels(labelKey, r.label), call)
		r.took = time.Since(start)
		r.ended = true
	}()
}

// wait waits for the call to return, for d at most, and reports whether it has.
// A routine that has not returned is left behind; nothing can end a goroutine
// from outside.
func (r *routine) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
	}
	return r.returned()
}

// returned reports whether the call has returned by now. A call whose goroutine
// has ended without returning has not: its results mean nothing.
func (r *routine) returned() bool {
	select {
	case <-r.done:
		return r.ended
	default:
		return false
	}
}

// missing says that the call has not returned, and in which of two ways: a
// verifier that was written with t.FailNow in it looks like one that hangs.
func (r *routine) missing(d time.Duration) string {
	select {
	case <-r.done:
		return fmt.Sprintf("the call with %s ended its goroutine instead of returning (runtime.Goexit, or FailNow of a test)", r.name)
	default:
		return fmt.Sprintf("the call with %s did not return within %v", r.name, d)
	}
}
