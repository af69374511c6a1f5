package ralph

import (
	"context"
	"iter"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// RunAll runs many loops at the same time, at most limit of them (0 =
// GOMAXPROCS, negative = all at once), and yields each final state with the
// error that Run returned for it, in the order in which they end. It returns
// when all have ended. Breaking off cancels the others, with [ErrCancelled] as
// the cause, and waits for them; so does a done ctx, and then loops that have
// not begun are yielded as they are, with the cause. The sequence can be used
// once. l must allow concurrent calls.
func RunAll(ctx context.Context, l Loop, limit int, states ...State) iter.Seq2[State, error] {
	if limit == 0 {
		limit = runtime.GOMAXPROCS(0)
	}
	type result struct {
		state State
		err   error
	}
	return func(yield func(State, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		results := make(chan result)
		var group errgroup.Group
		group.SetLimit(limit)
		go func() {
			for _, s := range states {
				group.Go(func() error {
					if ctx.Err() != nil {
						results <- result{s, context.Cause(ctx)}
						return nil
					}
					s, err := l.Run(ctx, s)
					results <- result{s, err}
					return nil
				})
			}
			group.Wait()
			close(results)
		}()
		broken := false
		for r := range results {
			if !broken && !yield(r.state, r.err) {
				broken = true
				cancel(ErrCancelled)
			}
		}
	}
}
