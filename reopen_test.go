package ralph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
)

// TestWhereItGoesOn: a stopped state says which attempt would be next, and that is
// the one it goes on with once nothing is in the way. What was spent stays.
func TestWhereItGoesOn(t *testing.T) {
	t.Parallel()
	type it = ralph.Iteration
	type limits = ralph.Limits
	const hour = time.Hour
	fails := it{Fault: ralph.FaultError}
	begun := ralph.Event{Kind: ralph.EventIterationStarted, Iteration: it{Number: 1, Attempt: 1}}
	stop := func(l limits, its ...it) ralph.State { return play(ralph.Start(ralph.Task{Limits: l}), its...) }
	for _, tt := range []struct {
		name string
		s    ralph.State
		stop ralph.StopReason
		next string
	}{
		{"verified", stop(limits{}, it{Claimed: true, Verdict: ralph.Pass()}), ralph.StopVerified, "0.0"},
		{"cancelled", stop(limits{}, it{}).Cancel("enough"), ralph.StopCancelled, "0.0"},
		{"cancelled in mid-run", ralph.Start(ralph.Task{}).Apply(begun).Cancel("enough"), ralph.StopCancelled, "0.0"},
		{"a task that is not valid", ralph.Start(ralph.Task{Promise: "a\nb"}), ralph.StopInvalid, "0.0"},
		{"a hole", ralph.Start(ralph.Task{}).Next(it{Number: 2, Attempt: 1}), ralph.StopInvalid, "0.0"},
		{"it goes on", stop(limits{}, it{}), "", "0.0"},

		{"blocked", stop(limits{}, fails, it{Blocked: true}), ralph.StopBlocked, "2.1"},
		{"permanent", stop(limits{}, fails, it{Fault: ralph.FaultPermanent}), ralph.StopFailed, "1.3"},
		{"failed iterations", stop(limits{Failures: 1, Retries: 1}, fails, fails), ralph.StopFailed, "2.1"},
		{"stalled", stop(limits{Stalls: 1}, it{Workspace: "a"}, it{Workspace: "a"}), ralph.StopStalled, "3.1"},
		{"stalled in its last iteration", stop(limits{Stalls: 1, Iterations: 2}, it{Workspace: "a"}, it{Workspace: "a"}), ralph.StopStalled, "3.1"},

		{"iterations", stop(limits{Iterations: 3}, it{}, it{}, it{}), ralph.StopIterations, "4.1"},
		{"iterations, by a change", stop(limits{}, it{}, fails, it{}, it{}).Limit(limits{Iterations: 2}), ralph.StopIterations, "4.1"},
		{"cost", stop(limits{CostUSD: 1}, it{Usage: ralph.Usage{CostUSD: new(1.0)}}), ralph.StopCost, "2.1"},
		{"cost, and to be retried", stop(limits{CostUSD: 1}, it{Fault: ralph.FaultError, Usage: ralph.Usage{CostUSD: new(1.0)}}), ralph.StopCost, "1.2"},
		{"cost, in mid-run", stop(limits{CostUSD: 1}, it{Fault: ralph.FaultBudget, Usage: ralph.Usage{CostUSD: new(1.0)}}), ralph.StopCost, "1.2"},
		{"cost, and it is not told", stop(limits{CostUSD: 1, Iterations: -1}, it{}), ralph.StopCost, "2.1"},
		{"tokens", stop(limits{Tokens: 1}, it{Usage: ralph.Usage{InputTokens: 1}}), ralph.StopTokens, "2.1"},
		{"tokens, interrupted", stop(limits{Tokens: 1}, it{Fault: ralph.FaultInterrupted, Usage: ralph.Usage{InputTokens: 1}}), ralph.StopTokens, "1.2"},
		{"tokens, in mid-run", stop(limits{Tokens: 1}, it{}, it{Fault: ralph.FaultBudget, Usage: ralph.Usage{InputTokens: 1}}), ralph.StopTokens, "2.2"},
		{"duration", stop(limits{Duration: hour}, it{Elapsed: hour}), ralph.StopDuration, "2.1"},
		{"duration, in mid-run", stop(limits{Duration: hour}, it{Fault: ralph.FaultBudget, Elapsed: hour}), ralph.StopDuration, "1.2"},
		{"duration, with a wait", stop(limits{Duration: hour}, it{Fault: ralph.FaultRateLimit, RetryAfter: hour}), ralph.StopDuration, "1.2"},
		{"rate limited", stop(limits{Wait: hour}, it{Fault: ralph.FaultRateLimit, RetryAfter: hour + 1}), ralph.StopRateLimited, "1.2"},
		{"rate limited, by a change", stop(limits{}, it{}, it{Fault: ralph.FaultRateLimit, RetryAfter: hour}).Limit(limits{Wait: 1}), ralph.StopRateLimited, "2.2"},
	} {
		s := tt.s
		if next := fmt.Sprintf("%d.%d", s.NextIteration, s.NextAttempt); s.Stop != tt.stop || next != tt.next {
			t.Errorf("%s: next is %s, want %s: %s", tt.name, next, tt.next, describe(s))
		}
		if tt.next == "0.0" {
			for name, got := range map[string]ralph.State{"reopened": s.Reopen(), "with other limits": s.Limit(limits{Iterations: 20})} {
				got.Task.Limits = s.Task.Limits
				if diff := cmp.Diff(asJSON(t, s), asJSON(t, got)); diff != "" {
					t.Errorf("%s, %s:\n%s", tt.name, name, diff)
				}
			}
			continue
		}
		// A person, and limits that nothing reaches, let it go on; one of both alone only
		// if that is what it stopped for.
		wide := s.Limit(limits{Iterations: 20, Wait: -1})
		for name, got := range map[string]ralph.State{"limits and reopened": wide.Reopen(), "reopened and limits": s.Reopen().Limit(limits{Iterations: 20, Wait: -1})} {
			if at := fmt.Sprintf("%d.%d", got.Iteration, got.Attempt); got.Done() || at != tt.next || got.NextIteration+got.NextAttempt != 0 ||
				got.Elapsed != s.Elapsed || got.Unpriced != s.Unpriced || !cmp.Equal(got.Usage, s.Usage) {
				t.Errorf("%s, %s: %s → %s", tt.name, name, describe(s), describe(got))
			}
		}
		gaveUp := tt.stop == ralph.StopFailed || tt.stop == ralph.StopBlocked || tt.stop == ralph.StopStalled
		if wide.Done() != gaveUp || wide.Done() && wide.Detail != s.Detail || wide.Task.Limits.Iterations != 20 {
			t.Errorf("%s, with other limits: %s → %s", tt.name, describe(s), describe(wide))
		}
	}
}

// TestStoppedInALog: the fold of a log takes a stopped loop further, and only by
// what is for it.
func TestStoppedInALog(t *testing.T) {
	t.Parallel()
	five := &ralph.State{Task: ralph.Task{Limits: ralph.Limits{Iterations: 5}}}
	stopped := play(ralph.Start(ralph.Task{Limits: ralph.Limits{Iterations: 3}}), times(3, ralph.Iteration{})...)
	failed := play(ralph.Start(ralph.Task{}), ralph.Iteration{Fault: ralph.FaultPermanent, Error: "no key"})
	foreign := func(stop ralph.StopReason, iteration, attempt int) ralph.Event {
		return ralph.Event{Kind: ralph.EventLoopStopped, State: &ralph.State{Stop: stop, NextIteration: iteration, NextAttempt: attempt}}
	}
	going := play(ralph.Start(ralph.Task{}), times(3, ralph.Iteration{})...)
	for _, tt := range []struct {
		name   string
		s      ralph.State
		events []ralph.Event
		want   string // where it goes on; "" = it does not
	}{
		{"limits", stopped, []ralph.Event{{Kind: ralph.EventLimitsChanged, State: five}}, "4.1"},
		{"limits are asked for", stopped, []ralph.Event{{Kind: ralph.EventRequested, State: five, Meta: map[string]string{"kind": "limits_changed"}}}, ""},
		{"reopened, and the limit is reached", stopped, []ralph.Event{{Kind: ralph.EventReopened}}, ""},
		{"it starts", stopped, []ralph.Event{{Kind: ralph.EventLoopStarted, State: &going}}, ""},
		{"it is reopened and starts", stopped, []ralph.Event{{Kind: ralph.EventLimitsChanged, State: five}, {Kind: ralph.EventLoopStarted, State: &going}}, "4.1"},
		{"failed, limits", failed, []ralph.Event{{Kind: ralph.EventLimitsChanged, State: five}}, ""},
		{"failed, reopened", failed, []ralph.Event{{Kind: ralph.EventReopened}}, "1.2"},
		{"failed, reopening is asked for", failed, []ralph.Event{{Kind: ralph.EventRequested, Meta: map[string]string{"kind": "reopened"}}}, ""},
		{"of another version", going, []ralph.Event{foreign(ralph.StopFailed, 5, 2), {Kind: ralph.EventReopened}}, "5.2"},
		{"of another version, and it is not known where", going, []ralph.Event{foreign(ralph.StopFailed, 0, 0), {Kind: ralph.EventReopened}}, ""},
		{"of another version, back", going, []ralph.Event{foreign(ralph.StopFailed, 3, 1), {Kind: ralph.EventReopened}}, ""},
		{"of another version, why is not known", going, []ralph.Event{foreign("of the future", 5, 1), {Kind: ralph.EventReopened}, {Kind: ralph.EventLimitsChanged, State: five}}, ""},
		{"of another version, for good", going, []ralph.Event{foreign(ralph.StopVerified, 5, 1), {Kind: ralph.EventReopened}, {Kind: ralph.EventLimitsChanged, State: five}}, ""},
	} {
		s := tt.s
		for _, ev := range tt.events {
			s = s.Apply(ev)
		}
		if at := fmt.Sprintf("%d.%d", s.Iteration, s.Attempt); s.Done() != (tt.want == "") || !s.Done() && at != tt.want {
			t.Errorf("%s: %s", tt.name, describe(s))
		}
	}
}

// TestToldOfTheAttemptThatRuns: what is told counts at once, but once, and only of
// the attempt that runs.
func TestToldOfTheAttemptThatRuns(t *testing.T) {
	t.Parallel()
	spent := func(usd float64, tokens int64) ralph.Usage {
		return ralph.Usage{CostUSD: new(usd), InputTokens: tokens}
	}
	tell := func(kind ralph.EventKind, number, attempt int, u ralph.Usage) ralph.Event {
		return ralph.Event{Kind: kind, Iteration: ralph.Iteration{Number: number, Attempt: attempt, Usage: u, Elapsed: time.Minute}}
	}
	before := play(ralph.Start(ralph.Task{Limits: ralph.Limits{CostUSD: 10, Tokens: 100, Duration: time.Hour}}), ralph.Iteration{Usage: spent(1, 10), Elapsed: time.Minute})
	running := before.Apply(ralph.Event{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: 2, Attempt: 1}})
	told := running.Apply(tell(ralph.EventRunning, 2, 1, spent(4, 40)))
	for _, tt := range []struct {
		name string
		s    ralph.State
		want string
	}{
		{"told", told, "2.1 running elapsed=1m0s cost=$5.00 settled=$1.00 ran=1m0s tokens=50"},
		{"told again", told.Apply(tell(ralph.EventRunning, 2, 1, spent(5, 50))), "2.1 running elapsed=1m0s cost=$6.00 settled=$1.00 ran=1m0s tokens=60"},
		{"its answer", told.Apply(tell(ralph.EventAnswered, 2, 1, spent(6, 50))), "2.1 running elapsed=1m0s cost=$7.00 settled=$1.00 ran=1m0s tokens=60"},
		{"its answer, which tells no usage", told.Apply(ralph.Event{Kind: ralph.EventAnswered, Iteration: ralph.Iteration{Number: 2, Attempt: 1}}), describe(told)},
		{"its cost is not told", running.Apply(tell(ralph.EventRunning, 2, 1, ralph.Usage{InputTokens: 5})).Next(ralph.Iteration{Number: 2, Attempt: 1}),
			"3.1 elapsed=2m0s cost=$1.00 unpriced=1 tokens=15"},
		{"another iteration", told.Apply(tell(ralph.EventRunning, 1, 1, spent(5, 50))), describe(told)},
		{"another attempt", told.Apply(tell(ralph.EventRunning, 2, 2, spent(5, 50))), describe(told)},
		{"nothing runs", before.Apply(tell(ralph.EventRunning, 2, 1, spent(5, 50))), describe(before)},
		{"interrupted, with its usage", told.Next(ralph.Iteration{Number: 2, Attempt: 1, Fault: ralph.FaultInterrupted, Usage: spent(4, 40), Elapsed: time.Minute}),
			"2.2 elapsed=2m0s cost=$5.00 tokens=50"},
		{"interrupted, without", told.Next(ralph.Iteration{Number: 2, Attempt: 1, Fault: ralph.FaultInterrupted}), "2.2 elapsed=2m0s cost=$5.00 tokens=50"},
		{"its end tells less", told.Next(ralph.Iteration{Number: 2, Attempt: 1, Usage: spent(3, 30), Elapsed: time.Second}), "3.1 elapsed=2m0s cost=$4.00 tokens=50"},
		{"its end tells more", told.Next(ralph.Iteration{Number: 2, Attempt: 1, Usage: spent(4.5, 45), Elapsed: time.Hour / 2}), "3.1 elapsed=31m0s cost=$5.50 tokens=55"},
	} {
		if got := describe(tt.s); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
	for _, tt := range []struct {
		live    ralph.Usage
		elapsed time.Duration
		want    ralph.StopReason
	}{
		{spent(4, 40), time.Minute, ""},
		{spent(8.9, 40), time.Minute, ""},
		{spent(9, 40), time.Minute, ralph.StopCost},
		{spent(4, 89), time.Minute, ""},
		{spent(4, 90), time.Minute, ralph.StopTokens},
		{ralph.Usage{}, 0, ""},
		{spent(4, 40), 59*time.Minute - 1, ""},
		{spent(4, 40), 59 * time.Minute, ralph.StopDuration},
	} {
		if got := told.Over(tt.live, tt.elapsed); got != tt.want {
			t.Errorf("%v after %v: %q, want %q", tt.live, tt.elapsed, got, tt.want)
		}
	}
	// What was told counts where nothing else is known.
	if got := running.Apply(tell(ralph.EventRunning, 2, 1, spent(9, 0))).Over(ralph.Usage{}, 0); got != ralph.StopCost {
		t.Errorf("%q, want cost", got)
	}
	long := ralph.Event{Kind: ralph.EventRunning, Iteration: ralph.Iteration{Number: 2, Attempt: 1, Elapsed: 59 * time.Minute}}
	if got := running.Apply(long).Over(ralph.Usage{}, 0); got != ralph.StopDuration {
		t.Errorf("%q, want duration", got)
	}
}

// TestKeysOfStoppedAndRunning: what only some states have is in the JSON of those.
func TestKeysOfStoppedAndRunning(t *testing.T) {
	t.Parallel()
	going := play(ralph.Start(ralph.Task{Limits: ralph.Limits{Iterations: 2}}), ralph.Iteration{})
	running := going.Apply(ralph.Event{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: 2, Attempt: 1}}).
		Apply(ralph.Event{Kind: ralph.EventRunning, Iteration: ralph.Iteration{Number: 2, Attempt: 1, Elapsed: 7, Usage: ralph.Usage{Requests: 3}}})
	stopped := play(going, ralph.Iteration{})
	for key, want := range map[string]ralph.State{
		`"settled":{}`: running, `"usage":{"requests":3}`: running, `"ran":7`: running, `"next_iteration":3`: stopped, `"next_attempt":1`: stopped,
	} {
		for _, s := range []ralph.State{going, running, stopped} {
			text := asJSON(t, s)
			name, _, _ := strings.Cut(key, ":")
			if s.Running == want.Running && s.Stop == want.Stop {
				if !strings.Contains(text, key) {
					t.Errorf("no %s in %s", key, text)
				}
			} else if strings.Contains(text, name) {
				t.Errorf("%s in %s", name, text)
			}
		}
	}
}

// TestForecastOfWhatWasTold: an agent that has spent $9 of 10 when its process dies
// is not run again; with more money it is.
func TestForecastOfWhatWasTold(t *testing.T) {
	t.Parallel()
	s := ralph.Start(ralph.Task{Limits: ralph.Limits{CostUSD: 10}}).
		Apply(ralph.Event{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: 1, Attempt: 1}}).
		Apply(ralph.Event{Kind: ralph.EventRunning, Iteration: ralph.Iteration{Number: 1, Attempt: 1, Usage: ralph.Usage{CostUSD: new(9.0)}}})
	if *s.Usage.CostUSD != 9 || s.Done() {
		t.Error(describe(s))
	}
	s = s.Next(ralph.Iteration{Number: 1, Attempt: 1, Fault: ralph.FaultInterrupted, Usage: ralph.Usage{CostUSD: new(9.0)}})
	if s.Stop != ralph.StopCost || *s.Usage.CostUSD != 9 || s.Settled != nil {
		t.Error(describe(s))
	}
	if s = s.Limit(ralph.Limits{CostUSD: 18}); s.Done() || s.Iteration != 1 || s.Attempt != 2 || *s.Usage.CostUSD != 9 {
		t.Error(describe(s))
	}
}

// TestChanges: which events tell of a change, in which order.
func TestChanges(t *testing.T) {
	t.Parallel()
	s := play(ralph.Start(ralph.Task{}), ralph.Iteration{}, ralph.Iteration{}).Guide("first")
	running := s.Apply(ralph.Event{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: 3, Attempt: 1}})
	stopped, failed := s.Limit(ralph.Limits{Iterations: 2}), play(s, ralph.Iteration{Fault: ralph.FaultPermanent})
	wide, long := ralph.Limits{Iterations: 20}, strings.Repeat("x", 6<<10)
	full := s.Guide(long).Apply(ralph.Event{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: 3, Attempt: 1}})
	for _, tt := range []struct {
		name     string
		from, to ralph.State
		want     string
	}{
		{"nothing", s, s, "[]"},
		{"nothing that says something", s, s.Guide(" ").Limit(ralph.Limits{Iterations: -1}).Reopen().Pause(false), "[]"},
		{"advice", s, s.Guide("a").Guide("b"), "[guided]"},
		{"advice while it runs", running, running.Guide("a"), "[guided]"},
		{"the same advice again, while it runs, of which only one is kept", full, full.Guide(long), "[guided]"},
		{"paused", s, s.Pause(true), "[paused]"},
		{"continued", s.Pause(true), s, "[continued]"},
		{"limits that stop it come last", s, s.Guide("a").Pause(true).Limit(ralph.Limits{Iterations: 2}), "[guided paused limits_changed]"},
		{"cancelled", s, s.Pause(true).Limit(wide).Cancel("enough").Guide("a"), "[paused limits_changed cancelled]"},
		{"finish", running, running.Finish(), "[limits_changed]"},
		{"limits that reopen it come first", stopped, stopped.Limit(wide).Guide("a").Pause(true), "[limits_changed guided paused]"},
		{"limits that do not", stopped, stopped.Limit(ralph.Limits{Iterations: 1}), "[limits_changed]"},
		{"reopened", failed, failed.Reopen(), "[reopened]"},
		{"reopened with limits, and advice", failed, failed.Limit(wide).Reopen().Guide("a"), "[limits_changed reopened guided]"},
		{"reopened and cancelled", failed, failed.Reopen().Cancel("enough"), "[reopened cancelled]"},
		{"reopened, and a limit is reached", failed, failed.Limit(ralph.Limits{Iterations: 2}).Reopen(), "[limits_changed reopened]"},
		{"over for good", s.Cancel("a"), s.Cancel("a").Cancel("b").Limit(wide).Reopen().Guide("a").Pause(true), "[]"},
	} {
		var kinds []ralph.EventKind
		fold := tt.from
		for _, ev := range tt.from.Changes(tt.to) {
			kinds = append(kinds, ev.Kind)
			fold = fold.Apply(ev)
		}
		if got := fmt.Sprint(kinds); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if diff := cmp.Diff(asJSON(t, tt.to), asJSON(t, fold)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if s.Done() || len(s.Guidance) != 1 {
		t.Errorf("the state was changed: %s", describe(s))
	}
}

// TestReopenedWait: a wait in which a limit stopped the loop goes on where the clock
// stands when it is reopened, and is counted as far as somebody waited.
func TestReopenedWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		l := ralph.Local{Runner: limited(5 * time.Hour), Control: func(_ context.Context, s ralph.State) (ralph.State, error) {
			if time.Since(begin) == time.Minute {
				s = s.Limit(ralph.Limits{Wait: time.Hour})
			}
			return s, nil
		}}
		s, _, err := runLoop(t, t.Context(), l, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."}))
		if stopReason(t, err) != ralph.StopRateLimited || s.Elapsed != time.Minute || !s.NotBefore().IsZero() {
			t.Fatalf("%v: %s", err, describe(s))
		}
		<-time.After(29 * time.Minute)
		if s = s.Limit(ralph.Limits{}); s.NotBefore() != begin.Add(5*time.Hour).UTC().Round(0) {
			t.Errorf("not before %v: %s", s.NotBefore(), describe(s))
		}
		s, _, err = runLoop(t, t.Context(), ralph.Local{Runner: limited(0)}, s)
		if want := 5*time.Hour - 29*time.Minute; err != nil || time.Since(begin) != 5*time.Hour || s.Elapsed != want || s.Waited != want {
			t.Errorf("%v after %v: %s", err, time.Since(begin), describe(s))
		}
	})
}

// TestCancelledIsErrCancelled: by the error alone it can be told that a person
// wanted it.
func TestCancelledIsErrCancelled(t *testing.T) {
	t.Parallel()
	s := ralph.Start(ralph.Task{Limits: ralph.Limits{Iterations: 1}})
	cancelled, stopped := s.Cancel("enough").Err(), play(s, ralph.Iteration{}).Err()
	if !errors.Is(fmt.Errorf("run: %w", cancelled), ralph.ErrCancelled) || errors.Is(cancelled, ralph.ErrAbandoned) {
		t.Error(cancelled)
	}
	if stopped == nil || errors.Is(stopped, ralph.ErrCancelled) {
		t.Error(stopped)
	}
}
