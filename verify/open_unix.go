//go:build unix

package verify

import "syscall"

// nonBlock keeps a named pipe, which an agent may put in a file's place, from
// holding us up.
const nonBlock = syscall.O_NONBLOCK
