package stream

// opencodeDialect is that of opencode run --format json. Cost and tokens are
// told per step.
func opencodeDialect() dialect {
	part := scalars("type", "text", "tool", "reason", "cost", "messageID").
		with("tokens", scalars("input", "output", "reasoning").with("cache", scalars("read", "write"))).
		with("state", filter{"input": toolInput()})
	want := scalars("type", "sessionID").with("part", part).
		with("error", scalars("name", "message").with("data", scalars("message", "statusCode")))
	return dialect{want: want, line: opencodeLine, drop: func(kind []byte) bool { return string(kind) == "reasoning" }}
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
		name, in := part.str("tool"), part.get("state", "input")
		d.tool(name, shownInput(in))
		switch name {
		case "write", "edit", "patch", "multiedit":
			d.file(in.firstOf("filePath", "path"))
		}
	case "step_finish":
		opencodeStep(d, part)
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

func opencodeStep(d *Decoder, part *value) {
	u := &d.res.Usage
	u.Requests++
	u.Messages++
	u.InputTokens += part.int("tokens", "input") + part.int("tokens", "cache", "read") + part.int("tokens", "cache", "write")
	u.OutputTokens += part.int("tokens", "output") + part.int("tokens", "reasoning")
	if step, ok := part.num("cost"); ok {
		d.addCost(step)
	}
	switch part.str("reason") {
	case "tool-calls":
	case "stop":
		d.end()
		d.overcome()
	default:
		d.end()
	}
	d.tell()
}
