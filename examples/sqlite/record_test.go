package sqlite_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/sqlite"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/progress/progresstest"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// TestForged: whatever an agent writes into the database about its loop while that runs, a
// task that was rejected is not done.
func TestForged(t *testing.T) {
	t.Parallel()
	end := ralph.Start(ralph.Task{ID: "C"})
	end.Loop, end.Stop, end.Running = "s/C", ralph.StopVerified, false
	text, err := json.Marshal(map[string]any{"task_id": "C", "kind": "loop_stopped", "event": ralph.Event{Kind: ralph.EventLoopStopped, Loop: "s/C", Task: "C", State: &end}})
	if err != nil {
		t.Fatal(err)
	}
	for _, forge := range []string{
		"UPDATE ralph_loops SET stop = 'verified', state = json_set(state, '$.stop', 'verified')",
		"INSERT INTO ralph_log (loop, task, kind, record) SELECT max(loop), 'C', 'loop_stopped', '" + string(text) + "' FROM ralph_log",
		"UPDATE ralph_log SET record = '" + string(text) + "', kind = 'loop_stopped'",
	} {
		db, dir, runs := fresh(t, sqlite.Column, three()[2:]...), t.TempDir(), []string(nil)
		s, items := session(t, db, dir, &runs)
		honest := s.Runner
		s.Runner = ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
			attack, err := sql.Open("sqlite", (&fileURL{db.Path()}).String())
			if err == nil {
				_, _ = attack.ExecContext(ctx, forge) // that it fails is well
				err = attack.Close()
			}
			if err != nil {
				return ralph.Response{}, err
			}
			return honest.Run(ctx, req)
		})
		s.Verifier = ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) { return ralph.Reject("never"), nil })
		if _, err := s.Run(t.Context()); err == nil {
			t.Errorf("%s: the session has no error", forge)
		}
		if err := items.Close(); err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(map[string]spec.Status{"C": "todo"}, statuses(t, db)); d != "" {
			t.Errorf("%s: %s", forge, d)
		}
	}
}

// TestUnwritten: that a task was verified and is another one now is told, and recorded.
func TestUnwritten(t *testing.T) {
	t.Parallel()
	db, dir, runs := fresh(t, sqlite.Column, three()[2:]...), t.TempDir(), []string(nil)
	s, items := session(t, db, dir, &runs)
	s.Verifier = ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
		query(t, db.Path(), "UPDATE tasks SET title = 'Another'")
		return ralph.Pass(), nil
	})
	_, _ = s.Run(t.Context())
	err := items.Close()
	if altered, ok := errors.AsType[*pipeline.AlteredError](err); !ok || altered.ID != "C" {
		t.Error(err)
	}
	all, err := db.Standings(t.Context())
	if err != nil || len(all) != 1 || all[0].Stop != ralph.StopVerified {
		t.Errorf("%v %v", all, err)
	}
	if d := cmp.Diff(map[string]spec.Status{"C": "todo"}, statuses(t, db)); d != "" {
		t.Error(d) // it is open to all, and not running
	}
}

// TestStandings: the last one that changed is the first, whatever the clocks said.
func TestStandings(t *testing.T) {
	t.Parallel()
	db := fresh(t, sqlite.Column)
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for i, loop := range []string{"a", "b", "c"} {
		s := ralph.Start(ralph.Task{ID: loop})
		if err := db.Append(t.Context(), ralph.Event{Kind: ralph.EventLoopStarted, Loop: loop, Task: loop, State: &s, Time: at.Add(time.Duration(-i) * time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := db.Standings(t.Context())
	if err != nil || len(all) != 3 || all[0].Loop != "c" || all[2] != (sqlite.Standing{Loop: "a", Task: "a", Iteration: 1}) {
		t.Errorf("%+v %v", all, err)
	}
}

// TestCatchUp: at whatever event the database fails, it has after the next run all that the
// journals have, in their order and once.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	broken := errors.New("no space")
	for n := range 14 {
		db, dir, runs := fresh(t, sqlite.Column, three()[0], three()[2]), t.TempDir(), []string(nil)
		record := &progress.Dir{Path: t.TempDir()}
		run := func(log ralph.ProgressLog) error {
			s := &sqlite.Source{DB: db}
			defer s.Close()
			p := pipeline.Pipeline{
				Name: "p", Source: s, Dir: dir, Log: log, Stages: []string{"coder"}, Record: record,
				Runner: func(pipeline.Place) (ralph.Runner, error) { return makerOf(dir, &runs), nil },
			}
			_, err := p.Run(t.Context())
			return err
		}
		if err := run(progresstest.FailAfter(db, n, broken)); !errors.Is(err, broken) && err != nil {
			t.Fatal(n, err)
		}
		for range 2 { // the second time there is nothing to do
			if err := db.CatchUp(t.Context(), record, "p"); err != nil {
				t.Fatal(err)
			}
			sameRecord(t, db, record)
		}
		if err := run(db); err != nil {
			t.Fatal(n, err)
		}
		sameRecord(t, db, record)
		if err := db.CatchUp(t.Context(), record, "another"); err != nil {
			t.Error(err)
		}
	}
}

// TestCatchUpOthers: what the journal of another loop of the name has is not added.
func TestCatchUpOthers(t *testing.T) {
	t.Parallel()
	db, record := fresh(t, sqlite.Column), &progress.Dir{Path: t.TempDir()}
	s := ralph.Start(ralph.Task{ID: "T1"})
	for _, kind := range []ralph.EventKind{ralph.EventLoopStarted, ralph.EventGuided, ralph.EventGuided} {
		if err := record.Under("p").Append(t.Context(), ralph.Event{Kind: kind, Loop: s.Loop, Task: "T1", State: &s}); err != nil {
			t.Fatal(err)
		}
	}
	for want := range 2 { // nothing is on record, and then that of another workspace
		if err := db.CatchUp(t.Context(), record, "p"); err != nil {
			t.Fatal(err)
		}
		if got := len(query(t, db.Path(), "SELECT seq FROM ralph_log")); got != want {
			t.Errorf("%d events are on record, want %d", got, want)
		}
		if err := db.Append(t.Context(), ralph.Event{Kind: ralph.EventLoopStarted, Loop: s.Loop, Task: "T1", State: &s}); err != nil {
			t.Fatal(err)
		}
	}
}

// sameRecord compares the journals of loops with the end of their record in the database.
func sameRecord(t *testing.T, db *sqlite.DB, journals *progress.Dir) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(journals.Path, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.Count(filepath.Base(name), ".") > 1 { // set aside
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var want, got []string
		loop := ""
		for rec, err := range progress.ReadJSONL(f) {
			if err != nil {
				t.Fatal(err)
			}
			loop = rec.Event.Loop
			want = append(want, string(rec.Kind)+" "+rec.Event.Time.Format(time.RFC3339Nano))
		}
		if loop == "p" {
			continue // the pipeline's own
		}
		for rec, err := range db.Records(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			if rec.Event.Loop == loop {
				got = append(got, string(rec.Kind)+" "+rec.Event.Time.Format(time.RFC3339Nano))
			}
		}
		once := slices.Compact(slices.Sorted(slices.Values(got)))
		if d := cmp.Diff(want, got[max(0, len(got)-len(want)):]); d != "" || len(once) != len(got) {
			t.Errorf("%s: %d of %d events once (-journal +end of the database's):\n%s", loop, len(once), len(got), d)
		}
	}
}
