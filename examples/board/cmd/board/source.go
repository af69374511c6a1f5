package main

import (
	"context"
	"errors"
	"io/fs"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ralph-loop/ralph/examples/board"
	"github.com/ralph-loop/ralph/progress"
)

// A source reads what is shown. A model has one look under way at a time, so it needs no
// lock.
type source struct {
	reader board.Reader
	tail   board.Tail
}

// wanted is what is read besides the tree.
type wanted struct {
	loop string // whose details are shown; "" = none
}

// A looked is what a look has found.
type looked struct {
	tree   board.Tree
	detail detail
	err    error
	now    time.Time
	took   time.Duration
}

// A detail is what is read of one loop.
type detail struct {
	loop    string
	left    []string // what a process that has died has left running of it
	history board.History
	output  []string
	err     error
}

// look makes a look, elsewhere.
func (s *source) look(ctx context.Context, w wanted) tea.Cmd {
	return func() tea.Msg {
		began := time.Now()
		tree, err := s.reader.Look(ctx)
		l := looked{tree: tree, err: err}
		if err == nil && w.loop != "" {
			l.detail = s.details(ctx, w.loop)
		}
		l.now = time.Now()
		l.took = l.now.Sub(began)
		return l
	}
}

func (s *source) details(ctx context.Context, loop string) detail {
	d := detail{loop: loop}
	e, err := s.reader.Dir.Look(loop)
	if err == nil {
		d.history, err = s.reader.History(loop)
	}
	if err != nil {
		d.err = err
		return d
	}
	if e.Status == progress.StatusInterrupted {
		d.left = s.reader.Dir.Stand(ctx, e).Left
	}
	if n := len(d.history.Attempts); n > 0 {
		last := d.history.Attempts[n-1]
		d.output, d.err = s.tail.Read(s.reader.Dir.Raw(loop, last.Number, last.Attempt), board.Format(e), e.State.Task.Dir)
		if len(d.output) == 0 && last.Words != "" { // a host, or a runner that keeps no output
			d.output = wrapped(last.Words, 1<<16)
		}
	}
	if errors.Is(d.err, fs.ErrNotExist) {
		d.err = nil
	}
	return d
}
