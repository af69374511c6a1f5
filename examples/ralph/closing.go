package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// drive runs what was agreed, shows what happens, and what came of it.
func (r *piped) drive() error {
	v := r.view(r.env, nil)
	if all := slices.Compact(slices.Sorted(maps.Values(r.clients))); len(all) == 1 { // else each stands by its agent
		v.Agent, r.clients = all[0], nil
	}
	v.Named, v.Terse, v.Place = r.slots > 1, v.Terminal && r.slots > 1, r.at
	r.p.Log, r.p.Output, r.p.Live, r.p.Evidence = r.shown(v), v.output(nil), v.Live, r.evidence(r.place, r.logPath)
	var end error
	before := len(r.events)
	for ev, err := range r.a.Events(r.ctx) {
		if end = err; err == nil {
			r.s, r.events = r.s.Apply(ev), append(r.events, ev)
			r.happened(ev)
			v.pipeline(r.name(), ev)
		}
	}
	v.close()
	if len(r.events) == before { // it could not begin
		return wrong(end)
	}
	sums := r.a.Summaries(r.s, r.events)
	iterations := 0
	for _, sum := range sums {
		iterations += sum.Iterations
	}
	if !r.json {
		r.close(sums)
	}
	exit := r.exit(end, sums)
	state := ralph.State{Loop: r.name(), Stop: stopOf(end), Elapsed: r.s.Elapsed, Usage: r.s.Used(), Unpriced: int(v.unpriced.Load())}
	state.Task.Limits = ralph.Limits{CostUSD: r.maxCost, Tokens: r.maxTokens, Duration: r.maxDuration} // each task has its own iterations
	r.conclude(state, exit, r.s.Remaining()-r.dropped, iterations, fmt.Sprintf("%d of %d tasks done%s", len(r.s.Parts)-r.s.Remaining(), len(r.s.Parts), budget(r.s.Rules)), "", "")
	return exit
}

// at is where a loop stands among the tasks.
func (r *piped) at(ev ralph.Event) string {
	name, i := r.stage(ev.Task, ev.Agent), r.a.State.Find(ev.Task)
	if i < 0 {
		return name
	} else if r.slots > 1 { // each line has its name
		name = ""
	}
	place := strings.TrimSpace(fmt.Sprintf("task %d of %d %s", i+1, len(r.a.Tasks), name))
	return strings.TrimSuffix(place+" · "+r.clients[ev.Agent], " · ")
}

// shown is a log that also shows what happens in the loops.
func (r *piped) shown(v *view) ralph.ProgressLog {
	all := progress.Multi(r.record, v.log)
	return ralph.ProgressLogFunc(func(ctx context.Context, ev ralph.Event) error {
		switch s := ev.State; {
		case ev.Kind == ralph.EventLoopStarted && s != nil && s.Begun():
			r.say("%s goes on at iteration %d", r.stage(ev.Task, ev.Agent), s.Iteration)
		case ev.Kind == ralph.EventLimitsChanged && budget(r.p.Rules) != "": // what is left for its next iteration
			return r.record.Append(ctx, ev)
		}
		return all.Append(ctx, ev)
	})
}

// happened shows an event of the pipeline; what happens in a loop its log shows.
func (r *piped) happened(ev pipeline.Event) {
	name := r.stage(ev.Task, ev.Agent)
	switch ev.Kind {
	case pipeline.EventEnded:
		if ev.Unverified {
			r.say("%s: it is over, and nothing has checked it", name)
		} else if ev.Stop == ralph.StopFailed || ev.Stop == ralph.StopInvalid { // maybe before its loop could tell
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
