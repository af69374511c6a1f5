package stream

import (
	"github.com/ralph-loop/ralph/internal/jsonlines"
)

// opencodeDialect is that of opencode run --format json. Cost and tokens are
// told per step.
func opencodeDialect() dialect {
	part := jsonlines.Keys("type", "text", "tool", "reason", "cost", "messageID").
		With("tokens", jsonlines.Keys("input", "output", "reasoning").With("cache", jsonlines.Keys("read", "write"))).
		With("state", jsonlines.Filter{"input": toolInput()})
	want := jsonlines.Keys("type", "sessionID").With("part", part).
		With("error", jsonlines.Keys("name", "message").With("data", jsonlines.Keys("message", "statusCode")))
	return dialect{want: want, line: opencodeLine, drop: func(kind []byte) bool { return string(kind) == "reasoning" }}
}

func opencodeLine(d *Decoder, v *jsonlines.Value) {
	if s := v.Str("sessionID"); s != "" {
		d.res.Session = s
	}
	part := v.Get("part")
	switch v.Str("type") {
	case "step_start":
		d.ended.Store(false)
	case "text":
		d.say(part.Str("messageID"), part.Get("text").Long())
	case "tool_use":
		name, in := part.Str("tool"), part.Get("state", "input")
		d.tool(name, shownInput(in))
		switch name {
		case "write", "edit", "patch", "multiedit":
			d.file(in.FirstOf("filePath", "path"))
		}
	case "step_finish":
		opencodeStep(d, part)
	case "error":
		d.end()
		d.status(v.Int("error", "data", "statusCode"))
		why := v.Str("error", "data", "message")
		if why == "" {
			why = v.Get("error").FirstOf("message", "name")
		}
		d.fail(why)
	}
}

func opencodeStep(d *Decoder, part *jsonlines.Value) {
	u := &d.res.Usage
	u.Requests++
	u.Messages++
	u.InputTokens += part.Int("tokens", "input") + part.Int("tokens", "cache", "read") + part.Int("tokens", "cache", "write")
	u.OutputTokens += part.Int("tokens", "output") + part.Int("tokens", "reasoning")
	if step, ok := part.Number("cost"); ok {
		d.addCost(step)
	}
	switch part.Str("reason") {
	case "tool-calls":
	case "stop":
		d.end()
		d.overcome()
	default:
		d.end()
	}
	d.tell()
}
