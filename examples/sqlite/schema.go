package sqlite

import (
	"cmp"
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
// version of the schema, in the table ralph_schema: SQLite's user_version may be another
// program's.
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

// A kind of column has a type, and says how what is written is taken out of the JSON ?1. What
// is not given is ”, 0, NULL, or the null of JSON.
type kind struct{ is, written string }

var (
	text  = kind{"TEXT", "coalesce(?1 ->> '$.KEY', '')"}
	clock = kind{"TIMESTAMP", "?1 ->> '$.KEY'"}
	whole = kind{"INTEGER", "coalesce(?1 ->> '$.KEY', 0)"}
	count = kind{"INTEGER", "?1 ->> '$.KEY'"}
	raw   = kind{"TEXT", "?1 -> '$.KEY'"}
	list  = kind{"TEXT", "coalesce(?1 -> '$.KEY', 'null')"}
)

func (k kind) isJSON() bool { return k == raw || k == list }

// The columns of a task, of its completion, and of an agent's criteria in it.
var (
	taskColumns = []column{
		{"id", "id", text}, {"spec_id", "spec_id", text}, {"title", "title", text}, {"description", "description", text},
		{"status", "status", text}, {"priority", "priority", whole}, {"dependencies", "dependencies", raw},
		{"assignee", "assignee", text}, {"created_at", "created_at", clock}, {"updated_at", "updated_at", clock},
		{"metadata", "metadata", raw}, {"iteration", "iteration", whole},
	}
	completionColumn  = column{"completion_spec", "completion", raw}
	completionColumns = []column{{"outcome", "outcome", text}, {"acceptance_criteria", "acceptance_criteria", list}}
	criteriaColumns   = []column{
		{"promise", "promise", text}, {"description", "description", text}, {"verification_method", "verification_method", text},
		{"verification_config", "verification_config", raw}, {"max_iterations", "max_iterations", count},
		{"blocked", "blocked", text}, {"guard", "guard", raw},
	}
)

// The tables that all layouts have beside tasks. What is recorded may be about tasks that
// were removed, so it refers to none. Where a loop stands is read off its events: kept beside
// them it could say something else.
const ours = `
CREATE TABLE ralph_schema (
	version INTEGER NOT NULL      -- a Layout
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
CREATE VIEW ralph_loops AS SELECT
	loop AS name, task, record ->> 'stage' AS agent,
	coalesce(record ->> '$.event.iteration.number', record ->> '$.event.state.iteration', 0) AS iteration,
	CASE kind WHEN 'loop_stopped' THEN coalesce(record ->> '$.event.state.stop', '') ELSE '' END AS stop, -- '' = it goes on
	record ->> 'timestamp' AS updated_at, seq
FROM ralph_log WHERE seq IN (SELECT max(seq) FROM ralph_log
	WHERE kind IN ('loop_started', 'iteration_started', 'iteration_ended', 'loop_stopped') GROUP BY loop);
`

// The tables of [Tables]. Position is the order of the agents, in which they work.
const normalised = `
CREATE TABLE IF NOT EXISTS task_completion_specs (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	task_id TEXT NOT NULL UNIQUE,
	outcome TEXT NOT NULL,
	acceptance_criteria TEXT NOT NULL, -- JSON array; null = none are given
	created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
	FOREIGN KEY (task_id) REFERENCES tasks(id) ON DELETE CASCADE
);
CREATE TABLE IF NOT EXISTS task_agent_criteria (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	task_id TEXT NOT NULL,
	agent_type TEXT NOT NULL,
	position INTEGER NOT NULL,
	promise TEXT NOT NULL,        -- '' = the agent's default, as in the next two
	description TEXT NOT NULL,
	verification_method TEXT NOT NULL,
	verification_config TEXT,     -- JSON
	max_iterations INTEGER,       -- NULL = what is usual
	blocked TEXT NOT NULL DEFAULT '',
	guard TEXT,                   -- JSON array
	FOREIGN KEY (task_id) REFERENCES tasks(id) ON DELETE CASCADE,
	UNIQUE (task_id, agent_type)
);
CREATE INDEX IF NOT EXISTS idx_task_agent_criteria_task ON task_agent_criteria(task_id);
CREATE INDEX IF NOT EXISTS idx_task_agent_criteria_agent ON task_agent_criteria(agent_type);
`

// Migrate brings a database to a layout, in one transaction; the zero Layout is the one that
// it has, and [Column] if it has none. A file that does not exist is made, readable by this
// user alone. In one of another program what is missing is added, and nothing that is there
// is changed: a table tasks, whose ids must be unique; completions in the column
// completion_spec, or in the two tables of [Tables]. From one layout to the other the
// completions are moved, read back and compared: if one of them cannot be read, or would come
// back as something else, the error names it and nothing has changed. A layout that it has
// already changes nothing.
//
// Other processes may have the database open; it waits for them as [Open] says. It is an
// error if its schema is newer than those known here.
func Migrate(ctx context.Context, path string, to Layout) error {
	if _, ok := known[to]; !ok && to != none {
		return fmt.Errorf("sqlite: there is no layout %d", to)
	}
	if err := create(path); err != nil {
		return err
	}
	db, err := open(ctx, path)
	if err != nil {
		return err
	}
	err = db.transact(ctx, db.writer, func(ctx context.Context, tx *sql.Tx, from Layout) (err error) {
		if from == none {
			from, err = found(ctx, tx)
		}
		if err == nil && to != none && from != to {
			if err = move(ctx, tx, from, to); err == nil {
				_, err = tx.ExecContext(ctx, "UPDATE ralph_schema SET version = ?", int(to))
			}
		}
		return err
	})
	return errors.Join(err, db.Close())
}

// layoutOf is the layout that the database has now.
func layoutOf(ctx context.Context, tx *sql.Tx) (l Layout, err error) {
	has, err := strs(ctx, tx, "SELECT name FROM sqlite_schema WHERE name = 'ralph_schema'")
	if err != nil || len(has) == 0 {
		return none, err
	}
	err = tx.QueryRowContext(ctx, "SELECT coalesce(max(version), -1) FROM ralph_schema").Scan(&l)
	if _, ok := known[l]; err == nil && !ok {
		err = fmt.Errorf("its schema has version %d, and this program knows those up to %d: use a newer program", l, Tables)
	}
	return l, err
}

// unfit are the tables tasks of others that cannot be used, by queries that find them.
var unfit = []struct{ why, query string }{
	{"its tasks is no table", "SELECT type FROM sqlite_schema WHERE name = 'tasks' AND type <> 'table'"},
	{"its table tasks has no column id", "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM pragma_table_info('tasks') WHERE lower(name) = 'id')"},
	{"its table tasks has rows without an id: give each one", "SELECT 1 FROM tasks WHERE id IS NULL LIMIT 1"},
	{"in its table tasks the column id alone is neither PRIMARY KEY nor UNIQUE, so several tasks may have the same: make it so", `
		SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM pragma_table_info('tasks') GROUP BY 1 HAVING group_concat(CASE WHEN pk THEN lower(name) END) = 'id')
		AND NOT EXISTS (SELECT 1 FROM pragma_index_list('tasks') AS l WHERE "unique" AND NOT partial AND (SELECT group_concat(lower(name)) FROM pragma_index_info(l.name)) = 'id')`},
}

// found makes a schema of whatever is there.
func found(ctx context.Context, tx *sql.Tx) (Layout, error) {
	if _, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS tasks (id TEXT PRIMARY KEY)"); err != nil {
		return none, err
	}
	for _, u := range unfit {
		if is, err := strs(ctx, tx, u.query); err != nil || len(is) > 0 {
			return none, cmp.Or(err, errors.New(u.why))
		}
	}
	theirs, err := strs(ctx, tx, `SELECT lower(name) FROM sqlite_schema WHERE lower(name) IN ('task_completion_specs', 'task_agent_criteria')
		UNION ALL SELECT lower(name) FROM pragma_table_info('tasks') WHERE lower(name) = 'completion_spec'`)
	if err != nil {
		return none, err
	}
	slices.Sort(theirs)
	l := Column
	switch {
	case slices.Equal(theirs, []string{"task_agent_criteria", "task_completion_specs"}):
		l = Tables
	case len(theirs) > 0 && !slices.Equal(theirs, []string{"completion_spec"}):
		return none, fmt.Errorf("it says in several places what done means, or in half of one: %s; keep the column completion_spec or both tables", strings.Join(theirs, ", "))
	}
	if _, err := tx.ExecContext(ctx, ours+fmt.Sprintf("INSERT INTO ralph_schema VALUES (%d)", l)); err != nil {
		return l, err
	}
	if err := widen(ctx, tx, "tasks", append(slices.Clone(taskColumns), column{name: "ralph_owner", kind: text})); err != nil {
		return l, err
	}
	if l == Column {
		return l, widen(ctx, tx, "tasks", []column{completionColumn})
	}
	err = widen(ctx, tx, "task_completion_specs", completionColumns)
	if err == nil {
		err = widen(ctx, tx, "task_agent_criteria", append(slices.Clone(criteriaColumns), column{name: "position", kind: whole}))
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, normalised) // its indexes
	}
	if err == nil {
		_, err = definitions(ctx, tx, l) // what is none of ours looks alike at first
	}
	return l, err
}

// widen gives a table the columns that it lacks.
func widen(ctx context.Context, tx *sql.Tx, table string, columns []column) error {
	has, err := strs(ctx, tx, "SELECT lower(name) FROM pragma_table_info(?)", table)
	for _, c := range columns {
		if err == nil && !slices.Contains(has, c.name) {
			_, err = tx.ExecContext(ctx, "ALTER TABLE "+table+" ADD COLUMN "+c.name+" "+c.kind.is)
		}
	}
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
		return fmt.Errorf("its completions cannot be moved from where they are, which a view or trigger may refer to: %w", err)
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

// written are the values of columns, each after what begins with its name.
func written(columns []column, before string) string {
	var all []string
	for _, c := range columns {
		all = append(all, names([]column{c}, before)+strings.ReplaceAll(c.kind.written, "KEY", c.key))
	}
	return strings.Join(all, ", ")
}
