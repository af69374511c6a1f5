package progress

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"iter"
	"maps"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file"
)

var _ ralph.Store = (*Dir)(nil)

// Update implements [ralph.Store]: the loop of a session has a journal, of [KindHook],
// that is named after the session. An update is one step among all processes; where the
// file system has no locks, only among those that share the Dir. It waits for the
// updates of others, also beyond the end of ctx: a process that is suspended in one
// holds up the rest. A change of the loop is durable when Update returns. A change that
// only says which process deals with an event is not forced to the disk, since no
// process survives a loss of power. What is kept is redacted. change may be called
// again if another process is faster; the last call counts.
//
// The state that change is given holds what other processes have asked for by
// [Dir.Pause] and its like; the next change records that as done. For a loop that is
// over, also by another process's cancel, change is given the zero HookState;
// [Dir.Look] still tells of that loop, and the session's next one begins another
// journal. A state that is removed before its loop is over counts as cancelled.
//
// It works whoever holds the session, see [Dir.Hold]. The Dir must not be a Log of the same
// [ralph.Hook]. The error is a [*CorruptError] if the journal cannot be read.
func (d *Dir) Update(ctx context.Context, session string, change func(ralph.HookState) (ralph.HookState, error)) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case session == "":
		return ralph.ErrNoSession
	case d.Path == "":
		return errors.New("progress: Dir has no Path")
	case !utf8.ValidString(session):
		return fmt.Errorf("progress: session %q: its ID is not valid UTF-8", session)
	}
	turn := d.turn(session)
	turn.Lock()
	defer turn.Unlock()
	u := &updating{j: &journal{d: d, loop: session, path: d.File(session)}, change: change}
	// A session without a loop is asked about at each of its events: no file must be
	// made for it, and no lock taken.
	if _, err := os.Lstat(u.j.path); errors.Is(err, fs.ErrNotExist) {
		if to, err := u.ask(ralph.HookState{}); err != nil || to.IsZero() {
			return err
		}
	} else {
		d.mu.Lock()
		d.made = true // durably, before there was a journal in it
		d.mu.Unlock()
	}
	for {
		if again, err := u.try(); err != nil || !again {
			return err
		}
	}
}

// turn is the lock by which the updates of a session by this process follow each other.
// There are a few of them for all sessions, so that they need no clean-up; two sessions
// that share one wait for each other for the time of a write.
func (d *Dir) turn(session string) *sync.Mutex {
	h := fnv.New32a()
	h.Write([]byte(session))
	return &d.turns[h.Sum32()%uint32(len(d.turns))]
}

// updating is one Update. The call of change for a session without a loop is kept:
// whether there is an earlier journal to put away is known only under the lock, and
// change should not be called for that twice.
type updating struct {
	j      *journal
	change func(ralph.HookState) (ralph.HookState, error)
	anew   *ralph.HookState // what change makes of no loop
}

// ask returns what change makes of a state. change gets a copy made through JSON, so
// that it can neither keep a part of what is compared afterwards nor see what the
// record would not hold.
func (u *updating) ask(from ralph.HookState) (ralph.HookState, error) {
	if from.IsZero() && u.anew != nil {
		return *u.anew, nil
	}
	given := ralph.HookState{}
	if !from.IsZero() {
		if err := json.Unmarshal(asJSON(from), &given); err != nil { // so that it shares nothing with it
			return from, u.j.failed(err)
		}
	}
	to, err := u.change(given)
	if err != nil {
		return to, err
	}
	switch {
	case !to.IsZero():
		to.Session = u.j.loop
		ev := plainEvent(ralph.Event{State: &to.State, Iteration: to.Last})
		to.State, to.Last = *ev.State, ev.Iteration
		to.Asked, to.Until, to.Recovering = to.Asked.UTC(), to.Until.UTC(), to.Recovering.UTC()
	// A state that is removed while its loop goes on was cancelled by whoever removed
	// it: a journal cannot say "nothing".
	case !from.IsZero():
		to = from
		to.State = to.State.Cancel("cleared")
	}
	if from.IsZero() {
		u.anew = &to
	}
	return to, nil
}

// try changes the state, unless there is a journal of an earlier loop, which it puts
// out of the way. Nothing is written if nothing has changed: most events of a host
// concern sessions without a loop.
func (u *updating) try() (again bool, err error) {
	u.j.onFile = onFile{}
	f, err := u.j.writing()
	if err != nil {
		return false, u.j.failed(err)
	}
	defer f.Close()
	defer f.Unlock()
	t, err := u.tell(f)
	if err != nil {
		return false, u.j.failed(err)
	}
	now := *t
	if err := now.finish(); err != nil {
		return false, u.j.failed(err)
	}
	from := now.session()
	if from.State.Done() {
		from = ralph.HookState{}
	}
	to, err := u.ask(from)
	if err != nil || same(from, to) {
		return false, err
	}
	// The journal is that of a loop which is over. It is put away first, and the update
	// is tried again, on a file of its own.
	if again = from.IsZero() && t.end > 0; !again {
		err = u.record(f, t, now.session().State, to)
	} else {
		if runtime.GOOS == "windows" { // nothing that is open is renamed there
			_, _ = f.Unlock(), f.Close()
		}
		err = u.j.archive()
	}
	return again, u.j.failed(err)
}

// tell reads the journal as far as it tells of the session as it is. A loop of another
// kind under the session's name is refused, and not overwritten.
func (u *updating) tell(f file.Handle) (*telling, error) {
	t, err := tellLines(f, u.j.path, false)
	switch {
	case err != nil || t.end == 0:
		return t, err
	case t.about.Loop != u.j.loop:
		return t, misplaced(u.j.path, t.about.Loop)
	case t.about.Kind != KindHook:
		return t, fmt.Errorf("progress: %q is the name of a %s on record here, not of a session", u.j.loop, t.about.Kind)
	}
	return t, nil
}

// record writes what has become of a session.
//
// Before it is written the lines are read back, as the next process will read them, and
// compared with what was wanted. A state that JSON cannot hold is thus an error here
// and not a surprise there.
func (u *updating) record(f file.Handle, t *telling, asked ralph.State, to ralph.HookState) error {
	lines, want, durable := u.lines(t, asked, to)
	var text []byte
	is := *t
	is.taken = maps.Clone(t.taken)
	for _, line := range lines {
		one, err := jsonLine(line)
		// A line that cannot be read back would end the session for good.
		if err == nil && len(one) > maxJSONLine {
			err = fmt.Errorf("its state has more than %d bytes", maxJSONLine)
		}
		if err == nil {
			err = is.read(foundLine{text: one, path: u.j.path, number: 1 + min(is.end, 1), start: is.end, end: is.end + int64(len(one))}, false)
		}
		if err != nil {
			return err
		}
		text = append(text, one...)
	}
	err := is.finish()
	if err == nil && !same(is.session(), want) {
		err = errors.New("its state cannot be kept: another one would be read")
	}
	if err == nil && t.end == 0 {
		err = u.j.fixName() // before there is anything in it
	}
	if err != nil {
		return err
	}
	u.j.firm = t.hook.firm
	return u.j.put(f, text, durable)
}

// hookWhole is how many bytes there may be in a journal after a whole state of a
// session, before it is written again: it is looked for from the end. Without that a
// session of weeks would be read from its beginning at each event; with a whole state
// on every line the journal would be as large as all states together.
const hookWhole = 64 << 10

// lines are those that tell what has become of a session, and the state that is to be read
// of them: one line, and one more for the end of a loop if it has also another event. They
// are to be durable if they tell of the loop. Asked is the loop with what others have asked
// for: also who puts back what it was before takes that over.
//
// What is redacted is what will be read, so it is that which must equal the state that
// was wanted.
func (u *updating) lines(t *telling, asked ralph.State, to ralph.HookState) (lines []journalLine, want ralph.HookState, durable bool) {
	before := t.session()
	starts, ended := t.end == 0, !same(to.Last, before.Last)
	durable = starts || ended || !same(to.State, before.State) || !same(to.State, asked)
	whole := durable || t.end-t.hook.whole > hookWhole
	if want = to; whole {
		ev := u.j.d.redacted(ralph.Event{State: &to.State, Iteration: to.Last})
		want.State, want.Last = *ev.State, ev.Iteration
	}
	want.Failed = u.j.d.redacted(ralph.Event{Text: to.Failed}).Text

	rest := want
	rest.Session, rest.State, rest.Last, rest.Failed = "", ralph.State{}, ralph.Iteration{}, ""
	ev := plainEvent(ralph.Event{Loop: u.j.loop, Task: to.State.Task.ID, Agent: to.State.Task.Agent, Text: want.Failed})
	for _, kind := range hookKinds(starts, ended, before.State.Done(), to.State.Done()) {
		line := journalLine{Kind: kind, Hook: &rest, Event: ev}
		line.Event.Kind = kind
		if whole {
			s := want.State
			// The task is by far the largest part and does not change: only the first
			// and the last line have it, which are read by themselves.
			if kind != ralph.EventLoopStarted && kind != ralph.EventLoopStopped && same(s.Task, t.hook.first) && same(s.Task, before.State.Task) {
				s.Task = ralph.Task{}
			}
			line.Taken, line.Event.State, line.Event.Iteration = t.end, &s, want.Last
		}
		lines = append(lines, line)
	}
	if starts {
		lines[0].Journal = &about{V: ralph.Version, Kind: KindHook, Loop: u.j.loop, Parent: u.j.d.Parent}
	}
	return lines, want, durable
}

// hookKinds are the events that tell what has become of a session. They are those that
// a loop of ralph.Local would have, so that everything that reads journals reads these.
// Of a loop that is over on record, and goes on by what others have asked for, an end
// alone would not be read.
func hookKinds(starts, ended, over, stops bool) (kinds []ralph.EventKind) {
	switch {
	case starts:
		kinds = append(kinds, ralph.EventLoopStarted)
	case ended:
		kinds = append(kinds, ralph.EventIterationEnded)
	case !stops || over:
		kinds = append(kinds, ralph.EventHook)
	}
	if stops {
		kinds = append(kinds, ralph.EventLoopStopped)
	}
	return kinds
}

// same reports whether two values are the same on record. What differs only in the zone
// of a time, or in nil for an empty list, is the same there.
func same[T any](a, b T) bool {
	return reflect.DeepEqual(a, b) || bytes.Equal(asJSON(a), asJSON(b))
}

// asJSON is a value as it is recorded, nil if it cannot be. It is compared and copied,
// and never written as it is.
func asJSON(v any) []byte {
	text, _ := json.Marshal(v) // what cannot be recorded is told by who records it
	return text
}

// All implements [ralph.Store]: it yields the states of the sessions whose loops are
// not over, and errors as [Dir.Loops] does. They are read one after the other, as they
// are at that moment.
func (d *Dir) All(ctx context.Context) iter.Seq2[ralph.HookState, error] {
	return func(yield func(ralph.HookState, error) bool) {
		for path, err := range d.paths(ctx) {
			var x ralph.HookState
			if err == nil {
				x, err = d.sessionAt(path)
			}
			if (err != nil || x.Active()) && !yield(x, err) {
				return
			}
		}
	}
}

// sessionAt is where a session stands whose journal a file is; zero = it is none. Most
// files in a folder are of other kinds, so the first line is looked at before the rest
// is read.
func (d *Dir) sessionAt(path string) (x ralph.HookState, err error) {
	f, err := d.on().Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return x, nil
	}
	if err != nil {
		return x, own(err)
	}
	defer f.Close() // it was only read
	info, err := f.Stat()
	if err != nil {
		return x, own(err)
	}
	first, err := beginning(f, path, info.Size())
	if none := errors.Is(err, errNothing); none || err == nil && first.Journal != nil && first.Journal.Kind != KindHook {
		return x, nil
	}
	if err != nil {
		return x, own(err)
	}
	t, err := tellFrom(f, path, false)
	if err == nil && d.File(t.about.Loop) != path {
		err = misplaced(path, t.about.Loop)
	}
	if err != nil {
		return x, own(err)
	}
	return t.session(), nil
}

// Hold holds a loop, or a session, for a process that stays with it without driving it
// by a [Journal], as one that listens to a client's hooks does. It is the Holder that
// others are told of; nobody else can hold the loop, and it cannot be removed. what
// tells others what the process does. [Dir.Update] works for all processes, whoever
// holds the session.
//
// The error is a [*HeldError] if a process holds the loop already, be it this one; it
// wraps [errors.ErrUnsupported] where the file system has no locks.
func (d *Dir) Hold(loop, what string) (*Hold, error) {
	if loop == "" {
		return nil, errors.New("progress: nothing is held without the name of a loop")
	}
	if err := d.Make(); err != nil {
		return nil, err
	}
	return hold(d.file(loop, ".lock"), fmt.Sprintf("loop %q", loop), strings.TrimSpace(what))
}
