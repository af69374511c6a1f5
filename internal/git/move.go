package git

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
	"syscall"
)

// An InWayError names files of the user that would be written over.
type InWayError struct{ Paths []string } // sorted

func (e *InWayError) Error() string {
	return "git: files are in the way, with changes that are not committed, or that git does not have: " + quoted(e.Paths)
}

func inWay(paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	slices.Sort(paths)
	return &InWayError{Paths: slices.Compact(paths)}
}

// check is an error if a file of the user would be written over.
func (a *advance) check(ctx context.Context, staging string) error {
	was, err := a.unlike(ctx, func(d delta) entry { return d.old })
	if err != nil {
		return err
	}
	is, err := a.unlike(ctx, func(d delta) entry { return d.new })
	if err != nil {
		return err
	}
	var wrong []string
	for _, d := range a.changes {
		switch name := a.name(d.path); {
		case d.new.isFile() && !there(a.in(staging, d.path)): // it is not to be checked out
			if there(name) && is[d.path] {
				wrong = append(wrong, d.path)
			}
		case was[d.path] && is[d.path]:
			wrong = append(wrong, d.path)
		case d.new.mode != "":
			wrong = append(wrong, a.blocked(d.path)...)
		}
	}
	return inWay(wrong)
}

func (e entry) isFile() bool { return e.mode != "" && e.mode != "160000" }

func (a *advance) in(dir, path string) string { return filepath.Join(dir, filepath.FromSlash(path)) }
func (a *advance) name(path string) string    { return a.in(a.repo.Top, path) }

// at is the change at a path.
func (a *advance) at(path string) (delta, bool) {
	i := slices.IndexFunc(a.changes, func(d delta) bool { return d.path == path })
	if i < 0 {
		return delta{}, false
	}
	return a.changes[i], true
}

// blocked are those of the folders above a file in whose place is something else that
// does not go.
func (a *advance) blocked(name string) []string {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		info, err := os.Lstat(a.name(dir))
		if err != nil || info.IsDir() {
			continue
		}
		if d, ok := a.at(dir); !ok || d.new.mode != "" {
			return []string{dir}
		}
	}
	return nil
}

// unlike are the paths at which the work tree is not as of says, with filters and line
// ends as git has them.
func (a *advance) unlike(ctx context.Context, of func(delta) entry) (map[string]bool, error) {
	s := a.repo.shadow(a.repo.Top)
	defer s.remove()
	unlike, asked := map[string]bool{}, map[string]entry{}
	var lines []string
	for _, d := range a.changes {
		e, name := of(d), a.name(d.path)
		info, err := os.Lstat(name)
		switch gone := err != nil || linked(a.repo.Top, name); {
		case err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			return nil, fmt.Errorf("git: %w", err)
		case gone:
			unlike[d.path] = e.isFile()
		case e.mode == "160000":
			unlike[d.path] = !info.IsDir()
		case e.mode == "":
			unlike[d.path] = !info.IsDir() || !a.owns(d.path)
		default:
			lines = append(lines, e.line(d.path, len(a.to)))
			asked[d.path] = e
		}
	}
	s.put(ctx, lines)
	s.refresh(ctx)
	for _, p := range s.names(ctx, "diff-files", "--name-only", "-z", "--no-renames", "--ignore-submodules=all") {
		unlike[p] = a.differs(ctx, s, p, asked[p])
	}
	return unlike, s.err
}

// owns reports whether all that is in a folder is among the changes.
func (a *advance) owns(dir string) bool {
	err := filepath.WalkDir(a.name(dir), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(a.repo.Top, name)
		if _, ok := a.at(filepath.ToSlash(rel)); !ok && err == nil {
			err = fs.ErrExist
		}
		return err
	})
	return err == nil
}

// differs reports whether a file is not, byte for byte, what an entry says. One that
// was written when other attributes held is not the user's work.
func (a *advance) differs(ctx context.Context, s *shadow, path string, e entry) bool {
	info, err := os.Lstat(a.name(path))
	if err != nil || !info.Mode().IsRegular() || e.mode != "100644" && e.mode != "100755" {
		return true
	}
	if a.repo.config.is("core.filemode") && (e.mode == "100755") != (info.Mode()&0o100 != 0) {
		return true
	}
	return s.line(ctx, "hash-object", "--no-filters", "--", path) != e.object
}

// steps move the files, each at once: a file is as it was, or as it will be. What goes
// goes first, for a folder may come in its place.
func (a *advance) steps(staging string) (steps []func() error) {
	for _, d := range a.changes {
		if d.new.mode == "" {
			steps = append(steps, func() error { return a.drop(d) })
		}
	}
	changes := slices.Clone(a.changes) // attributes before what is read by them
	slices.SortStableFunc(changes, func(x, y delta) int { return attributes(y) - attributes(x) })
	for _, d := range changes {
		from, to := a.in(staging, d.path), a.name(d.path)
		switch {
		case d.new.mode == "160000":
			steps = append(steps, func() error { return os.MkdirAll(to, 0o777) })
		case d.new.mode != "" && there(from):
			steps = append(steps, func() error {
				removeEmpty(to)
				if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
					return err
				}
				return move(from, to)
			})
		}
	}
	return steps
}

func attributes(d delta) int {
	if path.Base(d.path) == ".gitattributes" {
		return 1
	}
	return 0
}

// drop removes a file, and the folders that are empty then.
func (a *advance) drop(d delta) error {
	name := a.name(d.path)
	info, err := os.Lstat(name)
	if err == nil && !linked(a.repo.Top, name) {
		if info.IsDir() {
			removeEmpty(name)
		} else if err := os.Remove(name); err != nil {
			return err
		}
	}
	for dir := path.Dir(d.path); dir != "."; dir = path.Dir(dir) {
		if info, err := os.Lstat(a.name(dir)); err == nil && (!info.IsDir() || linked(a.repo.Top, a.name(dir)) || os.Remove(a.name(dir)) != nil) {
			break
		}
	}
	return nil
}

// removeEmpty removes a folder that has nothing but folders in it.
func removeEmpty(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() {
			removeEmpty(filepath.Join(dir, e.Name()))
		}
	}
	os.Remove(dir)
}

// move puts a file in the place of another, at once.
func move(from, to string) error {
	err := os.Rename(from, to)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	return bring(from, to)
}

// duplicate makes a copy of a file or a link, where nothing is.
func duplicate(from, to string) (err error) {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
