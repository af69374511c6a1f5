// Package git starts git on a folder, whatever the environment says: in a git
// hook it names another repository.
package git

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Command returns a git that works on dir ("" = the current folder), takes no
// locks that it can do without, asks nobody anything, speaks English, and whose
// output is waited for at most five seconds after it has ended.
func Command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	env := slices.DeleteFunc(os.Environ(), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.Contains([]string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE"}, name)
	})
	cmd.Env = append(env, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	cmd.WaitDelay = 5 * time.Second
	return cmd
}
