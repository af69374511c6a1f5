package ralph_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// The tests in this file, and others named TestFailureNN, are failures that
// users of such loops reported, by number.

func notClaimed(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if p := ralph.FindPromise(text, "COMPLETE", ralph.MatchLastLine); p.Found {
			t.Errorf("a claim: %q", text)
		}
	}
}

func TestFailure01TagInProse(t *testing.T) {
	t.Parallel()
	notClaimed(t, "I will not output <promise>COMPLETE</promise>", "I will not output\n<promise>COMPLETE</promise>\nyet.")
}

func TestFailure02NoTag(t *testing.T) {
	t.Parallel()
	notClaimed(t, "I'm not outputting a completion promise. COMPLETE", "promise COMPLETE")
}

func TestFailure05TextEqualsThePromise(t *testing.T) {
	t.Parallel()
	notClaimed(t, "COMPLETE", "COMPLETE\n", "promise: COMPLETE")
}

func TestFailure06PromiseOfManyWords(t *testing.T) {
	t.Parallel()
	_, _, err := runLoop(t, t.Context(), ralph.Local{Runner: ralph.Replay("<promise>ALL</promise>", "<promise>ALL TESTS PASS</promise>")},
		ralph.Start(ralph.Task{Prompt: "Do it.", Promise: "ALL TESTS PASS"}))
	if err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"a\nb", "</promise>", " ", "<PROMISE>x", "\x1b[1mX"} {
		if s := ralph.Start(ralph.Task{Prompt: "Do it.", Promise: bad}); s.Stop != ralph.StopInvalid {
			t.Errorf("%q: %s", bad, describe(s))
		}
	}
}

func TestFailure07EmptyPromise(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "<promise></promise>", "<promise> </promise>"} {
		for _, m := range []ralph.Match{ralph.MatchLastLine, ralph.MatchOwnLine, ralph.MatchAnywhere, ralph.MatchFold} {
			if ralph.FindPromise(text, "", m).Found {
				t.Errorf("%q in mode %q", text, m)
			}
		}
	}
	// A promise of an older run, with a nonce of its own.
	notClaimed(t, "<promise>"+ralph.NoncePromise("COMPLETE")+"</promise>")
}

func TestFailure10OnlyTheExplicitSignal(t *testing.T) {
	t.Parallel()
	notClaimed(t, "EXIT_SIGNAL: false\nEverything is done, finished and complete.", "Project complete, all tasks done.")
}

func TestFailure12ExitStatusIsNoClaim(t *testing.T) {
	t.Parallel()
	if it := faultOf(t, sh("text", "echo fine; exit 0")); it.Claimed || it.Verdict.Passed {
		t.Errorf("%+v", it)
	}
}

func TestFailure13LimitMessageIsNoClaim(t *testing.T) {
	t.Parallel()
	it := faultOf(t, sh("claude", says(claudeDone, `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected"}}`, `{"type":"result","is_error":true,"result":"limit"}`)))
	if it.Fault != ralph.FaultRateLimit || it.Claimed {
		t.Errorf("%+v", it)
	}
}

func TestFailure17UnlimitedNeedsABound(t *testing.T) {
	t.Parallel()
	if s := ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Iterations: -1}}); s.Stop != ralph.StopInvalid {
		t.Error(describe(s))
	}
	n := 0
	_, _, err := runLoop(t, t.Context(), ralph.Local{Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
		n++
		return ralph.Response{Output: "So far."}, nil
	})}, ralph.Start(ralph.Task{Prompt: "Do it."}))
	if stopReason(t, err) != ralph.StopIterations || n != 10 {
		t.Errorf("%v after %d", err, n)
	}
}

func TestFailure18EffectiveLimitsAreInTheFirstEvent(t *testing.T) {
	t.Parallel()
	_, log, _ := runLoop(t, t.Context(), ralph.Local{Runner: ralph.Replay("a", "b", "c"), Meta: map[string]string{"agent": "replay"}},
		ralph.Start(ralph.Task{Prompt: "Do it.", Promise: "X Y", Limits: ralph.Limits{Iterations: 3}}))
	first := log.events(t)[0]
	if first.State == nil || first.State.Task.Limits.Iterations != 3 || first.State.Task.Promise != "X Y" || first.Meta["agent"] != "replay" {
		t.Errorf("%+v", first)
	}
}

func TestFailure19TheCounterMovesOn(t *testing.T) {
	t.Parallel()
	for _, f := range []ralph.Fault{"", ralph.FaultError, ralph.FaultIncomplete, ralph.FaultEmpty, ralph.FaultPermanent, ralph.FaultRateLimit,
		ralph.FaultTimeout, ralph.FaultBudget, ralph.FaultInterrupted, "of the future"} {
		s := ralph.Start(ralph.Task{Prompt: "Do it."})
		for n := 0; !s.Done() && n < 5; n++ {
			next := s.Next(ralph.Iteration{Number: s.Iteration, Attempt: s.Attempt, Fault: f})
			if !next.Done() && next.Iteration == s.Iteration && next.Attempt == s.Attempt {
				t.Fatalf("fault %q: the counter stands still: %s", f, describe(next))
			}
			s = next
		}
	}
}

func TestFailure20LastIterationCounts(t *testing.T) {
	t.Parallel()
	s, _, err := runLoop(t, t.Context(), ralph.Local{Runner: ralph.Replay(done)}, ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1}}))
	if err != nil || s.Stop != ralph.StopVerified {
		t.Errorf("%v: %s", err, describe(s))
	}
}

func TestFailure21ASeenPromiseSaysWhyItWasNone(t *testing.T) {
	t.Parallel()
	s, log, _ := runLoop(t, t.Context(), ralph.Local{Runner: ralph.Replay("```\n" + done + "\n```")}, ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1}}))
	if s.NearMiss != ralph.WhyFenced {
		t.Error(describe(s))
	}
	for _, ev := range log.events(t) {
		if ev.Kind == ralph.EventIterationEnded && ev.Iteration.NearMiss != ralph.WhyFenced {
			t.Errorf("%+v", ev.Iteration)
		}
	}
}

// A verifier that cannot be built is an error, never no verifier.
func TestFailure16NoVerifierIsAnError(t *testing.T) {
	t.Parallel()
	_, err := (&ralph.Local{Runner: ralph.Replay(done)}).Run(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it."}))
	if _, stopped := errors.AsType[*ralph.StopError](err); err == nil || stopped || !strings.Contains(err.Error(), "Verifier") {
		t.Error(err)
	}
	s, err := (&ralph.Local{Runner: ralph.Replay(done), Verifier: verify.External{}}).Run(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1}}))
	if err == nil || s.Stop == ralph.StopVerified {
		t.Errorf("%v: %s", err, describe(s))
	}
}

// A new run is not stopped by what the last one left behind.
func TestFailure11ANewRunStartsAnew(t *testing.T) {
	t.Parallel()
	task := ralph.Task{ID: "T", Prompt: "Do it.", Dir: t.TempDir()}
	for range 2 {
		n := 0
		s, _, err := runLoop(t, t.Context(), ralph.Local{Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			n++
			return ralph.Response{Output: []string{"So far.", done}[req.Iteration-1]}, nil
		})}, ralph.Start(task))
		if err != nil || n != 2 {
			t.Errorf("%v after %d: %s", err, n, describe(s))
		}
	}
}
