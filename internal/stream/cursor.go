package stream

import (
	"cmp"
	"strings"

	"github.com/ralph-loop/ralph/internal/jsonlines"
)

// cursorDialect is that of cursor-agent, which follows Claude Code's. Pieces of a
// message, if they are asked for, look like one, but tell the time and no model call;
// the whole follows, at the latest at the end. The end event repeats all that was
// said in the run, one message right behind the other.
func cursorDialect() dialect {
	dia := claudeDialect()
	dia.want.With("timestamp_ms", nil).With("model_call_id", nil).With("call_id", nil).With("tool_call", cursorTool())
	dia.line, dia.rows = cursorLine, cursorTools()
	return dia
}

// cursorTool is what is shown of a tool: an object under a name of its own has what it is
// given and, under the name of how it ended, what came of it.
func cursorTool() jsonlines.Filter {
	end := jsonlines.Beginning()
	for _, name := range []string{"exitCode", "stderr", "errorMessage", "error", "reason", "message"} {
		end.With(name, jsonlines.Beginning())
	}
	kind := jsonlines.Beginning().With("args", toolInput()).With("name", jsonlines.Beginning()).With("arguments", jsonlines.Beginning())
	return jsonlines.Beginning().With("*", kind.With("result", jsonlines.Beginning().With("*", end)))
}

// cursorCall shows a tool's use, and that it failed.
func cursorCall(d *Decoder, v *jsonlines.Value, subAgent bool) {
	kinds := v.Get("tool_call")
	for n, kind := range kinds.Items() {
		if !kind.IsObject() {
			continue
		}
		c := call{v.Str("call_id"), strings.TrimSuffix(kinds.Key(n), "ToolCall"), subAgent}
		if c.name == "function" {
			c.name = kind.Str("name")
		}
		switch v.Str("subtype") {
		case "started":
			d.used(c, cmp.Or(kind.Get("args"), kind.Get("arguments")))
		case "completed":
			cursorEnded(d, c, kind.Get("result"))
		}
		return
	}
}

func cursorEnded(d *Decoder, c call, result *jsonlines.Value) {
	for n, end := range result.Items() {
		switch result.Key(n) {
		case "error", "failure", "permissionDenied", "rejected", "timeout":
			d.failed(c, end.Int("exitCode"), cmp.Or(end.FirstOf("errorMessage", "stderr", "error", "reason", "message"), result.Key(n)))
		case "success":
			if code := end.Int("exitCode"); code != 0 {
				d.failed(c, code, end.Str("stderr"))
			}
		}
	}
}

func cursorLine(d *Decoder, v *jsonlines.Value) {
	kind := v.Str("type")
	if kind == "assistant" && v.Get("timestamp_ms") != nil && v.Str("model_call_id") == "" {
		if !d.foreign(v.Str("session_id")) {
			d.piece("", textOf(v.Get("message", "content")))
		}
		return
	}
	if kind == "tool_call" || kind == "result" {
		d.whole()
	}
	if kind == "tool_call" && d.show != nil {
		session := v.Str("session_id")
		cursorCall(d, v, v.Str("parent_tool_use_id") != "" || session != "" && d.session != "" && session != d.session)
	}
	claudeLine(d, v)
	if d.final != nil && d.full != nil && strings.HasSuffix(d.final.String(), d.full.String()) {
		d.final = nil
	}
}
