package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// counts is last, as far as what is on record counts. A merge that was killed always
// does, also in a run that begins anew: the main branch may be half moved.
func (a *Agreed) counts(ctx context.Context) (*State, error) {
	last, err := a.last(ctx)
	if a.p.Anew {
		last, a.rejected = nil, map[string]Event{}
	}
	return last, err
}

// last is where the last run stands on record, nil = there is none. A record that is
// there and cannot be read is an error: to begin anew would do verified work twice, and
// pay twice.
//
// What loops had used when the process died is on their own records, which are asked:
// the budget would otherwise forget what was spent since the last event.
func (a *Agreed) last(ctx context.Context) (*State, error) {
	p := a.p
	if p.Record == nil {
		return nil, nil
	}
	path := p.Record.File(p.name())
	s, events, err := recorded(ctx, path)
	if errors.Is(err, fs.ErrNotExist) { // a run that was killed before it has said where it begins
		s, events, err = recorded(ctx, strings.TrimSuffix(path, ".jsonl")+".last.jsonl")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("pipeline: what is on record of %q cannot be read: %w", p.name(), err)
	}
	var now State
	for _, ev := range events {
		was := now
		if now = was.Apply(ev); now.sends(was, ev) {
			a.rejected[ev.Task] = ev
		}
		switch ev.Kind {
		case EventEnded:
			a.seen[ev.Loop] = ev
		case EventMerging:
			a.merging = &ev
		case EventMerged, EventUnmerged:
			a.merging = nil
		}
	}
	if e, err := p.Record.Look(p.name()); err == nil {
		a.ended = e.State.Done()
	}
	end := events[len(events)-1]
	for _, r := range s.Running { // what a process that died had not told
		e, err := p.Record.Look(p.loopName(s.Loop(r.Part)))
		if err != nil {
			continue // it has not begun, or is told when it goes on
		}
		s = s.Apply(Event{Kind: EventUsed, Task: s.Parts[r.Part].ID, Loop: s.Loop(r.Part), Usage: e.State.Usage,
			Elapsed: end.Elapsed + max(e.Active.Sub(end.Time), 0)})
	}
	return &s, nil
}

// rejects reports whether an event tells why a task's work is not taken.
func (ev Event) rejects() bool {
	return ev.Kind == EventUnmerged || ev.Kind == EventEnded && ev.Stop != "" && ev.Stop != ralph.StopVerified
}

// sends reports whether an event, by which the pipeline came from was to s, is why a
// task's work is not taken. An event that changes nothing is not, and neither is one by
// which a loop waits for more of the budget: that knows nothing of the work, and would
// hide from the agent why it was really sent back.
func (s State) sends(was State, ev Event) bool {
	if !ev.rejects() {
		return false
	}
	part := s.Find(ev.Task)
	return s.stand(part) != was.stand(was.Find(ev.Task)) && s.phase(part) != PhaseInterrupted
}

// loopName is the name on record of a stage's loop: below the pipeline's, so that two
// pipelines may have tasks of the same ID.
func (p *Pipeline) loopName(loop string) string { return p.name() + "/" + loop }

// Recorded returns the state of a pipeline as it is on record, and the events of its
// last run, the oldest first. It may be called while the pipeline runs, here or in
// another process: what is written is whole lines. The error wraps [fs.ErrNotExist] if
// there is none of this name.
//
// The state does not include what running loops have used since they began, see
// [State].
func Recorded(ctx context.Context, dir *progress.Dir, name string) (State, []Event, error) {
	return recorded(ctx, dir.File(name))
}

// recorded reads the events of a pipeline out of the log of its record, which has other
// events too. With an error it returns what could be read until then.
func recorded(ctx context.Context, path string) (State, []Event, error) {
	file, err := ralph.OpenFile(path)
	if err != nil {
		return State{}, nil, err
	}
	defer file.Close()
	var s State
	var events []Event
	for rec, err := range progress.ReadJSONL(file) {
		if err != nil {
			return s, events, err
		}
		if ctx.Err() != nil {
			return s, events, context.Cause(ctx)
		}
		text := rec.Event.Meta[metaEvent]
		if rec.Kind != ralph.EventStep || text == "" {
			continue
		}
		var ev Event
		if err := json.Unmarshal([]byte(text), &ev); err != nil {
			return s, events, fmt.Errorf("line %d: %w", rec.Line, err)
		}
		s, events = s.Apply(ev), append(events, ev)
	}
	if len(events) == 0 {
		return s, nil, fmt.Errorf("%s tells of no pipeline: %w", path, fs.ErrNotExist)
	}
	return s, events, nil
}

// answered is the last answer of a loop that is on record; the zero value if it has
// none.
func answered(dir *progress.Dir, loop string) (last ralph.Response, err error) {
	file, err := ralph.OpenFile(dir.File(loop))
	if err != nil {
		return last, err
	}
	defer file.Close()
	for rec, err := range progress.ReadJSONL(file) {
		if err != nil {
			return last, err
		}
		if rec.Kind == ralph.EventAnswered && rec.Event.Answer != nil {
			last = *rec.Event.Answer
		}
	}
	return last, nil
}

// metaEvent is the key under which an event of a pipeline is on record. It is there as
// text: the log's own form is that of loops, and must stay readable by programs for
// loops.
const metaEvent = "event"

// has reports whether a state has a task as it is planned; nil has none.
func (s *State) has(t Planned) bool {
	if s == nil {
		return false
	}
	i := s.Find(t.ID)
	return i >= 0 && s.Parts[i].Sum == t.Sum
}
