package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
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

// run shows where loops stand.
func (f *statusFlags) run(e env, _ []string) error {
	dir, err := f.found(e)
	if err != nil {
		return err
	}
	for last := ""; ; {
		all, unread := pipeline.Standings(e.ctx, dir)
		if e.ctx.Err() != nil { // who watched it has seen enough
			return nil
		}
		text, key, err := f.text(all, tty(e.stdout))
		if key = fmt.Sprint(key, unread); key != last {
			last = key
			if o, ok := e.stdout.(*outlet); ok && f.watch && !f.json && tty(o) {
				o.raw("\x1b[H\x1b[2J")
			}
			if !f.json {
				text = progress.PrintableWrap(text, "     ", columnsOf(e.stdout))
			}
			io.WriteString(e.stdout, text)
			if unread != nil {
				e.say("%s", ours{unread})
			}
		}
		if !f.watch || err != nil {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-e.ctx.Done():
		}
	}
}

// text is what is shown, and what of it tells whether something has changed: on a
// terminal also that time has passed.
func (f *statusFlags) text(all []pipeline.Standing, terminal bool) (text, key string, err error) {
	if f.json {
		text, err = asJSON(all, "")
		return text, text, err
	}
	if text = table(all, time.Now()); terminal {
		return text, text, nil
	}
	return text, table(all, time.Time{}), nil
}

// asJSON is JSON that may be shown.
func asJSON(v any, indent string) (string, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return string(progress.PrintableJSON(text.Bytes())), err
}

// endedShown is how many of those that are over are shown.
const endedShown = 5

// table is what people are shown. Of a run that is not active its loops are not told.
func table(all []pipeline.Standing, now time.Time) string {
	var active, interrupted, ended []string
	runs := map[string]pipeline.Standing{}
	for _, st := range all {
		runs[st.Loop] = st
	}
	for _, st := range all {
		run, under := runs[st.Parent]
		if !under {
			run = st
		}
		text := "  " + st.Line(now)
		switch {
		case st.Status == progress.StatusInterrupted && run.Status == progress.StatusInterrupted:
			again := fmt.Sprintf("; 'ralph resume %s' ", word(run.Loop))
			if !under {
				interrupted = append(interrupted, text+again+"goes on")
			}
			for _, left := range st.Left {
				interrupted = append(interrupted, "    still running: "+short(left, 60)+again+"ends it")
			}
		case under && (st.State.Done() || st.Status == progress.StatusInterrupted || run.Tasks != nil): // told with the run
		case st.State.Done():
			ended = append(ended, text)
		default:
			active = append(append(active, text), branches(st, all, now)...)
		}
	}
	var b strings.Builder
	for _, part := range []struct {
		title string
		lines []string
	}{{"Active Ralph Loops:", active}, {"Interrupted:", interrupted}, {"Ended last:", ended[max(len(ended)-endedShown, 0):]}} {
		switch {
		case len(part.lines) > 0:
			b.WriteString(part.title + "\n" + strings.Join(part.lines, "\n") + "\n")
		case b.Len() == 0:
			b.WriteString("No active Ralph loops.\n")
		}
	}
	return b.String()
}

// branches are what is below a pipeline in the tree: its tasks, but those that have not
// begun or are done, and below them their loops that run.
func branches(run pipeline.Standing, all []pipeline.Standing, now time.Time) (lines []string) {
	for _, t := range run.Tasks {
		if t.Phase == pipeline.PhaseOpen && t.Iterations == 0 || t.Phase == pipeline.PhaseDone || t.Phase == pipeline.PhaseLeft {
			continue
		}
		lines = append(lines, strings.TrimSuffix(fmt.Sprintf("    %s: %s %s; %s", line(t.ID), cmp.Or(t.Phase.String(), "open"), staged(t), short(t.Why, 120)), "; "))
		for _, st := range all {
			if st.Parent == run.Loop && st.Task == t.ID && !st.State.Done() {
				lines = append(lines, "      "+st.Line(now))
			}
		}
	}
	return lines
}
