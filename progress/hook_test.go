package progress_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file/filetest"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

// A chat is a host with sessions, as small as a test needs it: it notes the prompts
// that it is given.
type chat struct {
	hook *ralph.Hook

	mu      sync.Mutex
	prompts map[string][]string
}

func newChat(store ralph.Store) *chat {
	c := &chat{prompts: map[string][]string{}}
	c.hook = &ralph.Hook{Store: store, Verifier: verify.String{}, Delay: -1, Workspace: noWorkspace,
		Inject: func(_ context.Context, session, prompt string) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.prompts[session] = append(c.prompts[session], prompt)
			return nil
		},
	}
	return c
}

func (c *chat) start(t testing.TB, session string, task ralph.Task) ralph.HookState {
	t.Helper()
	x, err := c.hook.Start(t.Context(), session, task)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// answers tells the hook of answers, each of which is an event of its own.
func (c *chat) answers(t testing.TB, session string, answers ...string) (x ralph.HookState) {
	t.Helper()
	for _, text := range answers {
		var err error
		if x, err = c.hook.Idle(t.Context(), ralph.Turn{Session: session, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

// state is what a new process finds of a session.
func state(t testing.TB, d *progress.Dir, session string) (x ralph.HookState) {
	t.Helper()
	err := (&progress.Dir{Path: d.Path}).Update(t.Context(), session, func(is ralph.HookState) (ralph.HookState, error) {
		x = is
		return is, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// put sets a session's state.
func put(t testing.TB, d *progress.Dir, session string, to ralph.HookState) {
	t.Helper()
	if err := d.Update(t.Context(), session, func(ralph.HookState) (ralph.HookState, error) { return to, nil }); err != nil {
		t.Fatal(err)
	}
}

// someState is a state of which every field says something that fits to the others.
func someState(session string) ralph.HookState {
	s := ralph.Start(ralph.Task{ID: "T", Title: "Work.", Prompt: "Do it.", Promise: "DONE", Match: ralph.MatchFold, Limits: ralph.Limits{Iterations: 7}})
	s.Loop, s.Running = session, true
	now := time.Date(2026, 7, 1, 12, 0, 0, 123456789, time.UTC)
	it := ralph.Iteration{Number: 1, Attempt: 1, Start: now, End: now.Add(time.Minute), Elapsed: time.Minute, Claimed: true, Line: 3,
		Verdict: ralph.Reject("a test fails"), Session: session, Files: []string{"a.go"}}
	return ralph.HookState{Session: session, State: s.Next(it), Last: it, Asked: now, Injecting: true, Failed: "the window is closed",
		Seen: 12, Turn: "t-1", Busy: "me", Until: now.Add(time.Second), Recovering: now.Add(time.Hour)}
}

func TestRalphLoopStorage(t *testing.T) {
	t.Parallel()
	t.Run("should write and read state", func(t *testing.T) {
		d := &progress.Dir{Path: filepath.Join(t.TempDir(), "new", "folder")}
		want := someState("s")
		put(t, d, "s", want)
		if diff := cmp.Diff(want, state(t, d, "s"), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-written +read):\n%s", diff)
		}
		var all []ralph.HookState
		for x, err := range (&progress.Dir{Path: d.Path}).All(t.Context()) {
			if err != nil {
				t.Error(err)
			}
			all = append(all, x)
		}
		if diff := cmp.Diff([]ralph.HookState{want}, all, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-written +listed):\n%s", diff)
		}
		if x := state(t, d, "another"); !x.IsZero() {
			t.Errorf("of another session: %+v", x)
		}
		if _, err := os.Lstat(d.File("another")); !errors.Is(err, fs.ErrNotExist) {
			t.Error("who looks leaves a file")
		}
	})
	t.Run("should increment iteration", func(t *testing.T) {
		d := &progress.Dir{Path: t.TempDir()}
		c := newChat(d)
		c.start(t, "s", ralph.Task{Prompt: "Do it."})
		for want := 2; want <= 4; want++ {
			x := c.answers(t, "s", "I have worked.")
			if is := state(t, d, "s"); is.State.Iteration != want || x.State.Iteration != want || !is.State.Running || is.State.Task.Prompt != "Do it." || is.Last.Number != want-1 {
				t.Errorf("%d: %+v, %+v", want, x, is)
			}
		}
		var kinds []ralph.EventKind
		f, err := os.Open(d.File("s"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for rec, err := range progress.ReadJSONL(f) {
			if err != nil {
				t.Error(err)
			}
			if k := rec.Kind; k != ralph.EventHook {
				kinds = append(kinds, k)
				if k == ralph.EventIterationEnded && (rec.Iteration != len(kinds)-1 || !rec.Continuing || rec.Max != 100) {
					t.Errorf("%+v", rec)
				}
			}
		}
		if ended := ralph.EventIterationEnded; !slices.Equal(kinds, []ralph.EventKind{ralph.EventLoopStarted, ended, ended, ended}) {
			t.Error(kinds)
		}
		s, err := progress.Resume(strings.NewReader(read(t, d.File("s"))), "s")
		if diff := cmp.Diff(state(t, d, "s").State, s, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%v, (-store +as an execution log):\n%s", err, diff)
		}
	})
	t.Run("should clear state", func(t *testing.T) {
		d := &progress.Dir{Path: t.TempDir()}
		put(t, d, "s", someState("s"))
		put(t, d, "s", ralph.HookState{})
		if x := state(t, d, "s"); !x.IsZero() {
			t.Errorf("%+v", x)
		}
		for x, err := range d.All(t.Context()) {
			t.Error(x, err)
		}
		e, err := d.Look("s")
		if err != nil || e.Kind != progress.KindHook || e.Status != progress.StatusCancelled || e.State.Detail != "cleared" || e.State.Task.Prompt != "Do it." || e.State.Iteration != 2 {
			t.Errorf("%+v, %v", e, err)
		}
		text := read(t, d.File("s"))
		put(t, d, "s", ralph.HookState{})
		if read(t, d.File("s")) != text {
			t.Error("what is clear is cleared")
		}
	})
}

// TestHookPersists: what a host's process knew is in the store, and another one goes on.
func TestHookPersists(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"should persist state across restarts", "State persists across session restarts"} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			// Each event has a process of its own.
			newChat(&progress.Dir{Path: path}).start(t, "s", ralph.Task{Prompt: "Do it.", Title: "Work."})
			for n := 2; n <= 3; n++ {
				c := newChat(&progress.Dir{Path: path})
				if x := c.answers(t, "s", "I have worked."); x.State.Iteration != n || len(c.prompts["s"]) != 1 || !strings.HasPrefix(c.prompts["s"][0], fmt.Sprintf("[RALPH LOOP - ITERATION %d/100]", n)) {
					t.Fatalf("%+v, %q", x, c.prompts)
				}
			}
			c := newChat(&progress.Dir{Path: path})
			if x, err := c.hook.State(t.Context(), ""); err != nil || x.Session != "s" || x.State.Iteration != 3 || x.State.Task.Title != "Work." {
				t.Errorf("%+v, %v", x, err)
			}
			if x := c.answers(t, "s", "<promise>DONE</promise>"); x.State.Stop != ralph.StopVerified || x.State.Iteration != 3 {
				t.Errorf("%+v", x)
			}
			e, err := (&progress.Dir{Path: path}).Look("s")
			if active, _ := c.hook.Active(t.Context(), "s"); err != nil || active || e.Status != progress.StatusCompleted || e.State.Task.Prompt != "Do it." || len(c.prompts) != 0 {
				t.Errorf("%+v, %v, %v", e, err, active)
			}
		})
	}
}

// TestHookLines: one line is written for a change, none if there is none, and only what
// changes the loop waits for the disk.
func TestHookLines(t *testing.T) {
	t.Parallel()
	disk := &filetest.Disk{}
	d := (&progress.Dir{Path: t.TempDir()}).On(disk)
	put(t, d, "s", someState("s"))
	for _, tt := range []struct {
		name       string
		change     func(*ralph.HookState)
		lines, ops int
	}{
		{"nothing", func(*ralph.HookState) {}, 0, 0},
		{"nothing, in other words", func(x *ralph.HookState) {
			x.State.Ended, x.Until = []string{}, x.Until.In(time.FixedZone("east", 3600))
			x.State.Updated = x.State.Updated.Local()
		}, 0, 0},
		{"who deals with it", func(x *ralph.HookState) { x.Busy, x.Until = "you", x.Until.Add(time.Second) }, 1, 1},
		{"nobody does", func(x *ralph.HookState) { x.Busy, x.Until, x.Injecting, x.Failed = "", time.Time{}, false, "" }, 1, 1},
		{"it runs", func(x *ralph.HookState) { x.State.Running = true }, 1, 2},
		{"another limit", func(x *ralph.HookState) { x.State.Task.Limits.Iterations = 9 }, 1, 2},
		{"after it", func(x *ralph.HookState) { x.Turn = "t-2" }, 1, 1},
		{"the first limit", func(x *ralph.HookState) { x.State.Task.Limits.Iterations = 7 }, 1, 2},
		{"it ends", func(x *ralph.HookState) {
			it := x.Last
			it.Number, it.Verdict = 2, ralph.Pass()
			x.State, x.Last = x.State.Next(it), it
		}, 2, 2},
	} {
		was, ops := strings.Count(read(t, d.File("s")), "\n"), disk.Ops()
		var want ralph.HookState
		if err := d.Update(t.Context(), "s", func(x ralph.HookState) (ralph.HookState, error) {
			tt.change(&x)
			want = x
			return x, nil
		}); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(read(t, d.File("s")), "\n") - was; lines != tt.lines || disk.Ops()-ops != tt.ops {
			t.Errorf("%s: %d lines, %d operations", tt.name, lines, disk.Ops()-ops)
		}
		whole, err := d.WholeSession("s")
		if diff := cmp.Diff(want, whole, cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(0)); err != nil || diff != "" {
			t.Errorf("%s: %v (-returned +on record):\n%s", tt.name, err, diff)
		}
		if is := state(t, d, "s"); want.Active() && !cmp.Equal(want, is, cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(0)) || !want.Active() && !is.IsZero() {
			t.Errorf("%s: %+v", tt.name, is)
		}
	}
	if e, err := d.Look("s"); err != nil || e.Status != progress.StatusCompleted || e.State.Task.Limits.Iterations != 7 {
		t.Errorf("%+v, %v", e, err)
	}
	// A change that fails changes nothing.
	text, no := read(t, d.File("s")), errors.New("no")
	err := d.Update(t.Context(), "s", func(ralph.HookState) (ralph.HookState, error) { return someState("s"), no })
	if err != no || read(t, d.File("s")) != text {
		t.Error(err)
	}
	// What could not be read back is refused.
	put(t, d, "s", someState("s"))
	text = read(t, d.File("s"))
	if err := d.Update(t.Context(), "s", func(x ralph.HookState) (ralph.HookState, error) {
		x.State.Task = ralph.Task{}
		return x, nil
	}); err == nil || read(t, d.File("s")) != text {
		t.Error(err)
	}
	// A host's plug-in panics while it has the session; others are not in its way.
	func() {
		defer func() { recover() }()
		d.Update(t.Context(), "s", func(ralph.HookState) (ralph.HookState, error) { panic("oh") })
	}()
	if x := state(t, d, "s"); !x.Active() {
		t.Errorf("%+v", x)
	}
}

// TestHookLongJournal: of a long journal only the end is read, and it tells the same.
func TestHookLongJournal(t *testing.T) {
	t.Parallel()
	d := &progress.Dir{Path: t.TempDir(), NoSync: true}
	x := someState("s")
	x.State.Task.Limits.Iterations = -1
	put(t, d, "s", x)
	if _, err := d.Guide("s", "early"); err != nil {
		t.Fatal(err)
	}
	for n := range 1200 { // who verifies for a long time
		if err := d.Update(t.Context(), "s", func(x ralph.HookState) (ralph.HookState, error) {
			x.Until = x.Until.Add(time.Second)
			if n == 500 {
				x.State.Task.Limits.Iterations = 50
			}
			return x, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Guide("s", "late"); err != nil {
		t.Fatal(err)
	}
	whole, err := d.WholeSession("s")
	is := state(t, d, "s")
	if diff := cmp.Diff(whole, is, cmpopts.EquateEmpty()); err != nil || diff != "" || !slices.Equal(is.State.Guidance, []string{"early", "late"}) || is.State.Task.Limits.Iterations != 50 {
		t.Errorf("%v, %+v (-whole +end):\n%s", err, is, diff)
	}
	// So what is wrong before it is in nobody's way, and what is wrong in it is.
	lines := strings.SplitAfter(read(t, d.File("s")), "\n")
	for _, at := range []int{0, len(lines) - 2, 700} {
		bad := slices.Clone(lines)
		bad[at] = bad[at][:40] + "\n"
		if err := os.WriteFile(d.File("s"), []byte(strings.Join(bad, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		err := d.Update(t.Context(), "s", func(x ralph.HookState) (ralph.HookState, error) { return x, nil })
		corrupt, is := errors.AsType[*progress.CorruptError](err)
		if at == 700 && err != nil || at != 700 && (!is || corrupt.Line != int64(at+1) || corrupt.Path != d.File("s")) {
			t.Errorf("line %d: %v", at+1, err)
		}
	}
}

// TestHookNames: a session is called by any text, and has a journal that nobody else has.
func TestHookNames(t *testing.T) {
	t.Parallel()
	d := &progress.Dir{Path: t.TempDir()}
	names := []string{"../../x", "/etc/passwd", "a\x00b", strings.Repeat("x", 1000), strings.Repeat("x", 999) + "y", " ", "é\u2028\x1b[31m\n", "s", "S", "s.last", "con"}
	for n, name := range names {
		x := someState(name)
		x.Seen = n
		put(t, d, name, x)
	}
	found := 0
	for x, err := range d.All(t.Context()) {
		if err != nil || names[x.Seen] != x.Session {
			t.Errorf("%+v, %v", x, err)
		}
		found++
	}
	if found != len(names) {
		t.Errorf("%d of %d", found, len(names))
	}
	for n, name := range names {
		if x := state(t, d, name); x.Seen != n || x.Session != name {
			t.Errorf("%q: %+v", name, x)
		}
		if filepath.Dir(d.File(name)) != d.Path {
			t.Errorf("%q: %s", name, d.File(name))
		}
	}
	one := func(x ralph.HookState) (ralph.HookState, error) { return someState("x"), nil }
	if err := d.Update(t.Context(), "", one); !errors.Is(err, ralph.ErrNoSession) {
		t.Error(err)
	}
	if err := d.Update(t.Context(), "\xff", one); err == nil {
		t.Error("what is no text is a name")
	}
	if err := (&progress.Dir{}).Update(t.Context(), "s", one); err == nil {
		t.Error("a Dir without a folder has one")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if err := d.Update(ctx, "s", one); !errors.Is(err, why) {
		t.Error(err)
	}
}

// TestHookStrangeJournals: a journal of another kind, or that cannot be read, is an error,
// and in nobody else's way.
func TestHookStrangeJournals(t *testing.T) {
	t.Parallel()
	d := &progress.Dir{Path: t.TempDir()}
	runLoop(t, create(t, d, ralph.Start(ralph.Task{ID: "build", Prompt: "Do it."})), answers(done))
	text := read(t, d.File("build"))
	one := func(x ralph.HookState) (ralph.HookState, error) { return someState("x"), nil }
	if err := d.Update(t.Context(), "build", one); err == nil || !strings.Contains(err.Error(), `"build"`) || read(t, d.File("build")) != text {
		t.Error(err)
	}
	for _, name := range []string{"a", "bad", "moved", "z"} {
		put(t, d, name, someState(name))
	}
	for name, text := range map[string]string{"bad": "{}\n", "moved": read(t, d.File("a"))} {
		if err := os.WriteFile(d.File(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := d.Update(t.Context(), name, one)
		if corrupt, is := errors.AsType[*progress.CorruptError](err); !is || corrupt.Path != d.File(name) || read(t, d.File(name)) != text {
			t.Errorf("%s: %v", name, err)
		}
	}
	var names []string
	var bad []error
	for x, err := range d.All(t.Context()) {
		if err != nil {
			bad = append(bad, err)
		} else {
			names = append(names, x.Session)
		}
	}
	if slices.Sort(names); !slices.Equal(names, []string{"a", "z"}) || len(bad) != 2 {
		t.Error(names, bad)
	}
	for _, err := range bad {
		if _, is := errors.AsType[*progress.CorruptError](err); !is {
			t.Error(err)
		}
	}
	put(t, d, "z", ralph.HookState{})
	if _, _, err := d.SetAside("bad"); err != nil {
		t.Error(err)
	}
	put(t, d, "bad", someState("bad"))
	if x := state(t, d, "bad"); !x.Active() {
		t.Errorf("%+v", x)
	}
}

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
	if line := other.Stand(t.Context(), e).Line(e.Active.Add(3 * time.Minute)); !strings.HasPrefix(line, "s: iteration 1/5, started 3m ago") || !strings.HasSuffix(line, ", last activity 3m ago") {
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
