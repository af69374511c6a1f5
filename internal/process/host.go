package process

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
)

// host is what this program knows of all its runs.
var host = &supervisor{told: map[string]bool{}, runs: map[int]string{}}

type supervisor struct {
	mu    sync.Mutex
	count uint64
	told  map[string]bool
	runs  map[int]string // what the watchdog was told, by the process ID of the command
	dog   *watchdog      // nil = it is not there yet, or not any more
}

// number returns one that no run of this program had before, and other programs'
// hardly ever have.
func (h *supervisor) number() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count == 0 {
		var b [8]byte
		rand.Read(b[:])
		h.count = binary.LittleEndian.Uint64(b[:]) >> 1
	}
	h.count++
	return h.count
}

// first reports whether it is asked this for the first time.
func (h *supervisor) first(what string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := !h.told[what]
	h.told[what] = true
	return first
}
