package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/tasks/spec"
)

// A Layout is where the completion of a task is kept: what done means, and how that is
// verified. Both hold the same, and [Migrate] turns one into the other. The number is the
// version of the schema, as SQLite's user_version.
type Layout int

const (
	none Layout = iota // no schema of ours
	// Column keeps it as JSON, in the column completion_spec of the table tasks: the
	// smallest change to a table that is there already.
	Column
	// Tables keeps it in tables of its own, task_completion_specs and
	// task_agent_criteria, for those who ask by agent or method.
	Tables
)

// known are the layouts by their names.
var known = map[Layout]string{Column: "column", Tables: "tables"}

// String is "column" or "tables"; the zero Layout is "none".
func (l Layout) String() string {
	if name, ok := known[l]; ok {
		return name
	}
	return "none"
}

// A column is one of a table, and the key of its value in the JSON form of what it is of.
type column struct {
	name, key string
	kind      kind
}

type kind int

const (
	text  kind = iota // '' = not given
	clock             // a time as text; NULL = not given
	whole             // 0 = not given
	raw               // JSON as text; NULL = not given
)

func (k kind) sql() string {
	return map[kind]string{text: "TEXT", clock: "TIMESTAMP", whole: "INTEGER", raw: "TEXT"}[k]
}

// The columns of a task, of its completion, and of an agent's criteria in it.
var (
	taskColumns = []column{
		{"id", "id", text}, {"spec_id", "spec_id", text}, {"title", "title", text}, {"description", "description", text},
		{"status", "status", text}, {"priority", "priority", whole}, {"dependencies", "dependencies", raw},
		{"assignee", "assignee", text}, {"created_at", "created_at", clock}, {"updated_at", "updated_at", clock},
		{"metadata", "metadata", raw}, {"iteration", "iteration", whole},
	}
	completionColumn  = column{"completion_spec", "completion", raw}
	completionColumns = []column{{"outcome", "outcome", text}, {"acceptance_criteria", "acceptance_criteria", raw}}
	criteriaColumns   = []column{
		{"promise", "promise", text}, {"description", "description", text}, {"verification_method", "verification_method", text},
		{"verification_config", "verification_config", raw}, {"max_iterations", "max_iterations", whole},
		{"blocked", "blocked", text}, {"guard", "guard", raw},
	}
)

// The tables that all layouts have beside tasks. What is recorded may be about tasks that
// were removed, so it refers to none.
const ours = `
CREATE TABLE ralph_loops (
	name TEXT PRIMARY KEY,
	task TEXT NOT NULL,
	agent TEXT NOT NULL,
	iteration INTEGER NOT NULL,
	stop TEXT NOT NULL,           -- '' = it goes on
	updated_at TIMESTAMP NOT NULL,
	state TEXT NOT NULL           -- JSON: ralph.State
);
CREATE TABLE ralph_log (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	loop TEXT NOT NULL,
	task TEXT NOT NULL,
	kind TEXT NOT NULL,
	record TEXT NOT NULL          -- JSON: progress.Record
);
CREATE INDEX ralph_log_loop ON ralph_log(loop, kind);
CREATE INDEX ralph_log_task ON ralph_log(task);
CREATE TABLE ralph_sessions (
	id TEXT PRIMARY KEY,
	state TEXT NOT NULL           -- JSON: ralph.HookState
);
CREATE VIEW ralph_execution_log AS SELECT
	record ->> 'task_id' AS task_id, record ->> 'stage' AS stage,
	record ->> 'ralph_iteration' AS ralph_iteration, record ->> 'ralph_max' AS ralph_max,
	record ->> 'promise_found' AS promise_found, record ->> 'continuing' AS continuing,
	record ->> 'duration_ms' AS duration_ms
FROM ralph_log WHERE kind = 'iteration_ended' ORDER BY seq;
`

// The tables of [Tables]. Position is the order of the agents, in which they work.
const normalised = `
CREATE TABLE task_completion_specs (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	task_id TEXT NOT NULL UNIQUE,
	outcome TEXT NOT NULL,
	acceptance_criteria TEXT,     -- JSON array; NULL = none are given
	created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
	FOREIGN KEY (task_id) REFERENCES tasks(id) ON DELETE CASCADE
);
CREATE TABLE task_agent_criteria (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	task_id TEXT NOT NULL,
	agent_type TEXT NOT NULL,
	position INTEGER NOT NULL,
	promise TEXT NOT NULL,        -- '' = the agent's default, as in the next two
	description TEXT NOT NULL,
	verification_method TEXT NOT NULL,
	verification_config TEXT,     -- JSON
	max_iterations INTEGER,
	blocked TEXT NOT NULL DEFAULT '',
	guard TEXT,                   -- JSON array
	FOREIGN KEY (task_id) REFERENCES tasks(id) ON DELETE CASCADE,
	UNIQUE (task_id, agent_type)
);
CREATE INDEX idx_task_agent_criteria_task ON task_agent_criteria(task_id);
CREATE INDEX idx_task_agent_criteria_agent ON task_agent_criteria(agent_type);
`

// Migrate brings a database to a layout, in one transaction. A file that does not exist is
// made, readable by this user alone. In one of another program, with or without a table
// tasks, what is missing is added, and nothing that is there is changed. From one layout to
// the other the completions are moved, read back and compared: if one of them cannot be
// read, or would come back as something else, the error names it and nothing has
// changed. A layout that it has already changes nothing.
//
// Other processes may have the database open. It is an error if its schema is newer than
// those known here.
func Migrate(ctx context.Context, path string, to Layout) error {
	if _, ok := known[to]; !ok {
		return fmt.Errorf("sqlite: there is no layout %d", to)
	}
	if err := create(path); err != nil {
		return err
	}
	db, err := open(path)
	if err != nil {
		return err
	}
	err = db.transact(ctx, &sql.TxOptions{}, func(ctx context.Context, tx *sql.Tx) error {
		from, err := layoutOf(ctx, tx)
		if err == nil && from == none {
			from, err = Column, found(ctx, tx)
		}
		if err == nil && from != to {
			err = move(ctx, tx, from, to)
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", to)) // takes no parameter
		}
		return err
	})
	return errors.Join(err, db.Close())
}

// layoutOf is the layout that the database has now.
func layoutOf(ctx context.Context, tx *sql.Tx) (l Layout, err error) {
	err = tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&l)
	if _, ok := known[l]; err == nil && l != none && !ok {
		err = fmt.Errorf("its schema has version %d, and this program knows those up to %d: use a newer program", l, Tables)
	}
	return l, err
}

// found makes the schema of [Column] of whatever is there.
func found(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS tasks (id TEXT PRIMARY KEY)"); err != nil {
		return err
	}
	has, err := strs(ctx, tx, "SELECT lower(name) FROM pragma_table_info('tasks')")
	if err == nil && !slices.Contains(has, "id") {
		err = errors.New("its table tasks has no column id")
	}
	if err != nil {
		return err
	}
	for _, c := range append(slices.Clone(taskColumns), completionColumn, column{name: "ralph_owner", kind: text}) {
		if slices.Contains(has, c.name) {
			continue
		}
		if _, err := tx.ExecContext(ctx, "ALTER TABLE tasks ADD COLUMN "+c.name+" "+c.kind.sql()); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, ours)
	return err
}

// move takes the completions from one layout to the other.
func move(ctx context.Context, tx *sql.Tx, from, to Layout) error {
	defs, err := definitions(ctx, tx, from)
	if err != nil {
		return err
	}
	change := map[Layout]string{
		Tables: "ALTER TABLE tasks DROP COLUMN completion_spec;" + normalised,
		Column: "DROP TABLE task_agent_criteria; DROP TABLE task_completion_specs; ALTER TABLE tasks ADD COLUMN completion_spec TEXT",
	}[to]
	if _, err := tx.ExecContext(ctx, change); err != nil {
		return err
	}
	for _, d := range defs {
		if err := putCompletion(ctx, tx, to, d); err != nil {
			return fmt.Errorf("task %q: %w", d.ID, err)
		}
	}
	moved, err := definitions(ctx, tx, to)
	if err == nil && !slices.EqualFunc(defs, moved, same) {
		err = errors.New("the tasks would not be the same after the migration")
	}
	return err
}

// same reports whether two tasks are the same, as JSON.
func same(a, b spec.Definition) bool {
	is, err := json.Marshal(a)
	other, failed := json.Marshal(b)
	return err == nil && failed == nil && string(is) == string(other)
}

// strs are the texts that a query returns.
func strs(ctx context.Context, tx *sql.Tx, query string, args ...any) (all []string, err error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

// names are those of columns, as part of a statement. They come from the tables above and
// from nowhere else; values are always parameters.
func names(columns []column, format string) string {
	var all []string
	for _, c := range columns {
		all = append(all, strings.ReplaceAll(format, "$", c.name))
	}
	return strings.Join(all, ", ")
}
