package progress_test

import (
	"context"
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
