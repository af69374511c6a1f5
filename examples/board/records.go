package board

import (
	"os"
	"path/filepath"

	"github.com/ralph-loop/ralph/progress"
)

// Records is the usual folder of the records of a workspace. Without one it is the git
// work tree that the current folder is in, as for ralph.
func Records(workspace string) (*progress.Dir, error) {
	if workspace != "" {
		return progress.WorkspaceDir(workspace)
	}
	here, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	for dir := here; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return progress.WorkspaceDir(dir)
		}
		if dir == filepath.Dir(dir) {
			return progress.WorkspaceDir(here)
		}
	}
}
