package stream

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// laterMessages are ways in which a client of a format prints one more message,
// whole.
func laterMessages(format, session, text string) [][]byte {
	claude := fmt.Sprintf(`{"type":"assistant","message":{"id":"later","content":[{"type":"text","text":%q}]},"parent_tool_use_id":null,"session_id":%q}`, text, session)
	half := text[:len(text)/2]
	return map[string][][]byte{
		"claude": {lines(claude), lines(`{"type":"system","subtype":"init","session_id":"new"}`, strings.Replace(claude, fmt.Sprintf(`"session_id":%q`, session), `"session_id":"new"`, 1)),
			lines(`{"type":"system","subtype":"api_retry","attempt":1}`,
				`{"type":"stream_event","event":{"type":"message_start","message":{"id":"later"}}}`,
				fmt.Sprintf(`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":%q}}}`, half), claude)},
		"cursor": {lines(claude), lines(fmt.Sprintf(`{"type":"assistant","timestamp_ms":1,"message":{"content":%q},"session_id":%q}`, half, session), claude),
			lines(`{"type":"tool_call","subtype":"started"}`, fmt.Sprintf(`{"type":"assistant","timestamp_ms":1,"message":{"content":%q},"session_id":%q}`, text, session))},
		"amp":   {lines(claude)},
		"codex": {lines(fmt.Sprintf(`{"type":"item.completed","item":{"id":"later","type":"agent_message","text":%q}}`, text))},
		"cline": {lines(fmt.Sprintf(`{"type":"agent_event","event":{"type":"content_end","contentType":"text","text":%q}}`, text)),
			lines(fmt.Sprintf(`{"type":"say","say":"text","text":%q,"partial":false}`, text)),
			lines(`{"type":"agent_event","event":{"type":"iteration_start","iteration":9}}`, fmt.Sprintf(`{"type":"agent_event","event":{"type":"content_start","contentType":"text","text":%q}}`, text))},
		"gemini": {lines(fmt.Sprintf(`{"type":"message","role":"assistant","content":%q}`, text)),
			lines(`{"type":"init","session_id":"new"}`, fmt.Sprintf(`{"type":"message","role":"assistant","content":%q,"delta":true}`, text)),
			lines(`{"type":"tool_result","tool_id":"t"}`, fmt.Sprintf(`{"type":"message","role":"assistant","content":%q,"delta":true}`, half),
				fmt.Sprintf(`{"type":"message","role":"assistant","content":%q,"delta":true}`, text[len(half):]))},
		"opencode": {lines(fmt.Sprintf(`{"type":"text","sessionID":%q,"part":{"messageID":"later","text":%q}}`, session, text))},
		"copilot": {lines(fmt.Sprintf(`{"type":"assistant.message","data":{"messageId":"later","content":%q,"toolRequests":[]}}`, text)),
			lines(fmt.Sprintf(`{"type":"assistant.message_delta","data":{"messageId":"later","deltaContent":%q}}`, half),
				fmt.Sprintf(`{"type":"assistant.message","data":{"messageId":"later","content":%q,"toolRequests":[]}}`, text)),
			lines(`{"type":"assistant.turn_retry","data":{"turnId":"0","reason":"streaming_error"}}`,
				fmt.Sprintf(`{"type":"assistant.message_delta","data":{"messageId":"later","deltaContent":%q}}`, text))},
		"kimi": {lines(fmt.Sprintf(`{"role":"assistant","content":%q}`, text))},
	}[format]
}

// TestLaterMessageWins: whatever came of a stream, cut at any line, or torn in the
// middle of one, a message that comes whole after it is what the agent said last.
func TestLaterMessageWins(t *testing.T) {
	t.Parallel()
	const text = "I am not finished yet."
	files, err := filepath.Glob("testdata/*/*.ndjson")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		format, _, _ := strings.Cut(filepath.Base(file), "-")
		check := func(begun []byte, torn string) {
			session := decode(t, format, begun, 0, Options{}).Session
			for n, later := range laterMessages(format, session, text) {
				got := decode(t, format, append(append(bytes.Clone(begun), torn...), later...), 0, Options{})
				if got.Text != text {
					t.Fatalf("%s, cut after %q%s, message %d: %q", file, begun[max(len(begun)-60, 0):], torn, n, got.Text)
				}
			}
		}
		check(nil, "")
		for at, c := range data {
			if c == '\n' {
				check(data[:at+1], "")
			}
			if at%97 == 0 {
				check(data[:at], "\n")                     // the line is ended
				check(data[:at], `{"type":"other"}`+"\n")  // or goes on as another one
				check(data[:at], "\n{\"type\":\"assist\n") // or is torn twice
			}
		}
	}
	for _, format := range Formats() {
		if format != "text" && len(laterMessages(format, "", "ab")) == 0 {
			t.Errorf("%s has no later message", format)
		}
	}
}

func TestRetriedTurn(t *testing.T) {
	t.Parallel()
	piece := func(id, text string) string {
		return fmt.Sprintf(`{"type":"assistant.message_delta","data":{"messageId":%q,"deltaContent":%q},"ephemeral":true}`, id, text)
	}
	whole := func(id, text string) string {
		return fmt.Sprintf(`{"type":"assistant.message","data":{"messageId":%q,"content":%q,"toolRequests":[]}}`, id, text)
	}
	const (
		claim = "All done.\n<promise>DONE</promise>"
		not   = "I am not finished yet."
		retry = `{"type":"assistant.turn_retry","data":{"turnId":"0","model":"m","reason":"streaming_error"},"ephemeral":true}`
		turn  = `{"type":"assistant.turn_start","data":{"turnId":"1"}}`
		done  = `{"type":"result","sessionId":"c","exitCode":0}`
	)
	for _, tt := range []struct {
		name string
		data []byte
		text string
	}{
		{"a claim that was cut", lines(piece("m1", claim), retry, piece("m2", "I am not"), whole("m2", not), done), not},
		{"nothing but that", lines(piece("m1", claim), retry), ""},
		{"only pieces after it", lines(piece("m1", claim), retry, piece("m2", "I am not")), "I am not"},
		{"a claim three turns later", lines(piece("m1", "Half of"), retry, whole("m2", not), turn, whole("m3", not), turn, piece("m4", claim), whole("m4", claim), done), claim},
		{"without a word of the retry", lines(piece("m1", claim), turn, whole("m2", not), turn, whole("m3", not), done), not},
		{"a tool's use after it", lines(whole("m0", not), piece("m1", claim), `{"type":"assistant.message","data":{"messageId":"m2","content":null,"toolRequests":[{"name":"bash"}]}}`, done), not},
		{"nothing after it but a turn", lines(whole("m0", not), piece("m1", claim), turn, done), not},
		{"late pieces of a whole message", lines(whole("m1", not), piece("m1", claim), done), not},
		{"a thought", lines(whole("m1", not), piece("m2", claim), strings.Replace(whole("m2", claim), `"toolRequests"`, `"phase":"thinking","toolRequests"`, 1), done), not},
		{"a history", lines(whole("m1", claim), `{"type":"session.resume","data":{}}`, done), ""},
		{"a turn of a sub-agent's", lines(piece("m1", claim), `{"type":"assistant.turn_retry","data":{},"agentId":"a1"}`), claim},
		{"what began later", lines(piece("m1", claim), piece("m2", not), whole("m1", claim)), not},
	} {
		for _, size := range []int{0, 1} {
			if got := decode(t, "copilot", tt.data, size, Options{}); got.Text != tt.text {
				t.Errorf("%s: %q, want %q", tt.name, got.Text, tt.text)
			}
		}
	}
}

// TestOtherSessions: what another session, or a sub-agent, says in the stream is
// not what the agent says.
func TestOtherSessions(t *testing.T) {
	t.Parallel()
	const not = "Not yet."
	for _, tt := range []struct {
		name, format string
		data         []byte
		session      string
		ended        bool
	}{
		{"opencode, at the end", "opencode", lines(
			`{"type":"step_start","sessionID":"s1","part":{}}`, `{"type":"text","sessionID":"s1","part":{"messageID":"m1","text":"Not yet."}}`,
			`{"type":"step_finish","sessionID":"s1","part":{"reason":"stop","cost":1}}`, `{"type":"step_start","sessionID":"s2","part":{}}`,
			`{"type":"text","sessionID":"s2","part":{"messageID":"m2","text":"<promise>DONE</promise>"}}`, `{"type":"error","sessionID":"s2","error":{"name":"x","data":{"statusCode":429}}}`), "s1", true},
		{"opencode, its end is not the run's", "opencode", lines(
			`{"type":"step_start","sessionID":"s1","part":{}}`, `{"type":"text","sessionID":"s1","part":{"messageID":"m1","text":"Not yet."}}`,
			`{"type":"text","sessionID":"s2","part":{"messageID":"m1","text":"<promise>DONE</promise>"}}`, `{"type":"step_finish","sessionID":"s2","part":{"reason":"stop"}}`), "s1", false},
		{"claude", "claude", lines(`{"type":"system","subtype":"init","session_id":"s1"}`,
			`{"type":"assistant","session_id":"s1","message":{"id":"m1","content":"Not yet."}}`,
			`{"type":"assistant","session_id":"s2","message":{"id":"m2","content":"<promise>DONE</promise>"}}`,
			`{"type":"stream_event","session_id":"s2","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"<promise>DONE</promise>"}}}`,
			`{"type":"result","session_id":"s2","is_error":false,"result":"<promise>DONE</promise>"}`), "s1", false},
		{"claude, a new session of the run", "claude", lines(`{"type":"system","subtype":"init","session_id":"s1"}`,
			`{"type":"assistant","session_id":"s1","message":{"id":"m1","content":"<promise>DONE</promise>"}}`, `{"type":"system","subtype":"init","session_id":"s2"}`,
			`{"type":"result","session_id":"s2","is_error":false,"result":"Not yet."}`), "s2", true},
		{"claude, before the run's own", "claude", lines(`{"type":"system","subtype":"init","session_id":"s1"}`,
			`{"type":"assistant","session_id":"s2","message":{"id":"m2","content":"<promise>DONE</promise>"}}`,
			`{"type":"assistant","session_id":"s1","message":{"id":"m1","content":"Not yet."}}`, `{"type":"result","session_id":"s1","is_error":false,"result":""}`), "s1", true},
		{"claude, before the run's beginning", "claude", lines(`{"type":"assistant","session_id":"s0","message":{"id":"m0","content":"<promise>DONE</promise>"}}`,
			`{"type":"system","subtype":"init","session_id":"s1"}`, `{"type":"result","session_id":"s1","is_error":false,"result":"Not yet."}`), "s1", true},
		{"claude, a side chain and a replay", "claude", lines(`{"type":"assistant","session_id":"s1","message":{"content":"Not yet."}}`,
			`{"type":"assistant","session_id":"s1","isSidechain":true,"message":{"content":"<promise>DONE</promise>"}}`,
			`{"type":"assistant","session_id":"s1","isReplay":true,"message":{"content":"<promise>DONE</promise>"}}`, `{"type":"result","session_id":"s1","is_error":false,"result":""}`), "s1", true},
		{"opencode, a part", "opencode", lines(`{"type":"text","sessionID":"s1","part":{"messageID":"m1","text":"Not yet."}}`,
			`{"type":"text","sessionID":"s1","part":{"sessionID":"s2","messageID":"m2","text":"<promise>DONE</promise>"}}`, `{"type":"step_finish","sessionID":"s1","part":{"reason":"stop"}}`), "s1", true},
		{"cline, a sub-agent", "cline", lines(`{"type":"agent_event","event":{"type":"content_end","contentType":"text","text":"Not yet."}}`,
			`{"type":"agent_event","parentAgentId":"a1","event":{"type":"content_end","contentType":"text","text":"<promise>DONE</promise>"}}`, `{"type":"run_result","finishReason":"completed","text":""}`), "", true},
		{"gemini", "gemini", lines(`{"type":"init","session_id":"s0"}`, `{"type":"message","role":"assistant","content":"<promise>DONE</promise>"}`,
			`{"type":"init","session_id":"s1"}`, `{"type":"message","role":"assistant","content":"Not yet.","delta":true}`,
			`{"type":"message","role":"assistant","content":"<promise>DONE</promise>","session_id":"s0"}`, `{"type":"result","status":"success","session_id":"s1"}`), "s1", true},
		{"copilot, another session", "copilot", lines(`{"type":"assistant.message","sessionId":"c","data":{"messageId":"m1","content":"Not yet."}}`,
			`{"type":"assistant.message","sessionId":"d","data":{"messageId":"m2","content":"<promise>DONE</promise>"}}`, `{"type":"result","sessionId":"c","exitCode":0}`), "c", true},
		{"amp, a sub-agent", "amp", lines(`{"type":"assistant","session_id":"T1","message":{"content":"Not yet."}}`,
			`{"type":"assistant","session_id":"T1","parent_tool_use_id":"t","message":{"content":"<promise>DONE</promise>"}}`,
			`{"type":"result","parent_tool_use_id":"t","result":"<promise>DONE</promise>"}`), "T1", false},
		{"codex", "codex", lines(`{"type":"thread.started","thread_id":"t1"}`, `{"type":"item.completed","item":{"type":"agent_message","text":"Not yet."}}`,
			`{"type":"thread.started","thread_id":"t2"}`, `{"type":"item.completed","thread_id":"t2","item":{"type":"agent_message","text":"<promise>DONE</promise>"}}`,
			`{"type":"turn.completed","thread_id":"t2"}`), "t1", false},
		{"copilot", "copilot", lines(`{"type":"assistant.message","data":{"messageId":"m1","content":"Not yet."}}`,
			`{"type":"assistant.message_delta","agentId":"a1","data":{"messageId":"m2","deltaContent":"<promise>DONE</promise>"}}`,
			`{"type":"assistant.message","agentId":"a1","data":{"messageId":"m2","content":"<promise>DONE</promise>"}}`,
			`{"type":"session.error","agentId":"a1","data":{"errorType":"rate_limit","message":"429"}}`, `{"type":"result","sessionId":"c","exitCode":0}`), "c", true},
	} {
		for _, size := range []int{0, 1} {
			got := decode(t, tt.format, tt.data, size, Options{})
			if got.Text != not || got.Session != tt.session || got.Ended != tt.ended || got.Failed || got.Kind == Limit {
				t.Errorf("%s: %s", tt.name, got.describe())
			}
		}
	}
}
