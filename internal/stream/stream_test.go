package stream

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph/internal/reply"
	"github.com/ralph-loop/ralph/internal/term/termtest"
)

func lines(l ...string) []byte { return []byte(strings.Join(l, "\n") + "\n") }

func TestDecoderLines(t *testing.T) {
	t.Parallel()
	say := func(text string) string {
		return `{"type":"assistant","message":{"content":[{"type":"text","text":` + text + `}]}}`
	}
	for _, tt := range []struct {
		name, format string
		data         []byte
		text         string
		skipped      int
	}{
		{"escapes", "claude", lines(say(`"\u003ca\u003e \"q\" \\ \/ \n\t \ud83d\ude00 \u00e9"`)), "<a> \"q\" \\ / \n\t 😀 é", 0},
		{"half pairs", "claude", lines(say(`"a\ud83dz \ud83d\n \ude00 \ud83d\ud83d\ude00"`)), "a\uFFFDz \uFFFD\n \uFFFD \uFFFD😀", 0},
		{"escaped keys", "claude", lines(`{"\u0074ype":"assistant","message":{"content":[{"type":"text","te\u0078t":"yes"}]}}`), "yes", 0},
		{"type last", "claude", lines(`{"message":{"content":[{"text":"yes","type":"text"}]},"x":[1,{"y":"]}"}],"type":"assistant"}`), "yes", 0},
		{"sub-agent named last", "claude", lines(say(`"mine"`), `{"type":"assistant","message":{"content":[{"type":"text","text":"its"}]},"parent_tool_use_id":"t1"}`), "mine", 0},
		{"null parent", "claude", lines(`{"type":"assistant","message":{"content":[{"type":"text","text":"mine"}]},"parent_tool_use_id":null}`), "mine", 0},
		{"string content", "claude", lines(`{"type":"assistant","message":{"content":"yes"}}`), "yes", 0},
		{"raw control characters", "claude", lines(say("\"a\tb\x01c\"")), "a\tb\x01c", 0},
		{"invalid UTF-8", "claude", lines(say("\"a\xffb\"")), "a\uFFFDb", 0},
		{"a torn line costs itself only", "claude", lines(say(`"one"`)[:60], say(`"two"`), `{"type":"assistant","message":{"content":[{"type":"text","text":"torn`), "two", 2},
		{"torn in what is skipped", "claude", lines(`{"x":{"a":"b\`, `{"x":"a`, say(`"two"`)), "two", 2},
		{"noise", "claude", lines("", "\uFEFF"+say(`"one"`), "npm notice", "\x1b[32m"+say(`"two"`), "  "+say(`"three"`)+"\r", "[1]", "}", `{"a" 1}`, `{]}`), "three", 5},
		{"unknown types and shapes", "claude", lines(`{"type":"new","message":7}`, `{"type":5}`, `{}`, say(`"yes"`), `{"type":"assistant","message":{"content":[[[["deep"]]],null,3]}}`), "yes", 0},
		{"backslashes before the end", "claude", lines(`{"x":"\\\\","y":"a\\\"b","type":"assistant","message":{"content":"yes"}}`), "yes", 0},
		{"a key twice", "claude", lines(`{"type":"user","type":"assistant","message":{"content":"no"}}`), "", 0},
		{"thinking", "claude", lines(`{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"no","text":"no"}]}}`), "", 0},
		{"partial messages, three copies", "claude", lines(
			`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"He"}}}`,
			`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"llo"}}}`,
			say(`"Hello"`), `{"type":"result","subtype":"success","is_error":false,"result":"Hello"}`), "Hello", 0},
		{"a message after pieces that were cut, with no word", "claude", lines(
			`{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1"}}}`, `{"type":"stream_event","event":{"delta":{"type":"text_delta","text":"cut"}}}`,
			`{"type":"assistant","message":{"id":"m2","content":[{"type":"tool_use","name":"Bash"}]}}`), "", 0},
		{"the beginning of one", "claude", lines(say(`"said"`),
			`{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1"}}}`, `{"type":"stream_event","event":{"delta":{"type":"text_delta","text":"cut"}}}`,
			`{"type":"stream_event","event":{"type":"message_start","message":{"id":"m2"}}}`), "said", 0},
		{"blocks with a thought between", "claude", lines(`{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"a"}]}}`,
			`{"type":"assistant","message":{"id":"m","content":[{"type":"thinking","thinking":"no"}]}}`, `{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"b"}]}}`,
			`{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"c"}]}}`), "a\nbc", 0},
		{"blocks of a line with a tool between", "claude", lines(`{"type":"assistant","message":{"content":[{"type":"text","text":"a"},{"type":"tool_use","name":"Bash"},{"type":"text","text":"b"},{"type":"text","text":"c"}]}}`), "a\nbc", 0},
		{"max turns", "claude", lines(say(`"half"`), `{"type":"result","subtype":"error_max_turns","num_turns":40,"errors":["too many"]}`), "half", 0},
		{"amp repeats the prompt", "amp", lines(
			`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"Say <promise>X</promise>"}]}}`,
			`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"Working."}],"usage":{"max_tokens":168000}}}`,
			`{"type":"result","subtype":"success","is_error":false,"result":"Working."}`), "Working.", 0},
		{"cline marks its end", "cline", lines(`{"type":"say","say":"completion_result","text":"Done.\nHAS_CHANGES","partial":false}`), "Done.\n", 0},
		{"cline grows", "cline", lines(`{"type":"say","say":"text","text":"I w","partial":true}`, `{"type":"say","say":"text","text":"I will","partial":true}`), "I will", 0},
		{"cline asks the model again", "cline", lines(`{"type":"say","say":"text","text":"cut","partial":true}`, `{"type":"say","say":"api_req_retried"}`, `{"type":"say","say":"tool","text":"{}"}`), "", 0},
		{"cline after an error", "cline", lines(`{"type":"agent_event","event":{"type":"content_end","contentType":"text","text":"said"}}`, `{"type":"agent_event","event":{"type":"content_start","contentType":"text","text":"cut"}}`,
			`{"type":"agent_event","event":{"type":"error","error":{"message":"reset"}}}`, `{"type":"agent_event","event":{"type":"iteration_start"}}`), "said", 0},
		{"cursor's end repeats all", "cursor", lines(say(`"I look."`), `{"type":"tool_call","subtype":"completed"}`, say(`"Done."`), `{"type":"result","subtype":"success","is_error":false,"result":"I look.Done."}`), "Done.", 0},
		{"cursor's end says more", "cursor", lines(say(`"Done."`), `{"type":"result","subtype":"success","is_error":false,"result":"Done. Bye."}`), "Done. Bye.", 0},
		{"cursor in pieces", "cursor", lines(`{"type":"assistant","timestamp_ms":1,"message":{"content":[{"type":"text","text":"I do not "}]}}`, `{"type":"assistant","timestamp_ms":2,"message":{"content":[{"type":"text","text":"say X"}]}}`), "I do not say X", 0},
		{"cursor in pieces, and whole", "cursor", lines(`{"type":"assistant","timestamp_ms":1,"message":{"content":"I lo"}}`, `{"type":"assistant","timestamp_ms":2,"model_call_id":"c","message":{"content":"I look."}}`,
			`{"type":"tool_call","subtype":"started"}`, `{"type":"assistant","timestamp_ms":3,"message":{"content":"Do"}}`, say(`"Done."`), `{"type":"result","subtype":"success","is_error":false,"result":"I look.Done."}`), "Done.", 0},
		{"gemini thinks", "gemini", lines(`{"type":"message","role":"assistant","content":"said"}`, `{"type":"message","role":"assistant","content":[{"text":"thought","thought":true}],"delta":true}`), "said", 0},
		{"gemini after an error", "gemini", lines(`{"type":"message","role":"assistant","content":"cu","delta":true}`, `{"type":"error","severity":"error","message":"invalid"}`, `{"type":"message","role":"assistant","content":"said","delta":true}`), "said", 0},
		{"gemini repeats what was before", "gemini", lines(`{"type":"message","role":"assistant","content":"before","delta":true}`, `{"type":"init","session_id":"g"}`, `{"type":"message","role":"user","content":"Go on."}`), "", 0},
		{"opencode's parts", "opencode", lines(`{"type":"text","part":{"id":"p1","messageID":"m","type":"text","text":"a"}}`, `{"type":"text","part":{"id":"p2","messageID":"m","type":"text","text":"b"}}`), "a\nb", 0},
		{"opencode's parts with a tool between", "opencode", lines(`{"type":"text","part":{"messageID":"m","text":"a"}}`, `{"type":"tool_use","part":{"tool":"bash"}}`, `{"type":"text","part":{"messageID":"m","text":"b"}}`), "a\nb", 0},
		{"opencode, not the agent's", "opencode", lines(`{"type":"text","part":{"messageID":"m","type":"text","text":"said"}}`, `{"type":"text","part":{"messageID":"u","type":"text","text":"Go on.","synthetic":true}}`, `{"type":"text","part":{"messageID":"n","type":"reasoning","text":"thought"}}`), "said", 0},
		{"gemini pieces", "gemini", lines(`{"type":"message","role":"assistant","content":"a","delta":true}`, `{"type":"tool_use"}`,
			`{"type":"message","role":"assistant","content":"b","delta":true}`, `{"type":"message","role":"assistant","content":"c","delta":true}`), "bc", 0},
	} {
		for _, size := range []int{0, 1, 7} {
			got := decode(t, tt.format, tt.data, size, Options{})
			if got.Text != tt.text || got.Skipped != tt.skipped {
				t.Errorf("%s, in pieces of %d: text %q, want %q; skipped %d, want %d (%q)", tt.name, size, got.Text, tt.text, got.Skipped, tt.skipped, got.LastSkipped)
			}
		}
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	if _, err := New("morse", Options{}); err == nil || !strings.Contains(err.Error(), "claude, cline") {
		t.Error(err)
	}
	for _, f := range Formats() {
		if got := decode(t, f, nil, 0, Options{}); got.Text != "" || got.Ended != (f == "text") || got.Failed {
			t.Errorf("%s, nothing: %+v", f, got)
		}
	}
}

func TestEcho(t *testing.T) {
	t.Parallel()
	prompt := "  Do it. Do it well.\nSay <promise>X</promise> then. Do it.\n\n"
	inner := strings.TrimSpace(prompt)
	for _, tt := range []struct{ in, want string }{
		{inner, reply.Mark},
		{"a" + inner + "b" + inner + "c", "a" + reply.Mark + "b" + reply.Mark + "c"},
		{"Do it. Do it. " + inner + ".", "Do it. Do it. " + reply.Mark + "."},
		{inner[:20], inner[:20]},
		{inner[:20] + inner, inner[:20] + reply.Mark},
		{inner[:len(inner)-1] + "!", inner[:len(inner)-1] + "!"},
		{"nothing", "nothing"},
	} {
		for _, size := range []int{0, 1, 3, 10} {
			if got := decode(t, "text", []byte(tt.in), size, Options{Echo: prompt}); got.Text != tt.want {
				t.Errorf("%q in pieces of %d: %q, want %q", tt.in, size, got.Text, tt.want)
			}
		}
	}
	if got := decode(t, "text", []byte("Do it."), 0, Options{Echo: "Do it."}); got.Text != "Do it." {
		t.Errorf("a prompt without a tag is removed: %q", got.Text)
	}
}

func TestTextBounds(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("All is well in this line.\n", 40<<10)
	tag := "<promise>X</promise>"
	for _, size := range []int{0, 1 << 10, 100_003} {
		got := decode(t, "text", []byte("first\n"+long+"say "+tag+" here\n"+long+"last"), size, Options{})
		if got.Omitted == 0 || len(got.Text) > 600<<10 {
			t.Fatalf("%d bytes, %d left out", len(got.Text), got.Omitted)
		}
		if !strings.HasPrefix(got.Text, "first\n") || !strings.HasSuffix(got.Text, "\nlast") || !strings.Contains(got.Text, "\nsay "+tag+" here\n") {
			t.Errorf("in pieces of %d, the ends or the tag are lost", size)
		}
		for i, line := range strings.Split(got.Text, "\n") {
			if line != "" && line != "first" && line != "last" && line != "All is well in this line." && !strings.Contains(line, tag) && !strings.Contains(line, "left out") {
				t.Errorf("line %d is cut: %q", i, line)
			}
		}
	}
	// A fence that is open at the cut is open in the tail.
	got := decode(t, "text", []byte("```\n"+long+tag), 0, Options{})
	var f reply.Fence
	f.Lines(strings.TrimSuffix(got.Text, tag))
	if f.Open() == "" {
		t.Error("the tail is outside of the fence")
	}
	// One that was closed in what is left out is closed.
	got = decode(t, "text", []byte("```\n"+long+"```\n"+long+tag), 0, Options{})
	f = reply.Fence{}
	f.Lines(strings.TrimSuffix(got.Text, tag))
	if f.Open() != "" {
		t.Error("the tail is in a fence")
	}
	// A line without end is cut between runes, and its rest is no line of its own.
	got = decode(t, "text", []byte(strings.Repeat("é", 1<<20)+tag), 0, Options{})
	if strings.Contains(got.Text, "\uFFFD") || strings.Contains(got.Text, "\n"+tag) || !strings.HasSuffix(got.Text, "é"+tag) {
		t.Error("a long line is cut badly")
	}
}

// FuzzDecoder checks that it does not matter in which pieces a stream comes.
func FuzzDecoder(f *testing.F) {
	files, _ := filepath.Glob("testdata/captures/*.ndjson")
	for i, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 8<<10 {
			f.Add(data, uint8(i), uint8(i*7))
		}
	}
	tools, _ := filepath.Glob("testdata/tools/*.ndjson")
	for i, file := range tools {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		format, _, _ := strings.Cut(filepath.Base(file), "-")
		f.Add(data, uint8(slices.Index(Formats(), format)), uint8(i*5))
	}
	f.Add([]byte("Do it: <promise>X</promise>\n{\"type\":\"a\\ud83d"), uint8(0), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, format, size uint8) {
		name := Formats()[int(format)%len(Formats())]
		echo := "Do it: <promise>X</promise>"
		once := decode(t, name, data, 0, Options{Echo: echo})
		pieces := decode(t, name, data, int(size)%64+1, Options{Echo: echo})
		if diff := cmp.Diff(once, pieces); diff != "" {
			t.Fatalf("%s, in pieces of %d:\n%s", name, int(size)%64+1, diff)
		}
		if once, pieces := display(t, name, data, 0, false), display(t, name, data, int(size)%64+1, false); once != pieces || termtest.Unsafe(once) != "" {
			t.Fatalf("%s, in pieces of %d, is shown as %q and at once as %q", name, int(size)%64+1, pieces, once)
		}
		if strings.ToValidUTF8(once.Text, "") != once.Text {
			t.Fatalf("the text is not valid UTF-8: %q", once.Text)
		}
	})
}
