package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/board"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// wide is from how many columns on the output stands beside the facts.
const wide = 120

// detailFrame is all that is known of a task, and the tail of its agent's output.
func (m *model) detailFrame(space int) []string {
	c, ok := m.card()
	if !ok {
		return []string{"this task is gone"}
	}
	if m.width >= wide {
		left := m.width*3/5 - 1
		return beside(" │ ", [][]string{scrolled(m.facts(c, left), &m.scroll, space), m.outputFrame(space, m.width-left-3)}, []int{left, m.width - left - 3})
	}
	below := space * 2 / 5
	facts := scrolled(m.facts(c, m.width), &m.scroll, space-below-1)
	for len(facts) < space-below-1 {
		facts = append(facts, "")
	}
	return append(append(facts, strings.Repeat("─", m.width)), m.outputFrame(below, m.width)...)
}

// outputFrame is the end of what the agent has printed; scrolling leads up.
func (m *model) outputFrame(space, width int) []string {
	d := m.detail
	switch w := m.wanted(); {
	case w.loop == "":
		return []string{"no agent has worked on it yet"}
	case d.loop != w.loop:
		return []string{"reading …"}
	case d.err != nil:
		return wrapped("its output cannot be read: "+d.err.Error(), width)
	case len(d.output) == 0:
		return []string{"its agent has printed nothing that is kept"}
	}
	var all []string
	for _, l := range d.output[max(0, len(d.output)-1000):] {
		all = append(all, wrapped(l, width)...)
	}
	up := 0
	if m.view == outputView {
		m.scroll = min(m.scroll, max(len(all)-space, 0))
		up = m.scroll
	}
	end := len(all) - up
	return all[max(end-max(space, 0), 0):end]
}

// A page is lines of a width.
type page struct {
	width int
	lines []string
}

// add adds a paragraph with a heading, unless there is nothing to say.
func (p *page) add(heading string, text ...string) {
	text = slices.DeleteFunc(text, func(t string) bool { return strings.TrimSpace(t) == "" })
	if len(text) == 0 {
		return
	}
	p.lines = append(p.lines, "", paint(plain, true, heading))
	for _, t := range text {
		for _, l := range wrapped(t, p.width-2) {
			p.lines = append(p.lines, "  "+l)
		}
	}
}

// facts are those of a task, and of the loop that is looked at.
func (m *model) facts(c board.Card, width int) []string {
	p := &page{width: width}
	for _, l := range wrapped(join(" ", line(c.ID), line(c.Title)), width) {
		p.lines = append(p.lines, paint(plain, true, l))
	}
	iterations := count(c.Iterations, "iteration")
	if c.Lane == board.Done { // its card says so
		iterations = ""
	}
	p.lines = append(p.lines, wrapped(join(" · ", c.Lane.String(), m.progress(c), iterations, cost(c.Used)), width)...)
	p.lines = append(p.lines, stages(c, width)...)
	if len(c.Loops) == 0 {
		p.add("Why it is not done", c.Why)
		p.add("Not begun", "What its agent will be told comes on record when it begins.")
		return p.lines
	}
	n := m.at(c)
	st := c.Loops[n]
	p.lines = append(p.lines, wrapped(join(" · ", fmt.Sprintf("loop %d of %d: %s", n+1, len(c.Loops), st.Loop), string(st.Status), st.Where(), st.Spent()), width)...)
	p.add("Why it is not done", c.Why)
	t := st.State.Task
	p.add("Outcome", t.Outcome)
	var criteria []string
	for _, a := range t.Acceptance {
		criteria = append(criteria, "- "+line(a))
	}
	p.add("Acceptance criteria", criteria...)
	p.add("Promise", "<promise>"+st.CompletionPromise+"</promise>")
	p.add("Success", t.Success)
	p.add("Verified by", cmp.Or(join(": ", t.Method, t.HowVerified), "nothing is on record of a method"))
	p.add("Last verdict", verdict(st)...)
	p.add("Feedback for the agent", st.State.Feedback)
	p.add("The agent is blocked", st.State.Obstacle)
	p.add("Advice for the agent", st.State.Guidance...)
	if st.State.Done() && c.Why == "" {
		p.add("Stopped", join(": ", st.Came(), st.State.Detail))
	}
	if m.detail.loop == st.Loop {
		m.recorded(p, st)
	}
	return p.lines
}

// stages are the agents through which a task goes, and how far it is.
func stages(c board.Card, width int) []string {
	marks := map[pipeline.StageStatus]string{
		pipeline.StageOpen: "○", pipeline.StageRunning: "🔄", pipeline.StageVerified: "✓", pipeline.StageUnverified: "?", pipeline.StageFailed: "✗", pipeline.StageLeft: "–",
	}
	if c.Lane != board.Running { // nobody works on what was running when its process died
		marks[pipeline.StageRunning] = "!"
	}
	var all []string
	for _, s := range c.Stages {
		all = append(all, marks[s.Status]+" "+line(s.Agent))
	}
	if len(all) == 0 {
		return nil
	}
	return wrapped(strings.Join(all, " → "), width)
}

// verdict is what the last check found.
func verdict(st progress.Standing) (all []string) {
	v := st.State.Verdict
	marks := map[ralph.CheckStatus]string{
		ralph.CheckPassed: "✓", ralph.CheckFailed: "✗", ralph.CheckWarning: "!", ralph.CheckSkipped: "–", ralph.CheckUnable: "?", ralph.CheckTimeout: "⏳",
	}
	for _, c := range v.Checks {
		text := marks[c.Status] + " " + line(c.Name) + " " + string(c.Status)
		if c.ExitCode != nil {
			text += fmt.Sprintf(" (exit %d)", *c.ExitCode)
		}
		if c.Duration > 0 {
			text += " " + c.Duration.Round(time.Millisecond).String()
		}
		all = append(all, join(": ", text, line(c.Detail)))
	}
	switch {
	case v.Passed:
		return append([]string{"passed"}, all...)
	case v.Feedback != "" || len(all) > 0:
		return append([]string{"rejected"}, all...)
	}
	return nil
}

// recentAttempts is how many of them are told.
const recentAttempts = 30

// recorded is what the journal tells of a loop: its attempts, the last one first, and what
// people have asked for.
func (m *model) recorded(p *page, st progress.Standing) {
	h := m.detail.history
	if h.Torn && st.Status == progress.StatusInterrupted {
		p.add("Torn", "The last line of its journal is torn: its process was killed while it wrote it. What stands there has not happened; the loop goes on from the line before.")
	}
	p.add("Still running of it", m.detail.left...)
	var rows []string
	for i, a := range slices.Backward(h.Attempts) {
		if len(h.Attempts)-i > recentAttempts {
			rows = append(rows, fmt.Sprintf("and %d before", i+1))
			break
		}
		rows = append(rows, attempt(a, m.now, board.Active(st)))
	}
	p.add("Iterations", rows...)
	rows = nil
	for _, a := range h.Asked {
		rows = append(rows, join(" ", a.Time.Local().Format("15:04:05"), strings.ReplaceAll(string(a.Kind), "_", " "), line(a.Text)))
	}
	p.add("Asked for", rows...)
}

// attempt is a row of the history. The end of one whose process has died is not on record.
func attempt(a board.Attempt, now time.Time, active bool) string {
	name := fmt.Sprint(a.Number)
	if a.Attempt > 1 {
		name += fmt.Sprintf(" (%d)", a.Attempt)
	}
	switch {
	case !a.Ended && !active:
		return join("  ", name, "interrupted", cost(a.Usage))
	case !a.Ended:
		return join("  ", name, "at work", took(now.Sub(a.Start)), cost(a.Usage))
	}
	why := ""
	switch {
	case a.Fault != "":
		why = join(": ", string(a.Fault), line(a.Error))
	case a.Verdict.Passed:
		why = "verified"
	case a.Verdict.Feedback != "":
		why = "rejected: " + line(a.Verdict.Feedback)
	case a.Blocked:
		why = "blocked: " + line(a.Obstacle)
	case a.NearMiss != "":
		why = "no promise: " + line(a.NearMiss)
	case !a.Claimed:
		why = "no promise"
	}
	return join("  ", name, string(a.Outcome), took(a.Elapsed), cost(a.Usage.Add(a.Verdict.Usage)), fit(why, 200))
}
