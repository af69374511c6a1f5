package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Root returns the top of the work tree that holds dir, as the folders tell and
// without asking git; "" = none.
func Root(dir string) string { return find(dir) }

// Files lists what belongs to the work tree that holds dir: what git tracks, also
// if it is not there any more, and what is new and not ignored. Paths are from
// top, sorted, with slashes; repositories inside are looked into in the same way,
// and one that is not checked out is a folder, as its path with a slash at the end
// says. As with [Look], nothing runs because the workspace says so.
//
// Without a work tree, without git, and for a folder that its work tree ignores,
// top is "": git does not know what belongs to it.
func Files(ctx context.Context, dir string) (top string, files []string, err error) {
	if top = find(dir); top == "" {
		return "", nil, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	git, err := unfiltered(ctx, top)
	var ignored bool
	if err == nil {
		ignored, err = git.ignores(ctx, dir)
	}
	if err == nil && !ignored {
		files, err = git.files(ctx, "")
	}
	if ignored || errors.Is(err, exec.ErrNotFound) {
		return "", nil, nil
	}
	slices.Sort(files)
	return top, slices.Compact(files), err
}

// ignores reports whether the work tree ignores a folder in it.
func (c call) ignores(ctx context.Context, dir string) (bool, error) {
	dir, err := filepath.Abs(dir)
	if err != nil || dir == c.dir {
		return false, err
	}
	_, err = c.run(ctx, "check-ignore", "--quiet", "--", dir)
	if exit, ok := errors.AsType[*exitError](err); ok && exit.code == 1 {
		return false, nil
	}
	return err == nil, err
}

// files lists the files of one work tree and those inside; prefix is before each.
func (c call) files(ctx context.Context, prefix string) ([]string, error) {
	out, err := c.run(ctx, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	linked, err := c.submodules(ctx)
	if err != nil {
		return nil, err
	}
	var files []string
	for name := range strings.SplitSeq(out, "\x00") {
		folder, isFolder := strings.CutSuffix(name, "/") // a repository that is new
		switch {
		case name == "":
		case isFolder || slices.Contains(linked, name):
			inner, err := c.inside(ctx, prefix, folder)
			if err != nil {
				return nil, err
			}
			files = append(files, inner...)
		default:
			files = append(files, path.Join(prefix, name))
		}
	}
	return files, nil
}

// inside lists the files of a repository in the work tree.
func (c call) inside(ctx context.Context, prefix, name string) ([]string, error) {
	prefix = path.Join(prefix, name)
	dir := filepath.Join(c.dir, filepath.FromSlash(name))
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() || !isTop(dir) {
		return []string{prefix + "/"}, nil
	}
	inner, err := unfiltered(ctx, dir)
	if err != nil {
		return nil, err
	}
	files, err := inner.files(ctx, prefix)
	return append(files, prefix+"/"), err
}
