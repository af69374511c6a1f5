package progress

import "github.com/ralph-loop/ralph/internal/file"

// On has a Dir write to a disk.
func (d *Dir) On(disk file.Disk) *Dir {
	d.disk = disk
	return d
}
