package progress_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

// TestHookSteered: what other processes ask of a session's loop is in the state that the next
// event is given, once, and status tells of it, whoever its host is.
func TestHookSteered(t *testing.T) {
	t.Parallel()
	d := &progress.Dir{Path: t.TempDir()}
	other := &progress.Dir{Path: d.Path}
	c := newChat(d)
	c.start(t, "s", ralph.Task{ID: "T", Prompt: "Do it.", Limits: ralph.Limits{Iterations: 5}})
	at := func(want progress.Status) progress.Entry {
		t.Helper()
		e, err := other.Look("s")
		if err != nil || e.Status != want || e.Kind != progress.KindHook || e.Holder != nil {
			t.Errorf("%s: %+v, %v", want, e, err)
		}
		return e
	}
	e := at(progress.StatusRunning)
	if line := other.Stand(t.Context(), e).Line(e.Active.Add(3 * time.Minute)); !strings.HasPrefix(line, "s: iteration 1/5, started 3m ago") || !strings.HasSuffix(line, ", last activity 3m ago, no process stays with it") {
		t.Error(line)
	}

	for _, err := range []error{errOf(other.Guide("s", advice)), errOf(other.Pause("s", true)), errOf(other.Limit("s", ralph.Limits{Iterations: 9}))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	x := c.answers(t, "s", "I have worked.")
	if x.State.Iteration != 2 || !x.State.Paused || x.State.Running || len(c.prompts["s"]) != 0 || x.State.Task.Limits.Iterations != 9 {
		t.Errorf("%+v, %q", x, c.prompts)
	}
	at(progress.StatusPaused)
	if ok, err := other.Continue(t.Context(), at(progress.StatusPaused)); !ok || err != nil {
		t.Error(ok, err)
	}
	x = c.answers(t, "s", "I have worked.", "I have worked.")
	if n := len(c.prompts["s"]); x.State.Iteration != 3 || n != 2 || strings.Count(c.prompts["s"][0], advice) != 1 || strings.Contains(c.prompts["s"][1], advice) {
		t.Errorf("%+v, %q", x, c.prompts)
	}
	at(progress.StatusRunning)

	// It stops after this one, and a higher limit lets it go on.
	if _, err := other.Stop("s"); err != nil {
		t.Fatal(err)
	}
	if x := c.answers(t, "s", "I have worked."); x.State.Stop != ralph.StopIterations || x.State.Iteration != 3 {
		t.Errorf("%+v", x)
	}
	at(progress.StatusFailed)
	if active, err := c.hook.Active(t.Context(), "s"); active || err != nil {
		t.Error(active, err)
	}
	if _, err := other.Limit("s", ralph.Limits{Iterations: 4}); err != nil {
		t.Fatal(err)
	}
	at(progress.StatusRunning)
	if x := c.answers(t, "s", ""); x.State.Iteration != 4 || !x.State.Running || x.Last.Number != 3 || len(c.prompts["s"]) != 3 {
		t.Errorf("%+v, %q", x, c.prompts)
	}

	// Somebody stays with it.
	held, err := d.Hold("s", "ralph start")
	if err != nil {
		t.Fatal(err)
	}
	if e, err := other.Look("s"); err != nil || e.Holder == nil || e.Holder.What != "ralph start" || e.Status != progress.StatusRunning {
		t.Errorf("%+v, %v", e, err)
	}
	for what, err := range map[string]error{"Hold": errOf(other.Hold("s", "another")), "Remove": errOf(other.Remove("s")), "Open": errOf(other.Open("s"))} {
		if _, is := errors.AsType[*progress.HeldError](err); !is {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, dir := range []*progress.Dir{d, other} {
		if err := dir.Update(t.Context(), "s", func(x ralph.HookState) (ralph.HookState, error) { x.Seen++; return x, nil }); err != nil {
			t.Error(err)
		}
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
	if _, err := d.Hold("", "nothing"); err == nil {
		t.Error("nothing is held")
	}

	if e, err := other.Cancel("s", "enough"); err != nil || e.Status != progress.StatusCancelled {
		t.Errorf("%+v, %v", e, err)
	}
	if e := at(progress.StatusCancelled); e.State.Detail != "enough" || e.State.Iteration != 4 || e.State.Attempt != 1 {
		t.Errorf("%+v", e.State)
	}
	if x := c.answers(t, "s", done); !x.IsZero() || len(c.prompts["s"]) != 3 {
		t.Errorf("%+v", x)
	}
	if ended, err := other.Remove("s"); err != nil || ended != nil {
		t.Error(ended, err)
	}
	if _, err := other.Look("s"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// errOf is the error of two results.
func errOf[T any](_ T, err error) error { return err }

// TestHookRedacted: what is kept of a session is without secrets.
func TestHookRedacted(t *testing.T) {
	t.Parallel()
	const secret = "correct-horse-battery"
	d := &progress.Dir{Path: t.TempDir(), Redactor: progress.Redactor{Secrets: []string{secret}}}
	x := someState("s")
	x.State.Feedback, x.Failed, x.Last.Verdict.Feedback = "it says "+secret, "no window "+secret, secret
	put(t, d, "s", x)
	for range 2 {
		if err := d.Update(t.Context(), "s", func(x ralph.HookState) (ralph.HookState, error) {
			x.State.Running, x.Busy = !x.State.Running, x.Busy+"."
			return x, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	is := state(t, d, "s")
	if strings.Contains(read(t, d.File("s")), secret) || !strings.HasPrefix(is.State.Feedback, "it says ") || !strings.HasPrefix(is.Failed, "no window ") || is.Busy != "me.." {
		t.Errorf("%+v", is)
	}
}

// TestHookRedactedPrompts: a prompt says what is kept, so that its answer is found by it,
// also when the session has compacted its conversation; and where the prompt itself is not
// kept as it is, there is no loop whose answers nobody would find.
func TestHookRedactedPrompts(t *testing.T) {
	t.Parallel()
	const secret = "correct-horse-battery"
	for _, delay := range []time.Duration{-1, 1} {
		d := &progress.Dir{Path: t.TempDir(), Redactor: progress.Redactor{Secrets: []string{secret}}}
		c := newChat(d)
		c.hook.Delay, c.hook.Verifier = delay, verify.String{Contains: []string{secret}}
		c.start(t, "s", ralph.Task{Prompt: "Use " + secret})
		c.answers(t, "s", "<promise>DONE</promise>")
		x, err := c.hook.Idle(t.Context(), ralph.Turn{Session: "s", Messages: []ralph.Message{{Role: "user", Content: c.prompts["s"][0]}, {Role: "assistant", Content: "More."}}})
		if err != nil || x.State.Iteration != 3 || !strings.Contains(c.prompts["s"][0], "Use "+secret) || strings.Count(c.prompts["s"][0], secret) != 1 {
			t.Errorf("%v, %+v, %q", err, x.State, c.prompts)
		}
		d.Redactor.Task = true
		c = newChat(&progress.Dir{Path: d.Path, Redactor: d.Redactor})
		if x, err := c.hook.Start(t.Context(), "t", ralph.Task{Prompt: "Use " + secret}); err == nil || !x.IsZero() || !state(t, d, "t").IsZero() {
			t.Errorf("%v, %+v", err, x)
		}
		c.start(t, "t", ralph.Task{Prompt: "Use none."})
	}
}

// TestFailure33TwoSessionsOneFolder: neither of two sessions in one folder overwrites what
// is known of the other.
func TestFailure33TwoSessionsOneFolder(t *testing.T) {
	t.Parallel()
	d := &progress.Dir{Path: t.TempDir()}
	a, b := newChat(d), newChat(&progress.Dir{Path: d.Path})
	a.start(t, "a", ralph.Task{Prompt: "One."})
	b.start(t, "b", ralph.Task{Prompt: "Two."})
	a.answers(t, "a", "I have worked.", "I have worked.")
	b.answers(t, "b", "I have worked.")
	if x := state(t, d, "a"); x.State.Iteration != 3 || x.State.Task.Prompt != "One." {
		t.Errorf("%+v", x)
	}
	if x := a.answers(t, "a", "<promise>DONE</promise>"); x.State.Stop != ralph.StopVerified {
		t.Errorf("%+v", x)
	}
	if x := state(t, d, "b"); x.State.Iteration != 2 || x.State.Task.Prompt != "Two." || len(b.prompts["b"]) != 1 || !strings.Contains(b.prompts["b"][0], "Two.") {
		t.Errorf("%+v, %q", x, b.prompts)
	}
	if _, err := a.hook.Start(t.Context(), "b", ralph.Task{Prompt: "Three."}); !errors.Is(err, ralph.ErrActive) {
		t.Error(err)
	}
}

// TestFailure35SessionsByName: an event is only of the session that it names.
func TestFailure35SessionsByName(t *testing.T) {
	t.Parallel()
	d := &progress.Dir{Path: t.TempDir()}
	c := newChat(d)
	c.start(t, "only-one", ralph.Task{Prompt: "Do it."})
	text := read(t, d.File("only-one"))
	for _, name := range []string{"", "only", "ONLY-ONE", "only-one ", "only-one\x00", "other"} {
		x, err := c.hook.Idle(t.Context(), ralph.Turn{Session: name, Text: "<promise>DONE</promise>"})
		if !x.IsZero() || (name == "") != errors.Is(err, ralph.ErrNoSession) || name != "" && err != nil {
			t.Errorf("%q: %+v, %v", name, x, err)
		}
		if was, err := c.hook.Cancel(t.Context(), name); was || (err != nil) != (name == "") {
			t.Errorf("%q: %v, %v", name, was, err)
		}
	}
	if read(t, d.File("only-one")) != text || len(c.prompts) != 0 {
		t.Errorf("%q", c.prompts)
	}
	if files, err := os.ReadDir(d.Path); err != nil || len(files) != 2 { // with .gitignore
		t.Error(files, err)
	}
}

// TestFailure37CancelledSession: a loop that was cancelled comes back by nothing that
// somebody does who has not heard of it, at whatever point.
func TestFailure37CancelledSession(t *testing.T) {
	t.Parallel()
	d := &progress.Dir{Path: t.TempDir()}
	other := &progress.Dir{Path: d.Path}
	cancel := func(session string) error {
		_, err := other.Cancel(session, "enough")
		return err
	}
	for name, set := range map[string]func(h *ralph.Hook, session string){
		"before it is read": func(h *ralph.Hook, session string) {
			h.Messages = func(_ context.Context, session string) ([]ralph.Message, error) {
				if x, _ := h.State(t.Context(), session); !x.Active() { // at the start
					return nil, nil
				}
				return []ralph.Message{{Role: "user", Content: "Do it."}, {Role: "assistant", Content: "<promise>DONE</promise>"}}, cancel(session)
			}
		},
		"while it is verified": func(h *ralph.Hook, session string) {
			h.Verifier = ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) { return ralph.Pass(), cancel(session) })
		},
		"while the prompt is injected": func(h *ralph.Hook, session string) {
			h.Inject = func(_ context.Context, session, _ string) error { return cancel(session) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newChat(d)
			set(c.hook, name)
			c.start(t, name, ralph.Task{Prompt: "Do it."})
			turn := ralph.Turn{Session: name}
			if c.hook.Messages == nil {
				turn.Text = "I have worked."
			}
			if name == "while it is verified" {
				turn.Text = "<promise>DONE</promise>"
			}
			for range 2 {
				if x, err := c.hook.Idle(t.Context(), turn); err != nil || x.Active() {
					t.Errorf("%+v, %v", x, err)
				}
			}
			for range 2 {
				if err := cancel(name); !errors.Is(err, progress.ErrOver) {
					t.Error(err)
				}
				if was, err := c.hook.Cancel(t.Context(), name); was || err != nil {
					t.Error(was, err)
				}
			}
			if _, err := other.Limit(name, ralph.Limits{Iterations: 99}); !errors.Is(err, progress.ErrOver) {
				t.Error(err)
			}
			if x := state(t, d, name); !x.IsZero() || len(c.prompts) != 0 {
				t.Errorf("%+v, %q", x, c.prompts)
			}
			if e, err := other.Look(name); err != nil || e.Status != progress.StatusCancelled || e.State.Detail != "enough" {
				t.Errorf("%+v, %v", e, err)
			}

			// A new loop of the session is another one.
			old := read(t, d.File(name))
			c = newChat(d)
			c.start(t, name, ralph.Task{Prompt: "Do it again."})
			if x := state(t, d, name); x.State.Task.Prompt != "Do it again." || x.State.Iteration != 1 || read(t, strings.TrimSuffix(d.File(name), "jsonl")+"last.jsonl") != old {
				t.Errorf("%+v", x)
			}
		})
	}
}

// TestHookStateFile: the view of a session's loop has the keys that such a file is read by.
func TestHookStateFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".supercoin", "ralph-loop-state.json")
	c := newChat(&progress.Dir{Path: t.TempDir()})
	c.hook.Log = &progress.StateFile{Path: path}
	before := time.Now()
	c.start(t, "ses_1", ralph.Task{Title: "Auth", Prompt: "Implement it.", Limits: ralph.Limits{Iterations: 25}, Promise: "ALL_FIXED"})
	is := func() map[string]any {
		t.Helper()
		file := map[string]any{}
		if err := json.Unmarshal([]byte(read(t, path)), &file); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"startedAt", "lastIterationAt"} {
			if text, there := file[key].(string); there {
				if at, err := time.Parse(time.RFC3339, text); err != nil || at.Before(before.Add(-time.Second)) || at.After(time.Now().Add(time.Second)) {
					t.Errorf("%s: %v, %v", key, at, err)
				}
				file[key] = "a time"
			}
		}
		return file
	}
	want := map[string]any{"active": true, "iteration": 1.0, "maxIterations": 25.0, "completionPromise": "ALL_FIXED", "startedAt": "a time",
		"prompt": "Implement it.", "sessionId": "ses_1", "description": "Auth"}
	if diff := cmp.Diff(want, is()); diff != "" {
		t.Errorf("at the start (-want +got):\n%s", diff)
	}
	c.answers(t, "ses_1", "I have worked.", "I have worked.")
	want["iteration"], want["lastIterationAt"] = 3.0, "a time"
	if diff := cmp.Diff(want, is()); diff != "" || len(want) != 9 {
		t.Errorf("later (-want +got):\n%s", diff)
	}
	c.answers(t, "ses_1", "<promise>all_fixed</promise>")
	want["active"] = false
	if diff := cmp.Diff(want, is()); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
	c.start(t, "ses_1", ralph.Task{Prompt: "Another."})
	if got := is(); got["active"] != true || got["iteration"] != 1.0 || got["prompt"] != "Another." {
		t.Errorf("%v", got)
	}
	if was, err := c.hook.Cancel(t.Context(), "ses_1"); !was || err != nil || is()["active"] != false {
		t.Error(was, err)
	}
}
