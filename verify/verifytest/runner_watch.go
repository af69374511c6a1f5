package verifytest

import (
	"cmp"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
)

// A recorder is a Display or a Raw that watches how it is written to. It has a
// lock of its own, so that a runner which writes from two goroutines at once is
// seen and reported by the kit, and not only by the race detector.
type recorder struct {
	name    string
	fail    error // what Write returns
	waitFor string
	heard   func()

	mu         sync.Mutex
	text       strings.Builder
	writes     int
	writing    int
	overlapped bool
	closed     bool
	late       bool
}

const (
	kept      = 1 << 20 // bytes of what was written
	slow      = 16      // so many writes take a while, so that those that overlap are seen
	slowWrite = 2 * time.Millisecond
)

// Write keeps the beginning of what it gets and notes whether it is called
// beside itself, or late. The first writes take a while, outside of the lock:
// two that are merely quick would hardly ever meet.
func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	r.writes++
	r.writing++
	r.overlapped = r.overlapped || r.writing > 1
	r.late = r.late || r.closed
	r.text.Write(p[:min(len(p), kept-min(r.text.Len(), kept))])
	pause := r.writes <= slow
	text := r.text.String()
	if strings.Contains(text[max(0, len(text)-len(p)-len(r.waitFor)):], r.waitFor) {
		r.heard()
	}
	r.mu.Unlock()
	if pause {
		<-time.After(slowWrite)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writing--
	if r.fail != nil {
		return 0, r.fail
	}
	return len(p), nil
}

// close says that Run has returned. A write that is still under way is late as
// well.
func (r *recorder) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.late = r.late || r.writing > 0
}

// got reports whether a text was written, across any borders of writes.
func (r *recorder) got(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Contains(r.text.String(), text)
}

// wrong says how the writer was misused; "" = it was not.
func (r *recorder) wrong() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.overlapped:
		return "by two goroutines at a time"
	case r.late:
		return "after Run had returned"
	}
	return ""
}

// A meter is a Live that watches what it is told. It notes the first thing that
// is wrong, for what follows mostly comes of it.
type meter struct {
	mu     sync.Mutex
	last   ralph.Usage
	odd    string
	fell   string
	closed bool
	late   bool
}

// tell takes the usage so far. It keeps a copy, because the pointer to the cost
// may lead to a value that the runner goes on to write to.
func (m *meter) tell(u ralph.Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.late = m.late || m.closed
	m.odd, m.fell = cmp.Or(m.odd, oddity(u)), cmp.Or(m.fell, lower(m.last, u, true))
	m.last = ralph.Usage{}.Add(u)
}

func (m *meter) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
}

// told is the last usage, and the first thing that cannot be in one; "" = there was
// none.
func (m *meter) told() (last ralph.Usage, odd string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last, m.odd
}

// wrong says how Live was misused; "" = it was not. A usage that cannot be is
// reported as such, and not also as one that fell.
func (m *meter) wrong() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.late:
		return "Live was called after Run had returned"
	case m.odd == "" && m.fell != "":
		return "Live was told less than before: " + m.fell
	}
	return ""
}
