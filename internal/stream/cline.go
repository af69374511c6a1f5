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
		With("error", jsonlines.Keys("message")).With("input", toolInput().With("commands", jsonlines.Filter{}))
	want := jsonlines.Keys("type", "say", "ask", "text", "partial", "finishReason", "parentAgentId").With("event", event).
		With("usage", jsonlines.Keys("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "totalCost")).With("model", jsonlines.Keys("id"))
	return dialect{want: want, line: clineLine, drop: func(kind []byte) bool { return string(kind) == "hook_event" }}
}

func clineLine(d *Decoder, v *jsonlines.Value) {
	switch v.Str("type") {
	case "agent_event":
		if v.Str("parentAgentId") == "" { // not a sub-agent's
			clineEvent(d, v.Get("event"))
		}
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
			clineTool(d, e.Str("toolName"), e.Get("input"))
		}
	case "content_end":
		if kind == "text" {
			d.told.messages++
			d.say("", e.Get("text").Long())
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

func clineTool(d *Decoder, name string, input *jsonlines.Value) {
	what := shownInput(input)
	for _, c := range input.Get("commands").Items() {
		what = c.Str()
		break
	}
	d.tool(name, what)
	switch name {
	case "editor", "write_to_file", "replace_in_file":
		d.file(input.FirstOf("path", "file_path"))
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
	case "api_req_started":
		clineRequest(d, inner(t, jsonlines.Keys("tokensIn", "tokensOut", "cacheWrites", "cacheReads", "cost")))
	case "tool":
		tool := inner(t, jsonlines.Keys("tool", "path"))
		d.tool(tool.Str("tool"), tool.Str("path"))
		switch tool.Str("tool") {
		case "editedExistingFile", "newFileCreated":
			d.file(tool.Str("path"))
		}
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
