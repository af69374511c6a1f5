package progress_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// FuzzHookJournal: whatever becomes of a session, the end of its journal tells what all of
// it tells; and whatever somebody makes of a
// journal, it is read or refused.
func FuzzHookJournal(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 0, "")
	f.Add([]byte{1, 1, 1, 4, 2, 1, 5, 3, 2, 6, 1, 0, 2}, 700, "\x00\n{")
	f.Add([]byte{4, 4, 9, 2, 3, 10, 2, 5, 1, 11, 0, 7, 1, 8, 2}, 40, `"hook":{"state":{"v":`)
	f.Fuzz(func(t *testing.T, ops []byte, at int, over string) {
		d := &progress.Dir{Path: t.TempDir(), NoSync: true}
		put(t, d, "s", someState("s"))
		for _, op := range ops[:min(len(ops), 15)] {
			if err := hookOp(t, d, op); err != nil && !errors.Is(err, progress.ErrOver) {
				t.Fatalf("%d: %v", op, err)
			}
			whole, err := d.WholeSession("s")
			if err != nil {
				t.Fatal(err)
			}
			e, err := d.Look("s")
			if diff := cmp.Diff(whole.State, e.State, cmpopts.EquateEmpty()); err != nil || diff != "" {
				t.Fatalf("after %d: %v (-whole +end):\n%s", op, err, diff)
			}
			is := state(t, d, "s")
			if whole.State.Done() {
				whole = ralph.HookState{}
			}
			if diff := cmp.Diff(whole, is, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("after %d: (-whole +end):\n%s", op, diff)
			}
		}
		text := read(t, d.File("s"))
		if at < 0 || at >= len(text) {
			return
		}
		if err := os.WriteFile(d.File("s"), []byte(text[:at]+over+text[min(at+len(over), len(text)):]), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{hookOp(t, d, 1), errOf(d.Look("s"))} {
			if _, is := errors.AsType[*progress.CorruptError](err); err != nil && !is && !strings.Contains(err.Error(), "nothing is on record") && !strings.Contains(err.Error(), "is the name of a") {
				t.Error(err)
			}
		}
		for range d.All(t.Context()) {
		}
	})
}

// hookOp is one of what becomes of a session.
func hookOp(t *testing.T, d *progress.Dir, op byte) error {
	update := func(change func(x *ralph.HookState)) error {
		return d.Update(t.Context(), "s", func(x ralph.HookState) (ralph.HookState, error) {
			if !x.IsZero() {
				change(&x)
			}
			return x, nil
		})
	}
	switch op % 12 {
	case 0:
		return update(func(x *ralph.HookState) { *x = ralph.HookState{} })
	case 1:
		return update(func(x *ralph.HookState) { x.Seen++ })
	case 2:
		return update(func(x *ralph.HookState) { x.State.Running = !x.State.Running })
	case 3:
		return update(func(x *ralph.HookState) {
			it := ralph.Iteration{Number: x.State.Iteration, Attempt: x.State.Attempt, Claimed: true, Verdict: ralph.Verdict{Passed: op > 200, Feedback: strings.Repeat("x", int(op)*100)}}
			x.State, x.Last = x.State.Next(it), it
		})
	case 4:
		return errOf(d.Guide("s", strings.Repeat("y", int(op)+1)))
	case 5:
		return errOf(d.Pause("s", op < 128))
	case 6:
		return errOf(d.Limit("s", ralph.Limits{Iterations: int(op) % 9}))
	case 7:
		return errOf(d.Stop("s"))
	case 8:
		return errOf(d.Cancel("s", "enough"))
	case 9:
		return update(func(x *ralph.HookState) { x.State.Task.Limits.Iterations = int(op) % 20 })
	case 10:
		for range 4 { // so that a whole state is far
			if err := update(func(x *ralph.HookState) { x.Seen++; x.Turn = strings.Repeat("z", 100*int(op)) }); err != nil {
				return err
			}
		}
		return nil
	}
	if x := state(t, d, "s"); x.IsZero() {
		put(t, d, "s", someState("s"))
	}
	return nil
}
