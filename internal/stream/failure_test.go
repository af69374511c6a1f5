package stream

import (
	"testing"
)

func TestKindOf(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]Kind{
		// Limits, as each client says them.
		"API Error: 429 slow down":                               Limit,
		"Usage limit reached":                                    Limit,
		"You've hit your session limit · resets 7pm":             Limit,
		"You've hit your 5-hour limit · resets 4:06pm (UTC)":     Limit,
		"You're out of extra usage · resets 9pm (Europe/Berlin)": Limit,
		"5-hour limit reached ∙ resets 3pm":                      Limit,
		"You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit https://chatgpt.com/settings/usage to purchase more credits or try again at 4:06 PM.": Limit,
		"exceeded retry limit, last status: 429 Too Many Requests":                             Limit,
		"You have exhausted your capacity on this model. Your quota will reset after 3h20m5s.": Limit,
		"[API Error: You have exhausted your daily quota on this model.]":                      Limit,
		"[API Error: Resource has been exhausted (e.g. check quota).]":                         Limit,
		"You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.\n* Quota exceeded for metric: x, limit: 10\nPlease retry in 34.07s.": Limit,
		"Sorry, you have been rate-limited. Please wait 2 minutes before trying again":                                               Limit,
		"You've reached your weekly rate limit. Please wait for your limit to reset on April 20, 2026 at 2:00 AM":                    Limit,
		"Rate limit reached for gpt-5 on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 6m0.5s.": Limit,
		// Nothing to pay with comes with the same status.
		"You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.": Credit,
		"Quota exceeded. Check your plan and billing details.": Credit,
		"Credit balance is too low":                            Credit,
		"unexpected status 402 Payment Required: This request requires more credits, or fewer max_tokens.": Credit,
		// Logins.
		"Invalid API key · Please run /login": Denied,
		"unexpected status 401 Unauthorized":  Denied,
		"Not logged in · Please run /login":   Denied,
		"Failed to authenticate. API Error: 403 Your API key does not have permission to use the specified resource.": Denied,
		"Missing environment variable: `FAKE_KEY`.":                                        Denied,
		"When using Gemini API, you must specify the GEMINI_API_KEY environment variable.": Denied,
		"Error: No authentication information found.":                                      Denied,
		// Prompts, models, how it is called.
		"Prompt is too long · the request is ~214001 tokens (limit 200000) but this conversation is only ~2774 tokens":                                          TooLong,
		"Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.":                                     TooLong,
		"The input token count (1200123) exceeds the maximum number of tokens allowed (1048576).":                                                               TooLong,
		"400 This model's maximum context length is 128000 tokens. However, your messages resulted in 140339 tokens.":                                           TooLong,
		"Error: piped stdin input exceeds 10MB. Pass large content as a file path in your prompt instead.":                                                      TooLong,
		"There's an issue with the selected model (claude-opus-5-5). It may not exist or you may not have access to it. Run --model to pick a different model.": NoModel,
		"The model `fake-model` does not exist or you do not have access to it.":                                                                                NoModel,
		"models/gemini-none is not found for API version v1beta, or is not supported for generateContent.":                                                      NoModel,
		"--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons":                                                          Setup,
		"Not inside a trusted directory and --skip-git-repo-check was not specified.":                                                                           Setup,
		"error: unknown option '--no-such-flag'":                                                                                                                Setup,
		"error: unexpected argument '--no-such-flag' found":                                                                                                     Setup,
		"Unknown arguments: such-flag, suchFlag":                                                                                                                Setup,
		// What may pass, and what only looks like something else.
		"500 Internal Server Error":                                                   Unknown,
		"[API Error: The model is overloaded. Please try again later.]":               Unknown,
		"We’re currently experiencing high demand, which may cause temporary errors.": Unknown,
		"stream disconnected before completion: error sending request":                Unknown,
		// A number is a status where it is said to be one.
		"API Error: 403 {\"type\":\"error\"}":                                    Denied,
		"request failed with status code 401":                                    Denied,
		"Error: HTTP 402":                                                        Credit,
		"The provider does not accept it (403)":                                  Denied,
		"main.go:403:12: undefined: x":                                           Unknown,
		"connect ECONNREFUSED 127.0.0.1:401":                                     Unknown,
		"no answer after 402 ms":                                                 Unknown,
		"stream disconnected at byte 401: connection reset":                      Unknown,
		"ThrottlingException: Too many tokens, please wait before trying again.": Limit,
		"read /tmp/429/x: 14290":                                                 Unknown,
		"open ratelimiter.go: no such file":                                      Limit, // what words alone cannot tell, in an error message
	} {
		if got := KindOf(message); got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
}

func TestExitKind(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]Kind{173: Limit, 145: Denied, 147: Denied, 41: Denied, 52: Setup, 55: Setup, 144: Unknown, 244: Unknown, 1: Unknown, 53: Unknown, 130: Unknown} {
		if got := ExitKind("gemini", code); got != want {
			t.Errorf("%d: %q, want %q", code, got, want)
		}
	}
	if got := ExitKind("claude", 173); got != Unknown {
		t.Errorf("another client's: %q", got)
	}
}

func TestReason(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, stderr, want string }{
		{"nothing", "\n  \n", ""},
		{"notices alone", "YOLO mode is enabled. All tool calls will be automatically approved.\nWarning: 256-color support not detected.\n", ""},
		{"help behind", "error: unexpected argument '--no-such-flag' found\n\n  tip: to pass it as a value, use '--'\n\nUsage: codex exec [OPTIONS] [PROMPT]\n       codex exec\n\nFor more information, try '--help'.\n",
			"error: unexpected argument '--no-such-flag' found"},
		{"a colon", "Error loading config.toml:\n/home/user/.codex/config.toml:1:10: unclosed array, expected `]`\n  |\n1 | model = [\n  |          ^\n",
			"Error loading config.toml: /home/user/.codex/config.toml:1:10: unclosed array, expected `]`"},
		{"a stack", "TypeError: x is not a function\n    at f (file:///a.js:1:2)\n    at async main (file:///b.js:3:4) {\n  code: 1\n}\n\nNode.js v20.20.2\n", "TypeError: x is not a function"},
		{"why, and then what to do", "When using Gemini API, you must specify the GEMINI_API_KEY environment variable.\nUpdate your environment and try again (no reload needed if using .env)!\n",
			"When using Gemini API, you must specify the GEMINI_API_KEY environment variable."},
		{"said in JSON", `{"ts":"2026-11-22T13:28:54.556Z","type":"error","message":"Too Many Requests (scripted)"}` + "\n", "Too Many Requests (scripted)"},
		{"help alone", "opencode run [message..]\n\nrun opencode with a message\n\nPositionals:\n  message  message to send\n\nOptions:\n  -h, --help\n", "it printed its usage, as if it did not know an argument"},
		{"nothing speaks of an error", "one\ntwo\nthree\nfour\n", "four"},
		{"a limit that was overcome long ago", "429 Too Many Requests, retrying\none\ntwo\npanic: boom\n", "panic: boom"},
	} {
		if got := Reason(tt.stderr); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestUnwrap(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		`[API Error: {"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]`: "API Error: API key not valid.",
		`429 {"error":{"message":"{\"error\":{\"message\":\"inner\"}}"}}`:                                                                         "429 inner",
		`a {b} c`:            `a {b} c`,
		`{"error":"string"}`: `{"error":"string"}`,
		`{"message":"cut`:    `{"message":"cut`,
		``:                   ``,
	} {
		if got := Unwrap(message); got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
}

// TestKindOfAStream: what fields, words and what came before say together.
func TestKindOfAStream(t *testing.T) {
	t.Parallel()
	const codexWorked = `{"type":"item.started","item":{"type":"command_execution","command":"make"}}` + "\n"
	codex := func(words string) string { return `{"type":"turn.failed","error":{"message":"` + words + `"}}` + "\n" }
	claude := func(status, words string) string {
		return `{"type":"result","subtype":"success","is_error":true,"api_error_status":` + status + `,"result":"` + words + `"}` + "\n"
	}
	const claudeWorked = `{"type":"assistant","message":{"id":"m","model":"x","content":[{"type":"tool_use","name":"Bash","input":{}}]}}` + "\n"
	const claudeSaid = `{"type":"assistant","message":{"id":"m","model":"x","content":[{"type":"text","text":"I begin."}]}}` + "\n"
	const full = "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying."
	for _, tt := range []struct {
		name, format, stream string
		want                 Kind
	}{
		{"a prompt that is too long", "codex", codex(full), TooLong},
		{"a conversation that became too long", "codex", codexWorked + codex(full), Unknown},
		{"the same, of another client", "claude", claudeWorked + claude("400", "Prompt is too long"), Unknown},
		{"by its status", "claude", claudeWorked + claude("413", "no"), Unknown},
		{"after words", "claude", claudeSaid + claude("400", "Prompt is too long"), Unknown},
		{"at once", "claude", claude("400", "Prompt is too long"), TooLong},
		{"what was said in another session is not the run's", "claude", `{"type":"system","subtype":"init","session_id":"a"}` + "\n" + claudeSaid + `{"type":"system","subtype":"init","session_id":"b"}` + "\n" + claude("400", "Prompt is too long"), TooLong},
		{"a model that is not there for one of its calls", "claude", claudeWorked + claude("404", "model not found: x"), Unknown},
		{"a login that ended", "claude", claudeWorked + claude("401", "no"), Denied},
		{"an account that is empty now", "claude", claudeWorked + claude("400", "Credit balance is too low"), Credit},
		{"a limit that comes as 403", "claude", claude("403", "Quota exceeded for requests per minute"), Limit},
		{"403", "claude", claude("403", "Request not allowed"), Denied},
		{"a limit of an empty account", "claude", claude("429", "insufficient_quota"), Credit},
	} {
		d, err := New(tt.format, Options{})
		if err != nil {
			t.Fatal(err)
		}
		d.Write([]byte(tt.stream))
		if res := d.Result(); res.Kind != tt.want {
			t.Errorf("%s: %q, want %q: %+v", tt.name, res.Kind, tt.want, res)
		}
	}
}
