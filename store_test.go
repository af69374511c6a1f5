package ralph_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

func TestHookState(t *testing.T) {
	inBubble(t, "of the loop that was last active", func(t *testing.T) {
		h := newHost()
		if x, err := h.hook.State(t.Context(), ""); err != nil || !x.IsZero() {
			t.Error(x, err)
		}
		newest := func(want string) {
			t.Helper()
			if x, err := h.another().State(t.Context(), ""); err != nil || x.Session != want {
				t.Error(x.Session, err, "want", want)
			}
		}
		for _, session := range []string{"a", "b", "c"} {
			h.start(t, session, ralph.Task{})
			newest(session)
			<-time.After(time.Minute)
		}
		h.answer(t, "a", "More.")
		newest("a")
		<-time.After(time.Minute)
		h.inject = func(context.Context, string, string) error { return errors.New("no connection") }
		h.says("b", "assistant", "More.")
		if _, err := h.hook.Idle(t.Context(), ralph.Turn{Session: "b"}); err == nil {
			t.Error("no error")
		}
		newest("b")
		<-time.After(time.Minute)
		h.answer(t, "a", claimed)
		h.cancel(t, "b", true)
		newest("c")
	})
	inBubble(t, "with one that cannot be read", func(t *testing.T) {
		h := newHost()
		h.start(t, "s", ralph.Task{})
		h.hook.Store = torn{h.hook.Store}
		if x, err := h.hook.State(t.Context(), ""); x.Session != "s" || !errors.Is(err, errTorn) {
			t.Error(x, err)
		}
		h.hook.Exists = func(context.Context, string) (bool, error) { return false, nil }
		h.idle(t, "another")
		if !h.state(t, "s").IsZero() {
			t.Error("it hides the others")
		}
	})
}

// A hesitant store asks twice what is to become of a state: what it was first told is out
// of date.
type hesitant struct{ *ralph.MemoryStore }

func (s hesitant) Update(ctx context.Context, session string, change func(ralph.HookState) (ralph.HookState, error)) error {
	_, _ = change(ralph.HookState{Session: session, State: ralph.Start(ralph.Task{Prompt: "Another loop."}), Busy: "somebody", Until: time.Now().Add(time.Hour)})
	_, _ = change(ralph.HookState{})
	return s.MemoryStore.Update(ctx, session, change)
}

func TestHookWhoseStoreAsksAgain(t *testing.T) {
	inBubble(t, "each method", func(t *testing.T) {
		h := newHost()
		h.hook.Store = hesitant{h.hook.Store.(*ralph.MemoryStore)}
		if x, err := h.hook.State(t.Context(), "s"); !x.IsZero() || err != nil {
			t.Error(x, err)
		}
		h.start(t, "s", ralph.Task{})
		if x := h.answer(t, "s", "More."); x.State.Iteration != 2 || !x.State.Running || x.State.Task.Prompt != "Do it." {
			t.Errorf("%+v", x)
		}
		h.cancel(t, "s", true)
		h.cancel(t, "s", false)
		h.start(t, "s", ralph.Task{})
		if x := h.answer(t, "s", claimed); x.State.Stop != ralph.StopVerified || !h.state(t, "s").IsZero() {
			t.Errorf("%+v", x)
		}
	})
}

var errTorn = errors.New("torn")

// A torn store has a state that cannot be read.
type torn struct{ ralph.Store }

func (s torn) All(ctx context.Context) iter.Seq2[ralph.HookState, error] {
	return func(yield func(ralph.HookState, error) bool) {
		if yield(ralph.HookState{}, errTorn) {
			s.Store.All(ctx)(yield)
		}
	}
}

// TestHookWithSessionsThatVanish clears what nobody will ever tell of again.
func TestHookWithSessionsThatVanish(t *testing.T) {
	inBubble(t, "deleted", func(t *testing.T) {
		h := newHost()
		h.start(t, "s", ralph.Task{})
		h.start(t, "other", ralph.Task{})
		for range 2 {
			if err := h.another().Deleted(t.Context(), "s"); err != nil {
				t.Fatal(err)
			}
		}
		if !h.state(t, "s").IsZero() || !h.state(t, "other").Active() {
			t.Error(h.state(t, "s"))
		}
	})
	for _, by := range []string{"an idle event without a loop", "a start", "an idle event of a loop"} {
		inBubble(t, by, func(t *testing.T) {
			h := newHost()
			for _, session := range []string{"here", "gone", "unknown", "odd"} {
				h.start(t, session, ralph.Task{})
			}
			h.hook.Exists = func(_ context.Context, session string) (bool, error) {
				switch session {
				case "unknown":
					return false, errors.New("no access")
				case "odd":
					panic("odd")
				case "new":
					t.Error("asked about itself")
				}
				return session == "here", nil
			}
			switch by {
			case "a start":
				h.start(t, "new", ralph.Task{})
			case "an idle event of a loop":
				h.answer(t, "here", "More.")
			default:
				h.idle(t, "new")
			}
			for session, want := range map[string]bool{"here": true, "gone": by == "an idle event of a loop", "unknown": true, "odd": true} {
				if got := h.state(t, session).Active(); got != want {
					t.Error(session, got)
				}
			}
		})
	}
	inBubble(t, "over, but not cleared", func(t *testing.T) {
		h := newHost()
		h.start(t, "s", ralph.Task{})
		h.change(t, "s", func(s ralph.State) ralph.State { return s.Cancel("its host died then") })
		if x, err := h.hook.State(t.Context(), "s"); !x.IsZero() || err != nil {
			t.Error(x, err)
		}
		if x := h.answer(t, "s", claimed); !x.IsZero() || !h.state(t, "s").IsZero() {
			t.Error(x, h.state(t, "s"))
		}
	})
}

// TestHookParts has parts that panic: none ends the host.
func TestHookParts(t *testing.T) {
	h := newHost()
	h.hook.Delay = -1
	h.start(t, "s", ralph.Task{})
	h.says("s", "assistant", claimed)
	for name, change := range map[string]func(*ralph.Hook){
		"Hook.Messages": func(h *ralph.Hook) {
			h.Messages = func(context.Context, string) ([]ralph.Message, error) { panic("x") }
		},
		"Hook.Store": func(h *ralph.Hook) { h.Store = nasty{} },
	} {
		hook := h.another()
		change(hook)
		if _, err := hook.Idle(t.Context(), ralph.Turn{Session: "s"}); err == nil || !strings.Contains(err.Error(), name+" panicked") {
			t.Error(name, err)
		}
	}
	if _, err := (&ralph.Hook{Store: nasty{}}).State(t.Context(), ""); err == nil {
		t.Error("no error")
	}
	hook := h.another()
	hook.Log = ralph.ProgressLogFunc(func(context.Context, ralph.Event) error { return errors.New("disk full") })
	if x, err := hook.Idle(t.Context(), ralph.Turn{Session: "s"}); x.State.Stop != ralph.StopVerified || err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Error("a log that fails holds up nothing, and is told:", x, err)
	}
}

// A nasty store panics.
type nasty struct{}

func (nasty) Update(context.Context, string, func(ralph.HookState) (ralph.HookState, error)) error {
	panic("x")
}
func (nasty) All(context.Context) iter.Seq2[ralph.HookState, error] { panic("x") }
