package git

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
)

// maxText is how much Text reads, in bytes.
const maxText = 16 << 20

// Text is what a regular file holds in a commit, of at most 16 MiB. The error wraps
// [fs.ErrNotExist] if it is not there.
func (r *Repo) Text(ctx context.Context, commit, path string) ([]byte, error) {
	c := r.own()
	switch v := c.version(ctx, c.entries(ctx, commit, path)[path], maxText); {
	case c.err != nil:
		return nil, c.err
	case v.Mode == "":
		return nil, fmt.Errorf("git: %.10s has no %s: %w", commit, path, fs.ErrNotExist)
	case v.Size > maxText || !strings.HasPrefix(v.Mode, "100"):
		return nil, fmt.Errorf("git: in %.10s %s is no regular file of at most %d MiB", commit, path, maxText>>20)
	default:
		return v.Text, nil
	}
}

// Fork is the commit at which the histories of two commits part.
func (r *Repo) Fork(ctx context.Context, a, b string) (string, error) {
	c := r.own()
	commit := c.line(ctx, "merge-base", a, b)
	return commit, c.err
}

// Within reports whether the commit old is new, or one that new came from.
func (r *Repo) Within(ctx context.Context, old, new string) (bool, error) {
	c := r.own()
	is := c.within(ctx, old, new)
	return is, c.err
}

// Knows reports whether a commit is in the repository.
func (r *Repo) Knows(ctx context.Context, commit string) (bool, error) {
	c := r.own()
	is := c.yes(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", commit+"^{commit}")
	return is, c.err
}

// MergedBy is the first commit on the line of another that has a commit: the merge that
// brought it there, or itself if it is on that line. It must be there.
func (r *Repo) MergedBy(ctx context.Context, line, commit string) (m Merged, err error) {
	c := r.own()
	have := c.run(ctx, "rev-list", "--ancestry-path", line, "^"+commit)
	first := c.run(ctx, "rev-list", "--first-parent", "--parents", line, "^"+commit)
	after := map[string]bool{}
	for one := range strings.FieldsSeq(have) {
		after[one] = true
	}
	m.Commit = commit
	for one := range strings.Lines(first) {
		if f := strings.Fields(one); after[f[0]] && (len(f) == 1 || f[1] != commit) {
			m.Commit = f[0]
		}
	}
	m.Tree = c.treeOf(ctx, m.Commit)
	return m, c.err
}

// Tip is the commit of the work tree's branch, "" = there is none.
func (t *Tree) Tip(ctx context.Context) (string, error) {
	c := t.repo.own()
	tip := c.refCommit(ctx, "refs/heads/"+t.Branch)
	return tip, c.err
}
