package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	t, err := r.tree(path, branch)
	if err != nil {
		return "", err
	}
	if t.git != "" && there(filepath.Join(t.Dir, ".git")) && !there(t.beside("new")) {
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
	ref := "refs/heads/" + branch
	tip, err := r.own().refCommit(ctx, ref)
	if err != nil {
		return "", err
	}
	main, err := r.Main(ctx)
	if err != nil {
		return "", err
	}
	if tip != "" {
		if kept, err = r.keep(ctx, branch, tip, append(held, main)); err != nil {
			return "", err
		}
	}
	if err := t.discard(); err != nil {
		return "", err
	}
	if tip != "" {
		_, err = r.own().run(ctx, "update-ref", "-d", ref, tip)
	}
	return kept, err
}

// unmerge has a merge that is begun be none any more. The files stay as they lie.
func (t *Tree) unmerge(ctx context.Context) error {
	head, _, err := t.base(ctx)
	if err != nil {
		return err
	}
	s, err := t.repo.shadow(t.Dir)
	if err != nil {
		return err
	}
	defer s.remove()
	if err := s.tree(ctx, head); err != nil {
		return err
	}
	return cmp.Or(s.lay(t.git), t.finish())
}

// keep gives a commit another branch, unless a commit of held has it.
func (r *Repo) keep(ctx context.Context, branch, tip string, held []string) (kept string, err error) {
	for _, in := range held {
		if has, err := r.own().within(ctx, tip, in); err != nil || has {
			return "", err
		}
	}
	for n := 1; ; n++ {
		kept = fmt.Sprintf("%s.%d", branch, n)
		switch is, err := r.own().refCommit(ctx, "refs/heads/"+kept); {
		case err != nil:
			return "", err
		case is == tip: // we were killed
			return kept, nil
		case is == "":
			_, err := r.own().run(ctx, "update-ref", "-m", "ralph: set aside", "refs/heads/"+kept, tip, "")
			return kept, err
		}
	}
}

// discard removes the folder of a work tree, and takes it off git's list. A folder
// without a .git stays: what it holds is known to nobody.
func (t *Tree) discard() error {
	if t.git == "" && !there(t.beside("gone")) {
		return nil
	}
	if err := t.locked(); err != nil {
		return err
	}
	if there(filepath.Join(t.Dir, ".git")) || there(t.beside("new")) && there(t.Dir) {
		if err := errors.Join(removeAll(t.beside("gone")), os.Rename(t.Dir, t.beside("gone"))); err != nil {
			return fmt.Errorf("git: %w", err)
		}
	}
	if err := errors.Join(t.forget(), removeAll(t.beside("gone")), removeAll(t.beside("new"))); err != nil {
		return err
	}
	if t.git != "" {
		t.repo.ours(t)
		delete(t.repo.added, t.git)
		delete(t.repo.mine, t.Branch)
		t.git = ""
	}
	return nil
}

// Branches are the commits of the branches below ralph/, by their names.
func (r *Repo) Branches(ctx context.Context) (map[string]string, error) {
	all := map[string]string{}
	out, err := r.own().run(ctx, "for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", "refs/heads/ralph/")
	for line := range strings.Lines(out) {
		commit, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		all[name] = commit
	}
	return all, err
}

// Apart reports whether a commit of a branch below ralph/ came from no commit that another
// branch there has too, beside those that from came from. What was set aside of the branch
// is no other.
func (r *Repo) Apart(ctx context.Context, commit, branch, from string) (bool, error) {
	all, err := r.Branches(ctx)
	if err != nil {
		return false, err
	}
	args := []string{"rev-list", "--count", commit, "--not", from}
	own, err := r.own().run(ctx, args...)
	if err != nil {
		return false, err
	}
	for name := range all {
		if name != branch && !strings.HasPrefix(name, branch+".") {
			args = append(args, "refs/heads/"+name)
		}
	}
	left, err := r.own().run(ctx, args...)
	return own == left, err
}

// Untracked are the files of the user's work tree, and the folders, that git does not have
// and does not ignore.
func (r *Repo) Untracked(ctx context.Context) ([]string, error) {
	s, err := r.shadow(r.Top)
	if err != nil {
		return nil, err
	}
	defer s.remove()
	if err := s.borrow(r.dir); err != nil {
		return nil, err
	}
	return s.names(ctx, "ls-files", "--others", "--exclude-standard", "--directory", "--no-empty-directory", "-z")
}
