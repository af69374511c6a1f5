package verify

import (
	"context"

	"github.com/ralph-loop/ralph"
)

// ErrTimeout is the cause with which a command's time runs out.
var ErrTimeout = errTimeout

// RunUntil runs the command until ctx is done, which tests have happen at an
// event instead of a time.
func (e External) RunUntil(ctx context.Context, dir string) (ralph.Verdict, error) {
	args, err := e.args()
	if err != nil {
		return ralph.Verdict{}, err
	}
	return e.run(ctx, args, dir, ralph.Claim{Task: ralph.Task{Dir: dir}})
}

// ParseVerdict reads a judge's answer on n criteria: which are met, or what is
// wrong with it.
func ParseVerdict(text string, n int) (met []bool, wrong string) {
	answers, wrong := parseVerdict(text, n, nil)
	for _, a := range answers {
		met = append(met, a.met)
	}
	return met, wrong
}
