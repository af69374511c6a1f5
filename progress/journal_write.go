package progress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file"
)

// append records an event.
//
// That another process has cancelled the loop is told once, by an error that says the
// event is recorded all the same. An event that is itself the cancel needs no telling.
func (j *journal) append(ctx context.Context, ev ralph.Event) error {
	ev = j.d.redacted(plainEvent(ev))
	var err error
	if ev.Kind == ralph.EventLoopStarted {
		err = j.start(ev)
	}
	if err == nil {
		err = j.write(ev)
	}
	if err == nil && ev.Kind == ralph.EventIterationEnded {
		err = j.closeRaw()
	}
	if err != nil {
		return j.failed(err)
	}
	// A Run of this process that goes on with the attempt asks for its answer, and the
	// file is not read again for it.
	switch ev.Kind {
	case ralph.EventAnswered:
		j.answered = &ev
	case ralph.EventIterationStarted, ralph.EventIterationEnded:
		j.answered = nil
	}
	if j.cancel != nil && !j.told {
		j.told = true
		if ev.Kind != ralph.EventCancelled {
			return j.reason()
		}
	}
	return nil
}

// failed says which loop an error is about, unless the error is one of this package and
// says so already.
func (j *journal) failed(err error) error {
	if of := own(err); of == err {
		return err
	}
	return fmt.Errorf("progress: %s: %w", j.name(), err)
}

// own is an error of this package, which begins with its name; nil stays nil. The prefix
// stands once, however many layers an error has come through.
func own(err error) error {
	if err == nil || strings.HasPrefix(err.Error(), "progress: ") {
		return err
	}
	return fmt.Errorf("progress: %w", err)
}

// start makes sure that nobody else runs the loop, and that a new loop has a journal
// of its own.
//
// A loop that begins anew puts the journal of the one before it out of the way, unless
// that one can go on: two loops of one name in one journal could not be told apart.
// Loops of a parent are an exception, for the parent's own record says which of them
// begin again.
func (j *journal) start(ev ralph.Event) error {
	if err := j.take("running"); err != nil {
		return err
	}
	switch {
	case ev.State == nil || j.goesOn:
		return nil
	case ev.State.Begun():
		return j.goOn(*ev.State)
	}
	if there, err := j.earlier(); err != nil || !there {
		return err
	}
	if !j.fresh && j.d.Parent == "" { // whose loops these are knows which of them begin anew
		if err := j.d.finished(j.loop); err != nil {
			return err
		}
	}
	return j.archive()
}

// goOn makes sure that a loop that goes on is told what others have asked for, once.
//
// It was read if the loop was opened, or its Pending was asked. Else it was let go of
// since, and what others have asked for, or a cancel, is not known.
//
// Advice is the one request that does more when it is taken over twice. Which of it a
// state has is seen by comparing: a driver has the state that it was left with, which has
// none, or one that the record has shown at some time since.
func (j *journal) goOn(s ralph.State) error {
	if !j.ready {
		if err := j.refresh(); isCorrupt(err) {
			return nil // that is said by who opens it
		} else if err != nil {
			return err
		}
	}
	advice := 0
	for _, r := range j.asked {
		if len(j.guidance) > 0 && asks(r.ev) == ralph.EventGuided {
			advice++
		}
	}
	for without := max(len(j.guidance)-advice, 0); advice > 0; advice-- {
		if slices.Equal(s.Guidance, j.guidance[:min(without+advice, len(j.guidance))]) {
			break
		}
	}
	j.asked = slices.DeleteFunc(j.asked, func(r request) bool {
		taken := advice > 0 && asks(r.ev) == ralph.EventGuided
		if taken {
			advice--
		}
		return taken
	})
	j.guidance = nil
	return nil
}

// isCorrupt reports whether an error is that of a journal that cannot be read. Whoever
// only appends need not care; whoever opens it is told.
func isCorrupt(err error) bool {
	_, is := errors.AsType[*CorruptError](err)
	return is
}

// archive keeps the journal as that of the last loop of its name.
//
// The raw output moves first: a crash in between leaves the journal where it is, with
// its raw output under the last one's name, which costs a look at old output and no
// loop.
func (j *journal) archive() error {
	disk, base := j.d.on(), strings.TrimSuffix(j.path, ".jsonl")
	err := j.shut()
	if err == nil {
		err = disk.RemoveAll(base + ".last.raw")
	}
	if err == nil {
		err = j.d.moveRaw(base+".raw", base+".last.raw")
	}
	if err == nil {
		err = disk.Rename(j.path, base+".last.jsonl")
	}
	if err == nil {
		err = j.d.sync(j.d.Path)
	}
	if err == nil {
		j.onFile = onFile{}
	}
	return err
}

// write writes a line. Nothing of one that could not be written whole is left.
//
// Each line that takes over requests says up to which place in the file it does. So a
// reader needs no second record of what was dealt with, and a crash between a request
// and its effect loses neither: what lies behind that place is still to be done.
func (j *journal) write(ev ralph.Event) error {
	known, ready := j.end, j.ready
	f, err := j.writing()
	if err != nil {
		return err
	}
	if !ready {
		known = j.end
	}
	l := journalLine{Kind: ev.Kind, Event: ev}
	if j.end == 0 {
		l.Journal = &about{V: ralph.Version, Kind: cmp.Or(j.kind, KindLoop), Loop: j.loop, Parent: j.d.Parent}
	}
	switch class(ev.Kind) {
	case ralph.EventLoopStarted:
		j.again = j.end > 0
		l.Taken = max(known, j.handed)
		l.Advised = l.Taken
		for _, r := range j.asked {
			if asks(r.ev) == ralph.EventGuided {
				l.Advised = min(l.Advised, r.end-1)
			} else {
				l.Taken = min(l.Taken, r.end-1)
			}
		}
	case ralph.EventLoopStopped:
		// By these two a reader knows that the end alone does not tell everything.
		l.Asked, l.Again = len(j.asked) > 0, j.again
	case ralph.EventGuided, ralph.EventPaused, ralph.EventLimitsChanged, ralph.EventReopened:
		l.Taken = j.handed
	}
	text, err := jsonLine(l)
	if err == nil {
		err = j.put(f, text, true)
	}
	if err == nil {
		j.end += int64(len(text))
		j.own = j.end
	}
	if err = errors.Join(err, f.Unlock()); err != nil {
		return errors.Join(err, f.Close())
	}
	j.file = f // for the next line
	return j.fixName()
}

// fixName makes the file's name durable: who made the file may have died before that. A
// file that is synced and whose name is not is lost with the power.
func (j *journal) fixName() error {
	if j.named {
		return nil
	}
	err := j.d.sync(filepath.Dir(j.path))
	j.named = err == nil
	return err
}

// put adds bytes to the file, durably if that is wanted, or nothing. A line that is
// there in part, or is there though Append has said that it is not, would be believed
// by the next reader.
//
// If it cannot be taken away either, the next writer finds a line without an end and
// puts it aside.
func (j *journal) put(f file.Handle, text []byte, durable bool) error {
	_, err := f.Write(text)
	end := j.end
	if err == nil && durable && !j.d.NoSync {
		if err = f.Sync(); err != nil && j.firm > 0 { // who fails to sync a line loses the bytes before it that were not synced
			end = j.firm
		}
	}
	if err != nil {
		if cut := f.Truncate(end); cut == nil {
			_ = f.Sync() // else it is put aside when the file is next written to
		}
	}
	return err
}
