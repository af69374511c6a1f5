package progress

import (
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file"
)

// On has a Dir write to a disk.
func (d *Dir) On(disk file.Disk) *Dir {
	d.disk = disk
	return d
}

// WholeSession is where a session stands by all lines of its journal, whether it is over or
// not.
func (d *Dir) WholeSession(session string) (ralph.HookState, error) {
	t, err := d.tell(session)
	if err != nil {
		return ralph.HookState{}, err
	}
	return t.session(), nil
}
