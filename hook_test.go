package ralph_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// A host is a program with sessions, as small as a test needs it.
type host struct {
	hook     ralph.Hook
	messages map[string][]ralph.Message
	prompts  []string
	notices  []ralph.Notice
}

func newHost() *host {
	h := &host{messages: map[string][]ralph.Message{}}
	h.hook = ralph.Hook{
		Store: &ralph.MemoryStore{}, Verifier: verify.String{},
		Inject: func(_ context.Context, session, prompt string) error {
			h.prompts = append(h.prompts, prompt)
			h.says(session, "user", prompt)
			return nil
		},
		Messages: func(_ context.Context, session string) ([]ralph.Message, error) { return h.messages[session], nil },
		Notify:   func(_ context.Context, n ralph.Notice) { h.notices = append(h.notices, n) },
	}
	return h
}

func (h *host) says(session, role, text string) {
	h.messages[session] = append(h.messages[session], ralph.Message{Role: role, Content: text})
}

func TestRalphLoopIntegration(t *testing.T) {
	t.Run("should complete after agent outputs promise", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost()
			if _, err := h.hook.Start(t.Context(), "s", ralph.Task{Prompt: "Do it."}); err != nil {
				t.Fatal(err)
			}
			h.says("s", "user", "Do it.")
			h.says("s", "assistant", "I have begun.")
			x, err := h.hook.Idle(t.Context(), ralph.Turn{Session: "s"})
			if err != nil || x.State.Iteration != 2 || len(h.prompts) != 1 || !strings.HasPrefix(h.prompts[0], "[RALPH LOOP - ITERATION 2/100]") {
				t.Fatal(x, err, h.prompts)
			}
			h.says("s", "assistant", "It is done: <promise> done </promise>")
			x, err = h.hook.Idle(t.Context(), ralph.Turn{Session: "s"})
			if err != nil || x.State.Stop != ralph.StopVerified {
				t.Fatal(x, err)
			}
			if active, err := h.hook.Active(t.Context(), "s"); active || err != nil {
				t.Error(active, err)
			}
			for _, n := range h.notices {
				t.Log(n.Title, n.Message, n.Variant, n.For)
			}
		})
	})
}
