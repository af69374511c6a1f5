//go:build unix

package file

import (
	"io/fs"
	"syscall"
)

// NonBlock is a flag for opening files: a named pipe that somebody has put in a
// file's place does not hold us up.
const NonBlock = syscall.O_NONBLOCK

const noFollow = syscall.O_NOFOLLOW

// owner says whose a file is and how many names it has, if the system knows.
func owner(info fs.FileInfo) (user, group int, links uint64, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, 0, false
	}
	return int(s.Uid), int(s.Gid), uint64(s.Nlink), true
}
