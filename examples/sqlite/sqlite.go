// Package sqlite keeps tasks and loops in a SQLite database: what is to be done and when
// it is done, who works on it, where each loop stands, and all that happened.
//
//	err := sqlite.Migrate(ctx, "/srv/tasks.db", sqlite.Column) // once
//	db, err := sqlite.Open(ctx, "/srv/tasks.db")
//	defer db.Close()
//	tasks := &sqlite.Source{DB: db}
//	defer tasks.Close()
//	p := pipeline.Pipeline{Source: tasks, Log: db, Dir: workspace, Runner: …}
//	final, err := p.Run(ctx)
//
// A [DB] is a [ralph.ProgressLog] and a [ralph.Store]. A [Source] gives its tasks to a
// pipeline, and [Items] gives them to a [tasks.Session]. Any number of processes of a
// machine may work on one database: a task that one has taken is no other's until it is
// given back, or its taker is dead.
//
// The database says what is run to verify a task. It must lie where no agent writes.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	_ "modernc.org/sqlite" // the driver: SQLite in Go, no C compiler is needed

	"github.com/ralph-loop/ralph/progress"
)

// A DB is an open database. Its methods may be called concurrently, and other processes
// may have the same database open. A change is one transaction: all of it is durable
// when the method returns, or nothing has changed. It waits for the changes of others up to
// a minute. Make one with [Open].
type DB struct {
	path  string
	sql   *sql.DB
	locks *progress.Dir // who has taken which task

	mu     sync.Mutex // for what follows
	line   *strings.Builder
	record *progress.JSONL // writes to line
}

// Open opens a database that [Migrate] has made. The error wraps [fs.ErrNotExist] if there
// is none, and says so if its schema is not known here: a newer one may hold what this
// version would lose.
//
// Beside the database lie SQLite's own files, and a folder that ends in -locks, which says
// who has taken which task. The path may lead through links; copies and other names of
// the file are other databases.
func Open(ctx context.Context, path string) (*DB, error) {
	db, err := open(path)
	if err != nil {
		return nil, err
	}
	err = db.read(ctx, func(context.Context, *sql.Tx, Layout) error { return nil }) // its version
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// open opens a file that is there, whatever is in it.
func open(path string) (*DB, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	if info, err := os.Stat(real); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("sqlite: %s is not a regular file", real)
	}
	conn, err := sql.Open("sqlite", address(real))
	if err != nil {
		return nil, fmt.Errorf("sqlite: %s: %w", real, err)
	}
	// SQLite has one writer at a time. One connection makes those of this process wait in
	// turn, and not by asking again and again.
	conn.SetMaxOpenConns(1)
	line := &strings.Builder{}
	return &DB{path: real, sql: conn, locks: &progress.Dir{Path: real + "-locks"}, line: line, record: &progress.JSONL{W: line}}, nil
}

// address is how the driver is told to open a file: never to make it; with transactions
// that lock at their beginning, since one that has only read before it writes could not
// wait for another writer; synced at each commit, which alone survives a loss of power.
func address(path string) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
	if !strings.HasPrefix(u.Path, "/") { // C:/tasks.db
		u.Path = "/" + u.Path
	}
	return u.String() + "?mode=rw&_txlock=immediate&_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)" +
		"&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_pragma=trusted_schema(0)"
}

// Path is the absolute path of the file, without links.
func (db *DB) Path() string { return db.path }

// Close closes the database. What is recorded is durable without it.
func (db *DB) Close() error { return errors.Join(db.sql.Close(), db.locks.Close()) }

// write does something in one transaction, which nobody else can come between. If do
// returns an error, or panics, nothing has changed.
func (db *DB) write(ctx context.Context, do func(context.Context, *sql.Tx, Layout) error) error {
	return db.in(ctx, &sql.TxOptions{}, do)
}

// read shows do the database as it is at one moment.
func (db *DB) read(ctx context.Context, do func(context.Context, *sql.Tx, Layout) error) error {
	return db.in(ctx, &sql.TxOptions{ReadOnly: true}, do)
}

// in begins with the version each time: another process may migrate the database while
// this one has it open.
func (db *DB) in(ctx context.Context, how *sql.TxOptions, do func(context.Context, *sql.Tx, Layout) error) error {
	var failed error // of do, which is returned as it is
	err := db.transact(ctx, how, func(ctx context.Context, tx *sql.Tx) error {
		l, err := layoutOf(ctx, tx)
		if err == nil && l == none {
			err = errors.New("it has no schema of this program: migrate it first")
		}
		if err != nil {
			return err
		}
		failed = do(ctx, tx, l)
		return failed
	})
	if failed != nil {
		return failed
	}
	return err
}

func (db *DB) transact(ctx context.Context, how *sql.TxOptions, do func(context.Context, *sql.Tx) error) error {
	fail := func(err error) error { return fmt.Errorf("sqlite: %s: %w", db.path, err) }
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	tx, err := db.sql.BeginTx(ctx, how)
	if err != nil {
		return fail(err)
	}
	defer tx.Rollback() // after a commit it does nothing
	if err := do(ctx, tx); err != nil {
		return fail(err)
	}
	if err := tx.Commit(); err != nil {
		return fail(err)
	}
	return nil
}

// Check has SQLite look at the whole database, and compares what it knows of the record:
// its numbers have no gap, and each loop stands where its events lead. nil = all is well.
func (db *DB) Check(ctx context.Context) error {
	return db.read(ctx, func(ctx context.Context, tx *sql.Tx, _ Layout) error {
		for _, one := range []struct{ what, query string }{
			{"integrity_check", "SELECT group_concat(integrity_check, '; ') FROM pragma_integrity_check WHERE integrity_check <> 'ok'"},
			{"foreign_key_check", "SELECT group_concat(\"table\", '; ') FROM pragma_foreign_key_check"},
			{"the record has a gap", "SELECT max(seq) || ' numbers, ' || count(*) || ' events' FROM ralph_log HAVING max(seq) <> count(*)"},
			{"loops without a record", "SELECT group_concat(name, '; ') FROM ralph_loops WHERE name NOT IN (SELECT loop FROM ralph_log)"},
		} {
			var found sql.NullString
			err := tx.QueryRowContext(ctx, one.query).Scan(&found)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return fmt.Errorf("sqlite: %s: %w", one.what, err)
			}
			if found.Valid {
				return fmt.Errorf("sqlite: %s: %s: %s", db.path, one.what, progress.PrintableLine(found.String))
			}
		}
		return nil
	})
}

// create makes an empty file for this user alone, if there is none. It never follows a
// link that somebody has left there.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	return f.Close()
}
