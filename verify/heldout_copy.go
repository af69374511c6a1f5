package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"

	"github.com/ralph-loop/ralph/internal/file"
)

// How much is copied at most. Beyond it there is something in the workspace
// that no check needs, and that .gitignore should name; the error says so.
// Without a bound a check could fill the disk.
const (
	maxCopied      = 200_000
	maxCopiedBytes = 4 << 30
)

// A duplicate is a copy of a workspace. Everything goes through two roots, one
// for reading and one for writing, so that no link which the agent has made
// leads us out of either. Hard links would be faster than copies, but what is
// written through one reaches the workspace.
type duplicate struct {
	workspaceTop string // of what is copied: the work tree, or the workspace
	top          string // of the copy
	sub          string // the workspace in both, with slashes; "." = it is the top
	dir          string // the workspace in the copy
	missing      []string

	from, to *os.Root
	done     map[string]bool // by path from the top; folders too: true = it is one
	files    int
	bytes    int64
}

// copyWorkspace copies a workspace into a folder. include are paths in it, with
// wildcards, and names are paths without. The whole work tree is copied even if
// the workspace is a folder in it, for checks reach up: to go.work, to a
// package beside, to the top's configuration.
func copyWorkspace(ctx context.Context, temp, workspace string, include, names []string) (*duplicate, error) {
	top, files, err := git.Files(ctx, workspace)
	if err != nil {
		return nil, err
	}
	d := &duplicate{workspaceTop: cmp.Or(top, workspace), done: map[string]bool{".": true}}
	sub, err := filepath.Rel(d.workspaceTop, workspace)
	if err != nil {
		return nil, err
	}
	d.sub = filepath.ToSlash(sub)
	// Some tools make a name of that of the folder.
	d.top = filepath.Join(temp, cmp.Or(strings.Trim(filepath.Base(d.workspaceTop), `/\.:`), "workspace"))
	d.dir = filepath.Join(d.top, sub)
	if err := os.Mkdir(d.top, 0o700); err != nil {
		return nil, err
	}
	if d.from, err = os.OpenRoot(d.workspaceTop); err != nil {
		return nil, err
	}
	defer d.from.Close()
	if d.to, err = os.OpenRoot(d.top); err != nil {
		return nil, err
	}
	defer d.to.Close()
	for _, name := range names {
		files = append(files, path.Join(d.sub, filepath.ToSlash(name)))
	}
	err = d.folder(d.sub) // git knows no empty folders
	if err == nil && top == "" {
		err = d.tree(ctx, ".")
	}
	for i := 0; err == nil && i < len(files); i++ {
		err = d.one(ctx, strings.TrimSuffix(files[i], "/"))
	}
	for i := 0; err == nil && i < len(include); i++ {
		err = d.include(ctx, include[i])
	}
	return d, err
}

// include copies what a path with wildcards names in the workspace. A path that
// exists is taken by its name, wildcards or not. What is not there is noted and
// is no error: the folder of dependencies may not have been made yet.
func (d *duplicate) include(ctx context.Context, glob string) error {
	name := path.Join(d.sub, path.Clean(filepath.ToSlash(glob)))
	if _, err := d.from.Lstat(name); err == nil {
		return d.tree(ctx, name)
	}
	parts := strings.Split(name, "/")
	pattern := &walk{pattern: parts}
	// Only what lies below the first part with a wildcard is walked.
	fixed := 0
	for fixed < len(parts)-1 && !strings.ContainsAny(parts[fixed], `*?[\`) {
		fixed++
	}
	found := false
	err := d.walk(ctx, path.Join(append([]string{"."}, parts[:fixed]...)...), func(name string, e fs.DirEntry) error {
		at := pattern.at(0)
		for part := range strings.SplitSeq(name, "/") {
			at = pattern.past(at, part)
		}
		if !pattern.matches(at) {
			return nil
		}
		found = true
		if err := d.tree(ctx, name); err != nil || !e.IsDir() {
			return err
		}
		return fs.SkipDir
	})
	if !found {
		d.missing = append(d.missing, glob)
	}
	return err
}

// tree copies a file, or a folder with all that is in it.
func (d *duplicate) tree(ctx context.Context, name string) error {
	if info, err := d.from.Lstat(name); err == nil && !info.IsDir() {
		return d.one(ctx, name)
	}
	return d.walk(ctx, name, func(name string, _ fs.DirEntry) error { return d.one(ctx, name) })
}

// walk calls f for what is below a path, except for repositories' data and what
// loops write themselves. A copy with a .git in it would be a repository whose
// hooks and configuration the check may run.
func (d *duplicate) walk(ctx context.Context, from string, f func(name string, e fs.DirEntry) error) error {
	return fs.WalkDir(d.from.FS(), from, func(name string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, fs.ErrNotExist):
			return nil // it is not there, or went while we looked
		case err != nil:
			return err
		case e.Name() == ".git" || e.Name() == ".ralph" && name != from:
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		return f(name, e)
	})
}

// one copies a file or a link, or makes a folder. What has vanished since git
// listed it, and what is neither file, link nor folder, is left out: to read a
// pipe would wait for ever. Each path is copied once, whoever names it.
func (d *duplicate) one(ctx context.Context, name string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, done := d.done[name]; done || !filepath.IsLocal(name) {
		return nil
	}
	if err := d.folder(path.Dir(name)); err != nil {
		return err
	}
	if !d.done[path.Dir(name)] {
		return nil // what git has as a folder is a link, say
	}
	info, err := d.from.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return d.folder(name)
	}
	d.done[name] = false
	if d.files++; d.files > maxCopied {
		return fmt.Errorf("it has more than %d files; name what no check needs in .gitignore", maxCopied)
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return d.link(name)
	case info.Mode().IsRegular():
		return d.file(ctx, name)
	}
	return nil
}

// folder makes a folder, and those that it is in, if they are folders in the
// workspace. A folder that has become a link is left to whoever copies links,
// so that git's list and the disk cannot disagree on what a path is. The owner
// may write to every folder of the copy, or it could neither be filled nor
// removed.
func (d *duplicate) folder(name string) error {
	if _, done := d.done[name]; done {
		return nil
	}
	if err := d.folder(path.Dir(name)); err != nil || !d.done[path.Dir(name)] {
		return err
	}
	info, err := d.from.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil
	}
	if err != nil {
		return err
	}
	d.done[name] = true
	return d.to.Mkdir(name, info.Mode().Perm()|0o700)
}

// file copies a regular file. One that has vanished meanwhile is left out.
func (d *duplicate) file(ctx context.Context, name string) error {
	in, err := file.OpenIn("", d.from, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close() // it was only read
	return d.put(ctx, name, in, nil)
}

// put writes a file into the copy, with its mode and times, and passes its
// content on to hash, if there is one. The hash is of the same bytes that were
// copied: to read the exam a second time would leave a moment in which it can
// be exchanged. O_EXCL refuses to write to what is there, through a link, say.
func (d *duplicate) put(ctx context.Context, name string, in *os.File, hash io.Writer) error {
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := d.to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = d.pour(ctx, out, in, hash)
	err = errors.Join(err, out.Chmod(info.Mode().Perm()), out.Close())
	if err != nil {
		return err
	}
	return d.to.Chtimes(name, info.ModTime(), info.ModTime())
}

// pour copies what a file holds, 32 MiB at a time, so that a context can end it
// in between. Between two files the system copies, or shares their blocks. The
// bound is counted over all files of the copy, and while they are read, for a
// file can grow.
func (d *duplicate) pour(ctx context.Context, out, in *os.File, hash io.Writer) error {
	const piece = 32 << 20
	var to io.Writer = out
	if hash != nil {
		to = io.MultiWriter(out, hash)
	}
	for {
		n, err := io.CopyN(to, in, piece)
		d.bytes += n
		switch {
		case d.bytes > maxCopiedBytes:
			return fmt.Errorf("its files have more than %d GiB; name what no check needs in .gitignore", maxCopiedBytes>>30)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
	}
}

// link makes a link that does not lead into the workspace. The check may write
// through links, and what it writes must stay in the copy.
func (d *duplicate) link(name string) error {
	target, err := d.from.Readlink(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	target, ok := d.target(path.Dir(name), target)
	if !ok {
		return nil
	}
	return d.to.Symlink(target, name)
}

// target is where a link in a folder of the copy has to lead, if there is to be
// one. A relative link that stays inside is kept word for word, dangling ones
// too. All others are resolved by the system first: a path with ".." behind a
// link does not lead where its text says.
func (d *duplicate) target(folder, target string) (string, bool) {
	if !filepath.IsAbs(target) && filepath.IsLocal(filepath.Join(filepath.FromSlash(folder), target)) {
		return target, true
	}
	from := filepath.Join(d.workspaceTop, filepath.FromSlash(folder))
	full := target
	if !filepath.IsAbs(target) {
		full = from + string(filepath.Separator) + target // the system, not we, makes sense of its dots
	}
	real, err := filepath.EvalSymlinks(full)
	missing := err != nil
	if missing {
		real = file.Real(full)
	}
	switch {
	case file.Within(d.workspaceTop, real):
		rel, err := filepath.Rel(from, real)
		return rel, err == nil
	// Nothing is there that the check could need, or the link leads to a folder
	// which holds the workspace, and by which the check would find the
	// original.
	case missing, file.Within(real, d.workspaceTop):
		return "", false
	case filepath.IsAbs(target):
		return target, true
	}
	return real, true
}

// clear removes what is in the way of a file in the copy: links and files where
// its folders go, and whatever has its name. So nothing is written through a
// link, and an agent cannot keep the exam out by a folder that has the name of
// one of its files.
func (d *duplicate) clear(name string) error {
	parts := strings.Split(name, "/")
	for i := range len(parts) - 1 {
		folder := strings.Join(parts[:i+1], "/")
		if info, err := d.to.Lstat(folder); err == nil && !info.IsDir() {
			if err := d.to.Remove(folder); err != nil {
				return err
			}
		}
	}
	if err := d.to.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	return d.to.RemoveAll(name)
}
