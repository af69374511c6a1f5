package main

import "golang.org/x/sys/unix"

// landlock reports whether the kernel has it: it is asked for its version.
func landlock() bool {
	_, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	return errno == 0
}
