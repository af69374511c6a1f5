package stream

import (
	"bytes"
	"encoding/json"
)

// clineDialect is that of cline --json: agent events and a run_result in newer
// versions, lines of say and ask in older ones.
func clineDialect() dialect {
	usage := func() filter {
		return scalars("inputTokens", "outputTokens", "totalInputTokens", "totalOutputTokens", "cacheReadTokens", "cacheWriteTokens", "totalCost")
	}
	event := scalars("type", "contentType", "text", "toolName", "inputTokens", "outputTokens", "totalInputTokens", "totalOutputTokens", "totalCost").
		with("error", scalars("message")).with("input", toolInput().with("commands", filter{}))
	want := scalars("type", "say", "ask", "text", "partial", "finishReason").with("event", event).
		with("usage", usage()).with("model", scalars("id"))
	return dialect{want: want, line: clineLine, drop: func(kind string) bool { return kind == "hook_event" }}
}

func clineLine(d *Decoder, v *value) {
	switch v.str("type") {
	case "agent_event":
		clineEvent(d, v.get("event"))
	case "run_result":
		d.end()
		d.res.Model = v.str("model", "id")
		d.total(v.int("usage", "inputTokens"), v.int("usage", "outputTokens"))
		d.cost(v, "usage", "totalCost")
		d.tell()
		if v.str("finishReason") == "completed" {
			d.res.Failed, d.res.Message = false, ""
			d.final = v.get("text").asText()
			return
		}
		why := v.str("text")
		if why == "" {
			why = v.str("finishReason")
		}
		d.fail(why)
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
	words := e.str("contentType") == "text"
	switch e.str("type") {
	case "content_start":
		if words {
			d.piece("", e.get("text").asText())
		} else if e.str("contentType") == "tool" {
			what := shownInput(e.get("input"))
			if c := e.get("input", "commands"); c != nil && len(c.list) > 0 {
				what = c.list[0].str()
			}
			d.tool(e.str("toolName"), what)
		}
	case "content_end":
		if words {
			d.res.Usage.Messages++
			d.say("", e.get("text").asText())
		}
	case "usage":
		d.res.Usage.Requests++
		d.total(e.int("totalInputTokens"), e.int("totalOutputTokens"))
		d.cost(e, "totalCost")
		d.tell()
	case "error":
		d.res.Message = oneLine(e.str("error", "message"))
	}
}

// clineSay reads a line of the older form. What is partial is a growing copy.
func clineSay(d *Decoder, v *value) {
	t := v.get("text").asText()
	switch v.str("say") {
	case "completion_result", "text":
		if t == nil {
			return
		}
		if v.is("partial") {
			d.delta, d.deltaID = t, ""
			return
		}
		t.trimSuffix("HAS_CHANGES")
		d.res.Usage.Messages++
		d.say("", t)
		if v.str("say") == "completion_result" {
			d.end()
		}
	case "api_req_started":
		var req struct {
			TokensIn, TokensOut, CacheWrites, CacheReads int64
			Cost                                         *float64
		}
		if t == nil || json.Unmarshal([]byte(t.String()), &req) != nil {
			return
		}
		u := &d.res.Usage
		u.Requests++
		u.InputTokens += max(req.TokensIn, 0) + max(req.CacheWrites, 0) + max(req.CacheReads, 0)
		u.OutputTokens += max(req.TokensOut, 0)
		if req.Cost != nil && *req.Cost >= 0 {
			sum := *req.Cost
			if u.CostUSD != nil {
				sum += *u.CostUSD
			}
			u.CostUSD = &sum
		}
		d.tell()
	}
}

func (t *text) trimSuffix(s string) {
	if b := bytes.TrimRight(t.buf, " \r\n"); bytes.HasSuffix(b, []byte(s)) {
		t.buf = b[:len(b)-len(s)]
	}
}
