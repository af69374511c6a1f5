package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph/internal/file"
)

// CheckBranch is an error if there can be no branch of a name: git says which there can
// be, and none is called HEAD or @, begins with a minus sign, or is a whole ref.
func CheckBranch(ctx context.Context, name string) error {
	bad := fmt.Errorf("git: %q is no name of a branch", name)
	if name == "" || name == "HEAD" || name == "@" || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "refs/") || strings.ContainsAny(name, "\x00") {
		return bad
	}
	c := &call{}
	if !c.yes(ctx, "check-ref-format", "refs/heads/"+name) {
		return cmp.Or(c.err, bad)
	}
	return nil
}

// Tip is the commit of a branch, "" = there is none of that name.
func Tip(ctx context.Context, dir, branch string) (string, error) {
	c := &call{dir: dir}
	tip := c.refCommit(ctx, "refs/heads/"+branch)
	return tip, c.err
}

// Switch checks out a branch in the user's work tree, with its files. One that is not there
// is made, where the head is. Called again, it finishes what a kill has left half done; if
// the branch is checked out already, it does nothing.
//
// Files of git's that are changed, staged or not, are an error that names them, but those
// for which own answers true, which stay as they lie if the two commits have the same of
// them. Nothing of the user is written over: what git does not have and is in the way is an
// [InWayError]. In both cases nothing is changed. It is an error, too, if the branch is
// checked out in another work tree, or if no branch has what a detached head is at.
func (r *Repo) Switch(ctx context.Context, branch string, own func(path string) bool) error {
	if err := CheckBranch(ctx, branch); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	unlock, err := r.lock()
	if err != nil {
		return err
	}
	defer unlock()
	c := r.own()
	if now := c.branch(ctx); c.err == nil && now != branch {
		c.err = r.leave(ctx, now, branch, own)
	}
	if c.err == nil {
		r.Branch, c.err = branch, gone(os.Remove(r.switching()))
	}
	return c.err
}

// leave goes from one branch to another.
func (r *Repo) leave(ctx context.Context, now, branch string, own func(path string) bool) error {
	if err := r.unbegun(); err != nil {
		return err
	}
	c, ref := r.own(), "refs/heads/"+branch
	head := c.commit(ctx, "HEAD")
	to := c.refCommit(ctx, ref)
	if to != "" {
		r.free(ctx, c, now, head, branch)
	}
	if c.err != nil {
		return c.err
	}
	note := head + " " + branch + "\n" // what was left half done is no change of the user's
	if err := r.clean(ctx, branch, note, own); err != nil {
		return err
	}
	point := []string{"symbolic-ref", "-m", "ralph: switch to " + branch, "HEAD", ref}
	if to == "" {
		c.run(ctx, "update-ref", "-m", "ralph: new branch", ref, head, strings.Repeat("0", len(head)))
	}
	if to == "" || to == head {
		c.run(ctx, point...)
		return c.err
	}
	if err := os.WriteFile(r.switching(), []byte(note), 0o600); err != nil {
		return fmt.Errorf("git: %w", err)
	}
	a := &advance{repo: r, from: head, to: to, changes: c.diff(ctx, "diff-tree", "-r", head, to)}
	if c.err != nil {
		return c.err
	}
	err := a.run(ctx, point...)
	if _, ok := errors.AsType[*InWayError](err); ok { // nothing was begun
		err = errors.Join(err, gone(os.Remove(r.switching())))
	}
	return err
}

// clean is an error if files of git's are changed.
func (r *Repo) clean(ctx context.Context, branch, note string, own func(path string) bool) error {
	if left, err := file.Read("", r.switching(), 1<<16); err == nil && string(left) == note {
		return nil
	}
	dirty, err := r.Dirty(ctx, own)
	if err == nil && len(dirty) > 0 {
		err = fmt.Errorf("git: %s has changes that are not committed, and the branch %s is to be checked out: commit or stash them: %s", r.Top, branch, quoted(dirty))
	}
	return err
}

// free fails if a branch that is there cannot be checked out.
func (r *Repo) free(ctx context.Context, c *call, now, head, branch string) {
	for line := range strings.Lines(c.run(ctx, "for-each-ref", "--format=%(refname)%00%(worktreepath)", "refs/heads/"+branch)) {
		if name, at, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\x00"); name == "refs/heads/"+branch && at != "" {
			c.err = fmt.Errorf("git: the branch %s is checked out in %s: work there, or remove that work tree", branch, at)
		}
	}
	if now == "" && c.run(ctx, "for-each-ref", "--count=1", "--contains="+head, "--format=%(refname)", "refs/heads", "refs/tags", "refs/remotes") == "" {
		c.err = cmp.Or(c.err, fmt.Errorf("git: the head of %s is detached, and no branch has its commit %.10s: give it one (git branch NAME) before %s is checked out", r.Top, head, branch))
	}
}

// switching is the file that says that a switch has begun: from which commit to which
// branch.
func (r *Repo) switching() string { return filepath.Join(r.dir, "ralph-switch") }

// gone is an error that does not say that something is not there.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return ours(err)
}
