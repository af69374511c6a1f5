package ralph

import (
	"context"
	"fmt"
	"time"

	"github.com/ralph-loop/ralph/internal/plugin"
)

// A Notice tells a person what has become of a session's loop: the host of a [Hook]
// shows it, as a toast or a line.
//
// Title and Message are for people, and their words may change; a program reads State
// and Last.
type Notice struct {
	Session string        `json:"session"`
	Title   string        `json:"title"`
	Message string        `json:"message"`
	Variant string        `json:"variant"`            // "info", "success" or "warning"
	For     time.Duration `json:"duration,omitempty"` // how long it is shown, in JSON in nanoseconds; 0 = as the host likes
	State   State         `json:"state,omitzero"`     // the zero State if there is no loop
	Last    Iteration     `json:"last,omitzero"`      // what came of the last answer: its claim, and the verdict on it
}

// An occasion is one on which a person is told something.
type occasion int

const (
	noticeStarted occasion = iota
	noticeIteration
	noticeOver
	noticeCancelled
	noticeNone
)

// Most fade by themselves after a few seconds; the end of a loop stays longest, since
// people look away while a loop runs.
func (o occasion) notice(s State) Notice {
	switch o {
	case noticeStarted:
		return Notice{Title: "Ralph Loop Started", Variant: "info", For: 3 * time.Second,
			Message: fmt.Sprintf("Max %s iterations. Complete with %s", s.maximum(), s.Task.tag(s.Task.promise()))}
	case noticeIteration:
		return Notice{Title: "Ralph Loop", Variant: "info", For: 2 * time.Second, Message: fmt.Sprintf("Iteration %d/%s", s.Iteration, s.maximum())}
	case noticeCancelled:
		return Notice{Title: "Ralph Loop Cancelled", Variant: "info", For: 2 * time.Second, Message: fmt.Sprintf("Stopped at iteration %d", s.Iteration)}
	case noticeNone:
		return Notice{Title: "No Active Loop", Variant: "info", Message: "No Ralph Loop is currently running"}
	}
	n := Notice{Title: "Ralph Loop Stopped", Variant: "warning", For: 5 * time.Second}
	switch s.Stop {
	case StopVerified:
		n.Title, n.Variant = "Ralph Loop Complete!", "success"
		n.Message = fmt.Sprintf("Task completed after %d iteration(s)", s.Iteration)
	case StopIterations:
		n.Message = fmt.Sprintf("Max iterations (%s) reached without completion", s.maximum())
	default:
		n.Message = fmt.Sprintf("%s at iteration %d: %s", s.Stop, s.Iteration, s.Detail)
	}
	return n
}

// notify tells a person. Whether that works is the host's concern: nothing depends on
// it. It gets copies, so that a host may keep them.
func (h *Hook) notify(ctx context.Context, x HookState, o occasion) {
	n := o.notice(x.State)
	n.Session, n.State, n.Last = x.Session, x.State.clone(), x.Last.clone()
	h.tell(ctx, n)
}

// tell hands a notice to the host. A panic of it is dropped with any other failure: a
// toast that cannot be shown must not end a loop.
func (h *Hook) tell(ctx context.Context, n Notice) {
	if h.Notify != nil {
		_ = plugin.Call("Hook.Notify", func() error { h.Notify(ctx, n); return nil })
	}
}
