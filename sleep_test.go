package ralph_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
)

// TestSleep: it is slept until the loop may go on, somebody wants something, or the
// context is done, whatever comes first.
func TestSleep(t *testing.T) {
	t.Parallel()
	shutdown := errors.New("shutdown")
	for _, tt := range []struct {
		name   string
		state  func(ralph.State) ralph.State
		end    time.Duration // of the last attempt, before now
		wake   time.Duration // 0 = never
		cancel time.Duration // 0 = at once, negative = never
		want   time.Duration
		err    error
	}{
		{"to the end", nil, 0, 0, -1, time.Hour, nil},
		{"the rest", nil, 20 * time.Minute, 0, -1, 40 * time.Minute, nil},
		{"it is over", nil, 2 * time.Hour, 0, -1, 0, nil},
		{"the clock was set back", nil, -100 * time.Hour, 0, -1, time.Hour, nil},
		{"somebody wants something", nil, 0, time.Minute, -1, time.Minute, nil},
		{"somebody wants something later", nil, 0, 2 * time.Hour, -1, time.Hour, nil},
		{"interrupted", nil, 0, 0, time.Minute, time.Minute, shutdown},
		{"interrupted first", nil, 0, 2 * time.Minute, time.Minute, time.Minute, shutdown},
		{"interrupted before", nil, 0, 0, 0, 0, shutdown},
		{"interrupted before, and it is over", nil, 2 * time.Hour, 0, 0, 0, shutdown},
		{"stopped", func(s ralph.State) ralph.State { return s.Limit(ralph.Limits{Wait: 1}) }, 0, 0, -1, 0, nil},
		{"cancelled while it is paused", func(s ralph.State) ralph.State { return s.Pause(true).Cancel("enough") }, 0, 0, -1, 0, nil},
		{"paused", func(s ralph.State) ralph.State { return s.Pause(true) }, 0, 3 * time.Hour, -1, 3 * time.Hour, nil},
		{"paused, and no wait", func(s ralph.State) ralph.State { return s.Pause(true) }, 2 * time.Hour, time.Minute, -1, time.Minute, nil},
		{"paused, and interrupted", func(s ralph.State) ralph.State { return s.Pause(true) }, 0, 0, 3 * time.Hour, 3 * time.Hour, shutdown},
		{"before the first attempt", func(ralph.State) ralph.State { return ralph.Start(ralph.Task{}) }, 0, 0, -1, 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if tt.cancel == 0 {
					cancel(shutdown)
				} else if tt.cancel > 0 {
					time.AfterFunc(tt.cancel, func() { cancel(shutdown) })
				}
				var wake chan struct{}
				if tt.wake > 0 {
					wake = make(chan struct{}, 1)
					time.AfterFunc(tt.wake, func() { wake <- struct{}{} })
				}
				begin := time.Now()
				s := play(ralph.Start(ralph.Task{}), ralph.Iteration{Fault: ralph.FaultRateLimit, RetryAfter: time.Hour, End: begin.Add(-tt.end)})
				if tt.state != nil {
					s = tt.state(s)
				}
				if err := ralph.Sleep(ctx, s, wake); err != tt.err || time.Since(begin) != tt.want {
					t.Errorf("%v after %v, want %v after %v", err, time.Since(begin), tt.err, tt.want)
				}
			})
		})
	}
}
