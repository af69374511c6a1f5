package git

import (
	"context"
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
