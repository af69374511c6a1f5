package stream

import (
	"cmp"
	"strings"

	"github.com/ralph-loop/ralph/internal/jsonlines"
)

// codexDialect is that of codex exec --json. It tells tokens, not cost, and turns
// but not the requests they took: each counts as one. What each request took, and
// the model, it writes into its ledger.
func codexDialect() dialect {
	item := jsonlines.Keys("type", "text", "command", "query", "tool", "server", "exit_code", "status").With("changes", jsonlines.Keys("path")).
		With("arguments", toolInput()).With("items", jsonlines.Beginning().With("text", jsonlines.Beginning()).With("completed", jsonlines.Beginning())).
		With("aggregated_output", jsonlines.Beginning()).With("message", jsonlines.Beginning()).With("error", jsonlines.Beginning().With("message", jsonlines.Beginning()))
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
	case "item.started", "item.updated":
		codexBegun(d, v.Get("item"), v.Str("type") == "item.started")
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
		m := v.Str("message")
		if strings.HasPrefix(m, "Reconnecting") {
			d.waits(m)
			return
		}
		d.notice(m)
	}
}

// codexItem takes over a complete item. One of type error is only a warning.
func codexItem(d *Decoder, item *jsonlines.Value) {
	switch item.Str("type") {
	case "agent_message":
		d.told.messages++
		d.say("", item.Get("text").Long())
	case "command_execution":
		codexEnded(d, item)
	case "file_change":
		for _, c := range item.Get("changes").Items() {
			d.file(c.Str("path"))
			d.tool(call{name: "edit"}, d.place(c.Str("path")))
		}
		codexEnded(d, item)
	case "web_search":
		d.tool(call{name: "web_search"}, `"`+item.Str("query")+`"`)
	case "mcp_tool_call":
		d.tool(call{name: codexTool(item)}, short(item.Get("arguments")))
		codexEnded(d, item)
	case "error":
		d.note(item.Str("message"))
	}
}

// codexBegun shows what the agent begins, and each state of its list.
func codexBegun(d *Decoder, item *jsonlines.Value, started bool) {
	switch item.Str("type") {
	case "command_execution":
		if started {
			d.tool(call{name: "shell"}, d.command(unwrapped(item.Str("command"))))
		}
	case "todo_list":
		if d.show != nil {
			d.todos(call{name: "update_plan"}, item)
		}
	}
}

// codexEnded shows that a tool failed.
func codexEnded(d *Decoder, item *jsonlines.Value) {
	code := item.Int("exit_code")
	if d.show == nil || code == 0 && item.Str("status") != "failed" {
		return
	}
	d.failed(call{name: codexTool(item)}, code, cmp.Or(item.Str("error", "message"), item.Str("error"), item.Str("aggregated_output")))
}

// codexTool is what a tool is called.
func codexTool(item *jsonlines.Value) string {
	switch item.Str("type") {
	case "command_execution":
		return "shell"
	case "file_change":
		return "edit"
	}
	return strings.TrimPrefix(item.Str("server")+"."+item.Str("tool"), ".")
}
