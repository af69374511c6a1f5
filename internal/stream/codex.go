package stream

import "strings"

// codexDialect is that of codex exec --json. It tells tokens, not cost, and turns
// but not the requests they took: each counts as one.
func codexDialect() dialect {
	item := scalars("type", "text", "command", "query", "tool").with("changes", scalars("path"))
	want := scalars("type", "thread_id", "message").with("item", item).with("error", scalars("message")).
		with("usage", scalars("input_tokens", "output_tokens"))
	return dialect{want: want, line: codexLine}
}

func codexLine(d *Decoder, v *value) {
	switch v.str("type") {
	case "thread.started":
		d.res.Session = v.str("thread_id")
	case "turn.started":
		d.ended.Store(false)
	case "item.started":
		if v.str("item", "type") == "command_execution" {
			d.tool("shell", v.str("item", "command"))
		}
	case "item.completed":
		codexItem(d, v.get("item"))
	case "turn.completed":
		d.end()
		d.overcome()
		d.res.Usage.Requests++
		d.res.Usage.InputTokens += v.int("usage", "input_tokens") // what was cached is included
		d.res.Usage.OutputTokens += v.int("usage", "output_tokens")
		d.tell()
	case "turn.failed":
		d.end()
		d.fail(v.str("error", "message"))
	case "error":
		// "Reconnecting... 1/5" is not the end of it; another message may be.
		if m := v.str("message"); !strings.HasPrefix(m, "Reconnecting") {
			d.notice(m)
		}
	}
}

// codexItem takes over a complete item. One of type error is only a warning.
func codexItem(d *Decoder, item *value) {
	switch item.str("type") {
	case "agent_message":
		d.res.Usage.Messages++
		d.say("", item.get("text").asText())
	case "file_change":
		for _, c := range item.get("changes").items() {
			d.file(c.str("path"))
			d.tool("edit", c.str("path"))
		}
	case "web_search", "mcp_tool_call":
		d.tool(item.str("type"), item.firstOf("query", "tool"))
	}
}
