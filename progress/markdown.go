package progress

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
)

// Markdown writes progress.txt, the diary that people and agents read: a header, a
// section of patterns in which the agent keeps what holds for the whole code base, and
// one section for each iteration. An agent that begins with fresh context learns from
// it what earlier iterations have found out. [ReadMarkdown] reads it back.
//
// A section is written as soon as its iteration is settled, which is when it
// will not be run again: retries of an iteration share one section, with the
// outcome of the last. One that is interrupted is not settled until the loop is
// run again or stopped. If a driver does not tell the loop's state (it sends no
// loop_started event), an iteration is settled when the next one starts or the
// loop stops.
//
// What stands in the file is never rewritten, and the file is not kept open, so
// that the agent may edit or replace it between iterations. Each section is
// appended with one Write, at a cost that does not depend on the file's size.
// Sections are numbered on from the last one in the file, over all loops and
// sessions; two processes that append at the same moment may give the same
// number. A section that a crash has cut off is ended before the next one.
//
// A file that cannot be written is an error; the section is tried again with
// the loop's next event. What is recorded survives the process, but is not
// forced to the disk. One Markdown may serve many loops concurrently.
type Markdown struct {
	// Path is the file, required. Its folder must exist. The file is for all who work
	// there: a new one has the mode that the umask gives. Otherwise it must be what
	// [OpenJSONL] asks of a log: a regular file with one name, no link, and not a
	// stranger's.
	Path string
	// Feature stands in the header of a new file. "" = the name of the folder
	// that holds the file.
	Feature string

	mu    sync.Mutex
	loops map[string]*pending
}

var _ ralph.ProgressLog = (*Markdown)(nil)

// A Section is what progress.txt tells about one iteration.
type Section struct {
	// Number is that in the file, from 1: it counts on over all loops and sessions, so it
	// is not the iteration's own.
	Number int
	// Task is the task's ID, in which blanks are underscores, and Title its title.
	Task  string
	Title string
	// Time is when the iteration began, in UTC and whole seconds; zero = not told.
	Time time.Time
	// Status is success, failure or skipped; "" = not told.
	Status ralph.Outcome
	// Files are those that changed, of which at most 200 are written; Learnings what the
	// agent says it learned, at most 20 of at most 500 bytes.
	Files     []string
	Learnings []string
	// Notes is what others wrote between this section and the next; Markdown writes none.
	Notes string
}

// A pending iteration is the last one of a loop, until it is in the file. It has only
// what its section needs: the answers of agents are long, and loops many.
type pending struct {
	at      position
	title   string
	number  int             // of the iteration, in its loop; 0 = none
	ended   bool            // at least one attempt has ended
	last    ralph.Iteration // the attempt that ended last; its lists are not kept
	said    []string        // the learnings of the answer to come
	section Section
}

// Append takes note of an event, and writes the section of an iteration that is
// settled.
//
// It blocks for the time of a write. The error names the file; the event counts as
// noted all the same.
func (m *Markdown) Append(_ context.Context, ev ralph.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Path == "" {
		return errors.New("progress: Markdown has no Path")
	}
	p := m.loops[ev.Loop]
	if p == nil {
		p = &pending{}
		set(&m.loops, ev.Loop, p)
	}
	p.at.apply(ev)
	switch ev.Kind {
	case ralph.EventLoopStarted:
		p.start(ev)
		return m.write(ev.Time, nil)
	case ralph.EventIterationStarted:
		if p.ended && p.number != ev.Iteration.Number {
			if err := m.flush(ev.Time, p); err != nil {
				return err
			}
		}
		p.begin(ev.Iteration)
	case ralph.EventAnswered:
		if ev.Answer != nil {
			p.said = Learnings(ev.Answer.Output)
		}
	case ralph.EventIterationEnded:
		return m.ended(ev, p)
	case ralph.EventLoopStopped:
		if err := m.flush(ev.Time, p); err != nil {
			return err
		}
		delete(m.loops, ev.Loop)
	}
	return nil
}

// ended writes the section of an attempt that was its iteration's last. A log may be
// told an event twice, by a driver that resumes; a section must not stand there twice.
func (m *Markdown) ended(ev ralph.Event, p *pending) error {
	it := ev.Iteration
	order := cmp.Or(cmp.Compare(it.Number, p.last.Number), cmp.Compare(it.Attempt, p.last.Attempt))
	if order < 0 && it.Outcome != ralph.OutcomeSkipped || order == 0 && it.Outcome == p.last.Outcome {
		return nil // told twice
	}
	if p.ended && p.number != it.Number {
		if err := m.flush(ev.Time, p); err != nil {
			return err
		}
	}
	p.end(ev)
	if it.Outcome == ralph.OutcomeSkipped || p.at.settled(it) {
		return m.flush(ev.Time, p)
	}
	return nil
}

// flush writes what is pending. What could not be written stays pending, for the next
// event.
func (m *Markdown) flush(now time.Time, p *pending) error {
	if !p.ended {
		return nil
	}
	if err := m.write(now, &p.section); err != nil {
		return err
	}
	p.number, p.ended, p.section = 0, false, Section{}
	return nil
}

// start takes note of a loop that starts or goes on. What another process has done
// meanwhile is in the file by its own log.
func (p *pending) start(ev ralph.Event) {
	p.last = ralph.Iteration{}
	if ev.State == nil {
		return
	}
	p.title = ev.State.Task.Title
	if ev.State.Iteration != p.number { // another process has gone on with it
		p.number, p.ended, p.section = 0, false, Section{}
	}
}

// begin takes note of an attempt; the first one says when the iteration began.
func (p *pending) begin(it ralph.Iteration) {
	if p.number != it.Number {
		p.number, p.ended, p.section = it.Number, false, Section{}
	}
	if p.section.Time.IsZero() {
		p.section.Time = it.Start
	}
	p.said = nil
}

// end adds what an attempt did to its iteration.
//
// The files and learnings of all attempts are kept, the outcome only of the last: a
// retry that succeeds is a success, and what the attempt before it has changed is still
// changed.
func (p *pending) end(ev ralph.Event) {
	it := ev.Iteration
	said := p.said
	p.begin(it)
	s := &p.section
	if s.Time.IsZero() {
		s.Time = cmp.Or(it.End, ev.Time)
	}
	s.Task, s.Title = ev.Task, p.title
	switch it.Outcome {
	case ralph.OutcomeSuccess, ralph.OutcomeSkipped:
		s.Status = it.Outcome
	default: // the form knows no other
		s.Status = ralph.OutcomeFailure
	}
	if len(it.Learnings) > 0 {
		said = it.Learnings
	}
	s.Files = union(s.Files, it.Files)
	s.Learnings = union(s.Learnings, said)
	p.ended = true
	p.last = ralph.Iteration{Number: it.Number, Attempt: it.Attempt, Outcome: it.Outcome}
}

// union adds what is new to a list that is bounded whatever comes. Without the bound an
// agent that touches a million files would be kept in memory until its iteration is
// settled.
func union(list, more []string) []string {
	for _, text := range more {
		if len(list) >= maxFiles {
			break
		}
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}
