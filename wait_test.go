package ralph_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
)

// limited is an agent whose first attempt meets a rate limit.
func limited(d time.Duration) ralph.Runner {
	return ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
		if req.Attempt == 1 {
			return ralph.Response{}, ralph.RetryAfter(errors.New("429"), d)
		}
		return ralph.Response{Output: done}, nil
	})
}

// TestWaitIsCountedAsItPasses: of a wait that is interrupted only what passed
// counts, and of a wait that is resumed only what is still waited. Time between
// resumes is nobody's.
func TestWaitIsCountedAsItPasses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := ralph.Local{Runner: limited(5 * time.Hour)}
		s := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."})
		var due time.Time
		const until = " for the rate limit, until 2000-01-01 05:00:00 UTC"
		for i, want := range []struct{ run, elapsed, between time.Duration }{
			{time.Hour, time.Hour, 30 * time.Minute},                // 3h30m are left
			{time.Hour, 2 * time.Hour, 0},                           // 2h30m
			{30 * time.Minute, 150 * time.Minute, 90 * time.Minute}, // 30m
			{10 * time.Minute, 160 * time.Minute, 0},                // 20m
			{24 * time.Hour, 180 * time.Minute, 0},                  // to the end
		} {
			ctx, cancel := context.WithTimeout(t.Context(), want.run)
			var log *memory
			var err error
			s, log, err = runLoop(t, ctx, l, s)
			cancel()
			if !strings.HasSuffix(waits(log.events(t))[0], until) {
				t.Errorf("run %d: waits: %q", i+1, waits(log.events(t)))
			}
			if last := i == 4; last != (err == nil) || !last && !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("run %d: %v, %s", i+1, err, describe(s))
			}
			if s.Elapsed != want.elapsed || s.Waited != want.elapsed {
				t.Errorf("run %d: elapsed %v, waited %v, want %v", i+1, s.Elapsed, s.Waited, want.elapsed)
			}
			if i == 0 {
				due = s.NotBefore()
			}
			if !s.Done() && !s.NotBefore().Equal(due) {
				t.Errorf("run %d: not before %v, want %v", i+1, s.NotBefore(), due)
			}
			<-time.After(want.between)
		}
	})
}

// TestWaitThatIsOverCountsNothing: nothing of a wait that ended between two runs
// is waited by the second.
func TestWaitThatIsOverCountsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		l := ralph.Local{Runner: limited(time.Hour)}
		s, _, _ := runLoop(t, ctx, l, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."}))
		<-time.After(2 * time.Hour)
		s, log, err := runLoop(t, t.Context(), l, s)
		if err != nil || s.Elapsed != time.Minute || s.Waited != time.Minute || strings.Contains(log.kinds(t), "waiting") {
			t.Errorf("%v: %s, %s", err, describe(s), log.kinds(t))
		}
	})
}

// TestRetryWaitIsCountedAsItPasses: a wait before a retry is no wait for a rate
// limit.
func TestRetryWaitIsCountedAsItPasses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		l := ralph.Local{Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
			return ralph.Response{}, errors.New("broke")
		})}
		s := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."})
		s.Waited = time.Hour // for a rate limit, before
		s, log, err := runLoop(t, ctx, l, s)
		if !errors.Is(err, context.DeadlineExceeded) || s.Elapsed != 100*time.Millisecond || s.Waited != time.Hour {
			t.Errorf("%v: %s", err, describe(s))
		}
		if !strings.HasSuffix(waits(log.events(t))[0], " before the next retry") {
			t.Errorf("waits: %q", waits(log.events(t)))
		}
	})
}

// TestNextAloneCountsWaits: a driver that only uses Next is charged for a wait
// when it is decided on, and for the rest of one that Run was interrupted in.
func TestNextAloneCountsWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		s, _, _ := runLoop(t, ctx, ralph.Local{Runner: limited(5 * time.Hour)}, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."}))
		if s.Elapsed != time.Hour || s.Unwaited != 4*time.Hour {
			t.Fatal(describe(s))
		}
		if s.Over(ralph.Usage{}, 0) != "" || s.Limit(ralph.Limits{Duration: 5 * time.Hour}).Stop != ralph.StopDuration {
			t.Error("what is still to be waited does not count to Limits.Duration")
		}
		s = s.Next(ralph.Iteration{Number: 1, Attempt: 2, Elapsed: time.Minute})
		if s.Elapsed != 5*time.Hour+time.Minute || s.Waited != 5*time.Hour || s.Unwaited != 0 {
			t.Errorf("%s, unwaited %v", describe(s), s.Unwaited)
		}
	})
}

// TestControlIsAskedDuringAWait: what a person wants is seen at once, and what
// was not waited is not counted.
func TestControlIsAskedDuringAWait(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		change  func(ralph.State) ralph.State
		want    ralph.StopReason // "" = it goes on to the end
		kind    string
		elapsed time.Duration
	}{
		{"cancel", func(s ralph.State) ralph.State { return s.Cancel("enough") }, ralph.StopCancelled, "cancelled", time.Minute},
		{"less waiting", func(s ralph.State) ralph.State { return s.Limit(ralph.Limits{Wait: time.Hour}) }, ralph.StopRateLimited, "limits_changed", time.Minute},
		{"as much waiting", func(s ralph.State) ralph.State { return s.Limit(ralph.Limits{Wait: 5 * time.Hour}) }, "", "limits_changed", 5 * time.Hour},
		{"less time", func(s ralph.State) ralph.State { return s.Limit(ralph.Limits{Duration: 2 * time.Hour}) }, ralph.StopDuration, "limits_changed", time.Minute},
		{"advice", func(s ralph.State) ralph.State { return s.Guide("mind the gap") }, "", "guided", 5 * time.Hour},
		{"pause and go on", func(s ralph.State) ralph.State { return s.Pause(true) }, "", "paused continued", 5 * time.Hour},
		{"nothing", func(s ralph.State) ralph.State { return s }, "", "", 5 * time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin, changed := time.Now(), false
				var prompt string
				l := ralph.Local{Control: func(_ context.Context, s ralph.State) (ralph.State, error) {
					if s.Paused {
						return s.Pause(false), nil
					}
					if changed || time.Since(begin) < time.Minute {
						return s, nil
					}
					changed = true
					return tt.change(s), nil
				}, Runner: ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
					prompt = req.Prompt
					return limited(5*time.Hour).Run(ctx, req)
				})}
				s, log, err := runLoop(t, t.Context(), l, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."}))
				if tt.want == "" && err != nil || tt.want != "" && stopReason(t, err) != tt.want {
					t.Fatalf("%v: %s", err, describe(s))
				}
				if took := time.Since(begin); s.Elapsed != tt.elapsed || s.Waited != tt.elapsed || took != tt.elapsed {
					t.Errorf("took %v: %s", took, describe(s))
				}
				want := "loop_started iteration_started answered iteration_ended waiting "
				if tt.kind != "" {
					want += tt.kind + " "
				}
				if tt.want != "" {
					want += "waiting loop_stopped" // the second takes the rest back
				} else {
					want += "iteration_started answered iteration_ended loop_stopped"
				}
				if got := log.kinds(t); got != want {
					t.Errorf("recorded\n%s, want\n%s", got, want)
				}
				if tt.name == "advice" && !strings.Contains(prompt, "mind the gap") {
					t.Errorf("the advice did not reach the prompt:\n%s", prompt)
				}
			})
		})
	}
}

// TestClockSetBack: a state of the future does not make the loop wait longer than
// was decided.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."}).Next(ralph.Iteration{Number: 1, Attempt: 1,
			Fault: ralph.FaultRateLimit, RetryAfter: time.Hour, End: begin.Add(100 * time.Hour)})
		s, _, err := runLoop(t, t.Context(), ralph.Local{Runner: limited(0)}, s)
		if took := time.Since(begin); err != nil || took != time.Hour {
			t.Errorf("%v after %v: %s", err, took, describe(s))
		}
	})
}

// TestWaitIsNotCountedTwice: the process died in a wait, which was counted when
// it was decided on; and a state that was made by hand has no less than nothing
// to take back.
func TestWaitIsNotCountedTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."}).Next(ralph.Iteration{Number: 1, Attempt: 1,
			Fault: ralph.FaultRateLimit, RetryAfter: time.Hour, End: time.Now()})
		final, _, err := runLoop(t, t.Context(), ralph.Local{Runner: limited(0)}, s)
		if err != nil || final.Elapsed != time.Hour || final.Waited != time.Hour {
			t.Errorf("%v: %s", err, describe(final))
		}
		s.Elapsed, s.Waited, s.Updated = 0, 0, time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s, _, err = runLoop(t, ctx, ralph.Local{Runner: limited(0)}, s)
		if !errors.Is(err, context.DeadlineExceeded) || s.Elapsed != 0 || s.Waited != 0 {
			t.Errorf("%v: %s", err, describe(s))
		}
	})
}

// waits are the texts of the events that tell of waits.
func waits(events []ralph.Event) []string {
	var texts []string
	for _, ev := range events {
		if ev.Kind == ralph.EventWaiting {
			texts = append(texts, ev.Text)
		}
	}
	return append(texts, "")
}

// TestWaitTellsTheProvidersTime: a wait says until when as the provider told it, which
// is what a person can compare.
func TestWaitTellsTheProvidersTime(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"You've hit your limit · resets 9pm (America/New_York)": "waiting 2h0m0s for the rate limit, until 1999-12-31 21:00:00 EST",
		"try again in 2 hours": "waiting 2h0m0s for the rate limit, until 2000-01-01 02:00:00 UTC",
		"slow down":            "waiting 2h0m0s for the rate limit, until 2000-01-01 02:00:00 UTC",
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			l := ralph.Local{Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
				return ralph.Response{}, ralph.RetryAfter(errors.New(words), 2*time.Hour)
			})}
			_, log, _ := runLoop(t, ctx, l, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."}))
			if got := waits(log.events(t))[0]; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
