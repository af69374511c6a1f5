package tasks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ralph-loop/ralph/internal/file"
)

// A search looks for task files. Folders are looked into through a root, which no link
// leaves: what lies elsewhere on the machine is not a part of the project, though a
// link in it says so.
type search struct {
	dir     string
	root    *os.Root // of dir
	branch  string
	unread  []string // what could not be looked at, and why
	boxless []string // files that may be something else, and are
}

// A found is a file that may be the project's task file. Paths in errors and in Found
// are those of dir as it was given, so that a person can copy them.
type found struct {
	usual
	name string // its path in the project, with slashes
	path string
	part string // what stands in place of the "*"
	info fs.FileInfo
	says string // how much of it is open
	done bool   // all of it is done
	own  bool   // the git branch names it
}

// isOpen reports whether something in a file is open, or whether that is not known. In
// doubt it is open: a file is only passed over if all in it is known to be done.
func (f found) isOpen() bool { return !f.done }

// all are the files there are at the usual places, each once: names that are links, or
// differ in case alone where that does not count, are one file.
func (s *search) all() (all []found) {
	for _, u := range usuals {
		for _, name := range s.matches(u) {
			f := found{usual: u, name: name, path: inside(s.dir, filepath.Join(s.dir, filepath.FromSlash(name)))}
			if f.part = name; strings.Contains(u.pattern, "*") {
				before, behind, _ := strings.Cut(u.pattern, "*")
				f.part = strings.TrimSuffix(strings.TrimPrefix(name, before), behind)
			}
			if s.isThere(&f) && !slices.ContainsFunc(all, func(g found) bool { return os.SameFile(f.info, g.info) }) {
				all = append(all, f)
			}
		}
	}
	return all
}

// matches are the paths that a usual place may be at. Only one "*" is known, and no
// other pattern: folders are listed with a bound, which a general glob does not have.
func (s *search) matches(u usual) (names []string) {
	before, behind, star := strings.Cut(u.pattern, "*")
	if !star {
		return []string{u.pattern}
	}
	if _, last := path.Split(s.branch); u.feature && last != s.branch { // a branch with slashes may be a path of folders
		names = append(names, before+s.branch+behind)
	}
	for _, entry := range s.entries(strings.TrimSuffix(before, "/")) {
		if rest, in := strings.CutPrefix(behind, "/"); in && entry != "archive" { // where OpenSpec keeps what is done
			names = append(names, before+entry+"/"+rest)
		} else if !in && strings.HasSuffix(entry, behind) {
			names = append(names, before+entry)
		}
	}
	return names
}

// entries are the names in a folder, sorted. Of a folder with more than maxEntries it
// is any of them: a project has no more features than that.
func (s *search) entries(folder string) []string {
	f, err := s.root.Open(filepath.FromSlash(folder))
	if err != nil {
		s.fails(folder, err)
		return nil
	}
	defer f.Close()
	names, err := f.Readdirnames(maxEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		s.fails(folder, err)
	}
	slices.Sort(names)
	return names
}

// fails notes what could not be looked at. That nothing is there is the usual case, and
// no failure; of all else a person must know, for the file that is meant may be behind
// it.
func (s *search) fails(name string, err error) {
	top, errTop := filepath.EvalSymlinks(s.dir)
	real, errReal := filepath.EvalSymlinks(filepath.Join(s.dir, filepath.FromSlash(name)))
	switch bad, ok := errors.AsType[*fs.PathError](err); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(errReal, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return
	// The error of the root does not say what a person has to know: that it is a link.
	case errTop == nil && errReal == nil && !file.Within(top, real):
		err = errors.New("is a link that leads out of the project, and is not followed")
	case ok:
		err = bad.Err // without the name
	}
	s.unread = append(s.unread, fmt.Sprintf("%s: %v", name, err))
}

// isThere reports whether something lies at a place that may be the task file.
func (s *search) isThere(f *found) bool {
	name := filepath.FromSlash(f.name)
	var err error
	if strings.Contains(f.name, "/") {
		f.info, err = s.root.Stat(name)
	} else { // a link that leads elsewhere is for a person to name
		f.info, err = os.Stat(filepath.Join(s.dir, name))
	}
	switch {
	case err != nil:
		s.fails(f.name, err)
		return false
	// Many projects have a folder called backlog. It is one of Backlog.md if both are
	// in it.
	case f.of == "Backlog.md":
		tasks, err := s.root.Stat(filepath.Join(name, "tasks"))
		_, errConfig := s.root.Stat(filepath.Join(name, "config.yml"))
		return err == nil && tasks.IsDir() && errConfig == nil
	case f.info.IsDir(): // what is no file otherwise is for its reader to refuse
		return false
	}
	// What is boxless is named if nothing else is found.
	if f.perhaps && !hasBox(f.path) {
		s.boxless = append(s.boxless, f.name)
		return false
	}
	return true
}

// hasBox reports whether there is a box in a file, or whether that cannot be known. In
// doubt the file counts, so that its reader says what is wrong with it.
func hasBox(path string) bool {
	text, err := file.Read("task list", path, maxPerhaps)
	if err != nil {
		return true
	}
	list, err := ParseList(text)
	return err != nil || len(list.All()) > 0
}

// settle leaves out the features that the git branch does not name, if it names one: by
// the folder's name, by its last part behind a slash, or by the number that spec-kit
// begins both with. What is left of them comes first. If the branch names none, all are
// left: on main, people work on any of them.
func (s *search) settle(all []found) []found {
	_, last := path.Split(s.branch)
	for _, names := range [...]func(part string) bool{
		func(part string) bool { return part == s.branch },
		func(part string) bool { return part == last },
		func(part string) bool { return number(part) != "" && number(part) == number(last) },
	} {
		var own, others []found
		for _, f := range all {
			switch f.own = f.feature && names(f.part); {
			case f.own:
				own = append(own, f)
			case !f.feature:
				others = append(others, f)
			}
		}
		if own != nil {
			return append(own, others...)
		}
	}
	return all
}

// number is the number that the name of a feature begins with, as in 001-login: at
// least three digits, as spec-kit counts. Fewer would take "2-fixes" for a feature.
func number(name string) string {
	digits, _, ok := strings.Cut(name, "-")
	if !ok || len(digits) < 3 || strings.Trim(digits, "0123456789") != "" {
		return ""
	}
	return digits
}

// stand finds out how much of each file is open. One file alone is taken whatever is in
// it, so it is not read. If more are open than one, those behind what is listed are not
// asked: the answer is an error already.
func (s *search) stand(ctx context.Context, all []found) {
	if len(all) < 2 {
		return
	}
	open := 0
	for i := range all {
		if ctx.Err() != nil || i >= maxPlaces && open > 1 {
			return
		}
		f := &all[i]
		if f.says, f.done = standing(ctx, f.path); !f.done {
			open++
		}
		// It says so also where that did not decide, since another file is open too.
		if f.own {
			f.says += "; the git branch names it"
		}
	}
}

// list says of each file how much of it is open. What could not be looked at comes
// last: the file that is meant may be among it.
func (s *search) list(all []found) string {
	var b strings.Builder
	for i, f := range all {
		if i == maxPlaces {
			fmt.Fprintf(&b, ", and %d more", len(all)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s (%s)", filepath.FromSlash(f.name), f.says)
	}
	return strings.Join(append([]string{b.String()}, s.unread...), "; ")
}

// standing says how much of a task file is open: "3 of 12 open", and whether all is
// done. A file that cannot be read is not done, and the reason stands in place of the
// number, without the path, which the list has already.
func standing(ctx context.Context, path string) (says string, done bool) {
	kind, err := KindOf(path)
	if err == nil && kind == KindDefinitions {
		return "definitions", false
	}
	var items []Item
	src, err := OpenSource(path)
	if err == nil {
		items, err = src.Items(ctx)
	}
	if err != nil {
		text := err.Error()
		if _, behind, ok := strings.Cut(text, path); ok {
			text = strings.TrimLeft(behind, ": ")
		}
		return clipText(strings.TrimPrefix(text, "tasks: "), maxWrong), false
	}
	n := len(items)
	if open := len(slices.DeleteFunc(items, isDoneItem)); open > 0 {
		return fmt.Sprintf("%d of %d open", open, n), false
	}
	return fmt.Sprintf("all %d done", n), true
}

// inside is the path that a link leads to, if that is in the folder, so that ticks can
// be written to it: nothing is written through links. Another path stays as it is, also
// that of a link which leads out of the folder.
func inside(dir, path string) string {
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return path
	}
	top, err := filepath.EvalSymlinks(dir)
	real, errReal := filepath.EvalSymlinks(path)
	if err != nil || errReal != nil {
		return path
	}
	if name, err := filepath.Rel(top, real); err == nil && filepath.IsLocal(name) {
		return filepath.Join(dir, name)
	}
	return path
}
