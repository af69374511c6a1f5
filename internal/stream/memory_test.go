package stream

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/reply"
)

// generated reads as head, a middle that is repeated, and tail.
func generated(head, middle string, size int, tail string) io.Reader {
	block := strings.Repeat(middle, max(1, 64<<10/len(middle)))
	parts := []io.Reader{strings.NewReader(head)}
	for range size / len(block) {
		parts = append(parts, strings.NewReader(block))
	}
	return io.MultiReader(append(parts, strings.NewReader(tail))...)
}

// TestMemory feeds lines and texts of 16 MB. What is on the heap when nothing is
// garbage stays small, whatever the line holds.
func TestMemory(t *testing.T) {
	const (
		size  = 16 << 20
		limit = 8 << 20
		done  = `\n<promise>DONE</promise>`
	)
	end := `"}]}}` + "\n"
	for _, tt := range []struct{ name, format, head, middle, tail string }{
		{"one text block", "claude", `{"type":"assistant","message":{"content":[{"type":"text","text":"`, `some words and \"more\"\n`, done + end},
		{"without any line end", "claude", `{"type":"assistant","message":{"content":[{"type":"text","text":"`, `words `, done + end},
		{"many long blocks", "claude", `{"type":"assistant","message":{"content":[`, `{"type":"text","text":"` + strings.Repeat("word ", 1<<16) + `"},`, `{"type":"text","text":"` + done + end},
		{"many short blocks", "claude", `{"type":"assistant","message":{"content":[{"type":"text","text":"` + done + `"}`, `,{"type":"x","text":"word"}`, `]}}` + "\n"},
		{"a tool result", "claude", `{"message":{"content":[{"text":"`, `result\n`, end + `{"type":"assistant","message":{"content":"` + done + `"}}`},
		{"a user line", "amp", `{"type":"user","message":{"content":[{"text":"`, `result\n`, end + `{"type":"assistant","message":{"content":"` + done + `"}}`},
		{"many messages", "claude", "", `{"type":"assistant","message":{"content":"some words"}}` + "\n", `{"type":"assistant","message":{"content":"` + done + `"}}`},
		{"many pieces", "copilot", "", `{"type":"assistant.message_delta","data":{"messageId":"m","deltaContent":"some words\n"}}` + "\n", `{"type":"assistant.message_delta","data":{"messageId":"m","deltaContent":"<promise>DONE</promise>"}}`},
		{"many keys", "claude", `{"type":"assistant","message":{"content":"` + done + `"}`, `,"k":{"a":[1,2,{"b":null}]}`, `}`},
		{"a long key", "claude", `{"`, `key`, `":1,"type":"assistant","message":{"content":"` + done + `"}}`},
		{"no JSON", "claude", "", `words `, "\n" + `{"type":"assistant","message":{"content":"` + done + `"}}`},
		{"text", "text", "", "a line <b>of</b> text\n", "<promise>DONE</promise>"},
		{"text with fences and tags", "text", "", "```\n<promise>NO</promise>\n```\n", "<promise>DONE</promise>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := New(tt.format, Options{Echo: "Print <promise>DONE</promise>", Display: io.Discard})
			if err != nil {
				t.Fatal(err)
			}
			var peak, before uint64
			heap := func() uint64 {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				return m.HeapAlloc
			}
			src, buf := generated(tt.head, tt.middle, size, tt.tail), make([]byte, 64<<10)
			before = heap()
			for n := 0; ; n++ {
				k, err := src.Read(buf)
				d.Write(buf[:k])
				if n%128 == 0 {
					peak = max(peak, heap())
				}
				if err == io.EOF {
					break
				}
			}
			r := d.Result()
			peak = max(peak, heap())
			if lastLine(r.Text) != "<promise>DONE</promise>" && tt.name != "many short blocks" {
				t.Errorf("the answer ends with %q", lastLine(r.Text))
			}
			if len(r.Text) > reply.MaxText {
				t.Errorf("the answer has %d bytes", len(r.Text))
			}
			if peak > before+limit {
				t.Errorf("%d KiB on the heap", (peak-before)>>10)
			}
			runtime.KeepAlive(d)
		})
	}
}

// TestSkippingAllocatesNothing: most of a stream is of no use and must cost no
// garbage.
func TestSkippingAllocatesNothing(t *testing.T) {
	for format, line := range map[string]string{
		"claude": `{"type":"user","message":{"content":[{"type":"tool_result","content":"` + strings.Repeat(`ok \"x\"\n`, 1000) + `"}]}}` + "\n",
		"codex":  `{"type":"item.completed","item":{"type":"command_execution","aggregated_output":"` + strings.Repeat(`ok \"x\"\n`, 1000) + `"}}` + "\n",
	} {
		d, err := New(format, Options{})
		if err != nil {
			t.Fatal(err)
		}
		data := []byte(line)
		if n := testing.AllocsPerRun(100, func() { d.Write(data) }); n > 4 {
			t.Errorf("%s: %v allocations for a line that is skipped", format, n)
		}
	}
}
