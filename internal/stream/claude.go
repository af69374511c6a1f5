package stream

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/jsonlines"
)

// claudeDialect is that of Claude Code, and of Amp, which follows it.
// Each block of a message is a line of its own, with the message's id. Amp
// repeats the prompt as a user line; of user lines, only the results of tools are of use,
// and those only for a display.
func claudeDialect() dialect {
	content := jsonlines.Keys("type", "text", "name").With("input", toolInput()).With("id", jsonlines.Beginning()).
		With("tool_use_id", jsonlines.Beginning()).With("is_error", jsonlines.Beginning()).With("content", jsonlines.Beginning().With("text", jsonlines.Beginning()))
	message := jsonlines.Keys("id", "model").With("content", content).With("usage", claudeTokens())
	want := jsonlines.Keys("type", "subtype", "session_id", "model", "parent_tool_use_id", "error", "is_api_error_message",
		"api_error_status", "error_status", "retry_delay_ms", "attempt", "max_retries", "is_error", "result", "total_cost_usd", "terminal_reason", "num_turns", "isSidechain", "isReplay").
		With("message", message).With("usage", claudeTokens()).With("errors", jsonlines.Filter{}).
		With("modelUsage", jsonlines.Filter{"*": jsonlines.Keys("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")}).
		With("rate_limit_info", jsonlines.Keys("status", "resetsAt")).
		With("event", jsonlines.Keys("type").With("delta", jsonlines.Keys("type", "text")).With("message", jsonlines.Keys("id")))
	return dialect{want: want, line: claudeLine, rows: claudeTools(), results: "user", probe: claudeProbe, ledger: claudeLedger()}
}

func ampDialect() dialect {
	dia := claudeDialect()
	dia.rows = ampTools()
	return dia
}

// claudeProbe reports whether a tool may have failed, by a user line. Most such lines are
// long and hold nothing else of use, and underscores are rare.
func claudeProbe(rest []byte) bool {
	for {
		n := bytes.IndexByte(rest, '_')
		if n < 0 {
			return false
		}
		before, after := rest[:n], rest[n+1:]
		if after, ok := bytes.CutPrefix(after, []byte(`error"`)); ok && bytes.HasSuffix(before, []byte(`"is`)) {
			if after = bytes.TrimLeft(after, " \t:"); bytes.HasPrefix(after, []byte("true")) {
				return true
			}
		}
		rest = after
	}
}

// claudeResults shows which tools failed.
func claudeResults(d *Decoder, v *jsonlines.Value, subAgent bool) {
	for _, block := range v.Get("message", "content").Items() {
		if block.Str("type") != "tool_result" || !block.True("is_error") {
			continue
		}
		words := block.Get("content")
		if words.IsArray() && len(words.Items()) > 0 {
			words = words.Items()[0]
		}
		c := d.caller(block.Str("tool_use_id"))
		c.sub = c.sub || subAgent
		d.failed(c, 0, words.Scalar()+words.Str("text"))
	}
}

func claudeTokens() jsonlines.Filter {
	return jsonlines.Keys("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
}

func claudeLine(d *Decoder, v *jsonlines.Value) {
	subAgent := v.Str("parent_tool_use_id") != "" || v.True("isSidechain") || v.True("isReplay")
	switch v.Str("type") {
	case "assistant", "stream_event", "result":
		subAgent = d.foreign(v.Str("session_id")) || subAgent
	}
	switch v.Str("type") {
	case "system":
		claudeSystem(d, v)
	case "assistant":
		claudeMessage(d, v, subAgent)
	case "user":
		claudeResults(d, v, subAgent)
	case "stream_event":
		if !subAgent {
			claudeEvent(d, v.Get("event"))
		}
	case "rate_limit_event":
		if v.Str("rate_limit_info", "status") == "rejected" {
			d.hint = hint{kind: Limit}
			if at := v.Int("rate_limit_info", "resetsAt"); at > 0 {
				d.hint.reset = time.Unix(at, 0).UTC()
			}
		}
	case "result":
		if !subAgent {
			claudeResult(d, v)
		}
	}
}

// claudeEvent takes over what comes of a message in pieces.
func claudeEvent(d *Decoder, event *jsonlines.Value) {
	switch {
	case event.Str("type") == "message_start":
		d.stream = event.Str("message", "id")
		d.begin(d.stream)
	case event.Str("delta", "type") == "text_delta":
		d.piece(d.stream, event.Get("delta", "text").Long())
	}
}

// claudeSystem takes over what the client says about the run. Where it begins,
// also anew, it names the run's session; what another one said before is not the
// run's.
func claudeSystem(d *Decoder, v *jsonlines.Value) {
	switch v.Str("subtype") {
	case "init":
		d.fullID, d.stream = "", ""
		if s := v.Str("session_id"); s != "" && s != d.session {
			d.restart()
			d.session, d.named, d.res.Session = "", s, s
		}
		d.res.Model = cmp.Or(v.Str("model"), d.res.Model)
	case "api_retry":
		d.retry()
		d.waits(claudeRetry(v))
		// Shorter ones are the client's own pace, and are over when it gives up.
		if wait := time.Duration(v.Int("retry_delay_ms")) * time.Millisecond; statusKind(v.Int("error_status")) == Limit && wait >= time.Minute {
			d.hint.after = min(wait, maxWait)
		}
	}
}

// claudeRetry is what the client waits for.
func claudeRetry(v *jsonlines.Value) string {
	wait := time.Duration(v.Int("retry_delay_ms")) * time.Millisecond
	what := fmt.Sprintf("retry %d/%d in %s", v.Int("attempt"), v.Int("max_retries"), wait.Round(100*time.Millisecond))
	if code := v.Int("error_status"); code > 0 {
		return what + ": HTTP " + strconv.FormatInt(code, 10)
	}
	return what
}

func claudeMessage(d *Decoder, v *jsonlines.Value, subAgent bool) {
	m := v.Get("message")
	if m.Str("model") == "<synthetic>" || v.True("is_api_error_message") || v.Str("error") != "" {
		// The client's words, not the agent's.
		if words := textOf(m.Get("content")); words != nil && !subAgent {
			d.notice(words.String())
			claudeTrouble(d, v)
		}
		return
	}
	if !subAgent {
		d.ended.Store(false) // it goes on, if that was not the end
		d.say(m.Str("id"), textOf(m.Get("content")))
		d.res.Model = cmp.Or(m.Str("model"), d.res.Model)
	} else if v.Str("parent_tool_use_id") != "" || v.True("isSidechain") {
		d.aside(textOf(m.Get("content")))
	}
	for _, block := range m.Get("content").Items() {
		if block.Str("type") == "tool_use" {
			d.use(call{block.Str("id"), block.Str("name"), subAgent}, block.Get("input"), "Write", "Edit", "MultiEdit", "NotebookEdit", "create_file", "edit_file")
		}
		if !subAgent {
			d.apart = wordsOf(block) == nil
		}
	}
	if usage := m.Get("usage"); usage != nil {
		d.using(m.Str("id"), m.Str("model"), subAgent, claudeUsage(usage))
	}
}

// claudeTrouble takes over what a line says about an error of the provider's.
func claudeTrouble(d *Decoder, v *jsonlines.Value) {
	d.status(v.Int("api_error_status"))
	d.tells(map[string]Kind{
		"rate_limit": Limit, "overloaded": Limit, "billing_error": Credit, "model_not_found": NoModel, "authentication_failed": Denied,
		"oauth_org_not_allowed": Denied, "account_on_hold": Denied, "verification_required": Denied, "cloud_credential_error": Denied,
	}[v.Str("error")])
	if v.Str("terminal_reason") == "prompt_too_long" {
		d.tells(TooLong)
	}
}

// claudeUsage reads tokens; what a cache has to do with is not part of the input
// there.
func claudeUsage(u *jsonlines.Value) Usage {
	return apart(u.Int("input_tokens"), u.Int("output_tokens"), u.Int("cache_read_input_tokens"), u.Int("cache_creation_input_tokens"))
}

func claudeResult(d *Decoder, v *jsonlines.Value) {
	d.end()
	told := claudeUsage(v.Get("usage"))
	var models Usage // these include sub-agents
	for _, m := range v.Get("modelUsage").Items() {
		models = models.plus(apart(m.Int("inputTokens"), m.Int("outputTokens"), m.Int("cacheReadInputTokens"), m.Int("cacheCreationInputTokens")))
	}
	d.told.total(portion{usage: told.atLeast(models)})
	d.cost(v, "total_cost_usd")
	if d.told.requests == 0 && told.OutputTokens > 0 {
		d.told.requests = v.Int("num_turns")
	}
	d.tell()
	// The subtype of a failure may be "success", if the failure is the provider's.
	if v.True("is_error") || strings.HasPrefix(v.Str("subtype"), "error") {
		claudeTrouble(d, v)
		d.fail(claudeWhy(d, v))
		return
	}
	d.overcome()
	if turns, ok := v.Number("num_turns"); ok && turns == 0 && d.full == nil && d.res.Usage.Requests == 0 {
		d.res.Unasked = true // the prompt was a command of the client's, which answers itself
		d.notice(v.Str("result"))
		return
	}
	d.final = v.Get("result").Long()
	if d.full == nil && d.final != nil && d.show != nil {
		d.display(d.final.String())
		d.newline()
	}
}

// claudeWhy is why a run failed, in words that are not the agent's.
func claudeWhy(d *Decoder, v *jsonlines.Value) string {
	if why := v.Str("result"); why != "" && !d.own(why) {
		return why
	}
	for _, e := range v.Get("errors").Items() {
		if why := e.Str(); why != "" {
			return why
		}
	}
	if why := v.Str("error"); why != "" {
		return why
	}
	if d.res.Message != "" {
		return ""
	}
	d.vague = true
	return "ended with " + v.FirstOf("terminal_reason", "subtype")
}
