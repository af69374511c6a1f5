package ralph_test

import (
	"testing"

	"github.com/ralph-loop/ralph"
)

// The stream is decoded first, and there is one detector: what a raw search
// would find in metadata or tool results is no claim.
func TestFailure03OneDetectorOnDecodedText(t *testing.T) {
	t.Parallel()
	it := faultOf(t, sh("claude", says(`{"type":"system","subtype":"init","slash_commands":["<promise>COMPLETE</promise>"]}`,
		`{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Write","input":{"content":"<promise>COMPLETE</promise>"}}]}}`,
		`{"type":"assistant","message":{"content":[{"type":"text","text":"Not yet."}]}}`, `{"type":"result","is_error":false,"result":"Not yet."}`)))
	if it.Claimed || it.Fault != "" {
		t.Errorf("%+v", it)
	}
	it = faultOf(t, sh("claude", says(`{"type":"assistant","message":{"content":[{"type":"text","text":"\u003cpromise\u003eCOMPLETE\u003c/promise\u003e"}]}}`, `{"type":"result","is_error":false,"result":""}`)))
	if !it.Claimed {
		t.Errorf("%+v", it)
	}
}

// Every known client's way to repeat the prompt is no claim.
func TestFailure04EchoedPrompt(t *testing.T) {
	t.Parallel()
	const tag = `<promise>COMPLETE</promise>`
	for format, line := range map[ralph.Format]string{
		ralph.FormatAmp:     `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"Say\n` + tag + `"}]}}`,
		ralph.FormatClaude:  `{"type":"user","isReplay":true,"message":{"role":"user","content":"Say\n` + tag + `"}}`,
		ralph.FormatGemini:  `{"type":"message","role":"user","content":"Say\n` + tag + `"}`,
		ralph.FormatCopilot: `{"type":"user.message","data":{"content":"Say\n` + tag + `"}}`,
		ralph.FormatCline:   `{"type":"say","say":"task","text":"Say\n` + tag + `"}`,
		ralph.FormatKimi:    `{"role":"user","content":"Say\n` + tag + `"}`,
	} {
		if it := faultOf(t, sh(format, says(line))); it.Claimed {
			t.Errorf("%s: %+v", format, it)
		}
	}
}
