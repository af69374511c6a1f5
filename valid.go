package ralph

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Validate reports everything that is wrong with the task, a line for each
// problem, by field. Drivers call it; [Start] of an invalid task is done, with
// [StopInvalid].
func (t Task) Validate() error { return invalid(t.problems()) }

// problems is all that is wrong with the task and not the first thing alone: whoever
// mends a file wants to do so once. Texts must be UTF-8, for JSON would replace what is
// not in silence, and the task that is resumed were another than the one that was
// begun.
func (t Task) problems() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("task: "+format, args...)) }
	for _, f := range []struct{ name, text string }{
		{"id", t.ID}, {"agent", t.Agent}, {"title", t.Title}, {"prompt", t.Prompt}, {"dir", t.Dir},
		{"outcome", t.Outcome}, {"success", t.Success}, {"how_verified", t.HowVerified}, {"method", t.Method},
	} {
		if !utf8.ValidString(f.text) {
			bad("%s is not valid UTF-8", f.name)
		}
	}
	for i, a := range t.Acceptance {
		if !utf8.ValidString(a) {
			bad("acceptance[%d] is not valid UTF-8", i)
		}
	}
	if strings.ContainsRune(t.Dir, 0) {
		bad("dir holds a NUL byte")
	}
	if t.Promise != "" {
		if err := validPromise(t.Promise); err != nil {
			bad("promise %q %w", t.Promise, err)
		}
	}
	// The two promises must differ even when case and white space do not count, or an
	// answer would say both.
	if t.Blocked != "" {
		if err := validPromise(t.Blocked); err != nil {
			bad("blocked %q %w", t.Blocked, err)
		} else if strings.EqualFold(fold(t.Blocked), fold(t.promise())) {
			bad("blocked %q is the same as the promise", t.Blocked)
		}
	}
	if !t.Match.valid() {
		bad("match %q is not known; use one of %s", string(t.Match), strings.Join(matchNames(), ", "))
	}
	if len(t.Spec) > 0 && !json.Valid(t.Spec) {
		bad("spec is not valid JSON")
	}
	return append(errs, t.Limits.problems()...)
}

// validPromise rejects a text that no answer could ever hold as one promise.
//
// The bound of 1 KiB is far beyond what anybody needs; it keeps a file that was given
// by mistake out of every prompt.
func validPromise(p string) error {
	lower := strings.ToLower(p)
	switch {
	case !utf8.ValidString(p):
		return errors.New("is not valid UTF-8")
	case strings.ContainsAny(p, "\r\n"):
		return errors.New("has a line break; a promise is one line")
	case strings.Contains(lower, "<promise>") || strings.Contains(lower, "</promise>"):
		return errors.New("holds a promise tag; give the text between the tags only")
	case strings.ContainsFunc(p, func(r rune) bool { return unicode.IsControl(r) && r != '\t' }):
		return errors.New("holds a control character")
	case fold(p) == "":
		return errors.New("is blank")
	case len(p) > 1<<10:
		return errors.New("is longer than 1 KiB")
	}
	return nil
}

// maxCount is what no count of a loop reaches. From the largest number the next would
// be negative, which is under every limit. A billion iterations of a second each take
// thirty years, so no honest state is refused.
const maxCount = 1 << 30

// validate reports what no loop can go on from. Start makes no such state, but
// states are also made by hand and read from logs that somebody edited.
//
// Each rule is one that a method relies on: a negative count would slice out of bounds
// or be under every limit, one near the largest would overflow. What is merely odd is
// not refused, since a log of another version may hold it.
func (s State) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("state: "+format, args...)) }
	if s.Iteration < 1 || s.Attempt < 1 {
		bad("iteration is %d and attempt %d; both count from 1, see Start", s.Iteration, s.Attempt)
	}
	if s.Late < 0 || s.Late > len(s.Guidance) {
		bad("late is %d of %d texts of guidance", s.Late, len(s.Guidance))
	}
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"iteration", int64(max(s.Iteration, 0))}, {"attempt", int64(max(s.Attempt, 0))}, {"retries", int64(s.Retries)}, {"failures", int64(s.Failures)},
		{"rate_limits", int64(s.RateLimits)}, {"stalled", int64(s.Stalled)}, {"blocked", int64(s.Blocked)}, {"repeated", int64(s.Repeated)}, {"unpriced", int64(s.Unpriced)},
		{"elapsed", int64(min(s.Elapsed, 0))}, {"ran", int64(min(s.Ran, 0))}, {"waited", int64(min(s.Waited, 0))}, {"unwaited", int64(min(s.Unwaited, 0))},
		{"wait", int64(min(s.Wait, 0))}, {"line", int64(min(s.Line, 0))}, {"next_iteration", int64(s.NextIteration)}, {"next_attempt", int64(s.NextAttempt)},
	} {
		switch {
		case f.value > maxCount:
			bad("%s is %d; no loop counts that far", f.name, f.value)
		case f.value < 0:
			bad("%s is %d; it cannot be negative", f.name, f.value)
		}
	}
	return invalid(append(errs, s.Task.problems()...))
}

// invalid makes one error of many, nil of none.
func invalid(problems []error) error { return prefixed(errors.Join(problems...)) }

// prefixed puts the package's name in front of an error; nil stays nil.
func prefixed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ralph: %w", err)
}
