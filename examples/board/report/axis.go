package report

import (
	"slices"
	"strconv"
	"time"
)

// An axis maps times to places between 0 and 100 percent. When nobody worked for long, a
// night say, it is a narrow gap: else hours of waiting would press minutes of work into
// lines that nobody can tell apart.
type axis struct {
	pieces []piece
}

// A piece is a part of an axis with a scale of its own.
type piece struct {
	from, to time.Time
	at, wide float64 // in percent
	idle     bool
}

// A tick is a time written at an axis.
type tick struct {
	X      string // in percent
	Show   string
	Anchor string // start, middle, end
	Minor  bool   // left out where there is little room
}

// A gap is a time in which nobody worked.
type gap struct {
	X, Wide string // in percent
	Show    string
}

const (
	idlePart = 0.08 // of all work: what is idle for longer becomes a gap
	gapWide  = 3.0  // percent
	gapsWide = 30.0 // percent, of all gaps
)

// newAxis is the axis of attempts that began and ended at times; nil = there are none.
func newAxis(all []drawn) *axis {
	work := slices.Clone(all)
	work = slices.DeleteFunc(work, func(d drawn) bool { return d.from.IsZero() })
	if len(work) == 0 {
		return nil
	}
	slices.SortStableFunc(work, func(a, b drawn) int { return a.from.Compare(b.from) })
	var busy []piece
	var worked time.Duration
	for _, d := range work {
		if n := len(busy); n > 0 && !d.from.After(busy[n-1].to) {
			if d.to.After(busy[n-1].to) {
				busy[n-1].to = d.to
			}
			continue
		}
		busy = append(busy, piece{from: d.from, to: d.to})
	}
	for _, b := range busy {
		worked += b.to.Sub(b.from)
	}
	return laid(busy, time.Duration(float64(worked)*idlePart))
}

// laid lays times of work side by side. What lies between two of them is a gap if it is
// longer than short.
func laid(busy []piece, short time.Duration) *axis {
	all := &axis{pieces: busy[:1:1]}
	gaps := 0
	for _, b := range busy[1:] {
		last := &all.pieces[len(all.pieces)-1]
		if b.from.Sub(last.to) <= short {
			last.to = b.to
			continue
		}
		all.pieces = append(all.pieces, piece{from: last.to, to: b.from, idle: true}, b)
		gaps++
	}
	wide := 0.0
	if gaps > 0 {
		wide = min(gapWide, gapsWide/float64(gaps))
	}
	var length time.Duration
	for _, p := range all.pieces {
		if !p.idle {
			length += p.to.Sub(p.from)
		}
	}
	at := 0.0
	for i := range all.pieces {
		p := &all.pieces[i]
		p.at, p.wide = at, wide
		switch room := 100 - wide*float64(gaps); {
		case !p.idle && length > 0:
			p.wide = room * float64(p.to.Sub(p.from)) / float64(length)
		case !p.idle:
			p.wide = room / float64(gaps+1)
		}
		at += p.wide
	}
	return all
}

// place is where a time lies, in percent.
func (a *axis) place(t time.Time) float64 {
	for _, p := range a.pieces {
		if t.After(p.to) {
			continue
		}
		length := p.to.Sub(p.from)
		if length <= 0 || t.Before(p.from) {
			return p.at
		}
		return p.at + p.wide*float64(t.Sub(p.from))/float64(length)
	}
	return 100
}

// ticks are times to write below the axis.
func (p *page) ticks(a *axis) (all []tick) {
	for i, x := range []float64{0, 25, 50, 75, 100} {
		for _, b := range a.pieces {
			if b.idle || x < b.at || x > b.at+b.wide || b.wide <= 0 {
				continue
			}
			t := b.from.Add(time.Duration((x - b.at) / b.wide * float64(b.to.Sub(b.from))))
			anchor := "middle"
			if i == 0 {
				anchor = "start"
			} else if i == 4 {
				anchor = "end"
			}
			all = append(all, tick{percent(x), p.at(t).Show, anchor, i%2 == 1})
			break
		}
	}
	return all
}

// gaps are those of the axis.
func (a *axis) gaps() (all []gap) {
	for _, p := range a.pieces {
		if p.idle {
			all = append(all, gap{percent(p.at), percent(p.wide), "nobody worked for " + took(p.to.Sub(p.from))})
		}
	}
	return all
}

// percent is a number of them, as SVG wants it.
func percent(v float64) string {
	return strconv.FormatFloat(v, 'f', 2, 64) + "%"
}
