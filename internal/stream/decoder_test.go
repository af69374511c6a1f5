package stream

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDisplay: people see the agent's words as they come, once, and what tools it
// uses; nothing that moves their cursor.
func TestDisplay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, format string
		data         []byte
		want         string
	}{
		{"blocks", "claude", lines(
			`{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"I look.\u001b[2J"}]}}`,
			`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","name":"Bash","input":{"command":"go  test\n./..."}}]}}`,
			`{"type":"user","message":{"content":[{"type":"tool_result","content":"FAIL"}]}}`,
			`{"type":"assistant","message":{"id":"n","content":[{"type":"text","text":"It fails."}]}}`,
			`{"type":"result","subtype":"success","is_error":false,"result":"It fails."}`),
			"I look.\n→ Bash go test ./...\nIt fails.\n"},
		{"pieces and the whole", "copilot", lines(
			`{"type":"assistant.message_delta","data":{"messageId":"m1","deltaContent":"He"}}`,
			`{"type":"assistant.message_delta","data":{"messageId":"m1","deltaContent":"llo"}}`,
			`{"type":"assistant.message","data":{"messageId":"m1","content":"Hello"}}`,
			`{"type":"assistant.message_delta","data":{"messageId":"m2","deltaContent":"Bye"}}`),
			"Hello\nBye\n"},
		{"only the end event", "claude", lines(`{"type":"result","subtype":"success","is_error":false,"result":"Yes."}`), "Yes.\n"},
		{"pieces up to a tool", "gemini", lines(
			`{"type":"message","role":"assistant","content":"He","delta":true}`,
			`{"type":"message","role":"assistant","content":"re","delta":true}`,
			`{"type":"tool_use","tool_name":"write_file","parameters":{"file_path":"a.go"}}`,
			`{"type":"message","role":"assistant","content":"Done","delta":true}`),
			"Here\n→ write_file a.go\nDone\n"},
		{"text", "text", []byte("\x1b[31mred\x1b[0m\rgreen"), "red\ngreen\n"},
	} {
		for _, size := range []int{0, 1} {
			var out bytes.Buffer
			decode(t, tt.format, tt.data, size, Options{Display: &out})
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("%s, in pieces of %d (-want +got):\n%s", tt.name, size, diff)
			}
		}
	}
}

// TestLive: usage is told as soon as the stream tells it, and never shrinks.
func TestLive(t *testing.T) {
	t.Parallel()
	message := func(id string, in, out int) string {
		return fmt.Sprintf(`{"type":"assistant","message":{"id":%q,"content":"x","usage":{"input_tokens":%d,"output_tokens":%d}}}`, id, in, out)
	}
	var told []string
	live := func(u Usage) {
		cost := "?"
		if u.CostUSD != nil {
			cost = fmt.Sprint(*u.CostUSD)
		}
		told = append(told, fmt.Sprintf("%d %d/%d %s", u.Requests, u.InputTokens, u.OutputTokens, cost))
	}
	decode(t, "claude", lines(message("a", 10, 1), message("b", 20, 1), message("a", 10, 5),
		`{"type":"result","subtype":"success","is_error":false,"result":"x","total_cost_usd":0.5,"usage":{"input_tokens":30,"output_tokens":9}}`), 0, Options{Live: live})
	if diff := cmp.Diff([]string{"1 10/1 ?", "2 30/2 ?", "2 30/6 ?", "2 30/9 0.5"}, told); diff != "" {
		t.Errorf("claude (-want +got):\n%s", diff)
	}

	told = nil
	step := `{"type":"step_finish","part":{"reason":"tool-calls","cost":%s,"tokens":{"input":1,"output":1}}}`
	decode(t, "opencode", lines(fmt.Sprintf(step, "0.25"), fmt.Sprintf(step, "NaN"), fmt.Sprintf(step, "-1"), fmt.Sprintf(step, "1e999"), fmt.Sprintf(step, "0.5")), 0, Options{Live: live})
	if diff := cmp.Diff([]string{"1 1/1 0.25", "2 2/2 0.25", "3 3/3 0.25", "4 4/4 0.25", "5 5/5 0.75"}, told); diff != "" {
		t.Errorf("opencode (-want +got):\n%s", diff)
	}
}

// TestUsageOfManyMessages: of those that went by, what was told last counts.
func TestUsageOfManyMessages(t *testing.T) {
	t.Parallel()
	var data []string
	for i := range 100 {
		for out := range 3 {
			data = append(data, fmt.Sprintf(`{"type":"assistant","message":{"id":"m%d","content":[],"usage":{"input_tokens":7,"output_tokens":%d}}}`, i, out))
		}
	}
	got := decode(t, "claude", lines(data...), 0, Options{}).Usage
	if want := (Usage{Requests: 100, Messages: 100, InputTokens: 700, OutputTokens: 200}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestEnded: a driver may ask while the stream is being written.
func TestEnded(t *testing.T) {
	t.Parallel()
	d, err := New("claude", Options{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !d.Ended() {
		}
	}()
	d.Write([]byte(`{"type":"assistant","message":{"content":"x"}}` + "\n"))
	if d.Ended() {
		t.Error("ended before the end event")
	}
	d.Write([]byte(`{"type":"result","subtype":"success","result":"x"}`)) // no line feed yet
	<-done
}

func TestFilesAreBounded(t *testing.T) {
	t.Parallel()
	var changes []string
	for i := range 300 {
		changes = append(changes, fmt.Sprintf(`{"path":"f%d"}`, i%250))
	}
	got := decode(t, "codex", lines(`{"type":"item.completed","item":{"type":"file_change","changes":[`+strings.Join(changes, ",")+`]}}`), 0, Options{})
	if len(got.Files) != 200 || got.Files[0] != "f0" {
		t.Errorf("%d files, %q", len(got.Files), got.Files)
	}
}

// TestSkipped: what is no JSON is counted, and the last of it shown.
func TestSkipped(t *testing.T) {
	t.Parallel()
	var data []string
	for i := range 9 {
		data = append(data, fmt.Sprintf("npm \x1b[33mnotice\x1b[0m %d", i))
	}
	data = append(data, `{"type":"assis{"type":"result"}`, strings.Repeat("x", 1<<20))
	got := decode(t, "claude", lines(data...), 0, Options{})
	want := []string{"npm notice 6", "npm notice 7", "npm notice 8", `{"type":"assis{"type":"result"}`, strings.Repeat("x", 256)}
	if diff := cmp.Diff(want, got.LastSkipped); diff != "" || got.Skipped != 11 {
		t.Errorf("%d skipped (-want +got):\n%s", got.Skipped, diff)
	}
}

// TestOmittedAddsUp: what is left out of any block or piece is counted.
func TestOmittedAddsUp(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 200<<10)
	block := `{"type":"text","text":"` + long + `"}`
	for name, data := range map[string][]byte{
		"blocks of a line": lines(`{"type":"assistant","message":{"id":"m","content":[` + block + `,` + block + `]}}`),
		"blocks of lines":  lines(`{"type":"assistant","message":{"id":"m","content":[`+block+`]}}`, `{"type":"assistant","message":{"id":"m","content":[`+block+`]}}`),
		"pieces": lines(`{"type":"stream_event","event":{"delta":{"type":"text_delta","text":"`+long+`"}}}`,
			`{"type":"stream_event","event":{"delta":{"type":"text_delta","text":"`+long+`"}}}`),
	} {
		got := decode(t, "claude", data, 0, Options{})
		// The marks for what is left out are not part of what is kept.
		if kept := int64(2*len(long)) - got.Omitted; kept < 0 || kept > int64(len(got.Text)) || kept < int64(len(got.Text))-1<<10 {
			t.Errorf("%s: %d bytes, %d left out, %d kept", name, 2*len(long), got.Omitted, len(got.Text))
		}
	}
}
