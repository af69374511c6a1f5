// Package progresstest helps to test progress logs, and programs that depend on
// them. [TestLog] is the conformance kit for implementations of
// [ralph.ProgressLog]. [FailAfter] returns a log that fails when it is told to.
//
//	func TestMine(t *testing.T) {
//		open := func() (ralph.ProgressLog, error) { return mine.Open(t.TempDir()) }
//		if err := progresstest.TestLog(open, progresstest.Traits{Read: readMine, Shared: true}); err != nil {
//			t.Error(err)
//		}
//	}
//
// The kit takes no *testing.T, so it also works in a program that loads the logs
// of others, and its report can be tested itself.
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

// patience is how long one Append, or one Read, may take. A log that syncs to a
// slow disk, or writes over a network, needs seconds. One that needs half a minute
// for a single event is of no more use than one that hangs.
const patience = 30 * time.Second

// Traits say what a log can do beyond taking events. The zero value claims
// nothing more: the rules that need a trait are then not judged.
//
// They are stated and not found out, because a log that has lost an ability would
// otherwise pass as one that never had it.
type Traits struct {
	// Read returns the events in a log that open has returned, in the order in
	// which they were appended. It is called before the log is closed, because an
	// event is recorded when Append returns, and not when the log is closed: a
	// process that is killed closes nothing. Read is never called concurrently.
	// nil = the log is for people and cannot be read back; then the rules read,
	// fold and whole are not judged.
	Read func(ralph.ProgressLog) ([]ralph.Event, error)

	// Partial says that Read returns less than was appended, but still enough
	// for the fold: [ralph.State.Apply] of what it returns gives the same state.
	// It is for logs that leave out what the state does not depend on. It matters
	// only with Read.
	Partial bool

	// Shared says that several loops may share the log, so that Append may be
	// called concurrently. false = each loop has a log of its own, as a journal
	// does, and the rule concurrent is not judged.
	Shared bool

	// Failing opens a log that cannot record anything, for example on a writer
	// that always fails. nil = it cannot be made to fail, and the rule errors is
	// not judged. An error from Failing itself is fine: a log that cannot be
	// opened loses nothing in silence.
	Failing func() (ralph.ProgressLog, error)
}

// TestLog tests a log. open returns a new, empty one each time; TestLog calls it
// up to five times, and Close of the logs that are [io.Closer]. It returns nil,
// or one error that joins a line for each rule that is broken, with at most three
// examples. A line begins with the rule's name:
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
// is broken is not reported either.
//
// # Why these are the rules
//
//   - returns: a loop waits for Append, so a log that hangs is a loop that hangs,
//     and none of the loop's limits ends it.
//   - append: an error stops the loop. A log that refuses a long answer, or a kind
//     that a later version of this module adds, stops loops that were doing well.
//   - unmodified: the same event goes to other logs and to the loop's own state. A
//     log that shortens an answer in place shortens what is verified.
//   - kept: the caller goes on with the same slices and maps. A log that writes
//     them later records what they have become by then, and one that holds each
//     State and Answer needs memory for the whole session.
//   - cancelled: a cancel is what a log must not miss. If it gives up when the
//     context is done, the cancelled loop looks on record like one that crashed, and
//     the next process runs it again.
//   - errors: work that is not on record is lost by the next crash, and nobody knows
//     which. Each Append must fail, and not only the first one: where loops share a
//     log, the loop that gets the second error has not seen the first.
//   - read: an event that is missing, doubled or out of order makes another history.
//     An iteration that is counted twice spends a budget twice.
//   - fold: resuming starts from the fold. If it loses what was spent, each crash
//     gives the loop a new budget; if it loses advice, a person is not heard.
//   - whole: an audit wants to know what was said and found, also what decides
//     nothing, such as the details of checks and the nanoseconds of times.
//   - concurrent: an event that is written in several pieces is mixed with another
//     loop's, and then neither of the two can be read back.
//   - close: an error of Close comes too late for the loop, which was told by Append
//     that its events are recorded.
//
// # What is not tested
//
// Whether a record survives the end of the process, or a loss of power: the kit
// reads from the log that has just written. Whether several processes may write to
// the log. How fast it is. Whether a log that is opened again goes on from what it
// has. What a log for people writes, since only a person can say what is readable.
// A fault in the middle of a log's life; wrap its writer in one that fails, and
// test that with Failing.
//
// A panic of the log is not recovered: in a test, its stack is what one wants to
// see. Data races are for the race detector to find: run the test with -race. An
// Append that has not returned keeps its goroutine. Several calls of TestLog may
// run at the same time, as long as open gives each a log of its own.
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

// A kit is one run of TestLog. It collects what is broken, by rule, and does not
// stop at the first one, so that an author can mend all of it together.
type kit struct {
	Traits
	open   func() (ralph.ProgressLog, error)
	broken map[string][]string
}

// report notes that a rule is broken, on one line. Three examples of each rule are
// kept: a log that breaks a rule usually does so at every event.
func (k *kit) report(rule, format string, args ...any) {
	line := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	if list := k.broken[rule]; len(list) < 3 && !slices.Contains(list, line) {
		k.broken[rule] = append(list, line)
	}
}

// err lists the rules in the order of the table above, and not in that in which
// they were found: the same log gets the same report.
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

// close closes a log that can be closed, but not one in which a call still hangs:
// Close would wait for the same lock and hang the kit.
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

// append appends one event. ok is false if Append did not return. An Append that
// ends its goroutine, as t.FailNow does, has returned nothing: that is an error.
func (k *kit) append(ctx context.Context, log ralph.ProgressLog, ev ralph.Event) (ok bool, err error) {
	result := errors.New("the call of Append ended its goroutine instead of returning")
	if !soon(func() { result = log.Append(ctx, ev) }) {
		k.report("returns", "Append of %s did not return within %v", ev.Kind, patience)
		return false, nil
	}
	return true, result
}

// takes appends every kind of event, and looks at the events afterwards, and at
// what the log makes of them. The script is made twice, since a copy that shares
// memory with the original would change with it. It reports whether the log is
// sound enough for the other rules.
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

// records appends with a context that is done. Reporting no error is not enough, so
// it also reads back: a log may drop what it has accepted.
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

// complains appends to a log that cannot record. Only the ends of iterations must
// fail: a log may have nothing to write for another kind of event, and then has
// nothing to complain of. Close is called as well, whatever it returns.
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

// sharesAll appends the events of eight loops at once. The events of one loop must
// come back in their order; how the loops are mixed is left to the log.
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
