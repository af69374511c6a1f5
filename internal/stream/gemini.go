package stream

// geminiDialect is that of gemini --output-format stream-json. The agent's words
// come in pieces that carry no id, up to a tool's use, the prompt or the end;
// the prompt is repeated as a message of role user. It tells tokens, not cost.
func geminiDialect() dialect {
	tokens := func() filter { return scalars("input_tokens", "output_tokens") }
	want := scalars("type", "role", "delta", "session_id", "model", "tool_name", "status", "severity", "message").
		with("content", scalars("text", "type")).with("parameters", toolInput()).
		with("error", scalars("type", "message", "code")).
		with("stats", tokens().with("models", filter{"*": tokens()}))
	return dialect{want: want, line: geminiLine}
}

func geminiLine(d *Decoder, v *value) {
	switch v.str("type") {
	case "init":
		d.res.Session, d.res.Model = v.str("session_id"), v.str("model")
	case "message":
		geminiMessage(d, v)
	case "tool_use":
		d.whole()
		geminiTurn(d)
		name, in := v.str("tool_name"), v.get("parameters")
		d.tool(name, shownInput(in))
		switch name {
		case "write_file", "replace", "edit":
			d.file(in.firstOf("file_path", "path"))
		}
	case "tool_result":
		d.whole()
		d.turn = false
	case "error":
		if v.str("severity") == "error" {
			d.notice(v.str("message"))
		}
	case "result":
		d.whole()
		geminiResult(d, v)
	}
}

// geminiTurn counts the calls to the model: each begins with words or a tool's
// use and ends with a tool's result.
func geminiTurn(d *Decoder) {
	if !d.turn {
		d.turn = true
		d.res.Usage.Requests++
	}
}

func geminiMessage(d *Decoder, v *value) {
	if v.str("role") != "assistant" {
		d.whole()
		d.turn = false
		return
	}
	geminiTurn(d)
	words := textOf(v.get("content"))
	if v.is("delta") {
		if len(d.pieces) == 0 {
			d.res.Usage.Messages++
		}
		d.piece("", words)
		return
	}
	d.res.Usage.Messages++
	d.say("", words)
}

func geminiResult(d *Decoder, v *value) {
	d.end()
	in, out := v.int("stats", "input_tokens"), v.int("stats", "output_tokens")
	if in == 0 && out == 0 {
		for _, m := range v.get("stats", "models").items() {
			in += m.int("input_tokens")
			out += m.int("output_tokens")
		}
	}
	d.total(in, out)
	d.tell()
	if v.str("status") == "success" {
		d.overcome()
		return
	}
	d.status(v.int("error", "code"))
	d.fail(v.get("error").firstOf("message", "type"))
	d.notice(v.str("error")) // in case it is a string
}
