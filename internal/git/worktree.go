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

// A Tree is a linked work tree with a branch of its own, in which an agent works. Its
// methods may not be called concurrently, nor while the agent runs.
type Tree struct {
	Dir    string // its top
	Branch string // without refs/heads/
	repo   *Repo
	git    string   // git's folder of it; "" = there is none
	copied []string // by Include
	extra  []string // the same, as .gitignore names them
}

// Add returns the work tree at a path, on a branch that begins at a commit. One that
// is there already is returned as it is, and one that was not finished, because we
// were killed, is made again; if somebody has removed the folder, it comes back with
// what the branch has. A branch with commits of its own that no work tree of ours has is
// somebody else's, which is an error, and so is anything else that lies at the path.
func (r *Repo) Add(ctx context.Context, path, branch, at string) (*Tree, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, err := r.Tree(path, branch)
	if err != nil {
		return nil, err
	}
	if err := r.folders(t); err != nil {
		return nil, err
	}
	begun := t.beside("new")
	known := t.git != ""
	switch {
	case there(begun): // nobody has worked in it
		known, err = true, errors.Join(file.RemoveAll(t.Dir), t.forget())
	case known && !t.Gone():
		r.ours(t)
		return t, t.Back(ctx)
	case known:
		err = t.forget()
	}
	if err != nil {
		return nil, err
	}
	if left, err := os.ReadDir(t.Dir); len(left) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("git: %s is in the way of a work tree: remove it, or move it away", t.Dir)
	}
	from, err := r.begin(ctx, t, at, known || r.mine[branch])
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(begun, nil, 0o600); err != nil {
		return nil, fmt.Errorf("git: %w", err)
	}
	c := r.own()
	if c.run(ctx, append([]string{"worktree", "add", "--quiet", "--no-checkout", "--no-guess-remote"}, from...)...); c.err != nil {
		// It may have been ended in the middle: what is there by then has no files.
		if left, found := r.Tree(path, branch); found == nil {
			c.err = errors.Join(c.err, file.RemoveAll(left.Dir), left.forget(), os.Remove(begun))
		}
		return nil, c.err
	}
	if t, err = r.Tree(path, branch); err != nil || t.git == "" {
		return nil, cmp.Or(err, errors.New("git: the work tree that was made is not there"))
	}
	r.ours(t)
	if err := t.fill(ctx, "", t.ref()); err != nil {
		return nil, err
	}
	return t, os.Remove(begun)
}

// Tree is the work tree at a path, whether it is there or not.
func (r *Repo) Tree(path, branch string) (*Tree, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("git: %w", err)
	}
	if parent, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(parent, filepath.Base(path))
	}
	t := &Tree{Dir: path, Branch: branch, repo: r}
	all, err := os.ReadDir(filepath.Join(r.Common, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("git: %w", err)
	}
	for _, e := range all {
		dir := filepath.Join(r.Common, "worktrees", e.Name())
		if e.IsDir() && names(filepath.Join(dir, "gitdir"), dir) == filepath.Join(path, ".git") {
			t.git = dir
		}
	}
	return t, nil
}

// Known reports whether git has the work tree on its list, or something of it was not
// removed because we were killed.
func (t *Tree) Known() bool { return t.git != "" || there(t.beside("gone")) }

// Gone reports whether somebody else has removed the folder.
func (t *Tree) Gone() bool { return !there(filepath.Join(t.Dir, ".git")) }

// names is the path that one of git's files holds, which may be relative to dir.
func names(name, dir string) string {
	text, err := file.Read("", name, 1<<16)
	if err != nil {
		return ""
	}
	path := filepath.FromSlash(strings.TrimRight(string(text), "\r\n"))
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path)
}

// folders makes what a work tree, and a sandbox around it, need to be there.
func (r *Repo) folders(t *Tree) error {
	parent := filepath.Dir(t.Dir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return fmt.Errorf("git: %w", err)
	}
	if resolved, err := filepath.EvalSymlinks(parent); err == nil {
		t.Dir = filepath.Join(resolved, filepath.Base(t.Dir))
	}
	if ignore := filepath.Join(parent, ".gitignore"); file.Within(r.Top, parent) && parent != r.Top && !there(ignore) {
		if err := os.WriteFile(ignore, []byte("*\n"), 0o600); err != nil {
			return fmt.Errorf("git: %w", err)
		}
	}
	for _, dir := range t.refs() {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return fmt.Errorf("git: %w", err)
		}
	}
	return nil
}

// refs are the folders in which the branch and its log are.
func (t *Tree) refs() []string {
	branch := filepath.FromSlash(t.ref())
	return []string{filepath.Dir(filepath.Join(t.repo.Common, branch)), filepath.Dir(filepath.Join(t.repo.Common, "logs", branch))}
}

// beside is the path of a note on the work tree, or of what is left of it.
func (t *Tree) beside(what string) string {
	return filepath.Join(filepath.Dir(t.Dir), "."+filepath.Base(t.Dir)+"."+what)
}

// begin has the branch of a work tree begin at a commit, and returns the arguments that
// make the work tree. known: it is ours, and may have commits.
func (r *Repo) begin(ctx context.Context, t *Tree, at string, known bool) (args []string, err error) {
	c := r.own()
	if !c.yes(ctx, "check-ref-format", t.ref()) {
		return nil, cmp.Or(c.err, fmt.Errorf("git: %q can be no branch", t.Branch))
	}
	at = c.commit(ctx, at)
	tip := c.refCommit(ctx, t.ref())
	if tip == "" {
		return []string{"-b", t.Branch, t.Dir, at}, c.err
	}
	old := c.within(ctx, tip, at)
	switch {
	case c.err != nil:
	case !old && !known:
		c.err = fmt.Errorf("git: there is a branch %s already, with commits that are not in %s: rename it (git branch -m %[1]s NAME), or delete it (git branch -D %[1]s)", t.Branch, cmp.Or(r.Branch, "the head"))
	case old && tip != at:
		c.run(ctx, "update-ref", t.ref(), at, tip)
	}
	return []string{t.Dir, t.Branch}, c.err
}

// fill writes the files of the commit to into a work tree that has those of from ("" =
// none). What else lies in their place is lost.
func (t *Tree) fill(ctx context.Context, from, to string) error {
	c := t.repo.own()
	to = c.commit(ctx, to)
	if from != "" {
		from = c.commit(ctx, from)
	}
	if c.err != nil {
		return c.err
	}
	s := t.repo.shadow(t.Dir)
	defer s.remove()
	if from != "" {
		s.tree(ctx, from)
		s.refresh(ctx)
	}
	s.run(ctx, "read-tree", "--reset", "-u", to)
	s.lay(t.git)
	return s.err
}

// forget takes the work tree off git's list.
func (t *Tree) forget() error {
	if t.git == "" {
		return nil
	}
	if err := t.locked(); err != nil {
		return err
	}
	return ours(file.RemoveAll(t.git))
}

// locked is an error if somebody has locked the work tree. While it is made, git does.
func (t *Tree) locked() error {
	if t.git == "" || !there(filepath.Join(t.git, "locked")) || there(t.beside("new")) {
		return nil
	}
	return fmt.Errorf("git: the work tree %s is locked: unlock it (git worktree unlock %[1]s)", t.Dir)
}

// Writable are the folders outside the work tree that git commit in it writes to:
// the objects, what is git's of this work tree, and the branch with its log. They are
// there. Other branches beside it are among them, and no configuration, hook or other
// ref.
func (t *Tree) Writable() []string {
	for _, dir := range t.refs() {
		_ = os.MkdirAll(dir, 0o777) // git removes them when refs are packed
	}
	return append(t.refs(), filepath.Join(t.repo.Common, "objects"), t.git)
}

// Remove removes the work tree and its branch, if all that it has is in the user's
// branch (see [Repo.Main]); otherwise it is an error, and everything stays. What is ignored, and was
// copied by [Tree.Include], goes. It finishes what was not finished because we were
// killed.
func (t *Tree) Remove(ctx context.Context) error {
	r := t.repo
	r.mu.Lock()
	defer r.mu.Unlock()
	main, err := r.Main(ctx)
	if err != nil {
		return err
	}
	c := r.own()
	tip := c.refCommit(ctx, t.ref())
	if tip != "" && !c.within(ctx, tip, main) {
		return cmp.Or(c.err, fmt.Errorf("git: the branch %s has commits that are not in %s", t.Branch, cmp.Or(r.Branch, "the head")))
	}
	if c.err != nil {
		return c.err
	}
	if !t.Gone() {
		if err := t.empty(ctx, tip, main); err != nil {
			return err
		}
	}
	return t.discard(ctx, tip)
}

// empty is an error if the folder has what is in no commit, or a commit that is in no
// branch.
func (t *Tree) empty(ctx context.Context, tip, main string) error {
	if t.git == "" || tip == "" || !there(t.git) {
		return fmt.Errorf("git: %s is no work tree of %s with the branch %s", t.Dir, t.repo.Top, t.Branch)
	}
	if err := t.locked(); err != nil {
		return err
	}
	c := t.repo.own()
	head := t.head(ctx, c)
	if !c.within(ctx, head, main) {
		return cmp.Or(c.err, fmt.Errorf("git: the work tree %s is at a commit that is not in %s", t.Dir, cmp.Or(t.repo.Branch, "the head")))
	}
	return t.committed(ctx, head)
}

// head is the commit that the work tree is at. Its HEAD is read without git, which
// would look for refs where the agent says that they are.
func (t *Tree) head(ctx context.Context, c *call) string {
	text, err := file.Read("", filepath.Join(t.git, "HEAD"), 1<<16)
	if err != nil {
		c.err = cmp.Or(c.err, fmt.Errorf("git: %w", err))
	}
	head := strings.TrimSpace(string(text))
	if ref, ok := strings.CutPrefix(head, "ref: "); ok {
		head = c.refCommit(ctx, strings.TrimSpace(ref))
	}
	if !isObject(head) {
		c.err = cmp.Or(c.err, fmt.Errorf("git: the work tree %s is at no commit", t.Dir))
	}
	return c.commit(ctx, head)
}

// point has the work tree be at a commit, or on its branch ("").
func (t *Tree) point(commit string) error {
	return place(filepath.Join(t.git, "HEAD"), []byte(cmp.Or(commit, "ref: "+t.ref())+"\n"))
}

func (t *Tree) ref() string { return "refs/heads/" + t.Branch }

func there(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
