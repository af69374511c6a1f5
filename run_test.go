package ralph_test

import (
	"context"
	"errors"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// TestInterruptHidesNoLogError: the log fails at any event while the loop is
// interrupted: both are told, and the state holds what was spent.
func TestInterruptHidesNoLogError(t *testing.T) {
	t.Parallel()
	for _, kind := range []ralph.EventKind{ralph.EventAnswered, ralph.EventIterationEnded} {
		cause := errors.New("Ctrl-C")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		l := &ralph.Local{Verifier: verify.String{}, Output: func(ralph.Request) (io.Writer, io.Writer) { return nil, fullDisk{} },
			Runner: ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
				cancel(cause)
				return ralph.Response{Usage: ralph.Usage{InputTokens: 9}}, context.Cause(ctx)
			}),
			Log: ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error {
				if ev.Kind == kind {
					return errLog
				}
				return nil
			})}
		s, err := l.Run(ctx, ralph.Start(ralph.Task{Prompt: "Do it."}))
		if !errors.Is(err, cause) || !errors.Is(err, errLog) || strings.Count(err.Error(), errLog.Error()) != 1 || s.Usage.InputTokens != 9 || s.Attempt != 2 {
			t.Errorf("%s fails: %v, %s", kind, err, describe(s))
		}
	}
}

// TestInterruptedWaitHidesNoLogError: also when nothing runs.
func TestInterruptedWaitHidesNoLogError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		l := &ralph.Local{Runner: limited(time.Hour), Verifier: verify.String{}, Log: ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error {
			if ev.Kind == ralph.EventWaiting && ev.State != nil {
				return errLog
			}
			return nil
		})}
		s, err := l.Run(ctx, ralph.Start(ralph.Task{Prompt: "Do it."}))
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errLog) || s.Elapsed != time.Minute {
			t.Errorf("%v: %s", err, describe(s))
		}
	})
}

// TestRunWithADoneContext does nothing, and says only why.
func TestRunWithADoneContext(t *testing.T) {
	t.Parallel()
	cause := errors.New("Ctrl-C")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	log := &memory{}
	start := ralph.Start(ralph.Task{Prompt: "Do it.", Dir: gitRepo(t)})
	s, err := (&ralph.Local{Runner: ralph.Replay(done), Verifier: verify.String{}, Log: log}).Run(ctx, start)
	if err != cause || len(log.lines) != 0 || asJSON(t, s) != asJSON(t, start) {
		t.Errorf("%v, recorded %s: %s", err, log.kinds(t), describe(s))
	}
}

// TestInterruptWhileLooking: the first look at the workspace is interrupted.
func TestInterruptWhileLooking(t *testing.T) {
	t.Parallel()
	cause := errors.New("Ctrl-C")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := (&ralph.Local{Runner: ralph.Replay(done), Verifier: verify.String{}, Workspace: func(context.Context, string) (string, []string, error) {
		cancel(cause)
		return "", nil, errors.New("git status: context canceled")
	}}).Run(ctx, ralph.Start(ralph.Task{Prompt: "Do it."}))
	if err != cause {
		t.Errorf("got %v", err)
	}
}

// TestRunLooksOncePerIteration: what the workspace was after an attempt is what
// it was before the next.
func TestRunLooksOncePerIteration(t *testing.T) {
	t.Parallel()
	looks := 0
	l := ralph.Local{Runner: ralph.Replay("a", "b", "c", done), Workspace: func(context.Context, string) (string, []string, error) {
		looks++
		return strconv.Itoa(looks), []string{"f" + strconv.Itoa(looks)}, nil
	}}
	s, _, err := runLoop(t, t.Context(), l, ralph.Start(ralph.Task{Prompt: "Do it."}))
	if err != nil || looks != 1+4 {
		t.Errorf("%v after %d looks: %s", err, looks, describe(s))
	}
	if diff := cmp.Diff([]string{"f2", "f3", "f4", "f5"}, s.Files); diff != "" {
		t.Error(diff)
	}
	l.Verifier = verify.String{}
	looks = 0
	if it, err := l.Iterate(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it."})); err != nil || looks != 2 || it.Workspace != "2" {
		t.Errorf("%v: Iterate looked %d times", err, looks)
	}
	if _, err := l.Observe(t.Context(), ralph.Start(ralph.Task{}), ralph.Response{Output: done}); err != nil || looks != 3 {
		t.Errorf("%v: Observe looked %d times", err, looks-2)
	}
}

// TestRunLooksAgainWhenItCouldNot: a look that fails is no view to compare with.
func TestRunLooksAgainWhenItCouldNot(t *testing.T) {
	t.Parallel()
	looks := 0
	_, log, err := runLoop(t, t.Context(), ralph.Local{Runner: ralph.Replay("a", done), Workspace: func(context.Context, string) (string, []string, error) {
		if looks++; looks == 2 {
			return "half", []string{"half"}, errors.New("git failed")
		}
		return strconv.Itoa(looks), nil, nil
	}}, ralph.Start(ralph.Task{Prompt: "Do it."}))
	if err != nil || looks != 4 {
		t.Errorf("%v after %d looks", err, looks)
	}
	var seen []string
	for _, ev := range log.events(t) {
		if ev.Kind == ralph.EventIterationEnded {
			seen = append(seen, ev.Iteration.Workspace+strings.Join(ev.Iteration.Files, ""))
		}
	}
	if diff := cmp.Diff([]string{"", "4"}, seen); diff != "" {
		t.Error(diff)
	}
}

// TestEvidenceFolders: every attempt of every loop has its own, whatever the
// loops are called and whatever the file system makes of it.
func TestEvidenceFolders(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "evidence")
	folders := map[string]string{}
	names := []string{"T1", "t1", "T1.coder", "..", ".", "", "a/b", "a_b", `a\b`, "a:b", "../../etc", "ä", "ö", "CON", "nul.txt", strings.Repeat("x", 5000), strings.Repeat("x", 5001), "-rf", ".git", "a\x00b"}
	for _, name := range names {
		l := &ralph.Local{Runner: ralph.Replay("So far.", done), Evidence: root, Verifier: ralph.VerifierFunc(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
			rel, err := filepath.Rel(root, c.Evidence)
			parts := strings.Split(rel, string(filepath.Separator))
			if err != nil || !filepath.IsLocal(rel) || len(parts) != 2 || parts[1] != "002.1" {
				t.Errorf("%q: evidence in %q", name, c.Evidence)
			}
			if dir := parts[0]; strings.Trim(dir, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" || len(dir) > 100 || strings.HasPrefix(dir, ".") || strings.HasPrefix(dir, "-") {
				t.Errorf("%q: evidence in %q", name, dir)
			}
			folders[strings.ToLower(parts[0])] = name
			return ralph.Pass(), nil
		})}
		s := ralph.Start(ralph.Task{Prompt: "Do it.", Dir: t.TempDir()})
		s.Iteration, s.Loop = 2, name
		if _, err := l.Iterate(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if len(folders) != len(names) {
		t.Errorf("%d loops share %d folders: %q", len(names), len(folders), folders)
	}
}

// TestRunNamesALoop: two loops without a name in one log can be told apart, and
// one that goes on keeps its name.
func TestRunNamesALoop(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for range 2 {
		l := ralph.Local{Runner: ralph.Replay("So far.", done)}
		s, log, err := runLoop(t, t.Context(), l, ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Iterations: 2}}))
		if err != nil || !strings.HasPrefix(s.Loop, "loop-") || s.Loop != strings.ToLower(s.Loop) {
			t.Errorf("%v, named %q", err, s.Loop)
		}
		names[s.Loop] = true
		for _, ev := range log.events(t) {
			if ev.Loop != s.Loop {
				t.Errorf("%s of loop %q, want %q", ev.Kind, ev.Loop, s.Loop)
			}
		}
	}
	if len(names) != 2 {
		t.Errorf("named %v", names)
	}
	s := ralph.Start(ralph.Task{Prompt: "Do it."})
	s.Loop = "mine"
	if s, _, err := runLoop(t, t.Context(), ralph.Local{Runner: ralph.Replay(done)}, s); err != nil || s.Loop != "mine" {
		t.Errorf("%v, named %q", err, s.Loop)
	}
}

// TestRateLimitIsNoFailure: the attempt is shown as one that is run again.
func TestRateLimitIsNoFailure(t *testing.T) {
	t.Parallel()
	for want, runner := range map[ralph.Outcome]ralph.Runner{ralph.OutcomeInterrupted: limited(time.Hour), ralph.OutcomeFailure: ralph.Replay(), ralph.OutcomeSuccess: ralph.Replay("So far.")} {
		it, err := (&ralph.Local{Runner: runner, Verifier: verify.String{}}).Iterate(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it."}))
		if err != nil || it.Outcome != want {
			t.Errorf("%v: %+v, want %s", err, it, want)
		}
	}
}

// TestRunRefusesStatesThatMakeNoSense: they are made by hand, or read from a log
// that somebody edited.
func TestRunRefusesStatesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(*ralph.State){
		"iteration is 0":                 func(s *ralph.State) { *s = ralph.State{} },
		"iteration is -100":              func(s *ralph.State) { s.Iteration = -100 },
		"attempt 0":                      func(s *ralph.State) { s.Attempt = 0 },
		"limits: unlimited iterations":   func(s *ralph.State) { s.Task.Limits.Iterations = -1 },
		"limits: tokens":                 func(s *ralph.State) { s.Task.Limits.Tokens = -1 },
		"task: promise":                  func(s *ralph.State) { s.Task.Promise = "a\nb" },
		"iteration is 9223372":           func(s *ralph.State) { s.Iteration = math.MaxInt }, // and the next one is negative
		"attempt is 9223372":             func(s *ralph.State) { s.Attempt = math.MaxInt },
		"failures is 9223372":            func(s *ralph.State) { s.Failures = math.MaxInt },
		"late is -7":                     func(s *ralph.State) { s.Late = -7 },
		"late is 1 of 0":                 func(s *ralph.State) { s.Late = 1 },
		"retries":                        func(s *ralph.State) { s.Retries = -1 },
		"failures":                       func(s *ralph.State) { s.Failures = -1 },
		"rate_limits":                    func(s *ralph.State) { s.RateLimits = -1 },
		"stalled":                        func(s *ralph.State) { s.Stalled = -1 },
		"unpriced":                       func(s *ralph.State) { s.Unpriced = -1 },
		"elapsed":                        func(s *ralph.State) { s.Elapsed = -1 },
		"waited":                         func(s *ralph.State) { s.Waited = -1 },
		"unwaited":                       func(s *ralph.State) { s.Unwaited = -1 },
		"wait is":                        func(s *ralph.State) { s.Wait = -1 },
		"line":                           func(s *ralph.State) { s.Line = -1 },
		"ran":                            func(s *ralph.State) { s.Ran = -1 },
		"next_iteration is -1":           func(s *ralph.State) { s.NextIteration = -1 },
		"next_attempt is -1":             func(s *ralph.State) { s.NextAttempt = -1 },
		"next_iteration is 9223372":      func(s *ralph.State) { s.NextIteration = math.MaxInt },
		"next_attempt is 9223372":        func(s *ralph.State) { s.NextAttempt = math.MaxInt },
		"nothing to tell the agent: set": func(s *ralph.State) { s.Task.Prompt = " \n" },
	} {
		ran := false
		l := &ralph.Local{Verifier: verify.String{}, Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
			ran = true
			return ralph.Response{Output: done}, nil
		}), Log: &memory{failAt: 1}}
		s := ralph.Start(ralph.Task{Prompt: "Do it."})
		change(&s)
		_, runErr := l.Run(t.Context(), s)
		_, iterateErr := l.Iterate(t.Context(), s)
		for _, err := range []error{runErr, iterateErr} {
			if err == nil || !strings.HasPrefix(err.Error(), "ralph: ") || !strings.Contains(err.Error(), field) || strings.Contains(err.Error(), "\n") || ran {
				t.Errorf("%s: ran: %t, %v", field, ran, err)
			}
		}
		if _, err := l.Observe(t.Context(), s, ralph.Response{Output: done}); (err == nil) != strings.HasPrefix(field, "nothing") {
			t.Errorf("%s: Observe says %v", field, err)
		}
	}
}

// TestSomeTextIsEnough: any of the task's texts, or a prompt of the caller's.
func TestSomeTextIsEnough(t *testing.T) {
	t.Parallel()
	for _, task := range []ralph.Task{{Prompt: "x"}, {Title: "x"}, {Outcome: "x"}, {Success: "x"}, {Acceptance: []string{"", "x"}}} {
		if _, _, err := runLoop(t, t.Context(), ralph.Local{Runner: ralph.Replay(done)}, ralph.Start(task)); err != nil {
			t.Errorf("%+v: %v", task, err)
		}
	}
	own := func(context.Context, ralph.State) (string, error) { return "x", nil }
	if _, _, err := runLoop(t, t.Context(), ralph.Local{Runner: ralph.Replay(done), Prompt: own}, ralph.Start(ralph.Task{ID: "T"})); err != nil {
		t.Error(err)
	}
}

// TestErrorsNameThePackageOnce: whatever part failed.
func TestErrorsNameThePackageOnce(t *testing.T) {
	t.Parallel()
	fails := errors.New("ralph: template, line 1: nothing is known of {{X}}") // as from Template
	local := func(change func(*ralph.Local)) error {
		l := ralph.Local{Runner: ralph.Replay("So far."), Verifier: verify.String{}}
		change(&l)
		_, err := l.Run(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1}}))
		return err
	}
	for want, err := range map[string]error{
		"ralph: Local has no Runner": local(func(l *ralph.Local) { l.Runner = nil }),
		"ralph: prompt: template, line 1": local(func(l *ralph.Local) {
			l.Prompt = func(context.Context, ralph.State) (string, error) { return "", fails }
		}),
		"ralph: control: template, line 1": local(func(l *ralph.Local) {
			l.Control = func(_ context.Context, s ralph.State) (ralph.State, error) { return s, fails }
		}),
		"ralph: workspace: template, line 1": local(func(l *ralph.Local) {
			l.Workspace = func(context.Context, string) (string, []string, error) { return "", nil, fails }
		}),
		"ralph: progress log: disk full":  local(func(l *ralph.Local) { l.Log = &memory{failAt: 1} }),
		"ralph: stopped: iterations":      local(func(*ralph.Local) {}),
		"ralph: limits: tokens is -1":     ralph.Limits{Tokens: -1, Stalls: -1}.Validate(),
		`ralph: task: blocked "COMPLETE"`: ralph.Task{Blocked: "COMPLETE", Limits: ralph.Limits{Tokens: -1}}.Validate(),
		"ralph: control: the state was change": local(func(l *ralph.Local) {
			l.Control = func(context.Context, ralph.State) (ralph.State, error) { return ralph.State{}, nil }
		}),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Count(err.Error(), "ralph: ") != 1 {
			t.Errorf("got %v, want %s…", err, want)
		}
	}
	if err := ralph.Start(ralph.Task{ID: "T", Promise: "a\nb"}).Err(); strings.Count(err.Error(), "ralph: ") != 1 {
		t.Error(err)
	}
}

// TestRunBlocked: the agent's call for help stops the loop, and is not verified.
func TestRunBlocked(t *testing.T) {
	t.Parallel()
	const stuck = "No database.\n\n<promise>STUCK</promise>"
	for _, tt := range []struct {
		name    string
		task    ralph.Task
		output  string
		stop    ralph.StopReason
		line    int
		asked   int
		nearest string
	}{
		{"blocked", ralph.Task{Blocked: "STUCK"}, stuck, ralph.StopBlocked, 3, 0, ""},
		{"also where nothing is claimed", ralph.Task{Blocked: "STUCK", Always: true}, stuck, ralph.StopBlocked, 3, 0, ""},
		{"nobody asked for it", ralph.Task{}, stuck, ralph.StopIterations, 0, 0, ralph.WhyWrongText},
		{"neither", ralph.Task{Blocked: "STUCK"}, "So far.", ralph.StopIterations, 0, 0, ""},
		{"nearly", ralph.Task{Blocked: "STUCK"}, "```\n" + done + "\n```", ralph.StopIterations, 0, 0, ralph.WhyFenced},
		{"a promise is a promise", ralph.Task{Blocked: "STUCK"}, done, ralph.StopIterations, 2, 1, ""},
		{"everything is verified", ralph.Task{Blocked: "STUCK", Always: true}, "So far.", ralph.StopIterations, 0, 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			task := tt.task
			task.Prompt, task.Limits.Iterations = "Do it.", 1
			s, _, err := runLoop(t, t.Context(), ralph.Local{Runner: ralph.Replay(tt.output), Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
				asked++
				return ralph.Reject("no"), nil
			})}, ralph.Start(task))
			if stopReason(t, err) != tt.stop || s.Line != tt.line || asked != tt.asked || s.NearMiss != tt.nearest {
				t.Errorf("%v, asked %d times, line %d: %s", err, asked, s.Line, describe(s))
			}
		})
	}
}

// TestEventsEndWithTheError that Run would have returned, if there is one.
func TestEventsEndWithTheError(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		local ralph.Local
		want  ralph.StopReason // "" = none
		other error
	}{
		{ralph.Local{Runner: ralph.Replay(done)}, "", nil},
		{ralph.Local{Runner: ralph.Replay("So far.")}, ralph.StopIterations, nil},
		{ralph.Local{Runner: ralph.Replay(done), Log: &memory{failAt: 2}}, "", errLog},
	} {
		tt.local.Verifier = verify.String{}
		var errs []error
		for ev, err := range tt.local.Events(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1}})) {
			if len(errs) > 0 {
				t.Errorf("%s follows the error", ev.Kind)
			}
			if (err != nil) != (ev.Kind == "") {
				t.Errorf("%+v comes with %v", ev, err)
			}
			if err != nil {
				errs = append(errs, err)
			}
		}
		switch {
		case tt.want == "" && tt.other == nil && len(errs) != 0,
			tt.want != "" && (len(errs) != 1 || stopReason(t, errs[0]) != tt.want),
			tt.other != nil && (len(errs) != 1 || !errors.Is(errs[0], tt.other)):
			t.Errorf("errors: %v", errs)
		}
	}
}

// TestControlChangesAreRecordedAsWhatTheyAre: a pause as a pause, and what comes
// together with limits that stop the loop is not lost.
func TestControlChangesAreRecordedAsWhatTheyAre(t *testing.T) {
	t.Parallel()
	less := ralph.Limits{Iterations: 1}
	for _, tt := range []struct {
		name   string
		change func(ralph.State) ralph.State
		want   string // the kinds after the first iteration
		paused bool
		stop   ralph.StopReason
	}{
		{"stopped by limits", func(s ralph.State) ralph.State { return s.Limit(less) }, "limits_changed", false, ralph.StopIterations},
		{"paused and stopped", func(s ralph.State) ralph.State { return s.Pause(true).Limit(less) }, "paused limits_changed", true, ralph.StopIterations},
		{"stopped, which cannot be paused", func(s ralph.State) ralph.State { return s.Limit(less).Pause(true) }, "limits_changed", false, ralph.StopIterations},
		{"all", func(s ralph.State) ralph.State {
			return s.Guide("x").Pause(true).Limit(ralph.Limits{Iterations: 7}).Cancel("enough")
		}, "guided paused limits_changed cancelled", true, ralph.StopCancelled},
		{"cancelled first", func(s ralph.State) ralph.State { return s.Cancel("enough").Limit(less).Pause(true).Guide("x") }, "cancelled", false, ralph.StopCancelled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			s, log, err := runLoop(t, t.Context(), ralph.Local{Runner: ralph.Replay("So far.", done), Control: func(_ context.Context, s ralph.State) (ralph.State, error) {
				if asked++; asked == 2 {
					return tt.change(s), nil
				}
				return s, nil
			}}, ralph.Start(ralph.Task{Prompt: "Do it."}))
			if stopReason(t, err) != tt.stop || s.Paused != tt.paused {
				t.Errorf("%v: %s", err, describe(s))
			}
			if strings.Contains(err.Error(), "something else") {
				t.Error(err)
			}
			if want := "loop_started iteration_started answered iteration_ended " + tt.want + " loop_stopped"; log.kinds(t) != want {
				t.Errorf("recorded\n%s, want\n%s", log.kinds(t), want)
			}
		})
	}
	// What was paused goes on: both are told from each other.
	_, log, err := runLoop(t, t.Context(), ralph.Local{Runner: ralph.Replay(done), Control: func(_ context.Context, s ralph.State) (ralph.State, error) {
		return s.Pause(false), nil
	}}, ralph.Start(ralph.Task{Prompt: "Do it."}).Pause(true))
	if err != nil || !strings.HasPrefix(log.kinds(t), "loop_started continued iteration_started") {
		t.Errorf("%v: %s", err, log.kinds(t))
	}
}
