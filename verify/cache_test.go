package verify_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// counted counts the calls of a verifier that takes a minute.
func counted(calls *atomic.Int32, v ralph.Verdict, err error) ralph.Verifier {
	return ralph.VerifierFunc(func(ctx context.Context, _ ralph.Claim) (ralph.Verdict, error) {
		calls.Add(1)
		select {
		case <-time.After(time.Minute):
			return v, err
		case <-ctx.Done():
			return v, context.Cause(ctx)
		}
	})
}

func TestCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		code := 0
		v := verify.Cache(counted(&calls, ralph.Verdict{Passed: true, Checks: []ralph.Check{{Name: "a", ExitCode: &code}}}, nil))
		claim := ralph.Claim{Task: ralph.Task{ID: "T1"}, Iteration: 1, Attempt: 1, Output: "done"}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				got, err := v.Verify(t.Context(), claim)
				if err != nil || !got.Passed {
					t.Error(got, err)
				}
				got.Checks[0].Name, *got.Checks[0].ExitCode = "changed by its receiver", 1
			})
		}
		all.Wait()
		if got, err := v.Verify(t.Context(), claim); err != nil || got.Checks[0].Name != "a" || *got.Checks[0].ExitCode != 0 {
			t.Error(got, err)
		}
		if calls.Load() != 1 {
			t.Errorf("%d calls", calls.Load())
		}
		for i, change := range []func(*ralph.Claim){
			func(c *ralph.Claim) { c.Task.ID = "T2" },
			func(c *ralph.Claim) { c.Task.Dir = "elsewhere" },
			func(c *ralph.Claim) { c.Iteration = 2 },
			func(c *ralph.Claim) { c.Attempt = 2 },
			func(c *ralph.Claim) { c.Output = "done." },
			func(c *ralph.Claim) { c.Start = time.Now() },
			func(c *ralph.Claim) { c.Files = []string{"a.go"} },
		} {
			other := claim
			change(&other)
			if _, err := v.Verify(t.Context(), other); err != nil {
				t.Error(err)
			}
			if calls.Load() != int32(i)+2 {
				t.Errorf("another claim (%d) was not looked at", i)
			}
		}
		// Where the evidence goes does not make another claim of it, nor does the zone.
		same := claim
		same.Evidence, same.Start = "elsewhere", claim.Start.In(time.FixedZone("x", 3600))
		if _, err := v.Verify(t.Context(), same); err != nil || calls.Load() != 8 {
			t.Errorf("%d calls, %v", calls.Load(), err)
		}
	})
}

func TestCacheErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		v := verify.Cache(counted(&calls, ralph.Pass(), errors.New("broken")))
		for i := range 3 {
			if got, err := v.Verify(t.Context(), ralph.Claim{}); err == nil || got.Passed {
				t.Error(got, err)
			}
			if calls.Load() != int32(i)+1 {
				t.Errorf("%d calls", calls.Load())
			}
		}
		if _, err := verify.Cache(nil).Verify(t.Context(), ralph.Claim{}); err == nil {
			t.Error("no verifier is no error")
		}
	})
}

// TestCacheGivenUp: those who wait for a call outlive the one who made it, and
// do not wait for longer than their own contexts.
func TestCacheGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		v := verify.Cache(counted(&calls, ralph.Pass(), nil))
		impatient, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := v.Verify(impatient, ralph.Claim{}); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if got, err := v.Verify(t.Context(), ralph.Claim{}); err != nil || !got.Passed {
				t.Error(got, err)
			}
		})
		all.Wait()
		if calls.Load() != 2 {
			t.Errorf("%d calls", calls.Load())
		}

		v = verify.Cache(counted(&calls, ralph.Pass(), nil))
		all.Go(func() { v.Verify(t.Context(), ralph.Claim{}) })
		synctest.Wait()
		brief, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		start := time.Now()
		if _, err := v.Verify(brief, ralph.Claim{}); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		all.Wait()
	})
}

// TestCacheAsksAgain: a second loop, or a second run of the agent, that says the same
// words about a workspace that is another by now.
func TestCacheAsksAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	built := filepath.Join(dir, "built")
	write(t, built, "x")
	v := verify.Cache(verify.External{Args: []string{"test", "-s", "built"}})
	claim := ralph.Claim{Task: ralph.Task{ID: "T", Dir: dir}, Iteration: 1, Attempt: 1, Start: time.Unix(1000, 1), Output: "done", Promised: true}
	if got, err := v.Verify(t.Context(), claim); err != nil || !got.Passed {
		t.Fatal(got, err)
	}
	if err := os.Remove(built); err != nil {
		t.Fatal(err)
	}
	claim.Start = time.Unix(1000, 2)
	if got, err := v.Verify(t.Context(), claim); err != nil || got.Passed {
		t.Error(got, err)
	}
}

// TestCacheUsage: who asks pays, and nobody pays twice.
func TestCacheUsage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		cost := 0.5
		v := verify.Cache(counted(&calls, ralph.Verdict{Passed: true, Usage: ralph.Usage{InputTokens: 7, CostUSD: &cost}}, nil))
		var mu sync.Mutex
		var sum ralph.Usage
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				got, err := v.Verify(t.Context(), ralph.Claim{})
				mu.Lock()
				defer mu.Unlock()
				if sum = sum.Add(got.Usage); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got, err := v.Verify(t.Context(), ralph.Claim{}); err != nil || got.Usage != (ralph.Usage{}) {
			t.Errorf("a hit costs %v, %v", got.Usage, err)
		}
		if sum.InputTokens != 7 || sum.CostUSD == nil || *sum.CostUSD != cost {
			t.Errorf("eight calls cost %v", sum)
		}
	})
}
