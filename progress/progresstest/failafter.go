package progresstest

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/ralph-loop/ralph"
)

// FailAfter returns a log that misbehaves: it passes the first n events on to
// log and fails every one after them with err, without passing it on. A
// negative n is 0, a nil err is a default error. A nil log takes events and
// keeps nothing.
//
// It shows what a program does when its log fails: a loop stops with that error
// and starts no further attempt. It may be used concurrently if log may; even
// then exactly n events reach log.
//
// Events of all kinds count, so a test that tries n from 0 up meets the failure at
// each place where a loop records something. An error of log itself is returned as
// it is, and its event is one of the n.
func FailAfter(log ralph.ProgressLog, n int, err error) ralph.ProgressLog {
	if err == nil {
		err = errors.New("progresstest: the log fails, as it was told to")
	}
	var seen atomic.Int64
	return ralph.ProgressLogFunc(func(ctx context.Context, ev ralph.Event) error {
		if seen.Add(1) > int64(max(n, 0)) {
			return err
		}
		if log == nil {
			return nil
		}
		return log.Append(ctx, ev)
	})
}
