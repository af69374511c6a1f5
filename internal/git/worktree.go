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
	t, err := r.tree(path, branch)
	if err != nil {
		return nil, err
	}
	if err := r.folders(t); err != nil {
		return nil, err
	}
	begun := t.beside("new")
	known := t.git != ""
	switch _, err := os.Lstat(filepath.Join(t.Dir, ".git")); {
	case there(begun): // nobody has worked in it
		known, err = true, errors.Join(removeAll(t.Dir), t.forget())
		if err != nil {
			return nil, err
		}
	case known && err == nil:
		r.ours(t)
		return t, t.Back(ctx)
	case known:
		if err := t.forget(); err != nil {
			return nil, err
		}
	}
	if left, err := os.ReadDir(t.Dir); len(left) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("git: %s is in the way of a work tree: remove it, or move it away", t.Dir)
	}
	from, err := r.begin(ctx, branch, at, known || r.mine[branch])
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(begun, nil, 0o600); err != nil {
		return nil, fmt.Errorf("git: %w", err)
	}
	if _, err := r.own().run(ctx, append([]string{"worktree", "add", "--quiet", "--no-checkout", "--no-guess-remote"}, from(t.Dir)...)...); err != nil {
		// It may have been ended in the middle: what is there by then has no files.
		if left, found := r.tree(path, branch); found == nil {
			err = errors.Join(err, removeAll(left.Dir), left.forget(), os.Remove(begun))
		}
		return nil, err
	}
	if t, err = r.tree(path, branch); err != nil || t.git == "" {
		return nil, cmp.Or(err, errors.New("git: the work tree that was made is not there"))
	}
	r.ours(t)
	if err := t.fill(ctx, "", "refs/heads/"+branch); err != nil {
		return nil, err
	}
	return t, os.Remove(begun)
}

// Tree is the work tree at a path, whether it is there or not, to remove it.
func (r *Repo) Tree(path, branch string) (*Tree, error) { return r.tree(path, branch) }

// Known reports whether git has the work tree on its list, or something of it was not
// removed because we were killed.
func (t *Tree) Known() bool { return t.git != "" || there(t.beside("gone")) }

// Gone reports whether somebody else has removed the folder.
func (t *Tree) Gone() bool { return !there(filepath.Join(t.Dir, ".git")) }

func (r *Repo) tree(path, branch string) (*Tree, error) {
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
	branch := filepath.FromSlash("refs/heads/" + t.Branch)
	return []string{filepath.Dir(filepath.Join(t.repo.Common, branch)), filepath.Dir(filepath.Join(t.repo.Common, "logs", branch))}
}

// beside is the path of a note on the work tree, or of what is left of it.
func (t *Tree) beside(what string) string {
	return filepath.Join(filepath.Dir(t.Dir), "."+filepath.Base(t.Dir)+"."+what)
}

// begin has the branch begin at a commit, and returns the arguments that make the
// work tree. known: it is ours, and may have commits.
func (r *Repo) begin(ctx context.Context, branch, at string, known bool) (args func(path string) []string, err error) {
	ref := "refs/heads/" + branch
	if _, err := (call{}).run(ctx, "check-ref-format", ref); err != nil {
		return nil, fmt.Errorf("git: %q can be no branch: %w", branch, err)
	}
	if at, err = r.own().commit(ctx, at); err != nil {
		return nil, err
	}
	tip, err := r.own().refCommit(ctx, ref)
	if err != nil {
		return nil, err
	}
	if tip == "" {
		return func(path string) []string { return []string{"-b", branch, path, at} }, nil
	}
	old, err := r.own().within(ctx, tip, at)
	switch {
	case err != nil:
		return nil, err
	case !old && !known:
		return nil, fmt.Errorf("git: there is a branch %s already, with commits that are not in %s: rename it (git branch -m %[1]s NAME), or delete it (git branch -D %[1]s)", branch, cmp.Or(r.Branch, "the head"))
	case old && tip != at:
		_, err = r.own().run(ctx, "update-ref", ref, at, tip)
	}
	return func(path string) []string { return []string{path, branch} }, err
}

// fill writes the files of the commit to into a work tree that has those of from ("" =
// none). What else lies in their place is lost.
func (t *Tree) fill(ctx context.Context, from, to string) error {
	s, err := t.repo.shadow(t.Dir)
	if err != nil {
		return err
	}
	defer s.remove()
	if to, err = t.repo.own().commit(ctx, to); err != nil {
		return err
	}
	if from != "" {
		if from, err = t.repo.own().commit(ctx, from); err == nil {
			err = s.tree(ctx, from)
		}
		if err == nil {
			_, err = s.refresh(ctx)
		}
		if err != nil {
			return err
		}
	}
	if _, err := s.run(ctx, "read-tree", "--reset", "-u", to); err != nil {
		return err
	}
	return s.lay(t.git)
}

// forget takes the work tree off git's list.
func (t *Tree) forget() error {
	if t.git == "" {
		return nil
	}
	if err := t.locked(); err != nil {
		return err
	}
	return removeAll(t.git)
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
	ref := "refs/heads/" + t.Branch
	tip, err := r.own().refCommit(ctx, ref)
	if err != nil {
		return err
	}
	main, err := r.Main(ctx)
	if err != nil {
		return err
	}
	if tip != "" {
		if merged, err := r.own().within(ctx, tip, main); err != nil || !merged {
			return cmp.Or(err, fmt.Errorf("git: the branch %s has commits that are not in %s", t.Branch, cmp.Or(r.Branch, "the head")))
		}
	}
	if there(filepath.Join(t.Dir, ".git")) {
		if err := t.empty(ctx, tip, main); err != nil {
			return err
		}
	}
	if err := t.discard(); err != nil {
		return err
	}
	if tip != "" {
		_, err = r.own().run(ctx, "update-ref", "-d", ref, tip)
	}
	return err
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
	head, err := t.head(ctx)
	if err != nil {
		return err
	}
	if merged, err := t.repo.own().within(ctx, head, main); err != nil || !merged {
		return cmp.Or(err, fmt.Errorf("git: the work tree %s is at a commit that is not in %s", t.Dir, cmp.Or(t.repo.Branch, "the head")))
	}
	return t.committed(ctx, head)
}

// head is the commit that the work tree is at. Its HEAD is read without git, which
// would look for refs where the agent says that they are.
func (t *Tree) head(ctx context.Context) (string, error) {
	text, err := file.Read("", filepath.Join(t.git, "HEAD"), 1<<16)
	if err != nil {
		return "", fmt.Errorf("git: %w", err)
	}
	head := strings.TrimSpace(string(text))
	if ref, ok := strings.CutPrefix(head, "ref: "); ok {
		if head, err = t.repo.own().refCommit(ctx, strings.TrimSpace(ref)); err != nil {
			return "", err
		}
	}
	if !isObject(head) {
		return "", fmt.Errorf("git: the work tree %s is at no commit", t.Dir)
	}
	return t.repo.own().commit(ctx, head)
}

// point has the work tree be at a commit, or on its branch ("").
func (t *Tree) point(commit string) error {
	return place(filepath.Join(t.git, "HEAD"), []byte(cmp.Or(commit, "ref: refs/heads/"+t.Branch)+"\n"))
}

func there(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// removeAll removes a folder also where tools have made parts of it read-only.
func removeAll(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(p, 0o700)
		}
		return nil
	})
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("git: %w", err)
	}
	return nil
}
