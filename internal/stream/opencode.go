package stream

import (
	"cmp"

	"github.com/ralph-loop/ralph/internal/jsonlines"
)

// opencodeDialect is that of opencode run --format json. Cost and tokens are
// told per step. Each line names its session: what sub-agents, which have others,
// use counts, but their words, steps and errors are not the agent's.
func opencodeDialect() dialect {
	part := jsonlines.Keys("id", "type", "text", "tool", "reason", "cost", "messageID", "sessionID", "synthetic").
		With("tokens", jsonlines.Keys("input", "output", "reasoning").With("cache", jsonlines.Keys("read", "write"))).
		With("callID", nil).
		With("state", jsonlines.Keys("status").With("input", toolInput()).With("error", jsonlines.Beginning()).With("output", jsonlines.Beginning()).
			With("metadata", jsonlines.Beginning().With("exit", jsonlines.Beginning())))
	want := jsonlines.Keys("type", "sessionID").With("part", part).
		With("error", jsonlines.Keys("name", "message").With("data", jsonlines.Keys("message", "statusCode", "responseBody").
			With("responseHeaders", jsonlines.Keys("retry-after", "retry-after-ms"))))
	return dialect{want: want, line: opencodeLine, rows: opencodeTools(), drop: func(kind []byte) bool { return string(kind) == "reasoning" }}
}

func opencodeLine(d *Decoder, v *jsonlines.Value) {
	part := v.Get("part")
	subAgent := d.foreign(v.Str("sessionID")) || d.foreign(part.Str("sessionID"))
	switch kind := v.Str("type"); kind {
	case "tool_use":
		c := call{part.Str("callID"), part.Str("tool"), subAgent}
		d.use(c, part.Get("state", "input"), "write", "edit", "patch", "multiedit")
		opencodeEnded(d, c, part.Get("state"))
		d.apart = d.apart || !subAgent
	case "step_finish":
		opencodeStep(d, part, subAgent)
	default:
		if !subAgent {
			opencodeOwn(d, kind, v)
		} else if kind == "text" && part.Str("type") == "text" && !part.True("synthetic") {
			d.aside(part.Get("text").Long())
		}
	}
}

// opencodeEnded shows that a tool failed.
func opencodeEnded(d *Decoder, c call, state *jsonlines.Value) {
	code := state.Int("metadata", "exit")
	if code != 0 || state.Str("status") == "error" {
		d.failed(c, code, cmp.Or(state.Str("error"), state.Str("output")))
	}
}

// opencodeOwn takes over what is told of the run's own session.
func opencodeOwn(d *Decoder, kind string, v *jsonlines.Value) {
	switch kind {
	case "step_start":
		d.ended.Store(false)
	case "text":
		part := v.Get("part")
		if kind := part.Str("type"); kind != "" && kind != "text" || part.True("synthetic") {
			return // not the agent's
		}
		d.apart = d.apart || part.Str("id") != "" // a paragraph of its own
		d.say(part.Str("messageID"), part.Get("text").Long())
	case "error":
		d.end()
		d.status(v.Int("error", "data", "statusCode"))
		d.fail(cmp.Or(v.Str("error", "data", "message"), v.Get("error").FirstOf("message", "name")))
		data := v.Get("error", "data")
		d.more("", data.Str("responseBody"))
		d.more("retry-after: ", data.Str("responseHeaders", "retry-after"))
		d.more("retry-after-ms: ", data.Str("responseHeaders", "retry-after-ms"))
	}
}

func opencodeStep(d *Decoder, part *jsonlines.Value, subAgent bool) {
	d.told.requests++
	if !subAgent {
		d.told.messages++
	}
	t := part.Get("tokens")
	d.step(apart(t.Int("input"), addSat(t.Int("output"), t.Int("reasoning")), t.Int("cache", "read"), t.Int("cache", "write")), part, "cost")
	switch reason := part.Str("reason"); {
	case subAgent || reason == "tool-calls":
	case reason == "stop":
		d.end()
		d.overcome()
	default:
		d.end()
	}
	d.tell()
}
