package stream

// geminiDialect is that of gemini --output-format stream-json. The agent's words
// come in pieces that carry no id, up to the next event; the prompt is repeated
// as a message of role user.
func geminiDialect() dialect {
	want := scalars("type", "role", "delta", "session_id", "model", "tool_name", "status", "severity", "message").
		with("content", scalars("text", "type")).with("parameters", toolInput()).
		with("error", scalars("type", "message", "code")).
		with("stats", scalars("input_tokens", "output_tokens"))
	return dialect{want: want, line: geminiLine, drop: func(kind string) bool { return kind == "tool_result" }}
}

func geminiLine(d *Decoder, v *value) {
	kind := v.str("type")
	if kind == "message" && v.str("role") == "assistant" {
		words := textOf(v.get("content"))
		if v.is("delta") {
			if d.delta == nil {
				d.res.Usage.Messages++
			}
			d.piece("", words)
		} else {
			d.res.Usage.Messages++
			d.say("", words)
		}
		return
	}
	d.whole()
	switch kind {
	case "init":
		d.res.Session, d.res.Model = v.str("session_id"), v.str("model")
	case "tool_use":
		name, in := v.str("tool_name"), v.get("parameters")
		d.tool(name, shownInput(in))
		switch name {
		case "write_file", "replace", "edit":
			d.file(in.firstOf("file_path", "path"))
		}
	case "error":
		if v.str("severity") == "error" {
			d.res.Message = oneLine(v.str("message"))
		}
	case "result":
		d.end()
		d.total(v.int("stats", "input_tokens"), v.int("stats", "output_tokens"))
		d.tell()
		if v.str("status") == "success" {
			d.res.Failed, d.res.Message = false, ""
			return
		}
		d.status(v.int("error", "code"))
		why := v.str("error", "message")
		if why == "" {
			why = v.str("error")
		}
		if why == "" {
			why = v.str("error", "type")
		}
		d.fail(why)
	}
}
