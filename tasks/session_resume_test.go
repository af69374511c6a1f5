package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks"
)

// A crew is an agent with a script for each item: one step per run that came to its
// end, the last again and again. It goes on from where it was, whatever happens to the
// sessions that run it.
type crew struct {
	list   string
	script map[string][]string // "tick T001, work T001, limit": what is done in a run, and how it ends
	runs   []string
}

func (c *crew) Run(ctx context.Context, req ralph.Request) (ralph.Response, error) {
	if ctx.Err() != nil { // it has not even begun
		return ralph.Response{}, context.Cause(ctx)
	}
	<-time.After(time.Second) // by the bubble's clock
	n := 0
	for _, task := range c.runs {
		if task == req.Task {
			n++
		}
	}
	c.runs = append(c.runs, req.Task)
	resp := ralph.Response{Output: "I did what I could.", Usage: ralph.Usage{Requests: 1, InputTokens: 10, CostUSD: new(0.5)}}
	steps := c.script[req.Task]
	var err error
	for step := range strings.SplitSeq(steps[min(n, len(steps)-1)], ", ") {
		what, id, _ := strings.Cut(step, " ")
		switch what {
		case "tick":
			err = errors.Join(err, tasks.ListFile{Path: c.list}.Tick(id))
		case "work":
			err = errors.Join(err, os.WriteFile(filepath.Join(filepath.Dir(c.list), "ok-"+id), nil, 0o600))
		case "limit":
			err = ralph.RetryAfter(errors.New("too many requests"), 10*time.Second)
		case "break":
			err = errors.New("broken")
		case "blocked":
			resp.Output = "<promise>BLOCKED</promise>"
		}
	}
	return resp, err
}

// A desk is what is there of a session between its runs: the list, the journals, and
// what Keep was told.
type desk struct {
	t       *testing.T
	crew    *crew
	dir     string
	records string
	pending map[string]string
	judge   *judge // nil = no Verifier
	began   time.Time
}

func newDesk(t *testing.T, list string, script map[string][]string, judged bool) *desk {
	d := &desk{t: t, dir: t.TempDir(), records: t.TempDir(), began: time.Now()}
	d.crew = &crew{list: filepath.Join(d.dir, "tasks.md"), script: script}
	must(t, os.WriteFile(d.crew.list, []byte(list), 0o600))
	if judged {
		d.judge = &judge{}
	}
	return d
}

// session is the session as another process would go on with it.
func (d *desk) session() *tasks.Session {
	dir := (&progress.Dir{Path: d.records, NoSync: true}).Under("run")
	s := &tasks.Session{
		Source: tasks.ListFile{Path: d.crew.list}, Runner: d.crew, Dir: d.dir, Feature: "shop", Workspace: noWorkspace,
		Name: "run", Log: dir, Begun: d.begun(), Answered: dir.Pending, Since: d.began, DoneBefore: []string{}, Limits: ralph.Limits{Iterations: 30},
		Pending: maps.Clone(d.pending), Keep: func(pending map[string]string) error { d.pending = pending; return nil },
	}
	if d.judge != nil {
		s.Verifier = d.judge
	}
	return s
}

func (d *desk) begun() map[string]ralph.State {
	begun := map[string]ralph.State{}
	for e, err := range (&progress.Dir{Path: d.records}).Loops(d.t.Context()) {
		must(d.t, err)
		begun[e.Loop] = e.State
	}
	return begun
}

// stopAt runs a session that ends with its nth event: by its context, or, if it dies,
// so that nothing is recorded from there on. It returns the kind of that event, "" = it
// did not come so far.
func (d *desk) stopAt(n int, dies bool, more func(*tasks.Session)) (_ tasks.Report, at ralph.EventKind, _ error) {
	ctx, cancel := context.WithCancelCause(d.t.Context())
	defer cancel(nil)
	s := d.session()
	if more != nil {
		more(s)
	}
	log, keep, dead := s.Log, s.Keep, false
	s.Keep = func(pending map[string]string) error {
		if dead {
			return nil
		}
		return keep(pending)
	}
	s.Log = ralph.ProgressLogFunc(func(ctx context.Context, ev ralph.Event) error {
		if dead {
			return nil
		}
		err := log.Append(ctx, ev)
		if n--; n == 0 {
			cancel(errors.New("the machine reboots"))
			at, dead = ev.Kind, dies
		}
		return err
	})
	report, err := s.Run(ctx)
	return report, at, err
}

const six = "- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three\n- [ ] T004 Four\n- [ ] T005 Five\n- [ ] T006 Six\n"

var eventful = map[string][]string{
	"T001": {"", "break", "tick T001, work T001"},
	"T002": {"blocked"},
	"T003": {"tick T003, work T003, limit"},
	"T004": {"tick T004, tick T005, work T005", "limit", "work T004"},
	"T005": {"tick T005"},
	"T006": {""},
}

// TestSessionResumed: wherever a session was interrupted, what comes of it is the same
// as if it never had been, and no run of the agent that came to its end is made again.
func TestSessionResumed(t *testing.T) {
	t.Parallel()
	for _, judged := range []bool{false, true} {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprintf("judged %v, dies %v", judged, dies), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					whole := newDesk(t, six, eventful, judged)
					want, _, wantErr := whole.stopAt(-1, false, nil)
					if want.IterationsRun < 9 || len(want.Skipped) != 2 {
						t.Fatalf("%+v, %v", want, wantErr)
					}
					for n := 1; ; n++ {
						d := newDesk(t, six, eventful, judged)
						_, at, _ := d.stopAt(n, dies, nil)
						if at == "" {
							if n < 30 {
								t.Errorf("there were %d events only", n)
							}
							break
						}
						got, _, err := d.stopAt(-1, false, nil)
						ran := tasks.IterationsRun(slices.Collect(maps.Values(d.begun()))...)
						if ran != got.IterationsRun {
							t.Errorf("stopped at event %d, %s: %d iterations are on record, want %d", n, at, ran, got.IterationsRun)
						}
						for loop, s := range d.begun() {
							if s.Stop == ralph.StopCancelled || !s.Done() && !judged {
								t.Errorf("stopped at event %d, %s: the loop of %s ended by %q", n, at, loop, s.Stop)
							}
						}
						if at == ralph.EventAnswered && !dies && got.IterationsRun == want.IterationsRun-1 {
							// The attempt was interrupted in its verification, and so is none.
							got.IterationsRun++
						}
						if diff := cmp.Diff(want, got, ignoreTimes); diff != "" || fmt.Sprint(err) != fmt.Sprint(wantErr) || !got.StartTime.Equal(d.began) {
							t.Errorf("stopped at event %d, %s: %v\n%s", n, at, err, diff)
						}
						if more := len(d.crew.runs) - len(whole.crew.runs); more != 0 && (more != 1 || dies || at != ralph.EventAnswered) {
							t.Errorf("stopped at event %d, %s: %d runs more\n%q\n%q", n, at, more, whole.crew.runs, d.crew.runs)
						}
						// A verdict that passed is given again if the loop's end is not on record, and
						// a box that was rejected is asked about again if an attempt was broken off.
						if more := *got.Usage.CostUSD - *want.Usage.CostUSD; dies && more != 0 && more != 0.25 {
							t.Errorf("stopped at event %d, %s: %v was used, want %v", n, at, got.Usage, want.Usage)
						}
						if t.Failed() {
							break
						}
					}
				})
			})
		}
	}
}

// TestSessionLimitsGoOn: limits are of a session as a whole, however often it is
// interrupted.
func TestSessionLimitsGoOn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limits ralph.Limits
		reason ralph.StopReason
	}{
		"iterations": {ralph.Limits{Iterations: 4}, ralph.StopIterations},
		"cost":       {ralph.Limits{CostUSD: 2}, ralph.StopCost},
		"tokens":     {ralph.Limits{Tokens: 40}, ralph.StopTokens},
		"duration":   {ralph.Limits{Duration: 4 * time.Second}, ralph.StopDuration},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				script := map[string][]string{}
				for n := 1; n <= 6; n++ {
					id := fmt.Sprintf("T00%d", n)
					script[id] = []string{"tick " + id}
				}
				d := newDesk(t, six, script, false)
				limited := func(s *tasks.Session) { s.Limits = tt.limits }
				for range 2 {
					if report, at, err := d.stopAt(5, true, limited); at == "" || report.Status != tasks.SessionInterrupted { // in the second item's first attempt
						t.Fatal(at, err)
					}
					<-time.After(time.Hour) // counts for nothing
				}
				got, _, err := d.stopAt(-1, false, limited)
				stop, ok := errors.AsType[*ralph.StopError](err)
				if !ok || stop.Reason != tt.reason || len(d.crew.runs) != 4 || got.IterationsRun != 4 || *got.Usage.CostUSD != 2 || got.TasksCompleted != 4 || got.TasksRemaining != 2 {
					t.Errorf("%+v, %v after %q", got, err, d.crew.runs)
				}
				// More of it lets the same session go on.
				tt.limits = ralph.Limits{Iterations: 5}
				got, _, err = d.stopAt(-1, false, limited)
				if stop, ok := errors.AsType[*ralph.StopError](err); !ok || stop.Reason != ralph.StopIterations || got.IterationsRun != 5 || got.MaxIterations != 5 {
					t.Errorf("%+v, %v", got, err)
				}
			})
		})
	}
}

// TestSessionGoesOnInLimitedLoop: an item's loop that the session's budget has stopped goes
// on where it was when there is more, with the misses that it has left.
func TestSessionGoesOnInLimitedLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, "- [ ] T001 One\n", map[string][]string{"T001": {""}}, false)
		for _, limits := range []ralph.Limits{{CostUSD: 0.7}, {Iterations: 2}, {}} {
			got, _, err := d.stopAt(-1, false, func(s *tasks.Session) { s.Limits = limits })
			if _, ok := errors.AsType[*ralph.StopError](err); !ok || (len(got.Skipped) == 1) != (len(d.crew.runs) == 3) || got.IterationsRun != len(d.crew.runs) {
				t.Errorf("%+v, %v", got, err)
			}
		}
		if len(d.crew.runs) != 3 {
			t.Errorf("%d runs, want 3", len(d.crew.runs))
		}
	})
}

// TestSessionBegunHarmless: what is on record of items that are done, or no longer in
// the list, or of nothing at all, changes nothing; but what was removed while the agent
// worked on it is not done.
func TestSessionBegunHarmless(t *testing.T) {
	t.Parallel()
	item := func(id string, change func(*ralph.State)) ralph.State {
		s := ralph.Start(ralph.Task{ID: id, Always: true, Blocked: "BLOCKED", Limits: ralph.Limits{Iterations: 3}})
		s.Iteration = 2
		change(&s)
		return s
	}
	running := func(s *ralph.State) { s.Running = true }
	open := func(*ralph.State) {}
	stop := func(reason ralph.StopReason) func(*ralph.State) { return func(s *ralph.State) { s.Stop = reason } }
	for name, tt := range map[string]struct {
		state ralph.State
		want  tasks.Report
	}{
		"done":                {item("T002", stop(ralph.StopVerified)), tasks.Report{Status: "completed", IterationsRun: 3, TasksCompleted: 2}},
		"done meanwhile":      {item("T002", open), tasks.Report{Status: "completed", IterationsRun: 2, TasksCompleted: 2}},
		"done in mid-run":     {item("T002", running), tasks.Report{Status: "completed", IterationsRun: 3, TasksCompleted: 2}},
		"given up, then done": {item("T002", stop(ralph.StopBlocked)), tasks.Report{Status: "completed", IterationsRun: 2, TasksCompleted: 2}},
		"open":                {item("T001", open), tasks.Report{Status: "completed", IterationsRun: 2, TasksCompleted: 1}},
		"running":             {item("T001", running), tasks.Report{Status: "completed", IterationsRun: 2, TasksCompleted: 1}},
		"cancelled":           {item("T001", stop(ralph.StopCancelled)), tasks.Report{Status: "completed", IterationsRun: 2, TasksCompleted: 1}},
		"undone":              {item("T001", stop(ralph.StopVerified)), tasks.Report{Status: "completed", IterationsRun: 3, TasksCompleted: 1}},
		"given up":            {item("T001", stop(ralph.StopBlocked)), tasks.Report{Status: "failed", IterationsRun: 1, TasksRemaining: 1, Skipped: ids("T001")}},
		"removed":             {item("T009", open), tasks.Report{Status: "completed", IterationsRun: 2, TasksCompleted: 1}},
		"removed, given up":   {item("T009", stop(ralph.StopBlocked)), tasks.Report{Status: "completed", IterationsRun: 2, TasksCompleted: 1}},
		"removed in mid-run":  {item("T009", running), tasks.Report{Status: "failed", IterationsRun: 2, TasksCompleted: 1, TasksRemaining: 1}},
		"a text in mid-run":   {item("by its text", running), tasks.Report{Status: "failed", IterationsRun: 2, TasksCompleted: 1, TasksRemaining: 1}},
		"nothing":             {ralph.State{}, tasks.Report{Status: "completed", IterationsRun: 1, TasksCompleted: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w, _ := list(t, "- [ ] T001 One\n- [x] T002 Two\n", tick("ok", "T001"))
			s.Begun = map[string]ralph.State{"some loop": tt.state}
			got, err := s.Run(t.Context())
			if diff := cmp.Diff(tt.want, got, exact, ignoreTimes); diff != "" {
				t.Errorf("%v: %s", err, diff)
			}
			if want := min(len(w.prompts), 1); len(w.prompts) != want {
				t.Errorf("%d runs", len(w.prompts))
			}
		})
	}
}

// TestSessionAsksOnce: a box that was rejected is not asked about again where nothing was
// done since; where an attempt was broken off it is, before the agent is paid, and that
// is neither an iteration nor a miss.
func TestSessionAsksOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		script []string
		at     ralph.EventKind
		runs   int
		asked  string
	}{
		"between two iterations": {[]string{"tick T001", "work T001"}, ralph.EventIterationEnded, 2, "T001 T001"},
		"in mid-run":             {[]string{"tick T001", "work T001, limit", ""}, ralph.EventWaiting, 2, "T001 T001"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for n := 4; ; n++ {
					d := newDesk(t, "- [ ] T001 One\n", map[string][]string{"T001": tt.script}, true)
					if _, at, _ := d.stopAt(n, tt.at == ralph.EventWaiting, nil); at != tt.at {
						continue
					}
					got, _, err := d.stopAt(-1, false, nil)
					if asked := strings.Join(d.judge.asked, " "); err != nil || len(d.crew.runs) != tt.runs || asked != tt.asked {
						t.Errorf("%+v, %v after %d runs, asked: %s", got, err, len(d.crew.runs), asked)
					}
					if s := d.begun()["run/T001"]; s.Stop != ralph.StopVerified || tasks.IterationsRun(s) != got.IterationsRun {
						t.Errorf("%d iterations, and on record %+v", got.IterationsRun, s)
					}
					break
				}
			})
		})
	}
}

// TestSessionPausedLoopOver: a pause that an item's loop was in as it ended is not that
// of a later run, where nobody could end it.
func TestSessionPausedLoopOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, "- [ ] T001 One\n- [ ] T002 Two\n", map[string][]string{"T001": {"tick T001"}, "T002": {"tick T002"}}, false)
		if _, at, _ := d.stopAt(5, true, nil); at != ralph.EventLoopStopped {
			t.Fatal(at)
		}
		got, _, err := d.stopAt(-1, false, func(s *tasks.Session) {
			over := s.Begun["run/T001"]
			over.Paused = true
			s.Begun["run/T001"] = over
		})
		if err != nil || got.TasksCompleted != 2 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
