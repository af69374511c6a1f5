package pipeline_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// planned reads tasks as "a b c:a d:b,c": d waits for b and c.
func planned(tasks string, agents ...string) (all []pipeline.Planned) {
	for text := range strings.FieldsSeq(tasks) {
		id, after, waits := strings.Cut(text, ":")
		p := pipeline.Planned{ID: id, Sum: "1", Agents: agents}
		if waits {
			p.After = strings.Split(after, ",")
		}
		all = append(all, p)
	}
	return all
}

func begun(t testing.TB, rules pipeline.Rules, all []pipeline.Planned, last *pipeline.State) pipeline.State {
	t.Helper()
	s, err := pipeline.Plan(rules, all, last)
	if err != nil {
		t.Fatal(err)
	}
	return pipeline.State{}.Next(pipeline.Event{Kind: pipeline.EventStarted, State: &s})
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A course is a driver's, as far as it has come, with what it knows of itself.
type course struct {
	s, fold pipeline.State
	live    []string        // the loops whose agents work
	names   map[string]bool // of the loops that have ended for good
	spent   int64           // tokens
	path    []string
}

// tell tells an event and checks what must hold whatever happens.
func (c course) tell(t *testing.T, ev pipeline.Event) course {
	t.Helper()
	before := c.s
	next := c
	next.path = append(slices.Clip(c.path), fmt.Sprintf("%s %s %s %s", ev.Kind, ev.Task, ev.Agent, ev.Stop))
	next.s = before.Next(ev)
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("%s\nafter %s\nwas %s\nis  %s", fmt.Sprintf(format, args...), strings.Join(next.path, ", "), asJSON(t, before), asJSON(t, next.s))
	}
	if again := next.s.Next(ev); ev.Kind != pipeline.EventReserve && !reflect.DeepEqual(next.s, again) {
		fail("told twice, it counts twice: %s", cmp.Diff(next.s, again))
	}
	next.follow(ev, fail)
	next.record(ev)
	checkState(next.s, before, ev, fail)
	if n := len(next.live); n > max(next.s.Rules.Slots, 1) {
		fail("%d agents work: %v", n, next.live)
	}
	if used := next.s.Used(); used.InputTokens != next.spent {
		fail("%d tokens are counted of %d", used.InputTokens, next.spent)
	}
	if state, fold := folded(next.s), folded(next.resumed()); !reflect.DeepEqual(state, fold) {
		fail("the fold is another state: %s", cmp.Diff(state, fold))
	}
	return next
}

// follow is what the driver knows of itself.
func (c *course) follow(ev pipeline.Event, fail func(string, ...any)) {
	part := c.s.Find(ev.Task)
	switch {
	case ev.Kind == pipeline.EventBegan && c.s.Stands[part].Phase == pipeline.PhaseRunning && !slices.Contains(c.live, ev.Loop):
		c.live = append(slices.Clip(c.live), ev.Loop)
		if c.names[ev.Loop] {
			fail("a second loop of the name %s has begun", ev.Loop)
		}
	case ev.Kind == pipeline.EventEnded:
		c.live = slices.DeleteFunc(slices.Clone(c.live), func(l string) bool { return l == ev.Loop })
		if c.s.Stands[part].Phase != pipeline.PhaseInterrupted {
			c.names = maps.Clone(c.names)
			c.names[ev.Loop] = true
		}
	}
}

// record folds what is recorded, with what the state has decided.
func (c *course) record(ev pipeline.Event) {
	if ev.Kind != pipeline.EventReserve && ev.Kind != pipeline.EventUsed && ev.Kind != pipeline.EventHeld {
		c.fold = c.fold.Apply(ev)
	}
	if c.s.Done() {
		c.fold = c.fold.Apply(pipeline.Event{Kind: pipeline.EventStopped, Stop: c.s.Stop, Text: c.s.Detail})
	}
}

// resumed is the fold with what the loops have on record themselves.
func (c *course) resumed() pipeline.State {
	s := c.fold
	for _, r := range c.s.Running {
		s = s.Apply(pipeline.Event{Kind: pipeline.EventUsed, Task: s.Parts[r.Part].ID, Loop: c.s.Loop(r.Part), Usage: r.Used, Elapsed: c.s.Elapsed})
	}
	return s
}

// folded is a state without what its fold does not tell.
func folded(s pipeline.State) pipeline.State {
	s.Last, s.Running, s.Elapsed = nil, slices.Clone(s.Running), 0
	for i := range s.Running {
		s.Running[i].Reserved, s.Running[i].Waits = nil, false
	}
	return s
}

// checkState checks what must hold of a state, and of what it was before an event.
func checkState(s, before pipeline.State, ev pipeline.Event, fail func(string, ...any)) {
	merging := 0
	for i, st := range s.Stands {
		was := pipeline.Stand{}
		if i < len(before.Stands) {
			was = before.Stands[i]
		}
		if st.Phase == pipeline.PhaseMerging {
			merging++
			if first := slices.IndexFunc(before.Stands, func(st pipeline.Stand) bool { return st.Phase == pipeline.PhaseReady }); was.Phase != st.Phase && first != i {
				fail("%s is merged before %s", s.Parts[i].ID, s.Parts[max(first, 0)].ID)
			}
		}
		for _, j := range s.Parts[i].After {
			if (st.Phase == pipeline.PhaseRunning && was.Phase != st.Phase || st.Verified|st.Passed > was.Verified|was.Passed) && s.Stands[j].Phase != pipeline.PhaseDone {
				fail("%s has begun before %s was done", s.Parts[i].ID, s.Parts[j].ID)
			}
		}
		lost := was.Verified &^ st.Verified
		if lost != 0 && st.Rounds != was.Rounds+1 {
			fail("%s was verified and is not, and was not sent back", s.Parts[i].ID)
		}
		if st.Phase == pipeline.PhaseDone && s.Rules.Merge && was.Phase != pipeline.PhaseMerging && was.Phase != pipeline.PhaseReady && was.Phase != st.Phase {
			fail("%s is done and was not merged", s.Parts[i].ID)
		}
		if st.Phase == pipeline.PhaseDone && was.Phase != st.Phase && st.Verified == 0 && !s.Rules.Unverified {
			fail("%s is done, and nothing of it is verified", s.Parts[i].ID)
		}
	}
	if merging > 1 {
		fail("%d merges at once", merging)
	}
	if stopped := before.Stop; stopped != "" && s.Stop != stopped {
		reopened := ev.Kind == pipeline.EventAdded && s.Stop == "" && (stopped == ralph.StopVerified || stopped == ralph.StopStalled)
		if !reopened && (s.Stop != ralph.StopVerified || stopped == ralph.StopCancelled || stopped == ralph.StopInvalid) {
			fail("stopped by %s, and then by %q", stopped, s.Stop)
		}
	}
	if s.Rules.Priced && ev.Blind != "" && !s.Done() && (ev.Kind == pipeline.EventEnded || ev.Kind == pipeline.EventReserve) && workingOn(before, ev) {
		fail("it goes on without knowing what it costs")
	}
	if s.Stop == ralph.StopVerified && s.Remaining() > 0 {
		fail("it says that all is done, and %d remain", s.Remaining())
	}
	if s.Stop == ralph.StopInvalid && before.Stop == "" && ev.Stop != ralph.StopInvalid {
		fail("a driver that does what is ready is told off")
	}
	if !s.Done() && !s.Paused && len(s.Ready()) == 0 && !slices.ContainsFunc(s.Running, func(r pipeline.Live) bool { return s.Stands[r.Part].Phase != pipeline.PhaseInterrupted }) && merging == 0 {
		fail("nothing is ready, nothing runs, and it has not stopped")
	}
}

// moves are the events that may come next: all that a driver can tell.
func (c course) moves(ends []pipeline.Event, others []pipeline.Event) (all []pipeline.Event) {
	s := c.s
	for _, step := range s.Ready() {
		all = append(all, beginning(step))
	}
	for _, r := range s.Running {
		if loop := s.Loop(r.Part); slices.Contains(c.live, loop) {
			for _, ev := range ends {
				ev.Task, ev.Loop, ev.Usage = s.Parts[r.Part].ID, loop, r.Used
				ev.Agent, _ = s.Agent(r.Part)
				all = append(all, ev)
			}
		}
	}
	for i, st := range s.Stands {
		if st.Phase == pipeline.PhaseMerging {
			for _, ev := range []pipeline.Event{{Kind: pipeline.EventMerged}, {Kind: pipeline.EventUnmerged}, {Kind: pipeline.EventUnmerged, Conflicts: []string{"f"}}} {
				ev.Task = s.Parts[i].ID
				all = append(all, ev)
			}
		}
	}
	return append(all, others...)
}

// act tells an event of a driver; what an iteration has used is counted as it ends.
func (c course) act(t *testing.T, ev pipeline.Event) course {
	t.Helper()
	if ev.Kind == pipeline.EventEnded || ev.Kind == pipeline.EventUsed {
		ev.Usage = ev.Usage.Add(ralph.Usage{InputTokens: 1})
		c.spent++
	}
	ev.Elapsed = c.s.Elapsed + time.Second
	return c.tell(t, ev)
}

// finish does what is ready until the run stops: each stage ends so, and each merge.
func (c course) finish(t *testing.T, end ralph.StopReason, merge pipeline.Event) course {
	t.Helper()
	if c.s.Paused {
		c = c.act(t, pipeline.Event{Kind: pipeline.EventContinued})
	}
	for range 200 {
		did := false
		for _, step := range c.s.Ready() {
			c, did = c.act(t, beginning(step)), true
			if phase := c.s.Stands[step.Part].Phase; phase != pipeline.PhaseRunning && phase != pipeline.PhaseMerging && !c.s.Done() {
				t.Fatalf("%v was ready and has not begun, after %v", step, c.path)
			}
		}
		for _, ev := range c.moves([]pipeline.Event{{Kind: pipeline.EventEnded, Stop: end}}, nil) {
			if ev.Kind == pipeline.EventEnded {
				c, did = c.act(t, ev), true
			}
		}
		if i := slices.IndexFunc(c.s.Stands, func(st pipeline.Stand) bool { return st.Phase == pipeline.PhaseMerging }); i >= 0 {
			merge.Task = c.s.Parts[i].ID
			c, did = c.act(t, merge), true
		}
		if !did {
			if !c.s.Done() {
				t.Fatalf("it does not end, after %v: %s", c.path, asJSON(t, c.s))
			}
			return c
		}
	}
	t.Fatalf("it does not end after %v", c.path)
	return c
}

var (
	verified   = pipeline.Event{Kind: pipeline.EventEnded, Stop: ralph.StopVerified}
	rejected   = pipeline.Event{Kind: pipeline.EventEnded, Stop: ralph.StopIterations}
	broken     = pipeline.Event{Kind: pipeline.EventEnded, Stop: ralph.StopInvalid}
	permanent  = pipeline.Event{Kind: pipeline.EventEnded, Stop: ralph.StopFailed}
	halted     = pipeline.Event{Kind: pipeline.EventEnded}
	cutOff     = pipeline.Event{Kind: pipeline.EventEnded, Stop: ralph.StopTokens}
	unverified = pipeline.Event{Kind: pipeline.EventEnded, Stop: ralph.StopIterations, Unverified: true}
	reserve    = pipeline.Event{Kind: pipeline.EventReserve}
	used       = pipeline.Event{Kind: pipeline.EventUsed}
	held       = pipeline.Event{Kind: pipeline.EventHeld}
	altered    = pipeline.Event{Kind: pipeline.EventAltered, Task: "a"}
	pause      = pipeline.Event{Kind: pipeline.EventPaused}
	goOn       = pipeline.Event{Kind: pipeline.EventContinued}
	cancelled  = pipeline.Event{Kind: pipeline.EventStopped, Stop: ralph.StopCancelled}
)

// exhaustive are the small pipelines of which all that may happen in six events is tried.
var exhaustive = []struct {
	name   string
	rules  pipeline.Rules
	tasks  string
	agents []string
	ends   []pipeline.Event
	others []pipeline.Event
}{
	{"one task, all ends", pipeline.Rules{}, "a", []string{"c", "r"},
		[]pipeline.Event{verified, rejected, broken, permanent, halted, cutOff, unverified, reserve, used, held}, []pipeline.Event{altered, pause, goOn, cancelled}},
	{"two slots, all ends", pipeline.Rules{Slots: 2, Merge: true}, "a b", []string{"c", "r"},
		[]pipeline.Event{verified, rejected, broken, halted, permanent}, []pipeline.Event{altered}},
	{"diamond", pipeline.Rules{Slots: 2}, "a b:a c:a d:b,c", []string{"c"}, []pipeline.Event{verified, rejected, halted}, []pipeline.Event{altered, cancelled}},
	{"diamond, merged", pipeline.Rules{Slots: 2, Merge: true, Repair: true}, "a b:a c:a d:b,c", []string{"c"}, []pipeline.Event{verified, rejected, halted}, nil},
	{"wide, merged", pipeline.Rules{Slots: 2, Merge: true, Repair: true}, "a b c d:a", []string{"c"}, []pipeline.Event{verified, halted}, []pipeline.Event{altered, pause, goOn}},
	{"sent back", pipeline.Rules{Slots: 2, Back: map[string]pipeline.Back{"r": {To: "c", Rounds: 1}}}, "a b:a c", []string{"c", "r"}, []pipeline.Event{verified, rejected, halted}, nil},
	{"sent back, merged", pipeline.Rules{Merge: true, Repair: true, Back: map[string]pipeline.Back{"r": {To: "c"}}}, "a b:a", []string{"c", "r"}, []pipeline.Event{verified, rejected}, []pipeline.Event{altered}},
	{"unverified", pipeline.Rules{Slots: 2, Merge: true}, "a b:a c", []string{"c", "r"}, []pipeline.Event{verified, unverified}, nil},
	{"unverified is wanted", pipeline.Rules{Slots: 2, Unverified: true}, "a b:a c", []string{"c", "r"}, []pipeline.Event{verified, unverified, rejected}, nil},
	{"budget", pipeline.Rules{Slots: 2, Tokens: 4}, "a b c", []string{"c"}, []pipeline.Event{verified, rejected, cutOff, reserve, used}, nil},
	{"budget, merged", pipeline.Rules{Slots: 2, Tokens: 3, Merge: true}, "a b:a c", []string{"c"}, []pipeline.Event{verified, cutOff, reserve, held}, nil},
	{"unknown costs", pipeline.Rules{Slots: 2, CostUSD: 4, Priced: true}, "a b:a c", []string{"c", "r"}, []pipeline.Event{verified, priceless, unpriced, unknown, reserve, halted}, []pipeline.Event{pause, goOn}},
	{"unknown costs, merged", pipeline.Rules{CostUSD: 4, Priced: true, Merge: true}, "a b", []string{"c"}, []pipeline.Event{verified, priceless, unpriced, reserve}, []pipeline.Event{altered}},
	{"time", pipeline.Rules{Slots: 2, Duration: 5 * time.Second}, "a b:a", []string{"c"}, []pipeline.Event{verified, rejected, reserve}, nil},
}

// TestExhaustive tries all that may happen in six events, and brings each to its end in
// two ways.
func TestExhaustive(t *testing.T) {
	for _, c := range exhaustive {
		t.Run(c.name, func(t *testing.T) {
			s := begun(t, c.rules, planned(c.tasks, c.agents...), nil)
			level, seen := []course{{s: s, fold: s, names: map[string]bool{}}}, map[string]bool{}
			states := 0
			for range 7 {
				var next []course
				for _, at := range level {
					was := asJSON(t, at.s)
					key := was + strings.Join(at.live, " ")
					if seen[key] {
						continue
					}
					seen[key] = true
					states++
					end := at.finish(t, ralph.StopVerified, pipeline.Event{Kind: pipeline.EventMerged})
					at.finish(t, ralph.StopIterations, pipeline.Event{Kind: pipeline.EventUnmerged, Conflicts: []string{"f"}})
					if at.s.Stop == ralph.StopCancelled && slices.ContainsFunc(end.s.Ready(), func(pipeline.Step) bool { return true }) {
						t.Fatalf("something is ready after the end: %v", end.path)
					}
					for _, ev := range at.moves(c.ends, c.others) {
						next = append(next, at.act(t, ev))
					}
					if now := asJSON(t, at.s); now != was {
						t.Fatalf("after %v, what came then has written through to the state before:\nwas %s\nis  %s", at.path, was, now)
					}
				}
				level = next
			}
			t.Logf("%d states", states)
		})
	}
}

// TestStateJSON shows what a state looks like, and that one of 500 tasks is under 64 KiB.
func TestStateJSON(t *testing.T) {
	cost := 0.25
	s := begun(t, pipeline.Rules{Slots: 2, Merge: true, Unverified: true, Repair: true, CostUSD: 5, Tokens: 1000, Duration: time.Hour,
		Back: map[string]pipeline.Back{"r": {To: "c", Rounds: 2}}}, planned("a b:a c", "c", "r"), nil)
	for _, step := range s.Ready() {
		s = s.Next(beginning(step))
	}
	s = s.Next(pipeline.Event{Kind: pipeline.EventEnded, Task: "a", Loop: "a.c", Stop: ralph.StopVerified, Usage: dollars(0.25, 10), Last: &pipeline.Amount{CostUSD: &cost, Tokens: 10}})
	s = s.Next(beginning(s.Ready()[0])).Next(pipeline.Event{Kind: pipeline.EventEnded, Task: "a", Loop: "a.r", Stop: ralph.StopBlocked, Elapsed: time.Second})
	s = s.Next(pipeline.Event{Kind: pipeline.EventReserve, Task: "c", Loop: "c.c"}).Next(pipeline.Event{Kind: pipeline.EventStopped, Stop: ralph.StopIterations, Text: "enough"})
	want := `{"v":1,"rules":{"slots":2,"merge":true,"unverified":true,"repair":true,"back":{"r":{"to":"c","rounds":2}},"cost_usd":5,"tokens":1000,"duration":3600000000000},` +
		`"orders":[["c","r"]],"parts":[{"id":"a","sum":"1"},{"id":"b","sum":"1","after":[0]},{"id":"c","sum":"1"}],"stands":[{"rounds":1,"again":1},{},{"phase":"running"}],` +
		`"running":[{"part":2,"reserved":{"cost_usd":2.375,"tokens":495}}],"settled":{"input_tokens":10,"cost_usd":0.25},"last":{"c":{"cost_usd":0.25,"tokens":10}},"elapsed":1000000000,"stop":"iterations","detail":"enough"}`
	if diff := cmp.Diff(want, asJSON(t, s)); diff != "" {
		t.Error(diff)
	}

	var tasks strings.Builder
	for i := range 500 {
		fmt.Fprintf(&tasks, "TASK-AUTH%03d", i)
		if i > 3 {
			fmt.Fprintf(&tasks, ":TASK-AUTH%03d,TASK-AUTH%03d,TASK-AUTH%03d", i%3, i%2, i%4)
		}
		tasks.WriteByte(' ')
	}
	all := planned(tasks.String(), "coder", "reviewer", "tester", "qa")
	for i := range all {
		all[i].Sum = "0123abcd"
	}
	c := course{s: begun(t, pipeline.Rules{Slots: 8, CostUSD: 5000, Tokens: 1e9}, all, nil), names: map[string]bool{}}
	for range 4 * 500 {
		for _, step := range c.s.Ready() {
			c.s = c.s.Next(beginning(step)).Next(pipeline.Event{Kind: pipeline.EventReserve, Task: step.Task, Loop: step.Loop, Usage: dollars(1.2345, 123456)})
		}
		i := c.s.Running[0].Part
		agent, _ := c.s.Agent(i)
		stop := ralph.StopVerified
		if agent == "tester" && i > 3 && i%2 == 1 {
			stop = ralph.StopIterations
		}
		if i == 495 {
			break
		}
		c.s = c.s.Next(pipeline.Event{Kind: pipeline.EventEnded, Task: all[i].ID, Loop: c.s.Loop(i), Stop: stop, Usage: dollars(1.2345, 123456), Last: &pipeline.Amount{CostUSD: &cost, Tokens: 1234}})
	}
	failed := 0
	for _, st := range c.s.Stands {
		if st.Phase == pipeline.PhaseFailed {
			failed++
		}
	}
	text := asJSON(t, c.s)
	t.Logf("500 tasks, %d of them failed, %d running: %d bytes", failed, len(c.s.Running), len(text))
	if len(text) >= 64<<10 || failed < 240 || len(c.s.Running) < 5 {
		t.Errorf("%d bytes, %d failed, %d running", len(text), failed, len(c.s.Running))
	}
}
