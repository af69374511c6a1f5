package ralph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
)

// ErrNoWorkTree is wrapped by [WorkTree]'s error for a folder that is in no git
// work tree.
var ErrNoWorkTree = errors.New("not in a git work tree")

// WorkTree asks git for the top of the work tree that holds dir ("" = the current
// folder), and for the branch that is checked out there, also one without commits
// ("" = none). Nothing that the work tree configures is run. The error wraps
// [ErrNoWorkTree], [exec.ErrNotFound] if git is not installed, an error of
// [io/fs] if dir cannot be read, or context.Cause(ctx).
func WorkTree(ctx context.Context, dir string) (top, branch string, err error) {
	if top, err = git.TopLevel(ctx, dir); err == nil {
		branch, err = git.Branch(ctx, top)
	}
	switch none, ok := errors.AsType[*git.NoneError](err); {
	case ok:
		return "", "", fmt.Errorf("ralph: %s is %w%s", cmp.Or(dir, "."), ErrNoWorkTree, strings.TrimSuffix(" ("+none.Said+")", " ()"))
	case err != nil:
		return "", "", fmt.Errorf("ralph: work tree: %w", err)
	}
	return top, branch, nil
}
