// Package progresstest helps to test progress logs and what depends on them:
// [TestLog] is the conformance kit for implementations of [ralph.ProgressLog],
// [FailAfter] a log that misbehaves.
package progresstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
)

// patience is how long one Append, or one Read, may take.
const patience = 30 * time.Second

// Traits say what a log can do beyond taking events. The zero value claims
// nothing more.
type Traits struct {
	// Read returns the events in a log that open has returned, in the order in
	// which they were appended. It is called before the log is closed, for
	// what is appended is recorded. nil = the log is for people and cannot be
	// read back.
	Read func(ralph.ProgressLog) ([]ralph.Event, error)

	// Partial says that Read returns less than was appended, but still enough
	// for the fold: [ralph.State.Apply] of what it returns.
	Partial bool

	// Shared says that loops may share the log, so that Append may be called
	// concurrently.
	Shared bool

	// Failing opens a log that cannot record anything, for example on a writer
	// that always fails. nil = it cannot be made to fail. An error from Failing
	// itself is fine: then the log cannot even be opened.
	Failing func() (ralph.ProgressLog, error)
}

// TestLog tests a log. open returns a new, empty one each time; TestLog calls it
// up to six times, and Close of the logs that are [io.Closer]. It returns nil,
// or one error that joins a line for each rule that is broken. A line begins
// with the rule's name:
//
//	open        open returns a log and no error
//	returns     Append and Read return, within half a minute
//	append      every kind of event is taken without an error, with texts of many lines or of
//	            100 KiB, without State and Answer, and of a kind that is not known yet
//	unmodified  the event is not written to: State, Answer, Meta, lists
//	kept        nothing of the event is used once Append has returned; its State and Answer are
//	            not even held, for they may be large
//	cancelled   an Append whose context is done still records
//	errors      a log that cannot record says so: each Append of an iteration's end fails
//	read        Read returns every event once, in order; not if Partial
//	fold        what Read returns folds to the state that the appended events fold to
//	whole       Read returns the events as they were appended, as JSON; not if Partial
//	concurrent  appends from eight goroutines at once succeed, and none is lost or torn
//	close       Close of a log that has it returns no error
//
// The rules read, fold and whole are judged in this order, and only the first
// that is broken is reported. A rule that cannot be judged because another one
// is broken is not reported either. A panic of the log is not recovered; data
// races are for the race detector to find.
func TestLog(open func() (ralph.ProgressLog, error), traits Traits) error {
	if open == nil {
		return errors.New("open: it is nil")
	}
	k := &kit{Traits: traits, open: open, broken: map[string][]string{}}
	if k.takes() {
		k.forgets()
		k.records()
		if k.Shared {
			k.sharesAll()
		}
	}
	if k.Failing != nil {
		k.complains()
	}
	return k.err()
}

// A kit is one run of TestLog.
type kit struct {
	Traits
	open   func() (ralph.ProgressLog, error)
	broken map[string][]string
}

func (k *kit) report(rule, format string, args ...any) {
	line := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	if list := k.broken[rule]; len(list) < 3 && !slices.Contains(list, line) {
		k.broken[rule] = append(list, line)
	}
}

func (k *kit) err() error {
	var errs []error
	for _, rule := range []string{
		"open", "returns", "append", "unmodified", "kept", "cancelled", "errors", "read", "fold", "whole", "concurrent", "close",
	} {
		if list := k.broken[rule]; len(list) > 0 {
			errs = append(errs, fmt.Errorf("%s: %s", rule, strings.Join(list, "; ")))
		}
	}
	return errors.Join(errs...)
}

// with opens a log, lets use work with it, and closes it.
func (k *kit) with(use func(ralph.ProgressLog)) bool {
	log, err := k.open()
	if err != nil || log == nil {
		k.report("open", "open returned %v and error %v", log, err)
		return false
	}
	use(log)
	k.close(log)
	return true
}

func (k *kit) close(log ralph.ProgressLog) {
	if c, ok := log.(io.Closer); ok && len(k.broken["returns"]) == 0 {
		if err := c.Close(); err != nil {
			k.report("close", "%v", err)
		}
	}
}

// soon calls f on a goroutine of its own, so that an f that never returns cannot
// hang the kit, and none of its stack keeps an event alive.
func soon(f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// append appends one event. ok is false if Append did not return.
func (k *kit) append(ctx context.Context, log ralph.ProgressLog, ev ralph.Event) (ok bool, err error) {
	result := errors.New("the call of Append ended its goroutine instead of returning")
	if !soon(func() { result = log.Append(ctx, ev) }) {
		k.report("returns", "Append of %s did not return within %v", ev.Kind, patience)
		return false, nil
	}
	return true, result
}

// takes appends every kind of event, and looks at the events afterwards, and at
// what the log makes of them.
func (k *kit) takes() bool {
	opened := true
	for _, script := range []func() []ralph.Event{verified, cancelled} {
		opened = opened && k.with(func(log ralph.ProgressLog) {
			given, want := script(), script()
			for i, ev := range given {
				ok, err := k.append(context.Background(), log, ev)
				if !ok {
					return
				}
				if err != nil {
					k.report("append", "%s: %v", ev.Kind, err)
				}
				if !reflect.DeepEqual(ev, want[i]) {
					k.report("unmodified", "%s: %s", ev.Kind, differing(want[i], ev))
				}
			}
			k.compare(log, want)
		})
	}
	return opened && len(k.broken["returns"])+len(k.broken["append"]) == 0
}

// records appends with a context that is done.
func (k *kit) records() {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ralph.ErrCancelled)
	k.with(func(log ralph.ProgressLog) {
		want := cancelled()
		for _, ev := range cancelled() {
			ok, err := k.append(ctx, log, ev)
			switch {
			case !ok:
				return
			case err != nil:
				k.report("cancelled", "%s was refused: %v", ev.Kind, err)
				return
			}
		}
		if k.readable() {
			if got, ok := k.read(log); ok {
				if diff := disagree(want, got, k.Partial); diff != "" {
					k.report("cancelled", "%s", diff)
				}
			}
		}
	})
}

// complains appends to a log that cannot record.
func (k *kit) complains() {
	log, err := k.Failing()
	if err != nil {
		return
	}
	if log == nil {
		k.report("open", "Failing returned neither a log nor an error")
		return
	}
	for _, ev := range verified() {
		ok, err := k.append(context.Background(), log, ev)
		if !ok {
			return
		}
		if err == nil && ev.Kind == ralph.EventIterationEnded {
			k.report("errors", "Append of %s reported success although the log cannot record", ev.Kind)
		}
	}
	if c, ok := log.(io.Closer); ok {
		c.Close() // it may well fail
	}
}

// sharesAll appends the events of eight loops at once.
func (k *kit) sharesAll() {
	const loops = 8
	k.with(func(log ralph.ProgressLog) {
		gate := make(chan struct{})
		errs := make([]error, loops)
		var wg sync.WaitGroup
		for i := range loops {
			wg.Go(func() {
				<-gate
				for _, ev := range many(i) {
					if errs[i] == nil {
						errs[i] = log.Append(context.Background(), ev)
					}
				}
			})
		}
		close(gate)
		if !soon(wg.Wait) {
			k.report("concurrent", "appends from eight goroutines did not end within %v", patience)
			return
		}
		if err := errors.Join(errs...); err != nil {
			k.report("concurrent", "%v", err)
			return
		}
		if !k.readable() {
			return
		}
		got, ok := k.read(log)
		if !ok {
			return
		}
		total := 0
		for i := range loops {
			want := many(i)
			mine := slices.DeleteFunc(slices.Clone(got), func(ev ralph.Event) bool { return ev.Loop != want[0].Loop })
			total += len(mine)
			if diff := disagree(want, mine, k.Partial); diff != "" {
				k.report("concurrent", "of loop %d of %d: %s", i+1, loops, diff)
			}
		}
		if total != len(got) {
			k.report("concurrent", "Read returned %d events of loops that there were not", len(got)-total)
		}
	})
}
