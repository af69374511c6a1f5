package ralph_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

const claimed = "<promise>DONE</promise>"

func user(text string) ralph.Message   { return ralph.Message{Role: "user", Content: text} }
func agent(text string) ralph.Message  { return ralph.Message{Role: "assistant", Content: text} }
func system(text string) ralph.Message { return ralph.Message{Role: "system", Content: text} }

// TestHookLooksInTheNewestAnswerOnly lays a promise where it counts and where it does
// not.
func TestHookLooksInTheNewestAnswerOnly(t *testing.T) {
	p2 := prompt2(t)
	for _, test := range []struct {
		name   string
		before []ralph.Message // in the session when the loop starts
		first  []ralph.Message // its first turn, if the second is the one to judge
		last   []ralph.Message
		want   string // "done", "not done", "no message"
	}{
		{"the answer", nil, nil, []ralph.Message{user("Do it."), agent(claimed)}, "done"},
		{"the user's text alone", nil, nil, []ralph.Message{user("Do it. Then say " + claimed), agent("Yes.")}, "not done"},
		{"a system message", nil, nil, []ralph.Message{user("Do it."), system(claimed), agent("Yes."), system(claimed)}, "not done"},
		{"a tool's result", nil, nil, []ralph.Message{user("Do it."), {Role: "tool", Content: claimed}, agent("Yes."), {Role: "tool", Content: claimed}}, "not done"},
		{"a loop before", []ralph.Message{user("Do it."), agent(claimed)}, nil, []ralph.Message{user("Do it."), agent("Yes.")}, "not done"},
		{"a loop before, and the prompt is not there yet", []ralph.Message{user("Do it."), agent(claimed)}, nil, nil, "no message"},
		{"a loop before, and the answer is not there yet", []ralph.Message{user("Do it."), agent(claimed)}, nil, []ralph.Message{user("Do it.")}, "no message"},
		{"an older text of the same answer", nil, nil, []ralph.Message{user("Do it."), agent("I am to say " + claimed + " at the end."), agent("Now I begin.")}, "not done"},
		{"an older answer of this loop", nil, []ralph.Message{user("Do it."), agent("So far.")}, []ralph.Message{user(p2), agent("More.")}, "not done"},
		{"the second answer", nil, []ralph.Message{user("Do it."), agent("So far.")}, []ralph.Message{user(p2), agent(claimed)}, "done"},
		{"the second prompt is not there yet", nil, []ralph.Message{user("Do it."), agent("So far.")}, nil, "no message"},
		{"the second answer is not there yet", nil, []ralph.Message{user("Do it."), agent("So far.")}, []ralph.Message{user(p2)}, "no message"},
		{"an answer without text", nil, nil, []ralph.Message{user("Do it."), agent(" \n")}, "no message"},
		{"the rest of the last answer came late", nil, []ralph.Message{user("Do it."), agent("So far.")}, []ralph.Message{agent("It is " + claimed), user(p2)}, "no message"},
		{"the host wraps prompts", nil, nil, []ralph.Message{user("<command>/ralph</command> Do it.\n<time>12:00</time>"), agent(claimed)}, "done"},
		{"the host rewrites the first prompt", []ralph.Message{user("Hi."), agent("Hi.")}, nil, []ralph.Message{user("/ralph"), agent(claimed)}, "no message"},
		{"a question before the task is given", []ralph.Message{user("Hi."), agent("Hi.")}, nil, []ralph.Message{user("What is the tag?"), agent(claimed)}, "no message"},
		{"the host rewrites the second prompt", nil, []ralph.Message{user("Do it."), agent("So far.")}, []ralph.Message{user("[continue]"), agent(claimed)}, "done"},
		{"the agent repeats its second prompt", nil, []ralph.Message{user("Do it."), agent("So far.")}, []ralph.Message{user(p2), agent("I was told: " + p2)}, "not done"},
		{"a person types between", nil, nil, []ralph.Message{user("Do it."), agent("So far."), user("Hurry up."), agent(claimed)}, "done"},
		{"a person types what the promise is", nil, nil, []ralph.Message{user("Do it."), agent("So far."), user(claimed), agent("I cannot yet.")}, "not done"},
		{"the host adds a reminder after the answer", nil, nil, []ralph.Message{user("Do it."), agent(claimed), user("<reminder>")}, "done"},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			h := newHost()
			h.messages["s"] = test.before
			if _, err := h.hook.Start(t.Context(), "s", ralph.Task{Prompt: "Do it."}); err != nil {
				t.Fatal(err)
			}
			if test.first != nil {
				h.messages["s"] = append(h.messages["s"], test.first...)
				if x := h.idle(t, "s"); x.State.Iteration != 2 || h.prompts[0] != p2 {
					t.Fatal(x, h.prompts)
				}
				h.messages["s"] = h.messages["s"][:len(h.messages["s"])-1] // the host stores prompts in its own way
			}
			h.messages["s"] = append(h.messages["s"], test.last...)
			judge(t, h, ralph.Turn{Session: "s"}, test.want)
		})
	}
}

// TestHookOfAHostWithItsOwnBlanks has one that stores prompts with other line ends and
// blanks than it was given.
func TestHookOfAHostWithItsOwnBlanks(t *testing.T) {
	for _, stored := range []string{"Do it.\r\nThen rest.", "Do it. \n Then rest.\n", "<user>Do it.\n\nThen rest.</user>"} {
		inBubble(t, stored, func(t *testing.T) {
			h := newHost()
			if _, err := h.hook.Start(t.Context(), "s", ralph.Task{Prompt: " Do it.\nThen rest."}); err != nil {
				t.Fatal(err)
			}
			h.says("s", "user", stored)
			h.says("s", "assistant", claimed)
			judge(t, h, ralph.Turn{Session: "s"}, "done")
		})
	}
}

// TestHookWithAnAgentThatRepeatsItsPrompt has one whose prompt holds the promise.
func TestHookWithAnAgentThatRepeatsItsPrompt(t *testing.T) {
	inBubble(t, "the opening", func(t *testing.T) {
		h := newHost()
		x := h.start(t, "s", ralph.Task{})
		if x := h.answer(t, "s", "I was told:\n"+x.State.Opening()); x.State.Iteration != 2 || x.Last.Claimed {
			t.Errorf("%+v", x)
		}
	})
	inBubble(t, "the task's", func(t *testing.T) {
		h := newHost()
		h.start(t, "s", ralph.Task{Prompt: "Do it. Then say " + claimed})
		if x := h.answer(t, "s", "I was told: Do it. Then say "+claimed); x.State.Iteration != 2 || x.Last.Claimed {
			t.Errorf("%+v", x)
		}
		if x := h.answer(t, "s", h.prompts[0]); x.State.Iteration != 3 || x.Last.Claimed {
			t.Errorf("%+v", x)
		}
		if x := h.answer(t, "s", "I did it. "+claimed); x.State.Stop != ralph.StopVerified {
			t.Errorf("%+v", x)
		}
	})
}

// prompt2 is the prompt of the second iteration of the task "Do it.".
func prompt2(t *testing.T) (prompt string) {
	inBubble(t, "prompt", func(t *testing.T) {
		h := newHost()
		h.start(t, "s", ralph.Task{})
		h.answer(t, "s", "So far.")
		prompt = h.prompts[0]
	})
	return prompt
}

// judge tells of a turn, and compares what follows.
func judge(t *testing.T, h *host, turn ralph.Turn, want string) {
	t.Helper()
	before := h.state(t, turn.Session)
	x, err := h.hook.Idle(t.Context(), turn)
	got := "done"
	switch {
	case errors.Is(err, ralph.ErrNoMessage):
		got = "no message"
	case err != nil:
		got = err.Error()
	case x.State.Stop == "" && x.State.Iteration == before.State.Iteration+1:
		got = "not done"
	case x.State.Stop != ralph.StopVerified:
		got = string(x.State.Stop)
	}
	if got != want {
		t.Errorf("%s, want %s\n%+v", got, want, h.messages)
	}
	if after := h.state(t, turn.Session); want == "no message" && (after.State.Iteration != before.State.Iteration || !after.Active() || after.Busy != "") {
		t.Errorf("nothing was decided, but %+v", after)
	}
}

// TestHookWithMessagesThatWereCut has a host that compacts conversations, or tells of
// their ends only.
func TestHookWithMessagesThatWereCut(t *testing.T) {
	p2 := prompt2(t)
	many := func(n int, m ralph.Message) (all []ralph.Message) {
		for range n {
			all = append(all, m)
		}
		return all
	}
	join := func(parts ...[]ralph.Message) (all []ralph.Message) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	old := join(many(9, user("Hi.")), []ralph.Message{user("Do it."), agent("So far.")})
	summary := []ralph.Message{user("A summary: the agent is to say " + claimed), agent("I was to say " + claimed)}
	for _, test := range []struct {
		name string
		now  []ralph.Message
		want string
	}{
		{"the end alone", []ralph.Message{user(p2), agent(claimed)}, "done"},
		{"the end, with a part of what was seen", []ralph.Message{agent("So far."), user(p2), agent(claimed)}, "done"},
		{"as many as were seen", join(many(9, user("Hi.")), []ralph.Message{user(p2), agent(claimed)}), "done"},
		{"compacted", join(summary, []ralph.Message{user(p2), agent("More.")}), "not done"},
		{"compacted, and grown again", join(summary, []ralph.Message{user(p2)}, many(20, agent("A step.")), []ralph.Message{agent(claimed)}), "done"},
		{"compacted after the prompt", join([]ralph.Message{user(p2)}, summary, []ralph.Message{agent("More.")}), "not done"},
		{"compacted, and the prompt is not there yet", join(summary, []ralph.Message{user("Go on."), agent(claimed)}), "no message"},
		{"nothing", []ralph.Message{}, "no message"},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			h := newHost()
			h.hook.Messages = nil
			h.start(t, "s", ralph.Task{})
			if x, err := h.hook.Idle(t.Context(), ralph.Turn{Session: "s", Messages: old}); err != nil || x.State.Iteration != 2 {
				t.Fatal(x, err)
			}
			judge(t, h, ralph.Turn{Session: "s", Messages: test.now}, test.want)
		})
	}
}

// TestHookWithTextsAndMessages has a host that tells of one turn by its text, and of the
// next by messages, which may hold the first.
func TestHookWithTextsAndMessages(t *testing.T) {
	inBubble(t, "the second prompt is not there yet", func(t *testing.T) {
		h := newHost()
		h.hook.Verifier = slow(0, ralph.Reject("No."))
		h.inject = func(context.Context, string, string) error { return nil }
		h.start(t, "s", ralph.Task{})
		h.says("s", "assistant", claimed)
		if x, err := h.hook.Idle(t.Context(), ralph.Turn{Session: "s", Text: claimed}); err != nil || x.State.Iteration != 2 {
			t.Fatal(x, err)
		}
		judge(t, h, ralph.Turn{Session: "s"}, "no message")
		h.says("s", "user", h.prompts[0])
		h.says("s", "assistant", "More.")
		judge(t, h, ralph.Turn{Session: "s"}, "not done")
	})
}

// transcriptOf is a file with a conversation.
func transcriptOf(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "transcript")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func line(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

func TestHookWithTranscripts(t *testing.T) {
	const asked = `{"role":"user","content":"Do it."}` + "\n"
	parts := `[{"type":"thinking","thinking":"x"},{"type":"text","text":"It is"},{"type":"text","text":"` + claimed + `"},{"type":"tool_use","text":7}]`
	big := strings.Repeat(line(t, user(strings.Repeat("x", 1<<20))), 20)
	for _, test := range []struct{ name, text, want string }{
		{"strings", asked + `{"role":"assistant","content":"` + claimed + `"}` + "\n", "done"},
		{"no last line end", asked + `{"role":"assistant","content":"` + claimed + `"}`, "done"},
		{"parts", asked + `{"role":"assistant","content":` + parts + `}` + "\n", "done"},
		{"other parts", asked + `{"role":"assistant","content":[{"type":"output_text","text":"` + claimed + `"}]}` + "\n", "done"},
		{"thinking", asked + `{"role":"assistant","content":[{"type":"thinking","text":"` + claimed + `"},{"type":"text","text":"No."}]}` + "\n", "not done"},
		{"a tool's input", asked + `{"role":"assistant","content":[{"type":"text","text":"No."}]}` + "\n" + `{"role":"assistant","content":[{"type":"tool_use","input":"` + claimed + `"}]}` + "\n", "not done"},
		{"a tool's result", asked + `{"role":"assistant","content":"No."}` + "\n" + `{"role":"user","content":[{"type":"tool_result","content":"` + claimed + `"}]}` + "\n", "not done"},
		{"in message", `{"type":"user","message":` + strings.TrimSpace(asked) + "}\n" + `{"type":"assistant","message":{"role":"assistant","content":` + parts + `}}` + "\n", "done"},
		{"in payload", `{"type":"x","payload":` + strings.TrimSpace(asked) + "}\n" + `{"payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"` + claimed + `"}]}}` + "\n", "done"},
		{"an array", "\n[" + strings.TrimSpace(asked) + `, {"role":"assistant","content":"` + claimed + `"}]`, "done"},
		{"an array with what is no message", "[null, 7, {\"role\":7}, " + strings.TrimSpace(asked) + `, {"role":"assistant","content":{"a":1}}, {"role":"assistant","content":"` + claimed + `"}]`, "done"},
		{"a torn last line", asked + `{"role":"assistant","content":"No."}` + "\n" + `{"role":"assistant","content":"` + claimed, "not done"},
		{"a torn only answer", asked + `{"role":"assistant","content":"` + claimed, "no message"},
		{"a torn array", "[" + strings.TrimSpace(asked) + `, {"role":"assistant","content":"` + claimed + `"}`, "no message"},
		{"lines of something else", "hello\n\n\x00\xff\n[]\nnull\n" + asked + "{}\n" + `{"role":"assistant","content":"` + claimed + `"}` + "\n", "done"},
		{"a sub-agent", asked + `{"role":"assistant","content":"No."}` + "\n" + `{"isSidechain":true,"message":{"role":"assistant","content":"` + claimed + `"}}` + "\n", "not done"},
		{"another sub-agent", asked + `{"role":"assistant","content":"No."}` + "\n" + `{"parent_tool_use_id":"t1","message":{"role":"assistant","content":"` + claimed + `"}}` + "\n", "not done"},
		{"no sub-agent", asked + `{"parent_tool_use_id":null,"isSidechain":false,"message":{"role":"assistant","content":"` + claimed + `"}}` + "\n" + `{"parent_tool_use_id":"","type":"x"}`, "done"},
		{"another prompt", `{"role":"user","content":"Do that."}` + "\n" + `{"role":"assistant","content":"` + claimed + `"}` + "\n", "no message"},
		{"20 MiB before", big + asked + `{"role":"assistant","content":"` + claimed + `"}` + "\n", "done"},
		{"empty", "", "no message"},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			h := newHost()
			h.hook.Messages = nil
			h.start(t, "s", ralph.Task{})
			judge(t, h, ralph.Turn{Session: "s", Transcript: transcriptOf(t, test.text)}, test.want)
		})
	}
	inBubble(t, "no file", func(t *testing.T) {
		h := newHost()
		h.start(t, "s", ralph.Task{})
		judge(t, h, ralph.Turn{Session: "s", Transcript: filepath.Join(t.TempDir(), "not", "there")}, "no message")
	})
	inBubble(t, "a large array", func(t *testing.T) {
		h := newHost()
		h.start(t, "s", ralph.Task{})
		path := transcriptOf(t, " ["+strings.ReplaceAll(strings.TrimSpace(big), "\n", ",\n")+"]")
		if _, err := h.hook.Idle(t.Context(), ralph.Turn{Session: "s", Transcript: path}); err == nil || !strings.Contains(err.Error(), "16 MiB") {
			t.Error(err)
		}
	})
	inBubble(t, "no regular file", func(t *testing.T) {
		h := newHost()
		h.start(t, "s", ralph.Task{})
		if _, err := h.hook.Idle(t.Context(), ralph.Turn{Session: "s", Transcript: t.TempDir()}); err == nil || errors.Is(err, ralph.ErrNoMessage) {
			t.Error(err)
		}
		if _, err := h.hook.Idle(t.Context(), ralph.Turn{Session: "without a loop", Transcript: t.TempDir()}); err != nil {
			t.Error("what is not needed is not read:", err)
		}
	})
	inBubble(t, "a file that grows over 16 MiB", func(t *testing.T) {
		h := newHost()
		h.hook.Messages = nil
		h.start(t, "s", ralph.Task{Limits: ralph.Limits{Iterations: 5}})
		text := big[:15<<20] + "\n" + asked + line(t, agent("More."))
		for i := range 4 {
			path := transcriptOf(t, text)
			if x, err := h.hook.Idle(t.Context(), ralph.Turn{Session: "s", Transcript: path}); err != nil || x.State.Iteration != i+2 {
				t.Fatal(x.State.Iteration, err)
			}
			text += line(t, user(h.prompts[i])) + line(t, agent(strings.Repeat("y", 1<<20))) + line(t, agent("More."))
		}
	})
}

// FuzzTranscript has files that anybody may have written. Where no message of a user
// holds the prompt, nothing is decided.
func FuzzTranscript(f *testing.F) {
	for _, seed := range []string{
		`{"role":"user","content":"Do it."}` + "\n" + `{"role":"assistant","content":[{"type":"text","text":"` + claimed + `"}]}`,
		`[{"message":{"role":"user","content":"Do it."}},{"payload":{"role":"assistant","content":"x"}}]`,
		"[", "[[[[", "null", "\xff\x00\n", `{"message":{"message":{"payload":{}}}}`, strings.Repeat(`{"message":`, 20000), strings.Repeat("[", 20000),
		`{"role":"assistant","content":"` + claimed + `"}`, `{"isSidechain":true,"role":"user","content":"Do it."}`,
	} {
		f.Add([]byte(seed))
	}
	begun := ralph.Start(ralph.Task{Prompt: "Do it.", Promise: "DONE", Match: ralph.MatchFold})
	begun = begun.Apply(ralph.Event{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: 1, Attempt: 1}})
	f.Fuzz(func(t *testing.T, data []byte) {
		h := newHost()
		h.hook.Messages, h.hook.Delay = nil, -1
		h.hook.Store.Update(t.Context(), "s", func(ralph.HookState) (ralph.HookState, error) {
			return ralph.HookState{Session: "s", State: begun}, nil
		})
		path := filepath.Join(t.TempDir(), "transcript")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := h.hook.Idle(t.Context(), ralph.Turn{Session: "s", Transcript: path})
		if err != nil && !errors.Is(err, ralph.ErrNoMessage) {
			t.Fatal(err)
		}
		if text := string(data); err == nil && !strings.Contains(text, `\`) && (!strings.Contains(text, "Do it.") || !strings.Contains(text, "user") || !strings.Contains(text, "assistant")) {
			t.Errorf("%+v", x)
		}
		if x.Seen > len(data)/8 {
			t.Error("messages of nothing:", x.Seen)
		}
	})
}
