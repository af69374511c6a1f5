package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Merged is what became of a merge.
type Merged struct {
	Commit, Tree string
	Conflicts    []string // the paths that conflict, sorted; then there is no commit
}

// Merge merges the commit from into the commit into, without a work tree: there are
// only new objects. The commit's parents are both, into first. Paths of drop are as
// into has them, whatever from has made of them, and so are the files of loops
// ([OwnFile]); put is what files hold in the
// result, by path. If from is in into already, the commit is into, with a child if
// there is something to put.
func (r *Repo) Merge(ctx context.Context, into, from, message string, put map[string][]byte, drop []string) (m Merged, err error) {
	c := r.own()
	into, from = c.commit(ctx, into), c.commit(ctx, from)
	if c.err != nil {
		return m, c.err
	}
	s := r.shadow(filepath.Join(r.dir, "ralph-none"))
	defer s.remove()
	s.apart()
	held := s.within(ctx, from, into)
	parents := []string{into, from}
	if held {
		parents = parents[:1]
		m.Tree = s.treeOf(ctx, into)
	} else {
		m.Tree, m.Conflicts = r.merge(ctx, s, into, from, slices.Concat(drop, slices.Collect(maps.Keys(put))))
	}
	if s.err != nil || len(m.Conflicts) > 0 {
		return m, s.err
	}
	was := m.Tree
	if m.Tree = s.with(ctx, m.Tree, put); held && m.Tree == was {
		m.Commit = into
		return m, s.err
	}
	m.Commit = r.commitTree(ctx, s, m.Tree, message, parents...)
	return m, s.err
}

// apart has the shadow's work tree be a folder of its own.
func (s *shadow) apart() {
	dir := filepath.Join(s.folder, "empty")
	s.dir, s.env = dir, append(s.env, "GIT_WORK_TREE="+dir)
	if s.err == nil {
		s.err = ours(os.Mkdir(dir, 0o700))
	}
}

// attributes writes the files that have attributes, as a commit has them: a merge
// reads them in the work tree.
func (s *shadow) attributes(ctx context.Context, commit string) {
	s.tree(ctx, commit)
	if paths := s.names(ctx, "ls-files", "-z", "--", ":(glob)**/.gitattributes"); len(paths) > 0 {
		s.feed(ctx, strings.Join(paths, "\x00")+"\x00", "checkout-index", "--force", "-z", "--stdin")
	}
}

func (c *call) treeOf(ctx context.Context, commit string) string {
	return c.line(ctx, "rev-parse", "--verify", commit+"^{tree}")
}

// merge merges two commits, with the paths of as as they are in into.
func (r *Repo) merge(ctx context.Context, s *shadow, into, from string, as []string) (tree string, conflicts []string) {
	for _, d := range s.diff(ctx, "diff-tree", "-r", into, from) {
		if OwnFile(d.path) {
			as = append(as, d.path)
		}
	}
	from = s.levelled(ctx, into, from, as)
	s.attributes(ctx, into)
	tree, stages := s.mergeTree(ctx, into, from)
	return tree, paths(stages)
}

// A stage is an entry of the index for a path that conflicts.
type stage struct{ line, path string }

// paths are those that conflict, sorted.
func paths(stages []stage) (all []string) {
	for _, e := range stages {
		all = append(all, e.path)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// mergeTree merges two commits. The tree has conflict markers where there are stages.
func (c *call) mergeTree(ctx context.Context, into, from string) (tree string, stages []stage) {
	out, _ := c.ask(ctx, "merge-tree", "--write-tree", "-z", "--no-messages", into, from)
	tree, rest, _ := strings.Cut(out, "\x00")
	for part := range strings.SplitSeq(rest, "\x00") {
		if _, path, ok := strings.Cut(part, "\t"); ok {
			stages = append(stages, stage{part, path})
		}
	}
	if tree = strings.TrimSpace(tree); !isObject(tree) {
		c.err = cmp.Or(c.err, fmt.Errorf("git: merge-tree said %q", tree))
	}
	return tree, stages
}

// levelled is a commit like from that has some paths as into has them, so that they
// do not conflict.
func (s *shadow) levelled(ctx context.Context, into, from string, as []string) string {
	if len(as) == 0 {
		return from
	}
	entries := s.entries(ctx, into)
	s.tree(ctx, from)
	lines := make([]string, 0, len(as))
	for _, p := range as {
		lines = append(lines, entries[p].line(p, len(from)))
	}
	s.put(ctx, lines)
	tree := s.line(ctx, "write-tree")
	return strings.TrimSpace(s.feed(ctx, "ralph: not to be kept\n", "commit-tree", tree, "-p", from, "-F", "-"))
}

// with is a tree with what files are to hold.
func (s *shadow) with(ctx context.Context, tree string, put map[string][]byte) string {
	if len(put) == 0 {
		return tree
	}
	entries := s.entries(ctx, tree)
	s.tree(ctx, tree)
	var lines []string
	for p, text := range put {
		object := strings.TrimSpace(s.feed(ctx, string(text), "hash-object", "-w", "--stdin", "--path="+p))
		lines = append(lines, entry{cmp.Or(entries[p].mode, "100644"), object}.line(p, len(tree)))
	}
	s.put(ctx, lines)
	return s.line(ctx, "write-tree")
}

// StartMerge begins to merge a commit into the work tree's branch, and leaves the
// merge as git merge does: the files with their conflict markers, the index with what
// conflicts, which is returned; [Tree.Commit] makes the commit once somebody has
// resolved it. One that is begun already stays as it is. What the work tree holds must be
// committed. Without a conflict too it
// is left to Commit. One that was not finished, because we were killed, [Tree.Back]
// undoes.
func (t *Tree) StartMerge(ctx context.Context, commit string) (conflicts []string, err error) {
	if t.away() {
		return nil, fmt.Errorf("git: the work tree %s is at another commit to be verified", t.Dir)
	}
	if there(filepath.Join(t.git, "MERGE_HEAD")) {
		return nil, nil
	}
	c := t.repo.own()
	commit = c.commit(ctx, commit)
	head, _ := t.base(ctx, c)
	if c.err == nil {
		c.err = t.committed(ctx, head)
	}
	if c.err != nil {
		return nil, c.err
	}
	s := t.repo.shadow(t.Dir)
	defer s.remove()
	tree, stages := s.mergeTree(ctx, head, commit)
	if s.err != nil {
		return nil, s.err
	}
	if err := place(t.notice(), []byte(commit+"\n")); err != nil { // until all is there, Back undoes it
		return nil, err
	}
	if t.open(ctx, s, head, tree, stages); s.err != nil {
		return nil, errors.Join(s.err, t.Back(context.WithoutCancel(ctx)))
	}
	err = errors.Join(place(filepath.Join(t.git, "MERGE_MODE"), nil),
		place(filepath.Join(t.git, "MERGE_MSG"), fmt.Appendf(nil, "Merge commit '%s' into %s\n", commit, t.Branch)),
		place(filepath.Join(t.git, "MERGE_HEAD"), []byte(commit+"\n")))
	if err == nil {
		err = os.Remove(t.notice())
	}
	return paths(stages), err
}

// open writes the files and the index of a merge that has begun.
func (t *Tree) open(ctx context.Context, s *shadow, head, tree string, stages []stage) {
	s.tree(ctx, head)
	s.refresh(ctx)
	s.run(ctx, "read-tree", "-m", "-u", head, tree)
	var lines []string
	for _, st := range stages {
		lines = append(lines, entry{}.line(st.path, len(head)))
	}
	for _, st := range stages {
		lines = append(lines, st.line)
	}
	s.put(ctx, lines)
	s.lay(t.git)
}
