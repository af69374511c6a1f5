package stream

// kimiDialect is one message a line, by role. The answer is the assistant's
// message that asks for no tool.
func kimiDialect() dialect {
	want := scalars("role").with("content", scalars("type", "text")).with("tool_calls", scalars("id").with("function", scalars("name")))
	return dialect{want: want, line: func(d *Decoder, v *value) {
		if v.str("role") != "assistant" {
			d.ended.Store(false)
			return
		}
		d.res.Usage.Requests++
		d.res.Usage.Messages++
		d.say("", textOf(v.get("content")))
		calls := v.get("tool_calls")
		d.ended.Store(calls == nil || len(calls.list) == 0)
		if calls != nil {
			for _, c := range calls.list {
				d.tool(c.str("function", "name"), "")
			}
		}
		d.tell()
	}}
}
