package ralph

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// A meter is told what an attempt uses, and ends it when a budget is spent. It may be
// told more once the attempt has ended, by a goroutine that the runner left behind:
// then nobody reads it, and nothing is there to end.
//
// It is the one place that agents' goroutines and the driver share, so it has a lock
// and does little under it.
type meter struct {
	start time.Time
	over  context.CancelCauseFunc
	told  chan<- struct{} // has room for one; nil = nobody listens

	mu    sync.Mutex
	s     State // before the attempt
	used  Usage
	timer *time.Timer // of Limits.Duration; nil = none
}

// A loop whose Duration has passed already ends the attempt before it can spend
// anything.
func newMeter(s State, start time.Time, over context.CancelCauseFunc) *meter {
	m := &meter{start: start, over: over, s: s}
	m.limit(s.Task.Limits)
	return m
}

// tell is Request.Live. Counts do not fall, and a cost that was told is not forgotten.
// Clients report out of order, and start again at nothing when they retry a call. What
// was billed stays billed.
func (m *meter) tell(u Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	told := m.used.cost()
	if m.used.Estimated {
		told = nil // an estimate may be unknown after all
	}
	m.used.CostUSD = nil
	m.used = Usage{}.Add(u).atLeast(m.used) // a copy: the runner may go on with what is its own
	m.used.CostUSD = cmp.Or(m.used.CostUSD, told)
	m.check()
	select {
	// The agent is never kept waiting: one token says that there is news, and more
	// would say the same.
	case m.told <- struct{}{}:
	default:
	}
}

// check ends the attempt if a budget is spent.
func (m *meter) check() {
	if m.s.Over(m.used, time.Since(m.start)) != "" {
		m.over(errBudget)
	}
}

// limit sets the limits that the attempt is held to from now on.
//
// The timer exists because a client that prints nothing tells nothing either: only a
// clock ends it in time.
func (m *meter) limit(l Limits) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.s.Task.Limits = l
	if m.timer != nil {
		m.timer.Stop()
		m.timer = nil
	}
	m.check()
	if l.Duration > 0 {
		m.timer = time.AfterFunc(l.Duration-m.s.Elapsed-m.s.Unwaited-time.Since(m.start), func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.check()
		})
	}
}

// sofar is what the attempt has used by now, for records and heartbeats while it runs.
func (m *meter) sofar() Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

// end is what the attempt has used in all. It stops the timer, which would otherwise
// hold the state until Duration has passed.
func (m *meter) end() Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.timer != nil {
		m.timer.Stop()
	}
	return m.used
}
