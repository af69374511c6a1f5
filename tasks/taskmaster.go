package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/ralph-loop/ralph/internal/doc"
)

// TaskmasterFile is the [Source] of the tasks of Taskmaster (task-master-ai), which are
// in .taskmaster/tasks/tasks.json, or in tasks/tasks.json of older projects. It is a
// value and keeps nothing; its methods may be called concurrently.
//
// The tasks are those of one tag: {"master": {"tasks": […]}}; a file without tags has
// {"tasks": […]}. A task has an id, a title, a status, and may have a description,
// details and a testStrategy, which go into the item's Details, a priority,
// dependencies and subtasks. Subtask 1 of task 5 is 5.1; it is a part of 5, and what it
// depends on are its siblings, unless a number with a point says otherwise.
//
// Tasks that are cancelled or deferred are none, and neither are open subtasks of a
// task that is done or that is none: Taskmaster does not hand them out either.
//
// Items puts the subtasks of a task that is in progress first, then tasks of the
// highest priority ("medium" if it is not given), then those with the fewest
// dependencies, then what is first in the file, as Taskmaster does it; but never one
// before what it depends on, and all subtasks before their task.
type TaskmasterFile struct {
	// Path of the file, which has at most 4 MiB. Items follows a symbolic link, Tick
	// does not, since an agent may have put it there: resolve it once, as
	// [TaskmasterFile.Resolve] and [OpenSource] do.
	Path string
	// Tag says which tasks. "" = those of the tag that the state.json of Taskmaster
	// names as the current one, else "master", else the only one that there is; asked
	// anew each time, see [TaskmasterFile.Resolve].
	Tag string
}

// Items reads the file. It is an error if it is missing, is no regular file, is not
// Taskmaster's, has no such tag, or if there are no tasks. It is no error that all are
// done. Errors have the line and the column where something is wrong.
func (f TaskmasterFile) Items(ctx context.Context) ([]Item, error) {
	p, err := jsonReader(f.parse).load(ctx, "tasks.json", f.Path)
	if err != nil {
		return nil, err
	}
	if len(p.entries) == 0 {
		return nil, fmt.Errorf("tasks: %s: %s is empty: have Taskmaster write tasks into it (task-master parse-prd, task-master add-task), or name another tag", f.Path, p.list)
	}
	return p.items(), nil
}

// Check says of each task and subtask, in the order of the file, whether it is to be
// worked on, and why not. The error is for a file that cannot be read.
func (f TaskmasterFile) Check(ctx context.Context) ([]Finding, error) {
	return jsonReader(f.parse).check(ctx, "tasks.json", f.Path)
}

// Tags are the tags of the file, in its order. One without tags has "master" alone, as
// Taskmaster calls it.
func (f TaskmasterFile) Tags() ([]string, error) {
	return f.tags(context.Background())
}

func (f TaskmasterFile) tags(ctx context.Context) ([]string, error) {
	p, err := jsonReader(readTags).load(ctx, "tasks.json", f.Path)
	if err != nil {
		return nil, err
	}
	return tagNames(p.tags()), nil
}

// readTags reads a file of Taskmaster, but none of its tasks.
func readTags(text []byte) (*jsonText, error) {
	p, err := readJSON("task", "tasks", text)
	if err == nil {
		p.tags() // says what is wrong with them
		err = p.err
	}
	return p, err
}

// parse reads the tasks of the tag. Two of one id are no error here: versions of
// Taskmaster have written such files, and work with them.
func (f TaskmasterFile) parse(text []byte) (*jsonText, error) {
	p, err := readTags(text)
	if err != nil {
		return nil, err
	}
	p.compare, p.twins = nextInTaskmaster, true // it has written such files
	tags := p.tags()
	tag, err := f.choose(tagNames(tags))
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(tags, func(t tagged) bool { return t.name == tag })
	p.once(p.Roots[0], tag)
	p.once(tags[i].node, "tasks")
	p.read(tags[i].node.Get("tasks"))
	p.settle()
	p.stateKey, p.doneWord = "status", "done" // the words of Taskmaster
	// Taskmaster takes a task without a priority for one of medium, and a subtask for
	// as urgent as its task.
	for e := range written(p.entries) {
		if math.IsInf(e.order, 1) {
			e.order = priorityOf("medium")
		}
		for _, part := range e.parts {
			if math.IsInf(part.order, 1) {
				part.order = e.order
			}
		}
	}
	return p, p.err
}

// A tagged is the list of tasks of a tag.
type tagged struct {
	name string
	node *doc.Node // with the tasks in it
}

// tags are the lists of tasks in a file, in its order. It fails if there are two of
// master: one without a tag would hide the other.
func (p *jsonText) tags() (tags []tagged) {
	root, taken := p.Roots[0], make(map[string]bool)
	if root.Kind != doc.Map {
		return nil
	}
	bare := root.Get("tasks")
	if bare != nil && bare.Kind == doc.List {
		tags = append(tags, tagged{"master", root})
	} else {
		bare = nil
	}
	for i, key := range root.Keys {
		tasks := root.Items[i].Get("tasks")
		if tasks == nil || tasks.Kind != doc.List || taken[key.Text] {
			continue
		}
		if taken[key.Text] = true; bare != nil && key.Text == "master" {
			line, _ := p.Place(root.Key("tasks"))
			p.fail(key, "the tasks of \"master\" stand here, and tasks without a tag, which are master's too, in line %d: take out those that are not meant", line)
		}
		tags = append(tags, tagged{key.Text, root.Items[i]})
	}
	return tags
}

// once fails if a key is there twice: one program takes the first, another the last,
// and the tasks of one of the two would never be seen.
func (p *jsonText) once(n *doc.Node, name string) {
	first := n.Key(name)
	for _, key := range n.Keys {
		if key.Text == name && key != first {
			p.fail(key, "a second %q", name)
		}
	}
}

func tagNames(tags []tagged) (names []string) {
	for _, t := range tags {
		names = append(names, t.name)
	}
	return names
}

// choose says which of the tags is meant. Where that is not clear it is an error and no
// guess: tags are often branches, and the tasks of another one are another's work.
func (f TaskmasterFile) choose(tags []string) (string, error) {
	has := func(tag string) bool { return slices.Contains(tags, tag) }
	switch {
	case len(tags) == 0:
		return "", errors.New("there are no tasks of Taskmaster in it: they stand in {\"master\": {\"tasks\": […]}}, or in {\"tasks\": […]}")
	case f.Tag != "" && !has(f.Tag):
		return "", fmt.Errorf("there is no tag %q: there are %s", f.Tag, some(tags))
	case f.Tag != "":
		return f.Tag, nil
	case len(tags) == 1:
		return tags[0], nil
	}
	if current := f.current(); has(current) {
		return current, nil
	}
	if has("master") {
		return "master", nil
	}
	return "", fmt.Errorf("there are several tags, and none is the current one: say which (--tag; in Go Tag): %s", some(tags))
}

// current is the tag that Taskmaster's state.json names; "" = none, and none if it
// cannot be read: only Taskmaster's own layout has that file, and it is a convenience.
func (f TaskmasterFile) current() string {
	above := filepath.Dir(filepath.Dir(absolute(f.Path)))
	if filepath.Base(above) != ".taskmaster" {
		return ""
	}
	text, err := read("state.json", filepath.Join(above, "state.json"))
	var state struct{ CurrentTag string }
	if err != nil || json.Unmarshal(text, &state) != nil {
		return "" // it is not there in projects that have never changed their tag
	}
	return state.CurrentTag
}

// some names the first of many, quoted, since they are whatever a file says.
func some(names []string) string {
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, doc.Quote(name))
	}
	return firstFew(quoted, maxListed)
}

// nextInTaskmaster compares tasks as Taskmaster does to find the next one, so that a
// loop and a person who asks "task-master next" begin with the same.
func nextInTaskmaster(a, b *entry) int {
	begun := func(e *entry) int {
		if e.Doing && len(e.parts) > 0 {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(begun(a), begun(b)), byPriority(a, b), cmp.Compare(len(a.After), len(b.After)))
}

// Tick gives the task or subtask with this key the status "done"; that is the one value
// that changes. The file is replaced as a whole: readers see the old one or the new
// one, its mode stays, and so does what others write at the same time. It must be a
// regular file without other hard links, and belong to this user, to root or to the
// folder's owner. If the task is done already, nothing is written. If there is no such
// task, the error is a *[NoItemError]. When its last subtask is done a task stays open:
// whether the whole is done is a question of its own.
func (f TaskmasterFile) Tick(key string) error {
	return rewrite("tasks.json", f.Path, func(text []byte) ([]byte, error) { return f.Mark(key, text) })
}

// Mark returns a copy of a text of the file in which the task with this key is done. It
// touches no file, but where Tag is "" it asks state.json for the current one. If there
// is no such task, the error is a *[NoItemError].
func (f TaskmasterFile) Mark(key string, text []byte) ([]byte, error) {
	return jsonReader(f.parse).mark(f.Path, "task", key, text)
}

// Filename is the absolute path of the file; "" = none is given.
func (f TaskmasterFile) Filename() string { return absolute(f.Path) }

// HowDone says how a task is marked as done, for the agent: half a sentence that begins
// with a verb. With a tag it names that too, since tasks of several tags have the same
// ids.
func (f TaskmasterFile) HowDone(it Item) string {
	text, _ := read("tasks.json", f.Path) // without it the usual way is told
	how := jsonReader(f.parse).howDone(f.Filename(), "task", text, it)
	if p, err := readJSON("task", "tasks", text); err == nil && p.Roots[0].Has(f.Tag) {
		how += fmt.Sprintf(", below the tag %q", f.Tag)
	}
	return how
}

// Resolve returns a TaskmasterFile that means the same from now on, however its
// file and state.json change: Path is the file that a symbolic link leads to, and
// Tag is set. Without it an agent, or a person in another window, who changes the
// current tag changes what the session works on.
func (f TaskmasterFile) Resolve(ctx context.Context) (TaskmasterFile, error) {
	path, err := followed(f.Path)
	if err != nil {
		return f, err
	}
	f.Path = path
	tags, err := f.tags(ctx)
	if err != nil {
		return f, err
	}
	if f.Tag, err = f.choose(tags); err != nil {
		err = fmt.Errorf("tasks: %s: %w", f.Path, err)
	}
	return f, err
}
