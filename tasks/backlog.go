package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/file"
	"github.com/ralph-loop/ralph/internal/status"
)

// Backlog is the [Source] of a folder of Backlog.md: one Markdown file for each task in
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
// none before its parts and what it depends on. What is in the folders completed, archive
// and drafts is not read; a task that depends on one of these does not wait for it.
type Backlog struct {
	// Path of the folder, which is called backlog or .backlog, or of its folder tasks. At
	// most 10,000 files are read, and 64 MiB of them.
	Path string
	// Done is the status that is written. "" = the last of the statuses in config.yml
	// that is a word for done, else the last of them, else "Done".
	Done string
}

const (
	maxBacklog     = 10_000   // files
	maxBacklogText = 64 << 20 // bytes of all files
)

// A backlogTask is a file of a folder.
type backlogTask struct {
	Item
	name    string // of the file
	ordinal *float64
	order   float64 // the priority
	why     Why
	note    string
}

// A backlogFolder is a folder that has been read.
type backlogFolder struct {
	dir      string // of the tasks
	statuses []string
	done     string         // the status that is written
	tasks    []*backlogTask // by the numbers in their ids
	notes    statusNotes
}

// Items reads the folder. It is an error if it is missing or is no folder of Backlog.md,
// if one of its files cannot be read, or if there is no task in it. That all are done is
// none.
func (b Backlog) Items(ctx context.Context) ([]Item, error) {
	f, err := b.read(ctx)
	if err != nil {
		return nil, err
	}
	if len(f.tasks) == 0 {
		return nil, fmt.Errorf("tasks: %s: there is no task in it: make one with \"backlog task create\"", f.dir)
	}
	return f.items(), nil
}

// Check says of each Markdown file of the folder, in the order of their ids, whether it is
// a task, and why not. The error is for a folder that cannot be read.
func (b Backlog) Check(ctx context.Context) ([]Finding, error) {
	f, err := b.read(ctx)
	if err != nil {
		return nil, err
	}
	waiting, keys := Waiting(f.items()), make(map[string]*backlogTask)
	for _, t := range f.tasks {
		keys[t.Key] = t
	}
	var findings []Finding
	for _, t := range f.tasks {
		details := []string{"tasks/" + t.name}
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
		found.Detail = strings.Join(details, "; ")
		findings = append(findings, found)
	}
	return findings, nil
}

// items are the tasks in the order in which they are to be worked on.
func (f *backlogFolder) items() (items []Item) {
	for _, t := range slices.SortedStableFunc(slices.Values(f.tasks), onBoard) {
		if t.why == "" {
			items = append(items, t.Item)
		}
	}
	return InOrder(items)
}

// onBoard compares tasks as the board of Backlog.md sorts them.
func onBoard(a, b *backlogTask) int {
	switch {
	case a.ordinal != nil && b.ordinal != nil && *a.ordinal != *b.ordinal:
		return cmp.Compare(*a.ordinal, *b.ordinal)
	case (a.ordinal == nil) != (b.ordinal == nil):
		if a.ordinal != nil {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.order, b.order), byNumber(a, b))
}

// byNumber compares tasks by the numbers in their ids.
func byNumber(a, b *backlogTask) int {
	return cmp.Or(slices.Compare(numbersOf(a.ID), numbersOf(b.ID)), cmp.Compare(a.name, b.name))
}

// folder is the folder of the tasks, and the one that it is in; "" = it is none of
// Backlog.md.
func (b Backlog) folder() (tasks, above string) {
	path := absolute(b.Path)
	for _, dir := range []string{filepath.Join(path, "tasks"), path} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && filepath.Base(dir) == "tasks" {
			return dir, filepath.Dir(dir)
		}
	}
	return "", ""
}

// statusesOf are those of the project's configuration; none if there is none.
func statusesOf(above string) []string {
	if above == "" {
		return nil
	}
	for _, path := range []string{filepath.Join(above, "config.yml"), filepath.Join(above, "config.yaml"), filepath.Join(filepath.Dir(above), "backlog.config.yml")} {
		text, err := read("config.yml", path)
		if err != nil {
			continue
		}
		config, _ := readFront(slices.Concat([]byte("---\n"), text, []byte("\n---\n")))
		if all := config.values("statuses"); all != nil {
			return all
		}
	}
	return nil
}

func (b Backlog) read(ctx context.Context) (*backlogFolder, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	dir, above := b.folder()
	if dir == "" {
		return nil, b.missing()
	}
	f := b.configured(above)
	f.dir = dir
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("tasks: %w", err)
	}
	defer root.Close() // it was only read
	names, err := markdownIn(root)
	if err != nil {
		return nil, fmt.Errorf("tasks: %s: %w", dir, err)
	}
	left := maxBacklogText
	for _, name := range names {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		text, err := readIn(root, name, left)
		if err != nil {
			return nil, fmt.Errorf("tasks: %s: %w", filepath.Join(dir, name), err)
		}
		left -= len(text)
		f.tasks = append(f.tasks, f.task(name, text))
	}
	slices.SortStableFunc(f.tasks, byNumber)
	f.link()
	return f, nil
}

// missing is the error of a path that is no folder of Backlog.md.
func (b Backlog) missing() error {
	switch _, err := os.Stat(b.Path); {
	case b.Path == "":
		return errors.New("tasks: no path of a folder of Backlog.md is given")
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("tasks: %s: %w: make it with \"backlog init\", or give the path of the one you have", b.Path, fs.ErrNotExist)
	}
	return fmt.Errorf("tasks: %s is no folder of Backlog.md: there is no folder tasks in it", b.Path)
}

// markdownIn are the names of the Markdown files in a folder.
func markdownIn(root *os.Root) ([]string, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close() // it was only read
	var names []string
	for {
		some, err := dir.Readdirnames(1000)
		for _, name := range some {
			if !strings.EqualFold(filepath.Ext(name), ".md") || strings.HasPrefix(name, ".") {
				continue
			}
			if info, err := root.Lstat(name); err != nil || !info.IsDir() {
				names = append(names, name)
			}
		}
		if len(names) > maxBacklog {
			return nil, fmt.Errorf("there are more than %d files in it, which is the most that is read", maxBacklog)
		}
		if len(some) == 0 {
			slices.Sort(names)
			if err != nil && !errors.Is(err, io.EOF) {
				return nil, err
			}
			return names, nil
		}
	}
}

// readIn reads a file of a folder. Links on the way do not leave that.
func readIn(root *os.Root, name string, most int) ([]byte, error) {
	f, err := file.OpenIn("", root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	return file.Rest("", f, most)
}

// meaning is what a status says in this folder.
func (f *backlogFolder) meaning(word string) (is status.Status, known bool) {
	is, known = status.Of(word)
	switch {
	case strings.EqualFold(word, f.done):
		return status.Done, true
	case known || word == "":
		return is, true
	}
	switch i := slices.IndexFunc(f.statuses, func(s string) bool { return strings.EqualFold(s, word) }); {
	case i < 0:
		return status.Todo, false
	case i == len(f.statuses)-1:
		return status.Done, true
	case i > 0:
		return status.Doing, true
	}
	return status.Todo, true
}

// done is the status that is written.
func (b Backlog) done(statuses []string) string {
	if b.Done != "" || len(statuses) == 0 {
		return cmp.Or(b.Done, "Done")
	}
	for _, word := range slices.Backward(statuses) {
		if is, _ := status.Of(word); is == status.Done {
			return word
		}
	}
	return statuses[len(statuses)-1]
}

// configured is the folder with what its configuration says.
func (b Backlog) configured(above string) *backlogFolder {
	f := &backlogFolder{statuses: statusesOf(above), notes: make(statusNotes)}
	f.done = b.done(f.statuses)
	return f
}

// Tick gives the task with this key the status Done: one value in the front matter of its
// file, in the quotes that are there. All other bytes stay; a status that is missing is
// added. The file is replaced as a whole, and what others write at the same time stays. It must
// be a regular file with one name, ours, root's or the folder's owner's. If the task is
// done already, nothing is written. If there is no such task, the error is a
// *[NoItemError].
func (b Backlog) Tick(key string) error {
	f, err := b.read(context.Background())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(f.tasks, func(t *backlogTask) bool { return t.Key == key && t.why != WhyNoFront })
	if i < 0 {
		return &NoItemError{Path: b.Path, Key: key, item: "task"}
	}
	t := f.tasks[i]
	path := filepath.Join(f.dir, t.name)
	return rewrite("task", path, func(text []byte) ([]byte, error) {
		if now := f.task(t.name, text); now.ID != t.ID {
			return nil, &NoItemError{Path: path, Key: key, item: "task"}
		}
		return b.mark(f, path, text)
	})
}

// Mark returns a copy of the text of a task's file in which the task is done. If it is
// not the file of that task, the error is a *[NoItemError].
func (b Backlog) Mark(key string, text []byte) ([]byte, error) {
	_, above := b.folder()
	f := b.configured(above)
	if id := f.task("", text).ID; id == "" || id != key && !strings.HasPrefix(key, id+"#") {
		return nil, &NoItemError{Path: b.Path, Key: key, item: "task"}
	}
	return b.mark(f, b.Path, text)
}

func (b Backlog) mark(f *backlogFolder, path string, text []byte) ([]byte, error) {
	if f.task("", text).Done {
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
// none, or the folder cannot be read.
func (b Backlog) FilenameOf(key string) string {
	f, err := b.read(context.Background())
	if err != nil {
		return ""
	}
	return f.path(key)
}

// path is the path of the file of a task; "" = there is none.
func (f *backlogFolder) path(key string) string {
	if i := slices.IndexFunc(f.tasks, func(t *backlogTask) bool { return t.Key == key }); i >= 0 {
		return filepath.Join(f.dir, f.tasks[i].name)
	}
	return ""
}

// HowDone says how a task is marked as done, for the agent: half a sentence that begins
// with a verb.
func (b Backlog) HowDone(it Item) string {
	f, err := b.read(context.Background())
	if err != nil {
		f = b.configured("")
	}
	where := cmp.Or(f.path(it.Key), fmt.Sprintf("the file of %s in %s", it.Key, b.Path))
	return fmt.Sprintf("set status to %q in the front matter of %s", f.done, where)
}

// Resolve returns the source as it is to be read from now on, however its config.yml
// changes: Path is the folder that a symbolic link leads to, and Done is set.
func (b Backlog) Resolve(ctx context.Context) (Backlog, error) {
	if ctx.Err() != nil {
		return b, context.Cause(ctx)
	}
	path, err := followed(b.Path)
	if err != nil {
		return b, err
	}
	b.Path = path
	_, above := b.folder()
	if above == "" {
		return b, b.missing()
	}
	b.Done = b.configured(above).done
	return b, nil
}
