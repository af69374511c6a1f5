package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// statusFlags are the flags of status.
type statusFlags struct {
	shared
	json, watch bool
}

func (f *statusFlags) own(set *flag.FlagSet) {
	set.BoolVar(&f.json, "json", false, "print JSON")
	set.BoolVar(&f.watch, "watch", false, "print it again whenever something has changed, until Ctrl-C")
}

// A standing is where a loop or a run stands, for programs.
type standing struct {
	progress.Entry
	Task       string    `json:"task"`
	Stage      string    `json:"stage,omitempty"`
	Iteration  int       `json:"iteration"`
	Max        int       `json:"max_iterations"` // negative = unlimited
	StartedAt  time.Time `json:"started_at"`
	Promise    string    `json:"completion_promise"`
	NotBefore  time.Time `json:"not_before,omitzero"`
	Left       []string  `json:"left,omitempty"` // command lines of what an interrupted one has left running
	*ofSession           // nil = it is a loop
}

// ofSession is what more is told of the run of a task file.
type ofSession struct {
	Branch    string     `json:"feature_branch"`
	StartTime time.Time  `json:"start_time"`
	EndTime   *time.Time `json:"end_time"`
	Run       int        `json:"iterations_run"`
	Completed int        `json:"tasks_completed"`
	Remaining int        `json:"tasks_remaining"`
}

// stand is where an entry stands; among are the others of its folder.
func stand(e progress.Entry, among []progress.Entry) standing {
	s := e.State
	st := standing{
		Entry: e, Task: s.Task.ID, Stage: s.Task.Agent, Iteration: s.Iteration, Max: cmp.Or(s.Task.Limits.Iterations, 10),
		StartedAt: e.Started, Promise: cmp.Or(s.Task.Promise, ralph.DefaultPromise),
	}
	if e.Status == progress.StatusWaiting {
		st.NotBefore = s.NotBefore()
	}
	if e.Status == progress.StatusInterrupted && s.Running {
		st.Left, _ = ralph.Left(s.Mark) // what cannot be found out is told when it goes on
	}
	if e.Kind != progress.KindSession {
		return st
	}
	if e.Meta["definitions"] != "" { // each has a number of its own
		st.Max = -1
	}
	of := &ofSession{Branch: s.Task.ID, StartTime: e.Started}
	if s.Done() {
		of.EndTime = &e.Active
	}
	of.Remaining, _ = strconv.Atoi(e.Meta["tasks"])
	for _, part := range among {
		if part.Parent != e.Loop || part.Started.Before(e.Started) {
			continue
		}
		if of.Run += part.State.Iteration; !part.State.Done() {
			of.Run--
		}
		if part.State.Stop == ralph.StopVerified {
			of.Completed++
		}
	}
	of.Remaining = max(of.Remaining-of.Completed, 0)
	st.Iteration, st.ofSession = of.Run, of
	if e.Status == progress.StatusRunning {
		st.Iteration++
	}
	return st
}

// standings are where all stand, the first that was begun first, and what cannot be
// read.
func standings(e env, dir *progress.Dir) (all []standing, err error) {
	var entries []progress.Entry
	var errs []error
	for entry, err := range dir.Loops(e.ctx) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		entries = append(entries, entry)
	}
	slices.SortStableFunc(entries, func(a, b progress.Entry) int { return a.Started.Compare(b.Started) })
	begun := map[string]time.Time{}
	for _, entry := range entries {
		begun[entry.Loop] = entry.Started
	}
	for _, entry := range entries {
		if entry.Started.Before(begun[entry.Parent]) && !entry.State.Done() { // of an earlier run of that name
			entry.Status, entry.Holder = progress.StatusInterrupted, nil
		}
		all = append(all, stand(entry, entries))
	}
	return all, errors.Join(errs...)
}

// name is what people call a loop.
func (st standing) name() string {
	name, begun := st.Loop, ralph.Start(st.State.Task).Loop
	if st.Kind == progress.KindLoop && (name == begun || strings.HasSuffix(name, "/"+begun)) {
		name = st.Task
	}
	if st.Stage != "" {
		name += " (" + st.Stage + ")"
	}
	return line(name)
}

// where is the iteration it is at.
func (st standing) where() string {
	text := fmt.Sprintf("iteration %d", st.Iteration)
	if st.Max > 0 {
		text += fmt.Sprintf("/%d", st.Max)
	}
	if st.ofSession != nil {
		text += fmt.Sprintf(" (%d of %s done)", st.Completed, plural(st.Completed+st.Remaining, "task"))
	}
	return text
}

// stands says where a loop or a run stands.
func stands(dir *progress.Dir, e progress.Entry) string {
	return stand(e, parts(dir, e.Loop, e.Started)).where()
}

// who says who holds something, and since when.
func who(h progress.Holder) string { return h.String() + " (" + since(h.Since) + ")" }

// since is how long ago something was.
func since(t time.Time) string { return age(time.Since(t)) + " ago" }

func age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// active is the line of one that somebody runs.
func (st standing) active(since func(time.Time) string) string {
	text := fmt.Sprintf("  %s: %s, started %s", st.name(), st.where(), since(st.Started))
	switch {
	case st.Status == progress.StatusWaiting:
		text += fmt.Sprintf(", waiting until %s", st.NotBefore.Local().Format(time.TimeOnly))
	case st.Status == progress.StatusPaused:
		text += ", paused, last activity " + since(st.Active)
	}
	return text
}

// ended is the line of one that is over.
func (st standing) ended(since func(time.Time) string) string {
	how := string(st.State.Stop)
	if st.ofSession != nil {
		how = string(st.Status)
	}
	return fmt.Sprintf("  %s: %s at %s, %s", st.name(), how, st.where(), since(st.Active))
}

// endedShown is how many of those that are over are shown.
const endedShown = 5

// table is what people are shown. Of a run that is not active its loops are not told.
func table(all []standing, since func(time.Time) string) string {
	var active, interrupted, ended []string
	runs := map[string]standing{}
	for _, st := range all {
		runs[st.Loop] = st
	}
	for _, st := range all {
		run, under := runs[st.Parent]
		switch {
		case under && run.Status == progress.StatusInterrupted && st.Left != nil, st.Status == progress.StatusInterrupted && !under:
			if !under {
				run = st
				interrupted = append(interrupted, fmt.Sprintf("  %s: %s, last activity %s; 'ralph resume %s' goes on", st.name(), st.where(), since(st.Active), word(st.Loop)))
			}
			for _, left := range st.Left {
				interrupted = append(interrupted, fmt.Sprintf("    still running: %s; 'ralph resume %s' ends it", short(left, 60), word(run.Loop)))
			}
		case under && (st.State.Done() || st.Status == progress.StatusInterrupted): // told with the run
		case st.State.Done():
			ended = append(ended, st.ended(since))
		default:
			active = append(active, st.active(since))
		}
	}
	text := "No active Ralph loops.\n"
	if len(active) > 0 {
		text = "Active Ralph Loops:\n" + strings.Join(active, "\n") + "\n"
	}
	if len(interrupted) > 0 {
		text += "Interrupted:\n" + strings.Join(interrupted, "\n") + "\n"
	}
	if len(ended) > 0 {
		text += "Ended last:\n" + strings.Join(ended[max(len(ended)-endedShown, 0):], "\n") + "\n"
	}
	return text
}

// run shows where loops stand.
func (f *statusFlags) run(e env, _ []string) error {
	dir, err := f.found(e)
	if err != nil {
		return err
	}
	last := ""
	for {
		all, err := standings(e, dir)
		if e.ctx.Err() != nil {
			return nil // it was watched until somebody had seen enough
		}
		key, text, made := f.rendered(e, all)
		if made != nil {
			return made
		}
		if shown := fmt.Sprint(key, err); shown != last {
			last = shown
			if o, ok := e.stdout.(*outlet); ok && f.watch && !f.json && tty(e.stdout) {
				o.raw("\x1b[H\x1b[2J")
			}
			fmt.Fprint(e.stdout, text)
			if err != nil {
				e.say("%s", ours{err})
			}
		}
		if !f.watch {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-e.ctx.Done():
			return nil
		}
	}
}

// rendered is what is shown, and a key that is another one when something has
// changed: on a terminal also what the time is.
func (f *statusFlags) rendered(e env, all []standing) (key, text string, err error) {
	text = table(all, since)
	switch {
	case f.json:
	case tty(e.stdout):
		return text, text, nil
	default:
		return table(all, time.Time.String), text, nil
	}
	out, err := json.Marshal(append([]standing{}, all...))
	text = string(progress.PrintableJSON(bytes.ReplaceAll(out, []byte(`\u003c`), []byte("<")))) + "\n"
	return text, text, err
}
