package sqlite_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/sqlite"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/progress/progresstest"
	"github.com/ralph-loop/ralph/tasks"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// three tasks: the second waits for the first.
func three() []spec.Definition {
	external := func(name string) *spec.Completion {
		return &spec.Completion{Outcome: "The file is there.", Acceptance: []string{"it is there"}, Agents: []spec.AgentCriteria{
			{Agent: "coder", Criteria: spec.Criteria{Promise: "CODED", Method: "external", Config: json.RawMessage(`{"command": "test -f ` + name + `"}`)}},
		}}
	}
	return []spec.Definition{
		{ID: "A", Title: "One", Completion: external("A")},
		{ID: "B", Title: "Two", Dependencies: []string{"A"}, Completion: external("B")},
		{ID: "C", Title: "Three", Priority: 1, Completion: external("C")},
	}
}

// read opens a source as a run of its own does.
func read(t *testing.T, db *sqlite.DB) *sqlite.Source {
	t.Helper()
	s := &sqlite.Source{DB: db}
	if _, err := s.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func takes(t *testing.T, s *sqlite.Source, id string, want bool) {
	t.Helper()
	if mine, err := s.Take(t.Context(), id); mine != want || err != nil {
		t.Errorf("Take(%s): %v %v, want %v", id, mine, err, want)
	}
}

func writes(t *testing.T, s *sqlite.Source, id string, to spec.Status, want string) {
	t.Helper()
	err := s.Write(t.Context(), id, pipeline.Update{Status: to})
	if altered, ok := errors.AsType[*pipeline.AlteredError](err); ok && altered.What == want && altered.ID == id || err == nil && want == "" {
		return
	}
	t.Errorf("Write(%s, %s): %v, want %q", id, to, err, want)
}

// TestTake: of two runs one has a task, until it gives it back.
func TestTake(t *testing.T) {
	t.Parallel()
	db := fresh(t, sqlite.Tables, three()...)
	one, two := read(t, db), read(t, opened(t, db.Path()))
	takes(t, one, "A", true)
	takes(t, one, "A", true)
	takes(t, two, "A", false)
	takes(t, two, "C", true)
	takes(t, one, "C", false)
	takes(t, one, "Z", false)
	writes(t, two, "A", spec.StatusDone, "taken")
	writes(t, one, "A", spec.StatusRunning, "")
	writes(t, one, "A", spec.StatusTodo, "") // another may have it now
	takes(t, two, "A", true)
	writes(t, one, "A", spec.StatusDone, "taken")
	writes(t, two, "A", spec.StatusDone, "")
	writes(t, two, "A", spec.StatusDone, "") // once more
	takes(t, read(t, db), "A", false)
	takes(t, one, "B", true)
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	takes(t, two, "B", true) // it was read as open, and is left running
	if d := cmp.Diff(map[string]spec.Status{"A": "done", "B": "running", "C": "running"}, statuses(t, db)); d != "" {
		t.Error(d)
	}
}

// TestUpdate: what a run writes of a task is in the database, and nothing else changes.
func TestUpdate(t *testing.T) {
	t.Parallel()
	want := three()
	want[0].Metadata = map[string]json.RawMessage{"owner": json.RawMessage(`"me"`)}
	db := fresh(t, sqlite.Tables, want...)
	s := read(t, db)
	takes(t, s, "A", true)
	for _, u := range []pipeline.Update{
		{Status: spec.StatusRunning, Iteration: 2, Running: &pipeline.Running{Stage: "coder", Iteration: 2}},
		{Status: spec.StatusFailed, Iteration: 3, Failure: &pipeline.Failure{Stage: "coder", IterationsUsed: 3, LastOutput: "It's \"no\" good", Reason: "no"}},
	} {
		if err := s.Write(t.Context(), "A", u); err != nil {
			t.Fatal(err)
		}
		want[0] = u.Apply(want[0])
		got := all(t, db)
		want[0].UpdatedAt = got[0].UpdatedAt // when it was taken
		equal(t, string(u.Status), want, got)
	}
}

// TestAltered: what somebody else has changed is left as it is, and named.
func TestAltered(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, statement, want string }{
		{"text", "UPDATE tasks SET title = 'Another' WHERE id = 'A'", "changed (title)"},
		{"criteria", `UPDATE task_agent_criteria SET verification_config = '{"command": "true"}' WHERE task_id = 'A'`, "changed (completion.coder)"},
		{"status", "UPDATE tasks SET status = 'skipped' WHERE id = 'A'", "set to skipped"},
		{"removed", "DELETE FROM tasks WHERE id = 'A'", "removed"},
		{"owner", "UPDATE tasks SET ralph_owner = 'another' WHERE id = 'A'", "taken"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db := fresh(t, sqlite.Tables, three()...)
			s, late := read(t, db), read(t, db)
			takes(t, s, "A", true)
			query(t, db.Path(), tt.statement)
			query(t, db.Path(), "INSERT INTO tasks (id, title) VALUES ('N', 'New')")
			before := all(t, db)
			altered, added, err := s.Changes(t.Context())
			if tt.want != "taken" && altered["A"] != tt.want || err != nil || len(added) != 1 || added[0].ID != "N" {
				t.Errorf("%v %v %v", altered, added, err)
			}
			writes(t, s, "A", spec.StatusDone, tt.want)
			equal(t, "it was written", before, all(t, db))
			s.Close()
			takes(t, late, "A", tt.want == "taken") // what was read before is another task
		})
	}
	t.Run("lost", func(t *testing.T) {
		db := fresh(t, sqlite.Column, three()...)
		s := read(t, db)
		takes(t, s, "A", true)
		query(t, db.Path(), "UPDATE tasks SET completion_spec = '{' WHERE id = 'A'")
		_, _, err := s.Changes(t.Context())
		for _, err := range []error{err, s.Write(t.Context(), "A", pipeline.Update{Status: spec.StatusDone})} {
			if _, lost := errors.AsType[*pipeline.LostError](err); !lost || !strings.Contains(err.Error(), `task "A": column completion_spec`) {
				t.Error(err)
			}
		}
	})
}

// maker is an agent that makes the file of its task, at its second iteration.
func makerOf(dir string, runs *[]string) ralph.Runner {
	return ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
		*runs = append(*runs, req.Task)
		if req.Iteration > 1 {
			if err := os.WriteFile(filepath.Join(dir, req.Task), nil, 0o600); err != nil {
				return ralph.Response{}, err
			}
		}
		return ralph.Response{Output: "I have committed it.\n<promise>CODED</promise>"}, nil
	})
}

// TestPipeline runs all tasks from the database, and what came of them is in it.
func TestPipeline(t *testing.T) {
	t.Parallel()
	for _, l := range []sqlite.Layout{sqlite.Column, sqlite.Tables} {
		db, dir, runs := fresh(t, l, three()...), t.TempDir(), []string(nil)
		s := &sqlite.Source{DB: db}
		p := pipeline.Pipeline{
			Source: s, Dir: dir, Log: db, Stages: []string{"coder"}, Record: &progress.Dir{Path: t.TempDir()},
			Runner: func(pipeline.Place) (ralph.Runner, error) { return makerOf(dir, &runs), nil },
		}
		final, err := p.Run(t.Context())
		if err != nil || !final.Done() {
			t.Errorf("%s %v", final.Detail, err)
		}
		if d := cmp.Diff(map[string]spec.Status{"A": "done", "B": "done", "C": "done"}, statuses(t, db)); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]string{"C", "C", "A", "A", "B", "B"}, runs); d != "" {
			t.Error(d)
		}
		want := []string{"A 1 verified=0", "A 2 verified=1"}
		if d := cmp.Diff(want, query(t, db.Path(), "SELECT task || ' ' || (record ->> 'ralph_iteration') || ' verified=' || (record ->> 'verified') FROM ralph_log WHERE kind = 'iteration_ended' AND task = 'A' ORDER BY seq")); d != "" {
			t.Error(d)
		}
	}
}

// TestInvalid: a task that cannot be run is told before anything is.
func TestInvalid(t *testing.T) {
	t.Parallel()
	db := fresh(t, sqlite.Column)
	query(t, db.Path(), `INSERT INTO tasks (id, title, completion_spec) VALUES ('X', 'x', '{"outcome": "o", "acceptance_criteria": ["a"], "coder": {"verification_method": "extrenal"}}')`)
	if _, err := (&sqlite.Source{DB: db}).Read(t.Context()); err == nil || !strings.Contains(err.Error(), "extrenal") || !strings.Contains(err.Error(), `task "X"`) {
		t.Error(err)
	}
}

// ticker is an agent of a session: it makes the file of its task at the second iteration, and
// ticks it at the first already.
func ticker(dir, list string, runs *[]string) ralph.Runner {
	return ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
		*runs = append(*runs, req.Task)
		f, err := os.OpenFile(list, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString("- [x] " + req.Task + "\n")
			f.Close()
		}
		if err == nil && req.Iteration > 1 {
			err = os.WriteFile(filepath.Join(dir, req.Task), nil, 0o600)
		}
		if !strings.Contains(req.Prompt, "`- [x] "+req.Task+"` to "+list) {
			return ralph.Response{}, errors.New("it is not told how to tick")
		}
		return ralph.Response{Output: "It is ticked."}, err
	})
}

// made verifies that the file of a task is there.
var made = ralph.VerifierFunc(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
	if _, err := os.Stat(filepath.Join(c.Task.Dir, c.Task.ID)); err != nil {
		return ralph.Reject("the file is not there"), nil
	}
	return ralph.Pass(), nil
})

// session is one on the database, and its items.
func session(t *testing.T, db *sqlite.DB, dir string, runs *[]string) (*tasks.Session, *sqlite.Items) {
	t.Helper()
	list := filepath.Join(dir, "done.md")
	items := &sqlite.Items{Source: &sqlite.Source{DB: db}, List: list}
	if _, err := items.Take(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	begun, err := db.Loops(t.Context(), "s/")
	if err != nil {
		t.Fatal(err)
	}
	return &tasks.Session{
		Name: "s", Source: items, Log: items, Dir: dir, Runner: ticker(dir, list, runs), Verifier: made,
		Pending: items.Pending(), Begun: begun, Answered: db.Pending,
	}, items
}

// TestSession works the tasks off by a session. A box that is ticked is a claim, and the task
// is done when it was verified; whatever event cannot be recorded, another session goes on,
// and then all is done, in the database too.
func TestSession(t *testing.T) {
	t.Parallel()
	done := map[string]spec.Status{"A": "done", "B": "done", "C": "done"}
	broken := errors.New("no space")
	for _, n := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 15, 1000} {
		db, dir, runs := fresh(t, sqlite.Column, three()...), t.TempDir(), []string(nil)
		s, items := session(t, db, dir, &runs)
		s.Log = progresstest.FailAfter(items, n, broken)
		_, err := s.Run(t.Context())
		if closed := items.Close(); closed != nil {
			t.Error(closed)
		}
		if err == nil {
			if d := cmp.Diff([]string{"C", "C", "A", "A", "B", "B"}, runs); d != "" {
				t.Error(d)
			}
		} else if !errors.Is(err, broken) {
			t.Fatal(n, err)
		} else {
			s, items := session(t, db, dir, &runs)
			if _, err := s.Run(t.Context()); err != nil {
				t.Error(n, err)
			}
			items.Close()
		}
		if d := cmp.Diff(done, statuses(t, db)); d != "" || len(runs) > 7 {
			t.Errorf("%d: after %v:\n%s", n, runs, d)
		}
	}
}

// TestSessionGivesUp: a task that was given up is open again, and says why.
func TestSessionGivesUp(t *testing.T) {
	t.Parallel()
	db, dir, runs := fresh(t, sqlite.Column, three()[2:]...), t.TempDir(), []string(nil)
	s, items := session(t, db, dir, &runs)
	s.Verifier = ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) { return ralph.Reject("never"), nil })
	if _, err := s.Run(t.Context()); err == nil {
		t.Error("no error")
	}
	items.Close()
	d := all(t, db)[0]
	var why pipeline.Failure
	if err := json.Unmarshal(d.Metadata["ralph_failure"], &why); err != nil || why.IterationsUsed != 3 || why.Reason == "" || d.Status != spec.StatusTodo || len(runs) != 3 {
		t.Errorf("%v %+v %v", err, why, d.Status)
	}
	if n, err := items.Take(t.Context(), 0); n != 1 || err != nil {
		t.Error(n, err)
	}
	items.Close()
}

// TestItemsTaken: sessions share the tasks of a database, and none takes what waits for
// another's.
func TestItemsTaken(t *testing.T) {
	t.Parallel()
	defs := append(three(), spec.Definition{ID: "D", Title: "Four", Dependencies: []string{"nobody"}}, spec.Definition{ID: "E", Title: "Five", Status: "done"})
	db := fresh(t, sqlite.Column, defs...)
	keys := func(most int) (is []string, items *sqlite.Items) {
		items = &sqlite.Items{Source: &sqlite.Source{DB: db}, List: filepath.Join(t.TempDir(), "done.md")}
		t.Cleanup(func() { items.Close() })
		if _, err := items.Take(t.Context(), most); err != nil {
			t.Fatal(err)
		}
		list, err := items.Items(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range list {
			is = append(is, it.Key)
		}
		return is, items
	}
	is, first := keys(2)
	if d := cmp.Diff([]string{"C", "A", "E"}, is); d != "" {
		t.Error(d)
	}
	if is, _ = keys(0); !slices.Equal(is, []string{"E"}) {
		t.Error(is)
	}
	query(t, db.Path(), "UPDATE tasks SET title = 'Another' WHERE id = 'A'")
	if list, err := first.Items(t.Context()); err != nil || len(list) != 2 || list[0].Key != "C" {
		t.Error(list, err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if is, _ = keys(0); !slices.Equal(is, []string{"C", "A", "B", "E"}) {
		t.Error(is)
	}
	if d := cmp.Diff(map[string]spec.Status{"A": "running", "B": "running", "C": "running", "D": "", "E": "done"}, statuses(t, db)); d != "" {
		t.Error(d)
	}
}

// TestTicks: an agent ticks by adding a line, whatever the task's ID looks like.
func TestTicks(t *testing.T) {
	t.Parallel()
	ids := []string{"T001", "007", "TASK-12", "two words", "feature/login", "1.2.3", "#7", "a_b", "Ünï", "V2-api (beta)"}
	for _, id := range ids {
		db := fresh(t, sqlite.Column, spec.Definition{ID: id, Title: "One"})
		items := &sqlite.Items{Source: &sqlite.Source{DB: db}, List: filepath.Join(t.TempDir(), "done.md")}
		if _, err := items.Take(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			text string
			want bool
		}{{"- [ ] " + id + "\n", false}, {"- [x] another\n", false}, {"- [ ] another\n- [x] " + id + "\n", true}} {
			if err := os.WriteFile(items.List, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			list, err := items.Items(t.Context())
			if err != nil || len(list) != 1 || list[0].Done != tt.want {
				t.Errorf("%q: %+v %v", tt.text, list, err)
			}
		}
		items.Close()
	}
}
