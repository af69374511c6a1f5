package tasks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A Source is where the things to do come from. [ListFile] and [PRDFile] are
// sources; programs write others.
//
// Items returns all of them, done or not, in the order in which they are to be
// worked on, with keys that are unique and stay the same from one call to the
// next: that is how a session knows that an item which was open is now done.
// It is called again after each iteration and returns what is true then. The
// caller may change the slice. An error means that it cannot be known what there is to
// do; nothing to do at all is not an error of the interface, but may be one of
// the source. Items should return soon after ctx is done. A session calls it
// from one goroutine at a time.
type Source interface {
	Items(ctx context.Context) ([]Item, error)
}

// SourceFunc makes a Source of a function.
type SourceFunc func(ctx context.Context) ([]Item, error)

// Items calls f.
func (f SourceFunc) Items(ctx context.Context) ([]Item, error) { return f(ctx) }

// OpenSource returns the source that a file is: a [PRDFile] if its name ends in
// .json or it begins with a brace, else a [ListFile]. It reads the file once and
// returns its error if nothing can be worked on from there. A file of
// definitions is no source.
func OpenSource(path string) (Source, error) {
	isJSON, err := looksLikeJSON(path)
	if err != nil {
		return nil, err
	}
	if isJSON {
		src := PRDFile{Path: path}
		if _, err := src.items(); err != nil {
			return nil, err
		}
		return src, nil
	}
	src := ListFile{Path: path}
	if _, err := src.items(); err != nil {
		return nil, err
	}
	return src, nil
}

func looksLikeJSON(path string) (bool, error) {
	if strings.EqualFold(filepath.Ext(path), ".json") {
		return true, nil
	}
	text, err := readRegular("task file", path)
	if err != nil {
		return false, err
	}
	return strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(string(text), "\ufeff")), "{"), nil
}

// ListFile is the [Source] of a Markdown task list, tasks.md. The grammar is
// that of [ParseList]. It is a value and keeps nothing; its methods may be
// called concurrently.
type ListFile struct {
	Path string // of the file; symbolic links are followed
	// AllBoxes takes every box for a task: also those without an ID, and those
	// under headings like "Success criteria".
	AllBoxes bool
}

var _ Source = ListFile{}

// Items reads the file. It is an error if it is missing, is no regular file, is
// not UTF-8, is empty, or holds no task. That all tasks are done is none.
func (f ListFile) Items(ctx context.Context) ([]Item, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return f.items()
}

func (f ListFile) items() ([]Item, error) {
	text, err := readRegular("task list", f.Path)
	if err != nil {
		return nil, err
	}
	list, err := f.parse(text)
	if err != nil {
		return nil, err
	}
	if f.AllBoxes {
		return list.All(), nil
	}
	if len(list.Items) == 0 {
		return nil, fmt.Errorf("task list %s: none of its boxes (%d) is a task: give them an ID, as in \"- [ ] T001 Write the parser\", or take all boxes (AllBoxes; --all-boxes)",
			f.Path, len(list.Others))
	}
	return list.Items, nil
}

func (f ListFile) parse(text []byte) (List, error) {
	list, err := ParseList(text)
	switch {
	case err != nil:
		return List{}, fmt.Errorf("task list %s: %w", f.Path, err)
	case strings.TrimSpace(strings.TrimPrefix(string(text), "\ufeff")) == "":
		return List{}, fmt.Errorf("task list %s is empty: write the tasks into it, as in \"- [ ] T001 Write the parser\"", f.Path)
	case len(list.Items)+len(list.Others) == 0:
		return List{}, fmt.Errorf("task list %s: there is no box in it: a task is a list item like \"- [ ] T001 Write the parser\"", f.Path)
	}
	return list, nil
}

// Tick ticks the box of the item with this key: it reads the file again and
// writes one byte of it, in place, so that its mode, its links and all that
// others write elsewhere in the file stay. If the box is ticked already, nothing
// is written. An item of [List.Others] can be ticked too.
func (f ListFile) Tick(key string) error {
	if _, err := statRegular("task list", f.Path); err != nil {
		return err
	}
	file, err := os.OpenFile(f.Path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("tick %q: %w", key, err)
	}
	err = f.tick(file, key)
	return errors.Join(err, file.Close())
}

func (f ListFile) tick(file *os.File, key string) error {
	text, err := io.ReadAll(file)
	if err != nil {
		return fmt.Errorf("tick %q: %w", key, err)
	}
	list, err := f.parse(text)
	if err != nil {
		return err
	}
	it, ok := find(list.All(), key)
	if !ok {
		return fmt.Errorf("task list %s: there is no item %q to tick", f.Path, key)
	}
	ticked, err := Tick(text, it)
	if err != nil || it.Done {
		return err
	}
	if _, err := file.WriteAt(ticked[it.Offset:it.Offset+1], int64(it.Offset)); err != nil {
		return fmt.Errorf("tick %q: %w", key, err)
	}
	return nil
}

func find(items []Item, key string) (Item, bool) {
	for _, it := range items {
		if it.Key == key {
			return it, true
		}
	}
	return Item{}, false
}

// readRegular reads a file that must be a regular one: a directory has no text,
// and a pipe would block.
func readRegular(what, path string) ([]byte, error) {
	if _, err := statRegular(what, path); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return text, nil
}

func statRegular(what, path string) (fs.FileInfo, error) {
	if path == "" {
		return nil, fmt.Errorf("no path of a %s is given", what)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s %s: %w: create it, or give the path of the one you have", what, path, fs.ErrNotExist)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", what, err)
	case info.IsDir():
		return nil, fmt.Errorf("%s %s is a directory: give the path of the file in it", what, path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s %s is not a regular file", what, path)
	}
	return info, nil
}
