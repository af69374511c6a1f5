package filetest

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// after is the content after some of the steps since the last sync, and so many bytes of
// the next one; negative = none.
func (n *node) after(steps, part int) []byte {
	text := slices.Clone(n.synced)
	for i, s := range n.since {
		switch {
		case i > steps || i == steps && (part < 0 || s.wrote == nil):
			return text
		case i == steps:
			return append(text, s.wrote[:min(part, len(s.wrote))]...)
		case s.wrote != nil:
			text = append(text, s.wrote...)
		default:
			text = append(text, make([]byte, max(s.truncate-int64(len(text)), 0))...)[:s.truncate]
		}
	}
	return text
}

// Crash makes of the files what the next process finds when the machine has lost
// power. The handles that are open must not be used after it.
func (d *Disk) Crash() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.random()
	var left map[string]*node
	var content func(*node) []byte
	switch d.Seed % 3 {
	case 0: // nothing that was not synced
		left, content = maps.Clone(d.durable), func(n *node) []byte { return n.synced }
	case 1: // all of it
		left, content = maps.Clone(d.nodes), func(n *node) []byte { return n.after(len(n.since), -1) }
	default:
		left, content = d.some(r), func(n *node) []byte {
			steps := r.IntN(len(n.since) + 1)
			part := -1
			if steps < len(n.since) && len(n.since[steps].wrote) > 0 {
				part = r.IntN(len(n.since[steps].wrote) + 1)
			}
			return n.after(steps, part)
		}
	}
	if err := d.clear(); err != nil {
		return err
	}
	d.nodes, d.durable, d.changes = nil, nil, nil
	var errs []error
	for _, path := range slices.Sorted(maps.Keys(left)) {
		n := left[path]
		_, err := os.Stat(filepath.Dir(path))
		switch {
		case errors.Is(err, fs.ErrNotExist): // its folder is gone
		case n.folder:
			if _, err := os.Stat(path); err != nil {
				errs = append(errs, os.Mkdir(path, 0o700))
			}
		default:
			text := content(n)
			n.synced, n.since = text, nil
			errs = append(errs, os.WriteFile(path, text, 0o600))
		}
	}
	return errors.Join(errs...)
}

// some is which names are left if some of the changes since the last sync have reached the
// disk.
func (d *Disk) some(r *rand.Rand) map[string]*node {
	done := make([]bool, len(d.changes))
	for i := len(done) - 1; i >= 0; i-- {
		if !done[i] && r.IntN(2) == 0 {
			continue
		}
		done[i] = true
		for j := range i { // what was done to the same names before
			a, b := d.changes[i], d.changes[j]
			for _, name := range []string{a.from, a.to} {
				if name != "" && (name == b.from || name == b.to) {
					done[j] = true
				}
			}
		}
	}
	left := maps.Clone(d.durable)
	for i, c := range d.changes {
		if done[i] {
			rename(left, c)
		}
	}
	return left
}

// clear removes all that the disk has made or changed. Files go before their folders.
func (d *Disk) clear() error {
	names := map[string]bool{}
	for path := range d.nodes {
		names[path] = true
	}
	for path := range d.durable {
		names[path] = true
	}
	for _, path := range slices.Backward(slices.Sorted(maps.Keys(names))) {
		n := d.nodes[path]
		if n != nil && n.folder {
			if d.durable[path] == nil {
				if err := os.RemoveAll(path); err != nil {
					return err
				}
			}
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}
