package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// drive runs what was agreed, shows what happens, and what came of it.
func (r *piped) drive() error {
	if r.slots > 1 {
		r.screen = &screen{Writer: r.stderr}
		r.stderr = r.screen
	}
	r.p.Log, r.p.Evidence = r.talk(), r.evidence(r.place, r.logPath)
	r.p.Output = func(req ralph.Request) (display, raw io.Writer) {
		if r.screen != nil {
			return r.screen.voice(strings.TrimSuffix(req.Task+"."+req.Agent, "."), r.screen.Writer), nil
		}
		return r.stderr, nil
	}
	quiet := func() {}
	if r.screen != nil {
		quiet = r.screen.live()
	}
	var end error
	before := len(r.events)
	for ev, err := range r.a.Events(r.ctx) {
		if end = err; err == nil {
			r.s, r.events = r.s.Apply(ev), append(r.events, ev)
			r.happened(ev)
		}
	}
	quiet()
	if len(r.events) == before { // it could not begin
		return wrong(end)
	}
	sums := r.a.Summaries(r.s, r.events)
	iterations := 0
	for _, sum := range sums {
		iterations += sum.Iterations
	}
	r.ended(r.name(), stopOf(end), iterations, r.s.Elapsed, r.s.Used())
	r.close(sums)
	return r.exit(end, sums)
}

// happened shows an event of the pipeline; what happens in a loop its log shows.
func (r *piped) happened(ev pipeline.Event) {
	name := r.stage(ev.Task, ev.Agent)
	if r.screen != nil {
		most := 0
		if i := r.s.Find(ev.Task); i >= 0 && ev.Kind == pipeline.EventBegan && i < len(r.a.Tasks) {
			for _, task := range r.a.Tasks[i].Stages {
				if task.Agent == ev.Agent {
					most = cmp.Or(task.Limits.Iterations, 10)
				}
			}
		}
		r.screen.step(ev, most)
	}
	switch ev.Kind {
	case pipeline.EventEnded:
		switch {
		case ev.Stop == "":
			out := r.stdout
			if r.screen != nil {
				out = r.screen.voice(strings.TrimSuffix(ev.Task+"."+ev.Agent, "."), out)
			}
			fmt.Fprintf(out, "interrupted after %s%s\n", plural(ev.Iterations, "iteration"), spent(ev.Usage))
		case ev.Unverified:
			r.say("%s: it is over, and nothing has checked it", name)
		case ev.Stop != ralph.StopVerified:
			r.say("%s: not verified (%s): %s", name, ev.Stop, short(ev.Text, 300))
		}
	case pipeline.EventMerged:
		if r.worktrees {
			r.say("%s is merged", line(ev.Task))
		}
	case pipeline.EventUnmerged:
		r.say("warning: %s is not merged: %s", line(ev.Task), ev.Text)
	case pipeline.EventAltered:
		r.say("warning: %s was %s while this ran; it is not verified, and its entry is left as it is", line(ev.Task), ev.Text)
	case pipeline.EventBroken:
		r.say("warning: %s cannot be run: %s", line(ev.Task), ev.Text)
	case pipeline.EventNoted, pipeline.EventAdded:
		r.say("%s", ev.Text)
	case pipeline.EventPaused:
		r.say("'%s' is paused; 'ralph resume %s' lets it go on", r.name(), word(r.name()))
	}
}

// marks show how stages stand.
var marks = map[pipeline.StageStatus]string{
	pipeline.StageVerified: "✓", pipeline.StageUnverified: "?", pipeline.StageFailed: "✗", pipeline.StageRunning: "…", pipeline.StageOpen: "·", pipeline.StageLeft: "–",
}

// staged shows how the stages of a task stand.
func staged(t pipeline.Summary) string {
	var all []string
	for _, st := range t.Stages {
		all = append(all, strings.TrimSpace(st.Agent+" "+marks[st.Status]))
	}
	return strings.Join(all, " ")
}

// close prints what came of each task, what was left out, what stays, and what it took.
func (r *piped) close(sums []pipeline.Summary) {
	rows, left, more := [][]string{{"TASK", "STATUS", "STAGES", "ITERATIONS", "COST", "TITLE"}}, map[string]int{}, []string{}
	for i, sum := range sums {
		t, status := r.a.Tasks[i], string(sum.Status)
		if t.Stages == nil && sum.Phase == pipeline.PhaseDone {
			status = "done before"
		} else if t.Stages != nil && len(t.Left) > 0 {
			left[strings.Join(t.Left, ", ")]++
		}
		rows = append(rows, []string{sum.ID, cmp.Or(sum.Altered, status), staged(sum), fmt.Sprint(sum.Iterations), cost(sum.Usage), t.Definition.Title})
		if branch, dir := pipeline.Branch(sum.ID); r.worktrees && isFolder(filepath.Join(r.project, dir)) == nil {
			more = append(more, fmt.Sprintf("%s stays on the branch %s, in %s: %s", line(sum.ID), branch, dir, cmp.Or(short(sum.Why, 300), "it goes on")))
		}
	}
	if f, ok := r.p.Source.(*pipeline.File); ok {
		_, added, _ := f.Changes(context.WithoutCancel(r.ctx)) // what cannot be read was told
		for _, d := range added {
			rows = append(rows, []string{d.ID, "added", "", fmt.Sprint(d.Iteration), "", d.Title})
		}
	}
	columns(r.stdout, rows)
	for _, agents := range slices.Sorted(maps.Keys(left)) {
		more = append(more, fmt.Sprintf("left out: %s (%s)", line(agents), plural(left[agents], "task")))
	}
	for _, ev := range r.events {
		if ev.Kind == pipeline.EventNoted || ev.Kind == pipeline.EventAdded {
			more = append(more, line(ev.Text))
		}
	}
	for _, text := range slices.Compact(more) {
		fmt.Fprintf(r.stdout, "  %s\n", text)
	}
	fmt.Fprintf(r.stdout, "%s: %d of %d done in %s%s%s\n", line(r.name()), len(r.s.Parts)-r.s.Remaining(), len(r.s.Parts),
		r.s.Elapsed.Round(time.Millisecond), spent(r.s.Used()), budget(r.s.Rules))
}

// exit is the end of a run.
func (r *piped) exit(err error, sums []pipeline.Summary) error {
	if _, lost := errors.AsType[*pipeline.LostError](err); lost {
		return fail(exitNotVerified, "%w", err)
	}
	remaining := r.s.Remaining() - r.dropped
	var parts, counted []string
	n := map[spec.Status]int{}
	for _, sum := range sums {
		if sum.Altered != "" {
			parts = append(parts, line(sum.ID)+" was "+line(sum.Altered))
		}
		if sum.Altered != "" && sum.Phase == pipeline.PhaseDone {
			remaining++
		}
		n[sum.Status]++
	}
	for _, status := range slices.Sorted(maps.Keys(n)) {
		counted = append(counted, fmt.Sprintf("%d %s", n[status], line(string(status))))
	}
	stop, stopped := errors.AsType[*ralph.StopError](err)
	switch {
	case err != nil && !(stopped && stop.Reason == ralph.StopStalled):
		return r.work.exit(err, remaining)
	case len(parts) > 0:
		return fail(exitNotVerified, "%s not counted as verified, for somebody else changed the task file while this ran: %s",
			plural(len(parts), "task is", "tasks are"), strings.Join(parts, ", "))
	case remaining > 0:
		return fail(exitNotVerified, "%s: %s", plural(remaining, "task remains", "tasks remain"), strings.Join(counted, ", "))
	}
	return nil
}
