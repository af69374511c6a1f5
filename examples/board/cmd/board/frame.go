package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/ralph-loop/ralph/examples/board"
)

// frame is the whole screen: exactly its height in rows, none longer than its width.
func (m *model) frame() string {
	rows := m.height - 2 // without the last two
	top := []string{m.title()}
	if m.failed != "" {
		top = append(top, paint(red, true, fit("cannot be read: "+m.failed, m.width)))
	}
	top = append(top, m.unread()...)
	var body []string
	switch space := rows - len(top); m.view {
	case lanesView:
		body = m.board(space)
	case treeView:
		body = m.treeFrame(space)
	case detailView:
		body = m.detailFrame(space)
	case outputView:
		body = m.outputFrame(space, m.width)
	default:
		body = scrolled(help(m.width), &m.scroll, space)
	}
	all := append(top, body...)
	for i, l := range all {
		all[i] = fit(l, m.width)
	}
	all = all[:min(len(all), max(rows, 0))] // on a screen of two rows the last two are left
	for len(all) < rows {
		all = append(all, "")
	}
	return strings.Join(append(all, m.saying(), fit(m.hints(), m.width)), "\n")
}

// board is the lanes, with the agents at work below them.
func (m *model) board(space int) []string {
	if len(m.tree.Runs) == 0 {
		if !m.loaded {
			return []string{"", "reading " + line(m.dir.Path) + " …"}
		}
		nothing := "Nothing is on record yet in"
		if m.failed != "" || len(m.tree.Unread) > 0 {
			nothing = "Nothing that can be read is on record in"
		}
		return append([]string{"", nothing}, append(wrapped(m.dir.Path, m.width), "", "It shows here as soon as a loop begins.")...)
	}
	slots := m.slotsFrame(space >= 20)
	space = max(space-len(slots), 0)
	body := m.lanesFrame(space)
	body = body[:min(len(body), space)]
	for len(body) < space {
		body = append(body, "")
	}
	return append(body, slots...)
}

// title tells of the runs at work, or of the last one.
func (m *model) title() string {
	var active []board.Run
	for _, run := range m.tree.Runs {
		if board.Active(run.Standing.Standing) {
			active = append(active, run)
		}
	}
	text := "board"
	switch n := len(m.tree.Runs); {
	case len(active) == 1:
		text = m.runLine(active[0])
	case len(active) > 1:
		text = fmt.Sprintf("%d at work: %s", len(active), m.runLine(active[len(active)-1]))
	case n > 0:
		last := slices.MaxFunc(m.tree.Runs, func(a, b board.Run) int { return a.Active.Compare(b.Active) })
		text = "nothing is at work · last: " + m.runLine(last)
	}
	if m.filter != "" {
		text = "filter " + line(m.filter) + " · " + text
	}
	return paint(plain, true, fit(text, m.width))
}

// unread names the journals that cannot be read: at most two, for loops go on beside them.
func (m *model) unread() []string {
	var all []string
	for i, u := range m.tree.Unread {
		if i == 2 {
			return append(all, paint(red, false, fmt.Sprintf("and %d more", len(m.tree.Unread)-i)))
		}
		all = append(all, paint(red, false, fit("✗ "+line(u.Name)+" cannot be read: "+line(u.Why()), m.width)))
	}
	return all
}

// saying is the line before the last: a question, what came of a request, or nothing.
func (m *model) saying() string {
	switch {
	case m.ask != nil && m.ask.prompt != "":
		m.input.SetWidth(max(m.width-width(m.ask.prompt)-1, 1))
		return fit(m.input.View(), m.width)
	case m.ask != nil:
		return paint(red, true, fit(m.ask.text, m.width))
	}
	return fit(m.said, m.width)
}

// hints are the keys that lead further, the important ones first.
func (m *model) hints() string {
	all := "? help,q quit,⏎ details,p pause,g guide,c cancel,s stop,l limit,/ filter,t tree"
	switch {
	case m.ask != nil && m.ask.prompt != "":
		all = "⏎ do it,esc leave it"
	case m.ask != nil:
		all = "y yes,n no"
	case m.view == helpView || m.view == outputView:
		all = "esc back,↑↓ scroll,q quit"
	case m.view == detailView:
		all = "esc back,↑↓ scroll,←→ stages,o output,p pause,g guide,c cancel,s stop,l limit"
	}
	var keys []string
	room := m.width + 1
	for hint := range strings.SplitSeq(all, ",") {
		if room -= width(hint) + 1; room < 0 && len(keys) > 0 { // none is shown in part
			break
		}
		key, does, _ := strings.Cut(hint, " ")
		keys = append(keys, paint(plain, true, key)+" "+does)
	}
	return strings.Join(keys, " ")
}

// help is what keys do, and what marks mean.
func help(width int) (all []string) {
	const keys = 17 // cells of the first column
	for _, row := range [][2]string{
		{"←→ ↑↓ tab j k", "choose a card"},
		{"enter", "its details; ←→ there choose one of its stages"},
		{"o", "what its agent prints, in full height"},
		{"t", "the tree: runs, their tasks, their loops"},
		{"/", "filter by run, task, title or agent; esc ends it"},
		{"esc", "back"},
		{},
		{"p", "pause, or let it go on: what runs comes to its end"},
		{"g", "guide: advice for the next prompt"},
		{"c", "cancel for good, after a question"},
		{"s", "stop after the iteration that has begun"},
		{"l", "limits: max=20 cost=5 tokens=100000 time=2h"},
		{"q  ctrl+c", "leave the board; loops go on"},
		{},
		{"", "In the tree a run can be chosen too, and steered as a whole. What is asked for is on record, and the process that runs the loop takes it over within a second."},
		{},
		{"", "🔄 at work  … next  ‖ paused  ⏳ waits  ○ to do"},
		{"", "! interrupted  ✓ verified  ✗ failed  – not to be done, or cancelled"},
	} {
		column := 0
		if row[0] != "" {
			column = keys
		}
		for i, l := range wrapped(row[1], min(width, 80)-column) {
			key := ""
			if i == 0 {
				key = row[0]
			}
			all = append(all, pad(key, column)+l)
		}
	}
	return all
}

// scrolled is the part of some lines that fits, and keeps the scroll within them. The last
// row says how many are below it.
func scrolled(lines []string, scroll *int, height int) []string {
	height = max(height, 0)
	*scroll = min(max(*scroll, 0), max(len(lines)-height, 0))
	end := min(*scroll+height, len(lines))
	shown := slices.Clone(lines[*scroll:end])
	if below := len(lines) - end; below > 0 && height > 1 {
		shown[height-1] = fmt.Sprintf("↓ %d more", below+1)
	}
	return shown
}

// A treeRow is a run, a task or a loop.
type treeRow struct {
	key, text string
}

// treeRows are all of them. The loops of a task are told where it has several.
func (m *model) treeRows() (all []treeRow) {
	for _, run := range m.shown() {
		alone := run.SessionStanding == nil
		if !alone {
			all = append(all, treeRow{run.Loop, m.runLine(run)})
		}
		for _, c := range run.Cards {
			text := join("  ", line(c.ID), marked(c.Lane, m.progress(c)), line(c.Title))
			if alone {
				all = append(all, treeRow{c.Key(), text})
				continue
			}
			all = append(all, treeRow{c.Key(), "  " + text})
			for _, st := range c.Loops {
				if len(c.Loops) > 1 {
					all = append(all, treeRow{"", "      " + st.Line(m.now)})
				}
			}
		}
	}
	return all
}

// choose moves the choice in the tree by so many rows.
func (m *model) choose(by int) {
	rows := slices.DeleteFunc(m.treeRows(), func(r treeRow) bool { return r.key == "" })
	if len(rows) == 0 {
		return
	}
	at := slices.IndexFunc(rows, func(r treeRow) bool { return r.key == m.chosen })
	m.chosen = rows[min(max(max(at, 0)+by, 0), len(rows)-1)].key
}

func (m *model) treeFrame(space int) []string {
	rows := m.treeRows()
	at := slices.IndexFunc(rows, func(r treeRow) bool { return r.key == m.chosen })
	from := min(max(at-space/2, 0), max(len(rows)-space, 0))
	var all []string
	for i, r := range rows[from:min(from+max(space, 0), len(rows))] {
		if from+i == at {
			all = append(all, paint(plain, true, fit("▶ "+ansi.Strip(r.text), m.width)))
			continue
		}
		all = append(all, fit("  "+r.text, m.width))
	}
	return all
}
