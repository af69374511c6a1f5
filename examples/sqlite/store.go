package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/ralph-loop/ralph"
)

var _ ralph.Store = (*DB)(nil)

// Update implements [ralph.Store]: it is one transaction. While change runs, no other
// process can write to the database, so it must not block. Nothing is redacted.
func (db *DB) Update(ctx context.Context, session string, change func(ralph.HookState) (ralph.HookState, error)) error {
	if session == "" {
		return ralph.ErrNoSession
	}
	var own error // of change, which is returned as it is
	err := db.write(ctx, func(ctx context.Context, tx *sql.Tx, _ Layout) error {
		from, err := hookState(ctx, tx, session)
		if err != nil {
			return err
		}
		to, err := change(from)
		if own = err; err != nil {
			return err
		}
		if to.IsZero() {
			_, err = tx.ExecContext(ctx, "DELETE FROM ralph_sessions WHERE id = ?", session)
			return err
		}
		to.Session = session
		text, err := json.Marshal(to)
		if err == nil {
			_, err = tx.ExecContext(ctx, "INSERT INTO ralph_sessions (id, state) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET state = ?2", session, string(text))
		}
		return err
	})
	return cmp.Or(own, err)
}

// hookState is the state of a session, zero = it has none.
func hookState(ctx context.Context, tx *sql.Tx, session string) (x ralph.HookState, err error) {
	var text string
	err = tx.QueryRowContext(ctx, "SELECT state FROM ralph_sessions WHERE id = ?", session).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return x, nil
	}
	if err == nil {
		err = read(session, text, &x)
	}
	return x, err
}

// read reads a session's state, which must be that session's.
func read(session, text string, x *ralph.HookState) error {
	err := json.Unmarshal([]byte(text), x)
	if err == nil && x.Session != session {
		err = fmt.Errorf("it is that of %q", x.Session)
	}
	if err != nil {
		return fmt.Errorf("session %q: its state cannot be read: %w", session, err)
	}
	return nil
}

// All implements [ralph.Store]. The states are those of the moment in which it begins.
func (db *DB) All(ctx context.Context) iter.Seq2[ralph.HookState, error] {
	return func(yield func(ralph.HookState, error) bool) {
		over := false
		err := db.read(ctx, func(ctx context.Context, tx *sql.Tx, _ Layout) error {
			rows, err := tx.QueryContext(ctx, "SELECT id, state FROM ralph_sessions ORDER BY id")
			if err != nil {
				return err
			}
			defer rows.Close()
			for !over && rows.Next() {
				var id, text string
				if err := rows.Scan(&id, &text); err != nil {
					return err
				}
				var x ralph.HookState
				err := read(id, text, &x)
				if err != nil {
					x = ralph.HookState{}
				}
				over = !yield(x, db.about(err))
			}
			return rows.Err()
		})
		if err != nil && !over {
			yield(ralph.HookState{}, err)
		}
	}
}
