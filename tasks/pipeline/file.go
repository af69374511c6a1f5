package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph/internal/doc"
	"github.com/ralph-loop/ralph/internal/file"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// File is the [Source] of a file of definitions, see [spec.File]. People, agents and
// other programs may write to it at any time: what it says later never changes what was
// read, it is only compared with it, and each write changes the bytes of one task in
// the file as it is then. Only one run may work on a file at a time; two would both
// take a task that an earlier run has left running.
//
// Its methods may be called concurrently. A File must not be copied once it is used.
type File struct {
	// Path of the file; it is required. Nothing is written through a symbolic link, so
	// resolve it before.
	Path string
	// Methods are known besides the built-in ones, see [spec.Methods]. nil = only
	// those.
	Methods spec.Methods

	mu   sync.Mutex
	read bool
	// was are the definitions as they were read, and what AddFollowups has added.
	was []spec.Definition
	// shows is what the file says if nobody else has written it.
	shows map[string]spec.Status
	// altered says what somebody else has done, by task. It is never taken back: a task
	// that was changed and changed again is not the one that was agreed.
	altered map[string]string
	// now is the file as we have written it last; nil = read it again.
	now      *spec.File
	warnings []string
}

var (
	_ Source  = (*File)(nil)
	_ Watcher = (*File)(nil)
)

// Filename is the absolute path of the file: with it a run knows which changes of the
// work tree are its own.
func (f *File) Filename() string {
	abs, _ := filepath.Abs(f.Path) // fails only if the current folder is gone
	return cmp.Or(abs, f.Path)
}

// Read reads the file, which must be valid, see [spec.File.Validate]. From here on it
// is known what is of others: each difference to what was read or written is theirs. A
// second Read begins anew, and forgets what was altered.
func (f *File) Read(ctx context.Context) ([]spec.Definition, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now, err := spec.Load(f.Path)
	if err != nil {
		return nil, err
	}
	now.Methods = f.Methods
	if err := now.Validate(); err != nil {
		return nil, err
	}
	f.read, f.was, f.now, f.warnings = true, now.Definitions(), nil, now.Warnings
	f.shows, f.altered = map[string]spec.Status{}, map[string]string{}
	for _, d := range f.was {
		f.shows[d.ID] = d.Status
	}
	return slices.Clone(f.was), nil
}

// Warnings are those of the file as it was read, see [spec.File]; nil before Read.
func (f *File) Warnings() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.warnings)
}

// Changes implements [Watcher]. It reads the file, and parses it only if somebody else
// has written it. A file that cannot be read or parsed any more is a [*LostError].
func (f *File) Changes(ctx context.Context) (altered map[string]string, added []spec.Definition, err error) {
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now, err := f.look()
	if err != nil {
		return nil, nil, err
	}
	for _, d := range now.Definitions() {
		if _, known := f.shows[d.ID]; !known {
			added = append(added, d)
		}
	}
	return maps.Clone(f.altered), added, nil
}

// look reads the file as it is now, and notes what somebody else has done to it. It is
// compared as text first: a run looks often, and parsing a long file takes longer.
func (f *File) look() (*spec.File, error) {
	if !f.read {
		return nil, fmt.Errorf("pipeline: %s was not read yet", f.Path)
	}
	text, err := file.Read("task file", f.Path, doc.MaxText)
	if err != nil {
		return nil, &LostError{err}
	}
	if f.now != nil && bytes.Equal(text, f.now.Bytes()) { // nobody has written it since we did
		return f.now, nil
	}
	now, err := spec.Parse(f.Path, text)
	if err != nil {
		return nil, &LostError{err}
	}
	now.Methods = f.Methods
	found := map[string][]spec.Definition{}
	for _, d := range now.Definitions() {
		found[d.ID] = append(found[d.ID], d)
	}
	for _, d := range f.was {
		if what := differs(d, f.shows[d.ID], found[d.ID]); what != "" && f.altered[d.ID] == "" {
			f.altered[d.ID] = what
		}
	}
	return now, nil
}

// differs says what somebody else has done to a task, "" = nothing. No status and
// "todo" are the same.
func differs(d spec.Definition, shows spec.Status, now []spec.Definition) string {
	switch {
	case len(now) == 0:
		return "removed"
	case len(now) > 1:
		return "given twice"
	}
	if keys := d.Changed(now[0]); len(keys) > 0 {
		return "changed (" + strings.Join(keys, ", ") + ")"
	}
	if is := cmp.Or(now[0].Status, spec.StatusTodo); is != cmp.Or(shows, spec.StatusTodo) {
		return "set to " + string(is)
	}
	return ""
}

// Take implements [Source]: a task that is open, and is as it was read, is set to
// running. One that is running already can be taken, for that is what a run which was
// killed has left; that is why only one run may work on a file.
func (f *File) Take(ctx context.Context, id string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	// What was done when it was read is not taken, even if somebody has opened it again
	// meanwhile: that is for the next run, which reads the task as it is then.
	if f.read && !isOpen(f.shows[id]) {
		return false, nil
	}
	err := f.set(ctx, id, spec.StatusRunning, func(now *spec.File) error {
		_ = now.SetUpdatedAt(id, time.Now())
		return nil
	})
	if _, altered := errors.AsType[*AlteredError](err); altered {
		return false, nil
	}
	return err == nil, err
}

// Write implements [Source]. The status and the iteration are written or it is an
// error. The time and the metadata are for people: of these, what cannot be written
// without changing more than it stays as it is, and the status is worth more than they
// are.
func (f *File) Write(ctx context.Context, id string, u Update) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.set(ctx, id, u.Status, func(now *spec.File) error {
		if !u.Time.IsZero() {
			_ = now.SetUpdatedAt(id, u.Time)
		}
		if u.Iteration > 0 {
			if err := now.SetIteration(id, u.Iteration); err != nil {
				return err
			}
		}
		written := u.metadata()
		for _, key := range []string{metaRunning, metaFailure} { // in this order, for the same text each time
			if value, ok := written[key]; ok {
				_ = now.SetMetadata(id, key, value)
			}
		}
		return nil
	})
}

// The keys of what is ours in a definition's metadata.
const (
	metaRunning = "ralph"
	metaFailure = "ralph_failure"
	metaParent  = "parent"
)

// metadata are the keys of a definition's metadata that an update writes, nil = it is
// removed. Keys that are not among them stay as they are.
func (u Update) metadata() map[string]json.RawMessage {
	all := map[string]json.RawMessage{metaRunning: nil}
	if u.Status == spec.StatusDone {
		all[metaFailure] = nil
	}
	if u.Running != nil {
		all[metaRunning], _ = json.Marshal(u.Running)
	}
	if u.Failure != nil {
		said := *u.Failure
		said.LastOutput = lastOf(said.LastOutput, maxOutput)
		all[metaFailure], _ = json.Marshal(said)
	}
	return all
}

// Apply returns a definition as it is after the update, for sources that keep whole
// definitions, such as a database; [File] writes the same into its file. d itself does
// not change, nor does what it points to.
func (u Update) Apply(d spec.Definition) spec.Definition {
	d.Status = u.Status
	if u.Iteration > 0 {
		d.Iteration = u.Iteration
	}
	if !u.Time.IsZero() {
		d.UpdatedAt = u.Time.UTC()
	}
	had := len(d.Metadata)
	d.Metadata = maps.Clone(d.Metadata)
	for key, value := range u.metadata() {
		switch {
		case value == nil:
			delete(d.Metadata, key)
		case d.Metadata == nil:
			d.Metadata = map[string]json.RawMessage{key: value}
		default:
			d.Metadata[key] = value
		}
	}
	if had > 0 && len(d.Metadata) == 0 { // as in a file, from which the last key takes the mapping with it
		d.Metadata = nil
	}
	return d
}

// maxOutput bounds Failure.LastOutput, in bytes: a task file is read by people, and
// often committed. All of it is on the loop's own record.
const maxOutput = 4 << 10

// lastOf is the end of a text that is too long, from the beginning of a rune. It is the
// end because that is where an agent says what came of its work.
func lastOf(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[len(text)-most:], "")
}

// set writes a status, and what more does, into one task of the file. What somebody
// else has changed is looked for in the same text that is written: in between there is
// no time.
func (f *File) set(ctx context.Context, id string, s spec.Status, more func(*spec.File) error) error {
	err := f.edit(ctx, func(now *spec.File) error {
		if _, known := f.shows[id]; !known {
			return fmt.Errorf("pipeline: there was no task %q in %s when it was read", id, f.Path)
		}
		if what := f.altered[id]; what != "" {
			return &AlteredError{id, what}
		}
		if err := now.SetStatus(id, s); err != nil {
			return err
		}
		return more(now)
	})
	if err == nil {
		f.shows[id] = s
	}
	return err
}

// tries is how often a write is tried where somebody else writes at the same time, and
// pause how long it waits at most after the first try.
const (
	tries = 10
	pause = 20 * time.Millisecond
)

// edit changes the file as it is now. A write that comes too late is tried again on
// what the other has written, at most ten times, each after a random time: writers that
// wait for the same time would meet again.
func (f *File) edit(ctx context.Context, change func(*spec.File) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for n := 1; ; n++ {
		now, err := f.look()
		f.now = nil
		if err == nil {
			err = change(now)
		}
		if err == nil {
			err = now.Save()
		}
		if err == nil {
			f.now = now
			return nil
		}
		if n == tries || !errors.Is(err, spec.ErrChanged) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(rand.N(time.Duration(n) * pause)):
		}
	}
}
