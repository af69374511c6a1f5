package git

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Files lists what belongs to the work tree that holds dir: what git tracks, also
// if it is not there any more, and what is new and not ignored. Paths are from
// top, sorted, with slashes; repositories inside are looked into in the same way,
// and one that is not checked out is a folder, as its path with a slash at the end
// says. As with [Look], nothing runs because the workspace says so.
//
// Without a work tree, without git, and for a folder that its work tree ignores,
// top is "": git does not know what belongs to it.
func Files(ctx context.Context, dir string) (top string, files []string, err error) {
	if top = Root(dir); top == "" {
		return "", nil, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	git := unfiltered(ctx, top)
	ignored := git.ignores(ctx, dir)
	if !ignored {
		files = git.files(ctx, "")
	}
	if ignored || errors.Is(git.err, exec.ErrNotFound) {
		return "", nil, nil
	}
	slices.Sort(files)
	return top, slices.Compact(files), git.err
}

// ignores reports whether the work tree ignores a folder in it.
func (c *call) ignores(ctx context.Context, dir string) bool {
	dir, err := filepath.Abs(dir)
	c.err = cmp.Or(c.err, err)
	return dir != c.dir && c.yes(ctx, "check-ignore", "--quiet", "--", dir)
}

// files lists the files of one work tree and those inside; prefix is before each.
func (c *call) files(ctx context.Context, prefix string) (files []string) {
	names := c.names(ctx, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	linked := c.submodules(ctx)
	for _, name := range names {
		folder, isFolder := strings.CutSuffix(name, "/") // a repository that is new
		if isFolder || slices.Contains(linked, name) {
			files = append(files, c.inside(ctx, prefix, folder)...)
		} else {
			files = append(files, path.Join(prefix, name))
		}
	}
	return files
}

// inside lists the files of a repository in the work tree.
func (c *call) inside(ctx context.Context, prefix, name string) (files []string) {
	prefix = path.Join(prefix, name)
	dir := filepath.Join(c.dir, filepath.FromSlash(name))
	if info, err := os.Lstat(dir); err == nil && info.IsDir() && isTop(dir) && c.err == nil {
		inner := unfiltered(ctx, dir)
		files = inner.files(ctx, prefix)
		c.err = inner.err
	}
	return append(files, prefix+"/")
}
