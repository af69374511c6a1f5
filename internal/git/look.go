package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/file"
)

// A View is what is known of a work tree at one moment.
type View struct {
	Top    string            // of the work tree; "" = nothing is known
	Head   string            // the commit; "" = none yet
	Dirty  map[string]string // path from Top → how it differs from the commit, and what it holds
	nested map[string]View   // repositories in it, submodules or not, by path
	partly bool              // there is one that could not be looked into
}

// Look asks git for the commit of the work tree that holds dir and for the files
// that differ from it, and hashes those, so that a second change of the same file
// is seen too. Repositories inside are looked into in the same way. Paths for
// which skip answers true are left out. Without a work tree, or without git,
// nothing is known: the zero View.
//
// Nothing runs because the workspace says so. Git would start filters, hooks, a
// monitor of the file system, and with the configuration of a submodule all of
// that again; it would fetch what is missing of a partial clone. All of it is
// off. Files that a filter changes (those of Git LFS, say) may thus count as
// dirty although git, which runs the filter, finds that they are not: they differ
// between two views only if they changed.
func Look(ctx context.Context, dir string, skip func(path string) bool) (View, error) {
	top := Root(dir)
	if top == "" {
		return View{}, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	l := looker{skip: skip, budget: 64 << 20}
	v, err := l.look(ctx, top)
	if errors.Is(err, exec.ErrNotFound) {
		return View{}, nil
	}
	return v, err
}

// Root returns the top of the work tree that holds dir, as the folders tell and without
// asking git, so that other folders cost no process; "" = none.
func Root(dir string) string {
	dir, err := filepath.Abs(dir)
	for err == nil && !isTop(dir) {
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
	return dir
}

// isTop reports whether git takes dir for the top of a work tree.
func isTop(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, ".git"))
	if err == nil && info.IsDir() {
		_, err = os.Lstat(filepath.Join(dir, ".git", "HEAD"))
	}
	return err == nil
}

// A looker makes one View.
type looker struct {
	skip   func(string) bool
	budget int64 // bytes of files to read; beyond it, size and time must do
}

func (l *looker) look(ctx context.Context, top string) (View, error) {
	git := unfiltered(ctx, top)
	v := View{Top: top, Dirty: map[string]string{}, nested: map[string]View{}}
	var folders []string
	for _, entry := range git.names(ctx, "status", "--porcelain=v2", "--branch", "--no-ahead-behind",
		"--untracked-files=all", "--ignore-submodules=dirty", "--no-renames", "-z") {
		if oid, ok := strings.CutPrefix(entry, "# branch.oid "); ok && oid != "(initial)" {
			v.Head = oid
		}
		p := statusPath(entry)
		if p == "" || l.skip(p) {
			continue
		}
		content, folder := l.content(filepath.Join(top, filepath.FromSlash(p)))
		if folder {
			folders = append(folders, strings.TrimSuffix(p, "/"))
		}
		state, _, _ := strings.Cut(entry, " "+p)
		v.Dirty[p] = state + " " + content
	}
	linked := git.submodules(ctx)
	if git.err != nil {
		return View{}, git.err
	}
	for _, p := range append(folders, linked...) {
		inner := filepath.Join(top, filepath.FromSlash(p))
		if info, err := os.Lstat(inner); err != nil || !info.IsDir() || !isTop(inner) {
			continue // a submodule that is not checked out
		}
		var err error
		if v.nested[p], err = l.look(ctx, inner); ctx.Err() != nil {
			return View{}, context.Cause(ctx)
		} else if err != nil {
			v.partly = true
		}
	}
	return v, nil
}

// statusPath is the path of an entry of porcelain v2, "" for headers.
func statusPath(entry string) string {
	fields := map[byte]int{'1': 9, 'u': 11, '?': 2}
	if entry == "" || fields[entry[0]] == 0 {
		return ""
	}
	parts := strings.SplitN(entry, " ", fields[entry[0]])
	if len(parts) < fields[entry[0]] {
		return ""
	}
	return parts[len(parts)-1]
}

// content says what a file holds, and whether it is a folder: a repository of its
// own, for git tells of no others.
func (l *looker) content(name string) (content string, folder bool) {
	info, err := os.Lstat(name)
	switch {
	case err != nil:
		return "gone", false
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ := os.Readlink(name)
		return "link " + target, false
	case !info.Mode().IsRegular():
		return info.Mode().Type().String(), info.IsDir()
	case info.Size() > l.budget:
		return fmt.Sprintf("%d %s", info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano)), false
	}
	l.budget -= info.Size()
	sum, err := digest(name)
	if err != nil {
		return "unreadable", false
	}
	return info.Mode().Perm().String() + " " + sum, false
}

// digest is the SHA-256 of a file, in hexadecimal digits.
func digest(name string) (string, error) {
	f, err := file.Open("", name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// Digest is the same for two views of the same commit with the same changes. ""
// = unknown.
func (v View) Digest() string {
	if v.Top == "" || v.partly {
		return ""
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", v.Head)
	for _, p := range slices.Sorted(maps.Keys(v.Dirty)) {
		fmt.Fprintf(h, "%q %s\n", p, v.Dirty[p])
	}
	for _, p := range slices.Sorted(maps.Keys(v.nested)) {
		inner := v.nested[p].Digest()
		if inner == "" {
			return ""
		}
		fmt.Fprintf(h, "%q %s\n", p, inner)
	}
	return "git:" + hex.EncodeToString(h.Sum(nil)[:16])
}

// ChangedSince returns the files that changed between two views of one work tree,
// sorted, as far as git can tell: of history that was rewritten it may have lost
// the old commit.
func (v View) ChangedSince(ctx context.Context, before View) []string {
	changed := map[string]bool{}
	for p, now := range v.Dirty {
		if before.Dirty[p] != now {
			changed[p] = true
		}
	}
	for p := range before.Dirty {
		if _, still := v.Dirty[p]; !still {
			changed[p] = true
		}
	}
	for _, p := range v.committedSince(ctx, before.Head) {
		changed[p] = true
	}
	for p, inner := range v.nested {
		for _, file := range inner.ChangedSince(ctx, before.nested[p]) {
			changed[p+"/"+file] = true
		}
	}
	for p := range before.nested {
		if _, still := v.nested[p]; !still {
			changed[p] = true
		}
	}
	return slices.Sorted(maps.Keys(changed))
}

// committedSince returns what differs between two commits; of none ("") all.
func (v View) committedSince(ctx context.Context, head string) []string {
	args := []string{"diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", head, v.Head}
	switch head {
	case v.Head:
		return nil
	case "":
		args = []string{"ls-tree", "-r", "-z", "--name-only", v.Head}
	}
	return (&call{dir: v.Top}).names(ctx, args...)
}
