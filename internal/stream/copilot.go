package stream

import (
	"cmp"
	"fmt"

	"github.com/ralph-loop/ralph/internal/jsonlines"
)

// copilotDialect is that of copilot --output-format json. Messages come in
// pieces and then whole, with the same id; a turn that is retried begins anew, with
// another id. The prompt is repeated as user.message. Events of a sub-agent name
// it, or the tool call that began it. It tells requests, of tokens at most the output,
// and no cost; the tokens of each request it writes into its ledger.
func copilotDialect() dialect {
	data := jsonlines.Keys("messageId", "deltaContent", "model", "outputTokens", "inputTokens", "message", "statusCode", "errorType", "toolName", "toolCallId", "success", "parentToolCallId", "phase", "retryAttempt").
		With("error", jsonlines.Beginning().With("message", jsonlines.Beginning())).With("result", jsonlines.Beginning().With("content", jsonlines.Beginning())).
		With("shellExecution", jsonlines.Keys("exitCode")).
		With("content", jsonlines.Keys("type", "text")).With("arguments", toolInput().With("todos", nil).With("query", nil)).With("fileEdits", jsonlines.Keys("path"))
	want := jsonlines.Keys("type", "sessionId", "exitCode", "agentId").With("data", data).
		With("usage", jsonlines.Filter{"codeChanges": jsonlines.Filter{"filesModified": jsonlines.Filter{}}})
	return dialect{want: want, line: copilotLine, rows: copilotTools(), drop: func(kind []byte) bool { return string(kind) == "user.message" }, ledger: copilotLedger()}
}

func copilotLine(d *Decoder, v *jsonlines.Value) {
	data := v.Get("data")
	subAgent := d.foreign(v.Str("sessionId")) || v.Str("agentId") != "" || data.Str("parentToolCallId") != ""
	switch kind := v.Str("type"); kind {
	case "assistant.message":
		copilotMessage(d, data, subAgent)
	case "tool.execution_start":
		d.use(call{data.Str("toolCallId"), data.Str("toolName"), subAgent}, data.Get("arguments"))
	case "tool.execution_complete":
		for _, e := range data.Get("fileEdits").Items() {
			d.file(e.Str("path"))
		}
		copilotEnded(d, data)
	case "session.warning":
		d.note(data.Str("message"))
	case "result":
		copilotResult(d, v)
	default:
		if !subAgent { // its errors are told to the agent
			copilotTurn(d, kind, data)
		}
	}
}

// copilotTurn takes over what is told of the agent's own turns.
func copilotTurn(d *Decoder, kind string, data *jsonlines.Value) {
	switch kind {
	case "assistant.message_delta":
		if id := data.Str("messageId"); id == "" || id != d.fullID { // after the whole, it comes too late
			d.piece(id, data.Get("deltaContent").Long())
		}
	case "assistant.turn_start", "assistant.turn_retry":
		d.retry()
	case "session.resume":
		d.restart()
	case "model.call_failure":
		d.waits(fmt.Sprintf("attempt %d failed: HTTP %d", data.Int("retryAttempt")+1, data.Int("statusCode")))
	case "session.error":
		d.status(data.Int("statusCode"))
		d.tells(map[string]Kind{"rate_limit": Limit, "authentication": Denied}[data.Str("errorType")])
		d.fail(data.Str("message"))
	}
}

func copilotMessage(d *Decoder, data *jsonlines.Value, subAgent bool) {
	switch {
	case subAgent:
		d.aside(textOf(data.Get("content")))
	case data.Str("phase") == "thinking":
		d.retry() // what came of it in pieces is no answer
	default:
		d.fullID = "" // a message that comes again replaces itself
		d.say(data.Str("messageId"), textOf(data.Get("content")))
		d.res.Model = cmp.Or(data.Str("model"), d.res.Model)
	}
	d.using(data.Str("messageId"), data.Str("model"), subAgent, Usage{InputTokens: data.Int("inputTokens"), OutputTokens: data.Int("outputTokens")})
}

// copilotEnded shows that a tool failed.
func copilotEnded(d *Decoder, data *jsonlines.Value) {
	code := data.Int("shellExecution", "exitCode")
	if d.show == nil || code == 0 && data.Get("success").Scalar() != "false" {
		return
	}
	why := cmp.Or(data.Str("error", "message"), data.Str("error"), data.Str("result", "content"))
	d.failed(d.caller(data.Str("toolCallId")), code, why)
}

func copilotResult(d *Decoder, v *jsonlines.Value) {
	d.end()
	d.res.Session = v.Str("sessionId")
	for _, f := range v.Get("usage", "codeChanges", "filesModified").Items() {
		d.file(f.Str())
	}
	switch code, told := v.Number("exitCode"); {
	case told && code != 0:
		d.fail("")
	case told:
		d.overcome()
	}
}
