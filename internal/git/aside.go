package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/ralph-loop/ralph/internal/file"
)

// SetAside makes room for a new work tree at a path, on a new branch. What lies there, and
// is in none of the commits held nor in the user's branch, is kept as another branch, which
// is returned: ralph/a is kept as ralph/a.1, or the first number that is free. Files that
// were not committed are, with the message, but those that globs name, see [Tree.Include];
// of a merge that is not finished, as they lie. If there is nothing to keep, that is "". It
// finishes what was not finished because we were killed.
func (r *Repo) SetAside(ctx context.Context, path, branch, message string, globs []string, held ...string) (kept string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, err := r.Tree(path, branch)
	if err != nil {
		return "", err
	}
	if t.git != "" && !t.Gone() && !there(t.beside("new")) {
		r.ours(t)
		if err := cmp.Or(t.Back(ctx), t.Include(ctx, globs)); err != nil {
			return "", err
		}
		if t.resolved(ctx) != nil { // Commit tells if it cannot be asked
			if err := t.unmerge(ctx); err != nil {
				return "", err
			}
		}
		if _, _, err := t.Commit(ctx, message); err != nil {
			return "", err
		}
	}
	main, err := r.Main(ctx)
	if err != nil {
		return "", err
	}
	c := r.own()
	tip := c.refCommit(ctx, t.ref())
	if tip != "" {
		kept = c.keep(ctx, branch, tip, append(held, main))
	}
	if c.err != nil {
		return "", c.err
	}
	return kept, t.discard(ctx, tip)
}

// unmerge has a merge that is begun be none any more. The files stay as they lie.
func (t *Tree) unmerge(ctx context.Context) error {
	c := t.repo.own()
	head, _ := t.base(ctx, c)
	if c.err != nil {
		return c.err
	}
	s := t.repo.shadow(t.Dir)
	defer s.remove()
	s.tree(ctx, head)
	return t.conclude(s)
}

// keep gives a commit another branch, unless a commit of held has it.
func (c *call) keep(ctx context.Context, branch, tip string, held []string) (kept string) {
	for _, in := range held {
		if c.within(ctx, tip, in) {
			return ""
		}
	}
	for n := 1; c.err == nil; n++ {
		kept = fmt.Sprintf("%s.%d", branch, n)
		switch is := c.refCommit(ctx, "refs/heads/"+kept); {
		case is == tip: // we were killed
			return kept
		case is == "":
			c.run(ctx, "update-ref", "-m", "ralph: set aside", "refs/heads/"+kept, tip, "")
			return kept
		}
	}
	return ""
}

// discard removes the folder of a work tree, takes it off git's list, and removes its
// branch, which is at tip; "" = there is none. A folder without a .git stays: what it
// holds is known to nobody.
func (t *Tree) discard(ctx context.Context, tip string) error {
	if t.Known() {
		if err := t.locked(); err != nil {
			return err
		}
		if !t.Gone() || there(t.beside("new")) && there(t.Dir) {
			if err := ours(errors.Join(file.RemoveAll(t.beside("gone")), os.Rename(t.Dir, t.beside("gone")))); err != nil {
				return err
			}
		}
		if err := errors.Join(t.forget(), file.RemoveAll(t.beside("gone")), file.RemoveAll(t.beside("new"))); err != nil {
			return err
		}
	}
	if t.git != "" {
		t.repo.ours(t)
		delete(t.repo.added, t.git)
		delete(t.repo.mine, t.Branch)
		t.git = ""
	}
	c := t.repo.own()
	if tip != "" {
		c.run(ctx, "update-ref", "-d", t.ref(), tip)
	}
	return c.err
}

// Branches are the commits of the branches below ralph/, by their names.
func (r *Repo) Branches(ctx context.Context) (map[string]string, error) {
	all, c := map[string]string{}, r.own()
	for line := range strings.Lines(c.run(ctx, "for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", "refs/heads/ralph/")) {
		commit, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		all[name] = commit
	}
	return all, c.err
}

// Apart reports whether a commit of a branch below ralph/ came from no commit that another
// branch there has too, beside those that from came from. What was set aside of the branch
// is no other.
func (r *Repo) Apart(ctx context.Context, commit, branch, from string) (bool, error) {
	all, err := r.Branches(ctx)
	if err != nil {
		return false, err
	}
	c, args := r.own(), []string{"rev-list", "--count", commit, "--not", from}
	own := c.run(ctx, args...)
	for name := range all {
		if name != branch && !strings.HasPrefix(name, branch+".") {
			args = append(args, "refs/heads/"+name)
		}
	}
	left := c.run(ctx, args...)
	return own == left, c.err
}

// Untracked are the files of the user's work tree, and the folders, that git does not have
// and does not ignore.
func (r *Repo) Untracked(ctx context.Context) ([]string, error) {
	s := r.shadow(r.Top)
	defer s.remove()
	s.borrow(r.dir)
	names := s.names(ctx, "ls-files", "--others", "--exclude-standard", "--directory", "--no-empty-directory", "-z")
	return names, s.err
}
