package verifytest_test

import (
	"context"
	"errors"
	"io"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify/verifytest"
)

// brokenRules lists the rules that an error of the kit names.
func brokenRules(err error) string {
	var rules []string
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			rule, _, _ := strings.Cut(line, ":")
			rules = append(rules, rule)
		}
	}
	return strings.Join(rules, " ")
}

// TestBrokenRunners: each runner breaks one rule, and the kit names that one.
func TestBrokenRunners(t *testing.T) {
	t.Parallel()
	type response = *ralph.Response
	always := func(r runnerAsWritten) func(<-chan struct{}) ralph.Runner {
		return func(<-chan struct{}) ralph.Runner { return r }
	}
	answers := func(edit func(req ralph.Request, r response)) func(<-chan struct{}) ralph.Runner {
		return always(with(func(_ context.Context, req ralph.Request, r response, err *error) {
			if *err == nil && r.Output != "" {
				edit(req, r)
			}
		}))
	}
	ends := func(what string, err error) func(<-chan struct{}) ralph.Runner {
		return always(when(what, func(context.Context, ralph.Request) (ralph.Response, error) { return ralph.Response{}, err }))
	}
	for _, tt := range []struct {
		rule, name string
		r          func(release <-chan struct{}) ralph.Runner
	}{
		{"", "sound", always(soundRunner)},
		{"", "sound, with durations in its answers", func(<-chan struct{}) ralph.Runner {
			var n atomic.Int64
			return with(func(_ context.Context, _ ralph.Request, r response, err *error) {
				if *err == nil && r.Output != "" {
					r.Output += " It took " + time.Duration(n.Add(int64(time.Millisecond))).String() + "."
				}
			})
		}},
		{"", "sound, with a goroutine that ends soon after the call", always(with(func(context.Context, ralph.Request, response, *error) {
			go func() { <-time.After(100 * time.Millisecond) }()
		}))},
		{"", "sound, does not stream", always(asked(func(req *ralph.Request) { req.Display, req.Raw, req.Live = nil, nil, nil }))},
		{"", "sound, its final cost is less than it thought", answers(func(_ ralph.Request, r response) { *r.Usage.CostUSD /= 2 })},
		{"", "sound, is told in the end what it had estimated", answers(func(req ralph.Request, r response) {
			if req.Live != nil {
				u := r.Usage
				u.CostUSD, u.Estimated = new(100.0), true
				req.Live(u)
				req.Live(r.Usage)
			}
		})},
		{"", "sound, had finished well when it was cancelled, if slowly", always(with(func(ctx context.Context, _ ralph.Request, r response, err *error) {
			<-time.After(time.Second)
		}))},

		{"returns", "never returns", func(release <-chan struct{}) ralph.Runner {
			return with(func(context.Context, ralph.Request, response, *error) { <-release })
		}},
		{"returns", "ends its goroutine", always(func(context.Context, ralph.Request) (ralph.Response, error) {
			runtime.Goexit()
			return ralph.Response{}, nil
		})},
		{"returns", "does not return the second time", func(release <-chan struct{}) ralph.Runner {
			var n atomic.Int64
			return with(func(context.Context, ralph.Request, response, *error) {
				if n.Add(1) > 2 {
					<-release
				}
			})
		}},
		{"panics", "panics", always(func(context.Context, ralph.Request) (ralph.Response, error) { panic("boom") })},
		{"panics", "panics where it should fail", always(when("error", func(context.Context, ralph.Request) (ralph.Response, error) { panic("boom") }))},
		{"answers", "fails", ends("mend", errors.New("no"))},
		{"answers", "says nothing", ends("mend", nil)},
		{"answers", "says something else", always(when("paint", func(context.Context, ralph.Request) (ralph.Response, error) {
			return ralph.Response{Output: "Hello."}, nil
		}))},
		{"independent", "counts up", func(<-chan struct{}) ralph.Runner {
			var mu sync.Mutex
			var sum ralph.Usage
			return with(func(_ context.Context, _ ralph.Request, r response, _ *error) {
				mu.Lock()
				defer mu.Unlock()
				sum = sum.Add(r.Usage)
				r.Usage = ralph.Usage{}.Add(sum)
			})
		}},
		{"independent", "remembers what it has said", func(<-chan struct{}) ralph.Runner {
			var mu sync.Mutex
			said := map[string]string{}
			return with(func(_ context.Context, req ralph.Request, r response, _ *error) {
				mu.Lock()
				defer mu.Unlock()
				said[req.Prompt] += r.Output
				r.Output = said[req.Prompt]
			})
		}},
		{"independent", "all answers share their list of files", func(<-chan struct{}) ralph.Runner {
			var mu sync.Mutex
			files := make([]string, 1)
			return with(func(ctx context.Context, req ralph.Request, r response, err *error) {
				if *err != nil || r.Output == "" {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				files[0] = req.Mark
				if strings.HasPrefix(req.Prompt, "mend") {
					files[0] = "mend"
				}
				r.Files = files
			})
		}},
		{"optional", "needs a Display", always(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
			if req.Display == nil {
				panic("boom")
			}
			return soundRunner(ctx, req)
		})},
		{"optional", "needs a Live to know what it has used", answers(func(req ralph.Request, r response) {
			if req.Live == nil {
				r.Usage = ralph.Usage{}
			}
		})},
		{"writers", "ends when nobody listens", always(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
			if req.Raw != nil {
				if _, err := io.WriteString(req.Raw, "Now.\n"); err != nil {
					return ralph.Response{}, err
				}
			}
			return soundRunner(ctx, req)
		})},
		{"writers", "writes after it has returned", answers(func(req ralph.Request, _ response) {
			if req.Display != nil {
				go func() {
					<-time.After(100 * time.Millisecond)
					io.WriteString(req.Display, "bye")
				}()
			}
		})},
		{"writers", "is still writing when it returns", answers(func(req ralph.Request, _ response) {
			if req.Raw != nil {
				go io.WriteString(req.Raw, "bye")
				<-time.After(time.Millisecond)
			}
		})},
		{"writers", "writes from two goroutines", answers(func(req ralph.Request, _ response) {
			if req.Display != nil {
				var wg sync.WaitGroup
				for range 2 {
					wg.Go(func() { io.WriteString(req.Display, "bye") })
				}
				wg.Wait()
			}
		})},
		{"live", "tells each step by itself", answers(func(req ralph.Request, r response) {
			if req.Live != nil {
				req.Live(ralph.Usage{InputTokens: 7, CostUSD: new(1.0)})
			}
		})},
		{"live", "forgets the cost on its way", answers(func(req ralph.Request, r response) {
			if req.Live != nil {
				u := r.Usage
				u.CostUSD = nil
				req.Live(u)
			}
		})},
		{"live", "tells after it has returned", answers(func(req ralph.Request, r response) {
			if req.Live != nil {
				u := r.Usage
				go func() { <-time.After(100 * time.Millisecond); req.Live(u) }()
			}
		})},
		{"live", "uses less in the end", answers(func(_ ralph.Request, r response) { r.Usage.InputTokens-- })},
		{"live", "forgets the cost in the end", answers(func(_ ralph.Request, r response) { r.Usage.CostUSD = nil })},
		{"usage", "costs NaN", answers(func(_ ralph.Request, r response) { r.Usage.CostUSD = new(math.NaN()) })},
		{"usage", "costs nothing", answers(func(_ ralph.Request, r response) { r.Usage.CostUSD = new(0.0) })},
		{"live", "its estimate falls on its way", answers(func(req ralph.Request, r response) {
			if req.Live != nil {
				for _, cost := range []float64{2, 1} {
					u := r.Usage
					u.CostUSD, u.Estimated = &cost, true
					req.Live(u)
				}
			}
			r.Usage.Estimated = true
		})},
		{"live", "reads less from a cache in the end", answers(func(req ralph.Request, r response) {
			if req.Live != nil {
				u := r.Usage
				u.CacheRead = 7
				req.Live(u)
			}
		})},
		{"usage", "reads more from a cache than it is told", answers(func(_ ralph.Request, r response) { r.Usage.CacheRead = r.Usage.InputTokens + 1 })},
		{"usage", "reads from and writes to a cache more than it is told", answers(func(_ ralph.Request, r response) {
			r.Usage.CacheRead, r.Usage.CacheWrite = r.Usage.InputTokens, 1
		})},
		{"usage", "a part is negative", answers(func(_ ralph.Request, r response) { r.Usage.CacheWrite = -1 })},
		{"usage", "estimates no cost", answers(func(_ ralph.Request, r response) { r.Usage.CostUSD, r.Usage.Estimated = nil, true })},
		{"usage", "a count is negative", answers(func(_ ralph.Request, r response) { r.Usage.Messages = -1 })},
		{"usage", "tells a negative cost on its way", answers(func(req ralph.Request, r response) {
			if req.Live != nil {
				u := r.Usage
				u.CostUSD = new(-1.0)
				req.Live(u)
			}
		})},
		{"echo", "repeats the prompt", answers(func(req ralph.Request, r response) {
			if strings.Contains(req.Prompt, "<promise>") {
				r.Output = req.Prompt + r.Output
			}
		})},
		{"dir", "works elsewhere", func(<-chan struct{}) ralph.Runner {
			elsewhere := t.TempDir()
			return asked(func(req *ralph.Request) { req.Dir = elsewhere })
		}},
		{"concurrent", "all share one answer", func(<-chan struct{}) ralph.Runner {
			var mu sync.Mutex
			var shared string
			return with(func(_ context.Context, _ ralph.Request, r response, err *error) {
				if *err != nil || r.Output == "" {
					return
				}
				mu.Lock()
				shared = r.Output
				mu.Unlock()
				<-time.After(time.Millisecond)
				mu.Lock()
				r.Output = shared
				mu.Unlock()
			})
		}},
		{"concurrent", "all show what one says", func(<-chan struct{}) ralph.Runner {
			lock := make(chan struct{}, 1) // for writing takes time, for which a bubble does not wait with a Mutex
			shown := map[io.Writer]bool{}
			return with(func(_ context.Context, req ralph.Request, r response, err *error) {
				if req.Display == nil || *err != nil {
					return
				}
				lock <- struct{}{}
				shown[req.Display] = true
				<-lock
				<-time.After(10 * time.Millisecond)
				lock <- struct{}{}
				for w := range shown {
					io.WriteString(w, r.Output)
				}
				<-lock
				<-time.After(time.Second)
				lock <- struct{}{}
				delete(shown, req.Display)
				<-lock
			})
		}},
		{"concurrent", "hangs beside others", func(release <-chan struct{}) ralph.Runner {
			var n atomic.Int64
			return with(func(context.Context, ralph.Request, response, *error) {
				if n.Add(1) > 1 {
					<-release
				}
				<-time.After(time.Millisecond)
				n.Add(-1)
			})
		}},
		{"faults", "a failure is none", ends("error", nil)},
		{"faults", "the login is retried", ends("permanent", errors.New("not logged in"))},
		{"faults", "a rate limit is a failure", ends("rate_limit", errors.New("too many requests"))},
		{"faults", "a rate limit without its time", ends("rate_limit", ralph.RetryAfter(errors.New("too many requests"), 0))},
		{"faults", "a time-out is retried", ends("timeout", errors.New("no output for a minute"))},
		{"faults", "nothing is an answer", always(when("empty", func(context.Context, ralph.Request) (ralph.Response, error) {
			return ralph.Response{Output: "(no answer)"}, nil
		}))},
		{"partial", "what was said before a failure is lost", always(with(func(_ context.Context, _ ralph.Request, r response, err *error) {
			if errors.Is(*err, ralph.ErrIncomplete) {
				r.Output = ""
			}
		}))},
		{"partial", "what was spent before a failure is lost", always(with(func(_ context.Context, _ ralph.Request, r response, err *error) {
			if *err != nil {
				r.Usage = ralph.Usage{}
			}
		}))},
		{"partial", "what was said before it was cancelled is lost", always(when("begin", with(func(_ context.Context, _ ralph.Request, r response, err *error) {
			r.Output = ""
		})))},
		{"cancel", "cannot be cancelled", func(release <-chan struct{}) ralph.Runner {
			return when("begin", func(context.Context, ralph.Request) (ralph.Response, error) {
				<-release
				return ralph.Response{}, nil
			})
		}},
		{"cancel", "takes a minute to end", always(when("begin", with(func(context.Context, ralph.Request, response, *error) {
			<-time.After(time.Minute)
		})))},
		{"cancel", "is done when it is cancelled", always(when("begin", with(func(_ context.Context, _ ralph.Request, _ response, err *error) {
			*err = nil
		})))},
		{"cancel", "must never run again once it is cancelled", always(when("begin", with(func(_ context.Context, _ ralph.Request, _ response, err *error) {
			*err = ralph.Permanent(*err)
		})))},
		{"cancel", "does not look whether it is cancelled", always(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
			if ctx.Err() != nil {
				return soundRunner(context.WithoutCancel(ctx), req)
			}
			return soundRunner(ctx, req)
		})},
		{"cancel", "the long run is short", ends("begin", errors.New("over"))},
		{"goroutines", "leaves one that waits", func(release <-chan struct{}) ralph.Runner {
			return with(func(context.Context, ralph.Request, response, *error) { go func() { <-release }() })
		}},
		{"goroutines", "leaves the agent when it is cancelled", func(release <-chan struct{}) ralph.Runner {
			return when("begin", with(func(context.Context, ralph.Request, response, *error) { go func() { <-release }() }))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				err := verifytest.TestRunner(tt.r(release), runs())
				close(release)
				<-time.After(time.Hour) // for all that was held up to end
				if got := brokenRules(err); got != tt.rule {
					t.Errorf("broken are %q, want %q:\n%v", got, tt.rule, err)
				}
			})
		})
	}
}
