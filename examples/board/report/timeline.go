package report

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/examples/board"
)

// A drawn is an attempt that is drawn, or just the name of a task without any.
type drawn struct {
	a        board.Attempt
	row      attempt
	from, to time.Time // zero = it is not known when it ran, or has not
	task     text
	agent    text
	anchor   string // of the task
	loop     string // the anchor of the loop; "" = there is none
}

// A strip is a part of the timeline with one axis.
type strip struct {
	Ticks []tick
	Gaps  []gap
	Rows  []row
}

// A row is that of a task, or a piece of a loop's.
type row struct {
	Anchor string // of the section that tells more
	Label  text
	Said   string // what the bars show, in words
	Bars   []bar
	Agents []agent
	Times  []tick // grid lines
	Gaps   []gap
}

// A bar is an attempt.
type bar struct {
	Anchor  string
	X, Wide string // in percent
	Result  result
	Show    text
}

// An agent is a name below the bars of its loop.
type agent struct {
	X     string
	Name  text
	Minor bool // there is little room for it, and none on a narrow screen
}

// rows is the timeline of a run: one axis, and a row for each task.
func (p *page) rows(all []drawn) []strip {
	a := newAxis(all)
	if a == nil {
		return nil
	}
	s := strip{Ticks: p.ticks(a), Gaps: a.gaps()}
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].anchor == all[0].anchor {
			n++
		}
		r := p.row(a, all[:n], all[0].task)
		r.Agents = agents(a, all[:n])
		s.Rows = append(s.Rows, r)
		all = all[n:]
	}
	return []strip{s}
}

// perPiece is how many attempts stand beside each other, so that each can be seen.
const perPiece = 50

// agents are the names below the bars of a row, where there is room for them.
func agents(a *axis, all []drawn) (names []agent) {
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].loop == all[0].loop {
			n++
		}
		if from, to := all[0].from, all[n-1].to; all[0].agent != "" && !from.IsZero() {
			x := a.place(from)
			room, letters := a.place(to)-x, float64(utf8.RuneCountInString(string(all[0].agent)))
			if room > 0.7*letters {
				names = append(names, agent{percent(x), all[0].agent, room < 2*letters})
			}
		}
		all = all[n:]
	}
	return names
}

// pieces is the timeline of a loop. One of many attempts goes on in the next line, as
// text does.
func (p *page) pieces(all []drawn) (strips []strip) {
	perRow := perPiece
	if len(all) <= perPiece*3/2 {
		perRow = len(all)
	}
	for len(all) > 0 {
		n := min(perRow, len(all))
		if a := newAxis(all[:n]); a != nil {
			label := "iteration " + all[0].row.Name
			if n > 1 {
				label = fmt.Sprintf("iterations %d to %d", all[0].a.Number, all[n-1].a.Number)
			}
			strips = append(strips, strip{Ticks: p.ticks(a), Gaps: a.gaps(), Rows: []row{p.row(a, all[:n], text(label))}})
		}
		all = all[n:]
	}
	return strips
}

// thinnest is how wide a bar is at least, in percent.
const thinnest = 0.25

// row draws attempts that stand beside each other.
func (p *page) row(a *axis, all []drawn, label text) row {
	r := row{Anchor: all[0].anchor, Label: label, Times: p.ticks(a), Gaps: a.gaps()}
	counts := map[string]int{}
	for _, d := range all {
		if d.loop == "" {
			continue
		}
		counts[d.row.Result.Word]++
		if d.from.IsZero() {
			continue
		}
		x, end := a.place(d.from), a.place(d.to)
		wide := end - x
		if wide > 4*thinnest {
			wide -= thinnest // so that two that follow each other can be told apart
		}
		wide = max(wide, thinnest)
		x = min(x, 100-wide)
		show := join(" ", d.agent, text("iteration "+d.row.Name+": "+d.row.Result.Word))
		r.Bars = append(r.Bars, bar{d.row.Anchor, percent(x), percent(wide), d.row.Result, join(", ", show, text(d.row.Took), text(d.row.Cost.Show))})
	}
	for _, res := range results() {
		if n := counts[res.Word]; n > 0 {
			r.Said += fmt.Sprintf("%s %d, ", res.Word, n)
		}
	}
	if r.Said = strings.TrimSuffix(r.Said, ", "); r.Said == "" {
		r.Said = "not begun"
	}
	return r
}
