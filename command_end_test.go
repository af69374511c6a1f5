package ralph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

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
			ralph.Limits{Tokens: 1000}, false, ralph.StopTokens, "ended in mid-run", ralph.FaultBudget},
		{"ended badly", sh("claude", says(strings.Replace(claude, "false", "true", 1))+hang), ralph.Limits{CostUSD: 1}, false, ralph.StopCost, "ended in mid-run", ralph.FaultBudget},
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
