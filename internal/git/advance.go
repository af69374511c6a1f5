package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Advance moves the user's branch and the files of his work tree from one commit to
// another. Called again, it finishes what a kill has left half done; if the branch is
// at to already, it does nothing.
//
// Nothing of the user is written over: a file that is neither as it was in from nor as
// it is in to, a file that git does not have and that is in the way, and what is staged
// for such a path, are an error that names them, and nothing is changed. Other
// changes stay as they are. Files of keep are left as they lie. A branch that is at neither
// is a [MovedError].
//
// Files that are not checked out, as sparse checkouts have it, are not written. The
// folders of submodules are not gone into.
func (r *Repo) Advance(ctx context.Context, from, to string, keep []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, err := r.advance(ctx, from, to, keep)
	if err != nil {
		return err
	}
	unlock, err := r.lock()
	if err != nil {
		return err
	}
	defer unlock()
	c := r.own()
	head, branch := c.commit(ctx, "HEAD"), c.branch(ctx)
	switch {
	case c.err != nil:
		return c.err
	case branch != r.Branch:
		return fmt.Errorf("git: another branch is checked out now: %s, not %s", cmp.Or(branch, "none"), cmp.Or(r.Branch, "none"))
	case head == a.to:
		return nil
	case head != a.from:
		return &MovedError{cmp.Or(r.Branch, "the head"), head, a.from}
	}
	if err := r.unbegun(); err != nil {
		return err
	}
	return a.run(ctx, "update-ref", "-m", "ralph: merge", "HEAD", a.to, a.from)
}

// An advance is one move of the user's work tree.
type advance struct {
	repo     *Repo
	from, to string
	changes  []delta // without those of keep
	kept     []delta
}

func (r *Repo) advance(ctx context.Context, from, to string, keep []string) (*advance, error) {
	c := r.own()
	a := &advance{repo: r, from: c.commit(ctx, from), to: c.commit(ctx, to)}
	if !c.within(ctx, a.from, a.to) {
		return nil, cmp.Or(c.err, fmt.Errorf("git: the commit %.10s does not go on from %.10s", a.to, a.from))
	}
	for _, d := range c.diff(ctx, "diff-tree", "-r", a.from, a.to) {
		if slices.Contains(keep, d.path) {
			a.kept = append(a.kept, d)
		} else {
			a.changes = append(a.changes, d)
		}
	}
	return a, c.err
}

// run moves the files and the index, and then has a command of git move the branch or
// the head: as long as that is not moved, it can be done again. If it cannot be done,
// everything goes back.
func (a *advance) run(ctx context.Context, point ...string) error {
	begun, err := a.move(ctx)
	ctx = context.WithoutCancel(ctx)
	if err == nil {
		c := a.repo.own()
		c.run(ctx, point...)
		err = c.err
	}
	if err == nil || !begun {
		return err
	}
	_, undone := a.back().move(ctx)
	return errors.Join(err, undone)
}

// back is the same move the other way.
func (a *advance) back() *advance {
	back := &advance{repo: a.repo, from: a.to, to: a.from}
	for _, d := range a.changes {
		back.changes = append(back.changes, delta{d.path, d.new, d.old})
	}
	for _, d := range a.kept {
		back.kept = append(back.kept, delta{d.path, d.new, d.old})
	}
	return back
}

// sweep removes what a kill has left.
func (r *Repo) sweep() error {
	old, err := os.ReadDir(r.dir)
	for _, e := range old {
		if strings.HasPrefix(e.Name(), "ralph-stage-") || strings.HasPrefix(e.Name(), "ralph-index-") {
			err = errors.Join(err, os.RemoveAll(filepath.Join(r.dir, e.Name())))
		}
	}
	return ours(err)
}

// move moves the files and the index; begun: some of it may be done.
func (a *advance) move(ctx context.Context) (begun bool, err error) {
	r := a.repo
	staging, err := os.MkdirTemp(r.dir, "ralph-stage-")
	if err != nil {
		return false, fmt.Errorf("git: %w", err)
	}
	defer os.RemoveAll(staging)
	s := r.shadow(r.Top)
	defer s.remove()
	if err := a.stage(ctx, s, staging); err != nil {
		return false, err
	}
	if err := a.check(ctx, staging); err != nil {
		return false, err
	}
	ctx = context.WithoutCancel(ctx) // from here on it is better to finish
	if err := inTurn(a.steps(staging)...); err != nil {
		return true, fmt.Errorf("git: %w", err)
	}
	s.refresh(ctx)
	s.lay(r.dir)
	return true, s.err
}

// stage has git work out the index, in the shadow, and the files that are to be
// written, in staging. Entries of the index that are as they are in to already,
// because we were killed, are put back to from.
func (a *advance) stage(ctx context.Context, s *shadow, staging string) error {
	s.borrow(a.repo.dir)
	have := s.staged(ctx)
	if s.err != nil {
		return s.err
	}
	var back, staged, again []string
	for _, d := range a.changes {
		switch e := have[d.path]; e {
		case d.old:
		case d.new:
			back = append(back, d.old.line(d.path, len(a.to)))
		default:
			staged = append(staged, d.path)
		}
	}
	if len(staged) > 0 {
		return inWay(staged)
	}
	for _, d := range a.kept {
		e := have[d.path]
		back = append(back, d.old.line(d.path, len(a.to)))
		if e == d.old || e == d.new {
			e = d.new
		}
		again = append(again, e.line(d.path, len(a.to)))
	}
	s.put(ctx, back)
	c := s.call
	c.dir, c.env = staging, append(slices.Clone(s.env), "GIT_WORK_TREE="+staging)
	c.run(ctx, "read-tree", "-m", "-u", a.from, a.to)
	s.err = c.err
	s.put(ctx, again)
	return s.err
}

// staged are the entries of the index, without paths that conflict.
func (s *shadow) staged(ctx context.Context) map[string]entry {
	all := map[string]entry{}
	for _, line := range s.names(ctx, "ls-files", "--stage", "-z") {
		about, path, _ := strings.Cut(line, "\t")
		f := strings.Fields(about)
		switch {
		case len(f) != 3:
			s.err = fmt.Errorf("git: ls-files said %q", line)
		case f[2] != "0":
			all[path] = entry{"conflict", ""}
		default:
			all[path] = entry{f[0], f[1]}
		}
	}
	return all
}
