package ralph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
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
	// None can be asked for: blank ones are refused, and "" is the default.
	for _, blank := range []string{" ", "\t", "\u00a0"} {
		if s := ralph.Start(ralph.Task{Promise: blank}); s.Stop != ralph.StopInvalid {
			t.Errorf("%q: %s", blank, describe(s))
		}
	}
	if got := ralph.Start(ralph.Task{}).Request().Promise; got != ralph.DefaultPromise {
		t.Errorf("%q is looked for", got)
	}
	// What an older run promised, with a nonce of its own, is no claim in this one,
	// and what it recorded bears another name.
	old, now := ralph.NoncePromise("COMPLETE"), ralph.NoncePromise("COMPLETE")
	var claimed []bool
	var names []string
	for _, promise := range []string{old, now} {
		_, log, err := runLoop(t, t.Context(), ralph.Local{Runner: ralph.Replay("<promise>"+old+"</promise>", done, "<promise>"+now+"</promise>")},
			ralph.Start(ralph.Task{Prompt: "Do it.", Promise: promise}))
		if err != nil {
			t.Error(err)
		}
		for _, ev := range log.events(t) {
			if ev.Kind == ralph.EventIterationEnded {
				claimed = append(claimed, ev.Iteration.Claimed)
			}
			if names = append(names, ev.Loop); ev.Loop == "" {
				t.Errorf("%s tells no loop", ev.Kind)
			}
		}
	}
	if diff := cmp.Diff([]bool{true, false, false, true}, claimed); diff != "" {
		t.Error(diff)
	}
	if names[0] == names[len(names)-1] {
		t.Errorf("both loops are %q", names[0])
	}
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
	endless := ralph.Limits{Iterations: -1}
	if s := ralph.Start(ralph.Task{Limits: endless}); s.Stop != ralph.StopInvalid {
		t.Error(describe(s))
	}
	if s := ralph.Start(ralph.Task{}).Limit(endless); s.Task.Limits != (ralph.Limits{}) {
		t.Errorf("limits became %+v", s.Task.Limits)
	}
	n := 0
	never := ralph.Local{Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
		n++
		<-time.After(time.Minute)
		return ralph.Response{Output: "So far.", Usage: ralph.Usage{InputTokens: 7, CostUSD: new(0.5)}}, nil
	}), Verifier: verify.String{}}
	edited := ralph.Start(ralph.Task{Prompt: "Do it."})
	edited.Task.Limits = endless
	if _, err := never.Run(t.Context(), edited); err == nil || n > 0 {
		t.Errorf("a state that was edited ran %d times: %v", n, err)
	}
	for want, tt := range map[ralph.StopReason]struct {
		limits ralph.Limits
		n      int
	}{
		ralph.StopIterations: {ralph.Limits{}, 10}, // if nothing is said
		ralph.StopDuration:   {ralph.Limits{Iterations: -1, Duration: 30 * time.Minute}, 30},
		ralph.StopTokens:     {ralph.Limits{Iterations: -1, Tokens: 140}, 20},
		ralph.StopCost:       {ralph.Limits{Iterations: -1, CostUSD: 15}, 30},
	} {
		synctest.Test(t, func(t *testing.T) {
			n = 0
			_, _, err := runLoop(t, t.Context(), never, ralph.Start(ralph.Task{Prompt: "Do it.", Limits: tt.limits}))
			if stopReason(t, err) != want || n != tt.n {
				t.Errorf("%v after %d, want %s after %d", err, n, want, tt.n)
			}
		})
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

// Every attempt moves the counter by one, and what is read back from the record
// is what was counted, so that the loop comes to its end.
func TestFailure19TheCounterMovesOn(t *testing.T) {
	t.Parallel()
	const retried, waits, whole = "1.2 1.3 2.1 2.2 2.3 STOP", "1.2 1.3 1.4 1.5 1.6 1.7 1.8", "2.1 STOP"
	for f, want := range map[ralph.Fault]string{
		"": whole, ralph.FaultTimeout: whole,
		ralph.FaultError: retried, ralph.FaultIncomplete: retried, ralph.FaultEmpty: retried, "of the future": retried,
		ralph.FaultRateLimit: waits + " STOP", ralph.FaultInterrupted: waits + " 1.9",
		ralph.FaultPermanent: "STOP", ralph.FaultBudget: "STOP",
	} {
		start := ralph.Start(ralph.Task{Limits: ralph.Limits{Iterations: 2, Retries: 2, Wait: 7 * time.Hour}})
		s := start
		var log []string
		var got []string
		for range 8 {
			ev := ralph.Event{Kind: ralph.EventIterationEnded, Iteration: ralph.Iteration{Number: s.Iteration, Attempt: s.Attempt, Fault: f, RetryAfter: time.Hour}}
			log = append(log, asJSON(t, ev))
			if s = s.Apply(ev); s.Done() {
				got = append(got, "STOP")
				break
			}
			got = append(got, fmt.Sprintf("%d.%d", s.Iteration, s.Attempt))
			back := start
			for _, line := range log {
				var ev ralph.Event
				if err := json.Unmarshal([]byte(line), &ev); err != nil {
					t.Fatal(err)
				}
				back = back.Apply(ev)
			}
			if asJSON(t, back) != asJSON(t, s) {
				t.Errorf("fault %q: counted %s, read back %s", f, describe(s), describe(back))
			}
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("fault %q:\n%s", f, diff)
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

// A new run is not stopped by what the last one left behind: its log, to which
// the new one goes on to write, its files in the workspace, its end.
func TestFailure11ANewRunStartsAnew(t *testing.T) {
	t.Parallel()
	dir := gitRepo(t)
	task := ralph.Task{ID: "T", Prompt: "Do it.", Dir: dir}
	name := filepath.Join(dir, ".ralph", "log.jsonl")
	if err := os.Mkdir(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	var first ralph.State
	for run := range 2 {
		var prompts []string
		file, err := progress.OpenJSONL(name)
		if err != nil {
			t.Fatal(err)
		}
		l := &ralph.Local{Verifier: verify.String{}, Log: progress.Multi(&progress.JSONL{W: file}, &progress.Markdown{Path: filepath.Join(dir, "progress.txt")}),
			Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
				prompts = append(prompts, req.Prompt)
				if err := os.WriteFile(filepath.Join(dir, "answer.txt"), []byte(done), 0o600); err != nil {
					t.Error(err)
				}
				return ralph.Response{Output: []string{"```\n" + done + "\n```", done}[req.Iteration-1], Files: []string{fmt.Sprintf("run%d", run)}}, nil
			})}
		s, err := l.Run(t.Context(), ralph.Start(task).Guide(fmt.Sprintf("advice %d", run)))
		if err != nil || len(prompts) != 2 || s.Iteration != 2 || strings.Contains(prompts[0], "About the last iteration") ||
			strings.Contains(strings.Join(prompts, ""), fmt.Sprintf("advice %d", 1-run)) || slices.Contains(s.Files, fmt.Sprintf("run%d", 1-run)) {
			t.Errorf("run %d: %v, %s, files %q, prompts:\n%s", run, err, describe(s), s.Files, strings.Join(prompts, "\n====\n"))
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
		log, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		if resumed, err := progress.Resume(log, "T"); err != nil || asJSON(t, resumed) != asJSON(t, s) {
			t.Errorf("run %d: the log tells %s, %v, want %s", run, describe(resumed), err, describe(s))
		}
		if run == 0 {
			first = s
			continue
		}
		// What the first run decided is no decision for the second.
		again := ralph.Start(task)
		if got := again.Next(ralph.Iteration{Number: first.Iteration, Attempt: first.Attempt, Claimed: true, Verdict: ralph.Pass()}); got.Stop == ralph.StopVerified {
			t.Errorf("verified by an iteration of another run: %s", describe(got))
		}
	}
}
