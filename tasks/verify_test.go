package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks"
)

// A judge accepts an item if the file ok-KEY is in the workspace. It remembers what
// it was asked.
type judge struct {
	asked  []string
	claims []ralph.Claim
	unable bool
}

func (j *judge) Verify(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
	j.asked = append(j.asked, c.Task.ID)
	j.claims = append(j.claims, c)
	used := ralph.Usage{Requests: 1, CostUSD: new(0.25)}
	if j.unable {
		return ralph.Verdict{Usage: used}, errors.New("no such tool")
	}
	if _, err := os.Stat(filepath.Join(c.Task.Dir, "ok-"+c.Task.ID)); err != nil {
		return ralph.Verdict{Feedback: c.Task.ID + " is not as it should be", Usage: used}, nil
	}
	return ralph.Verdict{Passed: true, Usage: used}, nil
}

// does ticks the boxes and does the work: those of ticks that are in works as well
// are really done.
func does(answer string, ticks, works []string) func(*worker) (string, error) {
	return func(w *worker) (string, error) {
		for _, id := range works {
			if err := os.WriteFile(filepath.Join(filepath.Dir(w.list), "ok-"+id), nil, 0o644); err != nil {
				w.t.Error(err)
			}
		}
		return tick(answer, ticks...)(w)
	}
}

func ids(text string) []string { return strings.Fields(text) }

// opens unticks boxes.
func opens(answer string, list ...string) func(*worker) (string, error) {
	return func(w *worker) (string, error) {
		text, err := os.ReadFile(w.list)
		for _, id := range list {
			text = []byte(strings.Replace(string(text), "[x] "+id, "[ ] "+id, 1))
		}
		return answer, errors.Join(err, os.WriteFile(w.list, text, 0o644))
	}
}

// exact compares reports, but for times and money.
var exact = cmpopts.IgnoreFields(tasks.Report{}, "StartTime", "EndTime", "Elapsed", "Unpriced", "Usage", "Detail", "FeatureBranch", "MaxIterations")

// TestSessionVerifies: a box that is ticked is a claim, and the Verifier decides.
func TestSessionVerifies(t *testing.T) {
	t.Parallel()
	const promise, blocked = "Done.\n\n<promise>COMPLETE</promise>", "I lack the key.\n\n<promise>BLOCKED</promise>"
	const wrong1, wrong2 = "T001 is not as it should be", "T002 is not as it should be"
	type step = func(*worker) (string, error)
	for name, tt := range map[string]struct {
		steps  []step
		change func(*tasks.Session)
		want   tasks.Report
		asked  string
		log    []string
		reason ralph.StopReason // "" = completed
	}{
		"one after the other": {
			steps: []step{does("ok", ids("T001"), ids("T001")), does("ok", ids("T002"), ids("T002")), does("ok", ids("T003"), ids("T003"))},
			want:  tasks.Report{Status: "completed", IterationsRun: 3, TasksCompleted: 3},
			asked: "T001 T002 T003",
			log:   []string{"1 T001 success", "2 T002 success", "3 T003 success"},
		},
		"all boxes, and nothing done": {
			steps: []step{tick(promise, "T001", "T002", "T003"), says(promise, nil)},
			want: tasks.Report{Status: "failed", IterationsRun: 9, TasksRemaining: 3, Skipped: ids("T001 T002 T003"), Rejected: ids("T001 T002 T003"),
				Pending: map[string]string{"T001": wrong1, "T002": wrong2, "T003": "T003 is not as it should be"}},
			// Those whose turn comes are asked about first; those that were given up
			// once more when nothing else is left.
			asked: "T001 T001 T001 T002 T002 T002 T002 T003 T003 T003 T003 T001 T002",
			log: []string{"1 T001 failure", "2 T001 failure", "3 T001 skipped", "4 T002 failure", "5 T002 failure", "6 T002 failure", "7 T002 skipped",
				"8 T003 failure", "9 T003 failure", "10 T003 failure", "11 T003 skipped", "12 T001 failure", "13 T002 failure"},
			reason: ralph.StopStalled,
		},
		"all at once, and done": {
			steps: []step{does(promise, ids("T001 T002 T003"), ids("T001 T002 T003"))},
			want:  tasks.Report{Status: "completed", IterationsRun: 1, TasksCompleted: 3},
			asked: "T001 T002 T003",
			log:   []string{"1 T001 success", "2 T002 success", "3 T003 success"},
		},
		"rejected, then done": {
			steps: []step{tick("ok", "T001"), does("ok", nil, ids("T001")), does("ok", ids("T002 T003"), ids("T002 T003"))},
			want:  tasks.Report{Status: "completed", IterationsRun: 3, TasksCompleted: 3},
			asked: "T001 T001 T002 T003",
			log:   []string{"1 T001 failure", "2 T001 success", "3 T002 success", "4 T003 success"},
		},
		"another's box is its own claim": {
			steps: []step{does("ok", ids("T001 T002"), ids("T001")), does("ok", nil, ids("T002")), does("ok", ids("T003"), ids("T003"))},
			want:  tasks.Report{Status: "completed", IterationsRun: 3, TasksCompleted: 3},
			asked: "T001 T002 T002 T003",
			log:   []string{"1 T001 success", "2 T002 failure", "3 T002 success", "4 T003 success"},
		},
		"a box that is open is not asked about": {
			steps:  []step{says("done, I think", nil)},
			change: func(s *tasks.Session) { s.Limits.Iterations = 2 },
			want: tasks.Report{Status: "failed", IterationsRun: 2, TasksRemaining: 3,
				Pending: map[string]string{"T001": "", "T002": "", "T003": ""}},
			log:    []string{"1 T001 failure", "2 T001 failure"},
			reason: ralph.StopIterations,
		},
		"the limit comes before another's turn": {
			steps:  []step{does("ok", ids("T001 T003"), ids("T001 T003"))},
			change: func(s *tasks.Session) { s.Limits.Iterations = 1 },
			want: tasks.Report{Status: "failed", IterationsRun: 1, TasksCompleted: 1, TasksRemaining: 2, Unverified: ids("T003"),
				Pending: map[string]string{"T002": "", "T003": ""}},
			asked:  "T001",
			log:    []string{"1 T001 success"},
			reason: ralph.StopIterations,
		},
		"rejected in the last iteration": {
			steps:  []step{tick("ok", "T001")},
			change: func(s *tasks.Session) { s.Limits.Iterations = 1 },
			want: tasks.Report{Status: "failed", IterationsRun: 1, TasksRemaining: 3, Rejected: ids("T001"),
				Pending: map[string]string{"T001": wrong1, "T002": "", "T003": ""}},
			asked:  "T001",
			log:    []string{"1 T001 failure"},
			reason: ralph.StopIterations,
		},
		"a box outranks a call for help": {
			steps: []step{does(blocked, ids("T001"), ids("T001")), does("ok", ids("T002 T003"), ids("T002 T003"))},
			want:  tasks.Report{Status: "completed", IterationsRun: 2, TasksCompleted: 3},
			asked: "T001 T002 T003",
			log:   []string{"1 T001 skipped", "2 T001 success", "3 T002 success", "4 T003 success"},
		},
		"but not if it is rejected": {
			steps: []step{tick(blocked, "T001"), does("ok", ids("T002 T003"), ids("T002 T003"))},
			want: tasks.Report{Status: "failed", IterationsRun: 2, TasksCompleted: 2, TasksRemaining: 1, Skipped: ids("T001"), Rejected: ids("T001"),
				Pending: map[string]string{"T001": wrong1}},
			asked:  "T001 T002 T003 T001",
			log:    []string{"1 T001 skipped", "2 T001 failure", "3 T002 success", "4 T003 success", "5 T001 failure"},
			reason: ralph.StopStalled,
		},
		"given up, and done with the rest": {
			steps: []step{tick("no", "T001"), says("no", nil), says("no", nil), does("ok", ids("T002 T003"), ids("T001 T002 T003"))},
			want:  tasks.Report{Status: "completed", IterationsRun: 4, TasksCompleted: 3, Skipped: ids("T001")},
			asked: "T001 T001 T001 T002 T003 T001",
			log:   []string{"1 T001 failure", "2 T001 failure", "3 T001 skipped", "4 T002 success", "5 T003 success", "6 T001 success"},
		},
		"unticked is open, and asked about again": {
			steps: []step{tick("ok", "T001"), opens("not yet", "T001"), does("ok", ids("T001 T002 T003"), ids("T001 T002 T003"))},
			want:  tasks.Report{Status: "completed", IterationsRun: 3, TasksCompleted: 3},
			asked: "T001 T001 T002 T003",
			log:   []string{"1 T001 failure", "2 T001 failure", "3 T001 success", "4 T002 success", "5 T003 success"},
		},
		"verified, unticked and ticked again": {
			steps: []step{does("ok", ids("T001"), ids("T001")), opens("wrong", "T001"), does("ok", ids("T001 T002 T003"), ids("T002 T003"))},
			want:  tasks.Report{Status: "completed", IterationsRun: 3, TasksCompleted: 3},
			asked: "T001 T002 T001 T003",
			log:   []string{"1 T001 success", "2 T002 failure", "3 T002 success", "4 T001 success", "5 T003 success"},
		},
		"a task that appears ticked": {
			steps: []step{func(w *worker) (string, error) {
				text, err := os.ReadFile(w.list)
				os.WriteFile(w.list, append(text, "- [x] T004 Four\n"...), 0o644)
				does("", ids("T001 T002 T003"), ids("T001 T002 T003"))(w)
				return promise, err
			}, does("ok", nil, ids("T004"))},
			want:  tasks.Report{Status: "completed", IterationsRun: 2, TasksCompleted: 4},
			asked: "T001 T002 T003 T004 T004",
			log:   []string{"1 T001 success", "2 T002 success", "3 T003 success", "4 T004 failure", "5 T004 success"},
		},
		"a fault does not hide what was done": {
			steps: []step{func(w *worker) (string, error) {
				does("", ids("T001 T002 T003"), ids("T001 T002 T003"))(w)
				return "fine", errors.New("the run broke")
			}},
			want:  tasks.Report{Status: "completed", IterationsRun: 1, TasksCompleted: 3},
			asked: "T001 T002 T003",
			log:   []string{"1 T001 failure", "2 T002 success", "3 T003 success"},
		},
		"what was rejected before is asked about first": {
			steps: []step{does("ok", ids("T001"), ids("T001")), does("ok", nil, ids("T003"))},
			change: func(s *tasks.Session) {
				must(t, tasks.ListFile{Path: s.Path}.Tick("T002"))
				must(t, tasks.ListFile{Path: s.Path}.Tick("T003"))
				must(t, os.WriteFile(filepath.Join(s.Dir, "ok-T002"), nil, 0o644))
				s.Pending = map[string]string{"T001": "", "T002": wrong2, "T003": ""}
			},
			want:  tasks.Report{Status: "completed", IterationsRun: 2, TasksCompleted: 3},
			asked: "T001 T002 T003 T003",
			log:   []string{"1 T001 success", "2 T002 success", "3 T003 failure", "4 T003 success"},
		},
		"nothing is left but to ask": {
			change: func(s *tasks.Session) {
				for _, id := range ids("T001 T002 T003") {
					must(t, tasks.ListFile{Path: s.Path}.Tick(id))
					must(t, os.WriteFile(filepath.Join(s.Dir, "ok-"+id), nil, 0o644))
				}
				s.Pending = map[string]string{"T002": wrong2}
			},
			want:  tasks.Report{Status: "completed", TasksCompleted: 1},
			asked: "T002",
			log:   []string{"1 T002 success"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w, log := list(t, three, append(tt.steps, says("", ralph.Permanent(errors.New("one step too many"))))...)
			if name == "all boxes, and nothing done" || name == "a box that is open is not asked about" {
				w.steps = w.steps[:len(w.steps)-1] // the last again and again
			}
			s.Path, s.Limits.Iterations = w.list, 20
			if tt.change != nil {
				tt.change(s)
			}
			j := &judge{}
			s.Verifier = j
			got, err := s.Run(t.Context())
			if diff := cmp.Diff(tt.want, got, exact); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.asked, strings.Join(j.asked, " ")); diff != "" {
				t.Errorf("asked: %s", diff)
			}
			if diff := cmp.Diff(tt.log, sections(t, log)); diff != "" {
				t.Error(diff)
			}
			stop, _ := errors.AsType[*ralph.StopError](err)
			if tt.reason == "" && err != nil || tt.reason != "" && (stop == nil || stop.Reason != tt.reason) {
				t.Errorf("error %v, want %s", err, cmpOr(string(tt.reason), "none"))
			}
			want := 0.25*float64(len(j.asked)) + 0.5*float64(len(w.prompts))
			if got.Usage.CostUSD == nil || *got.Usage.CostUSD != want {
				t.Errorf("spent %v, want $%v", got.Usage, want)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestSessionRejectionIsTold: the agent learns that its box does not count, and why,
// also in another run; the list is left as it is.
func TestSessionRejectionIsTold(t *testing.T) {
	t.Parallel()
	const told = "The box of T001 is ticked, but that alone does not count"
	s, w, _ := list(t, three, tick("ok", "T001"), says("no", nil), does("ok", nil, ids("T001")), does("ok", ids("T002 T003"), ids("T002 T003")))
	s.Verifier, s.Limits.Iterations = &judge{}, 1
	first, err := s.Run(t.Context())
	if err == nil || len(first.Rejected) != 1 {
		t.Fatalf("%+v, %v", first, err)
	}
	if text, err := os.ReadFile(w.list); err != nil || string(text) != strings.Replace(three, "[ ] T001", "[x] T001", 1) {
		t.Errorf("%s, %v", text, err)
	}
	s.Pending, s.Limits.Iterations = first.Pending, 10
	if got, err := s.Run(t.Context()); err != nil || got.TasksCompleted != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	for i, want := range []bool{false, true, true, false} {
		p := w.prompts[i]
		if strings.Contains(p, told) != want || strings.Contains(p, "T001 is not as it should be") != want {
			t.Errorf("prompt %d tells of the rejection: %v, want %v\n%s", i+1, !want, want, p)
		}
	}
}

// TestSessionClaims: the Verifier is asked about the item, with the words with which
// its box was ticked; of a box that was ticked before the run there are none.
func TestSessionClaims(t *testing.T) {
	t.Parallel()
	s, w, _ := list(t, "- [ ] T001 One\n  - with care\n- [ ] T002 Two\n- [x] T003 Three\n", does("all done", ids("T001 T002"), ids("T001 T002 T003")))
	j := &judge{}
	s.Verifier, s.Pending, s.Evidence = j, map[string]string{"T003": "wrong"}, t.TempDir()
	if _, err := s.Run(t.Context()); err != nil || len(j.claims) != 3 {
		t.Fatalf("%v: %v", j.asked, err)
	}
	folders := map[string]bool{}
	for i, want := range []struct {
		id, title, prompt, output string
		fault                     ralph.Fault
	}{{"T001", "One", "with care", "all done", ""}, {"T002", "Two", "Two", "all done", ""}, {"T003", "Three", "Three", "", ralph.FaultEmpty}} {
		c := j.claims[i]
		if c.Task.ID != want.id || c.Task.Title != want.title || !strings.Contains(c.Task.Prompt, want.prompt) || c.Task.Dir != s.Dir ||
			c.Output != want.output || c.Fault != want.fault || !c.Promised || c.Iteration != 1 || c.Start.IsZero() {
			t.Errorf("%+v", c)
		}
		folders[c.Evidence] = true
	}
	if len(folders) != 3 || len(w.prompts) != 1 {
		t.Errorf("evidence in %v after %d attempts", slices.Sorted(maps.Keys(folders)), len(w.prompts))
	}
}

// TestSessionKeeps: what is not verified is kept before the agent runs, and as it
// changes, so that a box which is ticked as the program dies is not taken for
// done by the next run.
func TestSessionKeeps(t *testing.T) {
	t.Parallel()
	var kept []string
	keep := func(pending map[string]string) error {
		var list []string
		for _, key := range slices.Sorted(maps.Keys(pending)) {
			list = append(list, key+"="+pending[key])
		}
		kept = append(kept, strings.Join(list, ","))
		return nil
	}
	died := errors.New("died")
	ctx, cancel := context.WithCancelCause(t.Context())
	s, w, _ := list(t, three, tick("ok", "T001"), does("ok", nil, ids("T001")), func(w *worker) (string, error) {
		tick("", "T002")(w)
		cancel(died)
		return "", died
	}, does("ok", ids("T003"), ids("T002 T003")))
	j := &judge{}
	s.Verifier, s.Keep = j, keep
	got, err := s.Run(ctx)
	if !errors.Is(err, died) || !slices.Equal(got.Unverified, ids("T002")) || got.TasksRemaining != 2 || got.Status != tasks.SessionInterrupted {
		t.Fatalf("%+v, %v", got, err)
	}
	want := []string{"T001=,T002=,T003=", "T001=T001 is not as it should be,T002=,T003=", "T002=,T003="}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"T002": "", "T003": ""}, got.Pending); diff != "" {
		t.Error(diff)
	}
	// The program may have died then: of what is ticked only what is kept tells.
	j.asked, kept, s.Pending = nil, nil, got.Pending
	got, err = s.Run(t.Context())
	if err != nil || got.TasksCompleted != 2 || got.IterationsRun != 1 || len(w.prompts) != 4 {
		t.Errorf("%+v, %v", got, err)
	}
	if diff := cmp.Diff(ids("T002 T002 T003"), j.asked); diff != "" {
		t.Error(diff)
	}

	s.Pending, s.Keep = nil, func(map[string]string) error { return errors.New("disk full") }
	must(t, os.WriteFile(w.list, []byte(three), 0o644))
	asked := len(w.prompts)
	if _, err := s.Run(t.Context()); err == nil || err.Error() != "tasks: what is not verified cannot be kept: disk full" || len(w.prompts) != asked {
		t.Errorf("%v after %d prompts", err, len(w.prompts)-asked)
	}
	calls := 0
	s.Keep = func(map[string]string) error {
		if calls++; calls > 1 {
			return errors.New("disk full")
		}
		return nil
	}
	w.steps = append(w.steps, does("ok", ids("T001"), nil))
	if _, err := s.Run(t.Context()); err == nil || err.Error() != "tasks: what is not verified cannot be kept: disk full" || len(w.prompts) != asked+1 {
		t.Errorf("%v after %d prompts", err, len(w.prompts)-asked)
	}
}

// TestSessionCannotTell: a check that cannot be made is no rejection. The session
// ends, and gives no item up for it; before an attempt it costs none.
func TestSessionCannotTell(t *testing.T) {
	t.Parallel()
	s, w, _ := list(t, three, tick("ok", "T001"))
	j := &judge{unable: true}
	s.Verifier = j
	got, err := s.Run(t.Context())
	stop, ok := errors.AsType[*ralph.StopError](err)
	if !ok || stop.Reason != ralph.StopFailed || !strings.Contains(stop.Detail, "no such tool") || got.Skipped != nil || got.Rejected != nil ||
		!slices.Equal(got.Unverified, ids("T001")) || len(w.prompts) != 3 || !strings.Contains(w.prompts[1], "says nothing about your work") {
		t.Errorf("%+v, %v after %d prompts", got, err, len(w.prompts))
	}
	s.Pending = got.Pending
	got, err = s.Run(t.Context())
	if stop, ok := errors.AsType[*ralph.StopError](err); !ok || stop.Reason != ralph.StopFailed || got.IterationsRun != 0 || len(w.prompts) != 3 {
		t.Errorf("%+v, %v after %d prompts", got, err, len(w.prompts))
	}
}

// TestSessionRejectedWithoutVerifier: what was rejected stays open for a run that
// has nobody to ask, until it is unticked; the rest is worked on.
func TestSessionRejectedWithoutVerifier(t *testing.T) {
	t.Parallel()
	const begun = "- [x] T001 One\n- [ ] T002 Two\n- [x] T003 Three\n"
	pending := map[string]string{"T001": "wrong", "T002": "", "T003": ""}
	s, w, _ := list(t, begun, tick("ok", "T002"))
	s.Pending = pending
	got, err := s.Run(t.Context())
	want := tasks.Report{Status: "failed", IterationsRun: 1, TasksCompleted: 1, TasksRemaining: 1, Rejected: ids("T001"), Unverified: ids("T002"), Pending: pending}
	if diff := cmp.Diff(want, got, exact); diff != "" || err == nil || !strings.Contains(err.Error(), "T001") {
		t.Error(diff, err)
	}
	if _, err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "an earlier check rejects T001") || len(w.prompts) != 1 {
		t.Error(err)
	}
	opens("", "T001")(w)
	w.steps = append(w.steps, tick("ok", "T001"))
	got, err = s.Run(t.Context())
	want = tasks.Report{Status: "completed", IterationsRun: 1, TasksCompleted: 1, Unverified: ids("T001"), Pending: map[string]string{"T001": "", "T002": "", "T003": ""}}
	if diff := cmp.Diff(want, got, exact); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// TestSessionRejectedAndRemoved: what was rejected in an earlier run is not done by
// taking it out of the list.
func TestSessionRejectedAndRemoved(t *testing.T) {
	t.Parallel()
	pass := ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) { return ralph.Pass(), nil })
	for name, verifier := range map[string]ralph.Verifier{"a check": pass, "none": nil} {
		s, w, _ := list(t, "- [ ] T002 Two\n", tick("ok", "T002"))
		s.Verifier = verifier
		s.Pending = map[string]string{"T001": "wrong", "T003": "", "some text": "wrong"}
		got, err := s.Run(t.Context())
		if got.Status != tasks.SessionFailed || got.TasksCompleted != 1 || got.TasksRemaining != 2 || got.Pending["T001"] != "wrong" || err == nil || !strings.Contains(err.Error(), "no longer in the list: T001, some text") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		s.Pending = got.Pending
		if _, err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "an earlier check rejects") || len(w.prompts) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSessionVerifiesWithinLimits: what the Verifier costs is the session's money.
func TestSessionVerifiesWithinLimits(t *testing.T) {
	t.Parallel()
	s, w, _ := list(t, three, does("ok", ids("T001 T002 T003"), ids("T001 T002 T003")))
	j := &judge{}
	s.Verifier, s.Limits.CostUSD = j, 1 // the attempt is $0.50, each question $0.25
	got, err := s.Run(t.Context())
	stop, ok := errors.AsType[*ralph.StopError](err)
	if !ok || stop.Reason != ralph.StopCost || *got.Usage.CostUSD != 1 || got.TasksCompleted != 2 || !slices.Equal(got.Unverified, ids("T003")) || len(w.prompts) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestSessionVerifiesAfterARateLimit: a box that was ticked in an attempt which the
// provider's limit ended is asked about at once; if it is rejected, the limit is
// waited for.
func TestSessionVerifiesAfterARateLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for passes, want := range map[bool][]string{
		true:  {"agent at 0s", "verifier at 0s"},
		false: {"agent at 0s", "verifier at 0s", "agent at 0s", "agent at 1h0m0s", "verifier at 1h0m0s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var happened []string
			start, runs := time.Now(), 0
			note := func(who string) { happened = append(happened, fmt.Sprintf("%s at %v", who, time.Since(start))) }
			items := []tasks.Item{{ID: "T001", Key: "T001", Text: "One"}}
			s := tasks.Session{Dir: dir, Feature: "shop", Workspace: noWorkspace,
				Source: tasks.SourceFunc(func(context.Context) ([]tasks.Item, error) { return slices.Clone(items), nil }),
				Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
					note("agent")
					items[0].Done = true
					if runs++; runs < 3 {
						return ralph.Response{}, ralph.RetryAfter(errors.New("too many requests"), time.Hour)
					}
					return ralph.Response{Output: "ok"}, nil
				}),
				Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
					note("verifier")
					return ralph.Verdict{Passed: passes || runs == 3}, nil
				}),
			}
			if got, err := s.Run(t.Context()); err != nil || got.TasksCompleted != 1 || got.Status != tasks.SessionCompleted {
				t.Errorf("%+v, %v", got, err)
			}
			if diff := cmp.Diff(want, happened); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSessionAnsweredTooLate: a verdict that the loop did not take is none.
func TestSessionAnsweredTooLate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		list := &board{items: []tasks.Item{{ID: "T001", Key: "T001", Text: "One"}}}
		s := tasks.Session{Dir: dir, Feature: "shop", Workspace: noWorkspace, Source: list, Limits: ralph.Limits{Iterations: 1, VerifyTimeout: time.Minute},
			Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
				list.items[0].Done = true
				return ralph.Response{Output: "ok"}, nil
			}),
			Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
				<-time.After(time.Minute + time.Second)
				return ralph.Pass(), nil
			}),
		}
		got, err := s.Run(t.Context())
		if err == nil || got.TasksCompleted != 0 || got.TasksRemaining != 1 || !slices.Equal(got.Unverified, ids("T001")) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestSessionPreparesOnce: what must be as it was is what it was when the session
// began, for all items; a Verifier that cannot work costs no attempt.
func TestSessionPreparesOnce(t *testing.T) {
	t.Parallel()
	s, w, _ := list(t, three, tick("ok", "T001"), tick("ok", "T002"), tick("ok", "T003"))
	p := &preparer{}
	s.Verifier = p
	if _, err := s.Run(t.Context()); err != nil || p.prepared != 1 {
		t.Errorf("prepared %d times: %v", p.prepared, err)
	}
	if diff := cmp.Diff([]string{"1", "1", "1"}, p.guarded); diff != "" {
		t.Error(diff)
	}
	must(t, os.WriteFile(w.list, []byte(three), 0o644))
	p.err = errors.New("no judge is logged in")
	asked := len(w.prompts)
	got, err := s.Run(t.Context())
	if err == nil || err.Error() != "ralph: verifier: no judge is logged in" || len(w.prompts) != asked || !got.StartTime.IsZero() {
		t.Errorf("%+v, %v", got, err)
	}
	s, _, log := list(t, three)
	s.Runner = &ralph.Command{Args: []string{"no-such-agent"}}
	if _, err := s.Run(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "ralph: runner: agent: no-such-agent") {
		t.Error(err)
	}
	if _, err := os.Stat(log); err == nil {
		t.Error("a log was begun")
	}
}

type preparer struct {
	prepared int
	guarded  []string
	err      error
}

func (p *preparer) Verify(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
	p.guarded = append(p.guarded, c.Task.Guarded["exam"])
	return ralph.Pass(), nil
}
func (p *preparer) Validate(ralph.Task) error { return p.err }
func (p *preparer) Prepare(_ context.Context, t ralph.Task) (ralph.Task, error) {
	p.prepared++
	t.Guarded = map[string]string{"exam": fmt.Sprint(p.prepared)}
	return t, nil
}

// TestSessionVerifiesChangedText: a box without an ID whose text is changed as it is
// ticked is verified under its new text.
func TestSessionVerifiesChangedText(t *testing.T) {
	t.Parallel()
	rewrite := func(text string) func(*worker) (string, error) {
		return func(w *worker) (string, error) { return "ok", os.WriteFile(w.list, []byte(text), 0o644) }
	}
	s, w, _ := list(t, "- [ ] Write it\n- [ ] Test it\n", rewrite("- [x] Write it (in Go)\n- [ ] Test it\n"), says("mended", nil), tick("ok", "Test it"))
	s.Source = tasks.ListFile{Path: w.list, AllBoxes: true}
	var asked []int
	s.Verifier = ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
		asked = append(asked, len(w.prompts))
		return ralph.Verdict{Passed: len(asked) > 1, Feedback: "not yet"}, nil
	})
	got, err := s.Run(t.Context())
	want := tasks.Report{Status: "completed", IterationsRun: 3, TasksCompleted: 2}
	if diff := cmp.Diff(want, got, exact); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if diff := cmp.Diff([]int{1, 2, 3}, asked); diff != "" {
		t.Error(diff)
	}
}

// TestSessionVerifiedLogs: what is verified without an attempt is on record, and a
// log of it resumes.
func TestSessionVerifiedLogs(t *testing.T) {
	t.Parallel()
	s, _, _ := list(t, three, does("ok", ids("T001 T002"), ids("T001")), does("ok", ids("T003"), ids("T002 T003")))
	var log strings.Builder
	s.Log, s.Verifier = &progress.JSONL{W: &log}, &judge{}
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids("T001 T002 T003") {
		if state, err := progress.Resume(strings.NewReader(log.String()), id); err != nil || state.Stop != ralph.StopVerified {
			t.Errorf("%s: %+v, %v", id, state, err)
		}
	}
}

// TestSessionBase: of a box that is verified without an attempt of its own, the work
// is what the session has done; of an attempt it is what was done since that began.
func TestSessionBase(t *testing.T) {
	t.Parallel()
	s, w, _ := list(t, "- [ ] T001 One\n- [ ] T002 Two\n", does("all done", ids("T001 T002"), ids("T001 T002")))
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Dir = filepath.Dir(w.list)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("add", "-A")
	git("commit", "-qm", "one", "--allow-empty")
	j := &judge{}
	s.Verifier, s.Dir = j, filepath.Dir(w.list)
	if _, err := s.Run(t.Context()); err != nil || len(j.claims) != 2 {
		t.Fatalf("%v: %v", j.asked, err)
	}
	for i, c := range j.claims {
		if c.Base != git("rev-parse", "HEAD") {
			t.Errorf("claim %d: %q", i, c.Base)
		}
	}
}
