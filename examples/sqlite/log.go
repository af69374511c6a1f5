package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

var _ ralph.ProgressLog = (*DB)(nil)

// Append implements [ralph.ProgressLog]: it records an event, also when ctx is done. Loops
// and processes may share the database. Nothing is redacted; for that put a
// [progress.Redactor] before it.
//
// The record has the keys of the execution log of [progress.JSONL], and the whole event.
// The views ralph_execution_log and ralph_loops have what scripts ask for.
func (db *DB) Append(ctx context.Context, ev ralph.Event) error {
	return db.append(ctx, ev, func(context.Context, *sql.Tx, Layout) error { return nil })
}

// append has more do what else is to be done in the transaction.
func (db *DB) append(ctx context.Context, ev ralph.Event, more func(context.Context, *sql.Tx, Layout) error) error {
	text, rec, err := db.recordOf(ctx, ev)
	if err != nil {
		return db.about(err)
	}
	return db.write(context.WithoutCancel(ctx), func(ctx context.Context, tx *sql.Tx, l Layout) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO ralph_log (loop, task, kind, record) VALUES (?, ?, ?, ?)",
			rec.Event.Loop, rec.TaskID, string(rec.Kind), text); err != nil {
			return err
		}
		return more(ctx, tx, l)
	})
}

// recordOf is an event as a line of the execution log, and as it will be read back.
func (db *DB) recordOf(ctx context.Context, ev ralph.Event) (text string, rec progress.Record, err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.line.Reset()
	if err := db.record.Append(ctx, ev); err != nil {
		return "", rec, err
	}
	text = strings.TrimSuffix(db.line.String(), "\n")
	err = errors.New("an event that cannot be read back")
	for rec, err = range progress.ReadJSONL(strings.NewReader(text)) {
	}
	return text, rec, err
}

// CatchUp records what the journals of a pipeline's loops have, and the database has not:
// what happened when a process was killed between the two. It is called before the pipeline,
// whose name is parent, is run again, by whoever holds its workspace. Where another workspace
// has gone on with a loop since, nothing is added.
func (db *DB) CatchUp(ctx context.Context, journals *progress.Dir, parent string) error {
	for e, err := range journals.Loops(ctx) {
		if err == nil && e.Parent != parent {
			continue
		}
		if err == nil {
			err = db.catchUp(ctx, e.Loop, journals.File(e.Loop))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) catchUp(ctx context.Context, loop, journal string) error {
	var last []string // of the loop, on record here
	err := db.read(ctx, func(ctx context.Context, tx *sql.Tx, _ Layout) (err error) {
		last, err = strs(ctx, tx, "SELECT kind || ' ' || (record ->> 'timestamp') FROM ralph_log WHERE loop = ? ORDER BY seq DESC LIMIT 1", loop)
		return err
	})
	if err != nil {
		return err
	}
	f, err := os.Open(journal)
	if err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	defer f.Close()
	var missing []ralph.Event
	found, n := false, 0
	for rec, err := range progress.ReadJSONL(f) {
		if err != nil {
			return fmt.Errorf("sqlite: %s: %w", journal, err)
		}
		ev := rec.Event
		if n++; ev.Kind == ralph.EventRequested { // not the loop's own
			continue
		}
		if missing = append(missing, ev); len(last) > 0 && string(ev.Kind)+" "+ev.Time.Format(time.RFC3339Nano) == last[0] {
			found, missing = true, nil
		}
	}
	if !found && (len(last) > 0 || n > 1) { // it is the journal of another loop of this name
		return nil
	}
	for _, ev := range missing {
		if err := db.Append(ctx, ev); err != nil {
			return err
		}
	}
	return nil
}

// Records returns what happened to a task, "" = to all, the oldest first, as it was when the
// reading began. It keeps one record at a time, so a record of any length does not fill the
// memory.
func (db *DB) Records(ctx context.Context, task string) iter.Seq2[progress.Record, error] {
	return func(yield func(progress.Record, error) bool) {
		over := false
		err := db.lines(ctx, "(?1 = '' OR task = ?1)", task, func(r io.Reader) error {
			for rec, err := range progress.ReadJSONL(r) {
				if err != nil {
					return err
				}
				if over = !yield(rec, nil); over {
					break
				}
			}
			return nil
		})
		if err != nil && !over {
			yield(progress.Record{}, err)
		}
	}
}

// State returns where a loop stands, to be run again, see [progress.ResumeProven]: a verdict
// that passed is given again unless the loop's end is on record too. It is an error if there
// is no such loop on record.
func (db *DB) State(ctx context.Context, loop string) (s ralph.State, err error) {
	err = db.lines(ctx, "loop = ?1", loop, func(r io.Reader) (err error) {
		s, err = progress.ResumeProven(r, loop)
		return err
	})
	return s, err
}

// lines has do read the records for which a condition on ?1 holds, a line each.
func (db *DB) lines(ctx context.Context, where, name string, do func(io.Reader) error) error {
	return db.read(ctx, func(ctx context.Context, tx *sql.Tx, _ Layout) error {
		rows, err := tx.QueryContext(ctx, "SELECT record FROM ralph_log WHERE "+where+" ORDER BY seq", name)
		if err != nil {
			return err
		}
		defer rows.Close()
		return do(&lines{rows: rows})
	})
}

// lines reads rows as one text.
type lines struct {
	rows *sql.Rows
	rest string
}

func (l *lines) Read(p []byte) (int, error) {
	if l.rest == "" {
		if !l.rows.Next() {
			return 0, cmp.Or(l.rows.Err(), io.EOF)
		}
		if err := l.rows.Scan(&l.rest); err != nil {
			return 0, err
		}
		l.rest += "\n"
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// Loops returns the states of the loops whose names begin so, by name, as [DB.State] does.
// For those of a session's earlier runs: its Begun.
func (db *DB) Loops(ctx context.Context, prefix string) (map[string]ralph.State, error) {
	var all []string
	err := db.read(ctx, func(ctx context.Context, tx *sql.Tx, _ Layout) (err error) {
		all, err = strs(ctx, tx, "SELECT name FROM ralph_loops WHERE substr(name, 1, length(?1)) = ?1", prefix)
		return err
	})
	states := map[string]ralph.State{}
	for _, name := range all {
		if err == nil {
			states[name], err = db.State(ctx, name)
		}
	}
	return states, err
}

// Pending is a [ralph.Local.Pending]: the recorded answer of the attempt that was running
// when its process died; nil = the agent had not answered.
func (db *DB) Pending(ctx context.Context, s ralph.State) (answered *ralph.Event, err error) {
	var texts []string
	err = db.read(ctx, func(ctx context.Context, tx *sql.Tx, _ Layout) error {
		texts, err = strs(ctx, tx, `SELECT record FROM ralph_log WHERE loop = ?1 AND kind = ?2
			AND seq > (SELECT max(seq) FROM ralph_log WHERE loop = ?1 AND kind = ?3) ORDER BY seq DESC LIMIT 1`,
			s.Loop, string(ralph.EventAnswered), string(ralph.EventIterationStarted))
		return err
	})
	for rec, failed := range progress.ReadJSONL(strings.NewReader(strings.Join(texts, "\n"))) {
		if it := rec.Event.Iteration; failed == nil && it.Number == s.Iteration && it.Attempt == s.Attempt {
			answered = &rec.Event
		}
		err = errors.Join(err, failed)
	}
	return answered, err
}

// A Standing is a loop as the database shows it to people.
type Standing struct {
	Loop, Task, Agent string
	// Iteration is the one that runs, or ran last. Stop is why it has stopped, "" = it has
	// not.
	Iteration int
	Stop      ralph.StopReason
}

// Standings returns where all loops stand, the last one that changed first. It is for people:
// what goes on goes on from [DB.State].
func (db *DB) Standings(ctx context.Context) (all []Standing, err error) {
	err = db.read(ctx, func(ctx context.Context, tx *sql.Tx, _ Layout) error {
		rows, err := tx.QueryContext(ctx, "SELECT name, task, agent, iteration, stop FROM ralph_loops ORDER BY seq DESC")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var s Standing
			if err := rows.Scan(&s.Loop, &s.Task, &s.Agent, &s.Iteration, &s.Stop); err != nil {
				return err
			}
			all = append(all, s)
		}
		return rows.Err()
	})
	return slices.Clip(all), err
}
