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

// onBoard compares tasks as the board of Backlog.md sorts them, so that people see
// there what comes next.
func onBoard(a, b *backlogTask) int {
	return cmp.Or(cmp.Compare(a.ordinal, b.ordinal), cmp.Compare(a.order, b.order), byNumber(a, b))
}

// byNumber compares tasks by the numbers in their ids. Of two with one id it is the one
// in tasks that comes first, then the one whose file is named by it: see find.
func byNumber(a, b *backlogTask) int {
	// A copy under another name, or an old version that was completed, must not take
	// the key of the task itself.
	rank := func(t *backlogTask) int {
		switch {
		case t.moved:
			return 2
		case !isNamed(t.name, t.ID):
			return 1
		}
		return 0
	}
	return cmp.Or(slices.Compare(numbersOf(a.ID), numbersOf(b.ID)), cmp.Compare(rank(a), rank(b)), cmp.Compare(a.name, b.name))
}

// isNamed reports whether a file is named by an id, as Backlog.md does it: "task-1 -
// Parser.md", or "task-1.md". The id must end there: task-1 is not task-10.
func isNamed(name, id string) bool {
	base := filepath.Base(name)
	if len(base) < len(id) || !strings.EqualFold(base[:len(id)], id) {
		return false
	}
	return strings.HasPrefix(base[len(id):], " - ") || strings.EqualFold(base[len(id):], ".md")
}

// folder is the absolute path of the folder that has the tasks in its folder tasks; ""
// = it is none of Backlog.md. A path that itself is called tasks will do, unless there
// is another tasks within it.
func (b Backlog) folder() string {
	path := absolute(b.Path)
	for _, dir := range []string{filepath.Join(path, "tasks"), path} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && filepath.Base(dir) == "tasks" {
			return filepath.Dir(dir)
		}
	}
	return ""
}

// statusesOf are those of the project's configuration; none if there is none. It is
// read as front matter, each key by itself: the file has many keys, and one that is no
// YAML must not hide the statuses.
func statusesOf(above string) []string {
	if above == "" {
		return nil
	}
	// The configuration of Backlog.md is at one of these places.
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

// open opens the folder and reads its configuration. After Resolve the folder is no
// link any more; if it has become one, somebody has put another folder in its place,
// and that is not what was agreed.
func (b Backlog) open() (*os.Root, *backlogFolder, error) {
	dir := b.folder()
	if dir == "" {
		return nil, nil, b.missing()
	}
	// Statuses that are set have been agreed, as by Resolve, and with them that this is
	// a folder.
	if info, err := os.Lstat(dir); b.Statuses != nil && err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, nil, fmt.Errorf("tasks: %s is a link now, and was none: put the folder back", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("tasks: %w", err)
	}
	return root, b.configured(dir), nil
}

// read reads all files of the folder, in both of its parts: what is completed must be
// known, since others wait for it.
func (b Backlog) read(ctx context.Context) (*backlogFolder, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	root, f, err := b.open()
	if err != nil {
		return nil, err
	}
	defer root.Close() // it was only read
	left := maxBacklogText
	for _, folder := range []string{"tasks", "completed"} {
		names, err := markdownIn(root, folder)
		if err != nil {
			return nil, fmt.Errorf("tasks: %s: %w", filepath.Join(f.dir, folder), err)
		}
		for _, name := range names {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			text, err := readIn(root, name, left)
			if err != nil {
				return nil, fmt.Errorf("tasks: %s: %w", filepath.Join(f.dir, name), err)
			}
			left -= len(text)
			// Notes in completed are no task, nor were they one.
			if t := f.task(name, text); !t.moved || t.why != WhyNoFront {
				f.tasks = append(f.tasks, t)
			}
		}
	}
	slices.SortStableFunc(f.tasks, byNumber)
	// Parts and predecessors are linked when all ids are known, in the order of these,
	// so that of two with one id the first is meant.
	f.link()
	return f, nil
}

// find is the path of the file of a task; "" = there is none. The file that is named by
// the key is looked at first, so that not all are read.
func (b Backlog) find(key string) (string, error) {
	if path := b.named(key); path != "" {
		return path, nil
	}
	f, err := b.read(context.Background())
	if err != nil {
		return "", err
	}
	for _, t := range f.tasks {
		if t.Key == key && t.why != WhyNoFront {
			return filepath.Join(f.dir, t.name), nil
		}
	}
	return "", nil
}

// named is the path of the file that is named by a key, and has the task; "" = there is
// none, or it is in the folder completed. An error is no answer here: find looks at all
// files then, and tells it.
func (b Backlog) named(key string) string {
	root, f, err := b.open()
	if err != nil {
		return ""
	}
	defer root.Close() // it was only read
	names, _ := markdownIn(root, "tasks")
	for _, name := range names {
		if !isNamed(name, key) {
			continue
		}
		text, err := readIn(root, name, maxBacklogText)
		if err != nil {
			break
		}
		// The name may be that of another task, since anybody can rename a file.
		if f.task(name, text).ID == key {
			return filepath.Join(f.dir, name)
		}
	}
	return ""
}

// missing is the error of a path that is no folder of Backlog.md. It says by which
// command people make one, since the folder is mostly not there at all.
func (b Backlog) missing() error {
	switch _, err := os.Stat(b.Path); {
	case b.Path == "":
		return errors.New("tasks: no path of a folder of Backlog.md is given")
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("tasks: %s: %w: make it with \"backlog init\", or give the path of the one you have", b.Path, fs.ErrNotExist)
	}
	return fmt.Errorf("tasks: %s is no folder of Backlog.md: there is no folder tasks in it", b.Path)
}

// markdownIn are the names of the Markdown files in a folder of a folder, with that,
// sorted; none if there is no completed. They are read a thousand at a time, so that a
// folder with millions is refused before all of its names are in memory. Hidden files
// are left out: editors keep copies in them.
func markdownIn(root *os.Root, folder string) ([]string, error) {
	dir, err := root.Open(folder)
	if errors.Is(err, fs.ErrNotExist) && folder == "completed" {
		return nil, nil
	} else if err != nil {
		if info, bad := root.Lstat(folder); bad == nil && info.Mode()&fs.ModeSymlink != 0 {
			err = errors.New("it is a link that leads out of the folder: put the folder itself there")
		}
		return nil, err
	}
	defer dir.Close() // it was only read
	var names []string
	for {
		some, err := dir.ReadDir(1000)
		for _, one := range some {
			if name := one.Name(); !one.IsDir() && strings.EqualFold(filepath.Ext(name), ".md") && !strings.HasPrefix(name, ".") {
				names = append(names, folder+"/"+name)
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

// readIn reads a file of a folder, at most so many bytes. Links on the way do not leave
// that: a task that an agent writes must not show it what lies elsewhere.
func readIn(root *os.Root, name string, most int) ([]byte, error) {
	f, err := file.OpenIn("", root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	return file.Rest("", f, most)
}

// meaning is what a status says in this folder. Words that are known everywhere mean
// the same here; others are known by their place among the project's statuses: the
// first is open, the last is done, and between them something has begun. The status
// that is written when a task is done always says so, or a tick would be lost.
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

// done is the status that is written. It must be one of the project's, or the board
// would show the task nowhere.
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

// configured is a folder with what its configuration says, or has been agreed. Statuses
// that are not nil have been agreed, also if they are none.
func (b Backlog) configured(dir string) *backlogFolder {
	f := &backlogFolder{dir: dir, statuses: b.Statuses, notes: make(statusNotes)}
	if b.Statuses == nil {
		f.statuses = statusesOf(dir)
	}
	f.done = b.done(f.statuses)
	return f
}
