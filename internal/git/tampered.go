package git

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/file"
)

// Tampered tells what of the repository is not as it was at the start, a sentence
// each, sorted: git's configuration, hooks, attributes and excludes, refs, which
// branch is checked out, other work trees, what the index says not to look at, and
// whether work trees of ours still say that they belong to the repository. The user's
// branch and those below ralph/ are left out. None of it has an effect on what is
// done here; it has on what the user does next. The user may have done it, too.
func (r *Repo) Tampered(ctx context.Context) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.intact(); err != nil {
		return []string{err.Error()}, nil
	}
	now, err := r.marks(ctx)
	if err != nil {
		return nil, err
	}
	var told []string
	for what, is := range now {
		switch was, ok := r.start[what]; {
		case !ok:
			told = append(told, what+" was added")
		case was != is:
			told = append(told, what+" was changed")
		}
	}
	for what := range r.start {
		if _, ok := now[what]; !ok {
			told = append(told, what+" was removed")
		}
	}
	for dir, top := range r.added {
		if t := (&Tree{Dir: top, repo: r, git: dir}); there(top) && !t.belongs() {
			told = append(told, fmt.Sprintf("the work tree %s names another repository", top))
		}
	}
	slices.Sort(told)
	return told, nil
}

// belongs reports whether a work tree and the repository name each other.
func (t *Tree) belongs() bool {
	text, err := file.Read("", filepath.Join(t.Dir, ".git"), 1<<16)
	back, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if back = filepath.FromSlash(back); !filepath.IsAbs(back) {
		back = filepath.Join(t.Dir, back)
	}
	return err == nil && ok && filepath.Clean(back) == t.git &&
		names(filepath.Join(t.git, "gitdir"), t.git) == filepath.Join(t.Dir, ".git") && names(filepath.Join(t.git, "commondir"), t.git) == t.repo.Common
}

// ours leaves a work tree out of what is not to change.
func (r *Repo) ours(t *Tree) {
	r.added[t.git], r.mine[t.Branch] = t.Dir, true
	delete(r.start, workTreeMark(t.git))
}

func workTreeMark(dir string) string {
	return fmt.Sprintf("the work tree %q of the repository", filepath.Base(dir))
}

// marks are what is not to change, by its name, as a digest or a word.
func (r *Repo) marks(ctx context.Context) (map[string]string, error) {
	all := map[string]string{}
	config, err := r.settings(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range config {
		if s.scope != "command" {
			all[fmt.Sprintf("%q of git's configuration", s.key)] += fmt.Sprintf("%s %q %v\n", s.scope, s.value, s.bare)
		}
	}
	for _, dir := range []string{filepath.Join(r.Common, "hooks"), filepath.Join(r.Common, "info"), filepath.Join(r.dir, "info"), filepath.Join(r.Common, "objects", "info")} {
		if err := markFiles(all, dir); err != nil {
			return nil, err
		}
	}
	if err := r.markRefs(ctx, all); err != nil {
		return nil, err
	}
	trees, err := os.ReadDir(filepath.Join(r.Common, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("git: %w", err)
	}
	for _, e := range trees {
		if dir := filepath.Join(r.Common, "worktrees", e.Name()); r.added[dir] == "" && e.IsDir() {
			all[workTreeMark(dir)] = names(filepath.Join(dir, "gitdir"), dir) + "\n" + names(filepath.Join(dir, "commondir"), dir)
		}
	}
	return all, r.markIndex(ctx, all)
}

// markFiles marks the files of one of git's folders. What git writes there itself, to
// be fast or to be served, is left out.
func markFiles(all map[string]string, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("git: %w", err)
	}
	for _, e := range entries {
		if slices.Contains([]string{"refs", "packs", "commit-graph", "commit-graphs"}, e.Name()) {
			continue
		}
		name := filepath.Join(dir, e.Name())
		info, err := os.Stat(name)
		switch {
		case err != nil:
			all[name] = "unreadable"
		case !info.Mode().IsRegular():
			all[name] = info.Mode().String()
		default:
			sum, err := digest(name)
			if err != nil {
				return fmt.Errorf("git: %w", err)
			}
			all[name] = info.Mode().String() + " " + sum
		}
	}
	return nil
}

func (r *Repo) markRefs(ctx context.Context, all map[string]string) error {
	c := r.own()
	for line := range strings.Lines(c.run(ctx, "for-each-ref", "--format=%(refname) %(objectname) %(symref)")) {
		ref, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !strings.HasPrefix(ref, "refs/heads/ralph/") && ref != "refs/heads/"+r.Branch {
			all["the ref "+ref] = value
		}
	}
	all["what is checked out in "+r.Top] = c.branch(ctx)
	return c.err
}

// markIndex marks what the index of the user's work tree says not to look at. What is
// not checked out in a sparse checkout changes with each merge.
func (r *Repo) markIndex(ctx context.Context, all map[string]string) error {
	s := r.shadow(r.Top)
	defer s.remove()
	s.borrow(r.dir)
	h := sha256.New()
	for _, line := range s.names(ctx, "ls-files", "-v", "-z") {
		if tag, _, _ := strings.Cut(line, " "); tag != strings.ToUpper(tag) || tag == "S" && !r.config.is("core.sparsecheckout") {
			fmt.Fprintf(h, "%q\n", line)
		}
	}
	all["what the index of "+r.Top+" says not to look at"] = fmt.Sprintf("%x", h.Sum(nil))
	return s.err
}
