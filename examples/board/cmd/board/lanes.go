package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/ralph-loop/ralph/examples/board"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// focus is the lane of the chosen card and its place there; the first lane that has a card
// if none is chosen.
func (m *model) focus(lanes map[board.Lane][]board.Card) (board.Lane, int) {
	for l, cards := range lanes {
		if i := slices.IndexFunc(cards, func(c board.Card) bool { return c.Key() == m.chosen }); i >= 0 {
			return l, i
		}
	}
	for _, l := range []board.Lane{board.Running, board.Todo, board.Failed, board.Done, board.Skipped} {
		if len(lanes[l]) > 0 {
			return l, 0
		}
	}
	return board.Todo, 0
}

// moveLanes chooses the card in a direction. Lanes without cards are passed over.
func (m *model) moveLanes(x, y int) {
	lanes := m.lanes()
	lane, at := m.focus(lanes)
	for to := lane + board.Lane(x); x != 0 && to >= board.Todo && to <= board.Skipped; to += board.Lane(x) {
		if len(lanes[to]) > 0 {
			lane = to
			break
		}
	}
	if cards := lanes[lane]; len(cards) > 0 {
		m.chosen = cards[min(max(at+y, 0), len(cards)-1)].Key()
	}
}

// minLane is how many cells a lane has at least: the last line of a card, with two digits
// each, fits.
const minLane = 20

// visible are the lanes that fit beside each other: those with cards, around the one in
// focus.
func visible(lanes map[board.Lane][]board.Card, focus board.Lane, width int) []board.Lane {
	all := board.Lanes()
	fits := max(width/minLane, 1)
	all = slices.DeleteFunc(all, func(l board.Lane) bool { return len(lanes[l]) == 0 && l != focus && len(board.Lanes()) > fits })
	if over := len(all) - fits; over > 0 {
		from := min(max(slices.Index(all, focus)-fits/2, 0), over)
		all = all[from : from+fits]
	}
	return all
}

// hidden names the lanes that do not fit, with the number of their cards; "" = all do.
func hidden(lanes map[board.Lane][]board.Card, show []board.Lane) string {
	var all []string
	for _, l := range board.Lanes() {
		if !slices.Contains(show, l) {
			all = append(all, fmt.Sprintf("%s %d", l, len(lanes[l])))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "also: " + strings.Join(all, "  ")
}

// lanesFrame draws the lanes into so many rows.
func (m *model) lanesFrame(height int) []string {
	lanes := m.lanes()
	focus, at := m.focus(lanes)
	show := visible(lanes, focus, m.width)
	var blocks [][]string
	var widths []int
	top := hidden(lanes, show)
	if top != "" {
		height--
	}
	for i, l := range show {
		width := (m.width - len(show) + 1) / len(show)
		if i == len(show)-1 {
			width = m.width - (width+1)*i
		}
		chosen := -1
		if l == focus {
			chosen = at
		}
		widths = append(widths, width)
		blocks = append(blocks, m.lane(l, lanes[l], chosen, width, height))
	}
	if rows := beside(" ", blocks, widths); top == "" {
		return rows
	} else {
		return append([]string{fit(top, m.width)}, rows...)
	}
}

// fullCard and shortCard are how many rows a card takes.
const (
	fullCard  = 6
	shortCard = 2
)

// lane draws those cards of a lane that fit, with the chosen one among them. Its head says
// how many there are, and how many are out of sight.
func (m *model) lane(l board.Lane, cards []board.Card, chosen, width, height int) []string {
	draw, rows := full, fullCard
	if height--; height < 2*fullCard {
		draw, rows = short, shortCard
	}
	fits := max(height/rows, 1)
	from := min(max(chosen-fits/2, 0), max(len(cards)-fits, 0))
	to := min(from+fits, len(cards))
	head := fmt.Sprintf("%s %d", strings.ToUpper(l.String()), len(cards))
	if from > 0 || to < len(cards) {
		head += fmt.Sprintf(" ↑%d ↓%d", from, len(cards)-to)
	}
	all := []string{paint(plain, true, fit(head, width))}
	for i, c := range cards[from:to] {
		all = append(all, draw(c, m.progress(c), width, from+i == chosen)...)
	}
	return all
}

// full is a card in a frame.
func full(c board.Card, how string, width int, chosen bool) []string {
	return box([]string{line(c.ID), line(c.Title), rule, marked(c.Lane, how)}, width, chosen, laneColour(c.Lane))
}

// short is a card in two rows.
func short(c board.Card, how string, width int, chosen bool) []string {
	mark := "  "
	if chosen {
		mark = "▶ "
	}
	return []string{
		paint(plain, chosen, fit(mark+join(" ", line(c.ID), line(c.Title)), width)),
		fit("  "+marked(c.Lane, how), width),
	}
}

// progress is the last line of a card: who is at work, and how far.
func (m *model) progress(c board.Card) string {
	last, begun := c.Loop()
	agent := capital(line(c.Agent))
	switch c.Lane {
	case board.Running:
		return m.working(c, last, begun, agent)
	case board.Done:
		return "✓ " + join(" · ", cost(c.Used), count(c.Iterations, "iteration"))
	case board.Failed:
		return "✗ " + join(": ", agent, line(c.Why))
	case board.Skipped:
		return "– " + cmp.Or(line(c.Why), "not to be done")
	}
	switch {
	case len(c.After) > 0:
		return "○ after " + line(strings.Join(c.After, ", "))
	case begun && last.Status == progress.StatusInterrupted:
		return "! " + join(" ", agent, paren(of(last.Iteration, last.MaxIterations)), "interrupted")
	}
	return "○ " + agent
}

func (m *model) working(c board.Card, last progress.Standing, begun bool, agent string) string {
	if agent == "" {
		agent = "Loop"
	}
	if !begun || last.State.Done() {
		for _, s := range c.Stages {
			if s.Status == pipeline.StageOpen || s.Status == pipeline.StageRunning {
				return "… " + agent + " next"
			}
		}
		return "… to be merged"
	}
	at := paren(of(last.Iteration, last.MaxIterations))
	switch last.Status {
	case progress.StatusPaused:
		return "‖ " + agent + " " + at + " paused"
	case progress.StatusWaiting:
		return "⏳ " + agent + " " + at + " until " + last.NotBefore.Local().Format("15:04:05")
	}
	if last.State.Paused {
		at += " pausing"
	}
	return "🔄 " + agent + " " + at
}

// A slot is an agent at work.
type slot struct {
	card board.Card
	loop progress.Standing
}

// slots are the agents at work.
func (m *model) slots() (all []slot) {
	for _, run := range m.shown() {
		for _, c := range run.Cards {
			if last, ok := c.Loop(); ok && board.Active(last) {
				all = append(all, slot{c, last})
			}
		}
	}
	return all
}

// A slot's frame has room for a long name, and where three are to fit beside each other on
// 80 cells for an iteration of two digits.
const (
	maxSlot = 30
	minSlot = 26
)

// slotRows is how many slots are told in rows.
const slotRows = 3

// slotsFrame draws the agents at work: in frames beside each other, with those for which
// there is no room named beside them, or all of them in rows.
func (m *model) slotsFrame(frames bool) []string {
	all := m.slots()
	if len(all) == 0 && m.filter != "" {
		return []string{"no agent that passes the filter is at work"}
	} else if len(all) == 0 {
		return []string{"no agent is at work"}
	}
	var rows []string
	if !frames {
		for _, s := range all[:min(len(all), slotRows)] {
			rows = append(rows, m.slotRow(s))
		}
		if more := len(all) - len(rows); more > 0 {
			rows[len(rows)-1] = fit(fmt.Sprintf("and %d more at work", more+1), m.width)
		}
		return rows
	}
	var blocks [][]string
	var widths []int
	wide := min(max((m.width+1)/len(all)-1, minSlot), maxSlot)
	fits := min(max((m.width+1)/(wide+1), 1), len(all))
	for i, s := range all[:fits] {
		blocks, widths = append(blocks, m.slotBox(i+1, s, wide)), append(widths, wide)
	}
	if rest := m.width - fits*(wide+1); rest > 0 && len(all) > fits {
		rows = []string{"and at work:"}
		for _, s := range all[fits:min(len(all), fits+5)] {
			rows = append(rows, " "+line(s.card.ID)+" "+of(s.loop.Iteration, s.loop.MaxIterations))
		}
		if more := len(all) - fits - 5; more > 0 {
			rows = append(rows, fmt.Sprintf(" and %d more", more))
		}
		blocks, widths = append(blocks, rows), append(widths, rest)
	}
	return beside(" ", blocks, widths)
}

// slotBox is a slot as a frame, slotRow in a row.
func (m *model) slotBox(number int, s slot, width int) []string {
	indent := "  "
	if width < maxSlot {
		indent = ""
	}
	return box([]string{
		strings.TrimSuffix(fmt.Sprintf("Slot %d: %s", number, line(s.loop.Stage)), ": "),
		indent + "Task: " + line(s.card.ID),
		indent + "Ralph: iteration " + of(s.loop.Iteration, s.loop.MaxIterations),
		indent + "Running: " + m.running(s.loop),
		indent + "Cost: " + cmp.Or(cost(s.loop.Used), "unknown"),
	}, width, false, cyan)
}

// running is for how long a process has worked on a loop: what was before it died, or
// before another one took the loop up, is no time at work.
func (m *model) running(st progress.Standing) string {
	since := st.Started
	if h := st.Holder; h != nil && h.Since.After(since) {
		since = h.Since
	}
	return took(m.now.Sub(since))
}

func (m *model) slotRow(s slot) string {
	return fit(join("  ", join(" ", line(s.card.ID), paren(line(s.loop.Stage))), s.loop.Where(), m.running(s.loop), cost(s.loop.Used)), m.width)
}

// runLine tells of a run in one row.
func (m *model) runLine(run board.Run) string {
	done := ""
	if run.SessionStanding != nil {
		done = fmt.Sprintf("%d of %d done", run.TasksCompleted, run.TasksCompleted+run.TasksRemaining)
	} else {
		done = run.Where()
	}
	when := "last active " + progress.Ago(run.Active, m.now)
	if board.Active(run.Standing.Standing) {
		when = m.running(run.Standing.Standing)
	}
	why := ""
	if run.Status == progress.StatusFailed {
		why = line(run.Came())
	}
	return join(" · ", run.Name(), join(" ", string(run.Status), paren(why)), done, when, cost(run.Used))
}

// width is how many cells a text takes.
func width(text string) int { return ansi.StringWidth(text) }
