package git

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// Text is what a file holds in a commit. It is an error if it is not there.
func (r *Repo) Text(ctx context.Context, commit, path string) ([]byte, error) {
	out, err := r.own().run(ctx, "cat-file", "blob", commit+":"+path)
	return []byte(out), err
}

// Fork is the commit at which the histories of two commits part.
func (r *Repo) Fork(ctx context.Context, a, b string) (string, error) {
	out, err := r.own().run(ctx, "merge-base", a, b)
	return strings.TrimSpace(out), err
}

// Within reports whether the commit old is new, or one that new came from.
func (r *Repo) Within(ctx context.Context, old, new string) (bool, error) {
	return r.own().within(ctx, old, new)
}

// Knows reports whether a commit is in the repository.
func (r *Repo) Knows(ctx context.Context, commit string) (bool, error) {
	_, err := r.own().run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", commit+"^{commit}")
	if exit, ok := errors.AsType[*exitError](err); ok && exit.code == 1 {
		return false, nil
	}
	return err == nil, err
}

// MergedBy is the commit by which a commit was merged into another's history: into itself
// if it came there without a merge. It is an error if it is not there.
func (r *Repo) MergedBy(ctx context.Context, into, from string) (m Merged, err error) {
	out, err := r.own().run(ctx, "rev-list", "--parents", "--min-parents=2", "--ancestry-path", into, "^"+from)
	if err != nil {
		return m, err
	}
	m.Commit = into
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); slices.Contains(f[2:], from) {
			m.Commit = f[0]
		}
	}
	m.Tree, err = r.own().treeOf(ctx, m.Commit)
	return m, err
}

// Tip is the commit of the work tree's branch, "" = there is none.
func (t *Tree) Tip(ctx context.Context) (string, error) {
	return t.repo.own().refCommit(ctx, "refs/heads/"+t.Branch)
}
