package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/examples/sqlite"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// The environment variable that makes the test binary one of its workers, see
// workers_test.go.
const workerMode = "SQLITE_TEST_WORKER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(workerMode); mode != "" {
		os.Unsetenv(workerMode)
		if err := workers[mode](context.Background(), os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	home, err := os.MkdirTemp("", "sqlite-test-")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_STATE_HOME", home)
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}

// fresh is a new database in a layout, with tasks.
func fresh(t *testing.T, l sqlite.Layout, defs ...spec.Definition) *sqlite.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a #?%20 b.db") // as people name files
	if err := sqlite.Migrate(t.Context(), path, l); err != nil {
		t.Fatal(err)
	}
	db := opened(t, path)
	if err := db.Add(t.Context(), defs...); err != nil {
		t.Fatal(err)
	}
	return db
}

// opened opens a database until the test is over, and has it checked then.
func opened(t *testing.T, path string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Check(context.Background()); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// query asks the database as any other program would.
func query(t *testing.T, path, statement string, args ...any) (all []string) {
	t.Helper()
	db, err := sql.Open("sqlite", (&fileURL{path}).String())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), statement, args...)
	if err != nil {
		t.Fatal(statement, err)
	}
	defer rows.Close()
	for rows.Next() {
		var s sql.NullString
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s.String)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(statement, err)
	}
	return all
}

// equal compares two lists of tasks as their JSON, which loses nothing.
func equal(t *testing.T, what string, want, got []spec.Definition) {
	t.Helper()
	if d := cmp.Diff(lines(t, want), lines(t, got)); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func all(t *testing.T, db *sqlite.DB) []spec.Definition {
	t.Helper()
	defs, err := db.Definitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return defs
}

// statuses are those of the tasks, by ID.
func statuses(t *testing.T, db *sqlite.DB) map[string]spec.Status {
	t.Helper()
	is := map[string]spec.Status{}
	for _, d := range all(t, db) {
		is[d.ID] = d.Status
	}
	return is
}
