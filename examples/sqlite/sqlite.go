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
	"slices"
	"strings"
	"sync"

	driver "modernc.org/sqlite" // SQLite in Go, no C compiler is needed

	"github.com/ralph-loop/ralph/progress"
)

// A DB is an open database. Its methods may be called concurrently, and other processes
// may have the same database open. A change is one transaction: all of it is durable
// when the method returns, or nothing has changed. It waits for the changes of others. Make
// one with [Open].
type DB struct {
	// Waits is called when a change has waited for another process for a second; nil = nobody
	// is told. It must not be changed once the DB is used.
	Waits func()

	path           string
	writer, reader *sql.DB
	ended          <-chan struct{} // closed: nothing waits any longer
	locks          *progress.Dir   // who has taken which task

	mu     sync.Mutex // for what follows
	line   *strings.Builder
	record *progress.JSONL // writes to line
}

// Open opens a database that [Migrate] has made. The error wraps [fs.ErrNotExist] if there
// is none, and says so if its schema is not known here: a newer one may hold what this
// version would lose. Who only reads needs no right to write.
//
// While another process is in the middle of a change, a change waits as long as ctx lasts;
// once ctx is done each change, also one whose own context is not, is tried for a second and
// is an error then.
//
// Beside the database lie SQLite's own files, and a folder that ends in -locks, which says
// who has taken which task. The path may lead through links; copies and other names of
// the file are other databases.
func Open(ctx context.Context, path string) (*DB, error) {
	db, err := open(ctx, path)
	if err != nil {
		return nil, err
	}
	look := func(context.Context, *sql.Tx, Layout) error { return nil } // at its version
	err = db.read(ctx, look)
	if _, wal := os.Stat(db.path + "-wal"); err != nil && errors.Is(wal, fs.ErrNotExist) && is(err, readonly, cantOpen) {
		// Not even SQLite's files beside it can be made; nobody has it open who can write.
		_ = db.reader.Close()
		if db.reader, err = sql.Open("sqlite", address(db.path, reads+"&immutable=1")); err == nil {
			err = db.read(ctx, look)
		}
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// open opens a file that is there, whatever is in it.
func open(ctx context.Context, path string) (*DB, error) {
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
	line := &strings.Builder{}
	db := &DB{path: real, ended: ctx.Done(), locks: &progress.Dir{Path: real + "-locks"}, line: line, record: &progress.JSONL{W: line}}
	if db.writer, err = sql.Open("sqlite", address(real, writes)); err == nil {
		db.reader, err = sql.Open("sqlite", address(real, reads))
	}
	if err != nil {
		return nil, fmt.Errorf("sqlite: %s: %w", real, err)
	}
	// SQLite has one writer at a time. One connection makes those of this process wait in
	// turn, and not by asking again and again.
	db.writer.SetMaxOpenConns(1)
	return db, nil
}

// How connections are opened: never to make the file; for one that writes with transactions
// that lock at their beginning, since one that has only read before it writes could not
// wait for another writer; synced at each commit, which alone survives a loss of power.
const (
	reads  = "?mode=ro&_pragma=busy_timeout(1000)&_pragma=trusted_schema(0)"
	writes = "?mode=rw&_txlock=immediate&_pragma=busy_timeout(1000)&_pragma=journal_mode(WAL)" +
		"&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_pragma=trusted_schema(0)"
)

// address is a file as the driver is told of it.
func address(path, how string) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
	if !strings.HasPrefix(u.Path, "/") { // C:/tasks.db
		u.Path = "/" + u.Path
	}
	return u.String() + how
}

// Path is the absolute path of the file, without links.
func (db *DB) Path() string { return db.path }

// Close closes the database. What is recorded is durable without it.
func (db *DB) Close() error {
	return errors.Join(db.reader.Close(), db.writer.Close(), db.locks.Close())
}

// write does something in one transaction, which nobody else can come between. If do
// returns an error, or panics, nothing has changed.
func (db *DB) write(ctx context.Context, do func(context.Context, *sql.Tx, Layout) error) error {
	return db.transact(ctx, db.writer, migrated(do))
}

// read shows do the database as it is at one moment, and holds up nobody.
func (db *DB) read(ctx context.Context, do func(context.Context, *sql.Tx, Layout) error) error {
	return db.transact(ctx, db.reader, migrated(do))
}

func migrated(do func(context.Context, *sql.Tx, Layout) error) func(context.Context, *sql.Tx, Layout) error {
	return func(ctx context.Context, tx *sql.Tx, l Layout) error {
		if l == none {
			return errors.New("it has no schema of this program: migrate it first")
		}
		return do(ctx, tx, l)
	}
}

// transact names the database in errors.
func (db *DB) transact(ctx context.Context, on *sql.DB, do func(context.Context, *sql.Tx, Layout) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	tx, l, err := db.begin(ctx, on)
	if err != nil {
		return db.about(err)
	}
	defer tx.Rollback() // after a commit it does nothing
	if err = do(ctx, tx, l); err == nil {
		err = tx.Commit()
	}
	return db.about(err)
}

// begin begins with the version each time: another process may migrate the database while
// this one has it open. It waits for others, who may be suspended in the middle of a change.
func (db *DB) begin(ctx context.Context, on *sql.DB) (tx *sql.Tx, l Layout, err error) {
	for first := true; ; first = false {
		if tx, err = on.BeginTx(ctx, &sql.TxOptions{ReadOnly: on == db.reader}); err == nil {
			if l, err = layoutOf(ctx, tx); err == nil {
				return tx, l, nil
			}
			_ = tx.Rollback() // err says more
		}
		if !is(err, busy) {
			return nil, none, err
		}
		select {
		case <-db.ended:
			return nil, none, err
		case <-ctx.Done():
			return nil, none, context.Cause(ctx)
		default:
		}
		if first && db.Waits != nil {
			db.Waits()
		}
	}
}

// Codes of SQLite; the bits above the eighth say more.
const busy, readonly, cantOpen = 5, 8, 14

func is(err error, codes ...int) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok && slices.Contains(codes, e.Code()&0xff)
}

// about is an error about what is in the database.
func (db *DB) about(err error) error {
	if err != nil {
		err = fmt.Errorf("sqlite: %s: %w", db.path, err)
	}
	return err
}

// Check has SQLite look at the whole database, and at the record: its numbers have no gap,
// and each can be read. nil = all is well. That each loop stands where its events lead needs
// no look: it is nowhere else.
func (db *DB) Check(ctx context.Context) error {
	return db.read(ctx, func(ctx context.Context, tx *sql.Tx, _ Layout) error {
		for _, one := range []struct{ what, query string }{
			{"integrity_check", "SELECT group_concat(integrity_check, '; ') FROM pragma_integrity_check WHERE integrity_check <> 'ok'"},
			{"foreign_key_check", "SELECT group_concat(\"table\", '; ') FROM pragma_foreign_key_check"},
			{"the record has a gap", "SELECT max(seq) || ' numbers, ' || count(*) || ' events' FROM ralph_log HAVING max(seq) <> count(*)"},
			{"records that are no JSON", "SELECT group_concat(seq, '; ') FROM ralph_log WHERE NOT json_valid(record)"},
		} {
			var found sql.NullString
			err := tx.QueryRowContext(ctx, one.query).Scan(&found)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return fmt.Errorf("%s: %w", one.what, err)
			}
			if found.Valid {
				return fmt.Errorf("%s: %s", one.what, progress.PrintableLine(found.String))
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
