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
	"sync"
	"sync/atomic"
	"time"

	"github.com/ralph-loop/ralph/internal/file"
)

// A Repo is a repository as it was when a run began. What its configuration, its
// attributes and its hooks say afterwards, an agent may have written: commits, merges
// and files that are written go by what was configured at the start, filters and
// signatures too, and no hook runs. Its methods may be called concurrently.
//
// Git's own folder of the repository is named to git in each call, as it was found at
// the start; a .git file or a commondir that names another one is not followed.
type Repo struct {
	Top    string // of the work tree that is the user's
	Common string // git's folder, that all work trees of the repository share
	Branch string // that is checked out there; "" = none, the head is detached

	dir     string // git's folder of the user's work tree; Common, unless that is a linked one
	config  settings
	info    map[string][]byte      // the files of info that git goes by, by name
	include []byte                 // .worktreeinclude
	start   map[string]string      // what is not to change: see [Repo.marks]
	main    atomic.Pointer[string] // what a [Remote] has told of the user's branch; nil = nothing has

	mu    sync.Mutex        // held by what changes the user's work tree, or the list of work trees
	added map[string]string // git's folder of each work tree of ours → its top
	mine  map[string]bool   // the branches that work trees were made for
}

// long is how long a call may take that writes files: a large work tree has many.
const long = 30 * time.Minute

// OpenRepo returns the repository whose work tree has dir as its top. The error says
// why if there can be no work in it: there is no commit, git does not know who the
// user is, or is older than 2.38; submodules are checked out, which a work tree of
// another branch would not have.
func OpenRepo(ctx context.Context, dir string) (*Repo, error) {
	if err := newEnough(ctx); err != nil {
		return nil, err
	}
	top, err := TopLevel(ctx, dir)
	if err != nil {
		return nil, err
	}
	if here, err := filepath.EvalSymlinks(cmp.Or(dir, ".")); err != nil {
		return nil, err
	} else if here, err = filepath.Abs(here); err != nil || here != top {
		return nil, fmt.Errorf("git: %s lies within the work tree %s: work in its top", dir, top)
	}
	r := &Repo{Top: top, added: map[string]string{}, mine: map[string]bool{}}
	c := inTree(top)
	where := func(flag string) string {
		out := strings.TrimSuffix(c.run(ctx, "rev-parse", "--path-format=absolute", flag), "\n")
		dir, err := filepath.EvalSymlinks(filepath.FromSlash(out))
		if err != nil {
			c.err = cmp.Or(c.err, fmt.Errorf("git: %w", err))
		}
		return dir
	}
	r.dir, r.Common = where("--absolute-git-dir"), where("--git-common-dir")
	if r.Branch = c.branch(ctx); c.err != nil {
		return nil, c.err
	}
	if _, err := r.Head(ctx); err != nil {
		return nil, fmt.Errorf("git: %s has no commit yet: make a first one (git commit)", top)
	}
	if err := r.freeze(ctx); err != nil {
		return nil, err
	}
	if err := r.usable(ctx); err != nil {
		return nil, err
	}
	sweepShadows()
	r.start, err = r.marks(ctx)
	return r, err
}

// newEnough is an error if git cannot merge without a work tree.
func newEnough(ctx context.Context) error {
	c := &call{}
	out := c.line(ctx, "version")
	var major, minor int
	if _, err := fmt.Sscanf(out, "git version %d.%d", &major, &minor); c.err == nil && (err != nil || major < 2 || major == 2 && minor < 38) {
		return fmt.Errorf("git: %s is too old: work trees are merged with git 2.38 and later", out)
	}
	return c.err
}

// freeze keeps what git goes by.
func (r *Repo) freeze(ctx context.Context) (err error) {
	if r.config, err = r.settings(ctx); err != nil {
		return err
	}
	r.info = map[string][]byte{}
	for name, dir := range map[string]string{"attributes": r.Common, "exclude": r.Common, "sparse-checkout": r.dir} {
		text, err := file.Read("", filepath.Join(dir, "info", name), 16<<20)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("git: %w", err)
		}
		if err == nil {
			r.info[name] = text
		}
	}
	return r.included()
}

// usable is an error if there can be no work trees for agents, or no commits.
func (r *Repo) usable(ctx context.Context) error {
	s := r.shadow(r.Top)
	defer s.remove()
	if s.err != nil {
		return s.err
	}
	for _, who := range []string{"GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"} {
		if s.run(ctx, "var", who); s.err != nil {
			return errors.New("git: git does not know who commits: set user.name and user.email (git config --global user.name …)")
		}
	}
	head, err := r.Head(ctx)
	if err != nil {
		return err
	}
	var out []string
	for p, e := range s.entries(ctx, head) {
		if dir := filepath.Join(r.Top, filepath.FromSlash(p)); e.mode == "160000" && isTop(dir) {
			out = append(out, p)
		}
	}
	if len(out) > 0 {
		slices.Sort(out)
		return fmt.Errorf("git: the submodules %s are checked out, and would not be in the work trees of other branches: work without work trees", quoted(out))
	}
	return s.err
}

// quoted names files in an error; of many, the first.
func quoted(paths []string) string {
	const most = 10
	var b strings.Builder
	for i, p := range paths {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(paths)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", p)
	}
	return b.String()
}

// own is a call of git on the repository itself, for what concerns its refs and its
// list of work trees. What the repository's configuration has come to say is read
// there, but runs nothing.
func (r *Repo) own() *call {
	return &call{dir: r.Top, alone: true, guard: r.intact, env: []string{"GIT_DIR=" + r.dir, "GIT_COMMON_DIR=" + r.Common, "GIT_WORK_TREE=" + r.Top}}
}

// intact is an error if git's folder says that refs are elsewhere: git goes by that
// whatever it is told.
func (r *Repo) intact() error {
	at := filepath.Join(r.dir, "commondir")
	for _, dir := range []string{r.dir, r.Common} {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			return fmt.Errorf("git: %s is no folder any more", dir)
		}
	}
	if r.dir == r.Common && !there(at) || r.dir != r.Common && names(at, r.dir) == r.Common && !there(filepath.Join(r.Common, "commondir")) {
		return nil
	}
	return fmt.Errorf("git: %s names another repository, which it did not at the start", at)
}

// Head returns the commit that is checked out in the user's work tree.
func (r *Repo) Head(ctx context.Context) (commit string, err error) {
	c := r.own()
	commit = c.commit(ctx, "HEAD")
	return commit, c.err
}

// commit is the commit that a name stands for.
func (c *call) commit(ctx context.Context, name string) string {
	out, is := c.ask(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if !is && c.err == nil {
		c.err = fmt.Errorf("git: there is no commit %s", name)
	}
	return strings.TrimSpace(out)
}

// refCommit is the commit of a ref, "" = there is no such ref.
func (c *call) refCommit(ctx context.Context, ref string) string {
	for line := range strings.Lines(c.run(ctx, "for-each-ref", "--format=%(objectname) %(refname)", ref)) {
		if commit, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); name == ref {
			return commit
		}
	}
	return ""
}

// within reports whether the commit old is new, or one that new came from.
func (c *call) within(ctx context.Context, old, new string) bool {
	return c.yes(ctx, "merge-base", "--is-ancestor", old, new)
}

// Dirty returns the files of the user's work tree that git has and that are changed,
// staged or not, sorted. Paths for which own answers true are left out.
func (r *Repo) Dirty(ctx context.Context, own func(path string) bool) ([]string, error) {
	head, err := r.Head(ctx)
	if err != nil {
		return nil, err
	}
	s := r.shadow(r.Top)
	defer s.remove()
	s.borrow(r.dir)
	s.refresh(ctx)
	staged := s.names(ctx, "diff-index", "--cached", "--name-only", "-z", "--no-renames", "--ignore-submodules=dirty", head)
	changed := s.names(ctx, "diff-files", "--name-only", "-z", "--no-renames", "--ignore-submodules=dirty")
	all := slices.DeleteFunc(append(staged, changed...), own)
	slices.Sort(all)
	return slices.Compact(all), s.err
}

// names runs git for a list that has a NUL after each.
func (c *call) names(ctx context.Context, args ...string) []string {
	return slices.DeleteFunc(strings.Split(c.run(ctx, args...), "\x00"), func(p string) bool { return p == "" })
}
