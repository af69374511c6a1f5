package stream

import (
	"strings"

	"github.com/ralph-loop/ralph/internal/jsonlines"
)

// cursorDialect is that of cursor-agent, which follows Claude Code's. Pieces of a
// message, if they are asked for, look like one, but tell the time and no model call;
// the whole follows, at the latest at the end. The end event repeats all that was
// said in the run, one message right behind the other.
func cursorDialect() dialect {
	dia := claudeDialect()
	dia.want.With("timestamp_ms", nil).With("model_call_id", nil)
	dia.line = cursorLine
	return dia
}

func cursorLine(d *Decoder, v *jsonlines.Value) {
	kind := v.Str("type")
	if kind == "assistant" && v.Get("timestamp_ms") != nil && v.Str("model_call_id") == "" {
		if !d.foreign(v.Str("session_id")) {
			d.piece("", textOf(v.Get("message", "content")))
		}
		return
	}
	if kind == "tool_call" || kind == "result" {
		d.whole()
	}
	claudeLine(d, v)
	if d.final != nil && d.full != nil && strings.HasSuffix(d.final.String(), d.full.String()) {
		d.final = nil
	}
}
