package stream

import "bytes"

// clineDialect is that of cline --json: agent events and a run_result in newer
// versions, lines of say and ask in older ones.
func clineDialect() dialect {
	event := scalars("type", "contentType", "text", "toolName", "totalInputTokens", "totalOutputTokens", "totalCost").
		with("error", scalars("message")).with("input", toolInput().with("commands", filter{}))
	want := scalars("type", "say", "ask", "text", "partial", "finishReason").with("event", event).
		with("usage", scalars("inputTokens", "outputTokens", "totalCost")).with("model", scalars("id"))
	return dialect{want: want, line: clineLine, drop: func(kind []byte) bool { return string(kind) == "hook_event" }}
}

func clineLine(d *Decoder, v *value) {
	switch v.str("type") {
	case "agent_event":
		clineEvent(d, v.get("event"))
	case "run_result":
		clineResult(d, v)
	case "say":
		clineSay(d, v)
	case "ask":
		switch v.str("ask") {
		case "completion_result":
			d.end()
		case "plan_mode_respond", "act_mode_respond":
			d.say("", v.get("text").asText())
		case "api_req_failed":
			d.end()
			d.fail(v.str("text"))
		}
	}
}

func clineEvent(d *Decoder, e *value) {
	kind := e.str("contentType")
	switch e.str("type") {
	case "content_start":
		switch kind {
		case "text":
			d.piece("", e.get("text").asText())
		case "tool":
			clineTool(d, e.str("toolName"), e.get("input"))
		}
	case "content_end":
		if kind == "text" {
			d.res.Usage.Messages++
			d.say("", e.get("text").asText())
		}
	case "usage":
		d.res.Usage.Requests++
		d.total(e.int("totalInputTokens"), e.int("totalOutputTokens"))
		d.cost(e, "totalCost")
		d.tell()
	case "error":
		d.notice(e.str("error", "message"))
	}
}

func clineTool(d *Decoder, name string, input *value) {
	what := shownInput(input)
	for _, c := range input.get("commands").items() {
		what = c.str()
		break
	}
	d.tool(name, what)
	switch name {
	case "editor", "write_to_file", "replace_in_file":
		d.file(input.firstOf("path", "file_path"))
	}
}

func clineResult(d *Decoder, v *value) {
	d.end()
	d.res.Model = v.str("model", "id")
	d.total(v.int("usage", "inputTokens"), v.int("usage", "outputTokens"))
	d.cost(v, "usage", "totalCost")
	d.tell()
	switch reason, words := v.str("finishReason"), v.str("text"); {
	case reason == "completed":
		d.overcome()
		d.final = v.get("text").asText()
	case reason == "error" && words != "" && !d.own(words):
		d.fail(words)
	case d.res.Message != "":
		d.fail("") // the last error's words
	default:
		d.fail("cline ended with: " + reason)
	}
}

// clineSay reads a line of the older form. What is partial is a growing copy.
func clineSay(d *Decoder, v *value) {
	t := v.get("text").asText()
	if t == nil {
		return
	}
	switch v.str("say") {
	case "completion_result", "text":
		if v.is("partial") {
			d.pieces = append(d.pieces[:0], message{text: t})
			return
		}
		t.trimSuffix("HAS_CHANGES") // a mark for the client itself
		d.res.Usage.Messages++
		d.say("", t)
		if v.str("say") == "completion_result" {
			d.end()
		}
	case "api_req_started":
		clineRequest(d, inner(t, scalars("tokensIn", "tokensOut", "cacheWrites", "cacheReads", "cost")))
	case "tool":
		tool := inner(t, scalars("tool", "path"))
		d.tool(tool.str("tool"), tool.str("path"))
		switch tool.str("tool") {
		case "editedExistingFile", "newFileCreated":
			d.file(tool.str("path"))
		}
	}
}

func clineRequest(d *Decoder, req *value) {
	u := &d.res.Usage
	u.Requests++
	u.InputTokens += req.int("tokensIn") + req.int("cacheWrites") + req.int("cacheReads")
	u.OutputTokens += req.int("tokensOut")
	if cost, ok := req.num("cost"); ok {
		d.addCost(cost)
	}
	d.tell()
}

// inner reads an object that is written as text, of which the middle may be left
// out.
func inner(t *text, want filter) *value {
	var object *value
	r := reader{want: want, line: func(v *value) { object = v }, junk: func([]byte) {}}
	r.write(bytes.ReplaceAll([]byte(t.String()), []byte{'\n'}, []byte{' '}))
	return object
}

// trimSuffix removes a suffix and the white space after it.
func (t *text) trimSuffix(s string) {
	if b := bytes.TrimRight(t.buf, " \r\n"); bytes.HasSuffix(b, []byte(s)) {
		t.buf = b[:len(b)-len(s)]
	}
}
