package ralph_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// What others write to the store of a process that owns its sessions is no way to have
// them verified; what they may ask for is heard.
func TestOwnStore(t *testing.T) {
	const session = "s"
	change := func(change func(x *ralph.HookState)) func(ralph.HookState) (ralph.HookState, error) {
		return func(x ralph.HookState) (ralph.HookState, error) { change(&x); return x, nil }
	}
	tests := []struct {
		name   string
		theirs func(x *ralph.HookState)
		want   func(x *ralph.HookState) // of what this process sees
		over   bool
	}{
		{"verified", func(x *ralph.HookState) { x.State.Stop = ralph.StopVerified }, nil, true},
		{"removed", func(x *ralph.HookState) { *x = ralph.HookState{} }, nil, true},
		{"another task", func(x *ralph.HookState) { x.State.Task.Dir, x.State.Task.Prompt = "/", "Nothing." }, func(x *ralph.HookState) {}, false},
		{"another iteration", func(x *ralph.HookState) { x.State.Iteration, x.Busy = 9, "me" }, func(x *ralph.HookState) {}, false},
		{"limited", func(x *ralph.HookState) { x.State.Task.Limits.Iterations = 7 }, func(x *ralph.HookState) { x.State.Task.Limits.Iterations = 7 }, false},
		{"guided", func(x *ralph.HookState) { x.State = x.State.Guide("Look.") }, func(x *ralph.HookState) { x.State = x.State.Guide("Look.") }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			disk := &ralph.MemoryStore{}
			own := &ralph.OwnStore{Store: disk}
			h := &ralph.Hook{Store: own, Verifier: verify.String{}, Inject: neverInject}
			was, err := h.Start(t.Context(), session, ralph.Task{Prompt: "Fix it.", Dir: t.TempDir()})
			if err == nil {
				err = disk.Update(t.Context(), session, change(tt.theirs))
			}
			if err != nil {
				t.Fatal(err)
			}
			is, err := h.State(t.Context(), session)
			if err != nil || is.Active() == tt.over {
				t.Fatalf("active: %v, %v", is.Active(), err)
			}
			if tt.over {
				err := disk.Update(t.Context(), session, func(ralph.HookState) (ralph.HookState, error) { return was, nil })
				if is, bad := h.State(t.Context(), session); err != nil || bad != nil || is.Active() {
					t.Errorf("what they begin is taken for a loop of this process: %+v, %v, %v", is, err, bad)
				}
				if left := own.Left(session); left.State.Stop != "" {
					t.Errorf("left as %q", left.State.Stop)
				}
				return
			}
			tt.want(&was)
			was.State.Updated = is.State.Updated
			if diff := cmp.Diff(was, is); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	// How it has ended is kept.
	own := &ralph.OwnStore{Store: &ralph.MemoryStore{}}
	h := &ralph.Hook{Store: own, Verifier: verify.String{}, Inject: neverInject}
	if _, err := h.Start(t.Context(), session, ralph.Task{Prompt: "Fix it.", Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Idle(t.Context(), ralph.Turn{Session: session, Text: "<promise>DONE</promise>"}); err != nil || own.Left(session).State.Stop != ralph.StopVerified {
		t.Errorf("%v, left as %q", err, own.Left(session).State.Stop)
	}
}

func neverInject(context.Context, string, string) error { return errors.New("nobody asks for it") }
