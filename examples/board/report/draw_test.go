package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/board"
	"github.com/ralph-loop/ralph/progress"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// ran is an attempt from one minute after noon to another.
func ran(from, to int) drawn {
	return drawn{from: noon.Add(time.Duration(from) * time.Minute), to: noon.Add(time.Duration(to) * time.Minute), loop: "t1-1"}
}

// TestAxis: what is idle for long becomes a narrow gap, and a short wait stays as long as
// it is; of many gaps each is narrower.
func TestAxis(t *testing.T) {
	t.Parallel()
	var nights []drawn
	for day := range 20 {
		nights = append(nights, ran(day*1440, day*1440+10))
	}
	for _, tt := range []struct {
		name   string
		all    []drawn
		places map[int]string // of minutes after noon
		gaps   string
	}{
		{"one", []drawn{ran(0, 10)}, map[int]string{-5: "0.00%", 0: "0.00%", 5: "50.00%", 10: "100.00%", 11: "100.00%"}, ""},
		{"beside each other", []drawn{ran(5, 10), ran(0, 20)}, map[int]string{0: "0.00%", 5: "25.00%", 20: "100.00%"}, ""},
		{"a short wait", []drawn{ran(0, 49), ran(51, 100)}, map[int]string{49: "49.00%", 51: "51.00%"}, ""},
		{"a night", []drawn{ran(0, 10), ran(610, 620)}, map[int]string{10: "48.50%", 310: "50.00%", 610: "51.50%", 620: "100.00%"}, "nobody worked for 10 h 00 min"},
		{"at no time", []drawn{ran(0, 0), ran(10, 10)}, map[int]string{0: "0.00%", 10: "51.50%"}, "nobody worked for 10 min 00 s"},
		{"many nights", nights, map[int]string{10: "3.50%", 1440: "5.00%", 19*1440 + 10: "100.00%"}, strings.TrimSuffix(strings.Repeat("nobody worked for 23 h 50 min; ", 19), "; ")},
	} {
		a := newAxis(tt.all)
		got := map[int]string{}
		for at := range tt.places {
			got[at] = percent(a.place(noon.Add(time.Duration(at) * time.Minute)))
		}
		if tt.name == "many nights" { // 19 gaps share 30 percent
			got[1440], tt.places[1440] = percent(a.pieces[1].wide), percent(30.0/19)
		}
		if diff := cmp.Diff(tt.places, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		var gaps []string
		for _, g := range a.gaps() {
			gaps = append(gaps, g.Show)
		}
		if diff := cmp.Diff(tt.gaps, strings.Join(gaps, "; ")); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	if newAxis([]drawn{{}}) != nil {
		t.Error("there is an axis without times")
	}
}

// TestCharts: costs are added up where they are known; estimated ones are dashed, unknown
// ones marked.
func TestCharts(t *testing.T) {
	t.Parallel()
	spent := func(d drawn, u ralph.Usage) drawn {
		d.a.Usage = u
		d.row.In, d.row.Out = u.InputTokens, u.OutputTokens
		return d
	}
	p := &page{zone: time.UTC}
	told := spent(ran(0, 10), ralph.Usage{InputTokens: 600, OutputTokens: 20, CostUSD: new(0.5)})
	estimated := spent(ran(10, 20), ralph.Usage{InputTokens: 400, OutputTokens: 20, CostUSD: new(0.25), Estimated: true})
	unknown := spent(ran(20, 40), ralph.Usage{InputTokens: 1000, OutputTokens: 60})
	for _, tt := range []struct {
		name string
		all  []drawn
		want chart
	}{
		{"told", []drawn{told}, chart{Name: "Cost", Total: "$0.5000", Told: "M0.0 100.0H1000.0V0.0", Levels: []level{{"0.00%", "$0.5000"}, {"50.00%", "$0.2500"}}}},
		{"all kinds, out of order", []drawn{unknown, told, estimated}, chart{
			Name: "Cost", Total: "at least ≈ $0.75", Note: "1 attempt used an unknown amount, which is not in the line; a mark at the bottom shows each.",
			Told: "M0.0 100.0H250.0V50.0M500.0 25.0H1000.0", Estimated: "M250.0 50.0H500.0V25.0", Marks: []string{"100.00%"}, Levels: []level{{"0.00%", "$1.0000"}, {"50.00%", "$0.5000"}},
		}},
		{"unknown", []drawn{unknown}, chart{Name: "Cost", Total: "unknown"}},
	} {
		got := p.charts(tt.all)
		got[0].Ticks = nil
		if diff := cmp.Diff(tt.want, got[0]); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	got := p.charts([]drawn{told, estimated, unknown})
	if got[1].Total != "2\u202f000" || got[2].Total != "100" {
		t.Errorf("tokens: %q in, %q out", got[1].Total, got[2].Total)
	}
	if p.charts([]drawn{{loop: "t1-1"}}) != nil {
		t.Error("there is a chart of what ran at an unknown time")
	}
}

// TestResults: how an attempt ended.
func TestResults(t *testing.T) {
	t.Parallel()
	unable := ralph.Verdict{Feedback: "go is not installed", Checks: []ralph.Check{{Status: ralph.CheckUnable}}}
	for _, tt := range []struct {
		want string
		it   ralph.Iteration
	}{
		{"verified", ralph.Iteration{Claimed: true, Verdict: ralph.Pass()}},
		{"rejected", ralph.Iteration{Claimed: true, Verdict: ralph.Reject("no")}},
		{"not decided", ralph.Iteration{Claimed: true, Verdict: unable}},
		{"blocked", ralph.Iteration{Blocked: true, Obstacle: "no key"}},
		{"no promise", ralph.Iteration{}},
		{"fault", ralph.Iteration{Fault: ralph.FaultTimeout}},
		{"interrupted", ralph.Iteration{Fault: ralph.FaultInterrupted}},
	} {
		if got := resultOf(board.Attempt{Iteration: tt.it, Ended: true}, false).Word; got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
	for live, want := range map[bool]string{true: "at work", false: "interrupted"} {
		if got := resultOf(board.Attempt{}, live).Word; got != want {
			t.Errorf("not ended, live %t: %s, want %s", live, got, want)
		}
	}
}

// TestCosts: what is not known is never shown as nothing, and what is estimated is marked.
func TestCosts(t *testing.T) {
	t.Parallel()
	usd := func(v float64, estimated bool) ralph.Usage {
		return ralph.Usage{CostUSD: &v, Estimated: estimated}
	}
	for _, tt := range []struct {
		used               ralph.Usage
		attempts, unpriced int
		want               string
	}{
		{ralph.Usage{}, 0, 0, "–"},
		{ralph.Usage{}, 1, 1, "unknown"},
		{ralph.Usage{InputTokens: 5}, 1, 1, "unknown"},
		{usd(0, false), 1, 0, "$0.0000"},
		{usd(1.5, false), 2, 0, "$1.5000"},
		{usd(1.5, true), 2, 0, "≈ $1.50"},
		{usd(1.5, false), 2, 1, "at least $1.5000"},
		{usd(-1, false), 1, 1, "unknown"},
	} {
		if got := costOf(tt.used, tt.attempts, tt.unpriced).Show; got != tt.want {
			t.Errorf("%v: %s, want %s", tt.used, got, tt.want)
		}
	}
}

// TestPurse: a text takes as much room as the page needs for it, and says what is left out.
func TestPurse(t *testing.T) {
	t.Parallel()
	p := &purse{10}
	var got []text
	for _, t := range []text{"abc", "<é>", "more"} {
		got = append(got, p.take(t))
	}
	if diff := cmp.Diff([]text{"abc", "<é … (1 byte more are on record)", "(4 bytes are on record)"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestPieces: the timeline of a long loop is broken into lines.
func TestPieces(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		1:   "iteration 1",
		75:  "iterations 1 to 75",
		76:  "iterations 1 to 50; iterations 51 to 76",
		500: "", // ten
	} {
		var all []drawn
		for i := range n {
			d := ran(i, i+1)
			d.a.Number, d.row.Name = i+1, fmt.Sprint(i+1)
			all = append(all, d)
		}
		var got []string
		for _, s := range (&page{zone: time.UTC}).pieces(all) {
			got = append(got, string(s.Rows[0].Label))
		}
		if joined := strings.Join(got, "; "); want != "" && joined != want || n == 500 && len(got) != 10 {
			t.Errorf("%d: %s", n, joined)
		}
	}
}

// TestUntil: an attempt of a dead process ended when the last thing was recorded.
func TestUntil(t *testing.T) {
	t.Parallel()
	p := &page{made: noon.Add(time.Hour)}
	for status, want := range map[progress.Status]time.Time{progress.StatusRunning: p.made, progress.StatusInterrupted: noon} {
		if got := p.until(progress.Standing{Entry: progress.Entry{Status: status, Active: noon}}); !got.Equal(want) {
			t.Errorf("%s: %v", status, got)
		}
	}
}
