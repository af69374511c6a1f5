package stream

// copilotDialect is that of copilot --output-format json. Messages come in
// pieces and then whole, with the same id; the prompt is repeated as
// user.message.
func copilotDialect() dialect {
	data := scalars("messageId", "deltaContent", "model", "outputTokens", "inputTokens", "message", "statusCode", "errorType", "toolName").
		with("content", scalars("type", "text")).with("arguments", toolInput()).with("fileEdits", scalars("path"))
	want := scalars("type", "sessionId", "exitCode").with("data", data).
		with("usage", filter{"codeChanges": filter{"filesModified": filter{}}})
	return dialect{want: want, line: copilotLine, drop: func(kind string) bool { return kind == "user.message" }}
}

func copilotLine(d *Decoder, v *value) {
	data := v.get("data")
	switch v.str("type") {
	case "assistant.message_delta":
		d.piece(data.str("messageId"), data.get("deltaContent").asText())
	case "assistant.message":
		d.say("", textOf(data.get("content")))
		if s := data.str("model"); s != "" {
			d.res.Model = s
		}
		u := &d.res.Usage
		u.Requests++
		u.Messages++
		u.InputTokens += data.int("inputTokens")
		u.OutputTokens += data.int("outputTokens")
		d.tell()
	case "tool.execution_start":
		d.tool(data.str("toolName"), shownInput(data.get("arguments")))
	case "tool.execution_complete":
		if edits := data.get("fileEdits"); edits != nil {
			for _, e := range edits.list {
				d.file(e.str("path"))
			}
		}
	case "session.error":
		d.status(data.int("statusCode"))
		if data.str("errorType") == "rate_limit" {
			d.limit.hit = true
		}
		d.fail(data.str("message"))
	case "result":
		d.end()
		d.res.Session = v.str("sessionId")
		if files := v.get("usage", "codeChanges", "filesModified"); files != nil {
			for _, f := range files.list {
				d.file(f.str())
			}
		}
		if code, ok := v.num("exitCode"); ok && code == 0 {
			d.res.Failed, d.res.Message, d.res.Denied, d.limit = false, "", false, limit{}
		} else {
			d.fail("")
		}
	}
}
