package stream

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
)

// claudeMix is a stream like a real one: most bytes are tool results, which hold
// source code with all its line ends and quotation marks.
func claudeMix(size int) []byte {
	code := strings.Repeat("\tif err := run(ctx, \"name\"); err != nil {\n\t\treturn fmt.Errorf(\"run: %w\", err)\n\t}\n", 60)
	var b bytes.Buffer
	b.WriteString(`{"type":"system","subtype":"init","session_id":"s","model":"m","tools":["Bash"]}` + "\n")
	for n := 0; b.Len() < size; n++ {
		fmt.Fprintf(&b, `{"type":"assistant","message":{"id":"msg_%d","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":%s}],"stop_reason":null,"usage":{"input_tokens":3,"cache_creation_input_tokens":120,"cache_read_input_tokens":18000,"output_tokens":50}},"parent_tool_use_id":null,"session_id":"s"}`+"\n",
			n, strconv.Quote("Reading the next file.\nIt is in <dir>/"+strconv.Itoa(n)))
		fmt.Fprintf(&b, `{"type":"assistant","message":{"id":"msg_%d","content":[{"type":"tool_use","id":"toolu_%d","name":"Read","input":{"file_path":"a.go"}}]},"parent_tool_use_id":null,"session_id":"s"}`+"\n", n, n)
		fmt.Fprintf(&b, `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_%d","type":"tool_result","content":%s}]},"session_id":"s","tool_use_result":{"stdout":%[2]s}}`+"\n",
			n, strconv.Quote(code))
	}
	b.WriteString(`{"is_error":false,"result":"Done.\n<promise>COMPLETE</promise>","total_cost_usd":0.5,"type":"result","subtype":"success"}` + "\n")
	return b.Bytes()
}

// codexMix is the same for a dialect whose tool results cannot be told from the
// beginning of the line.
func codexMix(size int) []byte {
	code := strings.Repeat("\tif err := run(ctx, \"name\"); err != nil {\n\t\treturn err\n\t}\n", 60)
	var b bytes.Buffer
	b.WriteString(`{"type":"thread.started","thread_id":"t"}` + "\n")
	for n := 0; b.Len() < size; n++ {
		fmt.Fprintf(&b, `{"type":"item.completed","item":{"id":"item_%d","type":"command_execution","command":"cat a.go","aggregated_output":%s,"exit_code":0,"status":"completed"}}`+"\n", n, strconv.Quote(code))
	}
	b.WriteString(`{"type":"item.completed","item":{"id":"last","type":"agent_message","text":"Done.\n<promise>COMPLETE</promise>"}}` + "\n")
	b.WriteString(`{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}` + "\n")
	return b.Bytes()
}

// oneLineOf is a single message of the given size, full of escape sequences.
func oneLineOf(size int) []byte {
	words := strings.Repeat(`All is well, and "quoted" too.\n`, size/30)
	words = strings.ReplaceAll(words, `"`, `\"`)
	return []byte(`{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"` + words + `\n\u003cpromise\u003eCOMPLETE\u003c/promise\u003e"}]},"parent_tool_use_id":null}` + "\n")
}

func plainMix(size int) []byte {
	return append(bytes.Repeat([]byte("ok  \tpkg/some/thing\t0.012s and a <little> more of what agents print\n"), size/68), "<promise>COMPLETE</promise>\n"...)
}

// BenchmarkDecoder decodes 16 MB in pieces of 64 KB. The floors are what any
// program that looks at each byte must spend: counting line feeds, and copying.
func BenchmarkDecoder(b *testing.B) {
	const size, piece = 16 << 20, 64 << 10
	feed := func(w io.Writer, data []byte) {
		for len(data) > 0 {
			n := min(piece, len(data))
			w.Write(data[:n])
			data = data[n:]
		}
	}
	for _, c := range []struct {
		name, format string
		data         []byte
	}{
		{"claude", "claude", claudeMix(size)},
		{"codex", "codex", codexMix(size)},
		{"oneline", "claude", oneLineOf(size)},
		{"lines", "claude", []byte(`{"type":"assistant","message":{"content":[{"type":"text","text":"` + strings.Repeat(`All is well, and this is a line of some length.\n`, size/49) + `<promise>COMPLETE</promise>"}]}}`)},
		{"text", "text", plainMix(size)},
	} {
		b.Run(c.name+"/floor-count", func(b *testing.B) {
			b.SetBytes(int64(len(c.data)))
			for b.Loop() {
				bytes.Count(c.data, []byte("\n"))
			}
		})
		b.Run(c.name+"/floor-copy", func(b *testing.B) {
			to := make([]byte, piece)
			b.SetBytes(int64(len(c.data)))
			for b.Loop() {
				feed(writerFunc(func(p []byte) { copy(to, p) }), c.data)
			}
		})
		for _, o := range []struct {
			name string
			Options
		}{
			{"decode", Options{Echo: "Do the work.\nThen say <promise>COMPLETE</promise>."}},
			{"display", Options{Display: io.Discard}},
		} {
			b.Run(c.name+"/"+o.name, func(b *testing.B) {
				b.SetBytes(int64(len(c.data)))
				b.ReportAllocs()
				for b.Loop() {
					d, err := New(c.format, o.Options)
					if err != nil {
						b.Fatal(err)
					}
					feed(d, c.data)
					if r := d.Result(); !strings.HasSuffix(strings.TrimSpace(r.Text), "\n<promise>COMPLETE</promise>") {
						b.Fatalf("%.200q", r.Text)
					}
				}
			})
		}
	}
}

type writerFunc func(p []byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}
