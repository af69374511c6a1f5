package stream

import (
	"cmp"

	"github.com/ralph-loop/ralph/internal/jsonlines"
)

// geminiDialect is that of gemini --output-format stream-json. The agent's words
// come in pieces that carry no id, up to a tool's use, the prompt or the end;
// the prompt is repeated as a message of role user. It tells tokens at the end, not
// cost; those of each message it writes into its ledger.
func geminiDialect() dialect {
	tokens := func() jsonlines.Filter {
		return jsonlines.Keys("input_tokens", "output_tokens", "total_tokens", "cached")
	}
	want := jsonlines.Keys("type", "role", "delta", "session_id", "model", "tool_name", "tool_id", "status", "severity", "message").
		With("content", jsonlines.Keys("text", "type", "thought")).With("parameters", toolInput()).
		With("error", jsonlines.Keys("type", "message", "code")).
		With("stats", tokens().With("models", jsonlines.Filter{"*": tokens()}))
	return dialect{want: want, line: geminiLine, rows: geminiTools(), ledger: geminiLedger()}
}

func geminiLine(d *Decoder, v *jsonlines.Value) {
	kind := v.Str("type")
	if kind == "init" {
		d.restart()
		d.session, d.res.Model = "", v.Str("model")
	}
	if d.foreign(v.Str("session_id")) {
		return
	}
	switch kind {
	case "message":
		geminiMessage(d, v)
	case "tool_use":
		d.whole()
		geminiTurn(d)
		d.use(call{v.Str("tool_id"), v.Str("tool_name"), false}, v.Get("parameters"), "write_file", "replace", "edit")
	case "tool_result":
		d.whole()
		d.turn = false
		if v.Str("status") == "error" {
			d.failed(d.caller(v.Str("tool_id")), 0, cmp.Or(v.Str("error", "message"), v.Str("error", "type"), v.Str("error")))
		}
	case "error":
		if v.Str("severity") == "error" {
			d.whole()
			d.notice(v.Str("message"))
			return
		}
		d.note(v.Str("message"))
	case "result":
		d.whole()
		geminiResult(d, v)
	}
}

// geminiTurn counts the calls to the model: each begins with words or a tool's
// use and ends with a tool's result.
func geminiTurn(d *Decoder) {
	if !d.turn {
		d.turn = true
		d.told.requests++
	}
}

func geminiMessage(d *Decoder, v *jsonlines.Value) {
	if v.Str("role") != "assistant" {
		d.whole()
		d.turn = false
		return
	}
	geminiTurn(d)
	words := textOf(v.Get("content"))
	if v.True("delta") {
		if len(d.pieces) == 0 {
			d.told.messages++
		}
		d.piece("", words)
		return
	}
	d.told.messages++
	d.say("", words)
}

func geminiResult(d *Decoder, v *jsonlines.Value) {
	d.end()
	geminiTotal(d, v.Get("stats"))
	d.tell()
	if v.Str("status") == "success" {
		d.overcome()
		return
	}
	d.status(v.Int("error", "code"))
	d.fail(v.Get("error").FirstOf("message", "type"))
	d.notice(v.Str("error")) // in case it is a string
}

// geminiTotal takes over the tokens of the run, by model if that is all of them.
func geminiTotal(d *Decoder, stats *jsonlines.Value) {
	var parts []portion
	var sum Usage
	models := stats.Get("models")
	for i, m := range models.Items() {
		parts = append(parts, portion{model: models.Key(i), usage: geminiTokens(m)})
		sum = sum.plus(geminiTokens(m))
	}
	if all := geminiTokens(stats); all.used() && (all.InputTokens != sum.InputTokens || all.OutputTokens != sum.OutputTokens) {
		parts = []portion{{usage: all}}
	}
	d.told.total(parts...)
}

// geminiTokens reads tokens. The output does not count the model's thoughts, the total
// does.
func geminiTokens(v *jsonlines.Value) Usage {
	in := v.Int("input_tokens")
	return Usage{InputTokens: in, OutputTokens: max(v.Int("output_tokens"), v.Int("total_tokens")-in)}.cached(v.Int("cached"), 0)
}
