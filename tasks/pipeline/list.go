package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// List is the [Source] of a list: a tasks.md, a prd.json or what else package tasks has
// a source for, see [tasks.OpenSource]. Each item is a definition: its key is the ID,
// its text the title, and what the list says of it the description; a story's
// acceptance criteria are its completion's. That a task is done is written by ticking
// its box, or by making its story pass; nothing else is written.
//
// The order is that of [tasks.InOrder], in which an item waits for its parts and for
// what it comes after. Items marked [P] that follow each other below the same heading
// are a group: they do not wait for each other otherwise. Any other item is a group of
// its own. The items of a group wait for all groups before it. Stories have no such
// mark and come one after the other. In the tasks of Taskmaster and of Backlog.md
// people state what waits for what, so these wait for that alone.
//
// It is a value and keeps nothing; its methods may be called concurrently if those of
// its Source may be.
type List struct {
	// Source is one of package tasks, such as a [tasks.ListFile], or one of your own with
	// a method Tick(key string) error.
	//
	// Where it has the methods Filename() string and Mark(key string, text []byte)
	// ([]byte, error), as those of package tasks have, its marks belong into the commits,
	// see [InCommit]; with FilenameOf(key string) string each item may be in a file of its
	// own.
	Source tasks.Source
}

// A ticker can be told that an item is done. Without that a list would call open what
// is done, and the next run would do it again.
type ticker interface{ Tick(key string) error }

var (
	_          Source   = List{}
	_          InCommit = List{}
	_, _, _, _ ticker   = tasks.ListFile{}, tasks.PRDFile{}, tasks.TaskmasterFile{}, tasks.Backlog{}
)

// Read implements [Source]. The dependencies are what keeps the order: the items of the
// group before, and where those are all done already, earlier ones that are open; and
// an item's parts, and what it comes after. The order of a list is what its author has
// thought of, so only items that are marked for it leave it.
func (l List) Read(ctx context.Context) ([]spec.Definition, error) {
	if _, ok := l.Source.(ticker); !ok {
		return nil, fmt.Errorf("pipeline: a list of %T cannot be told what is done: it needs a method Tick(key string) error", l.Source)
	}
	items, err := l.Source.Items(ctx)
	if err != nil {
		return nil, err
	}
	items = tasks.InOrder(items)
	all := defineAll(items)
	switch l.Source.(type) {
	case tasks.TaskmasterFile, tasks.Backlog:
		return all, nil
	}
	closed := map[string]bool{}
	for _, it := range items {
		closed[it.Key] = it.Done
	}
	var waits []string // of the group that is next
	n := 0
	for _, group := range groups(items) {
		var open, ids []string
		for _, it := range group {
			all[n].Dependencies = union(waits, all[n].Dependencies)
			ids = append(ids, it.Key)
			if !it.Done {
				open = append(open, it.Key)
			}
			n++
		}
		if len(open) > 0 {
			waits = ids
			continue
		}
		waits = append(ids, slices.DeleteFunc(slices.Clone(waits), func(id string) bool { return closed[id] })...)
	}
	return all, nil
}

// union is a, and what of b is not in it; neither is written to.
func union(a, b []string) []string {
	for _, id := range b {
		if !slices.Contains(a, id) {
			a = append(slices.Clip(a), id)
		}
	}
	return a
}

// groups are the items that may be worked on at the same time, in their order. A
// heading between two marked items ends the group: the mark is about what stands
// together.
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

// defineAll are the definitions of items, with what each waits for by itself. They do not
// change as the items are worked off: an item is described as it is when its turn comes,
// with its parts done.
func defineAll(items []tasks.Item) []spec.Definition {
	open, done := slices.Clone(items), slices.Clone(items)
	whole, parts := map[string]int{}, map[string][]tasks.Item{}
	for i, it := range items {
		open[i].Done, done[i].Done = false, true
		whole[it.Key] = i
		if it.Parent != "" {
			parts[it.Parent] = append(parts[it.Parent], done[i])
		}
	}
	waiting := tasks.Waiting(open)
	var all []spec.Definition
	for _, it := range items {
		d := define(it)
		kin := parts[it.Key]
		if i, ok := whole[it.Parent]; ok && it.Parent != "" && items[i].Parent != it.Key {
			kin = append(slices.Clip(kin), done[i])
		}
		if len(kin) > 0 {
			d.Description = bare(it).DescribeIn(kin)
		}
		for _, on := range waiting[it.Key] {
			d.Dependencies = append(d.Dependencies, on.Key)
		}
		all = append(all, d)
	}
	return all
}

// define is the definition of an item. A story has criteria and a checkbox has none;
// then nothing is made up for it, and the item's text is what is asked for.
func define(it tasks.Item) spec.Definition {
	d := spec.Definition{ID: it.Key, Title: cmp.Or(it.Text, it.Key), Status: spec.StatusTodo, Priority: it.Priority}
	if it.Done {
		d.Status = spec.StatusDone
	}
	criteria := slices.DeleteFunc(slices.Clone(it.Acceptance), func(text string) bool { return strings.TrimSpace(text) == "" })
	if len(criteria) > 0 {
		d.Completion = &spec.Completion{Outcome: d.Title, Acceptance: criteria}
	}
	d.Description = bare(it).Describe()
	return d
}

// bare is an item without what is told of it elsewhere, or changes: a description that
// said how far the work is would be another one in each run.
func bare(it tasks.Item) tasks.Item {
	it.Acceptance, it.Doing = nil, false
	return it
}

// find is the item of a task as it is now. A list that cannot be read any more is a
// [*LostError].
func (l List) find(ctx context.Context, id string) (it tasks.Item, ok bool, err error) {
	items, err := l.Source.Items(ctx)
	i := slices.IndexFunc(items, func(it tasks.Item) bool { return it.Key == id })
	switch {
	case ctx.Err() != nil:
		return it, false, context.Cause(ctx)
	case err != nil:
		return it, false, &LostError{err}
	case i < 0:
		return it, false, nil
	}
	return items[i], true, nil
}

// Take implements [Source]: an item that is in the list and open can be taken. Nothing
// is written for it, since a checkbox has no third state: two runs on one list would
// both take the same item.
func (l List) Take(ctx context.Context, id string) (bool, error) {
	it, ok, err := l.find(ctx, id)
	return ok && !it.Done, err
}

// Write implements [Source]. Only that a task is done is written; a list has no place
// for anything else, and no error is made of that.
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
// An item is a small piece of work; one that three iterations do not finish wants a
// person more than a fourth.
func (l List) Task(d spec.Definition, _ string) (ralph.Task, error) {
	t := ralph.Task{Title: d.Title, Prompt: d.Description, Limits: ralph.Limits{Iterations: 3}}
	if d.Completion != nil {
		t.Acceptance = d.Completion.Acceptance
	}
	return t, nil
}

// Prompt makes a [Pipeline.Prompt] of a template as [tasks.Session] has it. Values has
// what it names beside CURRENT_TASK and ITERATION_NUMBER, and may have HOW_DONE and
// DOCUMENTS; else these are what the source says. A template that names anything else
// is an error when the first prompt is made. Values must not be changed afterwards.
func (l List) Prompt(template string, values map[string]string) func(Stage) func(context.Context, ralph.State) (string, error) {
	return func(st Stage) func(context.Context, ralph.State) (string, error) {
		return func(_ context.Context, s ralph.State) (string, error) {
			all := with(values, "CURRENT_TASK", st.Definition.Description)
			all["ITERATION_NUMBER"] = strconv.Itoa(s.Iteration)
			for name, value := range l.told(st.Definition, values["SPEC_PATH"]) {
				if _, given := values[name]; !given {
					all[name] = value
				}
			}
			text, err := ralph.Template(template, all)
			if err != nil {
				return "", fmt.Errorf("pipeline: prompt: %s", strings.TrimPrefix(err.Error(), "ralph: ")) // one package is enough
			}
			s.Task.Prompt = text
			return s.Prompt(), nil
		}
	}
}

// told is what the source says of a task: how it is marked as done, and what there is
// to read.
func (l List) told(d spec.Definition, path string) map[string]string {
	told := map[string]string{"HOW_DONE": "mark it as done where the tasks are kept", "DOCUMENTS": cmp.Or(path, "spec.md") + ", if it is there"}
	if list := strings.Join(tasks.Documents(l.FilenameOf(d.ID)), ", "); list != "" {
		told["DOCUMENTS"] = list
	}
	if src, ok := l.Source.(interface{ HowDone(tasks.Item) string }); ok {
		told["HOW_DONE"] = src.HowDone(tasks.Item{ID: d.ID, Key: d.ID, Text: d.Title})
	}
	return told
}

// Filename implements [InCommit]; "" for a Source of your own without this method.
func (l List) Filename() string {
	if src, ok := l.Source.(interface{ Filename() string }); ok {
		return src.Filename()
	}
	return ""
}

// FilenameOf is the absolute path of the file that has a task, see [InCommit].
func (l List) FilenameOf(id string) string {
	if src, ok := l.Source.(interface{ FilenameOf(key string) string }); ok {
		return src.FilenameOf(id)
	}
	return l.Filename()
}

// Mark implements [InCommit]. The item is found by its key, wherever it stands.
func (l List) Mark(id string, text []byte) ([]byte, error) {
	src, ok := l.Source.(interface {
		Mark(key string, text []byte) ([]byte, error)
	})
	if !ok {
		return nil, fmt.Errorf("pipeline: a list of %T has no text", l.Source)
	}
	marked, err := src.Mark(id, text)
	if _, none := errors.AsType[*tasks.NoItemError](err); none {
		return nil, &AlteredError{id, "removed"}
	} else if err != nil {
		return nil, fmt.Errorf("pipeline: %s: %w", l.FilenameOf(id), err)
	}
	return marked, nil
}
