package verifytest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify/verifytest"
)

func TestBrokenVerifiers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule, name string
		v          func(release <-chan struct{}) ralph.VerifierFunc
	}{
		{"", "sound", func(<-chan struct{}) ralph.VerifierFunc { return sound }},
		{"", "sound, and its durations differ", func(<-chan struct{}) ralph.VerifierFunc {
			var n atomic.Int64
			return after(func(_ ralph.Claim, v *ralph.Verdict) error {
				d := time.Duration(n.Add(1)) * 17 * time.Millisecond
				v.Checks[0].Duration, v.Checks[0].Digest, v.Checks[0].Detail = d, "sha256:"+d.String(), "took "+d.String()
				if !v.Passed {
					v.Feedback += fmt.Sprintf(" --- FAIL: TestX (%.2fs)", d.Seconds())
				}
				return nil
			})
		}},
		{"", "sound, with a goroutine that ends soon after the call", func(<-chan struct{}) ralph.VerifierFunc {
			return after(func(ralph.Claim, *ralph.Verdict) error {
				go func() { <-time.After(100 * time.Millisecond) }()
				return nil
			})
		}},
		{"", "sound, until its context is done", func(<-chan struct{}) ralph.VerifierFunc {
			return func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
				select {
				case <-ctx.Done():
					return ralph.Verdict{}, context.Cause(ctx)
				case <-time.After(time.Minute):
					return sound(ctx, c)
				}
			}
		}},

		{"accepts", "rejects everything", func(<-chan struct{}) ralph.VerifierFunc {
			return after(func(_ ralph.Claim, v *ralph.Verdict) error { *v = ralph.Reject("no"); return nil })
		}},
		{"accepts", "error for the good claim", func(<-chan struct{}) ralph.VerifierFunc {
			return after(func(_ ralph.Claim, v *ralph.Verdict) error {
				if v.Passed {
					*v = ralph.Verdict{}
					return errors.New("cannot tell")
				}
				return nil
			})
		}},
		{"rejects", "accepts everything", func(<-chan struct{}) ralph.VerifierFunc {
			return after(func(_ ralph.Claim, v *ralph.Verdict) error { *v = ralph.Pass(); return nil })
		}},
		{"rejects", "error for the bad claim", func(<-chan struct{}) ralph.VerifierFunc {
			return after(func(_ ralph.Claim, v *ralph.Verdict) error {
				if !v.Passed {
					return errors.New("tests fail")
				}
				return nil
			})
		}},
		{"feedback", "rejects in silence", func(<-chan struct{}) ralph.VerifierFunc {
			return after(func(_ ralph.Claim, v *ralph.Verdict) error { v.Feedback = " \n"; return nil })
		}},
		{"error", "passes with an error", func(<-chan struct{}) ralph.VerifierFunc {
			return after(func(_ ralph.Claim, v *ralph.Verdict) error {
				if v.Passed {
					return errors.New("half of it could not be looked at")
				}
				return nil
			})
		}},
		{"error", "passes the bad claim with an error", func(<-chan struct{}) ralph.VerifierFunc {
			return after(func(_ ralph.Claim, v *ralph.Verdict) error {
				if !v.Passed {
					*v = ralph.Pass()
					return errors.New("half of it could not be looked at")
				}
				return nil
			})
		}},
		{"checks", "passes with a failed check", passWith(ralph.CheckFailed)},
		{"checks", "passes with an unable check", passWith(ralph.CheckUnable)},
		{"checks", "passes with a check that timed out", passWith(ralph.CheckTimeout)},
		{"bounds", "long feedback", func(<-chan struct{}) ralph.VerifierFunc {
			return after(func(_ ralph.Claim, v *ralph.Verdict) error {
				v.Feedback = strings.Repeat(v.Feedback, 8<<10)
				return nil
			})
		}},
		{"bounds", "many checks", func(<-chan struct{}) ralph.VerifierFunc {
			return after(func(_ ralph.Claim, v *ralph.Verdict) error {
				if v.Passed {
					v.Checks = make([]ralph.Check, 65)
				}
				return nil
			})
		}},
		{"deterministic", "every other verdict is another", func(<-chan struct{}) ralph.VerifierFunc {
			var n atomic.Int64
			return after(func(_ ralph.Claim, v *ralph.Verdict) error {
				if n.Add(1)%4 < 2 {
					*v = ralph.Reject("no")
				}
				return nil
			})
		}},
		{"deterministic", "checks in any order", func(<-chan struct{}) ralph.VerifierFunc {
			return after(func(_ ralph.Claim, v *ralph.Verdict) error {
				v.Checks = nil
				for i := range 10 {
					v.Checks = append(v.Checks, ralph.Check{Name: fmt.Sprint(i), Status: ralph.CheckWarning})
				}
				shuffled := map[string]ralph.Check{}
				for _, c := range v.Checks {
					shuffled[c.Name] = c
				}
				v.Checks = slices.Collect(maps.Values(shuffled))
				return nil
			})
		}},
		{"deterministic", "it counts its calls", func(<-chan struct{}) ralph.VerifierFunc {
			var n atomic.Int64
			return after(func(_ ralph.Claim, v *ralph.Verdict) error {
				v.Feedback += fmt.Sprintf(", call %d", n.Add(1))
				return nil
			})
		}},
		{"concurrent", "one at a time", func(<-chan struct{}) ralph.VerifierFunc {
			var running atomic.Int64
			return after(func(_ ralph.Claim, v *ralph.Verdict) error {
				defer running.Add(-1)
				if running.Add(1) > 1 {
					*v = ralph.Verdict{}
					return errors.New("busy")
				}
				<-time.After(time.Second)
				return nil
			})
		}},
		{"concurrent", "the claim of another call", func(<-chan struct{}) ralph.VerifierFunc {
			var last atomic.Pointer[ralph.Claim]
			return func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
				last.Store(&c)
				<-time.After(time.Second)
				return sound(ctx, *last.Load())
			}
		}},
		{"concurrent", "a deadlock", func(release <-chan struct{}) ralph.VerifierFunc {
			var running atomic.Int64
			return after(func(_ ralph.Claim, v *ralph.Verdict) error {
				defer running.Add(-1)
				if running.Add(1) > 1 {
					<-release
				}
				<-time.After(time.Second)
				return nil
			})
		}},
		{"cancel", "does not look at its context", func(<-chan struct{}) ralph.VerifierFunc {
			return func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) { return sound(context.Background(), c) }
		}},
		{"cancel", "rejects when cancelled", func(<-chan struct{}) ralph.VerifierFunc {
			return func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
				v, err := sound(ctx, c)
				if err != nil {
					return ralph.Reject("cancelled"), nil
				}
				return v, err
			}
		}},
		{"cancel", "passes with an error when cancelled", func(<-chan struct{}) ralph.VerifierFunc {
			return func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
				v, err := sound(context.Background(), c)
				return v, errors.Join(err, ctx.Err())
			}
		}},
		{"cancel", "passes what it rejected when cancelled", func(<-chan struct{}) ralph.VerifierFunc {
			return func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
				if ctx.Err() != nil {
					return ralph.Pass(), nil
				}
				return sound(ctx, c)
			}
		}},
		{"cancel", "never returns when cancelled", func(release <-chan struct{}) ralph.VerifierFunc {
			return func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
				if ctx.Err() != nil {
					<-release
				}
				return sound(ctx, c)
			}
		}},
		{"cancel", "rejects when cancelled while it runs", func(<-chan struct{}) ralph.VerifierFunc {
			return func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
				v, err := sound(ctx, c)
				if err == nil && ctx.Err() != nil {
					return ralph.Reject("the tests were killed"), nil
				}
				return v, err
			}
		}},
		{"cancel", "never returns when cancelled while it runs", func(release <-chan struct{}) ralph.VerifierFunc {
			return func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
				v, err := sound(ctx, c)
				if err == nil && ctx.Err() != nil {
					<-release
				}
				return v, err
			}
		}},
		{"cancel", "has another reason when cancelled while it runs", func(<-chan struct{}) ralph.VerifierFunc {
			return func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
				v, err := sound(ctx, c)
				if err == nil && !v.Passed && ctx.Err() != nil {
					return ralph.Reject("signal: killed"), nil
				}
				return v, err
			}
		}},
		{"cancel", "passes when its time is up", func(<-chan struct{}) ralph.VerifierFunc {
			return func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
				if errors.Is(ctx.Err(), context.DeadlineExceeded) {
					return ralph.Pass(), nil
				}
				return sound(ctx, c)
			}
		}},
		{"deterministic", "is slow, and worn down by the tenth call", func(<-chan struct{}) ralph.VerifierFunc {
			var n atomic.Int64
			return after(func(_ ralph.Claim, v *ralph.Verdict) error {
				<-time.After(time.Minute)
				if n.Add(1) >= 10 {
					*v = ralph.Pass()
				}
				return nil
			})
		}},
		{"unmodified", "sorts the files", func(<-chan struct{}) ralph.VerifierFunc {
			return after(func(c ralph.Claim, _ *ralph.Verdict) error { slices.Sort(c.Files); return nil })
		}},
		{"unmodified", "appends to the criteria", func(<-chan struct{}) ralph.VerifierFunc {
			return after(func(c ralph.Claim, _ *ralph.Verdict) error {
				_ = append(c.Task.Acceptance, "and it compiles")
				return nil
			})
		}},
		{"unmodified", "edits the definition of a bad claim", func(<-chan struct{}) ralph.VerifierFunc {
			return after(func(c ralph.Claim, v *ralph.Verdict) error {
				if !v.Passed {
					c.Task.Spec[1] = ' '
				}
				return nil
			})
		}},
		{"unmodified", "notes a digest when cancelled", func(<-chan struct{}) ralph.VerifierFunc {
			return func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
				v, err := sound(ctx, c)
				if err != nil {
					c.Task.Guarded["a_test.go"] = ""
				}
				return v, err
			}
		}},
		{"unmodified", "keeps the files and changes them at the next call", func(<-chan struct{}) ralph.VerifierFunc {
			var mu sync.Mutex
			var kept []string
			return after(func(c ralph.Claim, _ *ralph.Verdict) error {
				mu.Lock()
				defer mu.Unlock()
				clear(kept)
				kept = c.Files
				return nil
			})
		}},
		{"kept", "all verdicts share their checks", func(<-chan struct{}) ralph.VerifierFunc {
			var mu sync.Mutex
			checks := make([]ralph.Check, 1)
			return func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
				v, err := sound(ctx, c)
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					checks[0] = ralph.Check{Name: c.Output, Status: ralph.CheckWarning}
					v.Checks = checks
				}
				return v, err
			}
		}},
		{"goroutines", "leaves one that waits", func(release <-chan struct{}) ralph.VerifierFunc {
			return after(func(ralph.Claim, *ralph.Verdict) error {
				go func() { <-release }()
				return nil
			})
		}},
		{"goroutines", "leaves one until the loop is cancelled", func(<-chan struct{}) ralph.VerifierFunc {
			return func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
				go func() { <-ctx.Done() }()
				return sound(ctx, c)
			}
		}},
		{"goroutines", "leaves one when cancelled", func(release <-chan struct{}) ralph.VerifierFunc {
			return func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
				if ctx.Err() != nil {
					go func() { <-release }()
				}
				return sound(ctx, c)
			}
		}},
		{"returns", "never returns", func(release <-chan struct{}) ralph.VerifierFunc {
			return after(func(ralph.Claim, *ralph.Verdict) error { <-release; return nil })
		}},
		{"returns", "ends its goroutine", func(<-chan struct{}) ralph.VerifierFunc {
			return func(context.Context, ralph.Claim) (ralph.Verdict, error) { runtime.Goexit(); return ralph.Pass(), nil }
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				good, bad := claims()
				err := verifytest.TestVerifier(asWritten(tt.v(release)), good, bad)
				close(release)
				<-time.After(time.Hour) // for all that was held up to end
				var rules []string
				if err != nil {
					for line := range strings.Lines(err.Error()) {
						rule, _, _ := strings.Cut(line, ":")
						rules = append(rules, rule)
					}
				}
				if got := strings.Join(rules, " "); got != tt.rule {
					t.Errorf("broken are %q, want %q:\n%v", got, tt.rule, err)
				}
				if g, b := claims(); !reflect.DeepEqual(g, good) || !reflect.DeepEqual(b, bad) {
					t.Error("the caller's claims were changed")
				}
			})
		})
	}
}
