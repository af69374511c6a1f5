//go:build linux

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/modelserver"
)

// vendorError is an error as a client's vendor writes it.
func vendorError(agent, message, kind string, status int) modelserver.Turn {
	inner := map[string]any{"message": message, "type": kind, "code": kind}
	if agent == "gemini" {
		inner = map[string]any{"message": message, "status": kind, "code": status, "details": []any{}}
	}
	body, _ := json.Marshal(map[string]any{"type": "error", "error": inner})
	return modelserver.Turn{Status: status, Body: string(body), Repeat: true}
}

// failing runs a client once, against a model that fails for ever.
func (e *e2eRun) failing(c *ralph.Command) ralph.Iteration {
	e.Helper()
	l := helloLoop(c, e.newLog())
	it, err := l.Iterate(e.context(), ralph.Start(ralph.Task{ID: "hello", Dir: e.dir, Prompt: e2ePrompt}))
	if err != nil {
		e.Fatal(err)
	}
	return it
}

// What a vendor's error becomes, with the real clients, whichever way they say it.
func TestE2EVendorErrors(t *testing.T) {
	type told struct {
		message, kind string
		status        int
	}
	for _, tt := range []struct {
		name  string
		says  func(agent string) told
		fault ralph.Fault
		words string
	}{
		{"429", func(string) told { return told{"Slow down.", "rate_limit_error", http.StatusTooManyRequests} }, ralph.FaultRateLimit, "rate limit: "},
		{"no credit", func(agent string) told {
			switch agent {
			case "claude":
				return told{"Your credit balance is too low to access the Anthropic API.", "invalid_request_error", http.StatusBadRequest}
			case "gemini": // Google says it like this
				return told{"Your prepayment credits are depleted: payment required.", "FAILED_PRECONDITION", http.StatusBadRequest}
			}
			if agent == "codex" {
				return told{"You exceeded your current quota, please check your plan and billing details.", "insufficient_quota", http.StatusTooManyRequests}
			}
			return told{"This request requires more credits.", "402", http.StatusPaymentRequired} // after a 429 they ask for minutes
		}, ralph.FaultPermanent, "nothing left to pay with: "},
		{"too long", func(agent string) told {
			switch agent {
			case "claude":
				return told{"prompt is too long: 214001 tokens > 200000 maximum", "invalid_request_error", http.StatusBadRequest}
			case "gemini":
				return told{"The input token count (1200123) exceeds the maximum number of tokens allowed (1048576).", "INVALID_ARGUMENT", http.StatusBadRequest}
			}
			return told{"This model's maximum context length is 128000 tokens. However, your messages resulted in 140339 tokens.", "context_length_exceeded", http.StatusBadRequest}
		}, ralph.FaultPermanent, "the prompt is too long: "},
		{"no such model", func(agent string) told {
			if agent == "gemini" {
				return told{"models/none is not found for API version v1beta, or is not supported for generateContent.", "NOT_FOUND", http.StatusNotFound}
			}
			return told{"The model `none` does not exist or you do not have access to it.", map[bool]string{true: "not_found_error", false: "model_not_found"}[agent == "claude"], http.StatusNotFound}
		}, ralph.FaultPermanent, "the model cannot be used: "},
		{"403", func(string) told { return told{"Not for you.", "permission_error", http.StatusForbidden} }, ralph.FaultPermanent, "login"},
		{"500", func(string) told { return told{"It broke.", "api_error", http.StatusInternalServerError} }, ralph.FaultError, "the agent reports a failure: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			script := func(agent, _ string) []modelserver.Turn {
				says := tt.says(agent)
				return []modelserver.Turn{vendorError(agent, says.message, says.kind, says.status)}
			}
			eachClient(t, script, func(e *e2eRun) {
				switch {
				case tt.name == "too long" && e.agent == "opencode":
					e.Skip("it shortens its conversation for ever")
				case tt.name == "429" && e.agent == "copilot":
					e.Skip("it asks for minutes, unless it is told to wait: see the reset times")
				}
				it := e.failing(e.impatient())
				if it.Fault != tt.fault || !strings.Contains(it.Error, tt.words) {
					e.Errorf("%s: %s; want %s: …%s…", it.Fault, it.Error, tt.fault, tt.words)
				}
			})
		})
	}
}

// A limit with its end: three hours, as each vendor tells it.
func TestE2EResetTimes(t *testing.T) {
	const wait = 3 * time.Hour
	script := func(agent, _ string) []modelserver.Turn {
		at := time.Now().Add(wait).Unix()
		turn := vendorError(agent, "Rate limit reached. Please try again in 3h0m0s.", "rate_limit_exceeded", http.StatusTooManyRequests)
		switch agent {
		case "claude":
			turn = vendorError(agent, "This request would exceed your account's rate limit.", "rate_limit_error", http.StatusTooManyRequests)
			turn.Header = map[string]string{"anthropic-ratelimit-unified-status": "rejected", "anthropic-ratelimit-unified-reset": fmt.Sprint(at),
				"anthropic-ratelimit-unified-representative-claim": "five_hour", "Retry-After": fmt.Sprint(int(wait.Seconds()))}
		case "codex":
			turn.Body = fmt.Sprintf(`{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus","resets_at":%d,"resets_in_seconds":%d}}`, at, int(wait.Seconds()))
		case "copilot":
			turn.Header = map[string]string{"Retry-After": fmt.Sprint(int(wait.Seconds()))}
		}
		return []modelserver.Turn{turn}
	}
	eachClient(t, script, func(e *e2eRun) {
		c := e.impatient()
		if e.agent == "claude" { // who pays by the month has limits with an end
			c.Env = append(c.Env, "ANTHROPIC_API_KEY=", "CLAUDE_CODE_OAUTH_TOKEN=dummy")
		}
		it := e.failing(c)
		if it.Fault != ralph.FaultRateLimit || it.RetryAfter < wait-e2eLimit-time.Minute || it.RetryAfter > wait+time.Minute {
			e.Errorf("%s, wait %v: %s", it.Fault, it.RetryAfter, it.Error)
		}
	})
}

// A client that cannot work is not run again, and the user reads why, in its words.
func TestE2ESetUp(t *testing.T) {
	tool := builtTool(t)
	never := func(string) []modelserver.Turn { return nil }
	eachAgent(t, never, func(e *e2eRun) {
		bin := tool(e)
		var want string
		flag := func(env ...string) { e.env = append(e.env, env...) }
		switch e.agent {
		case "claude":
			flag("ANTHROPIC_API_KEY=")
			want = "the agent is not logged in: claude auth status"
		case "codex":
			e.settings(".codex/config.toml", "check_for_update_on_startup = false\n")
			want = "the agent is not logged in: codex login status"
		case "gemini":
			flag("GEMINI_API_KEY=")
			want = "must specify the GEMINI_API_KEY environment variable"
		case "copilot":
			flag("COPILOT_MODEL=")
			want = "require an explicit model"
		case "cline":
			e.settings(".cline/data/settings/providers.json", `{"version":1,"lastUsedProvider":"anthropic","modes":{},"providers":{"anthropic":{"settings":{"provider":"anthropic","model":"claude-sonnet-4-5"},"updatedAt":"2026-01-01T00:00:00.000Z","tokenSource":"manual"}}}`)
			want = "API key is missing"
		case "opencode":
			e.settings(".config/opencode/opencode.json", `{"nope":1,`)
			want = "is not valid JSON"
		}
		var stdout, stderr bytes.Buffer
		cmd := e.cli(bin, "2")
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != 4 || !strings.Contains(stderr.String(), want) || strings.Contains(stderr.String(), "attempt 2") {
			e.Errorf("%v, want exit status 4 and %q:\n%s", err, want, &stderr)
		}
		if n := len(e.server.Requests()); n != 0 {
			e.Errorf("%d requests", n)
		}
	})
}

// The login that the loopback gives each client is one.
func TestE2EReady(t *testing.T) {
	eachAgent(t, forEver(modelserver.Turn{Text: claim}), func(e *e2eRun) {
		c := e.command()
		if err := c.Ready(e.context()); err != nil {
			e.Errorf("false alarm: %v", err)
		}
		if e.agent == "claude" {
			c.Env = append(c.Env, "ANTHROPIC_API_KEY=")
			if err := c.Ready(e.context()); !errors.Is(err, ralph.ErrLogin) {
				e.Errorf("without a key: %v", err)
			}
			c.Env = append(c.Env, "CLAUDE_CODE_USE_BEDROCK=1")
			if err := c.Ready(e.context()); err != nil {
				e.Errorf("false alarm of a cloud's: %v", err)
			}
		}
		if n := len(e.server.Requests()) + len(e.server.Side()); n != 0 {
			e.Errorf("%d requests", n)
		}
	})
}

// A prompt that a client takes for a command of its own stops the loop, and says so.
func TestE2ESlashCommand(t *testing.T) {
	eachAgent(t, forEver(modelserver.Turn{Text: claim}), func(e *e2eRun) {
		l := helloLoop(e.command(), e.newLog())
		l.Prompt = func(context.Context, ralph.State) (string, error) { return "/clear", nil }
		it, err := l.Iterate(e.context(), ralph.Start(ralph.Task{ID: "hello", Dir: e.dir, Prompt: "/clear"}))
		if err != nil {
			e.Fatal(err)
		}
		asked := len(e.server.Requests())
		if taken := it.Fault == ralph.FaultPermanent && strings.Contains(it.Error, "begins with /clear"); taken != (asked == 0) || e.agent == "claude" && !taken {
			e.Errorf("%d requests, %s: %s", asked, it.Fault, it.Error)
		}
	})
}

// settings writes a file of a client's in its home.
func (e *e2eRun) settings(name, text string) {
	e.Helper()
	if err := os.WriteFile(filepath.Join(e.home, name), []byte(text), 0o600); err != nil {
		e.Fatal(err)
	}
}
