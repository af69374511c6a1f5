package stream

// opencodeDialect is that of opencode run --format json. Cost and tokens are
// told per step.
func opencodeDialect() dialect {
	part := scalars("type", "text", "tool", "reason", "cost", "messageID").
		with("tokens", scalars("input", "output", "reasoning").with("cache", scalars("read", "write"))).
		with("state", scalars("status").with("input", toolInput()))
	want := scalars("type", "sessionID").with("part", part).
		with("error", scalars("name", "message").with("data", scalars("message", "statusCode")))
	return dialect{want: want, line: opencodeLine, drop: func(kind string) bool { return kind == "reasoning" }}
}

func opencodeLine(d *Decoder, v *value) {
	if s := v.str("sessionID"); s != "" {
		d.res.Session = s
	}
	part := v.get("part")
	switch v.str("type") {
	case "step_start":
		d.ended.Store(false)
	case "text":
		d.say(part.str("messageID"), part.get("text").asText())
	case "tool_use":
		in := part.get("state", "input")
		d.tool(part.str("tool"), shownInput(in))
		switch part.str("tool") {
		case "write", "edit", "patch", "multiedit":
			d.file(in.firstOf("filePath", "path"))
		}
	case "step_finish":
		u := &d.res.Usage
		u.Requests++
		u.Messages++
		u.InputTokens += part.int("tokens", "input") + part.int("tokens", "cache", "read") + part.int("tokens", "cache", "write")
		u.OutputTokens += part.int("tokens", "output") + part.int("tokens", "reasoning")
		if step, ok := part.num("cost"); ok && step >= 0 {
			if u.CostUSD != nil {
				step += *u.CostUSD
			}
			u.CostUSD = &step
		}
		if part.str("reason") != "tool-calls" {
			d.end()
		}
		d.tell()
	case "error":
		d.end()
		d.status(v.int("error", "data", "statusCode"))
		why := v.str("error", "data", "message")
		if why == "" {
			why = v.get("error").firstOf("message", "name")
		}
		d.fail(why)
	}
}
