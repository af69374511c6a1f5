package stream

import (
	"strings"
	"time"
)

// claudeDialect is that of Claude Code, and of Cursor and Amp, which follow it.
// Each block of a message is a line of its own, with the message's id. Amp
// repeats the prompt as a user line; user lines are of no use here.
func claudeDialect() dialect {
	usage := func() filter {
		return scalars("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
	}
	content := scalars("type", "text", "name").with("input", toolInput())
	message := scalars("id", "model").with("content", content).with("usage", usage())
	want := scalars("type", "subtype", "session_id", "model", "parent_tool_use_id", "error", "is_api_error_message",
		"api_error_status", "is_error", "result", "total_cost_usd", "terminal_reason", "num_turns").
		with("message", message).with("usage", usage()).with("errors", filter{}).
		with("modelUsage", filter{"*": scalars("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")}).
		with("rate_limit_info", scalars("status", "resetsAt")).
		with("event", scalars("type").with("delta", scalars("type", "text")).with("message", scalars("id")))
	return dialect{want: want, line: claudeLine, drop: func(kind []byte) bool { return string(kind) == "user" }}
}

func claudeLine(d *Decoder, v *value) {
	if s := v.str("session_id"); s != "" {
		d.res.Session = s
	}
	subAgent := v.str("parent_tool_use_id") != ""
	switch v.str("type") {
	case "system":
		if v.str("subtype") == "init" && v.str("model") != "" {
			d.res.Model = v.str("model")
		}
	case "assistant":
		claudeMessage(d, v, subAgent)
	case "stream_event":
		switch event := v.get("event"); {
		case subAgent:
		case event.str("type") == "message_start":
			d.stream = event.str("message", "id")
		case event.str("delta", "type") == "text_delta":
			d.piece(d.stream, event.get("delta", "text").asText())
		}
	case "rate_limit_event":
		if v.str("rate_limit_info", "status") == "rejected" {
			d.limit = limit{hit: true}
			if at := v.int("rate_limit_info", "resetsAt"); at > 0 {
				d.limit.reset = time.Unix(at, 0).UTC()
			}
		}
	case "result":
		claudeResult(d, v)
	}
}

func claudeMessage(d *Decoder, v *value, subAgent bool) {
	m := v.get("message")
	if m.str("model") == "<synthetic>" || v.is("is_api_error_message") || v.str("error") != "" {
		// The client's words, not the agent's.
		if words := textOf(m.get("content")); words != nil && !subAgent {
			d.notice(words.String())
			claudeTrouble(d, v)
		}
		return
	}
	if !subAgent {
		d.say(m.str("id"), textOf(m.get("content")))
		if s := m.str("model"); s != "" {
			d.res.Model = s
		}
	}
	for _, block := range m.get("content").items() {
		if block.str("type") == "tool_use" {
			claudeTool(d, block)
		}
	}
	if usage := m.get("usage"); usage != nil {
		d.using(m.str("id"), subAgent, claudeUsage(usage))
	}
}

// claudeTrouble takes over what a line says about an error of the provider's.
func claudeTrouble(d *Decoder, v *value) {
	d.status(v.int("api_error_status"))
	switch v.str("error") {
	case "rate_limit":
		d.limit.hit = true
	case "authentication_failed":
		d.res.Denied = true
	}
}

func claudeTool(d *Decoder, block *value) {
	name, input := block.str("name"), block.get("input")
	d.tool(name, shownInput(input))
	switch name {
	case "Write", "Edit", "MultiEdit", "NotebookEdit", "create_file", "edit_file":
		d.file(input.firstOf("file_path", "notebook_path", "path"))
	}
}

func claudeUsage(u *value) Usage {
	return Usage{
		InputTokens:  u.int("input_tokens") + u.int("cache_creation_input_tokens") + u.int("cache_read_input_tokens"),
		OutputTokens: u.int("output_tokens"),
	}
}

func claudeResult(d *Decoder, v *value) {
	d.end()
	d.cost(v, "total_cost_usd")
	told := claudeUsage(v.get("usage"))
	var models Usage // these include sub-agents
	for _, m := range v.get("modelUsage").items() {
		models.InputTokens += m.int("inputTokens") + m.int("cacheReadInputTokens") + m.int("cacheCreationInputTokens")
		models.OutputTokens += m.int("outputTokens")
	}
	d.total(max(told.InputTokens, models.InputTokens), max(told.OutputTokens, models.OutputTokens))
	if d.res.Usage.Requests == 0 && told.OutputTokens > 0 {
		d.res.Usage.Requests = v.int("num_turns")
	}
	d.tell()
	// The subtype of a failure may be "success", if the failure is the provider's.
	if v.is("is_error") || strings.HasPrefix(v.str("subtype"), "error") {
		claudeTrouble(d, v)
		d.fail(claudeWhy(d, v))
		return
	}
	d.overcome()
	d.final = v.get("result").asText()
	if d.full == nil && d.final != nil && d.show != nil {
		d.display(d.final.String())
		d.newline()
	}
}

// claudeWhy is why a run failed, in words that are not the agent's.
func claudeWhy(d *Decoder, v *value) string {
	if why := v.str("result"); why != "" && !d.own(why) {
		return why
	}
	for _, e := range v.get("errors").items() {
		if why := e.str(); why != "" {
			return why
		}
	}
	if why := v.str("error"); why != "" {
		return why
	}
	if d.res.Message != "" {
		return ""
	}
	return "ended with " + v.firstOf("terminal_reason", "subtype")
}
