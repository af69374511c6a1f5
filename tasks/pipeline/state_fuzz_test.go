package pipeline_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// A dice makes values of fuzz data; when that ends, zeros.
type dice struct{ data []byte }

func (d *dice) roll(n int) int {
	if len(d.data) == 0 {
		return 0
	}
	v := int(d.data[0])
	d.data = d.data[1:]
	return v % n
}

func pick[T any](d *dice, from ...T) T { return from[d.roll(len(from))] }

func (d *dice) usd() *float64 {
	if v := pick(d, -2, 0, 0.01, 1, 1e300, -1, math.NaN(), math.Inf(1), math.MaxFloat64); v != -2 {
		return &v
	}
	return nil
}

func (d *dice) usage() ralph.Usage {
	return ralph.Usage{InputTokens: pick(d, 0, 1, 100, -5, int64(math.MaxInt64)), OutputTokens: pick(d, 0, 7, int64(math.MaxInt64), math.MinInt64), CostUSD: d.usd()}
}

func (d *dice) rules() pipeline.Rules {
	r := pipeline.Rules{Slots: pick(d, 0, 1, 2, 4, -1), Merge: d.roll(2) == 0, Unverified: d.roll(3) == 0, Repair: d.roll(2) == 0,
		CostUSD: pick(d, 0, 0, 5, 0.5), Tokens: pick(d, 0, 0, int64(40), math.MaxInt64), Duration: pick(d, 0, 0, time.Minute)}
	if d.roll(2) == 0 {
		r.Back = map[string]pipeline.Back{"r": {To: pick(d, "c", "r", "q", ""), Rounds: d.roll(3)}}
	}
	return r
}

func (d *dice) tasks() (all []pipeline.Planned) {
	ids := []string{"a", "b", "c", "d", "e", "a.c"}
	for i := range 1 + d.roll(len(ids)) {
		p := pipeline.Planned{ID: ids[i], Sum: pick(d, "1", "1", "1", "2"), Phase: pick(d, 0, 0, 0, 0, pipeline.PhaseDone, pipeline.PhaseLeft),
			Agents: pick(d, []string{"c", "r", "q"}, []string{"c"}, []string{"r", "c"}, []string{"q", "c.2", "2"}), Anew: d.roll(8) == 7}
		for range d.roll(3) {
			if i > 0 {
				p.After = append(p.After, ids[d.roll(i)])
			}
		}
		all = append(all, p)
	}
	return all
}

// event is one that a driver may tell, or not.
func (d *dice) event(s pipeline.State) pipeline.Event {
	ev := pipeline.Event{
		Kind: pick(d, pipeline.EventBegan, pipeline.EventReserve, pipeline.EventUsed, pipeline.EventHeld, pipeline.EventEnded, pipeline.EventMerging, pipeline.EventMerged,
			pipeline.EventUnmerged, pipeline.EventAltered, pipeline.EventBroken, pipeline.EventAdded, pipeline.EventRules, pipeline.EventPaused,
			pipeline.EventContinued, pipeline.EventStopped, pipeline.EventStarted, pipeline.EventNoted, "odd"),
		Elapsed: pick(d, 0, time.Second, -time.Hour, math.MaxInt64), Task: pick(d, "a", "b", "c", "nobody", ""), Agent: pick(d, "c", "r", "odd"),
		Loop: pick(d, "a.c", "b.c", "a.r.2", "odd"), Unverified: d.roll(4) == 0, Usage: d.usage(),
		Stop: pick(d, "", ralph.StopVerified, ralph.StopIterations, ralph.StopCost, ralph.StopInvalid, ralph.StopFailed, ralph.StopRateLimited, ralph.StopCancelled, "odd"),
	}
	if d.roll(2) == 0 {
		ev.Last = &pipeline.Amount{CostUSD: d.usd(), Tokens: pick(d, 0, 5, -1, int64(math.MaxInt64))}
	}
	switch part := s.Find(ev.Task); {
	case part >= 0 && d.roll(2) == 0:
		ev.Loop = s.Loop(part)
		ev.Agent, _ = s.Agent(part)
	case d.roll(3) == 0:
		ev.State = &pipeline.State{Rules: d.rules(), Orders: [][]string{{"c"}, {"c", "c"}}, Parts: []pipeline.Part{
			{ID: pick(d, "x", "y", "a"), Order: pick(d, 0, 0, 1, -1, 7), After: pick(d, nil, []int{0}, []int{-1, 99}, []int{len(s.Parts) + 1})},
			{ID: pick(d, "x", "z"), After: pick(d, nil, []int{len(s.Parts)}, []int{len(s.Parts) + 1})}}}
	}
	return ev
}

// FuzzState plays random pipelines, with drivers that are honest for most of the time.
func FuzzState(f *testing.F) {
	for i := range 64 {
		seed := make([]byte, 400)
		for j := range seed {
			seed[j] = byte((i*31 + j*j*7 + j*i) >> (i % 3))
		}
		f.Add(seed)
	}
	f.Fuzz(play)
}

// play plays a pipeline.
func play(t *testing.T, data []byte) {
	d := &dice{data}
	honest := d.roll(2) == 0
	all := d.tasks()
	s := begun(t, d.rules(), all, nil)
	c := course{s: s, fold: s, names: map[string]bool{}}
	for range 30 {
		if !honest && d.roll(2) == 0 {
			was, before := asJSON(t, c.s), c.s
			c.s = c.s.Next(d.event(c.s))
			if now := asJSON(t, before); now != was {
				t.Fatalf("Next has written through:\nwas %s\nis  %s", was, now)
			}
			probe(c.s)
			continue
		}
		moves := c.moves([]pipeline.Event{verified, verified, rejected, broken, halted, unverified, reserve, used, held}, []pipeline.Event{altered, pause, goOn})
		ev := moves[d.roll(len(moves))]
		if !honest {
			c.s = c.s.Next(ev)
			continue
		}
		c = c.act(t, ev)
		if d.roll(8) == 7 { // the process dies, and another goes on
			c.replan(t, d, all)
		}
	}
	if honest {
		c.finish(t, ralph.StopVerified, pipeline.Event{Kind: pipeline.EventMerged})
	}
}

// replan goes on in another run with the same tasks, or some of them changed.
func (c *course) replan(t *testing.T, d *dice, all []pipeline.Planned) {
	all = slices.Clone(all)
	if i := d.roll(len(all)); d.roll(2) == 0 {
		all[i].Sum, all[i].Anew = pick(d, "1", "2"), d.roll(4) == 0
		all[i].Phase = pick(d, pipeline.PhaseOpen, pipeline.PhaseLeft, pipeline.PhaseDone)
	}
	last := c.resumed()
	next := begun(t, c.s.Rules, all, &last)
	goesOn := map[string]bool{}
	for _, r := range next.Running {
		goesOn[next.Loop(r.Part)] = true
	}
	for _, r := range last.Running { // those that do not go on have ended
		if loop := last.Loop(r.Part); !goesOn[loop] {
			c.names[loop] = true
		}
	}
	c.s, c.fold, c.live, c.spent = next, next, nil, next.Used().InputTokens
}

// probe asks a state all that can be asked.
func probe(s pipeline.State) {
	for _, step := range s.Ready() {
		s.Next(beginning(step))
	}
	for i := -1; i <= max(len(s.Parts), len(s.Stands)); i++ {
		s.Agent(i)
		s.Loop(i)
	}
	for _, p := range s.Parts {
		s.Granted(p.ID, ralph.State{})
	}
	s.Remaining()
	s.Used()
	s.Done()
	_ = s.Err()
}

// FuzzStateEdited reads states that somebody has edited.
func FuzzStateEdited(f *testing.F) {
	f.Add(`{"v":1,"orders":[["c"]],"parts":[{"id":"a","after":[7,-1],"order":9},{"id":"b","order":-1},{"id":"c"}],"stands":[{"phase":"running"}],"running":[{"part":0},{"part":9},{"part":-1},{"part":2,"reserved":{}}]}`, []byte{3, 1})
	f.Add(`{"parts":[{"id":"a"}],"running":[{"part":0}]}`, []byte{1, 2, 3})
	f.Add(`{"v":1,"stands":[{},{}],"parts":[{"id":"a"}],"orders":[[]]}`, []byte{})
	f.Add(`{"v":1,"orders":[["","c"]],"parts":[{"id":"a"},{"id":"a"}],"stands":[{"phase":"ready"},{"phase":"interrupted","verified":18446744073709551615,"again":-3}],"running":[{"part":1},{"part":1}],"rules":{"slots":-9,"tokens":-1,"cost_usd":1e308}}`, []byte{9, 9})
	f.Fuzz(func(t *testing.T, text string, data []byte) {
		var s pipeline.State
		if json.Unmarshal([]byte(text), &s) != nil {
			return
		}
		d := &dice{data}
		probe(s)
		for _, p := range append(slices.Clone(s.Parts), pipeline.Part{ID: "a"}) {
			for _, kind := range []pipeline.Kind{pipeline.EventBegan, pipeline.EventReserve, pipeline.EventUsed, pipeline.EventHeld, pipeline.EventEnded, pipeline.EventMerging,
				pipeline.EventMerged, pipeline.EventUnmerged, pipeline.EventAltered, pipeline.EventBroken} {
				ev := d.event(s)
				ev.Kind, ev.Task, ev.Loop = kind, p.ID, s.Loop(s.Find(p.ID))
				ev.Agent, _ = s.Agent(s.Find(p.ID))
				probe(s.Next(ev))
			}
		}
		probe(s.Next(pipeline.Event{Kind: pipeline.EventStarted, State: &s}))
		probe(s.Next(pipeline.Event{Kind: pipeline.EventAdded, State: &s}))
		probe(pipeline.State{}.Next(pipeline.Event{Kind: pipeline.EventAdded, State: &s}))
		for range 10 {
			s = s.Apply(d.event(s))
			probe(s)
		}
		if next, err := pipeline.Plan(s.Rules, planned("a b:a c", "c", "r"), &s); err == nil {
			probe(next)
		}
		var again pipeline.State
		if err := json.Unmarshal([]byte(asJSON(t, s)), &again); err != nil || asJSON(t, again) != asJSON(t, s) {
			t.Fatalf("as JSON and back it is another state: %v", err)
		}
	})
}
