//go:build !unix

package process

import "os"

// Alive reports whether there is a process of that ID.
func Alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err == nil {
		p.Release()
	}
	return err == nil
}
