//go:build !linux

package sandbox

import "os/exec"

// Start starts the command as it is: Landlock and namespaces are Linux's.
func (r *Rules) Start(cmd *exec.Cmd, l Launch) (*exec.Cmd, *Front, error) {
	if err := r.lacks(l, "this system has nothing for it, so the command is not restricted; Sandbox.Wrap runs one that restricts it", nil); err != nil {
		return cmd, nil, err
	}
	started, err := l.Start(cmd)
	return started, nil, err
}
