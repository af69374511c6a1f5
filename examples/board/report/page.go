package report

import (
	"fmt"
	"html/template"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/board"
	"github.com/ralph-loop/ralph/progress"
)

// A page is a [Report] as its template shows it.
type page struct {
	Policy string
	Style  template.CSS
	Script template.JS

	Kind    string // pipeline, session, loop
	Name    text
	Title   text
	Status  text
	Why     text
	Facts   []fact
	Lanes   []laneCount
	Results []result // that attempts have, for the legend
	Strips  []strip
	Charts  []chart
	Tasks   []task
	Alone   bool // it is one loop
	Asked   []asked
	Unread  []unread
	Made    moment
	Zone    string

	zone *time.Location
	days bool // it spans more than one day
	// each and talk bound the words of each attempt and of each loop, in bytes.
	each, talk int
	made       time.Time
	over       bool
}

// A fact is a row of a list of them.
type fact struct {
	Name  string
	Texts []text
}

// A laneCount is how many tasks stand in a lane.
type laneCount struct {
	Lane string
	N    int
}

// An asked is a change that a person has asked for.
type asked struct {
	At   moment
	What string
	Text text
}

// An unread is a journal that cannot be read.
type unread struct{ Name, Why text }

// A task is a row of the table of tasks, and a section of its own.
type task struct {
	Anchor     string
	ID, Title  text
	Lane       string
	Agent      text
	Why, After text
	Iterations int
	Attempts   int
	Rejected   int
	Files      int
	Took       time.Duration
	Cost       cost
	In, Out    int64
	Loops      []loop
	Open       bool
	unpriced   int // attempts of unknown cost
}

// TookText and TookSort are how long its agents and checks have worked.
func (t task) TookText() string { return took(t.Took) }
func (t task) TookSort() int64  { return t.Took.Milliseconds() }

// InText and OutText are the tokens.
func (t task) InText() string  { return amount(t.In) }
func (t task) OutText() string { return amount(t.Out) }

// A loop is one that has worked on a task.
type loop struct {
	Anchor   string
	Name     text
	Agent    text
	Status   text
	Facts    []fact
	Prompt   text
	Attempts []attempt
	Asked    []asked
	Torn     bool
	Missing  bool
}

// The words of a page are bounded, so that a browser shows it well: what is over that is
// on record. A loop's words are its definition and an attempt's its reasons, files and
// last words.
const (
	allWords  = 800 << 10
	allTalk   = 200 << 10
	leastSaid = 300
)

// newPage makes the page of a report.
func newPage(r Report) *page {
	run := r.Run
	p := &page{
		Kind: string(run.Kind), Name: line(run.Loop), Title: line(run.State.Task.Title), Status: line(string(run.Status)), Why: stopped(run.Standing.Standing),
		zone: r.zone(), made: r.Made, over: r.over(),
		Alone: run.Kind != progress.KindPipeline && run.Kind != progress.KindSession,
	}
	p.bound(r)
	p.Made, p.Zone = p.at(r.Made), r.Made.In(p.zone).Format("MST")
	p.Asked = p.asked(r.Histories[run.Loop])
	var all []drawn // the attempts of all tasks
	for i, c := range run.Cards {
		t, attempts := p.task(r, c, fmt.Sprintf("t%d", i+1))
		p.Tasks = append(p.Tasks, t)
		all = append(all, attempts...)
	}
	p.Results = results()
	p.Results = slices.DeleteFunc(p.Results, func(r result) bool {
		return !slices.ContainsFunc(all, func(d drawn) bool { return d.row.Result == r })
	})
	for i := range p.Tasks {
		p.Tasks[i].Open = len(p.Tasks) == 1
	}
	p.facts(r)
	if p.Alone {
		p.Title, p.Asked = "", nil // the task says so itself
		p.Strips = p.pieces(all)
	} else {
		p.lanes(run)
		p.Strips = p.rows(all)
	}
	p.Charts = p.charts(all)
	for _, u := range r.Unread {
		p.Unread = append(p.Unread, unread{line(u.Name), line(u.Why())})
	}
	return p
}

// bound finds out how much room there is for words, and whether the page has to name days.
func (p *page) bound(r Report) {
	attempts, loops := 0, 0
	first, last := r.Made.In(p.zone), r.Made.In(p.zone)
	for _, h := range r.Histories {
		loops++
		attempts += len(h.Attempts)
		for _, a := range h.Attempts {
			from, to := span(a, r.Made)
			if from.IsZero() {
				continue
			}
			if first.After(from) {
				first = from.In(p.zone)
			}
			if last.Before(to) {
				last = to.In(p.zone)
			}
		}
	}
	p.each = min(max(allWords/max(attempts, 1), leastSaid), 12<<10)
	p.talk = min(max(allTalk/max(loops, 1), leastSaid), 8<<10)
	p.days = first.YearDay() != last.YearDay() || first.Year() != last.Year()
}

// lanes counts the tasks of each lane that has some.
func (p *page) lanes(run board.Run) {
	for _, lane := range board.Lanes() {
		n := 0
		for _, c := range run.Cards {
			if c.Lane == lane {
				n++
			}
		}
		if n > 0 {
			p.Lanes = append(p.Lanes, laneCount{lane.String(), n})
		}
	}
}

// facts are those of the whole run.
func (p *page) facts(r Report) {
	run := r.Run
	iterations, attempts, open := 0, 0, 0
	for _, t := range p.Tasks {
		iterations, attempts, open = iterations+t.Iterations, attempts+t.Attempts, open+t.unpriced
	}
	zoned := func(t time.Time) text {
		if t.IsZero() {
			return "unknown"
		}
		return text(t.In(p.zone).Format("Jan 2, 2006, 15:04:05 MST"))
	}
	add := func(name string, texts ...text) { p.Facts = append(p.Facts, fact{name, texts}) }
	add("Began", zoned(run.Started))
	if p.over {
		add("Last on record", zoned(run.Active))
	} else {
		add("Still at work", zoned(r.Made))
	}
	add("Iterations", text(number(int64(iterations)))+" in "+text(count(attempts, "attempt")))
	spent := costOf(run.Used, attempts, open).Show
	if l := run.State.Task.Limits; l.CostUSD > 0 {
		spent += " of " + ralph.Usage{CostUSD: &l.CostUSD}.Cost()
	}
	add("Cost", text(spent))
	add("Tokens", text(tokens(run.Used)))
}

// tokens says how many were used.
func tokens(u ralph.Usage) string {
	if u.InputTokens <= 0 && u.OutputTokens <= 0 {
		return "unknown"
	}
	return number(max(u.InputTokens, 0)) + " in, " + number(max(u.OutputTokens, 0)) + " out"
}

// stopped is why something has stopped.
func stopped(st progress.Standing) text {
	if !st.State.Done() {
		return ""
	}
	return join(": ", line(string(st.State.Stop)), line(st.State.Detail))
}

// task is that of a card, with its attempts.
func (p *page) task(r Report, c board.Card, anchor string) (task, []drawn) {
	t := task{
		Anchor: anchor, ID: line(c.ID), Title: line(c.Title), Lane: c.Lane.String(), Agent: line(c.Agent), Why: said(c.Why), Iterations: c.Iterations,
		In: max(c.Used.InputTokens, 0), Out: max(c.Used.OutputTokens, 0),
	}
	for _, id := range c.After {
		t.After = join(", ", t.After, line(id))
	}
	var all []drawn
	files := map[string]bool{}
	for i, st := range c.Loops {
		h, ok := r.Histories[st.Loop]
		l := p.loop(st, h, fmt.Sprintf("%s-%d", anchor, i+1))
		l.Missing = !ok
		l.Torn = h.Torn && st.Status == progress.StatusInterrupted
		t.Loops = append(t.Loops, l)
		t.Attempts += len(h.Attempts)
		for n, a := range h.Attempts {
			row := l.Attempts[n]
			t.Took += a.Elapsed
			t.unpriced += unpriced(a)
			if row.Result.Class == "rejected" {
				t.Rejected++
			}
			for _, name := range a.Files {
				files[name] = true
			}
			from, to := span(a, p.until(st))
			all = append(all, drawn{a: a, row: row, from: from, to: to, task: join(" ", t.ID, t.Title), agent: l.Agent, anchor: anchor, loop: l.Anchor})
		}
	}
	t.Files, t.Cost = len(files), costOf(c.Used, t.Attempts, t.unpriced)
	if len(all) == 0 { // one that has not begun still has a row
		all = []drawn{{task: join(" ", t.ID, t.Title), anchor: anchor}}
	}
	return t, all
}

// until is until when an attempt is shown that has not ended: that of a loop at which
// nobody works ended when the last thing was recorded.
func (p *page) until(st progress.Standing) time.Time {
	if board.Active(st) {
		return p.made
	}
	return st.Active
}

// loop is one of a task.
func (p *page) loop(st progress.Standing, h board.History, anchor string) loop {
	of := st.State.Task
	room := &purse{p.talk}
	l := loop{Anchor: anchor, Name: line(st.Loop), Agent: line(st.Stage), Status: join(" · ", line(string(st.Status)), stopped(st)), Asked: p.asked(h)}
	add := func(name string, texts ...text) {
		var kept []text
		for _, t := range texts {
			if t != "" {
				kept = append(kept, room.take(t))
			}
		}
		if len(kept) > 0 {
			l.Facts = append(l.Facts, fact{name, kept})
		}
	}
	add("Outcome", said(of.Outcome))
	add("Acceptance criteria", lines(of.Acceptance)...)
	add("Promise", line(st.CompletionPromise))
	add("Verified by", join(": ", line(of.Method), join("; ", line(of.Success), line(of.HowVerified))))
	add("Used", usedUp(st))
	add("Blocked", said(st.State.Obstacle))
	add("Left running", lines(st.Left)...)
	l.Prompt = room.take(said(of.Prompt))
	for i, a := range h.Attempts {
		l.Attempts = append(l.Attempts, p.attempt(a, board.Active(st) && i == len(h.Attempts)-1, fmt.Sprintf("%s-%d", anchor, i+1)))
	}
	return l
}

// usedUp is what a loop has used, and of which limits.
func usedUp(st progress.Standing) text {
	n := count(st.State.Completed(), "iteration")
	if st.MaxIterations >= 0 {
		n = fmt.Sprintf("%d of %s", st.State.Completed(), count(st.MaxIterations, "iteration"))
	}
	return join(", ", text(n), text(st.Spent()))
}

// asked are the changes that people have asked for.
func (p *page) asked(h board.History) (all []asked) {
	for _, a := range h.Asked {
		all = append(all, asked{p.at(a.Time), words(string(a.Kind)), said(a.Text)})
	}
	return all
}
