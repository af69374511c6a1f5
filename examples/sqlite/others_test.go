package sqlite_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/examples/sqlite"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// theirs is the table tasks of another program, with one task.
const theirs = `CREATE TABLE tasks (id TEXT PRIMARY KEY, spec_id TEXT NOT NULL, title TEXT NOT NULL, status TEXT NOT NULL);
INSERT INTO tasks VALUES ('A', 'auth', 'One', 'todo');`

// normalised are tables of completions as other programs have them.
const normalised = `CREATE TABLE task_completion_specs (id INTEGER PRIMARY KEY AUTOINCREMENT, task_id TEXT NOT NULL UNIQUE, outcome TEXT NOT NULL, acceptance_criteria TEXT NOT NULL,
	created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, FOREIGN KEY (task_id) REFERENCES tasks(id) ON DELETE CASCADE);
CREATE TABLE task_agent_criteria (id INTEGER PRIMARY KEY AUTOINCREMENT, task_id TEXT NOT NULL, agent_type TEXT NOT NULL, promise TEXT NOT NULL, description TEXT NOT NULL,
	verification_method TEXT NOT NULL, verification_config TEXT, max_iterations INTEGER, FOREIGN KEY (task_id) REFERENCES tasks(id) ON DELETE CASCADE, UNIQUE (task_id, agent_type));
INSERT INTO task_completion_specs (task_id, outcome, acceptance_criteria) VALUES ('A', 'It works.', '["it does"]');
INSERT INTO task_agent_criteria (task_id, agent_type, promise, description, verification_method, verification_config) VALUES
	('A', 'tester', 'TESTED', 'It is tested.', 'external', '{"command":"true"}'), ('A', 'coder', 'CODED', 'It builds.', 'external', '{"command":"false"}');`

// other is a database of another program.
func other(t *testing.T, statements string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "theirs.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	query(t, path, statements)
	return path
}

// TestAdopted: what a database says already of what done means is kept, wherever it stands.
func TestAdopted(t *testing.T) {
	t.Parallel()
	path := other(t, theirs+normalised+"PRAGMA user_version = 7")
	external := func(agent, promise, description, command string) spec.AgentCriteria {
		return spec.AgentCriteria{Agent: agent, Criteria: spec.Criteria{Promise: promise, Description: description, Method: "external", Config: json.RawMessage(`{"command":"` + command + `"}`)}}
	}
	want := []spec.Definition{{ID: "A", SpecID: "auth", Title: "One", Status: "todo", Completion: &spec.Completion{Outcome: "It works.", Acceptance: []string{"it does"}, Agents: []spec.AgentCriteria{
		external("tester", "TESTED", "It is tested.", "true"), external("coder", "CODED", "It builds.", "false"),
	}}}}
	for _, to := range []sqlite.Layout{0, 0, sqlite.Column, 0, sqlite.Tables} {
		if err := sqlite.Migrate(t.Context(), path, to); err != nil {
			t.Fatal(err)
		}
		equal(t, to.String(), want, all(t, opened(t, path)))
	}
	if err := sqlite.Migrate(t.Context(), path, sqlite.Column); err != nil {
		t.Fatal(err)
	}
	query(t, path, `INSERT INTO tasks (id, spec_id, title, status, completion_spec) VALUES ('B', '', 'Two', '', '{"outcome": "o"}')`)
	if err := sqlite.Migrate(t.Context(), path, sqlite.Tables); err != nil {
		t.Fatal(err)
	}
	for statement, want := range map[string][]string{
		"PRAGMA user_version": {"7"}, // another program's
		"SELECT max_iterations IS NULL FROM task_agent_criteria":                    {"1", "1"},
		"SELECT acceptance_criteria FROM task_completion_specs WHERE task_id = 'B'": {"null"},
	} {
		if d := cmp.Diff(want, query(t, path, statement)); d != "" {
			t.Errorf("%s: %s", statement, d)
		}
	}
}

// TestUnfit: a database that cannot be used is refused with the reason, and is as it was.
func TestUnfit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, statements, want string }{
		{"in two places", theirs + normalised + "ALTER TABLE tasks ADD COLUMN completion_spec TEXT", "several places"},
		{"half of the tables", theirs + normalised + "DROP TABLE task_agent_criteria", "half of one: task_completion_specs"},
		{"not unique", "CREATE TABLE tasks (id TEXT, title TEXT); INSERT INTO tasks (id) VALUES ('A'), ('A')", "neither PRIMARY KEY nor UNIQUE"},
		{"partly unique", "CREATE TABLE tasks (id TEXT, title TEXT); CREATE UNIQUE INDEX u ON tasks(id) WHERE title <> ''", "neither PRIMARY KEY nor UNIQUE"},
		{"with another column", "CREATE TABLE tasks (list TEXT, id TEXT, PRIMARY KEY (list, id))", "neither PRIMARY KEY nor UNIQUE"},
		{"no id", theirs + "INSERT INTO tasks VALUES (NULL, '', '', '')", "rows without an id"},
		{"no column id", "CREATE TABLE tasks (number INTEGER PRIMARY KEY)", "has no column id"},
		{"a view", "CREATE TABLE t (id TEXT PRIMARY KEY); CREATE VIEW tasks AS SELECT * FROM t", "its tasks is no table"},
		{"a view on the column", theirs + "ALTER TABLE tasks ADD COLUMN completion_spec TEXT; CREATE VIEW v AS SELECT completion_spec FROM tasks", "a view or trigger may refer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := other(t, tt.statements)
			schema := query(t, path, "SELECT sql FROM sqlite_schema")
			if err := sqlite.Migrate(t.Context(), path, sqlite.Tables); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if d := cmp.Diff(schema, query(t, path, "SELECT sql FROM sqlite_schema")); d != "" {
				t.Errorf("it was changed:\n%s", d)
			}
		})
	}
	for _, unique := range []string{"id TEXT UNIQUE NOT NULL", "ID INTEGER PRIMARY KEY"} {
		path := other(t, "CREATE TABLE tasks ("+unique+", title TEXT NOT NULL); INSERT INTO tasks VALUES (7, 'One')")
		if err := sqlite.Migrate(t.Context(), path, sqlite.Tables); err != nil {
			t.Error(err)
			continue
		}
		equal(t, unique, []spec.Definition{{ID: "7", Title: "One"}}, all(t, opened(t, path)))
	}
}

// TestBadRow: a row that cannot be read is named, and does not hide the others.
func TestBadRow(t *testing.T) {
	t.Parallel()
	for _, l := range []sqlite.Layout{sqlite.Column, sqlite.Tables} {
		db := fresh(t, l, three()...)
		query(t, db.Path(), "UPDATE tasks SET metadata = '{' WHERE id = 'B'")
		defs, err := db.Definitions(t.Context())
		if err == nil || !strings.Contains(err.Error(), `task "B": column metadata`) {
			t.Error(err)
		}
		equal(t, "the others", []spec.Definition{three()[0], three()[2]}, defs)
	}
}
