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
	"unicode/utf8"

	"github.com/ralph-loop/ralph/internal/doc"
	"github.com/ralph-loop/ralph/internal/file"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// File is the [Source] of a file of definitions, see [spec.File]. People, agents and
// other programs may write to it at any time: what it says later never changes what
// was read, it is only compared with it, and each write changes the bytes of one
// task in the file as it is then. Only one run may work on a file at a time; two would
// take a task that was left running both.
//
// A File must not be copied once it is used.
//
// Its methods may be called concurrently.
type File struct {
	// Path of the file. It is written through no symbolic link: resolve it before.
	Path string
	// Methods are known besides the built-in ones, see [spec.Methods].
	Methods spec.Methods

	mu       sync.Mutex
	read     bool
	was      []spec.Definition      // as they were read, and what AddFollowups has added
	shows    map[string]spec.Status // what the file says if nobody else has written it
	altered  map[string]string
	now      *spec.File // as we have written it last; nil = read it again
	warnings []string
}

var (
	_ Source  = (*File)(nil)
	_ Watcher = (*File)(nil)
)

// Filename is the absolute path of the file.
func (f *File) Filename() string {
	abs, _ := filepath.Abs(f.Path) // fails only if the current folder is gone
	return cmp.Or(abs, f.Path)
}

// Read reads the file, which must be valid, see [spec.File.Validate]. From then on,
// what others write into the file is told apart from what the run writes. A file that
// is not valid is refused as a whole: half of a plan is none.
func (f *File) Read(ctx context.Context) ([]spec.Definition, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	// It is read without a lock: a file is replaced as a whole, so there is no half of
	// one.
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

// Warnings are those of the file as it was read, see [spec.File].
func (f *File) Warnings() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.warnings)
}

// Changes implements [Watcher].
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

// look reads the file as it is now, and notes what somebody else has done to it.
//
// Each write changes the bytes of one task, so what this File wrote last is known; if
// the file still has exactly those bytes, nobody else was there, and it need not be
// read again.
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
	// An ID may be given twice by now: then nobody can tell which task it is.
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

// differs says what somebody else has done to a task, "" = nothing. The status counts,
// too: somebody who sets a running task to done has decided something.
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
// running. That it says "running" from then on is how another program, or a person,
// sees that it is being worked on.
func (f *File) Take(ctx context.Context, id string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	// What was done when it was read is not taken, even if somebody opens it again
	// meanwhile: that is for the next run.
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
// error; of the time and the metadata what cannot be written without changing more
// than it stays as it is.
func (f *File) Write(ctx context.Context, id string, u Update) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.set(ctx, id, u.Status, func(now *spec.File) error {
		// An error here would keep the status from being written for want of a time.
		if !u.Time.IsZero() {
			_ = now.SetUpdatedAt(id, u.Time)
		}
		if u.Iteration > 0 {
			if err := now.SetIteration(id, u.Iteration); err != nil {
				return err
			}
		}
		running, failure := json.RawMessage(nil), json.RawMessage(nil)
		if u.Running != nil {
			running, _ = json.Marshal(u.Running)
		}
		// What cannot be written here without changing more of the file is left out:
		// the record has it.
		_ = now.SetMetadata(id, metaRunning, running)
		if u.Failure != nil {
			said := *u.Failure
			said.LastOutput = lastOf(said.LastOutput, maxOutput)
			failure, _ = json.Marshal(said)
		}
		if failure != nil || u.Status == spec.StatusDone {
			_ = now.SetMetadata(id, metaFailure, failure)
		}
		return nil
	})
}

// The keys of what is ours in a definition's metadata. Everything else in there belongs to
// others, and stays.
const (
	metaRunning = "ralph"
	metaFailure = "ralph_failure"
	metaParent  = "parent"
)

// maxOutput bounds Failure.LastOutput, in bytes. It stands in a file that people read.
const maxOutput = 4 << 10

// lastOf is the end of a text that is too long, from the beginning of a rune. What an
// agent says last tells most of why it stopped.
func lastOf(text string, most int) string {
	if len(text) <= most {
		return text
	}
	at := len(text) - most
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return text[at:]
}

// set writes a status, and what more does, into one task of the file. A task that
// somebody else has altered is never written to again in this run.
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

// edit changes the file as it is now.
//
// A write fails if the file has changed since it was read; then it is read again and
// the change made anew. The pauses are random, so that two programs which write at the
// same time do not stay in step.
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
