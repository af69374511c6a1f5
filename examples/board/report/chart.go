package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

// A chart is what was used by and by, added up.
type chart struct {
	Name  string
	Total string
	Note  string // what the line does not show; "" = nothing
	// Told and Estimated are the paths of the line, in a box of 1000 by 100.
	Told, Estimated string
	Marks           []string // where something unknown was used, in percent
	Ticks           []tick
	Levels          []level
}

// A level is a line across a chart, with its value.
type level struct {
	Y    string // in percent
	Show string
}

// A used is what an attempt adds to a chart.
type used struct {
	at        time.Time
	n         float64
	known     bool
	estimated bool
}

// charts are those of cost and of tokens; nil = it is not known when anything ran.
func (p *page) charts(all []drawn) []chart {
	all = slices.DeleteFunc(slices.Clone(all), func(d drawn) bool { return d.loop == "" || d.from.IsZero() })
	a := newAxis(all)
	if a == nil {
		return nil
	}
	slices.SortStableFunc(all, func(a, b drawn) int { return a.to.Compare(b.to) })
	money := func(v float64, about bool) string { return ralph.Usage{CostUSD: &v, Estimated: about}.Cost() }
	tokens := func(v float64, _ bool) string { return number(int64(v)) }
	draw := func(name string, show func(float64, bool) string, of func(drawn) used) chart {
		var points []used
		for _, d := range all {
			u := of(d)
			u.at = d.to
			points = append(points, u)
		}
		c := newChart(name, a, all[0].from, points, show)
		c.Ticks = p.ticks(a)
		return c
	}
	return []chart{
		draw("Cost", money, spent),
		draw("Tokens in", tokens, func(d drawn) used { return used{n: float64(d.row.In), known: d.row.In+d.row.Out > 0} }),
		draw("Tokens out", tokens, func(d drawn) used { return used{n: float64(d.row.Out), known: d.row.In+d.row.Out > 0} }),
	}
}

// spent is what an attempt and its verification have cost.
func spent(d drawn) used {
	u := d.a.Usage.Add(d.a.Verdict.Usage) // its cost is an amount, or nil
	if u.CostUSD == nil {
		return used{}
	}
	return used{n: *u.CostUSD, known: unpriced(d.a) == 0, estimated: u.Estimated}
}

// newChart adds up what was used.
func newChart(name string, a *axis, from time.Time, all []used, show func(float64, bool) string) chart {
	c := chart{Name: name}
	sum, unknown, about, known := 0.0, 0, false, false
	for _, u := range all {
		sum, about, known = sum+u.n, about || u.estimated, known || u.known || u.n > 0
		if !u.known {
			unknown++
			c.Marks = append(c.Marks, percent(a.place(u.at)))
		}
	}
	if !known {
		c.Total, c.Marks = "unknown", nil
		return c
	}
	c.Total = show(sum, about)
	if unknown > 0 {
		c.Total = "at least " + c.Total
		c.Note = fmt.Sprintf("%s used an unknown amount, which is not in the line; a mark at the bottom shows each.", count(unknown, "attempt"))
	}
	top := ceiling(sum)
	c.Levels = []level{{percent(0), show(top, false)}, {percent(50), show(top/2, false)}}
	told, estimated := &path{}, &path{}
	x, y := a.place(from)*10, 0.0
	for _, u := range all {
		to := told
		if u.estimated {
			to = estimated
		}
		to.move(x, y)
		x, y = a.place(u.at)*10, y+u.n/top*100
		to.step(x, y)
	}
	c.Told, c.Estimated = told.String(), estimated.String()
	return c
}

// ceiling is a round number that is at least v, and not 0.
func ceiling(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, n := range []float64{1, 2, 5} {
		if v <= n*unit {
			return n * unit
		}
	}
	return 10 * unit
}

// A path is one of SVG, that of a staircase. Y is from the bottom.
type path struct {
	strings.Builder
	x, y float64
}

// move begins anew elsewhere, unless it is there already.
func (p *path) move(x, y float64) {
	if p.Len() == 0 || p.x != x || p.y != y {
		fmt.Fprintf(p, "M%.1f %.1f", x, 100-y)
		p.x, p.y = x, y
	}
}

// step goes to the right and then up.
func (p *path) step(x, y float64) {
	if x != p.x {
		fmt.Fprintf(p, "H%.1f", x)
	}
	if y != p.y {
		fmt.Fprintf(p, "V%.1f", 100-y)
	}
	p.x, p.y = x, y
}
