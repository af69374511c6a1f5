package stream

// copilotDialect is that of copilot --output-format json. Messages come in
// pieces and then whole, with the same id; the prompt is repeated as
// user.message. It tells requests, neither tokens nor cost.
func copilotDialect() dialect {
	data := scalars("messageId", "deltaContent", "model", "outputTokens", "inputTokens", "message", "statusCode", "errorType", "toolName", "parentToolCallId").
		with("content", scalars("type", "text")).with("arguments", toolInput()).with("fileEdits", scalars("path"))
	want := scalars("type", "sessionId", "exitCode").with("data", data).
		with("usage", filter{"codeChanges": filter{"filesModified": filter{}}})
	return dialect{want: want, line: copilotLine, drop: func(kind []byte) bool { return string(kind) == "user.message" }}
}

func copilotLine(d *Decoder, v *value) {
	data := v.get("data")
	subAgent := data.str("parentToolCallId") != ""
	switch v.str("type") {
	case "assistant.message_delta":
		if !subAgent {
			d.piece(data.str("messageId"), data.get("deltaContent").asText())
		}
	case "assistant.message":
		copilotMessage(d, data, subAgent)
	case "tool.execution_start":
		d.tool(data.str("toolName"), shownInput(data.get("arguments")))
	case "tool.execution_complete":
		for _, e := range data.get("fileEdits").items() {
			d.file(e.str("path"))
		}
	case "session.error":
		d.status(data.int("statusCode"))
		if data.str("errorType") == "rate_limit" {
			d.limit.hit = true
		}
		d.fail(data.str("message"))
	case "result":
		copilotResult(d, v)
	}
}

func copilotMessage(d *Decoder, data *value, subAgent bool) {
	if !subAgent {
		d.fullID = "" // a message that comes again replaces itself
		d.say(data.str("messageId"), textOf(data.get("content")))
		if s := data.str("model"); s != "" {
			d.res.Model = s
		}
	}
	d.using(data.str("messageId"), subAgent, Usage{InputTokens: data.int("inputTokens"), OutputTokens: data.int("outputTokens")})
}

func copilotResult(d *Decoder, v *value) {
	d.end()
	d.res.Session = v.str("sessionId")
	for _, f := range v.get("usage", "codeChanges", "filesModified").items() {
		d.file(f.str())
	}
	switch code, told := v.num("exitCode"); {
	case told && code != 0:
		d.fail("")
	case told:
		d.overcome()
	}
}
