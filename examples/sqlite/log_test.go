package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/sqlite"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/progress/progresstest"
	"github.com/ralph-loop/ralph/verify"
)

// TestKit runs the log through the public kit.
func TestKit(t *testing.T) {
	t.Parallel()
	open := func() (ralph.ProgressLog, error) { // the kit closes it
		path := filepath.Join(t.TempDir(), "tasks.db")
		if err := sqlite.Migrate(t.Context(), path, sqlite.Column); err != nil {
			return nil, err
		}
		return sqlite.Open(t.Context(), path)
	}
	err := progresstest.TestLog(open, progresstest.Traits{
		Shared: true,
		Read: func(log ralph.ProgressLog) (all []ralph.Event, err error) {
			for rec, err := range log.(*sqlite.DB).Records(context.Background(), "") {
				if err != nil {
					return nil, err
				}
				all = append(all, rec.Event)
			}
			return all, nil
		},
		Failing: func() (ralph.ProgressLog, error) {
			log, err := open()
			if err != nil {
				return nil, err
			}
			return replaced{log.(*sqlite.DB), t}, nil
		},
	})
	if err != nil {
		t.Error(err)
	}
}

// A replaced log is on a database that a newer program has taken over.
type replaced struct {
	*sqlite.DB
	t *testing.T
}

func (r replaced) Append(ctx context.Context, ev ralph.Event) error {
	query(r.t, r.Path(), "UPDATE ralph_schema SET version = 9")
	defer query(r.t, r.Path(), "UPDATE ralph_schema SET version = 1")
	return r.DB.Append(ctx, ev)
}

// claims is an agent that claims from its n-th iteration on, and how often it was run.
func claims(n int, runs *int) ralph.Runner {
	return ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
		*runs++
		if req.Iteration < n {
			return ralph.Response{Output: "More is to be done."}, nil
		}
		return ralph.Response{Output: "Done.\n<promise>COMPLETE</promise>"}, nil
	})
}

// TestResume: whatever event cannot be recorded, the loop goes on from what is on record,
// to the same end, and no answer that is on record is asked for again.
func TestResume(t *testing.T) {
	t.Parallel()
	broken := errors.New("no space")
	for n := range 20 {
		db, runs := fresh(t, sqlite.Column), 0
		task := ralph.Task{ID: "T1", Dir: t.TempDir(), Prompt: "Do it."}
		loop := &ralph.Local{Runner: claims(3, &runs), Verifier: verify.String{}, Log: progresstest.FailAfter(db, n, broken), Pending: db.Pending}
		s, err := loop.Run(t.Context(), ralph.Start(task))
		if err == nil {
			if n < 10 {
				t.Fatalf("%d events are enough", n)
			}
			return
		}
		if !errors.Is(err, broken) {
			t.Fatal(err)
		}
		loop.Log = db
		if s, err = db.State(t.Context(), "T1"); err != nil {
			if n == 0 {
				continue // it has not begun
			}
			t.Fatal(err)
		}
		answers := count(t, db, ralph.EventAnswered)
		if runs = 0; s.Done() {
			t.Errorf("%d: it is over without its end on record", n)
		}
		s, err = loop.Run(t.Context(), s)
		if err != nil || s.Stop != ralph.StopVerified || s.Iteration != 3 || runs > 3-answers {
			t.Errorf("%d: %s in iteration %d, %v; %d runs after %d answers", n, s.Stop, s.Iteration, err, runs, answers)
		}
		if again, err := db.State(t.Context(), "T1"); err != nil || again.Stop != ralph.StopVerified {
			t.Errorf("%d: on record is %s, %v", n, again.Stop, err)
		}
	}
	t.Error("it never ends")
}

func count(t *testing.T, db *sqlite.DB, kind ralph.EventKind) (n int) {
	t.Helper()
	for rec, err := range db.Records(t.Context(), "T1") {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Kind == kind {
			n++
		}
	}
	return n
}

// TestRecord: what is on record is what other programs ask for, in SQL.
func TestRecord(t *testing.T) {
	t.Parallel()
	db, runs := fresh(t, sqlite.Column), 0
	for _, id := range []string{"T1", "T2"} {
		loop := &ralph.Local{Runner: claims(2, &runs), Verifier: verify.String{}, Log: progress.Redactor{Secrets: []string{"hunter22"}}.Log(db)}
		task := ralph.Task{ID: id, Agent: "coder", Dir: t.TempDir(), Prompt: "Do it.", Promise: "COMPLETE", Limits: ralph.Limits{Iterations: 4}}
		for range 2 { // the second takes the place of the first
			if _, err := loop.Run(t.Context(), ralph.Start(task)); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []string{"T1 coder 1/4 0 1", "T1 coder 2/4 1 0", "T1 coder 1/4 0 1", "T1 coder 2/4 1 0"}
	if d := cmp.Diff(want, query(t, db.Path(), "SELECT task_id || ' ' || stage || ' ' || ralph_iteration || '/' || ralph_max || ' ' || promise_found || ' ' || continuing FROM ralph_execution_log WHERE task_id = 'T1'")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"T1.coder 2 verified", "T2.coder 2 verified"}, query(t, db.Path(), "SELECT name || ' ' || iteration || ' ' || stop FROM ralph_loops ORDER BY name")); d != "" {
		t.Error(d)
	}
	loops, err := db.Loops(t.Context(), "T1")
	if err != nil || len(loops) != 1 || loops["T1.coder"].Stop != ralph.StopVerified {
		t.Errorf("%v %v", loops, err)
	}
	standings, err := db.Standings(t.Context())
	if err != nil || len(standings) != 2 || standings[0] != (sqlite.Standing{Loop: "T2.coder", Task: "T2", Agent: "coder", Iteration: 2, Stop: ralph.StopVerified}) {
		t.Errorf("%v %v", standings, err)
	}
	if _, err := db.State(t.Context(), "T9"); err == nil {
		t.Error("there is a loop that nobody has run")
	}
}

// TestLongRecord: it is read in its order, and each event once.
func TestLongRecord(t *testing.T) {
	t.Parallel()
	db := fresh(t, sqlite.Column)
	for i := range 300 {
		if err := db.Append(t.Context(), ralph.Event{Kind: ralph.EventGuided, Loop: fmt.Sprint("L", i%2), Task: fmt.Sprint("T", i%2), Text: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for rec, err := range db.Records(t.Context(), "") {
		if err != nil || rec.Event.Text != fmt.Sprint(n) || rec.Line != int64(n+1) {
			t.Fatalf("%d: %v line %d %v", n, rec.Event.Text, rec.Line, err)
		}
		n++
	}
	odd := 0
	for rec, err := range db.Records(t.Context(), "T1") {
		if odd++; err != nil || rec.TaskID != "T1" {
			t.Fatal(rec, err)
		}
	}
	if n != 300 || odd != 150 {
		t.Error(n, odd)
	}
	for range db.Records(t.Context(), "") {
		break // and the database is free again
	}
	if err := db.Append(t.Context(), ralph.Event{Kind: ralph.EventGuided}); err != nil {
		t.Error(err)
	}
}

// TestStore holds all stores to what [ralph.Store] says: the database, and those of the
// library.
func TestStore(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) ralph.Store{
		"MemoryStore": func(*testing.T) ralph.Store { return &ralph.MemoryStore{} },
		"Dir":         func(t *testing.T) ralph.Store { return &progress.Dir{Path: filepath.Join(t.TempDir(), "state")} },
		"DB":          func(t *testing.T) ralph.Store { return fresh(t, sqlite.Tables) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testStore(t, open(t))
		})
	}
}

func testStore(t *testing.T, store ralph.Store) {
	state := func(prompt string) ralph.HookState {
		s := ralph.Start(ralph.Task{ID: "T1", Prompt: prompt})
		s.Loop = "s"
		return ralph.HookState{Session: "s", State: s, Asked: time.Date(2026, 1, 31, 12, 0, 0, 7, time.UTC), Seen: 3}
	}
	update := func(want ralph.HookState, to ralph.HookState) {
		t.Helper()
		err := store.Update(t.Context(), "s", func(is ralph.HookState) (ralph.HookState, error) {
			if d := cmp.Diff(want, is); d != "" {
				t.Errorf("it is given (-want +got):\n%s", d)
			}
			return to, nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	holds := func(want ...ralph.HookState) {
		t.Helper()
		var all []ralph.HookState
		for x, err := range store.All(t.Context()) {
			if err != nil {
				t.Error(err)
			}
			all = append(all, x)
		}
		if d := cmp.Diff(want, all); d != "" {
			t.Errorf("it holds (-want +got):\n%s", d)
		}
	}
	one, nobody := state("It's one; \"quoted\"\n?1"), ralph.HookState{}
	holds()
	update(nobody, nobody) // leaves nothing
	holds()
	update(nobody, one)
	holds(one)
	cause := errors.New("no")
	if err := store.Update(t.Context(), "s", func(x ralph.HookState) (ralph.HookState, error) { x.Seen = 9; return x, cause }); err != cause {
		t.Errorf("the error is %v", err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = store.Update(t.Context(), "s", func(ralph.HookState) (ralph.HookState, error) { panic("change") })
	}()
	holds(one)
	two := one
	two.State.Iteration, two.Busy = 2, "me"
	update(one, two)
	update(two, nobody)
	holds()
	if err := store.Update(t.Context(), "", func(x ralph.HookState) (ralph.HookState, error) { return one, nil }); !errors.Is(err, ralph.ErrNoSession) {
		t.Errorf("without a session: %v", err)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := store.Update(ended, "s", func(ralph.HookState) (ralph.HookState, error) { return one, nil }); !errors.Is(err, cause) {
		t.Errorf("with a context that is done: %v", err)
	}
	update(nobody, one)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 10 {
				if err := store.Update(t.Context(), "s", func(x ralph.HookState) (ralph.HookState, error) { x.Seen++; return x, nil }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	one.Seen += 80
	holds(one)
	for range store.All(t.Context()) { // and it may be used meanwhile
		update(one, one)
	}
}

// TestStoreThatCannotBeRead: one state that nobody can read does not hide the others.
func TestStoreThatCannotBeRead(t *testing.T) {
	t.Parallel()
	db := fresh(t, sqlite.Column)
	query(t, db.Path(), `INSERT INTO ralph_sessions VALUES ('a', '{'), ('b', '{"session": "c"}'), ('c', '{"session": "c"} {}'), ('z', '{"session": "z"}')`)
	var found []string
	for x, err := range db.All(t.Context()) {
		if err != nil {
			x.Session = "error"
			if !strings.Contains(err.Error(), db.Path()) || !strings.Contains(err.Error(), "its state cannot be read") {
				t.Error(err)
			}
		}
		found = append(found, x.Session)
	}
	if d := cmp.Diff([]string{"error", "error", "error", "z"}, found); d != "" {
		t.Error(d)
	}
}

// TestHook runs a session's loop on the database, over two processes as far as the hook can
// tell.
func TestHook(t *testing.T) {
	t.Parallel()
	db := fresh(t, sqlite.Column)
	var messages []ralph.Message
	hook := func(db *sqlite.DB) *ralph.Hook {
		return &ralph.Hook{
			Store: db, Verifier: verify.String{}, Log: db, Delay: -1,
			Messages: func(context.Context, string) ([]ralph.Message, error) { return messages, nil },
			Inject: func(_ context.Context, _, prompt string) error {
				messages = append(messages, ralph.Message{Role: "user", Content: prompt})
				return nil
			},
		}
	}
	x, err := hook(db).Start(t.Context(), "chat", ralph.Task{ID: "T1", Prompt: "Do it."})
	if err != nil {
		t.Fatal(err)
	}
	messages = append(messages, ralph.Message{Role: "user", Content: x.State.Task.Prompt})
	for _, answer := range []string{"More.", "All is done.\n<promise>DONE</promise>"} {
		messages = append(messages, ralph.Message{Role: "assistant", Content: answer})
		if _, err := hook(opened(t, db.Path())).Idle(t.Context(), ralph.Turn{Session: "chat"}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := db.Standings(t.Context())
	if err != nil || len(all) != 1 || all[0].Stop != ralph.StopVerified || all[0].Iteration != 2 {
		t.Errorf("%v %v", all, err)
	}
	if x, err := hook(db).State(t.Context(), "chat"); err != nil || x.Active() {
		t.Errorf("%v %v", x, err)
	}
}
