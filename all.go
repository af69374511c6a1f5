package ralph

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"runtime"

	"github.com/ralph-loop/ralph/internal/plugin"
	"golang.org/x/sync/errgroup"
)

// RunAll runs many loops at the same time, at most limit of them (0 =
// GOMAXPROCS, negative = all at once), and yields each final state with the
// error that Run returned for it, in the order in which they end. It returns
// when all have ended. Breaking off interrupts the others, with [ErrAbandoned] as
// the cause, and waits for them; so does a done ctx, and then loops that have
// not begun are yielded as they are, with the cause. A loop that panics ends with
// its state as it was and an error that holds the stack. The sequence can be used
// once. l must allow concurrent calls.
//
// Two loops of one name would be one in a log: none of that name is run, and each is
// yielded as it is, with an error.
//
// A state without a loop's name gets one, so that it can be told from others in
// what is yielded and in a log: "loop-", its place among states, from 0, "-", and
// letters and digits that are random and the same for all states of this call.
func RunAll(ctx context.Context, l Loop, limit int, states ...State) iter.Seq2[State, error] {
	if limit == 0 {
		limit = runtime.GOMAXPROCS(0)
	}
	type result struct {
		state State
		err   error
	}
	return func(yield func(State, error) bool) {
		call, named := unique(), map[string]int{}
		for _, s := range states {
			named[s.Loop]++
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		// Without a buffer: a loop's result is held back until the caller has taken the
		// one before, but a loop that runs is never held up by that.
		results := make(chan result)
		var group errgroup.Group
		group.SetLimit(limit)
		go func() {
			for i, s := range states {
				// Not even the first of them: which one that is would depend on the
				// order of a map or a folder somewhere.
				if s.Loop != "" && named[s.Loop] > 1 {
					results <- result{s, fmt.Errorf("ralph: %d loops are named %q; none of them was run", named[s.Loop], s.Loop)}
					continue
				}
				s.Loop = cmp.Or(s.Loop, fmt.Sprintf("loop-%d-%s", i, call))
				group.Go(func() error {
					if ctx.Err() != nil {
						results <- result{s, context.Cause(ctx)}
						return nil
					}
					final := s
					err := plugin.Call("ralph: Loop", func() (err error) { final, err = l.Run(ctx, s); return })
					results <- result{final, err}
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
				cancel(ErrAbandoned)
			}
		}
	}
}
