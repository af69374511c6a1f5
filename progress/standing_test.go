package progress_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// TestStandingLine: what people are told of a loop, on a line.
func TestStandingLine(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	task := ralph.Task{ID: "TASK-001", Agent: "coder", Limits: ralph.Limits{Iterations: 15}}
	begun := ralph.Start(task)
	begun.Iteration = 3
	for _, tt := range []struct {
		name   string
		change func(*progress.Standing)
		want   string
	}{
		{"running", func(st *progress.Standing) {}, "TASK-001 (coder): iteration 3/15, started 5m ago"},
		{"in a session", func(st *progress.Standing) { st.Loop = "tasks.yaml/TASK-001.coder" }, "TASK-001 (coder): iteration 3/15, started 5m ago"},
		{"another name", func(st *progress.Standing) { st.Loop = "a\nb" }, "a b (coder): iteration 3/15, started 5m ago"},
		{"no agent", func(st *progress.Standing) { st.Loop, st.Stage = "build", "" }, "build: iteration 3/15, started 5m ago"},
		{"unlimited", func(st *progress.Standing) { st.MaxIterations = -1 }, "TASK-001 (coder): iteration 3, started 5m ago"},
		{"paused", func(st *progress.Standing) { st.Status = progress.StatusPaused }, "TASK-001 (coder): iteration 3/15, started 5m ago, paused, last activity 2s ago"},
		{"waiting", func(st *progress.Standing) { st.Status, st.NotBefore = progress.StatusWaiting, now.In(time.Local) }, "TASK-001 (coder): iteration 3/15, started 5m ago, waiting until " + now.Local().Format(time.TimeOnly)},
		{"interrupted", func(st *progress.Standing) { st.Status = progress.StatusInterrupted }, "TASK-001 (coder): iteration 3/15, last activity 2s ago"},
		{"over", func(st *progress.Standing) { st.Status, st.State.Stop = progress.StatusFailed, ralph.StopStalled }, "TASK-001 (coder): stalled at iteration 3/15, 2s ago"},
	} {
		st := progress.Standing{
			Entry: progress.Entry{Loop: "TASK-001.coder", Kind: progress.KindLoop, Status: progress.StatusRunning, State: begun,
				Started: now.Add(-5 * time.Minute), Active: now.Add(-2 * time.Second)},
			Task: "TASK-001", Stage: "coder", Iteration: 3, MaxIterations: 15,
		}
		tt.change(&st)
		if got := st.Line(now); got != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.name, got, tt.want)
		}
	}
	for ago, want := range map[time.Duration]string{-time.Hour: "0s ago", 59 * time.Second: "59s ago", 90 * time.Minute: "1h ago", 50 * time.Hour: "2d ago"} {
		if got := progress.Ago(now.Add(-ago), now); got != want {
			t.Errorf("%v: %s, want %s", ago, got, want)
		}
	}
	if got := progress.Ago(now, time.Time{}); got != "2026-05-01T12:00:00Z" {
		t.Error(got)
	}
}

// TestSession: a session's standing is counted from its loops that have begun in it, and
// how it ended is on record, unless it can go on.
func TestSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := &progress.Dir{Path: t.TempDir()}
		run := func(key string, outputs ...string) {
			s := ralph.Start(ralph.Task{ID: strings.TrimSuffix(key, " (check)"), Prompt: "Do it.", Limits: ralph.Limits{Iterations: 2}})
			s.Loop = "list/" + key
			l := answers(outputs...)
			l.Log = dir.Under("list")
			if _, err := l.Run(t.Context(), s); err != nil && !errors.As(err, new(*ralph.StopError)) {
				t.Error(err)
			}
			<-time.After(time.Minute)
		}
		begin := func(goesOn bool) *progress.Journal {
			t.Helper()
			var j *progress.Journal
			var err error
			if goesOn {
				j, err = dir.Open("list")
			} else {
				s := ralph.Start(ralph.Task{ID: "feature", Dir: "/src", Limits: ralph.Limits{Iterations: 9}})
				s.Loop = "list"
				j, err = dir.Create(s, progress.KindSession)
			}
			if err == nil {
				j.Meta = map[string]string{"tasks": "3"}
				err = j.Begin(t.Context(), goesOn)
			}
			if err != nil {
				t.Fatal(err)
			}
			return j
		}
		is := func(status progress.Status, want string) {
			t.Helper()
			e, err := dir.Look("list")
			text, jsonErr := json.Marshal(dir.Stand(t.Context(), e))
			if err != nil || jsonErr != nil || e.Status != status || !strings.HasSuffix(string(text), want) {
				t.Errorf("%v, %v: %s: %s\nwant %s", err, jsonErr, e.Status, text, want)
			}
		}
		run("of an earlier one", "no", "no")
		j := begin(false)
		run("A", "no", done)
		run("B (check)", "no", "no") // of a box, and no iteration
		run("B", "no", "no")
		is(progress.StatusRunning, `"iteration":5,"max_iterations":9,"started_at":"2000-01-01T00:01:00Z","completion_promise":"COMPLETE","used":{"requests":2,"messages":2},"unpriced":2,"feature_branch":"feature","start_time":"2000-01-01T00:01:00Z","end_time":null,"iterations_run":4,"tasks_completed":1,"tasks_remaining":2}`)
		if err := j.End(t.Context(), errors.New("the disk is full")); err != nil {
			t.Error(err)
		}
		is(progress.StatusInterrupted, `"iterations_run":4,"tasks_completed":1,"tasks_remaining":2}`)
		j = begin(true)
		run("C", done)
		if err := j.End(t.Context(), &ralph.StopError{Reason: ralph.StopIterations}); err != nil {
			t.Error(err)
		}
		is(progress.StatusFailed, `"iterations_run":5,"tasks_completed":2,"tasks_remaining":1}`)
		if e, err := dir.Limit("list", ralph.Limits{Iterations: 20}); err != nil || e.Status != progress.StatusInterrupted {
			t.Errorf("%+v, %v", e, err)
		}
		j = begin(true)
		if err := j.End(t.Context(), &ralph.StopError{Reason: ralph.StopStalled}); err != nil {
			t.Error(err)
		}
		is(progress.StatusFailed, `"end_time":"2000-01-01T00:05:00Z","iterations_run":5,"tasks_completed":2,"tasks_remaining":1}`)
		j = begin(false)
		is(progress.StatusRunning, `"iterations_run":0,"tasks_completed":0,"tasks_remaining":3}`)
		if _, err := (&progress.Dir{Path: dir.Path}).Cancel("list", "enough"); err != nil {
			t.Error(err)
		}
		if err := j.End(t.Context(), nil); err != nil {
			t.Error(err)
		}
		is(progress.StatusCancelled, `"tasks_remaining":3}`)
		all, err := dir.Standings(t.Context())
		if err != nil || len(all) != 6 || all[len(all)-1].Loop != "list" {
			t.Errorf("%v, %d", err, len(all))
		}
	})
}

// TestEntryMeta: what a loop was last started with is told of it, also when it is over.
func TestEntryMeta(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir()}
	s := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1}})
	for i, args := range []string{"first", "second"} {
		l := answers("no", "no", "no")
		l.Meta = map[string]string{"args": args}
		j, err := dir.Open(s.Loop)
		if errors.Is(err, fs.ErrNotExist) {
			j, err = dir.Create(s, progress.KindLoop)
		}
		if err != nil {
			t.Fatal(err)
		}
		j.State = j.State.Limit(ralph.Limits{Iterations: i + 1})
		if _, err := j.Run(t.Context(), l); !errors.As(err, new(*ralph.StopError)) {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if e, err := dir.Look(s.Loop); err != nil || e.Meta["args"] != args || e.State.Iteration != i+1 {
			t.Errorf("%v: started with %q, told %q at iteration %d", err, args, e.Meta["args"], e.State.Iteration)
		}
	}
}

// TestStandingCountsTasks: the loops of a task's stages, and that in which a box was
// only verified, are one task, and a verification alone is no iteration.
func TestStandingCountsTasks(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir()}
	j, err := dir.Create(ralph.State{Loop: "list", Task: ralph.Task{ID: "feature"}, Iteration: 1, Attempt: 1}, progress.KindSession)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	j.Meta = map[string]string{"tasks": "4"}
	if err := j.Begin(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	for _, part := range []struct {
		loop, task, agent string
		check             bool
		answers           []string
	}{
		{loop: "A", task: "A", answers: []string{"no", done}},
		{loop: "A (check)", task: "A", check: true, answers: []string{done}},
		{loop: "B.coder", task: "B", agent: "coder", answers: []string{done}},
		{loop: "B.tester", task: "B", agent: "tester", answers: []string{done}},
		{loop: "C.coder", task: "C", agent: "coder", answers: []string{done}},
		{loop: "C.tester", task: "C", agent: "tester", answers: []string{"no"}},
	} {
		s := ralph.Start(ralph.Task{ID: part.task, Agent: part.agent, Prompt: "Do it.", Always: part.check, Limits: ralph.Limits{Iterations: len(part.answers)}})
		s.Loop = "list/" + part.loop
		l := answers(part.answers...)
		l.Log = dir.Under("list")
		if _, err := l.Run(t.Context(), s); err != nil && !errors.As(err, new(*ralph.StopError)) {
			t.Fatal(err)
		}
	}
	e, err := dir.Look("list")
	if err != nil {
		t.Fatal(err)
	}
	if st := dir.Stand(t.Context(), e); st.IterationsRun != 6 || st.TasksCompleted != 2 || st.TasksRemaining != 2 {
		t.Errorf("%d iterations, %d completed, %d remain", st.IterationsRun, st.TasksCompleted, st.TasksRemaining)
	}
}
