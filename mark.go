package ralph

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/plugin"
	"github.com/ralph-loop/ralph/internal/process"
)

// metaMark is where iteration_started has the mark of its attempt.
const metaMark = "mark"

// NewMark makes a [Request.Mark] for one attempt. A driver makes it, records it in
// the Meta of iteration_started, as "mark", and hands it to the runner: [Local.Run]
// does so itself, and [Local.Iterate] takes the one that [State.Apply] has found in
// that event.
//
// It is 16 random letters and digits (A-Z, 2-7), which nobody can guess, and on Linux a
// hyphen and the hard limit that the processes get, 19 digits beginning with 7. That
// limit depends on the system that this program runs on, so a mark is of use on this
// machine alone.
func NewMark() string { return process.NewMark() }

func validMark(text string) bool { return process.ValidMark(text) }

// recorded is the mark in the Meta of iteration_started; "" = none.
func recorded(meta map[string]string) string {
	if mark := meta[metaMark]; validMark(mark) {
		return mark
	}
	return ""
}

// EndLeft ends the processes that an attempt has left running after the program
// that made it died. mark is the [Request.Mark] that was recorded when the attempt
// began: [State.Mark] of a state folded from the log. EndLeft returns the command
// lines of what it ended, at most 20.
//
// A mark says which processes are killed, so it must come from a record that the agent
// could not write. Only what NewMark makes is taken for one. Do not call it while a
// process still makes the attempt: EndLeft cannot tell, and would end that too. It blocks
// until all is ended. It is an error if this program is itself a process of the
// attempt, if a process could not be ended, and, wrapping [errors.ErrUnsupported], on
// other systems than Linux.
func EndLeft(mark string) ([]string, error) {
	return ofAttempt(process.End(mark))
}

// Left returns the command lines of what is left of an attempt, at most 20, by its
// mark as [EndLeft] takes it, and ends nothing. What runs may change while it looks.
// It is an error if mark is none, and, wrapping [errors.ErrUnsupported], on other
// systems than Linux.
func Left(mark string) ([]string, error) {
	return ofAttempt(process.Left(mark))
}

func ofAttempt(lines []string, err error) ([]string, error) {
	if err != nil {
		err = fmt.Errorf("ralph: what is left of an attempt: %w", err)
	}
	return boundedEnded(lines), err
}

// endedText says what was ended that who had left running.
func endedText(ended []string, who string) string {
	const most = 5
	n, what := "1 process", ended
	if len(ended) > 1 {
		n = fmt.Sprintf("%d processes", len(ended))
	}
	if len(ended) == maxEnded {
		n = "at least " + n
	}
	more := ""
	if len(what) > most {
		what, more = what[:most], fmt.Sprintf(", and %d more", len(ended)-most)
	}
	return fmt.Sprintf("ended %s that %s left running: %s%s", n, who, strings.Join(what, ", "), more)
}

// show tells people what is not the agent's own.
func show(to io.Writer, resp Response) error {
	lines := slices.Clone(resp.Warnings)
	if len(resp.Ended) > 0 {
		lines = append(lines, endedText(resp.Ended, "the agent"))
	}
	if to == nil || len(lines) == 0 {
		return nil
	}
	return plugin.Call("display", func() error {
		_, _ = io.WriteString(to, "ralph: "+strings.Join(lines, "\nralph: ")+"\n") // what cannot be displayed is lost
		return nil
	})
}
