package progress

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/redact"
)

// A History is what loops on record have shown, by agent and method of verification:
// how many iterations the verified ones took, what was used, and why claims were
// rejected. [History.Lesson] draws from it what a loop that begins can learn. It is no
// evidence, for records can be edited: it changes limits and adds words to prompts, and
// decides nothing else.
//
// It is the same for the same records, whenever and in whatever order they are read; but of
// more than 1,000 different rejections of one agent and method it depends on the order of
// the files which of the rare ones still count. The zero value is that of no loops. As JSON
// it is for reading: of one that was decoded, limits are taken as if no loop had been
// verified. It is a plain value, and its methods may be called concurrently.
type History struct {
	// Stats are those of each agent and method, in the order of their names.
	Stats []LoopStats `json:"stats"`
	// Skipped is the number of journals that could not be read, or make no sense.
	Skipped int `json:"skipped,omitempty"`
}

// LoopStats sum up the loops of one agent whose claims are verified by one method.
//
// Verified against Loops tells how often the agent gets there at all; a high count of
// [ralph.StopIterations] in Stopped says that its limit is too low, or the task too
// large.
type LoopStats struct {
	Agent  string `json:"agent,omitempty"`  // [ralph.Task.Agent]
	Method string `json:"method,omitempty"` // [ralph.Task.Method]

	// Loops is the number of all of them, also of those that have not ended, and Verified
	// that of the verified ones. Stopped has how many have ended, by reason.
	Loops    int                      `json:"loops"`
	Verified int                      `json:"verified"`
	Stopped  map[ralph.StopReason]int `json:"stopped,omitempty"`

	// Usage is what all of them have used, their verifications included. Its CostUSD is
	// the part of the cost that is known. Estimated is how much of that, in US dollars,
	// was computed from prices, and Unpriced the number of loops of which a part of the
	// cost is not known.
	Usage     ralph.Usage `json:"usage,omitzero"`
	Estimated float64     `json:"estimated,omitempty"`
	Unpriced  int         `json:"unpriced,omitempty"`

	// Rejections are the most frequent reasons for which claims were rejected, at most
	// 20, the most frequent one first.
	Rejections []Rejection `json:"rejections,omitempty"`

	took []took // of the verified ones, by iterations per criterion
}

// A Rejection is why claims were rejected. Reasons that differ only in durations, clock
// times and addresses are one. It is counted by loops and not by claims, so that one
// loop which claims the same twenty times is one.
type Rejection struct {
	// Text is the first line of the feedback, with the next one if it ends with a colon:
	// printable, without secrets, at most 300 bytes.
	Text  string `json:"text"`
	Loops int    `json:"loops"` // in which it came
}

// How much is kept of an unbounded number of loops, and of texts of any size.
const (
	maxReason     = 300       // bytes of a rejection's text
	maxReasonRead = 16 << 10  // bytes that are read for it
	maxReasons    = 20        // rejections that are told
	maxDistinct   = 1000      // rejections that are counted, of each agent and method; of more, the rare ones are dropped
	maxLabel      = 80        // bytes of an agent's or a method's name
	maxTook       = 1_000_000 // iterations, or criteria, of a loop; what is said to have more makes no sense
)

// History returns what the loops in the folder have shown: those that are on record now,
// and for each the earlier loop of the same name that was kept. What was set aside does
// not count, nor do the records of sessions and pipelines themselves, whose loops do.
//
// Journals that cannot be read, or make no sense, are skipped and counted. The error is
// that of the folder, or the cause of ctx. Memory does not grow with the number of loops,
// but with that of different rejections that came in more than one.
func (d *Dir) History(ctx context.Context) (History, error) { return d.history(ctx, "") }

// history is History without a loop. The loop that asks has a journal already, and must
// not learn from itself.
func (d *Dir) history(ctx context.Context, but string) (History, error) {
	h := newHistorian(d.Redactor)
	for path, err := range d.paths(ctx) {
		if err != nil {
			return History{}, err
		}
		for _, end := range []string{".jsonl", ".last.jsonl"} {
			path := strings.TrimSuffix(path, ".jsonl") + end
			if but != "" && path == d.File(but) {
				continue
			}
			if err := d.recall(h, path, end); err != nil && !errors.Is(err, fs.ErrNotExist) {
				h.skipped++
			}
		}
	}
	return h.history(), nil
}

// errNoSense says that a journal's numbers are no loop's.
var errNoSense = errors.New("its numbers are those of no loop")

// recall takes over what a journal tells.
//
// A journal counts as a whole or not at all: numbers of the half that could be read
// would be wrong, and nobody would see it.
func (d *Dir) recall(h *historian, path, end string) error {
	f, err := d.on().Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // it was only read
	var loops []past
	l := past{}
	t := &telling{taken: map[ralph.EventKind]int64{}}
	t.each = func(ev ralph.Event, s ralph.State) {
		if l.endedBefore(ev) {
			loops, l = append(loops, l), past{}
		}
		l.apply(ev, s, h.hide)
	}
	for line, err := range journalLines(f, path, 0, 0) {
		if err == nil {
			err = t.read(line, false)
		}
		switch {
		case err != nil:
			return err
		case t.about.Kind != KindLoop && t.about.Kind != KindHook:
			return nil
		case path != d.file(t.about.Loop, end):
			return misplaced(path, t.about.Loop)
		}
	}
	if t.end == 0 {
		return fs.ErrNotExist
	}
	if err := t.finish(); err != nil {
		return err
	}
	l.state = t.fold.s
	for _, l := range append(loops, l) {
		if !l.sensible() {
			return errNoSense
		}
	}
	for _, l := range append(loops, l) {
		h.add(l)
	}
	return nil
}

// ReadHistory returns what the loops have shown that an execution log tells of, or a
// journal, see [ReadJSONL]. What cannot be read is skipped; loops whose numbers make no
// sense are skipped and counted. The error is that of r. It reads r to its end, once.
func ReadHistory(r io.Reader) (History, error) {
	h := newHistorian(Redactor{})
	type told struct {
		fold
		past
	}
	loops, names := map[string]*told{}, []string{}
	for rec, err := range ReadJSONL(r) {
		if err != nil {
			return History{}, err
		}
		ev := rec.Event
		l := loops[ev.Loop]
		switch {
		case l == nil && (ev.Kind != ralph.EventLoopStarted || ev.State == nil):
			continue
		case l == nil:
			l, names = &told{}, append(names, ev.Loop)
			loops[ev.Loop] = l
		case l.past.endedBefore(ev):
			h.take(l.past)
			*l = told{}
		}
		l.fold.apply(ev)
		l.past.apply(ev, l.fold.s, h.hide)
	}
	for _, name := range names {
		l := loops[name]
		l.fold.end()
		l.state = l.fold.s
		h.take(l.past)
	}
	return h.history(), nil
}

// A historian counts loops. It keeps counts, and no loops, so that its memory does not
// grow with them.
type historian struct {
	hide    eventRedactor
	of      map[group]*counted
	skipped int
}

// A group is what loops are compared by. What a coder needs says nothing about a
// reviewer, and what passes a build nothing about a judge.
type group struct{ agent, method string }

func groupOf(t ralph.Task) group { return group{labelText(t.Agent), labelText(t.Method)} }

// labelText is a name of an agent or a method as it is counted and shown: printable,
// and short. Names come from files that anybody may have written.
func labelText(text string) string { return cut(PrintableLine(text[:min(len(text), 1<<10)]), maxLabel) }

// counted are LoopStats that are being made. The iterations that loops took are kept as
// how often each number came, which is as good as a list of all and does not grow with
// it.
type counted struct {
	LoopStats
	took    map[took]int         // how many loops; its own loops are 0
	reasons map[string]Rejection // by what of it does not differ each time
}

// newHistorian counts loops, with secrets hidden in what is kept of their rejections:
// that ends in prompts of other loops.
func newHistorian(r Redactor) *historian {
	return &historian{hide: eventRedactor{Finder: redact.New(r.Secrets)}, of: map[group]*counted{}}
}

// take adds a loop, if it makes sense.
func (h *historian) take(l past) {
	if !l.sensible() {
		h.skipped++
		return
	}
	h.add(l)
}

// add counts a loop. Of very many different rejections those that came once are dropped
// from time to time: only what comes again is of use.
func (h *historian) add(l past) {
	if l.check() {
		return
	}
	of := groupOf(l.state.Task)
	c := h.of[of]
	if c == nil {
		c = &counted{LoopStats: LoopStats{Agent: of.agent, Method: of.method, Stopped: map[ralph.StopReason]int{}}, took: map[took]int{}, reasons: map[string]Rejection{}}
		h.of[of] = c
	}
	c.Loops++
	if l.state.Done() {
		c.Stopped[ralph.StopReason(labelText(string(l.state.Stop)))]++
	}
	if l.state.Stop == ralph.StopVerified {
		c.Verified++
		c.took[tookBy(l.state)]++
	}
	c.Usage, c.Estimated = c.Usage.Add(l.usage), c.Estimated+l.estimated
	if l.unpriced {
		c.Unpriced++
	}
	for key, text := range l.reasons {
		r, known := c.reasons[key]
		if !known {
			r.Text = text
		}
		c.reasons[key] = Rejection{Text: min(r.Text, text), Loops: r.Loops + 1}
	}
	if len(c.reasons) > maxDistinct {
		maps.DeleteFunc(c.reasons, func(_ string, r Rejection) bool { return r.Loops == 1 })
	}
}

// history is what was counted. All of it is sorted, so that the same loops give the
// same text.
func (h *historian) history() History {
	all := History{Skipped: h.skipped, Stats: make([]LoopStats, 0, len(h.of))}
	for _, c := range h.of {
		s := c.LoopStats
		for t, loops := range c.took {
			t.loops = loops
			s.took = append(s.took, t)
		}
		slices.SortFunc(s.took, took.compare)
		s.Rejections = slices.SortedFunc(maps.Values(c.reasons), func(a, b Rejection) int {
			return cmp.Or(cmp.Compare(b.Loops, a.Loops), cmp.Compare(a.Text, b.Text))
		})
		s.Rejections = slices.Clone(s.Rejections[:min(len(s.Rejections), maxReasons)])
		all.Stats = append(all.Stats, s)
	}
	slices.SortFunc(all.Stats, func(a, b LoopStats) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Method, b.Method))
	})
	return all
}
