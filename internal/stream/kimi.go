package stream

// kimiDialect is one message a line, by role. The answer is the assistant's
// message that asks for no tool.
func kimiDialect() dialect {
	want := scalars("role").with("content", scalars("type", "text")).with("tool_calls", scalars("id").with("function", scalars("name")))
	return dialect{want: want, line: kimiLine}
}

func kimiLine(d *Decoder, v *value) {
	if v.str("role") != "assistant" {
		d.ended.Store(false)
		return
	}
	d.say("", textOf(v.get("content")))
	calls := 0
	for _, c := range v.get("tool_calls").items() {
		calls++
		d.tool(c.str("function", "name"), "")
	}
	d.ended.Store(calls == 0)
	d.using("", false, Usage{})
}
