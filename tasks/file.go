package tasks

import (
	"context"
	"fmt"

	"github.com/ralph-loop/ralph/internal/file"
	"github.com/ralph-loop/ralph/internal/git"
)

// branch is the git branch that is checked out in a folder, "" if there is none.
func branch(ctx context.Context, dir string) string {
	name, _ := git.Branch(ctx, dir) // none if it fails
	return name
}

// maxText is the most that is read of a list or a prd.json, in bytes.
const maxText = 16 << 20

// read reads a file. What names it in errors.
func read(what, path string) ([]byte, error) {
	text, err := file.Read(what, path, maxText)
	if err != nil {
		return nil, fmt.Errorf("tasks: %w", err)
	}
	return text, nil
}
