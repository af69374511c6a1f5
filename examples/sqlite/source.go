package sqlite

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// A Source gives the tasks of a database to a pipeline. Several runs, of any number of
// processes of this machine, may work on one database, each with a Source and a workspace of
// its own.
//
// A task that was taken is held by a lock of the operating system, in a file beside the
// database, until it is given back as todo, done or failed, until Close, or until the process
// ends, however that happens. So a task whose taker was killed can be taken at once, and one
// whose taker lives, even if it is suspended for days, cannot: a time after which a taker
// counts as dead would be wrong for the one or the other. The locks work on one machine
// alone, and so does SQLite.
//
// Its methods may be called concurrently. Its fields must not be changed, and it must not be
// copied, once it is used.
type Source struct {
	DB *DB // required
	// Methods are known besides the built-in ones, see [spec.Methods].
	Methods spec.Methods
	// What tells others what takes the tasks, in a few words. "" = the program.
	What string

	mu      sync.Mutex
	owner   string // of the tasks that are taken, in the database
	was     map[string]spec.Definition
	altered map[string]string // says what somebody else has done, by task; it is never taken back
	held    map[string]*progress.Hold
}

var (
	_ pipeline.Source  = (*Source)(nil)
	_ pipeline.Watcher = (*Source)(nil)
)

// Read implements [pipeline.Source]. All tasks must be valid.
func (s *Source) Read(ctx context.Context) ([]spec.Definition, error) {
	defs, err := s.DB.Definitions(ctx)
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, d := range defs {
		if err := d.Validate(s.Methods); err != nil {
			problems = append(problems, fmt.Errorf("task %q: %w", d.ID, err))
		}
	}
	if len(problems) > 0 {
		return nil, s.DB.about(errors.Join(problems...))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.was, s.altered = map[string]spec.Definition{}, map[string]string{}
	for _, d := range defs {
		s.was[d.ID] = d
	}
	if s.held == nil {
		s.held, s.owner = map[string]*progress.Hold{}, rand.Text()
	}
	return slices.Clone(defs), nil
}

// isOpen reports whether a task is to be worked on. What a run has set to running, and
// nobody holds, is what a run that was killed has left. One without an owner is none of ours.
func isOpen(s spec.Status) bool {
	return slices.Contains([]spec.Status{spec.StatusTodo, spec.StatusRunning}, s.Effective())
}

// Take implements [pipeline.Source]: a task that is open, is as it was read, and is held by
// nobody, is set to running and held. What another program has in progress is left to it.
func (s *Source) Take(ctx context.Context, id string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, known := s.was[id]
	if !known || !isOpen(was.Status) {
		return false, nil
	}
	had := s.held[id] != nil
	mine, err := s.hold(id)
	if err != nil || !mine {
		return false, err
	}
	if !had && was.Status.Effective() == spec.StatusRunning { // a run that was killed had it
		err = s.endLeft(ctx, id)
	}
	if err != nil {
		s.letGo(id)
		return false, err
	}
	err = s.set(ctx, id, pipeline.Update{Status: spec.StatusRunning, Time: time.Now().UTC()}, func(now spec.Definition, owner string) string {
		if !isOpen(now.Status) || now.Status.Effective() == spec.StatusRunning && owner == "" { // another run or program has had it since
			return "set to " + string(now.Status)
		}
		return ""
	})
	if err == nil {
		return true, nil
	}
	s.letGo(id)
	if _, altered := errors.AsType[*pipeline.AlteredError](err); altered {
		return false, nil
	}
	return false, err
}

// endLeft ends what a run that was killed has left running for a task, on Linux: it would go
// on with what is another run's now, maybe in the same folder.
func (s *Source) endLeft(ctx context.Context, id string) error {
	var loops []string
	err := s.DB.read(ctx, func(ctx context.Context, tx *sql.Tx, _ Layout) (err error) {
		loops, err = strs(ctx, tx, "SELECT DISTINCT loop FROM ralph_log WHERE task = ?", id)
		return err
	})
	for _, loop := range loops {
		// A loop whose start is not on record has left nothing that is known.
		if is, bad := s.DB.State(ctx, loop); err == nil && bad == nil && is.Running && is.Mark != "" {
			if _, err = ralph.EndLeft(is.Mark); errors.Is(err, errors.ErrUnsupported) {
				err = nil
			}
		}
	}
	return err
}

// hold takes the lock of a task; false = somebody else has it.
func (s *Source) hold(id string) (bool, error) {
	if s.held[id] != nil {
		return true, nil
	}
	h, err := s.DB.locks.Hold(id, cmp.Or(s.What, os.Args[0]))
	if _, taken := errors.AsType[*progress.HeldError](err); taken {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("sqlite: task %q: %w", id, err)
	}
	s.held[id] = h
	return true, nil
}

// letGo lets others have a task.
func (s *Source) letGo(id string) {
	_ = s.held[id].Close() // it is removed and unlocked; what fails at that ends with the process
	delete(s.held, id)
}

// Write implements [pipeline.Source]. With todo, done, failed or skipped the task is given
// back: others may take it if it is open.
func (s *Source) Write(ctx context.Context, id string, u pipeline.Update) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ours := s.held[id] != nil
	if mine, err := s.hold(id); err != nil || !mine { // an earlier run may have taken it: it is held as long as it is written
		return cmp.Or(err, error(&pipeline.AlteredError{ID: id, What: "taken"}))
	}
	shows := s.was[id].Status
	err := s.set(ctx, id, u, func(now spec.Definition, owner string) string {
		switch {
		case ours && owner != s.owner:
			return "taken" // somebody has removed the locks
		case cmp.Or(now.Status, spec.StatusTodo) != cmp.Or(shows, spec.StatusTodo):
			return "set to " + string(now.Status)
		}
		return ""
	})
	if !ours || err == nil && u.Status != spec.StatusRunning {
		s.letGo(id)
	}
	return err
}

// set writes an update in a transaction of its own.
func (s *Source) set(ctx context.Context, id string, u pipeline.Update, other func(now spec.Definition, owner string) string) error {
	var now spec.Definition
	err := s.DB.write(ctx, func(ctx context.Context, tx *sql.Tx, l Layout) (err error) {
		now, err = s.setIn(ctx, tx, l, id, u, other)
		return err
	})
	if err == nil {
		s.was[id] = now
	}
	return err
}

// setIn writes an update. What somebody else has changed is looked for in the same
// transaction: in between there is no time. other says what else there is.
func (s *Source) setIn(ctx context.Context, tx *sql.Tx, l Layout, id string, u pipeline.Update, other func(now spec.Definition, owner string) string) (now spec.Definition, err error) {
	was, known := s.was[id]
	if !known {
		return now, fmt.Errorf("there was no task %q when it was read", id)
	}
	defs, err := definitions(ctx, tx, l, id)
	if err != nil {
		return now, &pipeline.LostError{Err: s.DB.about(err)}
	}
	what := s.altered[id]
	if what == "" {
		what = changed(was, defs)
	}
	if what == "" {
		var owner sql.NullString
		if err := tx.QueryRowContext(ctx, "SELECT ralph_owner FROM tasks WHERE id = ?", id).Scan(&owner); err != nil {
			return now, err
		}
		what = other(defs[0], owner.String)
	}
	if what != "" {
		s.altered[id] = what
		return now, &pipeline.AlteredError{ID: id, What: what}
	}
	owner := ""
	if u.Status == spec.StatusRunning {
		owner = s.owner
	}
	now = u.Apply(defs[0])
	return now, put(ctx, tx, now, owner)
}

// changed says what somebody else has done to a task, but for its status; "" = nothing.
func changed(was spec.Definition, now []spec.Definition) string {
	switch {
	case len(now) == 0:
		return "removed"
	case len(now) > 1:
		return "given twice"
	}
	if keys := was.Changed(now[0]); len(keys) > 0 {
		return "changed (" + strings.Join(keys, ", ") + ")"
	}
	return ""
}

// Changes implements [pipeline.Watcher]. What other runs do to tasks that this one has not
// taken is no change: Take says whether they can still be had.
func (s *Source) Changes(ctx context.Context) (altered map[string]string, added []spec.Definition, err error) {
	defs, err := s.DB.Definitions(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, err
		}
		return nil, nil, &pipeline.LostError{Err: err}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := map[string][]spec.Definition{}
	for _, d := range defs {
		if now[d.ID] = append(now[d.ID], d); s.was[d.ID].ID == "" {
			added = append(added, d)
		}
	}
	altered = map[string]string{}
	for id, was := range s.was {
		what := cmp.Or(s.altered[id], changed(was, now[id]))
		if what == "" && s.held[id] != nil && now[id][0].Status != was.Status {
			what = "set to " + string(now[id][0].Status)
		}
		if what != "" {
			s.altered[id], altered[id] = what, what
		}
	}
	return altered, added, nil
}

// Close lets others have the tasks that are still held: those of a run that was
// interrupted. They stay running in the database, and the next run goes on with them. What
// somebody else has changed is todo again, for it is another task.
func (s *Source) Close() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.held {
		if s.altered[id] != "" && err == nil {
			err = s.DB.write(context.Background(), func(ctx context.Context, tx *sql.Tx, _ Layout) error {
				_, err := tx.ExecContext(ctx, "UPDATE tasks SET status = ?, ralph_owner = '' WHERE id = ? AND ralph_owner = ? AND status = ?",
					string(spec.StatusTodo), id, s.owner, string(spec.StatusRunning))
				return err
			})
		}
		s.letGo(id)
	}
	return err
}
