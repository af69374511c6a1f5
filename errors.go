package ralph

import (
	"errors"
	"time"
)

// Errors with a meaning for the loop.
var (
	// ErrIncomplete: the agent's stream ended without its end event, so the
	// agent was cut off. The attempt is retried.
	ErrIncomplete = errors.New("the agent's stream ended without its end event")
	// ErrEmpty: the agent gave no answer at all. The attempt is retried.
	ErrEmpty = errors.New("the agent gave no answer")
	// ErrCancelled is a cause for a context that a person cancelled, for good: the
	// loop is recorded as cancelled, see [State.Cancel]. A [*StopError] of a loop
	// that was cancelled is ErrCancelled to [errors.Is].
	ErrCancelled = errors.New("cancelled")
	// ErrAbandoned is the cause of the context of a loop whose events, or results,
	// nobody wants any more: the range over [Local.Events] or [RunAll] was broken
	// off. The loop is interrupted, and can go on.
	ErrAbandoned = errors.New("abandoned")
)

// Permanent marks an error that retrying cannot mend: the agent is not
// installed, not logged in. The loop stops with [StopFailed]. Permanent(nil) is
// nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

// permanentError and rateLimitError say how to go on and nothing of what went wrong, so
// the text is that of the error they wrap.
type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

// RetryAfter marks an error as a rate limit. The loop waits for d and starts
// the iteration again; that costs no iteration and no retry. If d is 0 or
// negative, the provider did not say how long, and the loop waits for a minute,
// then longer each time. RetryAfter(nil, d) is nil.
func RetryAfter(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &rateLimitError{err, max(d, 0)}
}

type rateLimitError struct {
	error
	after time.Duration
}

func (e *rateLimitError) Unwrap() error { return e.error }

// A StopError says why a loop stopped before its task was verified.
//
// Programs decide by Reason; [errors.AsType] finds it in what Run returns. Detail is
// made for people, and its words change.
type StopError struct {
	Task   string // the task's ID; "" = it has none
	Reason StopReason
	Detail string
}

func (e *StopError) Error() string {
	text := "ralph: "
	if e.Task != "" {
		text += e.Task + ": "
	}
	text += "stopped: " + string(e.Reason)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// Is reports whether target is [ErrCancelled] and the loop was cancelled.
func (e *StopError) Is(target error) bool {
	return target == ErrCancelled && e.Reason == StopCancelled
}
