package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

var _ ralph.ProgressLog = (*DB)(nil)

// Append implements [ralph.ProgressLog]: it records an event, and where its loop stands
// after it, in one transaction, also when ctx is done. Loops and processes may share the
// database. Nothing is redacted; for that put a [progress.Redactor] before it.
//
// The record has the keys of the execution log of [progress.JSONL], and the whole event.
// The view ralph_execution_log has those that scripts ask for.
func (db *DB) Append(ctx context.Context, ev ralph.Event) error {
	return db.append(ctx, ev, func(context.Context, *sql.Tx, Layout, ralph.State) error { return nil })
}

// append has more do what else is to be done in the transaction, by where the loop stands.
func (db *DB) append(ctx context.Context, ev ralph.Event, more func(context.Context, *sql.Tx, Layout, ralph.State) error) error {
	text, rec, err := db.recordOf(ctx, ev)
	if err != nil {
		return db.about(err)
	}
	return db.write(context.WithoutCancel(ctx), func(ctx context.Context, tx *sql.Tx, l Layout) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO ralph_log (loop, task, kind, record) VALUES (?, ?, ?, ?)",
			rec.Event.Loop, rec.TaskID, string(rec.Kind), text); err != nil {
			return db.about(err)
		}
		s, err := fold(ctx, tx, rec.Event)
		if err != nil {
			return db.about(fmt.Errorf("loop %q: %w", rec.Event.Loop, err))
		}
		return more(ctx, tx, l, s)
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

// fold applies an event to the state of its loop. A loop that begins under the name of one
// that is over takes its place.
func fold(ctx context.Context, tx *sql.Tx, ev ralph.Event) (s ralph.State, err error) {
	var text string
	err = tx.QueryRowContext(ctx, "SELECT state FROM ralph_loops WHERE name = ?", ev.Loop).Scan(&text)
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return s, err
	default:
		if err = json.Unmarshal([]byte(text), &s); err != nil {
			return s, err
		}
	}
	if ev.Kind == ralph.EventLoopStarted && ev.State != nil && s.Done() {
		s = ralph.State{}
	}
	s = s.Apply(ev)
	state, err := json.Marshal(s)
	if err == nil {
		_, err = tx.ExecContext(ctx, `INSERT INTO ralph_loops (name, task, agent, iteration, stop, updated_at, state) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (name) DO UPDATE SET task = excluded.task, agent = excluded.agent, iteration = excluded.iteration,
			stop = excluded.stop, updated_at = excluded.updated_at, state = excluded.state`,
			ev.Loop, ev.Task, ev.Agent, s.Iteration, string(s.Stop), ev.Time.Format("2006-01-02T15:04:05.000000000Z07:00"), string(state))
	}
	return s, err
}

// Records returns what happened to a task, "" = to all, the oldest first. What is appended
// meanwhile may be among it or not. It reads in portions, so a record of any length does
// not fill the memory.
func (db *DB) Records(ctx context.Context, task string) iter.Seq2[progress.Record, error] {
	return func(yield func(progress.Record, error) bool) {
		next, stop := iter.Pull2(db.portions(ctx, "(?2 = '' OR task = ?2)", task))
		defer stop()
		progress.ReadJSONL(&lines{next: next})(yield)
	}
}

// State returns where a loop stands, to be run again, see [progress.Resume]. What the
// database says is believed, also a verdict that passed, since no agent can write there. It
// is an error if there is no such loop on record.
func (db *DB) State(ctx context.Context, loop string) (ralph.State, error) {
	next, stop := iter.Pull2(db.portions(ctx, "loop = ?2", loop))
	defer stop()
	return progress.Resume(&lines{next: next}, loop)
}

// portion is how many records are read at once.
const portion = 256

// portions are the records for which a condition on ?2 holds, as texts of up to that many
// lines.
func (db *DB) portions(ctx context.Context, where, name string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for last, n := int64(0), portion; n == portion; {
			var texts strings.Builder
			err := db.read(ctx, func(ctx context.Context, tx *sql.Tx, _ Layout) error {
				rows, err := tx.QueryContext(ctx, "SELECT seq, record FROM ralph_log WHERE seq > ?1 AND "+where+" ORDER BY seq LIMIT ?3", last, name, portion)
				if err != nil {
					return db.about(err)
				}
				defer rows.Close()
				var text string
				for n = 0; rows.Next(); n++ {
					if err := rows.Scan(&last, &text); err != nil {
						return db.about(err)
					}
					texts.WriteString(text + "\n")
				}
				return db.about(rows.Err())
			})
			if !yield(texts.String(), err) || err != nil {
				return
			}
		}
	}
}

// lines reads portions as one text.
type lines struct {
	next func() (string, error, bool)
	rest string
}

func (l *lines) Read(p []byte) (int, error) {
	for l.rest == "" {
		text, err, ok := l.next()
		if !ok {
			return 0, io.EOF
		}
		if err != nil {
			return 0, err
		}
		l.rest = text
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
		return db.about(err)
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
		return db.about(err)
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
		rows, err := tx.QueryContext(ctx, "SELECT name, task, agent, iteration, stop FROM ralph_loops ORDER BY updated_at DESC")
		if err != nil {
			return db.about(err)
		}
		defer rows.Close()
		for rows.Next() {
			var s Standing
			if err := rows.Scan(&s.Loop, &s.Task, &s.Agent, &s.Iteration, &s.Stop); err != nil {
				return db.about(err)
			}
			all = append(all, s)
		}
		return db.about(rows.Err())
	})
	return slices.Clip(all), err
}
