package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// List is the [Source] of a list: a tasks.md or a prd.json, see [tasks.OpenSource].
// Each item is a definition: its key is the ID, its text the title, and what the list
// says of it the description; a story's acceptance criteria are its completion's. That
// a task is done is written by ticking its box, or making its story pass; nothing else
// is written.
//
// The order of the list is that of the work. Items marked [P] that follow each other
// below the same heading are a group, whose items do not wait for each other; any
// other item is a group of its own. The items of a group wait for all before it.
// Stories have no such mark and are one after the other.
//
// It is a plain value and may be copied. A list is rewritten by people and agents while
// the run goes on, so an item is always found by its key, and never by its line.
type List struct {
	// Source is a [tasks.ListFile], a [tasks.PRDFile], or one with a method
	// Tick(key string) error.
	Source tasks.Source
}

// A ticker can write that an item is done, which is all that a list has to say.
type ticker interface{ Tick(key string) error }

var (
	_    Source   = List{}
	_    InCommit = List{}
	_, _ ticker   = tasks.ListFile{}, tasks.PRDFile{}
)

// Read implements [Source]. The dependencies are what keeps the order: the items of
// the group before, and where those are all done already, earlier ones that are open.
func (l List) Read(ctx context.Context) ([]spec.Definition, error) {
	// Found out at the start, and not when the first task is done.
	if _, ok := l.Source.(ticker); !ok {
		return nil, fmt.Errorf("pipeline: a list of %T cannot be told what is done: it needs a method Tick(key string) error", l.Source)
	}
	items, err := l.Source.Items(ctx)
	if err != nil {
		return nil, err
	}
	var all []spec.Definition
	var waits []string // of the group that is next
	for _, group := range groups(items) {
		var open, ids []string
		for _, it := range group {
			d := define(it)
			d.Dependencies = waits
			all, ids = append(all, d), append(ids, d.ID)
			if !it.Done {
				open = append(open, d.ID)
			}
		}
		if len(open) > 0 {
			waits = ids
			continue
		}
		left := slices.DeleteFunc(slices.Clone(waits), func(id string) bool {
			it, _ := byKey(items, id)
			return it.Done
		})
		waits = append(ids, left...)
	}
	return all, nil
}

// groups are the items that may be worked on at the same time, in their order. A [P] by
// itself is a group of one: there is nothing that it could be parallel to.
func groups(items []tasks.Item) [][]tasks.Item {
	var all [][]tasks.Item
	for i, it := range items {
		if i > 0 && it.Parallel && items[i-1].Parallel && it.Phase == items[i-1].Phase {
			all[len(all)-1] = append(all[len(all)-1], it)
		} else {
			all = append(all, []tasks.Item{it})
		}
	}
	return all
}

// define is the definition of an item. Acceptance criteria that are blank are left out:
// they would be shown as something to fulfil.
func define(it tasks.Item) spec.Definition {
	d := spec.Definition{ID: it.Key, Title: cmp.Or(it.Text, it.Key), Status: spec.StatusTodo, Priority: it.Priority}
	if it.Done {
		d.Status = spec.StatusDone
	}
	criteria := slices.DeleteFunc(slices.Clone(it.Acceptance), func(text string) bool { return strings.TrimSpace(text) == "" })
	if it.Acceptance = nil; len(criteria) > 0 {
		d.Completion = &spec.Completion{Outcome: d.Title, Acceptance: criteria}
	}
	d.Description = it.Describe()
	return d
}

// find is the item of a task as it is now. The list is read anew each time.
func (l List) find(ctx context.Context, id string) (it tasks.Item, ok bool, err error) {
	items, err := l.Source.Items(ctx)
	switch {
	case ctx.Err() != nil:
		return it, false, context.Cause(ctx)
	case err != nil:
		return it, false, &LostError{err}
	}
	it, ok = byKey(items, id)
	return it, ok, nil
}

// byKey is the item of a key. Keys are unique in a list.
func byKey(items []tasks.Item, key string) (it tasks.Item, ok bool) {
	if i := slices.IndexFunc(items, func(it tasks.Item) bool { return it.Key == key }); i >= 0 {
		return items[i], true
	}
	return it, false
}

// Take implements [Source]: an item that is in the list and open can be taken. There is
// no mark for a list's items in progress that everybody knows, so nothing is written.
func (l List) Take(ctx context.Context, id string) (bool, error) {
	it, ok, err := l.find(ctx, id)
	return ok && !it.Done, err
}

// Write implements [Source]. Everything but done is left out: a list has a box, and no
// place for more.
func (l List) Write(ctx context.Context, id string, u Update) error {
	to, ticks := l.Source.(ticker)
	if u.Status != spec.StatusDone || !ticks {
		return nil
	}
	_, ok, err := l.find(ctx, id)
	switch {
	case err != nil:
		return err
	case !ok:
		return &AlteredError{id, "removed"}
	}
	return to.Tick(id)
}

// Task is a [Pipeline.Task] for items: three iterations, and what is in the list alone.
func (l List) Task(d spec.Definition, _ string) (ralph.Task, error) {
	t := ralph.Task{Title: d.Title, Prompt: d.Description, Limits: ralph.Limits{Iterations: 3}}
	if d.Completion != nil {
		t.Acceptance = d.Completion.Acceptance
	}
	return t, nil
}

// Prompt makes a [Pipeline.Prompt] of a template as [tasks.Session] has it. Values has
// what it names beside CURRENT_TASK and ITERATION_NUMBER.
func (l List) Prompt(template string, values map[string]string) func(Stage) func(context.Context, ralph.State) (string, error) {
	return func(st Stage) func(context.Context, ralph.State) (string, error) {
		return func(_ context.Context, s ralph.State) (string, error) {
			all := maps.Clone(values)
			if all == nil {
				all = map[string]string{}
			}
			// Ours go over the caller's: they are what makes the prompt that of this
			// task.
			all["CURRENT_TASK"], all["ITERATION_NUMBER"] = st.Definition.Description, strconv.Itoa(s.Iteration)
			text, err := ralph.Template(template, all)
			if err != nil {
				return "", fmt.Errorf("pipeline: prompt: %s", strings.TrimPrefix(err.Error(), "ralph: ")) // one package is enough
			}
			s.Task.Prompt = text
			return s.Prompt(), nil
		}
	}
}

// Filename implements [InCommit].
func (l List) Filename() string {
	var path string
	switch src := l.Source.(type) {
	case tasks.ListFile:
		path = src.Path
	case tasks.PRDFile:
		path = src.Path
	}
	if path == "" {
		return ""
	}
	abs, _ := filepath.Abs(path) // fails only if the current folder is gone
	return cmp.Or(abs, path)
}

// Mark implements [InCommit]. The item is found by its key, wherever it stands. In
// another commit it may stand on another line.
func (l List) Mark(id string, text []byte) ([]byte, error) {
	var items []tasks.Item
	tick := tasks.Tick
	switch l.Source.(type) {
	case tasks.ListFile:
		list, err := tasks.ParseList(text)
		if err != nil {
			return nil, fmt.Errorf("pipeline: %s: %w", l.Filename(), err)
		}
		items = list.All()
	case tasks.PRDFile:
		prd, err := tasks.ParsePRD(text)
		if err != nil {
			return nil, fmt.Errorf("pipeline: %s: %w", l.Filename(), err)
		}
		items, tick = prd.Items, tasks.TickPRD
	default:
		return nil, fmt.Errorf("pipeline: a list of %T has no text", l.Source)
	}
	it, ok := byKey(items, id)
	if !ok {
		return nil, &AlteredError{id, "removed"}
	}
	return tick(text, it)
}
