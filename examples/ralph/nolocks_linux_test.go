package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/ralph-loop/ralph/internal/file/filetest"
)

// nolocks runs a command as on a file system that has no locks.
func nolocks() {
	err := filetest.NoLocks()
	path := ""
	if err == nil {
		path, err = exec.LookPath(os.Args[1])
	}
	if err == nil {
		err = syscall.Exec(path, os.Args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(99)
}
