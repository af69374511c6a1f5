package tasks

import (
	"context"
	"fmt"

	"github.com/ralph-loop/ralph/internal/file"
	"github.com/ralph-loop/ralph/internal/git"
)

// branch is the git branch that is checked out in a folder, "" if there is none. It
// only names things, so that git is missing, or fails, is no error.
func branch(ctx context.Context, dir string) string {
	name, _ := git.Branch(ctx, dir) // none if it fails
	return name
}

// maxText is the most that is read of a list or a prd.json, in bytes. No list of
// people's is that long; the bound is for files that are something else, and for what
// an agent may write.
const maxText = 16 << 20

// read reads a file. What names it in errors. It reads a regular file only: a pipe or a
// device would hang the session.
func read(what, path string) ([]byte, error) {
	text, err := file.Read(what, path, maxText)
	if err != nil {
		return nil, fmt.Errorf("tasks: %w", err)
	}
	return text, nil
}
