package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

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
	values, err := valuesOf(d, taskColumns)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO tasks ("+names(taskColumns, "$")+") VALUES ("+names(taskColumns, "?")+")", values...); err != nil {
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
	values, err := valuesOf(own, completionColumns)
	if err == nil {
		_, err = tx.ExecContext(ctx, "INSERT INTO task_completion_specs (task_id, "+names(completionColumns, "$")+") VALUES (?, "+names(completionColumns, "?")+")", append([]any{d.ID}, values...)...)
	}
	for i, a := range d.Completion.Agents {
		if err == nil {
			values, err = valuesOf(a.Criteria, criteriaColumns)
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, "INSERT INTO task_agent_criteria (task_id, agent_type, position, "+names(criteriaColumns, "$")+") VALUES (?, ?, ?, "+names(criteriaColumns, "?")+")",
				append([]any{d.ID, a.Agent, i}, values...)...)
		}
	}
	return err
}

// put writes how far a task is, and who has it: "" = nobody.
func put(ctx context.Context, tx *sql.Tx, d spec.Definition, owner string) error {
	columns := []column{}
	for _, c := range taskColumns {
		switch c.name {
		case "status", "updated_at", "metadata", "iteration":
			columns = append(columns, c)
		}
	}
	values, err := valuesOf(d, columns)
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE tasks SET "+names(columns, "$ = ?")+", ralph_owner = ? WHERE id = ?", append(values, owner, d.ID)...)
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
	case !v.Valid || v.String == "" || c.kind >= raw && v.String == "null":
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

// valuesOf are the values of columns, of something that has them as keys of its JSON form.
func valuesOf(of any, columns []column) (all []any, err error) {
	text, err := json.Marshal(of)
	var o object
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	for _, c := range columns {
		if err == nil {
			var v any
			v, err = o.value(c)
			all = append(all, v)
		}
	}
	return all, err
}

// value is what is written into a column.
func (o object) value(c column) (any, error) {
	v, given := o[c.key]
	switch {
	case c.kind == text || c.kind == clock && given:
		var s string
		if given {
			if err := json.Unmarshal(v, &s); err != nil {
				return nil, err
			}
		}
		return s, nil
	case c.kind == whole || c.kind == count && given:
		var n int64
		if given {
			if err := json.Unmarshal(v, &n); err != nil {
				return nil, err
			}
		}
		return n, nil
	case c.kind == list && !given:
		return "null", nil
	case !given:
		return nil, nil
	}
	return string(bytes.TrimSpace(v)), nil
}
