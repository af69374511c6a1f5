package stream

import (
	"strings"

	"github.com/ralph-loop/ralph/internal/jsonlines"
)

// codexDialect is that of codex exec --json. It tells tokens, not cost, and turns
// but not the requests they took: each counts as one. What each request took, and
// the model, it writes into its ledger.
func codexDialect() dialect {
	item := jsonlines.Keys("type", "text", "command", "query", "tool").With("changes", jsonlines.Keys("path"))
	want := jsonlines.Keys("type", "thread_id", "message").With("item", item).With("error", jsonlines.Keys("message")).
		With("usage", codexTokens())
	return dialect{want: want, line: codexLine, ledger: codexLedger()}
}

func codexTokens() jsonlines.Filter {
	return jsonlines.Keys("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_input_tokens")
}

// codexUsage reads tokens; what a cache has to do with is part of the input there.
func codexUsage(u *jsonlines.Value) Usage {
	return Usage{InputTokens: u.Int("input_tokens"), OutputTokens: u.Int("output_tokens")}.cached(u.Int("cached_input_tokens"), u.Int("cache_write_input_tokens"))
}

func codexLine(d *Decoder, v *jsonlines.Value) {
	if d.foreign(v.Str("thread_id")) {
		return // of a sub-agent
	}
	switch v.Str("type") {
	case "turn.started":
		d.ended.Store(false)
	case "item.started":
		if v.Str("item", "type") == "command_execution" {
			d.tool("shell", v.Str("item", "command"))
		}
	case "item.completed":
		codexItem(d, v.Get("item"))
	case "turn.completed":
		d.end()
		d.overcome()
		d.told.requests++
		d.told.spend("", codexUsage(v.Get("usage")))
		d.tell()
	case "turn.failed":
		d.end()
		d.fail(v.Str("error", "message"))
	case "error":
		// "Reconnecting... 1/5" is not the end of it; another message may be.
		if m := v.Str("message"); !strings.HasPrefix(m, "Reconnecting") {
			d.notice(m)
		}
	}
}

// codexItem takes over a complete item. One of type error is only a warning.
func codexItem(d *Decoder, item *jsonlines.Value) {
	switch item.Str("type") {
	case "agent_message":
		d.told.messages++
		d.say("", item.Get("text").Long())
	case "file_change":
		for _, c := range item.Get("changes").Items() {
			d.file(c.Str("path"))
			d.tool("edit", c.Str("path"))
		}
	case "web_search", "mcp_tool_call":
		d.tool(item.Str("type"), item.FirstOf("query", "tool"))
	}
}
