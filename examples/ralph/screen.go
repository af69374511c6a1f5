package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// A screen shows several agents that work at the same time: on a terminal each has a
// line, which is drawn again in its place, and what they say is in the logs; in a pipe
// what each says has its name before every line.
type screen struct {
	io.Writer // what is not of one agent
	drawn     int

	mu   sync.Mutex
	rows []*row
}

// A row is what a terminal shows of an agent.
type row struct {
	loop, name string
	at, most   int
	since      time.Time
	used       ralph.Usage
}

// Write shows what is not of one agent, above the lines.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.draw()
	s.erase()
	return s.Writer.Write(p)
}

func (s *screen) erase() {
	if o, ok := s.Writer.(*outlet); ok && s.drawn > 0 {
		o.raw(fmt.Sprintf("\x1b[%dA\x1b[J", s.drawn))
	}
	s.drawn = 0
}

// draw draws the lines anew, where there is a terminal.
func (s *screen) draw() {
	if !tty(s.Writer) {
		return
	}
	s.erase()
	for _, r := range s.rows {
		text := fmt.Sprintf("%s: iteration %d/%d, %s%s", r.name, r.at, r.most, time.Since(r.since).Round(time.Second), strings.TrimSuffix(", "+cost(r.used), ", "))
		fmt.Fprintln(s.Writer, short(text, width-1))
		s.drawn++
	}
}

// live draws the lines each second, for time passes, until it is ended.
func (s *screen) live() (end func()) {
	if !tty(s.Writer) {
		return func() {}
	}
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				io.WriteString(s, "")
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-over }
}

// step takes over what happens in the pipeline.
func (s *screen) step(ev pipeline.Event, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.rows, func(r *row) bool { return r.loop == ev.Loop })
	switch {
	case ev.Kind == pipeline.EventBegan && at < 0:
		name := strings.TrimSuffix(ev.Task+"."+ev.Agent, ".")
		s.rows = append(s.rows, &row{loop: ev.Loop, name: line(name), at: 1, most: most, since: time.Now()})
	case at < 0:
		return
	case ev.Kind == pipeline.EventEnded:
		s.rows = slices.Delete(s.rows, at, at+1)
	default:
		s.rows[at].used = ev.Usage
	}
	s.draw()
}

// iteration takes over which iteration a loop is at.
func (s *screen) iteration(ev ralph.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rows {
		if ev.Kind == ralph.EventIterationStarted && strings.HasSuffix(ev.Loop, "/"+r.loop) {
			r.at = ev.Iteration.Number
		}
	}
}

// voice is where what one agent says is shown, out its usual place.
func (s *screen) voice(name string, out io.Writer) io.Writer {
	if tty(s.Writer) {
		return io.Discard
	}
	return &progress.Prefix{W: out, Text: line(name) + " | ", Lock: &s.mu}
}

// talk is the log of a pipeline: it shows what happens in its loops.
func (r *piped) talk() ralph.ProgressLog {
	var mu sync.Mutex
	type mouth struct {
		env
		log ralph.ProgressLog
	}
	mouths := map[string]mouth{} // by the loop
	return ralph.ProgressLogFunc(func(ctx context.Context, ev ralph.Event) error {
		mu.Lock()
		defer mu.Unlock()
		m, begun := mouths[ev.Loop]
		if !begun {
			m.env = r.env
			if r.screen != nil {
				name := strings.TrimSuffix(ev.Task+"."+ev.Agent, ".")
				m.stdout, m.stderr = r.screen.voice(name, r.stdout), r.screen.voice(name, r.screen.Writer)
			}
			task := ralph.Task{}
			if ev.State != nil {
				task = ev.State.Task
			}
			m.log = m.viewed(task, r.record)
			mouths[ev.Loop] = m
		}
		if r.screen != nil {
			r.screen.iteration(ev)
		}
		switch s := ev.State; {
		case ev.Kind == ralph.EventLoopStarted && s != nil:
			fmt.Fprintf(m.stderr, "\n=== %s %s\n", r.stage(ev.Task, ev.Agent), line(s.Task.Title))
			if s.Begun() {
				m.say("%s goes on at iteration %d", r.stage(ev.Task, ev.Agent), s.Iteration)
			}
		case ev.Kind == ralph.EventLoopStopped && s != nil:
			defer report(m.stdout, *s, false)
		case ev.Kind == ralph.EventLimitsChanged && budget(r.p.Rules) != "": // what is left for its next iteration
			return r.record.Append(ctx, ev)
		}
		return m.log.Append(ctx, ev)
	})
}
