package stream

import (
	"cmp"
	"time"

	"github.com/ralph-loop/ralph/internal/jsonlines"
)

// Some clients tell what they use only at the end, or tell it wrong until then, but
// write it down as they go into a file of their own, a line for each event. Such a
// ledger is a floor: it raises what the stream tells, it never lowers it, and nothing
// else in it counts. Whoever has it feeds it to [Decoder.Ledger].

// A ledger is how one client writes it.
type ledger struct {
	want jsonlines.Filter
	line func(d *Decoder, v *jsonlines.Value)
}

// Ledger takes pieces of the client's ledger, as Write takes those of its stream, and
// from the same goroutine. It is nothing to a format that has none.
func (d *Decoder) Ledger(p []byte) {
	if d.dialect.ledger.line == nil {
		return
	}
	if d.ledger == nil {
		d.ledger = &jsonlines.Reader{Want: d.dialect.ledger.want, Junk: func([]byte) {}, Line: func(v *jsonlines.Value) {
			if at, err := time.Parse(time.RFC3339, v.Str("timestamp")); err == nil && at.Before(d.since) {
				d.resumed = true
				return // of an earlier run
			}
			d.dialect.ledger.line(d, v)
			d.tell()
		}}
	}
	d.ledger.Write(p)
}

// Session is the run's session, as far as it is known yet.
func (d *Decoder) Session() string { return d.res.Session }

// claudeLedger is the transcript of a session. The stream tells a message's usage as
// it was when the message began, with next to none of the output; here it is final.
func claudeLedger() ledger {
	message := jsonlines.Keys("id", "model").With("usage", claudeTokens())
	return ledger{jsonlines.Keys("type", "timestamp").With("message", message), func(d *Decoder, v *jsonlines.Value) {
		if m := v.Get("message"); v.Str("type") == "assistant" && m.Str("id") != "" {
			d.amend(m.Str("id"), m.Str("model"), claudeUsage(m.Get("usage")))
		}
	}}
}

// codexLedger is the rollout file of a thread. Newer versions write a record for each
// response; older ones only totals, which are those of a resumed thread as a whole.
func codexLedger() ledger {
	info := jsonlines.Filter{}.With("total_token_usage", codexTokens())
	payload := jsonlines.Keys("type", "model", "response_id").With("usage", codexTokens()).With("info", info)
	return ledger{jsonlines.Keys("type", "timestamp").With("payload", payload), func(d *Decoder, v *jsonlines.Value) {
		p := v.Get("payload")
		switch v.Str("type") {
		case "turn_context":
			d.res.Model = cmp.Or(p.Str("model"), d.res.Model)
		case "token_usage_record":
			d.records = true
			d.beside.message(p.Str("response_id"), "", true, codexUsage(p.Get("usage")))
		case "event_msg":
			if p.Str("type") == "token_count" && !d.records && !d.resumed {
				d.beside.total(portion{usage: codexUsage(p.Get("info", "total_token_usage"))})
			}
		}
	}}
}

// geminiLedger is the record of a session. A message is written again as it grows.
func geminiLedger() ledger {
	tokens := jsonlines.Keys("input", "output", "cached", "thoughts", "tool")
	return ledger{jsonlines.Keys("id", "type", "timestamp", "model").With("tokens", tokens), func(d *Decoder, v *jsonlines.Value) {
		if t := v.Get("tokens"); v.Str("type") == "gemini" && t != nil {
			d.beside.message(v.Str("id"), v.Str("model"), true, Usage{
				InputTokens: addSat(t.Int("input"), t.Int("tool")), OutputTokens: addSat(t.Int("output"), t.Int("thoughts")),
				CacheRead: min(t.Int("cached"), t.Int("input")),
			})
		}
	}}
}

// copilotLedger is what its OpenTelemetry file exporter writes: a span for each call of
// a model.
func copilotLedger() ledger {
	const in, out, read, write = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_creation.input_tokens"
	const kind, model = "gen_ai.operation.name", "gen_ai.response.model"
	return ledger{jsonlines.Keys("type", "spanId").With("attributes", jsonlines.Keys(kind, model, in, out, read, write)), func(d *Decoder, v *jsonlines.Value) {
		if a := v.Get("attributes"); v.Str("type") == "span" && a.Str(kind) == "chat" {
			d.beside.message(v.Str("spanId"), a.Str(model), true, Usage{InputTokens: a.Int(in), OutputTokens: a.Int(out)}.cached(a.Int(read), a.Int(write)))
		}
	}}
}
