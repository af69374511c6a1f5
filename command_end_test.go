package ralph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

// TestEndedWellIsNoBudgetFault: clients that tell what they cost in their end event
// are ended for it, if that is too much, but the run had ended before: its claim is
// verified, and then the loop stops.
func TestEndedWellIsNoBudgetFault(t *testing.T) {
	t.Parallel()
	const hang = "exec sleep 1000\n" // until it is ended
	said := asJSON(t, "All done.\n"+done)
	claude := fmt.Sprintf(`{"type":"result","is_error":false,"result":%s,"total_cost_usd":2}`, said)
	codex := []string{`{"type":"thread.started","thread_id":"t"}`, `{"type":"turn.started"}`,
		fmt.Sprintf(`{"type":"item.completed","item":{"type":"agent_message","text":%s}}`, said)}
	for _, tt := range []struct {
		name   string
		agent  *ralph.Command
		limits ralph.Limits
		passes bool
		stop   ralph.StopReason
		detail string
		fault  ralph.Fault
	}{
		{"cost", sh("claude", says(claude)+hang), ralph.Limits{CostUSD: 1}, true, ralph.StopVerified, "", ""},
		{"cost, and it is not true", sh("claude", says(claude)+hang), ralph.Limits{CostUSD: 1}, false, ralph.StopCost, "spent $2.0000 of $1.0000", ""},
		{"tokens", sh("codex", says(append(codex, `{"type":"turn.completed","usage":{"input_tokens":900,"output_tokens":200}}`)...)+hang),
			ralph.Limits{Tokens: 1000}, false, ralph.StopTokens, "used 1100 of 1000 tokens", ""},
		{"amp's tokens", sh("amp", says(fmt.Sprintf(`{"type":"result","is_error":false,"result":%s,"usage":{"input_tokens":900,"output_tokens":200}}`, said))+hang),
			ralph.Limits{Tokens: 1000}, true, ralph.StopVerified, "", ""},
		{"cline's cost", sh("cline", says(fmt.Sprintf(`{"type":"agent_event","event":{"type":"content_end","contentType":"text","text":%s}}`, said),
			`{"type":"run_result","finishReason":"completed","text":"","usage":{"totalCost":2}}`)+hang), ralph.Limits{CostUSD: 1}, true, ralph.StopVerified, "", ""},
		{"cursor's tokens", sh("cursor", says(fmt.Sprintf(`{"type":"result","is_error":false,"result":%s,"usage":{"input_tokens":1100}}`, said))+hang),
			ralph.Limits{Tokens: 1000}, false, ralph.StopTokens, "used 1100 of 1000 tokens", ""},
		{"gemini's tokens", sh("gemini", says(fmt.Sprintf(`{"type":"message","role":"assistant","content":%s,"delta":true}`, said),
			`{"type":"result","status":"success","stats":{"input_tokens":900,"output_tokens":200}}`)+hang), ralph.Limits{Tokens: 1000}, true, ralph.StopVerified, "", ""},
		{"opencode's cost", sh("opencode", says(fmt.Sprintf(`{"type":"text","sessionID":"s","part":{"messageID":"m","text":%s}}`, said),
			`{"type":"step_finish","sessionID":"s","part":{"reason":"stop","cost":2}}`)+hang), ralph.Limits{CostUSD: 1}, false, ralph.StopCost, "spent $2.0000 of $1.0000", ""},
		{"told after the claim, before the end", sh("cline", says(fmt.Sprintf(`{"type":"agent_event","event":{"type":"content_start","contentType":"text","text":%s}}`, said),
			`{"type":"agent_event","event":{"type":"usage","totalCost":2}}`)+hang), ralph.Limits{CostUSD: 1}, true, ralph.StopVerified, "", ralph.FaultBudget},
		{"told in the middle", sh("claude", says(`{"type":"assistant","message":{"id":"m","content":"Not yet.","usage":{"input_tokens":2000}}}`)+hang),
			ralph.Limits{Tokens: 1000}, false, ralph.StopTokens, "used 2000 of 1000 tokens; ended in mid-run", ralph.FaultBudget},
		{"ended badly", sh("claude", says(strings.Replace(claude, "false", "true", 1))+hang), ralph.Limits{CostUSD: 1}, false, ralph.StopCost, "spent $2.0000 of $1.0000; ended in mid-run", ralph.FaultBudget},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			s, log, err := runLoop(t, t.Context(), ralph.Local{
				Runner: tt.agent,
				Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
					if asked++; tt.passes {
						return ralph.Pass(), nil
					}
					return ralph.Reject("no"), nil
				}),
			}, ralph.Start(ralph.Task{Prompt: "Do it.", Dir: t.TempDir(), Limits: tt.limits}))
			var its []ralph.Iteration
			for _, ev := range log.events(t) {
				if ev.Kind == ralph.EventIterationEnded {
					its = append(its, ev.Iteration)
				}
			}
			if s.Stop != tt.stop || s.Detail != tt.detail || len(its) != 1 || its[0].Fault != tt.fault || asked != 1 && tt.fault == "" {
				t.Errorf("%v: %s; %d iterations, asked %d times: %+v", err, describe(s), len(its), asked, its)
			}
		})
	}
}

// TestContextDoneAfterTheEnd: the client has said all when its time is over.
func TestContextDoneAfterTheEnd(t *testing.T) {
	t.Parallel()
	const end = `{"type":"result","is_error":false,"result":"All done."}`
	for text, whole := range map[string]bool{end: true, `{"type":"assistant","message":{"content":"All done."}}`: false} {
		cause := errors.New("time is over")
		ctx, cancel := context.WithCancelCause(t.Context())
		resp, err := sh("claude", says(text)+"exec sleep 1000\n").Run(ctx, ralph.Request{Dir: t.TempDir(), Raw: writes(func() { cancel(cause) })})
		if resp.Output != "All done." || (err == nil) != whole || !whole && !errors.Is(err, cause) {
			t.Errorf("%s: %+v, %v", text, resp, err)
		}
	}
	// What was not the context's doing is still told.
	if _, err := sh("claude", says(end)).Run(t.Context(), ralph.Request{Dir: t.TempDir(), Raw: writes(func() { panic("boom") })}); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Error(err)
	}
}

type writes func()

func (f writes) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

// TestLimitsEnd: what a client tells in a field goes before words, and is believed for
// eight days.
func TestLimitsEnd(t *testing.T) {
	t.Parallel()
	const failed = `{"type":"result","is_error":true,"api_error_status":429,"result":"You've hit your limit · resets in 2 hours"}`
	event := func(at time.Time) string {
		return fmt.Sprintf(`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":%d}}`, at.Unix())
	}
	retry := func(wait time.Duration) string {
		return fmt.Sprintf(`{"type":"system","subtype":"api_retry","retry_delay_ms":%d,"error_status":429}`, wait.Milliseconds())
	}
	const day = 24 * time.Hour
	for _, tt := range []struct {
		name        string
		agent       *ralph.Command
		least, most time.Duration
	}{
		{"a field", sh("claude", says(event(time.Now().Add(day)), failed)), day - time.Hour, day},
		{"one that has passed", sh("claude", says(event(time.Now().Add(-day)), failed)), time.Second, time.Second},
		{"one that is far away", sh("claude", says(event(time.Now().Add(1000*day)), failed)), 8 * day, 8 * day},
		{"words", sh("claude", says(failed)), time.Hour, 2 * time.Hour},
		{"a long retry", sh("claude", says(retry(time.Hour), failed)), time.Hour, time.Hour},
		{"the client's own pace", sh("claude", says(retry(500*time.Millisecond), failed)), time.Hour, 2 * time.Hour},
		{"a header", sh("opencode", says(`{"type":"error","error":{"name":"APIError","data":{"message":"no","statusCode":429,"responseHeaders":{"retry-after":"7200"},"responseBody":"{}"}}}`)), time.Hour, 2 * time.Hour},
		{"a header of a date that has passed", sh("opencode", says(`{"type":"error","error":{"data":{"message":"no","statusCode":429,"responseHeaders":{"retry-after":"Sun, 22 Nov 2020 23:15:00 GMT"}}}}`)), 0, 0},
		{"standard error", sh("codex", "echo '429 Too Many Requests, retry after 2 hours' >&2; exit 1"), time.Hour, 2 * time.Hour},
		{"nothing", sh("codex", "echo '429 Too Many Requests' >&2; exit 1"), 0, 0},
		{"an exit status", sh("gemini", says(`{"type":"result","status":"error","error":{"message":"[API Error: no]"}}`)+"exit 173"), 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			it := faultOf(t, tt.agent)
			if it.Fault != ralph.FaultRateLimit || it.RetryAfter < tt.least || it.RetryAfter > tt.most {
				t.Errorf("%s, %v, want %v to %v: %s", it.Fault, it.RetryAfter, tt.least, tt.most, it.Error)
			}
		})
	}
}

// TestCommandPromptIsTold: before anything is known, that a client may not take a
// prompt for one is a warning.
func TestCommandPromptIsTold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		preset, prompt string
		warns          bool
	}{
		{"claude", "/review all of it", true}, {"claude", "/usr/bin is a folder", false}, {"claude", "Do /review", false},
		{"gemini", "/init", true}, {"codex", "/review", false},
	} {
		c := named(t, tt.preset, "cat >/dev/null; echo done\n")
		resp, _ := c.Run(t.Context(), ralph.Request{Dir: t.TempDir(), Prompt: tt.prompt})
		if warns := strings.Contains(strings.Join(resp.Warnings, " "), "the prompt begins with /"); warns != tt.warns {
			t.Errorf("%s, %q: %q", tt.preset, tt.prompt, resp.Warnings)
		}
	}
}
