package tasks_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/tasks"
)

// million is a list of a million boxes, shaped like those that spec-kit writes.
func million() []byte {
	var b bytes.Buffer
	for i := range 1_000_000 {
		if i%100 == 0 {
			fmt.Fprintf(&b, "\n## Phase %d: User story\n\n", i/100+1)
		}
		fmt.Fprintf(&b, "- [%c] T%03d [P] [US%d] Create the model of entity %d in src/models/entity.go\n", " x"[i%2], i+1, i%7+1, i)
	}
	return b.Bytes()
}

// BenchmarkParseList parses a million boxes. Its floor is what any parser must
// do: look at every byte for the ends of lines, and check that it is UTF-8; memory is
// what it must do for the items: copy the text, and make room for them.
func BenchmarkParseList(b *testing.B) {
	text := million()
	b.Run("boxes", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			l, err := tasks.ParseList(text)
			if err != nil || len(l.Items) != 1_000_000 {
				b.Fatal(len(l.Items), err)
			}
		}
	})
	b.Run("memory", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			items, copied := make([]tasks.Item, 1_000_000), string(text)
			if items[0].Text = copied; strings.Count(items[0].Text[:6], "\n") != 1 {
				b.Fatal("not the text it should be")
			}
		}
	})
	b.Run("floor", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if !utf8.Valid(text) || bytes.Count(text, []byte("\n")) < 1_000_000 {
				b.Fatal("not the text it should be")
			}
		}
	})
}
