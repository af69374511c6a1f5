package ralph_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph"
)

// TestFailure28TranscriptNotFlushed: a session's transcript was read before its last
// message was in it: the promise was missed, or the loop was taken to be over.
func TestFailure28TranscriptNotFlushed(t *testing.T) {
	inBubble(t, "transcript", func(t *testing.T) {
		h, path := newHost(), filepath.Join(t.TempDir(), "transcript.jsonl")
		h.hook.Messages = nil
		h.start(t, "s", ralph.Task{Prompt: "Do it."})
		const prompt, answer = `{"role":"user","content":"Do it."}` + "\n", `{"role":"assistant","content":"<promise>DONE</promise>"}` + "\n"
		for _, text := range []string{"", prompt[:7], prompt, prompt + answer[:9], prompt + answer[:len(answer)-3]} {
			if text != "" {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			x, err := h.hook.Idle(t.Context(), ralph.Turn{Session: "s", Transcript: path})
			if !errors.Is(err, ralph.ErrNoMessage) || !h.state(t, "s").Active() || x.State.Iteration != 1 || h.injected() != 0 {
				t.Fatalf("%q: %v %v", text, x.State.Iteration, err)
			}
		}
		if err := os.WriteFile(path, []byte(prompt+answer), 0o600); err != nil {
			t.Fatal(err)
		}
		if x, err := h.hook.Idle(t.Context(), ralph.Turn{Session: "s", Transcript: path}); err != nil || x.State.Stop != ralph.StopVerified {
			t.Error(x.State.Stop, err)
		}
	})
}

// TestFailure04SessionsPrompt: the prompt, which holds the tag, was taken for the
// agent's answer. TestFailure05SessionsText: so was an answer without a tag that is the
// promise. TestFailure06SessionsPromise: of a promise of several words one was enough.
func TestFailure04SessionsPrompt(t *testing.T)  { notDone(t, "Do it: <promise>ALL DONE</promise>", "") }
func TestFailure05SessionsText(t *testing.T)    { notDone(t, "Do it.", "ALL DONE") }
func TestFailure06SessionsPromise(t *testing.T) { notDone(t, "Do it.", "<promise>DONE</promise>") }

// notDone has a session say something that is no claim; "" = it repeats its prompt.
func notDone(t *testing.T, prompt, answer string) {
	inBubble(t, "session", func(t *testing.T) {
		h := newHost()
		x := h.start(t, "s", ralph.Task{Prompt: prompt, Promise: "ALL DONE"})
		if answer == "" {
			answer = x.State.Opening()
		}
		if x := h.answer(t, "s", answer); x.State.Stop != "" || x.State.Iteration != 2 || x.Last.Claimed {
			t.Error(x.State.Stop, x.State.Iteration, x.Last.Claimed)
		}
		if x := h.answer(t, "s", "<promise>all done</promise>"); x.State.Stop != ralph.StopVerified {
			t.Error("a claim:", x.State.Stop)
		}
	})
}
