package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ralph-loop/ralph/tasks/spec"
)

// Add adds tasks, all of them or none. Each must be valid on its own, see
// [spec.Definition.Validate], and have an ID that no other task has.
func (db *DB) Add(ctx context.Context, defs ...spec.Definition) error {
	return db.write(ctx, func(ctx context.Context, tx *sql.Tx, l Layout) error {
		for _, d := range defs {
			err := d.Validate(nil)
			if err == nil {
				err = add(ctx, tx, l, d)
			}
			if err != nil {
				return fmt.Errorf("task %q: %w", d.ID, err)
			}
		}
		return nil
	})
}

func add(ctx context.Context, tx *sql.Tx, l Layout, d spec.Definition) error {
	var n int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM tasks WHERE id = ?", d.ID).Scan(&n); err != nil {
		return err
	}
	if n > 0 {
		return errors.New("there is a task of this ID already")
	}
	if err := exec(ctx, tx, "INSERT INTO tasks ("+names(taskColumns, "$")+") VALUES ("+written(taskColumns, "")+")", d); err != nil {
		return err
	}
	return putCompletion(ctx, tx, l, d)
}

// Definitions returns all tasks, in the order in which they were added. A row that cannot
// be read is an error that names the task and the column: a task that lost its criteria
// must not pass for one without any. The others are returned beside the error, for people to
// look at.
func (db *DB) Definitions(ctx context.Context) (defs []spec.Definition, err error) {
	err = db.read(ctx, func(ctx context.Context, tx *sql.Tx, l Layout) error {
		defs, err = definitions(ctx, tx, l)
		return err
	})
	return defs, err
}

// definitions are the tasks with the given IDs, without any = all.
func definitions(ctx context.Context, tx *sql.Tx, l Layout, ids ...any) (defs []spec.Definition, err error) {
	columns := taskColumns
	if l == Column {
		columns = append(append([]column(nil), taskColumns...), completionColumn)
	}
	where := " ORDER BY rowid"
	if len(ids) > 0 {
		where = " WHERE id = ?"
	}
	objects, err := objectsOf(ctx, tx, columns, "tasks"+where, ids...)
	problems := []error{err}
	for _, o := range objects {
		var d spec.Definition
		err := decode(o, &d)
		if err == nil && l == Tables {
			d.Completion, err = completion(ctx, tx, d.ID)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("task %s: %w", o["id"], err))
			continue
		}
		defs = append(defs, d)
	}
	return defs, errors.Join(problems...)
}

// completion reads that of a task from the tables.
func completion(ctx context.Context, tx *sql.Tx, id string) (*spec.Completion, error) {
	objects, err := objectsOf(ctx, tx, completionColumns, "task_completion_specs WHERE task_id = ?", id)
	if err != nil || len(objects) == 0 {
		return nil, err
	}
	c := &spec.Completion{}
	if err := decode(objects[0], c); err != nil {
		return nil, err
	}
	agents, err := strs(ctx, tx, "SELECT agent_type FROM task_agent_criteria WHERE task_id = ? ORDER BY position, id", id)
	if err != nil {
		return nil, err
	}
	if objects, err = objectsOf(ctx, tx, criteriaColumns, "task_agent_criteria WHERE task_id = ? ORDER BY position, id", id); err != nil {
		return nil, err
	}
	for i, agent := range agents {
		one := spec.AgentCriteria{Agent: agent}
		if err := decode(objects[i], &one.Criteria); err != nil {
			return nil, fmt.Errorf("criteria of %q: %w", agent, err)
		}
		c.Agents = append(c.Agents, one)
	}
	return c, nil
}

// putCompletion writes the completion of a task that has none there.
func putCompletion(ctx context.Context, tx *sql.Tx, l Layout, d spec.Definition) error {
	if d.Completion == nil {
		return nil
	}
	if l == Column {
		text, err := json.Marshal(*d.Completion) // not its Value, by which an empty one is none
		if err == nil {
			_, err = tx.ExecContext(ctx, "UPDATE tasks SET completion_spec = ? WHERE id = ?", string(text), d.ID)
		}
		return err
	}
	own := *d.Completion
	own.Agents = nil
	err := exec(ctx, tx, "INSERT INTO task_completion_specs (task_id, "+names(completionColumns, "$")+") VALUES (?2, "+written(completionColumns, "")+")", own, d.ID)
	for i, a := range d.Completion.Agents {
		if err == nil {
			err = exec(ctx, tx, "INSERT INTO task_agent_criteria (task_id, agent_type, position, "+names(criteriaColumns, "$")+") VALUES (?2, ?3, ?4, "+written(criteriaColumns, "")+")",
				a.Criteria, d.ID, a.Agent, i)
		}
	}
	return err
}

// put writes how far a task is, and who has it: "" = nobody.
func put(ctx context.Context, tx *sql.Tx, d spec.Definition, owner string) error {
	changes := slices.DeleteFunc(slices.Clone(taskColumns), func(c column) bool {
		return !slices.Contains([]string{"status", "updated_at", "metadata", "iteration"}, c.name)
	})
	return exec(ctx, tx, "UPDATE tasks SET "+written(changes, "$ = ")+", ralph_owner = ?2 WHERE id = ?3", d, owner, d.ID)
}

// exec has SQLite take what it writes out of the JSON form of something, which is ?1.
func exec(ctx context.Context, tx *sql.Tx, statement string, of any, more ...any) error {
	text, err := json.Marshal(of)
	if err == nil {
		_, err = tx.ExecContext(ctx, statement, append([]any{string(text)}, more...)...)
	}
	return err
}

// An object is a row as JSON, by its keys. What is not given has no key.
type object map[string]json.RawMessage

// decode goes by way of JSON, so that what stands in a row is held to the rules of task
// files: unknown keys and wrong types are errors there.
func decode(o object, to any) error {
	text, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	return err
}

// objectsOf reads rows. The columns are read as text and numbers whatever they were
// declared as, by programs that we do not know.
func objectsOf(ctx context.Context, tx *sql.Tx, columns []column, from string, args ...any) (all []object, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT "+names(columns, "CAST($ AS TEXT)")+" FROM "+from, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var problems []error
	for rows.Next() {
		values, to := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			to[i] = &values[i]
		}
		if err := rows.Scan(to...); err != nil {
			return nil, err
		}
		o := object{}
		var err error
		for i, c := range columns {
			if bad := o.set(c, values[i]); bad != nil && err == nil {
				err = fmt.Errorf("column %s: %w", c.name, bad)
				if id := o["id"]; id != nil {
					err = fmt.Errorf("task %s: %w", id, err)
				}
			}
		}
		if problems = append(problems, err); err == nil {
			all = append(all, o)
		}
	}
	return all, errors.Join(append(problems, rows.Err())...)
}

// set sets what a column holds.
func (o object) set(c column, v sql.NullString) (err error) {
	switch {
	case !v.Valid || v.String == "" || c.kind.isJSON() && v.String == "null":
		return nil
	case c.kind == text || c.kind == clock:
		o[c.key], err = json.Marshal(v.String)
		return err
	case !json.Valid([]byte(v.String)):
		return errors.New("it holds no JSON")
	}
	o[c.key] = json.RawMessage(v.String)
	return nil
}
