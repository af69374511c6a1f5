package verifytest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
)

// Judge returns a judge for tests of verify.Semantic and what is built with it: it
// answers about each criterion of the prompt as met says. It is also asked about one
// that is known to be false, at a random place, so met must hold no criterion for met
// that it does not know. The judge costs nothing and reads nothing else of the prompt.
func Judge(met func(criterion string) bool) ralph.Runner {
	return ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
		_, list, _ := strings.Cut(req.Prompt, "\nThe criteria:\n")
		list, _, found := strings.Cut(list, "\n\n")
		if !found {
			return ralph.Response{}, errors.New("verifytest: Judge: the prompt has no criteria")
		}
		var b strings.Builder
		for i, line := range strings.Split(list, "\n") {
			word := "NOT_VERIFIED"
			if met(strings.TrimPrefix(line, fmt.Sprintf("%d. ", i+1))) {
				word = "VERIFIED"
			}
			fmt.Fprintf(&b, "%d. %s: so it is\n", i+1, word)
		}
		return ralph.Response{Output: b.String()}, nil
	})
}
