package sqlite_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/examples/sqlite"
	"github.com/ralph-loop/ralph/tasks/spec"
)

type fileURL struct{ path string }

func (f fileURL) String() string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(f.path)}).String() + "?_pragma=busy_timeout(60000)&_pragma=foreign_keys(1)"
}

func lines(t *testing.T, defs []spec.Definition) (all []string) {
	t.Helper()
	for _, d := range defs {
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	return all
}

// A maker makes definitions of all kinds.
type maker struct{ *rand.Rand }

// texts are what breaks statements, JSON, terminals, and types.
var texts = []string{"", "x", "007", "1e3", "null", "[]", "Robert'); DROP TABLE tasks;--", `"`, "'", "?1", "; --", "日本語 ✓", "two\nlines", "\\u0000", "a\tb", "%s", "<b>&", strings.Repeat("long ", 3000)}

func (m maker) text() string { return texts[m.IntN(len(texts))] }

func (m maker) list() []string {
	switch m.IntN(4) {
	case 0:
		return nil
	case 1:
		return []string{}
	}
	return []string{"x" + m.text(), "y"}
}

func (m maker) json() json.RawMessage {
	return json.RawMessage([]string{`{}`, `{"command":"go test ./...","expected_exit_code":0}`, `{"command":"it's"}`}[m.IntN(3)])
}

func (m maker) completion() *spec.Completion {
	switch m.IntN(5) {
	case 0:
		return nil
	case 1:
		return &spec.Completion{}
	}
	c := &spec.Completion{Outcome: m.text(), Acceptance: m.list()}
	for _, agent := range []string{"tester", "zoe", "coder", "an agent"} { // in no usual order
		if m.IntN(2) == 0 {
			continue
		}
		one := spec.Criteria{MaxIterations: m.IntN(3)}
		if m.IntN(3) > 0 {
			one.Promise, one.Description, one.Blocked, one.Guard = m.text(), m.text(), m.text(), m.list()
			one.Method = []string{"", "external", "string_match"}[m.IntN(3)]
		}
		if one.Method == "external" {
			one.Config = m.json()
		}
		c.Agents = append(c.Agents, spec.AgentCriteria{Agent: agent, Criteria: one})
	}
	return c
}

func (m maker) definition(id string) spec.Definition {
	d := spec.Definition{
		ID: id, SpecID: m.text(), Title: "t" + m.text(), Description: m.text(), Status: spec.Status(m.text()),
		Priority: m.IntN(5) - 2, Dependencies: m.list(), Assignee: m.text(), Iteration: m.IntN(3), Completion: m.completion(),
	}
	if m.IntN(2) == 0 {
		d.CreatedAt = time.Date(2026, 1, 31, 12, 0, 0, m.IntN(1e9), time.UTC)
		d.UpdatedAt = d.CreatedAt.Add(time.Hour)
		d.Metadata = map[string]json.RawMessage{"n": json.RawMessage(`1.50`), "big": json.RawMessage(`123456789012345678901234567890`), m.text() + "k": json.RawMessage(`{"a":[null,true,"x"]}`)}
	}
	return d
}

// definition is one as a file would give it back: what its JSON cannot tell is not there.
func (m maker) valid(t *testing.T, id string) spec.Definition {
	t.Helper()
	for {
		d := m.definition(id)
		text, err := json.Marshal(d)
		var back spec.Definition
		if err == nil && json.Unmarshal(text, &back) == nil && back.Validate(nil) == nil {
			return back
		}
	}
}

// TestMigrateBothWays: what definitions say is the same in both layouts and after each
// migration, whatever it is.
func TestMigrateBothWays(t *testing.T) {
	t.Parallel()
	for _, first := range []sqlite.Layout{sqlite.Column, sqlite.Tables} {
		t.Run(first.String(), func(t *testing.T) {
			t.Parallel()
			m := maker{rand.New(rand.NewPCG(22, uint64(first)))}
			var want []spec.Definition
			for i := range 100 {
				want = append(want, m.valid(t, fmt.Sprintf("%d%s", i, m.text())))
			}
			db := fresh(t, first, want...)
			equal(t, "as added", want, all(t, db))
			for i := range 4 {
				to := []sqlite.Layout{sqlite.Column, sqlite.Tables}[(int(first)+i)%2]
				if err := sqlite.Migrate(t.Context(), db.Path(), to); err != nil {
					t.Fatal(err)
				}
				equal(t, "as "+to.String(), want, all(t, db)) // by a process that has it open
			}
		})
	}
}

// TestLayouts: both are what other programs ask for by name.
func TestLayouts(t *testing.T) {
	t.Parallel()
	d := spec.Definition{ID: "T1", Title: "One", Completion: &spec.Completion{Outcome: "It works.", Acceptance: []string{"a", "b"}, Agents: []spec.AgentCriteria{
		{Agent: "coder", Criteria: spec.Criteria{Promise: "CODED", Description: "It builds.", Method: "external", Config: json.RawMessage(`{"command":"go build ./..."}`), MaxIterations: 4}},
	}}}
	db := fresh(t, sqlite.Column, d)
	ask := func(statement string, want ...string) {
		t.Helper()
		if d := cmp.Diff(want, query(t, db.Path(), statement)); d != "" {
			t.Errorf("%s (-want +got):\n%s", statement, d)
		}
	}
	ask("SELECT completion_spec ->> '$.coder.verification_config.command' FROM tasks", "go build ./...")
	if err := sqlite.Migrate(t.Context(), db.Path(), sqlite.Tables); err != nil {
		t.Fatal(err)
	}
	ask("SELECT outcome || acceptance_criteria FROM task_completion_specs", `It works.["a","b"]`)
	ask("SELECT task_id || agent_type || promise || description || verification_method || verification_config || max_iterations FROM task_agent_criteria",
		`T1coderCODEDIt builds.external{"command":"go build ./..."}4`)
	ask("SELECT name FROM pragma_table_info('tasks') WHERE name = 'completion_spec'")
	ask("DELETE FROM tasks RETURNING id", "T1")
	ask("SELECT version FROM ralph_schema", "2")
	ask("PRAGMA journal_mode", "wal")
}

// older is a database of another program, with tasks but without any completion.
const older = `CREATE TABLE tasks (id VARCHAR(20) PRIMARY KEY, spec_id TEXT, title TEXT NOT NULL, description TEXT, status TEXT DEFAULT 'todo', priority INTEGER,
	dependencies TEXT NOT NULL DEFAULT '[]', assignee TEXT, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at DATETIME, metadata TEXT NOT NULL DEFAULT '{}', points REAL);
CREATE TABLE sessions (id INTEGER PRIMARY KEY);
INSERT INTO tasks (id, title, status, created_at, points) VALUES ('A', 'One', 'in_progress', '2024-01-15 10:30:00', 1.5), ('B', 'Two', 'Completed', '2024-01-15T10:30:00.25', 2);
INSERT INTO tasks (id, title, dependencies, metadata) VALUES ('C', 'Three', '["A"]', '{"k": 1}');`

// TestMigrateOthers: a table that is there gets the column, and keeps all it has.
func TestMigrateOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "specflow.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	query(t, path, older)
	if _, err := sqlite.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), path+": it has no schema of this program: migrate it first") {
		t.Errorf("it was opened: %v", err)
	}
	if err := sqlite.Migrate(t.Context(), path, sqlite.Column); err != nil {
		t.Fatal(err)
	}
	db := opened(t, path)
	at := time.Date(2024, 1, 15, 10, 30, 0, 0, time.UTC)
	want := []spec.Definition{
		{ID: "A", Title: "One", Status: "in_progress", Dependencies: []string{}, CreatedAt: at, Metadata: map[string]json.RawMessage{}},
		{ID: "B", Title: "Two", Status: "Completed", Dependencies: []string{}, CreatedAt: at.Add(250 * time.Millisecond), Metadata: map[string]json.RawMessage{}},
	}
	equal(t, "as they were", want, all(t, db)[:2])
	for range 2 { // the second time nothing is to be done
		if err := sqlite.Migrate(t.Context(), path, sqlite.Tables); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "in tables", want, all(t, db)[:2])
	if d := cmp.Diff([]string{"1.5", "2", ""}, query(t, path, "SELECT points FROM tasks ORDER BY id")); d != "" {
		t.Error(d)
	}
	s := sqlite.Source{DB: db}
	if _, err := s.Read(t.Context()); err != nil {
		t.Error(err)
	}
	for id, want := range map[string]bool{"A": false, "B": false, "C": true} { // another program has A in progress
		if mine, err := s.Take(t.Context(), id); mine != want || err != nil {
			t.Errorf("%s is taken: %v %v", id, mine, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestRefused: nothing is changed in what cannot be understood, and it is said why.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, before, want string }{
		{"newer", "UPDATE ralph_schema SET version = 3", "its schema has version 3, and this program knows those up to 2: use a newer program"},
		{"older than any", "UPDATE ralph_schema SET version = -1", "its schema has version -1"},
		{"not JSON", "INSERT INTO tasks (id, title, completion_spec) VALUES ('X', 'x', '{')", `task "X": column completion_spec: it holds no JSON`},
		{"not a completion", `INSERT INTO tasks (id, title, completion_spec) VALUES ('X', 'x', '{"outcom": "y"}')`, "outcom"},
		{"another type", "INSERT INTO tasks (id, title, priority) VALUES ('X', 'x', 'high')", "column priority"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "tasks.db")
			if err := sqlite.Migrate(t.Context(), path, sqlite.Column); err != nil {
				t.Fatal(err)
			}
			query(t, path, tt.before)
			schema := query(t, path, "SELECT sql FROM sqlite_schema")
			err := sqlite.Migrate(t.Context(), path, sqlite.Tables)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if d := cmp.Diff(schema, query(t, path, "SELECT sql FROM sqlite_schema")); d != "" {
				t.Errorf("it was changed:\n%s", d)
			}
			db, err := sqlite.Open(t.Context(), path)
			if err == nil {
				_, err = db.Definitions(t.Context())
				db.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("read: %v, want %q", err, tt.want)
			}
		})
	}
	t.Run("no database", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "tasks.db")
		if _, err := sqlite.Open(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		if err := os.WriteFile(path, []byte("tasks:\n- id: A\n"+strings.Repeat("#", 1000)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := sqlite.Migrate(t.Context(), path, sqlite.Column); err == nil || !strings.Contains(err.Error(), "not a database") {
			t.Error(err)
		}
	})
}

// TestAdd adds all tasks or none.
func TestAdd(t *testing.T) {
	t.Parallel()
	db := fresh(t, sqlite.Tables, spec.Definition{ID: "A", Title: "One"})
	for _, bad := range []spec.Definition{{ID: "A", Title: "Another"}, {ID: "X"}, {Title: "No ID"}} {
		if err := db.Add(t.Context(), spec.Definition{ID: "B", Title: "Two"}, bad); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", bad.ID)) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	equal(t, "only the first", []spec.Definition{{ID: "A", Title: "One"}}, all(t, db))
	if info, err := os.Stat(db.Path()); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
}
