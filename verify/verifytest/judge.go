package verifytest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
)

// Judge returns a judge for tests of verify.Semantic and of what is built with
// it. It answers about each criterion of the prompt as met says. Semantic also
// asks about one that is known to be false, at a random place and with a name
// that nobody knows before, so met must answer false for a criterion that it
// does not know: a function that always answers true makes the check unable.
//
// The judge costs nothing, reads nothing else of the prompt, and can be used
// concurrently if met can. It is an error of the judge if the prompt has no
// criteria.
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
