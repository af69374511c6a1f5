package stream

import (
	"strings"

	"github.com/ralph-loop/ralph/internal/jsonlines"
)

// kimiDialect is one message a line, by role. The answer is the assistant's
// message that asks for no tool.
func kimiDialect() dialect {
	want := jsonlines.Keys("role", "tool_call_id").With("content", jsonlines.Keys("type", "text")).With("tool_calls", jsonlines.Keys("id").With("function", jsonlines.Keys("name", "arguments")))
	return dialect{want: want, line: kimiLine, rows: kimiTools()}
}

func kimiLine(d *Decoder, v *jsonlines.Value) {
	if v.Str("role") != "assistant" {
		d.ended.Store(false)
		if d.show != nil && v.Str("role") == "tool" {
			kimiEnded(d, v)
		}
		return
	}
	d.say("", textOf(v.Get("content")))
	calls := 0
	for _, c := range v.Get("tool_calls").Items() {
		calls++
		kimiTool(d, c.Str("id"), c.Get("function"))
	}
	d.ended.Store(calls == 0)
	d.using("", "", false, Usage{})
}

// kimiTool shows a tool's use. What it is given is an object that is written as text.
func kimiTool(d *Decoder, id string, function *jsonlines.Value) {
	var input *jsonlines.Value
	if arguments := function.Get("arguments").Long(); d.show != nil && arguments != nil {
		input = inner(arguments, toolInput())
	}
	d.use(call{id: id, name: function.Str("name")}, input)
}

// kimiEnded shows that a tool failed, which its result begins with.
func kimiEnded(d *Decoder, v *jsonlines.Value) {
	words := textOf(v.Get("content"))
	if words == nil {
		return
	}
	if why, ok := strings.CutPrefix(words.String(), "<system>ERROR: "); ok {
		line, _, _ := strings.Cut(why, "\n")
		d.failed(d.caller(v.Str("tool_call_id")), 0, strings.TrimSuffix(line, "</system>"))
	}
}
