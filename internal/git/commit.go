package git

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/file"
)

// Commit puts what lies in the work tree onto its branch, and returns the branch's
// commit, and its tree; there is a new commit only if something was not committed.
// Without what loops write themselves, and what git ignores. The index that the agent
// has left does not count, only the files do: each is read.
//
// The commit is the user's, signed if the user has commits signed, which cannot ask and
// has a minute; no hook runs. A merge that is begun is finished, once no file that it
// left open has conflict markers. If the agent has left its branch, for another one or
// for none, the branch gets what was committed there if that goes on from the branch;
// otherwise it is an error, and so is a repository that was made within.
func (t *Tree) Commit(ctx context.Context, message string) (commit, tree string, err error) {
	if t.away() {
		return "", "", fmt.Errorf("git: the work tree %s is at another commit to be verified", t.Dir)
	}
	c := t.repo.own()
	base, tip := t.base(ctx, c)
	if c.err != nil {
		return "", "", c.err
	}
	if err := t.resolved(ctx); err != nil {
		return "", "", err
	}
	s := t.repo.shadow(t.Dir, t.extra...)
	defer s.remove()
	tree, changed := t.snapshot(ctx, s, base)
	parents := t.merging(ctx, s, base)
	commit = base
	if changed || len(parents) > 1 {
		commit = t.repo.commitTree(ctx, s, tree, message, parents...)
	}
	if s.err != nil {
		return "", "", s.err
	}
	return commit, tree, t.settle(ctx, s, commit, tip)
}

// Snapshot is the tree that [Tree.Commit] would commit now. It changes nothing.
func (t *Tree) Snapshot(ctx context.Context) (tree string, err error) {
	c := t.repo.own()
	base, _ := t.base(ctx, c)
	if c.err != nil {
		return "", c.err
	}
	s := t.repo.shadow(t.Dir, t.extra...)
	defer s.remove()
	tree, _ = t.snapshot(ctx, s, base)
	return tree, s.err
}

// base is the commit that the next one follows, and the one that the branch is at.
func (t *Tree) base(ctx context.Context, c *call) (base, tip string) {
	if tip = c.refCommit(ctx, t.ref()); tip == "" {
		c.err = cmp.Or(c.err, fmt.Errorf("git: the branch %s is gone", t.Branch))
	}
	head := t.head(ctx, c)
	switch {
	case c.within(ctx, tip, head):
		return head, tip
	case c.within(ctx, head, tip):
		return tip, tip
	}
	why := "it left that branch"
	if there(filepath.Join(t.git, "rebase-merge")) || there(filepath.Join(t.git, "rebase-apply")) {
		why = "a rebase is not finished"
	}
	c.err = cmp.Or(c.err, fmt.Errorf("git: the work tree %s is at the commit %.10s, which does not hold its branch %s: %s", t.Dir, head, t.Branch, why))
	return "", ""
}

// snapshot reads the files of the work tree into the shadow's index, and returns the
// tree, and whether it is another than base's.
func (t *Tree) snapshot(ctx context.Context, s *shadow, base string) (tree string, changed bool) {
	s.tree(ctx, base)
	if s.run(ctx, "add", "--all", "."); s.err != nil {
		s.err = fmt.Errorf("git: the files of %s cannot be committed: %w", t.Dir, s.err)
	}
	diff := s.diff(ctx, "diff-index", "--cached", base)
	var back []string
	for _, d := range diff {
		if OwnFile(d.path) {
			back = append(back, d.old.line(d.path, len(base)))
		}
	}
	s.put(ctx, back)
	t.whole(ctx, s, base)
	tree = s.line(ctx, "write-tree")
	return tree, len(diff) > len(back)
}

// whole fails if the index has repositories that the user's branch does not
// have, or not at that commit: what they hold would be lost. So it does if the index has
// files that were copied because git does not have them: they may be secret.
func (t *Tree) whole(ctx context.Context, s *shadow, base string) {
	have := s.staged(ctx)
	if i := slices.IndexFunc(t.copied, func(p string) bool { return have[p].mode != "" }); i >= 0 {
		s.err = fmt.Errorf("git: in %s there is a commit of %q, which was only copied there because the work needs it: make that commit again without it", t.Dir, t.copied[i])
	}
	maps.DeleteFunc(have, func(_ string, e entry) bool { return e.mode != "160000" })
	if len(have) == 0 || s.err != nil {
		return
	}
	main, err := t.repo.Main(ctx)
	if err != nil {
		s.err = err
		return
	}
	for _, c := range append(strings.Fields(s.run(ctx, "merge-base", "--all", base, main)), main) {
		known := s.entries(ctx, c)
		maps.DeleteFunc(have, func(p string, e entry) bool { return known[p] == e })
	}
	if len(have) > 0 {
		s.err = cmp.Or(s.err, fmt.Errorf("git: in %s there are repositories of their own, which cannot be committed: remove %s, or the .git in it", t.Dir, quoted(slices.Sorted(maps.Keys(have)))))
	}
}

// committed is an error if the files are not those of a commit.
func (t *Tree) committed(ctx context.Context, commit string) error {
	s := t.repo.shadow(t.Dir, t.extra...)
	defer s.remove()
	if _, changed := t.snapshot(ctx, s, commit); changed {
		s.err = cmp.Or(s.err, fmt.Errorf("git: the work tree %s has changes that are not committed", t.Dir))
	}
	return s.err
}

// A delta is what differs between two trees, or a tree and the index, at one path.
type delta struct {
	path     string
	old, new entry // without a mode: not there
}

// diff runs one of git's commands that compare, for its raw output.
func (c *call) diff(ctx context.Context, command string, args ...string) (all []delta) {
	parts := strings.Split(c.run(ctx, append([]string{command, "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=dirty"}, args...)...), "\x00")
	for i := 0; i+1 < len(parts); i += 2 {
		f := strings.Fields(strings.TrimPrefix(parts[i], ":"))
		if len(f) < 5 {
			c.err = fmt.Errorf("git: %s said %q", command, parts[i])
			return nil
		}
		d := delta{path: parts[i+1], old: entry{f[0], f[2]}, new: entry{f[1], f[3]}}
		for _, e := range []*entry{&d.old, &d.new} {
			if e.mode == "000000" {
				*e = entry{}
			}
		}
		all = append(all, d)
	}
	return all
}

// merging are the parents of the next commit: of a merge that is begun, also the
// commits that are merged.
func (t *Tree) merging(ctx context.Context, s *shadow, base string) []string {
	parents := []string{base}
	text, err := file.Read("", filepath.Join(t.git, "MERGE_HEAD"), 1<<16)
	s.err = cmp.Or(s.err, gone(err))
	for name := range strings.FieldsSeq(string(text)) {
		if !isObject(name) {
			s.err = cmp.Or(s.err, fmt.Errorf("git: the work tree %s is in a merge of %q, which is no commit", t.Dir, name))
		}
		if !s.within(ctx, name, base) {
			parents = append(parents, name)
		}
	}
	return parents
}

// resolved is an error if a file that git holds for conflicting has conflict markers.
func (t *Tree) resolved(ctx context.Context) error {
	c := t.repo.own()
	c.env = append(c.env, "GIT_INDEX_FILE="+filepath.Join(t.git, "index"))
	var open []string
	for _, e := range c.names(ctx, "ls-files", "--unmerged", "-z") {
		_, p, _ := strings.Cut(e, "\t")
		text, err := file.Read("", filepath.Join(t.Dir, filepath.FromSlash(p)), 64<<20)
		if err == nil && hasLine(text, "<<<<<<< ") && hasLine(text, ">>>>>>> ") {
			open = append(open, p)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("git: a merge in %s is not finished: there are conflict markers in %s", t.Dir, quoted(slices.Compact(open)))
	}
	return c.err
}

func hasLine(text []byte, begins string) bool {
	return bytes.HasPrefix(text, []byte(begins)) || bytes.Contains(text, []byte("\n"+begins))
}

// settle puts the work tree onto its branch, at a commit whose files it has.
func (t *Tree) settle(ctx context.Context, s *shadow, commit, tip string) error {
	// An agent that was ended may have left locks; it does not run any more.
	for _, name := range []string{filepath.Join(t.git, "index.lock"), filepath.Join(t.git, "HEAD.lock"), filepath.Join(t.repo.Common, filepath.FromSlash(t.ref())+".lock")} {
		os.Remove(name)
	}
	c := t.repo.own()
	if commit != tip {
		c.run(ctx, "update-ref", "-m", "ralph: commit", t.ref(), commit, tip)
	}
	if c.err == nil {
		c.err = t.point("")
	}
	if c.err != nil {
		return c.err
	}
	return t.conclude(s)
}

// conclude gives the work tree the index of a shadow, and has nothing be begun in it.
func (t *Tree) conclude(s *shadow) error {
	if s.lay(t.git); s.err != nil {
		return s.err
	}
	return t.finish()
}

// finish takes away what says that something is begun in the work tree.
func (t *Tree) finish() (err error) {
	for _, name := range append([]string{"MERGE_MSG", "MERGE_MODE", "MERGE_RR", "AUTO_MERGE", "SQUASH_MSG"}, begun[:]...) {
		err = cmp.Or(err, os.RemoveAll(filepath.Join(t.git, name)))
	}
	return err
}

// notice is the file that says that a work tree is at a commit to be verified.
func (t *Tree) notice() string { return filepath.Join(t.git, "ralph-checkout") }

func (t *Tree) away() bool { return there(t.notice()) }

// Checkout has the work tree hold the files of a commit, to verify them, until
// [Tree.Back]. What it holds must be committed; what changes there until Back is
// called is lost.
func (t *Tree) Checkout(ctx context.Context, commit string) error {
	c := t.repo.own()
	if commit = c.commit(ctx, commit); c.err == nil {
		c.err = t.Back(ctx)
	}
	head := t.head(ctx, c)
	if c.err != nil {
		return c.err
	}
	return inTurn(
		func() error { return t.committed(ctx, head) },
		func() error { return place(t.notice(), []byte(commit+"\n")) },
		func() error { return t.fill(ctx, head, commit) },
		func() error { return t.point(commit) },
	)
}

// Back has the work tree hold the files of its branch again, if [Tree.Checkout] has
// put it at another commit, also if that was not finished. It undoes a
// [Tree.StartMerge] that was not finished.
func (t *Tree) Back(ctx context.Context) error {
	text, err := file.Read("", t.notice(), 1<<10)
	if err != nil {
		return gone(err)
	}
	return inTurn(
		func() error { return t.fill(ctx, strings.TrimSpace(string(text)), t.ref()) },
		func() error { return t.point("") },
		t.finish,
		func() error { return os.Remove(t.notice()) },
	)
}
