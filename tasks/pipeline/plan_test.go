package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// played begins one task, of which c and r work, and has the ends of its stages come in
// their turn; a kind of event may stand for one.
func played(t *testing.T, rules pipeline.Rules, events ...pipeline.Event) pipeline.State {
	t.Helper()
	s := begun(t, rules, planned("a", "c", "r"), nil)
	for _, ev := range events {
		if ev.Kind == pipeline.EventEnded || ev.Kind == pipeline.EventBegan {
			if steps := s.Ready(); len(steps) > 0 {
				s = s.Next(beginning(steps[0]))
			}
		}
		ev.Task, ev.Loop = "a", s.Loop(0)
		ev.Usage = dollars(1, 1)
		s = s.Next(ev)
	}
	return s
}

// describe is how the first task of a state stands: its phase, the stages that are over,
// its next loop, and whether that goes on.
func describe(s pipeline.State) string {
	st := s.Stands[0]
	text := st.Phase.String()
	if text == "" {
		text = "open"
	}
	for i, agent := range s.Orders[s.Parts[0].Order] {
		switch bit := uint64(1) << i; {
		case st.Verified&bit != 0:
			text += " +" + agent
		case st.Passed&bit != 0:
			text += " ~" + agent
		}
	}
	if st.Rounds > 0 {
		text += fmt.Sprintf(" round %d", st.Rounds)
	}
	if steps := s.Ready(); len(steps) > 0 && steps[0].Kind == pipeline.StepStage {
		if text += " > " + steps[0].Loop; steps[0].GoOn {
			text += " goes on"
		}
	}
	return fmt.Sprintf("%s, %d", text, s.Used().InputTokens)
}

// TestPlanAgain plans a second run, for each phase in which a task may be when the first
// has ended.
func TestPlanAgain(t *testing.T) {
	began := pipeline.Event{Kind: pipeline.EventBegan}
	merging, merged, unmerged := pipeline.Event{Kind: pipeline.EventMerging}, pipeline.Event{Kind: pipeline.EventMerged}, pipeline.Event{Kind: pipeline.EventUnmerged}
	conflict := pipeline.Event{Kind: pipeline.EventUnmerged, Conflicts: []string{"f"}}
	back := pipeline.Rules{Back: map[string]pipeline.Back{"r": {To: "c"}}}
	merge := pipeline.Rules{Merge: true}
	again := []struct {
		name   string
		change func(*pipeline.Planned)
	}{
		{"the same", func(*pipeline.Planned) {}},
		{"changed", func(p *pipeline.Planned) { p.Sum = "2" }},
		{"anew", func(p *pipeline.Planned) { p.Anew = true }},
		{"done", func(p *pipeline.Planned) { p.Phase, p.Sum = pipeline.PhaseDone, "" }},
		{"left", func(p *pipeline.Planned) { p.Phase, p.Sum = pipeline.PhaseLeft, "" }},
		{"r first", func(p *pipeline.Planned) { p.Agents = []string{"r", "c"} }},
		{"r only", func(p *pipeline.Planned) { p.Agents = []string{"r"} }},
		{"a third", func(p *pipeline.Planned) { p.Agents = []string{"c", "t", "r"} }},
	}
	tests := []struct {
		name   string
		rules  pipeline.Rules
		events []pipeline.Event
		want   string // a line for each of again
	}{
		{"not begun", merge, nil, `
			open > a.c, 0
			open > a.c, 0
			open > a.c, 0
			done, 0
			left, 0
			open > a.r, 0
			open > a.r, 0
			open > a.c, 0`},
		{"running", merge, []pipeline.Event{began}, `
			interrupted > a.c goes on, 0
			open > a.c.2, 0
			open > a.c.2, 0
			done, 0
			left, 0
			open > a.r.2, 0
			open > a.r.2, 0
			interrupted > a.c goes on, 0`},
		{"interrupted", merge, []pipeline.Event{verified, halted}, `
			interrupted +c > a.r goes on, 2
			open > a.c.2, 2
			open > a.c.2, 2
			done +c, 2
			left +c, 2
			interrupted +c > a.r goes on, 2
			interrupted > a.r goes on, 2
			open +c > a.t.2, 2`},
		{"between its stages", merge, []pipeline.Event{verified}, `
			open +c > a.r, 1
			open > a.c.2, 1
			open > a.c.2, 1
			done +c, 1
			left +c, 1
			open +c > a.r, 1
			open > a.r.2, 1
			open +c > a.t, 1`},
		{"sent back", back, []pipeline.Event{verified, rejected}, `
			open round 1 > a.c.2, 2
			open > a.c.2, 2
			open > a.c.2, 2
			done round 1, 2
			left round 1, 2
			open round 1 > a.r.2, 2
			open round 1 > a.r.2, 2
			open round 1 > a.c.2, 2`},
		{"failed", merge, []pipeline.Event{verified, rejected}, `
			open +c > a.r.2, 0
			open > a.c.3, 0
			open > a.c.3, 0
			done +c, 0
			left +c, 0
			open +c > a.r.2, 0
			open > a.r.3, 0
			open +c > a.t.2, 0`},
		{"failed for good", merge, []pipeline.Event{verified, permanent}, `
			open +c > a.r.2, 2
			open > a.c.3, 2
			open > a.c.3, 2
			done +c, 2
			left +c, 2
			open +c > a.r.2, 2
			open > a.r.3, 2
			open +c > a.t.2, 2`},
		{"broken", merge, []pipeline.Event{broken}, `
			open > a.c.2, 0
			open > a.c.2, 0
			open > a.c.2, 0
			done, 0
			left, 0
			open > a.r.2, 0
			open > a.r.2, 0
			open > a.c.2, 0`},
		{"altered in mid-run", merge, []pipeline.Event{began, altered}, `
			open > a.c.2, 0
			open > a.c.2, 0
			open > a.c.2, 0
			done, 0
			left, 0
			open > a.r.2, 0
			open > a.r.2, 0
			open > a.c.2, 0`},
		{"altered between its stages", merge, []pipeline.Event{verified, altered}, `
			open +c > a.r, 0
			open > a.c.2, 0
			open > a.c.2, 0
			done +c, 0
			left +c, 0
			open +c > a.r, 0
			open > a.r.2, 0
			open +c > a.t, 0`},
		{"ready", merge, []pipeline.Event{verified, verified}, `
			ready +c +r, 2
			open > a.c.2, 2
			open > a.c.2, 2
			done +c +r, 2
			left +c +r, 2
			ready +r +c, 2
			ready +r, 2
			open +c +r > a.t, 2`},
		{"merging", merge, []pipeline.Event{verified, verified, merging}, `
			ready +c +r, 2
			open > a.c.2, 2
			open > a.c.2, 2
			done +c +r, 2
			left +c +r, 2
			ready +r +c, 2
			ready +r, 2
			open +c +r > a.t, 2`},
		{"merged", merge, []pipeline.Event{verified, verified, merging, merged}, `
			done +c +r, 0
			open > a.c.2, 0
			open > a.c.2, 0
			done +c +r, 0
			left +c +r, 0
			done +r +c, 0
			done +r, 0
			done +c +r, 0`},
		{"not merged", merge, []pipeline.Event{verified, verified, merging, unmerged}, `
			ready +c +r, 0
			open > a.c.2, 0
			open > a.c.2, 0
			done +c +r, 0
			left +c +r, 0
			ready +r +c, 0
			ready +r, 0
			open +c +r > a.t, 0`},
		{"in repair", pipeline.Rules{Merge: true, Repair: true}, []pipeline.Event{verified, verified, merging, conflict}, `
			open +r round 1 > a.c.2, 3
			open > a.c.3, 3
			open > a.c.3, 3
			done +r round 1, 3
			left +r round 1, 3
			open +r round 1 > a.c.2, 3
			ready +r round 1, 3
			open +r round 1 > a.c.2, 3`},
		{"unverified", merge, []pipeline.Event{unverified, unverified}, `
			unverified ~c ~r, 0
			open > a.c.2, 0
			open > a.c.2, 0
			done ~c ~r, 0
			left ~c ~r, 0
			unverified ~r ~c, 0
			unverified ~r, 0
			open ~c ~r > a.t, 0`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			last := played(t, tt.rules, tt.events...)
			was := asJSON(t, last)
			var got []string
			for _, a := range again {
				all := planned("a", "c", "r")
				a.change(&all[0])
				s, err := pipeline.Plan(tt.rules, all, &last)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, describe(s))
			}
			var want []string
			for line := range strings.Lines(strings.TrimSpace(tt.want)) {
				want = append(want, strings.TrimSpace(line))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if now := asJSON(t, last); now != was {
				t.Errorf("Plan has written through to the last state:\nwas %s\nis  %s", was, now)
			}
		})
	}
}

// TestPlanThrice has tasks left out of a run, or taken out of the source: what is on record
// of them still counts in the run after that, and the names of their loops are theirs.
func TestPlanThrice(t *testing.T) {
	first := played(t, pipeline.Rules{}, verified, halted)
	left := planned("a b", "c", "r")
	left[0].Phase, left[0].Sum = pipeline.PhaseLeft, ""
	for _, tt := range []struct {
		name   string
		second []pipeline.Planned
		want   string
	}{
		{"left", left, "open +c > a.r.2, 2"}, // its loop has not gone on, and is another one
		{"gone", planned("b", "c", "r"), "open > a.c.2, 2"},
	} {
		second := begun(t, pipeline.Rules{}, tt.second, &first)
		if got := second.Used().InputTokens; got != 2 {
			t.Errorf("%s: %d tokens are counted in the second run, want 2", tt.name, got)
		}
		third := begun(t, pipeline.Rules{}, planned("a b", "c", "r"), &second)
		if got := describe(third); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestPlanBudget says what of the last run counts in the next.
func TestPlanBudget(t *testing.T) {
	for stop, counts := range map[ralph.StopReason]bool{
		"": true, ralph.StopCost: true, ralph.StopTokens: true, ralph.StopDuration: true, ralph.StopFailed: true, ralph.StopRateLimited: true, ralph.StopIterations: true,
		ralph.StopStalled: false, ralph.StopCancelled: false, ralph.StopInvalid: false, ralph.StopVerified: false,
	} {
		last := played(t, pipeline.Rules{}, verified)
		last.Stop, last.Elapsed = stop, time.Minute
		next := begun(t, pipeline.Rules{}, planned("a", "c", "r"), &last)
		if got := next.Used().InputTokens == 1 && next.Elapsed == time.Minute; got != counts || next.Stop != "" && stop != ralph.StopVerified {
			t.Errorf("after %q: counts %v, want %v; %q", stop, got, counts, next.Stop)
		}
	}
	old := pipeline.State{V: 1, Elapsed: time.Hour, Parts: []pipeline.Part{{ID: "z"}}, Stands: []pipeline.Stand{{}}}
	fresh := begun(t, pipeline.Rules{Duration: time.Minute}, planned("a", "c"), nil)
	if s := old.Next(pipeline.Event{Kind: pipeline.EventStarted, State: &fresh, Elapsed: time.Second}); s.Elapsed != time.Second || s.Done() {
		t.Errorf("a run begins with the time of another: %v, %s", s.Elapsed, s.Detail)
	}
}

func TestPlanErrors(t *testing.T) {
	twice := planned("a b", "c")
	twice[1].ID = "a"
	many := planned("a", make([]string, 65)...)
	for i := range many[0].Agents {
		many[0].Agents[i] = fmt.Sprint("agent", i)
	}
	for _, tt := range []struct {
		rules pipeline.Rules
		all   []pipeline.Planned
		want  string
	}{
		{pipeline.Rules{}, twice, `pipeline: the task "a" is given twice`},
		{pipeline.Rules{}, planned("a"), `pipeline: the task "a" has 0 agents; it must have 1 to 64`},
		{pipeline.Rules{}, many, `pipeline: the task "a" has 65 agents; it must have 1 to 64`},
		{pipeline.Rules{}, planned("a", "c", "c"), `pipeline: the task "a" has the agent "c" twice`},
		{pipeline.Rules{}, planned("a", "c", ""), `pipeline: the task "a" has an agent without a name`},
		{pipeline.Rules{}, planned("a:b", "c"), `pipeline: the task "a" waits for "b", which is no other task`},
		{pipeline.Rules{}, planned("a:a", "c"), `pipeline: the task "a" waits for "a", which is no other task`},
		{pipeline.Rules{}, planned("x a:c b:a c:b d:c", "c"), `pipeline: the task "a" waits for itself, by way of those that it waits for`},
		{pipeline.Rules{CostUSD: -1}, planned("a", "c"), `pipeline: ralph: limits: cost_usd is -1; it must be 0 (none) or a positive amount`},
	} {
		if _, err := pipeline.Plan(tt.rules, tt.all, nil); err == nil || err.Error() != tt.want {
			t.Errorf("%v; want %s", err, tt.want)
		}
	}
	if s := begun(t, pipeline.Rules{}, nil, nil); s.Stop != ralph.StopVerified {
		t.Errorf("of no task all is done; stopped: %q", s.Stop)
	}
}

// TestLoopNames has tasks and agents whose names, put together, look alike.
func TestLoopNames(t *testing.T) {
	all := []pipeline.Planned{
		{ID: "a", Agents: []string{"b.c", "b%2Ec", "b", "2", "%32", "b.2"}}, {ID: "a.b", Agents: []string{"c", "2"}}, {ID: "a.b.c", Agents: []string{"2", "c"}},
		{ID: "a.2", Agents: []string{"b", "c"}}, {ID: "a.b.2", Agents: []string{"c"}},
	}
	names := map[string]bool{}
	for round := range 3 {
		s := begun(t, pipeline.Rules{}, all, nil)
		for i, p := range all {
			for j := range p.Agents {
				s.Stands[i] = pipeline.Stand{Again: round, Verified: 1<<j - 1}
				if name := s.Loop(i); names[name] {
					t.Errorf("%s is the name of two loops", name)
				} else {
					names[name] = true
				}
			}
		}
	}
	if !names["a.b.2"] || !names["a.b"] {
		t.Errorf("usual names are not as usual: %v", names)
	}
}

func TestAdded(t *testing.T) {
	tests := []struct {
		name  string
		added pipeline.State
		want  string
		stop  ralph.StopReason
	}{
		{"one that waits for another, which comes behind it", pipeline.State{Orders: [][]string{{"r"}},
			Parts: []pipeline.Part{{ID: "x", After: []int{2, 0}}, {ID: "y"}}}, "y.r", ""},
		{"one that is there", pipeline.State{Orders: [][]string{{"r"}}, Parts: []pipeline.Part{{ID: "x"}, {ID: "a"}}}, "", ralph.StopVerified},
		{"one that is there twice", pipeline.State{Orders: [][]string{{"r"}}, Parts: []pipeline.Part{{ID: "x"}, {ID: "x"}}}, "", ralph.StopVerified},
		{"a circle", pipeline.State{Orders: [][]string{{"r"}}, Parts: []pipeline.Part{{ID: "x", After: []int{2}}, {ID: "y", After: []int{1}}}}, "", ralph.StopVerified},
		{"one that waits for nobody known", pipeline.State{Orders: [][]string{{"r"}}, Parts: []pipeline.Part{{ID: "x", After: []int{-1}}}}, "", ralph.StopVerified},
		{"no agents", pipeline.State{Parts: []pipeline.Part{{ID: "x"}}}, "", ralph.StopVerified},
		{"nothing", pipeline.State{}, "", ralph.StopVerified},
	}
	for _, tt := range tests {
		s := begun(t, pipeline.Rules{}, planned("a", "c"), nil)
		for _, step := range s.Ready() {
			s = s.Next(beginning(step)).Next(pipeline.Event{Kind: pipeline.EventEnded, Task: "a", Loop: "a.c", Stop: ralph.StopVerified})
		}
		s = s.Next(pipeline.Event{Kind: pipeline.EventAdded, State: &tt.added})
		var got []string
		for _, step := range s.Ready() {
			got = append(got, step.Loop)
		}
		if strings.Join(got, " ") != tt.want || s.Stop != tt.stop {
			t.Errorf("%s: ready %v, stopped %q; want %q, %q", tt.name, got, s.Stop, tt.want, tt.stop)
		}
		if twice := s.Next(pipeline.Event{Kind: pipeline.EventAdded, State: &tt.added}); !cmp.Equal(s, twice) {
			t.Errorf("%s: told twice it counts twice: %s", tt.name, cmp.Diff(s, twice))
		}
		if tt.stop == "" && !slices.Equal(s.Parts[1].After, []int{2, 0}) {
			t.Errorf("%s: it waits for %v", tt.name, s.Parts[1].After)
		}
	}
}
