package stream

import (
	"bytes"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/jsonlines"
	"github.com/ralph-loop/ralph/internal/reply"
)

// clineDialect is that of cline --json: agent events and a run_result in newer
// versions, lines of say and ask in older ones.
func clineDialect() dialect {
	event := jsonlines.Keys("type", "contentType", "text", "toolName", "totalInputTokens", "totalOutputTokens", "totalCacheReadTokens", "totalCacheWriteTokens", "totalCost", "errorClass").
		With("error", jsonlines.Keys("message")).With("input", toolInput().With("task_progress", nil)).
		With("toolCallId", nil).With("output", jsonlines.Beginning().With("success", jsonlines.Beginning()).With("result", jsonlines.Beginning()).With("error", jsonlines.Beginning()).With("usage", clineTokens()))
	want := jsonlines.Keys("type", "say", "ask", "text", "partial", "finishReason", "parentAgentId").With("event", event).
		With("usage", clineTokens()).With("aggregateUsage", clineTokens()).With("model", jsonlines.Keys("id"))
	return dialect{want: want, line: clineLine, rows: clineTools(), drop: func(kind []byte) bool { return string(kind) == "hook_event" }}
}

func clineTokens() jsonlines.Filter {
	return jsonlines.Keys("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "totalCost")
}

// clineAmount reads tokens; those of a cache are part of the input there.
func clineAmount(u *jsonlines.Value) Usage {
	return Usage{InputTokens: u.Int("inputTokens"), OutputTokens: u.Int("outputTokens")}.
		cached(u.Int("cacheReadTokens"), u.Int("cacheWriteTokens"))
}

func clineLine(d *Decoder, v *jsonlines.Value) {
	switch v.Str("type") {
	case "agent_event":
		switch e := v.Get("event"); {
		case v.Str("parentAgentId") != "":
			clineAside(d, e)
		case d.sent.with(d, e):
			clineSent(d, e)
		default:
			clineEvent(d, e)
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
		d.sent.spend(d)
		d.tell()
	case "error":
		d.notice(e.Str("error", "message"))
		if e.Str("errorClass") == "auth" {
			d.tells(Denied)
		}
	}
}

// A sent is what is known of sub-agents that are at work: the client tells what they do as
// if it was the agent's, between the beginning and the end of the tool that sends them.
// The agent itself waits for them.
type sent struct {
	calls []string // tools that have not ended
	begun bool     // one of them has begun
	usage Usage    // of those that have ended
}

// with reports whether an event is of a sub-agent.
func (s *sent) with(d *Decoder, e *jsonlines.Value) bool {
	id := e.Str("toolCallId")
	id = id[:min(len(id), 256)]
	ours := e.Str("contentType") == "tool" && e.Str("toolName") == "spawn_agent"
	switch kind := e.Str("type"); {
	case kind == "content_start" && ours && len(s.calls) < maxCalls:
		begun := s.begun
		s.calls = append(s.calls, strings.Clone(id))
		return begun
	case len(s.calls) == 0:
		return false
	case kind == "iteration_start":
		s.begun = true
	case kind == "usage" && s.begun:
		d.told.requests++
	case kind == "content_end" && ours:
		s.calls = slices.DeleteFunc(s.calls, func(c string) bool { return c == id })
		s.usage = s.usage.plus(clineAmount(e.Get("output", "usage")))
		s.begun = len(s.calls) > 0
	}
	return s.begun
}

// clineSent takes over what a sub-agent says and does, and shows it as such. The end of the
// tool may be missing, so its words are taken for the agent's until there are others.
func clineSent(d *Decoder, e *jsonlines.Value) {
	show := d.show
	d.show = nil
	if e.Str("type") != "usage" { // it counts anew
		clineEvent(d, e)
	}
	if d.show = show; show != nil {
		clineAside(d, e)
	}
}

// spend adds what sub-agents have used to the total, which does not count them.
func (s *sent) spend(d *Decoder) {
	if s.usage.used() {
		d.told.spend("", s.usage)
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
			why := part.FirstOf("error", "result")
			if _, ok := exitCode(why); ok { // what was printed stands below the same line
				why += "\n" + strings.TrimPrefix(part.Str("result"), "["+why+"]")
			}
			d.failed(c, 0, why)
			return
		}
	}
}

func clineResult(d *Decoder, v *jsonlines.Value) {
	d.end()
	d.res.Model = v.Str("model", "id")
	u := v.Get("usage")
	d.told.total(portion{usage: clineAmount(u)})
	d.cost(v, "usage", "totalCost")
	if all := v.Get("aggregateUsage"); clineAmount(all).InputTokens > clineAmount(u).InputTokens { // it counts them
		d.told.total(portion{usage: clineAmount(all)})
		d.cost(v, "aggregateUsage", "totalCost")
	} else {
		d.sent.spend(d)
	}
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
		d.vague = true
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
