package tasks

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Backlog is the [Source] for a folder of Backlog.md: one Markdown file for each task in
// its folder tasks, with front matter. It is a value and keeps nothing; its methods may be
// called concurrently.
//
// In the front matter are an id, a title, a status, and there may be dependencies, a
// parent_task_id, a priority and an ordinal. A task is done if its status is a word for
// that; one that is not known is done if it is the last of the statuses in config.yml, and
// begun if it stands between the first and the last. The sections Description and
// Implementation Plan, and those of the author's own, are the item's Details, the boxes of
// Acceptance Criteria and Definition of Done its Acceptance.
//
// Items has the tasks in the order of Backlog.md's board: by ordinal, those without one
// last, then by priority, then by the numbers in their ids (task-2 before task-10); but
// none before its parts and what it depends on. What is done and has been moved to the
// folder completed is among them, as done. The folders archive and drafts are not read; a
// task that depends on one of these does not wait for it.
type Backlog struct {
	// Path of the folder, which is called backlog or .backlog, or of its folder tasks. At
	// most 10,000 files are read in each of its folders, and 64 MiB of all. Links that lead
	// out of the folder are not followed.
	Path string
	// Done is the status that is written. "" = the last of the statuses in config.yml
	// that is a word for done, else the last of them, else "Done".
	Done string
	// Statuses are the words for how far a task is, in their order. nil = those in
	// config.yml, each time that it is read; empty = none.
	Statuses []string
}

const (
	// files, of each folder
	maxBacklog = 10_000
	// bytes of all files, so that a folder which is something else is refused before it
	// fills the memory
	maxBacklogText = 64 << 20
)

// A backlogTask is a file of a folder. Not each is a task: a README that lies among
// them is one whose why says so.
type backlogTask struct {
	Item
	name  string // of the file, with its folder: tasks/task-1.md
	moved bool   // it is in the folder completed
	// the place on the board, which people give by dragging; nil = none
	ordinal *float64
	// the priority; smaller comes first
	order float64
	why   Why
	note  string
}

// A backlogFolder is a folder that has been read. It is read anew for each question, so
// nothing in it is shared.
type backlogFolder struct {
	dir      string // in which the folder tasks is
	statuses []string
	done     string         // the status that is written
	tasks    []*backlogTask // by the numbers in their ids
	notes    statusNotes
}

// Items reads the folder. It is an error if it is missing or is no folder of
// Backlog.md, if one of its files cannot be read, or if there is no task in it. It is
// no error that all are done. The error names the file that cannot be read; to leave it
// out would have others begin that wait for it.
func (b Backlog) Items(ctx context.Context) ([]Item, error) {
	f, err := b.read(ctx)
	if err != nil {
		return nil, err
	}
	if len(f.tasks) == 0 {
		return nil, fmt.Errorf("tasks: %s: there is no task in it: make one with \"backlog task create\"", filepath.Join(f.dir, "tasks"))
	}
	return f.items(), nil
}

// Check says of each Markdown file of the folder tasks, and of each task in completed,
// in the order of their ids, whether it is a task, and why not. Detail begins with the
// name of the file. A dependency that is not in the folder is told of here only: it
// does not hold the task back, since what is archived is gone for good. The error is
// for a folder that cannot be read.
func (b Backlog) Check(ctx context.Context) ([]Finding, error) {
	f, err := b.read(ctx)
	if err != nil {
		return nil, err
	}
	items, keys := f.items(), make(map[string]*backlogTask)
	waiting, circles := Waiting(items), inCircles(items)
	for _, t := range f.tasks {
		keys[t.Key] = t
	}
	var findings []Finding
	for _, t := range f.tasks {
		details := []string{t.name}
		if t.note != "" {
			details = append(details, t.note)
		}
		found := Finding{Item: t.Item, Why: t.why}
		if waits := waiting[t.Key]; found.Why == "" && len(waits) > 0 {
			found.Why = WhyWaits
			details = append(details, "for "+listed(waits))
		}
		for _, key := range t.After {
			if keys[key] == nil && !t.Done {
				details = append(details, fmt.Sprintf("it depends on %s, which is not in this folder: not waited for", key))
			}
		}
		found.Detail = joined(strings.Join(details, "; "), circles[t.Key])
		findings = append(findings, found)
	}
	return findings, nil
}

// items are the tasks in the order in which they are to be worked on. They are sorted
// before they are put in order, so that the board decides whatever parts and
// dependencies leave open.
func (f *backlogFolder) items() (items []Item) {
	for _, t := range slices.SortedStableFunc(slices.Values(f.tasks), onBoard) {
		if t.why == "" {
			items = append(items, t.Item)
		}
	}
	return InOrder(items)
}

// Tick gives the task with this key the status Done: one value in the front matter of
// its file, in the quotes that are there. All other bytes stay; a status that is
// missing is added. The file is replaced as a whole, and what others write at the same
// time stays. It must be a regular file without other hard links, and belong to this
// user, to root or to the folder's owner. If the task is done already, nothing is
// written. If there is no such task, the error is a *[NoItemError]. The body is left
// alone: the boxes of its criteria are for the agent to tick, who knows which are met.
func (b Backlog) Tick(key string) error {
	path, err := b.find(key)
	if err != nil {
		return err
	}
	if path == "" {
		return &NoItemError{Path: b.Path, Key: key, item: "task"}
	}
	return rewrite("task", path, func(text []byte) ([]byte, error) { return b.mark(path, key, text) })
}

// Mark returns a copy of the text of a task's file in which the task is done. It
// touches no file, but reads config.yml if Done or Statuses are not set. If it is not
// the file of that task, the error is a *[NoItemError].
func (b Backlog) Mark(key string, text []byte) ([]byte, error) {
	return b.mark(b.Path, key, text)
}

// A key that ends in #2 is of the second file with one id; in its text stands the id
// alone.
func (b Backlog) mark(path, key string, text []byte) ([]byte, error) {
	f := b.configured(b.folder())
	t := f.task("", text)
	switch {
	case t.ID == "" || t.ID != key && !strings.HasPrefix(key, t.ID+"#"):
		return nil, &NoItemError{Path: path, Key: key, item: "task"}
	case t.Done:
		return slices.Clone(text), nil
	}
	head, _ := readFront(text)
	ticked, err := head.set("status", f.done)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return ticked, nil
}

// Filename is "": each task has a file of its own, see [Backlog.FilenameOf].
func (b Backlog) Filename() string { return "" }

// FilenameOf is the absolute path of the file of the task with this key; "" = there is
// none, or the folder cannot be read. It looks anew each time: the title is a part of the
// file's name, and may change.
func (b Backlog) FilenameOf(key string) string {
	path, _ := b.find(key)
	return path
}

// HowDone says how a task is marked as done, for the agent: half a sentence that begins
// with a verb. It names the file, for the agent may not have the command line of
// Backlog.md.
func (b Backlog) HowDone(it Item) string {
	where := cmp.Or(b.FilenameOf(it.Key), fmt.Sprintf("the file of %s in %s", it.Key, b.Path))
	return fmt.Sprintf("set status to %q in the front matter of %s", b.configured(b.folder()).done, where)
}

// Resolve returns a Backlog that means the same from now on, however its config.yml
// changes: Path is the folder that holds the folder tasks, with symbolic links
// resolved, and Done and Statuses are set. Otherwise an agent could finish all tasks
// by one line: a list of statuses whose last is "To Do".
func (b Backlog) Resolve(ctx context.Context) (Backlog, error) {
	if ctx.Err() != nil {
		return b, context.Cause(ctx)
	}
	path, err := followed(b.Path)
	if err != nil {
		return b, err
	}
	b.Path = path
	dir := b.folder()
	if dir == "" {
		return b, b.missing()
	}
	if absolute(b.Path) != dir { // it is the path of its folder tasks
		b.Path = dir
	}
	f := b.configured(dir)
	b.Done, b.Statuses = f.done, append([]string{}, f.statuses...)
	return b, nil
}
