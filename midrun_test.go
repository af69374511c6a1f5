package ralph_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
)

// working is an agent that works until its context is done, and then for d.
func working(d time.Duration, used ralph.Usage) ralph.Runner {
	return ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
		req.Live(used)
		<-ctx.Done()
		<-time.After(d)
		return ralph.Response{Output: "half"}, context.Cause(ctx)
	})
}

// after is a Control that changes the state once, when the time has come.
func after(d time.Duration, change func(ralph.State) ralph.State) func(context.Context, ralph.State) (ralph.State, error) {
	begin, changed := time.Now(), false
	return func(_ context.Context, s ralph.State) (ralph.State, error) {
		if changed || time.Since(begin) < d {
			return s, nil
		}
		changed = true
		return change(s), nil
	}
}

// TestRunningIsRecorded: what an agent has used is on record while it runs, at most
// once a second, and only if it is new.
func TestRunningIsRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var late func(ralph.Usage)
		tokens := func(n int64) ralph.Usage { return ralph.Usage{InputTokens: n, CostUSD: new(float64(n))} }
		s, log, err := runLoop(t, t.Context(), ralph.Local{Runner: ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
			for i := range int64(40) { // ten seconds
				req.Live(tokens(i/10 + 1)) // 1 at once, 2 after 2.5 s, …
				<-time.After(250 * time.Millisecond)
			}
			late = req.Live
			return ralph.Response{Output: done, Usage: tokens(5)}, nil
		})}, ralph.Start(ralph.Task{Prompt: "Do it."}))
		if err != nil || s.Usage.InputTokens != 5 || *s.Usage.CostUSD != 5 {
			t.Errorf("%v: %s", err, describe(s))
		}
		late(tokens(100)) // nobody is told
		var got []string
		for _, ev := range log.events(t) {
			if it := ev.Iteration; ev.Kind == ralph.EventRunning {
				got = append(got, fmt.Sprintf("%d.%d %d %g %v", it.Number, it.Attempt, it.Usage.InputTokens, *it.Usage.CostUSD, it.Elapsed))
			}
		}
		if diff := cmp.Diff([]string{"1.1 1 1 0s", "1.1 2 2 2.5s", "1.1 3 3 5s", "1.1 4 4 7.5s"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestRunningAtMostOnceASecond: an agent that tells much is not recorded more often,
// and what it told last is.
func TestRunningAtMostOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, log, err := runLoop(t, t.Context(), ralph.Local{Runner: ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
			req.Live(ralph.Usage{InputTokens: 1})
			<-time.After(50 * time.Millisecond)
			for i := range int64(22) {
				req.Live(ralph.Usage{InputTokens: i + 2})
				<-time.After(100 * time.Millisecond)
			}
			<-time.After(time.Hour)
			return ralph.Response{Output: done}, nil
		})}, ralph.Start(ralph.Task{Prompt: "Do it."}))
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		var at time.Time
		for _, ev := range log.events(t) {
			if ev.Kind == ralph.EventRunning {
				if ev.Time.Sub(at) < time.Second {
					t.Errorf("recorded %v after the last", ev.Time.Sub(at))
				}
				got, at = append(got, ev.Iteration.Usage.InputTokens), ev.Time
			}
		}
		if diff := cmp.Diff([]int64{1, 11, 21, 23}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestRunningTellsTimeThatIsLimited: of an agent that tells nothing of its usage it is
// on record how long it has run, if that counts: a crash does not give the time back.
func TestRunningTellsTimeThatIsLimited(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limits ralph.Limits
		ran    []time.Duration
	}{
		"a limit of time": {ralph.Limits{Duration: time.Minute}, []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second}},
		"none":            {ralph.Limits{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, log, err := runLoop(t, t.Context(), ralph.Local{Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
					<-time.After(35 * time.Second)
					return ralph.Response{Output: done}, nil
				})}, ralph.Start(ralph.Task{Prompt: "Do it.", Limits: test.limits}))
				if err != nil {
					t.Fatal(err)
				}
				var s ralph.State // as a process finds it that goes on after a crash in the run
				var ran []time.Duration
				for _, ev := range log.events(t) {
					if ev.Kind == ralph.EventAnswered {
						break
					}
					if s = s.Apply(ev); ev.Kind == ralph.EventRunning {
						ran = append(ran, s.Ran)
					}
				}
				if diff := cmp.Diff(test.ran, ran); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// TestAnsweredIsTheWholeAttempt before its verdict.
func TestAnsweredIsTheWholeAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		l := ralph.Local{Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
			<-time.After(time.Minute)
			return ralph.Response{Output: done, Omitted: 3, Model: "m", Session: "s", Learnings: []string{"l"}, Ended: []string{"sleep 9"}, Usage: ralph.Usage{InputTokens: 7}}, errors.New("exit status 1")
		}), Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
			<-time.After(time.Minute)
			return ralph.Verdict{Passed: true, Usage: ralph.Usage{InputTokens: 1}}, nil
		}), Workspace: func(context.Context, string) (string, []string, error) {
			looks++
			return fmt.Sprint("w", looks), []string{"a.go"}, nil
		}}
		_, log, err := runLoop(t, t.Context(), l, ralph.Start(ralph.Task{Prompt: "Do it."}))
		if err != nil {
			t.Fatal(err)
		}
		var got, end ralph.Iteration
		for _, ev := range log.events(t) {
			switch ev.Kind {
			case ralph.EventAnswered:
				got = ev.Iteration
			case ralph.EventIterationEnded:
				end = ev.Iteration
			}
		}
		if got.Elapsed != time.Minute || got.End.Sub(got.Start) != time.Minute || got.Fault != ralph.FaultError || got.Error != "exit status 1" || !got.Claimed || got.Usage.InputTokens != 7 {
			t.Errorf("answered: %+v", got)
		}
		want := got // and all that the verification has added
		want.End, want.Elapsed, want.Outcome = got.End.Add(time.Minute), 2*time.Minute, ralph.OutcomeSuccess
		want.Verdict = ralph.Verdict{Passed: true, Usage: ralph.Usage{InputTokens: 1}}
		if diff := cmp.Diff(asJSON(t, want), asJSON(t, end)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestControlWhileAnAttemptRuns: each change is recorded when it is made, and what
// follows of it for the attempt, and for the loop.
func TestControlWhileAnAttemptRuns(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	answers := func(d time.Duration) ralph.Runner { // answers after d, if nobody ends it before
		return ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
			req.Live(ralph.Usage{InputTokens: 900})
			select {
			case <-time.After(d):
				return ralph.Response{Output: done}, nil
			case <-ctx.Done():
				return ralph.Response{}, context.Cause(ctx)
			}
		})
	}
	pass := ralph.VerifierFunc(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
		return ralph.Verdict{Passed: c.Iteration > 1, Feedback: "no"}, nil
	})
	for _, tt := range []struct {
		name     string
		runner   ralph.Runner
		verifier ralph.Verifier
		limits   ralph.Limits
		change   func(ralph.State) ralph.State
		want     ralph.StopReason // "" = verified
		kinds    string           // of the first attempt, one that is recorded again and again once
		fault    ralph.Fault
		took     time.Duration // the first attempt
	}{
		{"cancel", working(0, ralph.Usage{InputTokens: 900}), pass, ralph.Limits{}, func(s ralph.State) ralph.State { return s.Cancel("lunch") },
			ralph.StopCancelled, "running cancelled answered iteration_ended", ralph.FaultInterrupted, minute},
		{"cancel of an agent that takes its time", working(5*time.Second, ralph.Usage{InputTokens: 900}), pass, ralph.Limits{}, func(s ralph.State) ralph.State { return s.Cancel("lunch") },
			ralph.StopCancelled, "running cancelled answered iteration_ended", ralph.FaultInterrupted, minute + 5*time.Second},
		{"cancel in a verification", answers(minute / 2), ralph.VerifierFunc(func(ctx context.Context, _ ralph.Claim) (ralph.Verdict, error) {
			<-ctx.Done()
			return ralph.Verdict{}, ctx.Err()
		}), ralph.Limits{}, func(s ralph.State) ralph.State { return s.Cancel("lunch") },
			ralph.StopCancelled, "running answered cancelled iteration_ended", ralph.FaultInterrupted, minute},
		{"guidance", answers(2 * minute), pass, ralph.Limits{}, func(s ralph.State) ralph.State { return s.Guide("mind the gap") },
			"", "running guided answered iteration_ended", "", 2 * minute},
		{"pause and go on", answers(2 * minute), pass, ralph.Limits{}, func(s ralph.State) ralph.State { return s.Pause(true).Pause(false).Guide("x") },
			"", "running guided answered iteration_ended", "", 2 * minute},
		{"fewer tokens", answers(2 * minute), pass, ralph.Limits{Tokens: 2000}, func(s ralph.State) ralph.State { return s.Limit(ralph.Limits{Tokens: 900}) },
			ralph.StopTokens, "running limits_changed answered iteration_ended", ralph.FaultBudget, minute},
		{"as many tokens as it needs", answers(2 * minute), pass, ralph.Limits{Tokens: 2000}, func(s ralph.State) ralph.State { return s.Limit(ralph.Limits{Tokens: 5000}) },
			"", "running limits_changed answered iteration_ended", "", 2 * minute},
		{"less time", answers(5 * minute), pass, ralph.Limits{}, func(s ralph.State) ralph.State { return s.Limit(ralph.Limits{Duration: 2 * minute}) },
			ralph.StopDuration, "running limits_changed running answered iteration_ended", ralph.FaultBudget, 2 * minute},
		{"more time", answers(5 * minute), pass, ralph.Limits{Duration: 2 * minute}, func(s ralph.State) ralph.State { return s.Limit(ralph.Limits{Duration: 20 * minute}) },
			"", "running limits_changed running answered iteration_ended", "", 5 * minute},
		{"this iteration is the last", answers(2 * minute), pass, ralph.Limits{}, func(s ralph.State) ralph.State { return s.Limit(ralph.Limits{Iterations: s.Iteration}) },
			ralph.StopIterations, "running limits_changed answered iteration_ended", "", 2 * minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var prompts []string
				changed := after(minute, tt.change)
				s, log, err := runLoop(t, t.Context(), ralph.Local{Verifier: tt.verifier, Control: changed,
					Runner: ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
						prompts = append(prompts, req.Prompt)
						return tt.runner.Run(ctx, req)
					})}, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it.", Limits: tt.limits}))
				if tt.want == "" && err != nil || tt.want != "" && stopReason(t, err) != tt.want || errors.Is(err, ralph.ErrCancelled) != (tt.want == ralph.StopCancelled) {
					t.Errorf("%v: %s", err, describe(s))
				}
				rest, _ := strings.CutPrefix(log.kinds(t), "loop_started iteration_started ")
				rest = strings.Join(slices.Compact(strings.Fields(rest)), " ")
				if !strings.HasPrefix(rest, tt.kinds+" ") {
					t.Errorf("recorded %s, want %s", rest, tt.kinds)
				}
				for _, ev := range log.events(t) {
					if it := ev.Iteration; ev.Kind == ralph.EventIterationEnded && it.Number == 1 {
						if it.Fault != tt.fault || it.Elapsed != tt.took || it.Usage.InputTokens != 900 {
							t.Errorf("%+v after %v", it, it.Elapsed)
						}
					}
				}
				if tt.name == "guidance" && (len(prompts) != 2 || strings.Contains(prompts[0], "mind the gap") || !strings.Contains(prompts[1], "mind the gap")) {
					t.Errorf("prompts: %q", prompts)
				}
			})
		})
	}
}

// TestPauseWaits until Control ends it, or the loop; paused time is nobody's.
func TestPauseWaits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		end  func(ralph.State) ralph.State
		want ralph.StopReason
		kind string
	}{
		{"goes on", func(s ralph.State) ralph.State { return s.Pause(false) }, "", "continued iteration_started answered iteration_ended"},
		{"cancelled", func(s ralph.State) ralph.State { return s.Cancel("") }, ralph.StopCancelled, "cancelled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				pause := after(time.Minute, func(s ralph.State) ralph.State { return s.Pause(true) })
				end := after(3*time.Hour, tt.end)
				s, log, err := runLoop(t, t.Context(), ralph.Local{Control: func(ctx context.Context, s ralph.State) (ralph.State, error) {
					if s, _ = pause(ctx, s); time.Since(begin) >= 3*time.Hour {
						return end(ctx, s)
					}
					return s, nil
				}, Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
					<-time.After(2 * time.Minute)
					return ralph.Response{Output: []string{"So far.", done}[req.Iteration-1]}, nil
				})}, ralph.Start(ralph.Task{Prompt: "Do it."}))
				if tt.want == "" && err != nil || tt.want != "" && stopReason(t, err) != tt.want {
					t.Errorf("%v: %s", err, describe(s))
				}
				want, elapsed := "loop_started iteration_started paused answered iteration_ended "+tt.kind+" loop_stopped", 2*time.Minute
				if tt.want == "" {
					elapsed *= 2
				}
				if got := log.kinds(t); got != want || s.Elapsed != elapsed {
					t.Errorf("elapsed %v, recorded\n%s, want\n%s", s.Elapsed, got, want)
				}
			})
		})
	}
}

// TestControlsThatMisbehave while an attempt runs: the attempt is recorded in any
// case, Run waits for them, and no error is lost.
func TestControlsThatMisbehave(t *testing.T) {
	t.Parallel()
	fails := errors.New("no connection")
	for _, tt := range []struct {
		name    string
		control func(context.Context, ralph.State) (ralph.State, error) // while an attempt runs
		want    string                                                  // "" = none
		took    time.Duration
		kinds   string
	}{
		{"panics", func(context.Context, ralph.State) (ralph.State, error) { panic("boom") }, "ralph: control: Local.Control panicked: boom", time.Minute, "answered iteration_ended"},
		{"fails", func(_ context.Context, s ralph.State) (ralph.State, error) { return s.Guide("x"), fails }, "ralph: control: no connection", time.Minute, "answered iteration_ended"},
		{"ends its goroutine", func(context.Context, ralph.State) (ralph.State, error) { runtime.Goexit(); return ralph.State{}, nil }, "ralph: control: it ended its goroutine", time.Minute, "answered iteration_ended"},
		{"does too much", func(_ context.Context, s ralph.State) (ralph.State, error) { s.Attempt = 9; return s, nil }, "ralph: control: the state was changed by something else", time.Minute, "answered iteration_ended"},
		{"forgets that it runs", func(_ context.Context, s ralph.State) (ralph.State, error) { s.Running = false; return s, nil }, "ralph: control: the state was changed by something else", time.Minute, "answered iteration_ended"},
		{"blocks until the attempt has ended", func(ctx context.Context, s ralph.State) (ralph.State, error) { <-ctx.Done(); return s, ctx.Err() }, "", time.Minute, "answered iteration_ended"},
		{"returns late", func(ctx context.Context, s ralph.State) (ralph.State, error) {
			<-time.After(2 * time.Minute)
			return s.Guide("late"), nil
		}, "", 2*time.Minute + 500*time.Millisecond, "answered guided iteration_ended"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin, at := time.Now(), 0
				s, log, err := runLoop(t, t.Context(), ralph.Local{Control: func(ctx context.Context, s ralph.State) (ralph.State, error) {
					if !s.Running {
						return s, nil
					}
					if at++; at > 1 {
						t.Error("it is asked again")
					}
					return tt.control(ctx, s)
				}, Runner: ralph.RunnerFunc(func(ctx context.Context, _ ralph.Request) (ralph.Response, error) {
					<-time.After(time.Minute)
					if ctx.Err() != nil {
						t.Error("the agent was ended")
					}
					return ralph.Response{Output: "So far."}, nil
				})}, ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1}}))
				if stopReason(t, err) != ralph.StopIterations || tt.want != "" && !strings.Contains(err.Error(), tt.want) || tt.want == "" && strings.Contains(err.Error(), "control") {
					t.Errorf("%v: %s", err, describe(s))
				}
				if want := "loop_started iteration_started " + tt.kinds + " loop_stopped"; log.kinds(t) != want || time.Since(begin) != tt.took {
					t.Errorf("after %v recorded\n%s, want\n%s", time.Since(begin), log.kinds(t), want)
				}
			})
		})
	}
}

// TestRunnerThatEndsItsGoroutine is a failed attempt, and does not end the caller's.
func TestRunnerThatEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	s, _, err := runLoop(t, t.Context(), ralph.Local{Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
		runtime.Goexit()
		return ralph.Response{Output: done}, nil
	})}, ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Retries: -1, Failures: 1}}))
	if stopReason(t, err) != ralph.StopFailed || !strings.Contains(s.Detail, "ended its goroutine") {
		t.Errorf("%v: %s", err, describe(s))
	}
}
