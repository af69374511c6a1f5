//go:build !unix

package main

import (
	"os"
	"syscall"
)

func apartFromUs() *syscall.SysProcAttr { return nil }

func alive(pid int) bool {
	_, err := os.FindProcess(pid)
	return err == nil
}
