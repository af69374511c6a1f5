// Package plugin calls code that others plug in. A panic of theirs must not end
// the program that runs the loop: it becomes an error with its stack.
package plugin

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
)

// Call calls f and returns its error. If f panics, the error says what panicked
// and where: the frames from the panic down to f, innermost first. It never
// wraps the panic's value, so a panic is not taken for an error that was returned.
//
// A panic in a goroutine that f starts is not caught.
func Call(what string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{fmt.Sprintf("%s panicked: %v", what, v), frames(string(debug.Stack()))}
		}
	}()
	return f()
}

// Apart tells the error that is target from what else is in err, where several are
// joined. An error that wraps a join is not taken apart.
func Apart(err, target error) (found, rest error) {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case !ok && errors.Is(err, target):
		return err, nil
	case !ok:
		return nil, err
	}
	var others []error
	for _, e := range joined.Unwrap() {
		is, more := Apart(e, target)
		if found == nil {
			found = is
		}
		others = append(others, more)
	}
	return found, errors.Join(others...)
}

type panicError struct{ what, stack string }

func (e *panicError) Error() string { return e.what + "\n" + e.stack }

// Brief is the text of an error without the stack of a panic, for readers who
// have no use for it: an agent that is told why its work was not accepted.
func Brief(err error) string {
	text := err.Error()
	if p, ok := errors.AsType[*panicError](err); ok {
		text = strings.ReplaceAll(text, "\n"+p.stack, "")
	}
	return text
}

// frames cuts the stack to what is between the panic and Call.
func frames(stack string) string {
	if _, below, ok := strings.Cut(stack, "\npanic("); ok {
		_, below, _ = strings.Cut(below, "\n") // the rest of panic's own line
		_, stack, _ = strings.Cut(below, "\n") // and where it is
	}
	stack, _, _ = strings.Cut(stack, "\ngithub.com/ralph-loop/ralph/internal/plugin.Call(")
	return stack
}
