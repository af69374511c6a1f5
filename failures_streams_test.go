package ralph_test

import (
	"fmt"
	"strings"
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

// Every known client's way to repeat the prompt is no claim, neither the prompt
// that was sent nor any other; and what the agent says after it is its answer.
func TestFailure04EchoedPrompt(t *testing.T) {
	t.Parallel()
	claude := []string{`{"type":"user","isReplay":true,"message":{"role":"user","content":%s}}`,
		`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":%s}]}}`}
	for format, lines := range map[ralph.Format][]string{
		ralph.FormatAmp:     {`{"type":"user","message":{"role":"user","content":[{"type":"text","text":%s}]}}`, claude[1]},
		ralph.FormatClaude:  claude,
		ralph.FormatGemini:  {`{"type":"message","role":"user","content":%s}`, `{"type":"message","role":"assistant","content":%s}`},
		ralph.FormatCopilot: {`{"type":"user.message","data":{"content":%s}}`, `{"type":"assistant.message","data":{"messageId":"m1","content":%s}}`},
		ralph.FormatCline:   {`{"type":"say","say":"task","text":%s}`, `{"type":"say","say":"completion_result","text":%s}`},
		ralph.FormatKimi:    {`{"role":"user","content":%s}`, `{"role":"assistant","content":%s}`},
	} {
		for _, echo := range []string{"Say\n<promise>COMPLETE</promise>", ralph.Start(ralph.Task{Prompt: "Go on."}).Prompt()} {
			for answer, claimed := range map[string]bool{"": false, "Not yet.": false, done: true} {
				stream := says(fmt.Sprintf(lines[0], asJSON(t, echo)))
				if answer != "" {
					stream += says(fmt.Sprintf(lines[1], asJSON(t, answer)))
				}
				if it := faultOf(t, sh(format, stream)); it.Claimed != claimed {
					t.Errorf("%s, %q: %+v", format, answer, it)
				}
			}
		}
	}
}

// As text, the prompt is taken out of the answer wherever it stands.
func TestFailure04EchoedPromptAsText(t *testing.T) {
	t.Parallel()
	prompt := ralph.Start(ralph.Task{Prompt: "Go on."}).Prompt()
	for answer, claimed := range map[string]bool{"": false, "\nNot yet.\n": false, "\n" + done + "\n": true} {
		for _, echo := range []string{"cat", "cat; echo; cat; echo"} {
			it := faultOf(t, sh("text", echo+"; "+says(strings.TrimSuffix(answer, "\n"))))
			if it.Claimed != claimed {
				t.Errorf("%s, then %q: %+v", echo, answer, it)
			}
		}
		if it := faultOf(t, sh("text", says(prompt+answer))); it.Claimed != claimed {
			t.Errorf("said, then %q: %+v", answer, it)
		}
	}
}
