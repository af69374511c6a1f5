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
func (r *Repo) Merge(ctx context.Context, into, from, message string, put map[string][]byte, drop []string) (Merged, error) {
	var m Merged
	for _, c := range []*string{&into, &from} {
		commit, err := r.own().commit(ctx, *c)
		if err != nil {
			return m, err
		}
		*c = commit
	}
	s, err := r.shadow(filepath.Join(r.dir, "ralph-none"))
	if err != nil {
		return m, err
	}
	defer s.remove()
	if err := s.apart(); err != nil {
		return m, err
	}
	held, err := s.within(ctx, from, into)
	if err != nil {
		return m, err
	}
	parents := []string{into, from}
	if held {
		parents = parents[:1]
		m.Tree, err = s.treeOf(ctx, into)
	} else {
		m.Tree, m.Conflicts, err = r.merge(ctx, s, into, from, slices.Concat(drop, slices.Collect(maps.Keys(put))))
	}
	if err != nil || len(m.Conflicts) > 0 {
		return m, err
	}
	was := m.Tree
	if m.Tree, err = s.with(ctx, m.Tree, put); err != nil {
		return m, err
	}
	if held && m.Tree == was {
		m.Commit = into
		return m, nil
	}
	m.Commit, err = r.commitTree(ctx, s, m.Tree, message, parents...)
	return m, err
}

// apart has the shadow's work tree be a folder of its own.
func (s *shadow) apart() error {
	dir := filepath.Join(s.folder, "empty")
	s.dir, s.env = dir, append(s.env, "GIT_WORK_TREE="+dir)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("git: %w", err)
	}
	return nil
}

// attributes writes the files that have attributes, as a commit has them: a merge
// reads them in the work tree.
func (s *shadow) attributes(ctx context.Context, commit string) error {
	if err := s.tree(ctx, commit); err != nil {
		return err
	}
	paths, err := s.names(ctx, "ls-files", "-z", "--", ":(glob)**/.gitattributes")
	if err != nil || len(paths) == 0 {
		return err
	}
	_, err = s.fed(strings.Join(paths, "\x00")+"\x00").run(ctx, "checkout-index", "--force", "-z", "--stdin")
	return err
}

func (c call) treeOf(ctx context.Context, commit string) (string, error) {
	out, err := c.run(ctx, "rev-parse", "--verify", commit+"^{tree}")
	return strings.TrimSpace(out), err
}

// merge merges two commits, with the paths of as as they are in into.
func (r *Repo) merge(ctx context.Context, s *shadow, into, from string, as []string) (tree string, conflicts []string, err error) {
	diff, err := s.diff(ctx, "diff-tree", "-r", into, from)
	if err != nil {
		return "", nil, err
	}
	for _, d := range diff {
		if OwnFile(d.path) {
			as = append(as, d.path)
		}
	}
	if from, err = s.levelled(ctx, into, from, as); err != nil {
		return "", nil, err
	}
	if err := s.attributes(ctx, into); err != nil {
		return "", nil, err
	}
	tree, stages, err := s.mergeTree(ctx, into, from)
	for _, e := range stages {
		conflicts = append(conflicts, e.path)
	}
	slices.Sort(conflicts)
	return tree, slices.Compact(conflicts), err
}

// A stage is an entry of the index for a path that conflicts.
type stage struct{ line, path string }

// mergeTree merges two commits. The tree has conflict markers where there are stages.
func (c call) mergeTree(ctx context.Context, into, from string) (tree string, stages []stage, err error) {
	out, err := c.run(ctx, "merge-tree", "--write-tree", "-z", "--no-messages", into, from)
	if exit, ok := errors.AsType[*exitError](err); ok && exit.code == 1 {
		out, err = exit.out, nil
	}
	if err != nil {
		return "", nil, err
	}
	for i, part := range strings.Split(out, "\x00") {
		if i == 0 {
			tree = strings.TrimSpace(part)
		} else if _, path, ok := strings.Cut(part, "\t"); ok {
			stages = append(stages, stage{part, path})
		}
	}
	if !isObject(tree) {
		return "", nil, fmt.Errorf("git: merge-tree said %q", tree)
	}
	return tree, stages, nil
}

// levelled is a commit like from that has some paths as into has them, so that they
// do not conflict.
func (s *shadow) levelled(ctx context.Context, into, from string, as []string) (string, error) {
	if len(as) == 0 {
		return from, nil
	}
	entries, err := s.entries(ctx, into)
	if err == nil {
		err = s.tree(ctx, from)
	}
	if err != nil {
		return "", err
	}
	lines := make([]string, 0, len(as))
	for _, p := range as {
		lines = append(lines, entries[p].line(p, len(from)))
	}
	if err := s.put(ctx, lines); err != nil {
		return "", err
	}
	tree, err := s.write(ctx)
	if err != nil {
		return "", err
	}
	out, err := s.fed("ralph: not to be kept\n").run(ctx, "commit-tree", tree, "-p", from, "-F", "-")
	return strings.TrimSpace(out), err
}

// with is a tree with what files are to hold.
func (s *shadow) with(ctx context.Context, tree string, put map[string][]byte) (string, error) {
	if len(put) == 0 {
		return tree, nil
	}
	entries, err := s.entries(ctx, tree)
	if err == nil {
		err = s.tree(ctx, tree)
	}
	if err != nil {
		return "", err
	}
	var lines []string
	for p, text := range put {
		out, err := s.fed(string(text)).run(ctx, "hash-object", "-w", "--stdin", "--path="+p)
		if err != nil {
			return "", err
		}
		lines = append(lines, entry{cmp.Or(entries[p].mode, "100644"), strings.TrimSpace(out)}.line(p, len(tree)))
	}
	if err := s.put(ctx, lines); err != nil {
		return "", err
	}
	return s.write(ctx)
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
	if commit, err = t.repo.own().commit(ctx, commit); err != nil {
		return nil, err
	}
	head, _, err := t.base(ctx)
	if err == nil {
		err = t.committed(ctx, head)
	}
	if err != nil {
		return nil, err
	}
	s, err := t.repo.shadow(t.Dir)
	if err != nil {
		return nil, err
	}
	defer s.remove()
	tree, stages, err := s.mergeTree(ctx, head, commit)
	if err != nil {
		return nil, err
	}
	if err := place(t.notice(), []byte(commit+"\n")); err != nil { // until all is there, Back undoes it
		return nil, err
	}
	if err := t.open(ctx, s, head, tree, stages); err != nil {
		return nil, errors.Join(err, t.Back(context.WithoutCancel(ctx)))
	}
	for _, st := range stages {
		conflicts = append(conflicts, st.path)
	}
	slices.Sort(conflicts)
	err = errors.Join(place(filepath.Join(t.git, "MERGE_MODE"), nil),
		place(filepath.Join(t.git, "MERGE_MSG"), fmt.Appendf(nil, "Merge commit '%s' into %s\n", commit, t.Branch)),
		place(filepath.Join(t.git, "MERGE_HEAD"), []byte(commit+"\n")))
	if err == nil {
		err = os.Remove(t.notice())
	}
	return slices.Compact(conflicts), err
}

// open writes the files and the index of a merge that has begun.
func (t *Tree) open(ctx context.Context, s *shadow, head, tree string, stages []stage) error {
	if err := s.tree(ctx, head); err != nil {
		return err
	}
	if _, err := s.refresh(ctx); err != nil {
		return err
	}
	if _, err := s.run(ctx, "read-tree", "-m", "-u", head, tree); err != nil {
		return err
	}
	var lines []string
	for _, st := range stages {
		lines = append(lines, entry{}.line(st.path, len(head)))
	}
	for _, st := range stages {
		lines = append(lines, st.line)
	}
	if err := s.put(ctx, lines); err != nil {
		return err
	}
	return s.lay(t.git)
}
