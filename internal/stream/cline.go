package stream

import (
	"bytes"

	"github.com/ralph-loop/ralph/internal/jsonlines"
	"github.com/ralph-loop/ralph/internal/reply"
)

// clineDialect is that of cline --json: agent events and a run_result in newer
// versions, lines of say and ask in older ones.
func clineDialect() dialect {
	event := jsonlines.Keys("type", "contentType", "text", "toolName", "totalInputTokens", "totalOutputTokens", "totalCacheReadTokens", "totalCacheWriteTokens", "totalCost", "errorClass").
		With("error", jsonlines.Keys("message")).With("input", toolInput().With("task_progress", nil)).
		With("toolCallId", nil).With("output", jsonlines.Beginning().With("success", jsonlines.Beginning()).With("result", jsonlines.Beginning()).With("error", jsonlines.Beginning()))
	want := jsonlines.Keys("type", "say", "ask", "text", "partial", "finishReason", "parentAgentId").With("event", event).
		With("usage", jsonlines.Keys("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "totalCost")).With("model", jsonlines.Keys("id"))
	return dialect{want: want, line: clineLine, rows: clineTools(), drop: func(kind []byte) bool { return string(kind) == "hook_event" }}
}

func clineLine(d *Decoder, v *jsonlines.Value) {
	switch v.Str("type") {
	case "agent_event":
		if v.Str("parentAgentId") != "" { // a sub-agent's
			clineAside(d, v.Get("event"))
			return
		}
		clineEvent(d, v.Get("event"))
	case "run_result":
		clineResult(d, v)
	case "say":
		switch v.Str("say") {
		case "api_req_retried", "error_retry":
			d.retry()
		default:
			clineSay(d, v)
		}
	case "ask":
		switch v.Str("ask") {
		case "completion_result":
			d.end()
		case "plan_mode_respond", "act_mode_respond":
			d.say("", v.Get("text").Long())
		case "api_req_failed":
			d.end()
			d.fail(v.Str("text"))
		}
	}
}

func clineEvent(d *Decoder, e *jsonlines.Value) {
	kind := e.Str("contentType")
	switch e.Str("type") {
	case "iteration_start": // what came in pieces will not be completed
		if d.res.Message != "" {
			d.retry() // an error cut it
		}
		d.whole()
	case "content_start":
		switch kind {
		case "text":
			d.piece("", e.Get("text").Long())
		case "tool":
			clineTool(d, e)
		}
	case "content_end":
		switch kind {
		case "text":
			d.told.messages++
			d.say("", e.Get("text").Long())
		case "tool":
			clineOutput(d, e, false)
		}
	case "usage":
		d.told.requests++
		d.told.total(portion{usage: Usage{InputTokens: e.Int("totalInputTokens"), OutputTokens: e.Int("totalOutputTokens")}.
			cached(e.Int("totalCacheReadTokens"), e.Int("totalCacheWriteTokens"))})
		d.cost(e, "totalCost")
		d.tell()
	case "error":
		d.notice(e.Str("error", "message"))
		if e.Str("errorClass") == "auth" {
			d.tells(Denied)
		}
	}
}

// clineAside shows what a sub-agent says and does.
func clineAside(d *Decoder, e *jsonlines.Value) {
	if d.show == nil {
		return
	}
	switch kind := e.Str("type") + " " + e.Str("contentType"); kind {
	case "content_start tool":
		d.used(call{e.Str("toolCallId"), e.Str("toolName"), true}, e.Get("input"))
	case "content_end tool":
		clineOutput(d, e, true)
	case "content_end text":
		d.aside(e.Get("text").Long())
	}
}

func clineTool(d *Decoder, e *jsonlines.Value) {
	d.use(call{e.Str("toolCallId"), e.Str("toolName"), false}, e.Get("input"))
	switch input := e.Get("input"); e.Str("toolName") {
	case "editor", "write_to_file", "replace_in_file":
		d.file(input.FirstOf("path", "file_path"))
	}
}

// clineOutput shows that a tool failed: one of its parts, or all of it.
func clineOutput(d *Decoder, e *jsonlines.Value, subAgent bool) {
	c := call{e.Str("toolCallId"), e.Str("toolName"), subAgent}
	if why := e.Str("error") + e.Str("error", "message"); why != "" {
		d.failed(c, 0, why)
		return
	}
	for _, part := range e.Get("output").Items() {
		if part.Get("success").Scalar() == "false" {
			d.failed(c, 0, part.FirstOf("error", "result"))
			return
		}
	}
}

func clineResult(d *Decoder, v *jsonlines.Value) {
	d.end()
	d.res.Model = v.Str("model", "id")
	u := v.Get("usage")
	d.told.total(portion{usage: Usage{InputTokens: u.Int("inputTokens"), OutputTokens: u.Int("outputTokens")}.
		cached(u.Int("cacheReadTokens"), u.Int("cacheWriteTokens"))})
	d.cost(v, "usage", "totalCost")
	d.tell()
	switch reason, words := v.Str("finishReason"), v.Str("text"); {
	case reason == "completed":
		d.overcome()
		d.final = v.Get("text").Long()
	case reason == "error" && words != "" && !d.own(words):
		d.fail(words)
	case d.res.Message != "":
		d.fail("") // the last error's words
	default:
		d.fail("cline ended with: " + reason)
	}
}

// clineSay reads a line of the older form. What is partial is a growing copy.
func clineSay(d *Decoder, v *jsonlines.Value) {
	t := v.Get("text").Long()
	if t == nil {
		return
	}
	switch v.Str("say") {
	case "completion_result", "text":
		if v.True("partial") {
			d.pieces = append(d.pieces[:0], message{text: t})
			return
		}
		t.TrimSuffix("HAS_CHANGES") // a mark for the client itself
		d.told.messages++
		d.say("", t)
		if v.Str("say") == "completion_result" {
			d.end()
		}
	case "command":
		d.shows(call{name: "command"}, t.String())
	case "task_progress":
		clineProgress(d, t)
	case "api_req_started":
		clineRequest(d, inner(t, jsonlines.Keys("tokensIn", "tokensOut", "cacheWrites", "cacheReads", "cost")))
	case "tool":
		tool := inner(t, toolInput().With("tool", nil))
		d.use(call{name: tool.Str("tool")}, tool)
		switch tool.Str("tool") {
		case "editedExistingFile", "newFileCreated":
			d.file(tool.Str("path"))
		}
	}
}

// clineProgress shows the agent's list of what is to be done.
func clineProgress(d *Decoder, t *reply.Text) {
	if d.show != nil {
		d.list(call{name: "task_progress"}, boxes(t.String()))
	}
}

func clineRequest(d *Decoder, req *jsonlines.Value) {
	d.told.requests++
	d.step(apart(req.Int("tokensIn"), req.Int("tokensOut"), req.Int("cacheReads"), req.Int("cacheWrites")), req, "cost")
	d.tell()
}

// inner reads an object that is written as text, of which the middle may be left
// out.
func inner(t *reply.Text, want jsonlines.Filter) *jsonlines.Value {
	var object *jsonlines.Value
	r := jsonlines.Reader{Want: want, Line: func(v *jsonlines.Value) { object = v }, Junk: func([]byte) {}}
	r.Write(bytes.ReplaceAll([]byte(t.String()), []byte{'\n'}, []byte{' '}))
	return object
}
