package sqlite_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/sqlite"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// inChange is another process in the middle of a change, which may be suspended there.
func inChange(t *testing.T, path string) *sql.Tx {
	t.Helper()
	other, err := sql.Open("sqlite", (&fileURL{path}).String()+"&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	tx, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// TestWaits: who reads does not wait for another process; who changes something does, says
// so, and goes on, or ends when the program does.
func TestWaits(t *testing.T) {
	t.Parallel()
	db := fresh(t, sqlite.Tables, three()...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	held, err := sqlite.Open(ctx, db.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	tx := inChange(t, db.Path())
	if len(all(t, db)) != 3 {
		t.Error("what is there cannot be read")
	}
	held.Waits = cancel
	if err := held.Append(context.Background(), ralph.Event{Kind: ralph.EventGuided}); err == nil {
		t.Error("it was recorded")
	}
	s := &sqlite.Source{DB: held}
	if _, err := s.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if mine, err := s.Take(t.Context(), "A"); mine || err == nil {
		t.Errorf("it was taken: %v", err)
	}
	said := 0
	db.Waits = func() {
		said++
		_ = tx.Rollback()
	}
	if err := db.Add(t.Context(), spec.Definition{ID: "D", Title: "Four"}); err != nil || said != 1 {
		t.Errorf("%v, said %d times", err, said)
	}
}

// TestMigrateWaits: a database that cannot be had is not taken for one without a layout.
func TestMigrateWaits(t *testing.T) {
	t.Parallel()
	db := fresh(t, sqlite.Tables, three()...)
	inChange(t, db.Path())
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	for _, to := range []sqlite.Layout{0, sqlite.Column} {
		if err := sqlite.Migrate(ctx, db.Path(), to); err == nil {
			t.Error("no error")
		}
	}
	if got := query(t, db.Path(), "SELECT version FROM ralph_schema"); got[0] != "2" {
		t.Error(got)
	}
}
