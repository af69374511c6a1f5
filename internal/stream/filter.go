package stream

import (
	"github.com/ralph-loop/ralph/internal/jsonlines"
	"github.com/ralph-loop/ralph/internal/reply"
)

// toolInput is what is shown of, or known from, a tool's input.
func toolInput() jsonlines.Filter {
	return jsonlines.Keys("command", "cmd", "description", "file_path", "filePath", "notebook_path", "path", "pattern", "query", "url")
}

func shownInput(v *jsonlines.Value) string {
	return v.FirstOf("command", "cmd", "file_path", "filePath", "notebook_path", "path", "pattern", "query", "url", "description")
}

// textOf returns the words of a content that is a string or a list of blocks:
// those of type text, or of no type, joined. nil = no words.
func textOf(v *jsonlines.Value) *reply.Text {
	if v == nil || !v.IsArray() {
		return v.Long()
	}
	var words *reply.Text
	for _, block := range v.Items() {
		t := block.Long()
		if block.IsObject() && (block.Str("type") == "text" || block.Get("type") == nil) {
			t = block.Get("text").Long()
		}
		switch {
		case t == nil:
		case words == nil:
			words = t
		default:
			words.Add(t)
		}
	}
	return words
}
