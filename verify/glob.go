package verify

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxVisited bounds how many files are looked at for one glob. A check has to
// end: an agent could fill a folder, or link folders to each other, to keep the
// guard busy.
const maxVisited = 1 << 20

// glob lists the files in the workspace that match a pattern, sorted. Linked
// folders are followed, unlike by fs.WalkDir: what a test runner reads through
// a link must be guarded through it. .git is looked into only if the pattern
// names it, and so is the workspace's own .ralph, into which loops write while
// the agent works.
func glob(dir, pattern string) ([]string, error) {
	root, err := os.OpenRoot(workspace(dir))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	w := &walk{root: root, pattern: strings.Split(pattern, "/"), entered: map[place]bool{}}
	if len(w.pattern) > maxParts {
		return nil, fmt.Errorf("%q has more than %d parts", pattern, maxParts)
	}
	w.queue = []folder{{".", ".", w.at(0)}}
	for err == nil && len(w.queue) > 0 {
		next := w.queue[0]
		w.queue = w.queue[1:]
		err = w.enter(next)
	}
	slices.Sort(w.found)
	return w.found, err
}

// A walk looks for what matches a pattern. It knows at each folder how much of
// the pattern the way to it has matched. A folder that cannot lead to a match
// is not entered, so "src/**" does not read node_modules. A folder that several
// ways lead to, by links, is entered once for each part of the pattern that is
// left: no circle of links holds the walk up, and nothing in the folder is
// missed.
type walk struct {
	root    *os.Root
	pattern []string
	queue   []folder // linked folders come after all others
	entered map[place]bool
	visited int
	found   []string
}

type folder struct {
	name string // in the workspace, "." = itself
	real string // the same without links
	at   places
}

// A place is a folder, and what of the pattern is left there. Both together are
// the key of what was entered: the folder alone would miss files that match by
// another way to it.
type place struct {
	real string
	at   places
}

// Places are the parts of the pattern that may come next: bit n for part n. The
// bit after the last part says that all is matched. A set and not a number,
// because ** can stand for any number of folders and so leaves several parts
// open at once.
type places uint64

// maxParts leaves room for the bit after the last part.
const maxParts = 62

// at is the place before part n. ** may be nothing, so what follows it may come
// next too.
func (w *walk) at(n int) places {
	p := places(1) << n
	for n < len(w.pattern) && w.pattern[n] == "**" {
		n++
		p |= 1 << n
	}
	return p
}

// past is where a name leads from p; 0 = nowhere. A part ** stays open behind
// any name.
func (w *walk) past(p places, name string) (next places) {
	for n, part := range w.pattern {
		if p&(1<<n) == 0 {
			continue
		}
		if part == "**" {
			next |= w.at(n)
		} else if ok, _ := path.Match(part, name); ok {
			next |= w.at(n + 1)
		}
	}
	return next
}

func (w *walk) matches(p places) bool { return p&(1<<len(w.pattern)) != 0 }

// enter looks at what is in a folder, once for each place. A folder that has
// vanished is no error, for the agent's tools may be at work beside us.
func (w *walk) enter(f folder) error {
	if key := (place{f.real, f.at}); w.entered[key] {
		return nil
	} else {
		w.entered[key] = true
	}
	entries, err := fs.ReadDir(w.root.FS(), f.real)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it went while we looked
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := w.look(f, e); err != nil {
			return err
		}
	}
	return nil
}

// look looks at one entry of a folder. Linked folders are put off until all
// others were entered, so that a file is found under its own name before it is
// found under a link's.
func (w *walk) look(f folder, e fs.DirEntry) error {
	at := w.past(f.at, e.Name())
	if at == 0 {
		return nil
	}
	if w.visited++; w.visited > maxVisited {
		return fmt.Errorf("%q has to look at more than %d files; name fewer folders", strings.Join(w.pattern, "/"), maxVisited)
	}
	name := path.Join(f.name, e.Name())
	next := folder{name, path.Join(f.real, e.Name()), at}
	isDir, linked := e.IsDir(), e.Type()&fs.ModeSymlink != 0
	if linked {
		var err error
		if next.real, isDir, err = w.follow(name); err != nil {
			return err
		}
	}
	switch {
	// Loops and git write there all the time, so to guard it would reject every
	// claim.
	case isDir && (e.Name() == ".git" || name == ".ralph") && !slices.Contains(w.pattern, e.Name()):
		return nil
	case linked && isDir:
		w.queue = append(w.queue, next)
		return nil
	case isDir:
		return w.enter(next)
	case w.matches(at):
		w.found = append(w.found, name)
		if len(w.found) > maxGuarded {
			return fmt.Errorf("%q matches more than %d files; guard fewer", strings.Join(w.pattern, "/"), maxGuarded)
		}
	}
	return nil
}

// follow says where a link to a folder leads. A link to anything else, or to
// nothing, is a file. A folder that is not in the workspace is an error, and is
// not skipped: somebody who guards "tests" and has a link in it would believe
// that all of it is watched.
func (w *walk) follow(name string) (real string, isDir bool, err error) {
	full := filepath.Join(w.root.Name(), name)
	info, err := os.Stat(full)
	if err != nil || !info.IsDir() {
		return "", false, nil
	}
	real, ok := unlinked(w.root, name)
	if !ok {
		return "", false, fmt.Errorf("%s is a link to a folder outside the workspace, where nothing can be guarded; name folders that do not hold it", name)
	}
	return real, true, nil
}

// unlinked is the name, without links, of what a name in the workspace leads
// to; not ok if that is nothing, or lies elsewhere. [os.Root] refuses links
// that are absolute even if they stay inside; this is for those.
func unlinked(root *os.Root, name string) (string, bool) {
	top, err := realPath(root.Name())
	if err != nil {
		return "", false
	}
	target, err := filepath.EvalSymlinks(filepath.Join(top, name))
	if err != nil {
		return "", false
	}
	rel, err := filepath.Rel(top, target)
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel)
}
