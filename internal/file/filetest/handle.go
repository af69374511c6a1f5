package filetest

import (
	"errors"
	"slices"

	"github.com/ralph-loop/ralph/internal/file"
)

// A handle is an open file.
type handle struct {
	file.Handle
	d    *Disk
	node *node // nil = it is only read
}

func (h *handle) Read(p []byte) (int, error) {
	if h.d.Stopped() {
		return 0, ErrStopped
	}
	return h.Handle.Read(p)
}

func (h *handle) ReadAt(p []byte, at int64) (int, error) {
	if h.d.Stopped() {
		return 0, ErrStopped
	}
	return h.Handle.ReadAt(p, at)
}

func (h *handle) Write(p []byte) (int, error) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if err := h.d.reads(); err != nil {
		return 0, err
	}
	failure := h.d.begin()
	if failure != nil {
		p = p[:h.d.random().IntN(len(p)+1)]
	}
	n, err := h.Handle.Write(p)
	if n > 0 {
		h.node.since = append(h.node.since, step{wrote: slices.Clone(p[:n])})
	}
	return n, errors.Join(failure, err)
}

func (h *handle) Truncate(size int64) error {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if err := h.d.begin(); err != nil {
		return err
	}
	err := h.Handle.Truncate(size)
	if err == nil {
		h.node.since = append(h.node.since, step{truncate: size})
	}
	return err
}

func (h *handle) Sync() error {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if err := h.d.begin(); err != nil {
		if h.d.Mode == Broken { // the system tells it once, and forgets the bytes
			for i, s := range h.node.since {
				h.node.since[i].wrote = make([]byte, len(s.wrote))
			}
		}
		return err
	}
	h.node.synced, h.node.since = h.node.after(len(h.node.since), -1), nil
	return nil
}
