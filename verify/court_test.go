package verify_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
)

var decoyName = regexp.MustCompile(`\b[a-z]+-[a-z]+-[a-z2-7]{6}\b`)

// asked are the criteria of a judge's prompt, and the index of the decoy.
func asked(prompt string) (criteria []string, decoy int) {
	_, list, _ := strings.Cut(prompt, "\nThe criteria:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	decoy = -1
	for i, line := range strings.Split(list, "\n") {
		text := strings.TrimPrefix(line, fmt.Sprintf("%d. ", i+1))
		if decoyName.MatchString(text) {
			decoy = i
		}
		criteria = append(criteria, text)
	}
	return criteria, decoy
}

// amidDecoy makes of an answer to the real criteria one to all: the lines from the
// decoy on count one more, and the decoy is not met.
func amidDecoy(prompt, answer string) string {
	_, decoy := asked(prompt)
	line := fmt.Sprintf("%d. NOT_VERIFIED: there is no such thing\n", decoy+1)
	var b strings.Builder
	done, any := false, false
	for text := range strings.Lines(answer) {
		number, rest, ok := strings.Cut(text, ". ")
		n, err := strconv.Atoi(number)
		if !ok || err != nil {
			b.WriteString(text)
			continue
		}
		any = true
		if n > decoy {
			if !done {
				b.WriteString(line)
			}
			done = true
			n++
		}
		fmt.Fprintf(&b, "%d. %s", n, rest)
	}
	if any && !done {
		b.WriteString("\n" + line)
	}
	return b.String()
}

// answering is a judge that gives the answers to the real criteria in turn, and sees
// through the decoy.
func answering(answers ...string) ralph.Runner {
	n := 0
	return ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
		answer := answers[min(n, len(answers)-1)]
		n++
		return ralph.Response{Output: amidDecoy(req.Prompt, answer)}, nil
	})
}
