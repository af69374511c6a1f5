package stream

import (
	"io"

	"github.com/ralph-loop/ralph/internal/jsonlines"
	"github.com/ralph-loop/ralph/internal/reply"
)

// wordsOf returns those of a block, if it is of type text, or of no type, and no
// thought. nil = none.
func wordsOf(block *jsonlines.Value) *reply.Text {
	switch kind := block.Get("type"); {
	case !block.IsObject():
		return block.Long()
	case block.True("thought") || kind != nil && kind.Str() != "text":
		return nil
	}
	return block.Get("text").Long()
}

// textOf returns the words of a content that is a string or a list of blocks. They
// are joined, by a line feed where something else stands between them. nil = none.
func textOf(v *jsonlines.Value) *reply.Text {
	if v == nil || !v.IsArray() {
		return v.Long()
	}
	var words *reply.Text
	apart := false
	for _, block := range v.Items() {
		t := wordsOf(block)
		switch {
		case t == nil:
			apart = true
			continue
		case words == nil:
			words = t
		case apart:
			io.WriteString(words, "\n")
			fallthrough
		default:
			words.Add(t)
		}
		apart = false
	}
	return words
}
