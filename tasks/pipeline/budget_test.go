package pipeline_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// A spender is a driver whose iterations use what they like of what they are granted.
type spender struct {
	*rand.Rand
	t       *testing.T
	s       pipeline.State
	granted map[string]ralph.Limits // of the loops whose iterations run
	excess  ralph.Usage             // what was used beyond what was granted
	wild    bool                    // iterations use more than they are granted
}

func dollars(v float64, tokens int64) ralph.Usage {
	return ralph.Usage{CostUSD: &v, InputTokens: tokens}
}

// tell checks, after each event, that what is used and what is granted is within the budget.
func (d *spender) tell(ev pipeline.Event) {
	d.t.Helper()
	ev.Elapsed = d.s.Elapsed + time.Second
	d.s = d.s.Next(ev)
	all := d.s.Used()
	for _, r := range d.s.Running {
		if l, runs := d.granted[d.s.Loop(r.Part)]; runs {
			more := dollars(0, max(l.Tokens-r.Used.InputTokens, 0))
			if r.Used.CostUSD != nil {
				*more.CostUSD = max(l.CostUSD-*r.Used.CostUSD, 0)
			} else {
				*more.CostUSD = l.CostUSD
			}
			all = all.Add(more)
		}
	}
	most := ralph.Usage{}.Add(d.excess).Add(dollars(d.s.Rules.CostUSD, d.s.Rules.Tokens))
	if all.CostUSD != nil && *all.CostUSD > *most.CostUSD+1e-9 || all.InputTokens > most.InputTokens {
		d.t.Fatalf("after %s of %s, %v is used and granted of %v: %s", ev.Kind, ev.Loop, all, most, asJSON(d.t, d.s))
	}
}

// iterate does something with one loop.
func (d *spender) iterate(r pipeline.Live) {
	task, loop := d.s.Parts[r.Part].ID, d.s.Loop(r.Part)
	ev := pipeline.Event{Task: task, Loop: loop, Usage: r.Used}
	ev.Agent, _ = d.s.Agent(r.Part)
	l, runs := d.granted[loop]
	if !runs {
		ev.Kind = pipeline.EventReserve
		d.tell(ev)
		if l, ok := d.s.Granted(task, ralph.State{Usage: r.Used}); ok {
			d.granted[loop] = l
			d.tell(pipeline.Event{Kind: pipeline.EventNoted})
		} else if d.s.Done() {
			ev.Kind = pipeline.EventEnded
			d.tell(ev)
		}
		return
	}
	used := ralph.Usage{}.Add(r.Used)
	if used.CostUSD == nil {
		used.CostUSD = new(float64)
	}
	left := max(l.CostUSD-*used.CostUSD, 0)
	*used.CostUSD += left * pick2(d.Rand, 0, 0.1, 0.3, 1)
	used.InputTokens += d.Int64N(max(l.Tokens-used.InputTokens, 0) + 1)
	if d.wild && d.IntN(4) == 0 {
		more := dollars(d.Float64(), d.Int64N(50))
		d.excess, used = d.excess.Add(more), used.Add(more)
	}
	ev.Usage, ev.Last = used, &pipeline.Amount{CostUSD: dollars(d.Float64()*2, 0).CostUSD, Tokens: d.Int64N(60)}
	switch {
	case d.IntN(3) == 0:
		ev.Kind, ev.Last = pipeline.EventUsed, nil
		d.tell(ev)
		return
	case *used.CostUSD >= l.CostUSD:
		ev.Kind, ev.Stop = pipeline.EventEnded, ralph.StopCost
	default:
		ev.Kind = pick2(d.Rand, pipeline.EventReserve, pipeline.EventEnded)
		ev.Stop = pick2(d.Rand, ralph.StopVerified, ralph.StopIterations, "")
	}
	delete(d.granted, loop)
	d.tell(ev)
	if l, ok := d.s.Granted(task, ralph.State{Usage: used}); ok && ev.Kind == pipeline.EventReserve {
		d.granted[loop] = l
		d.tell(pipeline.Event{Kind: pipeline.EventNoted})
	}
}

func beginning(step pipeline.Step) pipeline.Event {
	if step.Kind == pipeline.StepMerge {
		return pipeline.Event{Kind: pipeline.EventMerging, Task: step.Task}
	}
	return pipeline.Event{Kind: pipeline.EventBegan, Task: step.Task, Agent: step.Agent, Loop: step.Loop}
}

func pick2[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// working are the loops that have begun and have not ended.
func working(s pipeline.State) []pipeline.Live {
	return slices.DeleteFunc(slices.Clone(s.Running), func(r pipeline.Live) bool { return s.Stands[r.Part].Phase == pipeline.PhaseInterrupted })
}

// TestBudget plays many runs, in which iterations use what they like of what they were
// granted: what is used and granted is never above the budget, and nobody waits for ever.
func TestBudget(t *testing.T) {
	for seed := range uint64(600) {
		d := &spender{Rand: rand.New(rand.NewPCG(seed, 7)), t: t, granted: map[string]ralph.Limits{}, wild: seed%3 == 0}
		rules := pipeline.Rules{Slots: 1 + int(seed%5), Merge: seed%2 == 0, CostUSD: 1 + 20*d.Float64(), Tokens: 50 + d.Int64N(2000)}
		d.s = begun(t, rules, planned("a b c d:a e:b,c f g h", "c", "r"), nil)
		turns := 0
		for ; !d.s.Done() || len(working(d.s)) > 0; turns++ {
			if turns > 20000 {
				t.Fatalf("seed %d does not end: %s", seed, asJSON(t, d.s))
			}
			for _, step := range d.s.Ready() {
				d.tell(beginning(step))
				if step.Kind == pipeline.StepMerge {
					verified := dollars(d.Float64()/10, d.Int64N(5))
					d.excess = d.excess.Add(verified)
					d.tell(pipeline.Event{Kind: pipeline.EventMerged, Task: step.Task, Usage: verified})
				}
			}
			live := working(d.s)
			if len(live) == 0 {
				continue
			}
			if len(d.granted) == 0 && !d.s.Done() { // the others have settled
				for _, r := range live {
					d.iterate(r)
				}
				if len(d.granted) == 0 && !d.s.Done() && len(working(d.s)) == len(live) {
					t.Fatalf("seed %d: all wait for nobody: %s", seed, asJSON(t, d.s))
				}
				continue
			}
			d.iterate(live[d.IntN(len(live))])
		}
	}
}

// grants begins the loops of tasks and has each ask for an iteration; it returns what they
// were granted: "" = nothing.
func grants(t *testing.T, s pipeline.State, tasks ...string) (pipeline.State, []string) {
	t.Helper()
	for _, step := range s.Ready() {
		if slices.Contains(tasks, step.Task) {
			s = s.Next(beginning(step))
		}
	}
	var all []string
	for _, task := range tasks {
		s = s.Next(pipeline.Event{Kind: pipeline.EventReserve, Task: task, Loop: task + ".c", Usage: runningOf(s, task).Used})
		l, ok := s.Granted(task, ralph.State{Usage: runningOf(s, task).Used})
		text := ""
		if ok {
			text = fmt.Sprintf("$%.4g %d %v", l.CostUSD, l.Tokens, l.Duration)
		}
		all = append(all, text)
	}
	return s, all
}

func runningOf(s pipeline.State, task string) pipeline.Live {
	i := slices.IndexFunc(s.Running, func(r pipeline.Live) bool { return s.Parts[r.Part].ID == task })
	if i < 0 {
		return pipeline.Live{}
	}
	return s.Running[i]
}

func TestGranted(t *testing.T) {
	nan, half := math.NaN(), 0.5
	ended := func(task string, used ralph.Usage, last *pipeline.Amount) pipeline.Event {
		return pipeline.Event{Kind: pipeline.EventReserve, Task: task, Loop: task + ".c", Usage: used, Last: last}
	}
	tests := []struct {
		name   string
		rules  pipeline.Rules
		tasks  string
		events []pipeline.Event // after all have asked once
		ask    []string
		want   []string
		stop   ralph.StopReason
	}{
		{"no budget", pipeline.Rules{Slots: 2}, "a b", nil, []string{"a", "b"}, []string{"$0 0 0s", "$0 0 0s"}, ""},
		{"one alone gets all, whatever the slots", pipeline.Rules{Slots: 4, CostUSD: 8, Tokens: 100}, "a", nil, []string{"a"}, []string{"$8 100 0s"}, ""},
		{"even shares", pipeline.Rules{Slots: 4, CostUSD: 8, Tokens: 100}, "a b c d", nil, []string{"a", "b", "c", "d"}, []string{"$2 25 0s", "$2 25 0s", "$2 25 0s", "$2 25 0s"}, ""},
		{"of as many as may begin", pipeline.Rules{Slots: 4, CostUSD: 8}, "a b c:a,b", nil, []string{"a", "b"}, []string{"$4 0 0s", "$4 0 0s"}, ""},
		{"the rest of the time", pipeline.Rules{Slots: 2, Duration: time.Hour}, "a b", []pipeline.Event{{Kind: pipeline.EventNoted, Elapsed: 15 * time.Minute}}, []string{"a"}, []string{"$0 0 45m0s"}, ""},
		{"as much as the last one, where that is more than its share", pipeline.Rules{Slots: 2, CostUSD: 10}, "a b c",
			[]pipeline.Event{{Kind: pipeline.EventEnded, Task: "b", Loop: "b.c", Stop: ralph.StopVerified, Usage: dollars(1, 0)},
				ended("a", dollars(3, 0), &pipeline.Amount{CostUSD: dollars(4, 0).CostUSD})}, []string{"a"}, []string{"$7 0 0s"}, ""},
		{"it waits for what others have reserved", pipeline.Rules{Slots: 2, CostUSD: 10}, "a b",
			[]pipeline.Event{ended("a", dollars(4, 0), &pipeline.Amount{CostUSD: dollars(4, 0).CostUSD})}, []string{"a"}, []string{""}, ""},
		{"where nobody has reserved anything, the run stops", pipeline.Rules{CostUSD: 10}, "a",
			[]pipeline.Event{ended("a", dollars(6, 0), &pipeline.Amount{CostUSD: dollars(6, 0).CostUSD})}, []string{"a"}, []string{""}, ralph.StopCost},
		{"tokens too", pipeline.Rules{Tokens: 10}, "a",
			[]pipeline.Event{ended("a", dollars(6, 6), &pipeline.Amount{Tokens: 6})}, []string{"a"}, []string{""}, ralph.StopTokens},
		{"what an iteration has told is not reserved twice", pipeline.Rules{Slots: 2, Tokens: 100}, "a b",
			[]pipeline.Event{{Kind: pipeline.EventUsed, Task: "a", Loop: "a.c", Usage: dollars(0, 30)}}, []string{"b"}, []string{"$0 50 0s"}, ""},
		{"what is used up in mid-run stops the run", pipeline.Rules{Slots: 2, Tokens: 100}, "a b",
			[]pipeline.Event{{Kind: pipeline.EventUsed, Task: "a", Loop: "a.c", Usage: dollars(0, 130)}}, []string{"b"}, []string{""}, ralph.StopTokens},
		{"a cost that makes no sense is unknown", pipeline.Rules{CostUSD: 10}, "a",
			[]pipeline.Event{ended("a", ralph.Usage{CostUSD: &nan}, &pipeline.Amount{CostUSD: &nan, Tokens: -4})}, []string{"a"}, []string{"$10 0 0s"}, ""},
		{"an unknown cost does not make the last one forgotten", pipeline.Rules{Slots: 2, CostUSD: 1}, "a b",
			[]pipeline.Event{ended("a", dollars(0.4, 0), &pipeline.Amount{CostUSD: &half}), {Kind: pipeline.EventEnded, Task: "b", Loop: "b.c", Last: &pipeline.Amount{Tokens: 3}}}, []string{"a"}, []string{"$0.9 0 0s"}, ""},
		{"other limits", pipeline.Rules{Tokens: 10}, "a",
			[]pipeline.Event{{Kind: pipeline.EventRules, State: &pipeline.State{Rules: pipeline.Rules{Tokens: 50, Slots: 9}}}}, []string{"a"}, []string{"$0 50 0s"}, ""},
		{"none any more", pipeline.Rules{Tokens: 10}, "a",
			[]pipeline.Event{{Kind: pipeline.EventRules, State: &pipeline.State{}}}, []string{"a"}, []string{"$0 0 0s"}, ""},
		{"lower ones than are used", pipeline.Rules{CostUSD: 10}, "a",
			[]pipeline.Event{ended("a", dollars(5, 0), nil), {Kind: pipeline.EventRules, State: &pipeline.State{Rules: pipeline.Rules{CostUSD: 2}}}}, []string{"a"}, []string{""}, ralph.StopCost},
		{"nothing while it is paused", pipeline.Rules{}, "a", []pipeline.Event{pause}, []string{"a"}, []string{""}, ""},
		{"but after that", pipeline.Rules{}, "a", []pipeline.Event{pause, ended("a", dollars(1, 1), nil), goOn}, []string{"a"}, []string{"$0 0 0s"}, ""},
		{"nothing for what was altered", pipeline.Rules{}, "a", []pipeline.Event{altered}, []string{"a"}, []string{""}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := begun(t, tt.rules, planned(tt.tasks, "c"), nil)
			var all []string
			for _, step := range s.Ready() {
				all = append(all, step.Task)
			}
			s, first := grants(t, s, all...)
			for _, ev := range tt.events {
				s = s.Next(ev)
			}
			got := first
			if tt.events != nil {
				s, got = grants(t, s, tt.ask...)
			}
			if !slices.Equal(got, tt.want) || s.Stop != tt.stop {
				t.Errorf("granted %q, stopped %q; want %q, %q\n%s", got, s.Stop, tt.want, tt.stop, asJSON(t, s))
			}
		})
	}
}

// Ends and requests of loops of which it is not known what they cost.
var (
	priceless = pipeline.Event{Kind: pipeline.EventEnded, Stop: ralph.StopCost, Blind: "nobody knows"}
	unpriced  = pipeline.Event{Kind: pipeline.EventEnded, Stop: ralph.StopVerified, Blind: "nobody knows"}
	unknown   = pipeline.Event{Kind: pipeline.EventReserve, Blind: "nobody knows"}
)

// workingOn reports whether an event is of a loop that runs.
func workingOn(s pipeline.State, ev pipeline.Event) bool {
	i := s.Find(ev.Task)
	return i >= 0 && s.Stands[i].Phase == pipeline.PhaseRunning && s.Loop(i) == ev.Loop
}

// TestPriced stops the run after the first answer of unknown cost, however its loop ended,
// and that of a merge; but where all is done then it is.
func TestPriced(t *testing.T) {
	priced := pipeline.Rules{CostUSD: 5, Priced: true, Merge: true}
	lax := priced
	lax.Priced = false
	free := priced
	free.CostUSD = 0
	tokens := ralph.Usage{InputTokens: 9}
	tests := []struct {
		name  string
		rules pipeline.Rules
		tasks string
		ev    pipeline.Event
		stop  ralph.StopReason
		phase pipeline.Phase
	}{
		{"a loop that its grant has stopped", priced, "a b", priceless, ralph.StopCost, pipeline.PhaseInterrupted},
		{"one that is verified", priced, "a b", unpriced, ralph.StopCost, pipeline.PhaseReady},
		{"one that was interrupted", priced, "a b", pipeline.Event{Kind: pipeline.EventEnded, Blind: "nobody knows"}, ralph.StopCost, pipeline.PhaseInterrupted},
		{"one that asks for its next iteration", priced, "a b", unknown, ralph.StopCost, pipeline.PhaseRunning},
		{"costs need not be known", lax, "a b", priceless, "", pipeline.PhaseInterrupted},
		{"there is no limit of them", free, "a b", unknown, "", pipeline.PhaseRunning},
		{"they are known", priced, "a b", verified, "", pipeline.PhaseReady},
		{"what runs has told nothing yet", priced, "a b", pipeline.Event{Kind: pipeline.EventUsed, Usage: tokens}, "", pipeline.PhaseRunning},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, granted := grants(t, begun(t, tt.rules, planned(tt.tasks, "c"), nil), "a")
			if l, ok := s.Granted("a", ralph.State{Task: ralph.Task{Limits: ralph.Limits{Priced: true}}}); !ok || l.Priced != (tt.rules.Priced && tt.rules.CostUSD > 0) {
				t.Errorf("granted %v: %v", granted, l)
			}
			tt.ev.Task, tt.ev.Loop = "a", "a.c"
			s = s.Next(tt.ev)
			if s.Stop != tt.stop || s.Stands[0].Phase != tt.phase || tt.stop != "" && s.Detail != "a: cost_usd is a limit, but nobody knows" {
				t.Errorf("stopped %q (%s), %v; want %q, %v", s.Stop, s.Detail, s.Stands[0].Phase, tt.stop, tt.phase)
			}
		})
	}
	merged := func(u ralph.Usage) pipeline.State {
		s, _ := grants(t, begun(t, priced, planned("a b", "c"), nil), "a")
		s = s.Next(pipeline.Event{Kind: pipeline.EventEnded, Task: "a", Loop: "a.c", Stop: ralph.StopVerified})
		return s.Next(pipeline.Event{Kind: pipeline.EventMerging, Task: "a"}).Next(pipeline.Event{Kind: pipeline.EventMerged, Task: "a", Usage: u})
	}
	for stop, u := range map[ralph.StopReason]ralph.Usage{ralph.StopCost: tokens, "": dollars(0.1, 9)} {
		if s := merged(u); s.Stop != stop || s.Stands[0].Phase != pipeline.PhaseDone {
			t.Errorf("a merge that used %v: stopped %q (%s), want %q", u, s.Stop, s.Detail, stop)
		}
	}
	if s := merged(ralph.Usage{}); s.Stop != "" {
		t.Errorf("a merge without a verification has stopped it: %s", s.Detail)
	}
	s, _ := grants(t, begun(t, pipeline.Rules{CostUSD: 5, Priced: true}, planned("a", "c"), nil), "a")
	if s = s.Next(pipeline.Event{Kind: pipeline.EventEnded, Task: "a", Loop: "a.c", Stop: ralph.StopVerified, Blind: "nobody knows"}); s.Stop != ralph.StopVerified {
		t.Errorf("all is done, and it has stopped with %q", s.Stop)
	}
	s = begun(t, pipeline.Rules{}, planned("a", "c"), nil).Next(pipeline.Event{Kind: pipeline.EventRules, State: &pipeline.State{Rules: priced}})
	if !s.Rules.Priced || s.Rules.CostUSD != 5 || s.Rules.Merge {
		t.Errorf("other limits: %+v", s.Rules)
	}
}

// TestCutOff has an iteration need more than its share: it is interrupted, and goes on with
// more when others have ended; where no budget of the run has stopped it, it has failed.
func TestCutOff(t *testing.T) {
	s, first := grants(t, begun(t, pipeline.Rules{Slots: 2, Tokens: 100}, planned("a b", "c"), nil), "a", "b")
	s = s.Next(pipeline.Event{Kind: pipeline.EventEnded, Task: "a", Loop: "a.c", Stop: ralph.StopTokens, Usage: dollars(0, 50), Last: &pipeline.Amount{Tokens: 50}})
	s, waits := grants(t, s, "a")
	s = s.Next(pipeline.Event{Kind: pipeline.EventEnded, Task: "b", Loop: "b.c", Stop: ralph.StopVerified, Usage: dollars(0, 0)})
	s, then := grants(t, s, "a")
	if got, want := fmt.Sprint(first, waits, then), "[$0 50 0s $0 50 0s] [] [$0 100 0s]"; got != want || s.Done() {
		t.Errorf("granted %s, want %s", got, want)
	}
	s, _ = grants(t, begun(t, pipeline.Rules{Tokens: 100}, planned("a", "c"), nil), "a")
	s = s.Next(pipeline.Event{Kind: pipeline.EventEnded, Task: "a", Loop: "a.c", Stop: ralph.StopCost})
	if got := s.Stands[0].Phase; got != pipeline.PhaseFailed {
		t.Errorf("a loop that has stopped by a limit of its own is %q, and would go on for ever", got)
	}
}
