package ralph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/process"
	"github.com/ralph-loop/ralph/internal/stream"
)

// fault says how the run ended: first our own reasons for ending it, then what
// the provider says in its end event, and only then what can be guessed. Each
// check follows a failure in the field, so their order matters. An agent's words say
// nothing about it.
func (c *Command) fault(ctx context.Context, cause error, exit process.Exit, res stream.Result, f *feed) error {
	said := cmp.Or(res.Message, f.lastWords(res))
	if err := cmp.Or(c.broken(ctx, cause, res, f), reported(res, said)); err != nil {
		return err
	}
	bad := exit.Code != 0 && cause == nil // otherwise the exit is our doing
	if bad && (!res.Ended || cmp.Or(c.Format, FormatText) == FormatText) {
		if err := explained(f.tail.String(), said); err != nil {
			return err
		}
	}
	silent := blank(res.Text)
	switch {
	case bad && (silent || res.Ended):
		return failure("the agent failed, "+exit.String(), said)
	case silent && (res.Ended || f.count.Load() == 0):
		return withWords(ErrEmpty, said)
	case !res.Ended:
		return withWords(ErrIncomplete, said)
	}
	return nil
}

// broken is why the client was not left to end by itself, nil if it was, or if it had
// said all that it had to: that the context is done does not undo an end event that
// came before.
func (c *Command) broken(ctx context.Context, cause error, res stream.Result, f *feed) error {
	switch ours := context.Cause(ctx); {
	case cause == nil || errors.Is(cause, errLingered):
		return nil
	case errors.Is(cause, errIdle):
		return idleError(c.IdleTimeout)
	case ours != nil && errors.Is(cause, ours) && f.decoder.Ended() && !res.Failed:
		return nil
	}
	return cause
}

// reported is the failure that a stream tells of; nil = none.
func reported(res stream.Result, said string) error {
	switch {
	case res.RateLimited:
		wait := res.RetryAfter
		if !res.ResetAt.IsZero() {
			wait = max(time.Until(res.ResetAt), time.Second)
		}
		return RetryAfter(failure(limited, said), wait)
	case res.Denied:
		return Permanent(failure(denied, said))
	case res.Failed:
		return failure("the agent reports a failure", said)
	}
	return nil
}

// explained is a failure that standard error explains in its last lines, if nobody
// else does; nil = it does not.
func explained(stderr, said string) error {
	words := strings.Join(lastLines(stderr, 3), "\n")
	switch {
	case stream.LimitText(words):
		return RetryAfter(failure(limited, said), stream.RetryHint(words))
	case stream.DeniedText(words):
		return Permanent(failure(denied, said))
	}
	return nil
}

const (
	limited = "rate limit"
	denied  = "the provider does not accept the agent's login"
)

// failure is an error with the words of whoever knows more, if anybody does.
func failure(kind, said string) error { return errors.New(strings.TrimSuffix(kind+": "+said, ": ")) }

func withWords(err error, words string) error {
	if words == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, words)
}

// idleError is a time-out.
type idleError time.Duration

func (e idleError) Error() string        { return "no output for " + time.Duration(e).String() }
func (e idleError) Is(target error) bool { return target == context.DeadlineExceeded }
