//go:build !unix

package main

import "syscall"

func apartFromUs() *syscall.SysProcAttr { return nil }
