package stream

import (
	"github.com/ralph-loop/ralph/internal/jsonlines"
)

// kimiDialect is one message a line, by role. The answer is the assistant's
// message that asks for no tool.
func kimiDialect() dialect {
	want := jsonlines.Keys("role").With("content", jsonlines.Keys("type", "text")).With("tool_calls", jsonlines.Keys("id").With("function", jsonlines.Keys("name")))
	return dialect{want: want, line: kimiLine}
}

func kimiLine(d *Decoder, v *jsonlines.Value) {
	if v.Str("role") != "assistant" {
		d.ended.Store(false)
		return
	}
	d.say("", textOf(v.Get("content")))
	calls := 0
	for _, c := range v.Get("tool_calls").Items() {
		calls++
		d.tool(c.Str("function", "name"), "")
	}
	d.ended.Store(calls == 0)
	d.using("", "", false, Usage{})
}
