package filetest

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/ralph-loop/ralph/internal/file"
)

// ErrStopped is the error of all that is asked of a [Disk] after its stop.
var ErrStopped = errors.New("the machine has stopped")

// A Mode says how an operation fails.
type Mode int

const (
	Stop   Mode = iota // in the middle of it, and nothing is done after it: the process has died
	NoRoom             // ENOSPC; of what is written a part is
	Broken             // EIO; what was to be written or synced may be lost
)

// A Disk is a [file.Disk] that fails at one of its operations, and that forgets
// what was not synced. The files are real ones, so locks on them are too.
//
// An operation is what writes, truncates, syncs, makes, renames or removes.
//
// What a machine that loses power has on its disk is modelled after what file
// systems promise: of a file what was there at its last sync, and of what was done to
// it since the first few steps, the last of them perhaps in part; of the names in
// a folder those that were there at its last sync, and of the changes since any, but
// those to one name in their order. A rename is made or it is not. That bytes come to
// the disk before others that were written before them is not modelled.
type Disk struct {
	At   int  // the operation that fails, from 1; 0 = none
	Mode Mode // how
	Ever bool // all operations after it fail too
	// OnStop is called, once, when the process has died. It may be nil.
	OnStop func()
	// Seed decides how much of the operation is done that fails, and what is left after a
	// crash.
	Seed uint64

	mu      sync.Mutex
	n       int
	stopped bool
	nodes   map[string]*node // by their names as they are
	durable map[string]*node // as they were when their folders were synced
	changes []change         // of names, since
	rand    *rand.Rand
}

// A node is a file or a folder, whatever it is called.
type node struct {
	folder bool
	synced []byte // the content at the last sync
	since  []step
}

// A step is a change to a file.
type step struct {
	wrote    []byte // at the end; nil = it was truncated
	truncate int64
}

// A change is one of names: from has none then, and to is what node is called. Either
// may be "".
type change struct {
	from, to string
	node     *node
}

var _ file.Disk = (*Disk)(nil)

// Ops returns how many operations there have been.
func (d *Disk) Ops() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.n
}

// Stopped reports whether the process has died.
func (d *Disk) Stopped() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stopped
}

// Restart is for the next process, which fails at another operation, counted from
// here: what the last one has left is still there, synced or not.
func (d *Disk) Restart(at int, mode Mode) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.n, d.At, d.Mode, d.stopped = 0, at, mode, false
}

// begin counts an operation. If it returns an error the operation is not done, or in part.
func (d *Disk) begin() error {
	if d.stopped {
		return ErrStopped
	}
	d.n++
	if d.At == 0 || d.n < d.At || d.n > d.At && !d.Ever {
		return nil
	}
	switch d.Mode {
	case NoRoom:
		return syscall.ENOSPC
	case Broken:
		return syscall.EIO
	}
	d.stopped = true
	if d.OnStop != nil {
		d.OnStop()
	}
	return ErrStopped
}

func (d *Disk) random() *rand.Rand {
	if d.rand == nil {
		d.rand = rand.New(rand.NewPCG(d.Seed, 1))
	}
	return d.rand
}

// reads refuses what a dead process would read.
func (d *Disk) reads() error {
	if d.stopped {
		return ErrStopped
	}
	return nil
}

// known returns what a name is of. What was there before is durable.
func (d *Disk) known(path string) *node {
	if n := d.nodes[path]; n != nil {
		return n
	}
	if slices.ContainsFunc(d.changes, func(c change) bool { return c.from == path || c.to == path }) {
		return nil // it had the name, or has none any more
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil
	}
	n := &node{folder: info.IsDir()}
	if info.Mode().IsRegular() {
		if n.synced, err = os.ReadFile(path); err != nil {
			return nil
		}
	}
	if d.nodes == nil {
		d.nodes, d.durable = map[string]*node{}, map[string]*node{}
	}
	d.nodes[path], d.durable[path] = n, n
	return n
}

// named notes a change of names.
func (d *Disk) named(c change) {
	if d.nodes == nil {
		d.nodes, d.durable = map[string]*node{}, map[string]*node{}
	}
	rename(d.nodes, c)
	d.changes = append(d.changes, c)
}

func rename(names map[string]*node, c change) {
	if c.from != "" {
		delete(names, c.from)
	}
	if c.to != "" {
		names[c.to] = c.node
	}
}

// Open implements [file.Disk].
func (d *Disk) Open(path string) (file.Handle, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.reads(); err != nil {
		return nil, err
	}
	f, err := file.OS{}.Open(path)
	if err != nil {
		return nil, err
	}
	return &handle{Handle: f, d: d}, nil
}

// Append implements [file.Disk].
func (d *Disk) Append(path string) (file.Handle, error) {
	path = filepath.Clean(path)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.reads(); err != nil {
		return nil, err
	}
	n := d.known(path)
	if n == nil {
		if err := d.begin(); err != nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
	f, err := file.OS{}.Append(path)
	if err != nil {
		return nil, err
	}
	if n == nil {
		n = &node{}
		d.named(change{to: path, node: n})
	}
	return &handle{Handle: f, d: d, node: n}, nil
}

// Rename implements [file.Disk].
func (d *Disk) Rename(from, to string) error {
	from, to = filepath.Clean(from), filepath.Clean(to)
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.known(from)
	d.known(to)
	if err := d.begin(); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	err := os.Rename(from, to)
	if err == nil && n != nil {
		d.named(change{from: from, to: to, node: n})
	}
	return err
}

// Remove implements [file.Disk].
func (d *Disk) Remove(path string) error { return d.remove(path, os.Remove) }

// RemoveAll implements [file.Disk]. Folders with something in them, which was not made by this
// disk, are gone for good.
func (d *Disk) RemoveAll(path string) error { return d.remove(path, os.RemoveAll) }

func (d *Disk) remove(path string, remove func(string) error) error {
	path = filepath.Clean(path)
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.known(path)
	if err := d.begin(); err != nil {
		return &fs.PathError{Op: "remove", Path: path, Err: err}
	}
	err := remove(path)
	if err == nil && n != nil {
		d.named(change{from: path, node: n})
	}
	return err
}

// Folder implements [file.Disk].
func (d *Disk) Folder(path string) error {
	path = filepath.Clean(path)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.reads(); err != nil {
		return err
	}
	var missing []string
	for at := path; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil || filepath.Dir(at) == at {
			break
		}
		missing = append(missing, at)
	}
	for _, at := range slices.Backward(missing) {
		if err := d.begin(); err != nil {
			return &fs.PathError{Op: "mkdir", Path: at, Err: err}
		}
		if err := file.Folder(at); err != nil {
			return err
		}
		d.named(change{to: at, node: &node{folder: true}})
	}
	return file.Folder(path)
}

// Sync implements [file.Disk].
func (d *Disk) Sync(folder string) error {
	folder = filepath.Clean(folder)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.begin(); err != nil {
		return &fs.PathError{Op: "sync", Path: folder, Err: err}
	}
	in := func(c change) bool { return in(folder, c.from) || in(folder, c.to) }
	for _, c := range d.changes {
		if in(c) {
			rename(d.durable, c)
		}
	}
	d.changes = slices.DeleteFunc(d.changes, in)
	return nil
}

func in(folder, path string) bool { return path != "" && filepath.Dir(path) == folder }
