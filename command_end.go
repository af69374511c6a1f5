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
	"github.com/ralph-loop/ralph/internal/term"
)

// fault says how the run ended: first our own reasons for ending it, then what
// the provider says in its end event, and only then what can be guessed. Each
// check follows a failure in the field, so their order matters. An agent's words say
// nothing about it.
//
// What a client says is looked at only when something failed: an agent that works on
// code about rate limits writes of them all day.
func (c *Command) fault(ctx context.Context, cause error, exit process.Exit, res stream.Result, f *feed) error {
	said := cmp.Or(res.Message, f.lastWords(res))
	if err := c.broken(ctx, cause, res, f); err != nil {
		return err
	}
	bad := exit.Code != 0 && cause == nil // otherwise the exit is our doing
	kind, words := c.about(bad, exit, res, f)
	switch {
	case kind == stream.Limit:
		return RetryAfter(failure(sentence(kind, f.prompt), said), until(res, words, time.Now()))
	case kind.Lasts():
		return Permanent(failure(sentence(kind, f.prompt), said))
	case res.Failed:
		return failure("the agent reports a failure", said)
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

// about is what a run's failure is about, and in which words.
//
// That no model was asked at all shows in what is missing: no request, no text. Then it
// may be the prompt, which the client took for a command of its own.
func (c *Command) about(bad bool, exit process.Exit, res stream.Result, f *feed) (kind stream.Kind, words string) {
	kind, words = res.Kind, res.Words
	if kind == stream.Unknown && bad {
		kind, words = c.explained(exit, res, f.tail.String())
	}
	unasked := blank(res.Text) && res.Usage.Requests == 0 && (res.Unasked || bad || f.count.Load() == 0)
	if kind == stream.Unknown && unasked && isCommand(f.prompt) {
		kind = stream.Command
	}
	return kind, words
}

// broken is why the client was not left to end by itself, nil if it was, or if it had
// said all that it had to: that the context is done does not undo an end event that
// came before. A client that lingers after its end event was ended by us, and has done
// nothing wrong.
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

// explained is what a failed exit is about, in the words of standard error if nobody
// else explains it. Of those, only a limit and a login count once the agent has said
// something: it was started well then. An agent that was at work has printed the errors
// of its own tools there, and "no such model" may be a line of a test.
func (c *Command) explained(exit process.Exit, res stream.Result, stderr string) (kind stream.Kind, words string) {
	format := cmp.Or(c.Format, FormatText)
	if !res.Ended || format == FormatText {
		words = stream.Reason(stderr)
		kind = stream.KindOf(words)
	}
	if kind == stream.Unknown {
		kind = stream.ExitKind(string(format), exit.Code)
	}
	if kind != stream.Limit && kind != stream.Denied && !blank(res.Text) {
		kind = stream.Unknown
	}
	return kind, words
}

// until is how long a rate limit lasts, as the client tells it; 0 = it does not. A
// field goes before words; a moment that has just passed gives a second, so that clocks
// that differ do not make the loop ask at once.
func until(res stream.Result, words string, now time.Time) time.Duration {
	at := res.ResetAt
	switch {
	case !at.IsZero():
		return min(max(at.Sub(now), time.Second), longestHint)
	case res.RetryAfter > 0:
		return res.RetryAfter
	}
	if at = stream.ResetTime(words, now, time.Local); at.IsZero() {
		return 0
	}
	return max(at.Sub(now), time.Second)
}

// longestHint bounds what is believed of a provider: the longest limits are of a week.
// A clock that is wrong on either side could otherwise put a loop to sleep for years.
const longestHint = 8 * 24 * time.Hour

// isCommand reports whether a client may take a prompt for something else than a
// prompt: "/clear", "@file", but not "/usr/bin is a folder". A path as the first word
// is what people write; a command has no second slash.
func isCommand(prompt string) bool {
	word, _, _ := strings.Cut(prompt, "\n")
	word, _, _ = strings.Cut(word, " ")
	return len(word) > 1 && (word[0] == '@' || word[0] == '/' && !strings.Contains(word[1:], "/"))
}

// firstWord is that word, fit to be shown: a prompt can hold anything.
func firstWord(prompt string) string {
	word, _, _ := strings.Cut(term.Line(clip(prompt, 80)), " ")
	return word
}

// sentence is what a failure is about, in front of the client's own words. Clients' own
// words differ and change; this part people can search for.
func sentence(kind stream.Kind, prompt string) string {
	switch kind {
	case stream.Limit:
		return "rate limit"
	case stream.Denied:
		return "the agent's login is missing, or the provider does not accept it"
	case stream.Credit:
		return "the provider's account has nothing left to pay with"
	case stream.TooLong:
		return "the prompt is too long"
	case stream.NoModel:
		return "the model cannot be used"
	case stream.Command:
		return "the prompt begins with " + firstWord(prompt) + ", which the client takes for a command or a file of its own: no model was asked"
	}
	return "the client refuses to run like this"
}

// failure is an error with the words of whoever knows more, if anybody does.
func failure(kind, said string) error { return errors.New(strings.TrimSuffix(kind+": "+said, ": ")) }

func withWords(err error, words string) error {
	if words == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, words)
}

// idleError is a time-out. It is [context.DeadlineExceeded] to errors.Is, so the loop
// treats it as it treats every time-out: it is not retried.
type idleError time.Duration

func (e idleError) Error() string        { return "no output for " + time.Duration(e).String() }
func (e idleError) Is(target error) bool { return target == context.DeadlineExceeded }
