//go:build !unix

package file

import "io/fs"

// NonBlock is a flag for opening files; this system has no named pipes in folders.
const NonBlock = 0

const noFollow = 0

// owner says whose a file is and how many names it has: this system does not tell.
func owner(fs.FileInfo) (user, group int, links uint64, ok bool) { return 0, 0, 0, false }
