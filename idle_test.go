package ralph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
)

// twice is the same event, told twice.
type twice struct {
	name string
	turn ralph.Turn
}

func eventForms() []twice {
	messages := []ralph.Message{user("Do it."), agent("So far.")}
	return []twice{
		{"the host's messages", ralph.Turn{Session: "s"}},
		{"the host's messages, with an ID", ralph.Turn{Session: "s", ID: "e1"}},
		{"messages", ralph.Turn{Session: "s", Messages: messages}},
		{"messages, with an ID", ralph.Turn{Session: "s", Messages: messages, ID: "e1"}},
		{"text, with an ID", ralph.Turn{Session: "s", Text: "So far.", ID: "e1"}},
		{"no text, with an ID", ralph.Turn{Session: "s", Messages: messages[:1], Final: true, ID: "e1"}},
	}
}

// TestHookWithTheSameEventTwice has one event dealt with once, however often it comes.
func TestHookWithTheSameEventTwice(t *testing.T) {
	once := func(t *testing.T, h *host, errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil && !errors.Is(err, ralph.ErrNoMessage) {
				t.Error(err)
			}
		}
		if x := h.state(t, "s"); x.State.Iteration != 2 || !x.State.Running || x.Busy != "" || h.injected() != 1 {
			t.Errorf("%d prompts, %+v", h.injected(), x)
		}
	}
	for _, form := range eventForms() {
		inBubble(t, "one after the other/"+form.name, func(t *testing.T) {
			h := newHost()
			h.start(t, "s", ralph.Task{})
			h.says("s", "assistant", "So far.")
			_, err1 := h.hook.Idle(t.Context(), form.turn)
			_, err2 := h.another().Idle(t.Context(), form.turn)
			once(t, h, err1, err2)
		})
	}
	// At the same time a text needs no ID: who waits has the same event.
	for _, form := range append(eventForms(), twice{"text", ralph.Turn{Session: "s", Text: "So far."}}) {
		inBubble(t, "at the same time/"+form.name, func(t *testing.T) {
			h := newHost()
			h.hook.Verifier = slow(time.Minute, ralph.Reject("No."))
			h.inject = func(_ context.Context, session, prompt string) error {
				<-time.After(time.Minute)
				h.says(session, "user", prompt)
				return nil
			}
			h.start(t, "s", ralph.Task{Always: true})
			h.says("s", "assistant", "So far.")
			errs := make(chan error)
			go func() { _, err := h.hook.Idle(t.Context(), form.turn); errs <- err }()
			synctest.Wait()
			late := 61 * time.Second // in the injection
			if form.turn.Text != "" && form.turn.ID == "" {
				late = 0 // who comes late with such a text brings a new answer
			}
			for _, at := range []time.Duration{0, time.Second, time.Minute, late} {
				go func() { <-time.After(at); _, err := h.another().Idle(t.Context(), form.turn); errs <- err }()
			}
			go func() { _, err := h.hook.Idle(t.Context(), form.turn); errs <- err }()
			for range 6 {
				if err := <-errs; err != nil && !errors.Is(err, ralph.ErrNoMessage) {
					t.Error(err)
				}
			}
			once(t, h)
		})
	}
}

// slow is a verifier that takes its time.
func slow(d time.Duration, v ralph.Verdict) ralph.Verifier {
	return ralph.VerifierFunc(func(ctx context.Context, _ ralph.Claim) (ralph.Verdict, error) {
		select {
		case <-time.After(d):
			return v, nil
		case <-ctx.Done():
			return ralph.Verdict{}, context.Cause(ctx)
		}
	})
}

// TestHookWithAnAnswerDuringTheInjection has an agent that is faster than its host: the
// event of the new answer comes while the prompt's injection has not returned.
func TestHookWithAnAnswerDuringTheInjection(t *testing.T) {
	for _, turn := range []ralph.Turn{{Session: "s"}, {Session: "s", ID: "e2"}, {Session: "s", Text: claimed, ID: "e2"}, {Session: "s", Text: claimed}} {
		inBubble(t, fmt.Sprintf("%+v", turn), func(t *testing.T) {
			h := newHost()
			second := make(chan ralph.HookState)
			h.inject = func(ctx context.Context, session, prompt string) error {
				h.says(session, "user", prompt)
				h.says(session, "assistant", claimed)
				go func() {
					x, err := h.another().Idle(context.WithoutCancel(ctx), turn)
					if err != nil {
						t.Error(err)
					}
					second <- x
				}()
				<-time.After(time.Hour)
				return nil
			}
			h.start(t, "s", ralph.Task{})
			go h.answer(t, "s", "So far.")
			if x := <-second; x.State.Stop != ralph.StopVerified {
				t.Errorf("%+v", x)
			}
			<-time.After(2 * time.Hour)
			if left := h.state(t, "s"); !left.IsZero() || h.injected() != 1 {
				t.Error(left, h.prompts)
			}
		})
	}
	inBubble(t, "that is not there yet", func(t *testing.T) {
		h := newHost()
		h.inject = func(_ context.Context, session, prompt string) error {
			<-time.After(time.Second)
			h.says(session, "user", prompt)
			return nil
		}
		h.start(t, "s", ralph.Task{})
		go h.answer(t, "s", "So far.")
		<-time.After(time.Second)
		if x, err := h.hook.Idle(t.Context(), ralph.Turn{Session: "s", ID: "e2"}); !errors.Is(err, ralph.ErrNoMessage) {
			t.Error("this event is not the one that was dealt with:", x, err)
		}
	})
}

// TestHookOfASynchronousHost has Inject run the model, and tell of its answer before it
// returns.
func TestHookOfASynchronousHost(t *testing.T) {
	inBubble(t, "iterations", func(t *testing.T) {
		h := newHost()
		var log []string
		h.hook.Log = ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error {
			log = append(log, fmt.Sprint(ev.Kind, ev.Iteration.Number))
			return nil
		})
		n := 1
		h.inject = func(ctx context.Context, session, prompt string) error {
			n++
			h.says(session, "user", prompt)
			if n == 80 {
				h.says(session, "assistant", claimed)
			} else {
				h.says(session, "assistant", "More.")
			}
			_, err := h.hook.Idle(ctx, ralph.Turn{Session: session})
			return err
		}
		h.start(t, "s", ralph.Task{})
		h.answer(t, "s", "So far.")
		if left := h.state(t, "s"); !left.IsZero() || h.injected() != 79 || n != 80 {
			t.Error(left, n)
		}
		if got, want := strings.Join(log[:5], " "), "loop_started0 iteration_started1 iteration_ended1 iteration_started2 iteration_ended2"; got != want || log[len(log)-1] != "loop_stopped0" {
			t.Errorf("%s …, %s", got, log[len(log)-1])
		}
	})
	inBubble(t, "whose answer is not there yet", func(t *testing.T) {
		h := newHost()
		h.inject = func(ctx context.Context, session, prompt string) error {
			begun := time.Now()
			if _, err := h.hook.Idle(ctx, ralph.Turn{Session: session}); !errors.Is(err, ralph.ErrNoMessage) || time.Since(begun) > 0 {
				t.Error("nobody else can end what it would wait for:", err)
			}
			h.says(session, "user", prompt)
			return nil
		}
		h.start(t, "s", ralph.Task{})
		if x := h.answer(t, "s", "So far."); x.State.Iteration != 2 || x.Failed != "" {
			t.Error(x)
		}
	})
	inBubble(t, "whose model says nothing", func(t *testing.T) {
		h := newHost()
		h.inject = func(ctx context.Context, session, prompt string) error {
			h.says(session, "user", prompt)
			_, err := h.hook.Idle(ctx, ralph.Turn{Session: session, Final: true})
			return err
		}
		h.start(t, "s", ralph.Task{})
		h.answer(t, "s", "So far.")
		if left := h.state(t, "s"); !left.IsZero() || h.injected() != 3 {
			t.Error("three empty answers in a row end the loop:", h.prompts, left)
		}
	})
}

// TestHookWithAnInjectionThatFails has a host that cannot give its session the prompt:
// nothing is spent, and the same prompt is given at the next event.
func TestHookWithAnInjectionThatFails(t *testing.T) {
	for name, fail := range map[string]func() error{
		"an error": func() error { return errors.New("no connection") },
		"a panic":  func() error { panic("no connection") },
	} {
		inBubble(t, name, func(t *testing.T) {
			h := newHost()
			h.inject = func(context.Context, string, string) error { return fail() }
			h.start(t, "s", ralph.Task{Limits: ralph.Limits{Iterations: 2}})
			h.says("s", "assistant", "So far.")
			for range 5 {
				x, err := h.hook.Idle(t.Context(), ralph.Turn{Session: "s"})
				if err == nil || !strings.HasPrefix(err.Error(), `ralph: the prompt for session "s": `) || !strings.Contains(err.Error(), "no connection") {
					t.Fatal(err)
				}
				if x.State.Iteration != 2 || x.State.Attempt != 1 || x.State.Running || !strings.Contains(x.Failed, "no connection") || strings.Contains(x.Failed, "\n") || x.Busy != "" {
					t.Fatalf("%+v", x)
				}
			}
			h.inject = nil
			if x := h.idle(t, "s"); x.Failed != "" || !x.State.Running || len(slices.Compact(slices.Clone(h.prompts))) != 1 || h.injected() != 6 {
				t.Errorf("%+v, %q", x, h.prompts)
			}
			if x := h.answer(t, "s", claimed); x.State.Stop != ralph.StopVerified || x.State.Iteration != 2 {
				t.Errorf("%+v", x)
			}
		})
	}
	inBubble(t, "it blocks", func(t *testing.T) {
		h := newHost()
		h.inject = func(ctx context.Context, _, _ string) error { <-ctx.Done(); return ctx.Err() }
		h.start(t, "s", ralph.Task{})
		h.says("s", "assistant", "So far.")
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if x, err := h.hook.Idle(ctx, ralph.Turn{Session: "s"}); !errors.Is(err, context.DeadlineExceeded) || x.State.Running {
			t.Error(x, err)
		}
		h.inject = nil
		if x := h.idle(t, "s"); !x.State.Running || x.State.Iteration != 2 {
			t.Error(x)
		}
	})
}

// TestHookWithAnInjectionThatGoesOn has an Inject that does not look at its context: the
// prompt is not given a second time while the first may still arrive.
func TestHookWithAnInjectionThatGoesOn(t *testing.T) {
	inBubble(t, "when the context is done", func(t *testing.T) {
		h := newHost()
		h.inject = func(_ context.Context, session, prompt string) error {
			<-time.After(time.Minute)
			h.says(session, "user", prompt)
			return nil
		}
		h.start(t, "s", ralph.Task{})
		h.says("s", "assistant", "So far.")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		first := make(chan error)
		go func() { _, err := h.hook.Idle(ctx, ralph.Turn{Session: "s", ID: "e1"}); first <- err }()
		<-time.After(2 * time.Second)
		if _, err := h.another().Idle(t.Context(), ralph.Turn{Session: "s", ID: "e1"}); err != nil {
			t.Error(err)
		}
		if err := <-first; err != nil || h.injected() != 1 {
			t.Error(err, h.prompts)
		}
	})
}

// errDead is what a process that has died gets from a store.
var errDead = errors.New("the process is dead")

// A mortal store is that of a process that dies at its n-th change: before it, or
// after it. Others that use what it embeds live.
type mortal struct {
	*ralph.MemoryStore
	mu    sync.Mutex
	n     int
	after bool
	dead  bool
}

func (m *mortal) Update(ctx context.Context, session string, change func(ralph.HookState) (ralph.HookState, error)) error {
	m.mu.Lock()
	m.n--
	now := m.n == 0
	dead := m.dead || now && !m.after
	m.dead = m.dead || now
	m.mu.Unlock()
	if dead {
		return errDead
	}
	err := m.MemoryStore.Update(ctx, session, change)
	if now {
		return errDead
	}
	return err
}

// TestHookWhoseProcessDies has the process die at each place where it can: who comes
// after it loses no iteration, makes none twice, and gives the session no prompt that it
// has.
func TestHookWhoseProcessDies(t *testing.T) {
	for _, answer := range []string{"So far.", claimed} {
		for n := 1; n <= 6; n++ {
			for _, after := range []bool{false, true} {
				for _, turn := range []ralph.Turn{{Session: "s"}, {Session: "s", ID: "e1"}, {Session: "s", ID: "e1", Text: answer}} {
					inBubble(t, fmt.Sprintf("%.4s/%d/%v/%s%s", answer, n, after, turn.ID, turn.Text), func(t *testing.T) {
						h := newHost()
						live := h.hook.Store.(*ralph.MemoryStore)
						h.start(t, "s", ralph.Task{})
						h.says("s", "assistant", answer)
						dies := &mortal{MemoryStore: live, n: n, after: after}
						first := h.another()
						first.Store = dies
						first.Inject = func(ctx context.Context, session, prompt string) error {
							if dies.dead {
								return errDead
							}
							return h.hook.Inject(ctx, session, prompt)
						}
						_, err := first.Idle(t.Context(), turn)
						if !dies.dead && (err != nil || n < 3) {
							t.Fatal(err, n)
						}
						got := len(h.prompts)
						_, err = h.hook.Idle(t.Context(), turn)
						left := h.state(t, "s")
						if answer == claimed {
							if !left.IsZero() || h.injected() != 0 {
								t.Errorf("%v, %q, %+v", err, h.prompts, left)
							}
							return
						}
						most := 1
						if turn.Text != "" && left.State.Running { // nothing tells whether the prompt in doubt arrived
							most = 1 + got
						}
						if left.State.Iteration != 2 || !left.State.Running || h.injected() < 1 || h.injected() > most {
							t.Errorf("%v, %q, %+v", err, h.prompts, left)
						}
						if x := h.answer(t, "s", claimed); x.State.Stop != ralph.StopVerified || x.State.Iteration != 2 {
							t.Errorf("%+v", x)
						}
					})
				}
			}
		}
	}
}

// TestHookThatWaitedForOneWhoDied: who has waited for a process that died after its
// injection looks at the conversation as it is now, and sees that the session has the prompt.
func TestHookThatWaitedForOneWhoDied(t *testing.T) {
	inBubble(t, "in the injection", func(t *testing.T) {
		h := newHost()
		h.start(t, "s", ralph.Task{})
		h.says("s", "assistant", "So far.")
		dies := &mortal{MemoryStore: h.hook.Store.(*ralph.MemoryStore)}
		first := h.another()
		first.Store = dies
		first.Inject = func(ctx context.Context, session, prompt string) error {
			<-time.After(time.Second) // the other waits
			err := h.hook.Inject(ctx, session, prompt)
			dies.mu.Lock()
			defer dies.mu.Unlock()
			dies.dead = true
			return err
		}
		died := make(chan error)
		go func() {
			_, err := first.Idle(t.Context(), ralph.Turn{Session: "s"})
			died <- err
		}()
		<-time.After(time.Second)
		x, err := h.hook.Idle(t.Context(), ralph.Turn{Session: "s"})
		if dead := <-died; !errors.Is(dead, errDead) || !errors.Is(err, ralph.ErrNoMessage) || x.State.Iteration != 2 || h.injected() != 1 {
			t.Errorf("%v, %v, %+v, %q", dead, err, x, h.prompts)
		}
		if x := h.answer(t, "s", claimed); x.State.Stop != ralph.StopVerified || x.State.Iteration != 2 {
			t.Errorf("%+v", x)
		}
	})
}
