package ralph

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph/internal/stream"
)

// TestIdleStopped: a client is not ended for a silence that nobody could have heard, since
// this process was stopped meanwhile; the time begins anew.
func TestIdleStopped(t *testing.T) {
	t.Parallel()
	for late, want := range map[time.Duration]time.Duration{0: time.Minute, time.Second: time.Minute, time.Hour: 2 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			decoder, err := stream.New(string(FormatText), stream.Options{})
			if err != nil {
				t.Fatal(err)
			}
			f := &feed{cancel: cancel, idle: time.Minute, decoder: decoder}
			defer f.watch()()
			f.due.Add(int64(-late)) // as if the timer had fired so much later
			start := time.Now()
			<-ctx.Done()
			if got := time.Since(start); got != want || context.Cause(ctx) != errIdle {
				t.Errorf("%v late: ended after %v, want %v: %v", late, got, want, context.Cause(ctx))
			}
		})
	}
}
