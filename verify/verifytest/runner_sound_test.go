package verifytest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify/verifytest"
)

// A script says which run of soundRunner is which.
const (
	goodWords  = "I mended the pump."
	otherWords = "I painted the fence."
	longWords  = "I begin."
)

// runs are what soundRunner is tested with: it does what the first word of the prompt
// says.
func runs() verifytest.Runs {
	asked := func(what, says string) verifytest.Run {
		return verifytest.Run{Request: ralph.Request{Prompt: what + " it"}, Says: says}
	}
	ends := func(fault ralph.Fault, says string) verifytest.Run {
		r := asked(string(fault), says)
		r.Fault = fault
		return r
	}
	all := verifytest.Runs{
		Good: asked("mend", goodWords), Other: asked("paint", otherWords), Long: asked("begin", longWords),
		Faults: []verifytest.Run{
			ends(ralph.FaultError, "Half of"), ends(ralph.FaultPermanent, ""), ends(ralph.FaultRateLimit, ""),
			ends(ralph.FaultIncomplete, "I am about"), ends(ralph.FaultEmpty, ""), ends(ralph.FaultTimeout, ""),
		},
	}
	all.Good.Writes = "pump"
	all.Faults[2].RetryAfter = time.Hour
	return all
}

// soundRunner is a runner that keeps every rule. The broken ones are sound but for
// what their rule is about.
func soundRunner(ctx context.Context, req ralph.Request) (ralph.Response, error) {
	if ctx.Err() != nil {
		return ralph.Response{}, context.Cause(ctx)
	}
	what, _, _ := strings.Cut(req.Prompt, " ")
	say := func(words string) (r ralph.Response) {
		for i := range int64(2) {
			r.Usage = ralph.Usage{Requests: 1, InputTokens: 100 * (i + 1), OutputTokens: 10 * i, CostUSD: new(0.25 * float64(i+1))}
			if req.Live != nil {
				req.Live(r.Usage)
			}
		}
		for _, to := range []io.Writer{req.Display, req.Raw} {
			if to != nil {
				io.WriteString(to, words+"\n")
			}
		}
		r.Output, r.Files = words, []string{what}
		return r
	}
	switch what {
	case "mend":
		return say(goodWords), os.WriteFile(filepath.Join(req.Dir, "pump"), nil, 0o600)
	case "paint":
		return say(otherWords), nil
	case "begin":
		r := say(longWords)
		<-ctx.Done()
		return r, fmt.Errorf("ended: %w", context.Cause(ctx))
	case "error":
		return say("Half of it is there."), errors.New("it broke")
	case "permanent":
		return ralph.Response{}, ralph.Permanent(errors.New("not logged in"))
	case "rate_limit":
		return ralph.Response{}, ralph.RetryAfter(errors.New("too many requests"), time.Hour)
	case "incomplete":
		return say("I am about to"), ralph.ErrIncomplete
	case "timeout":
		return ralph.Response{}, context.DeadlineExceeded
	}
	return ralph.Response{}, nil // empty
}

// runnerAsWritten is a runner that is asked also when its context is done, which a
// RunnerFunc is not.
type runnerAsWritten func(context.Context, ralph.Request) (ralph.Response, error)

func (f runnerAsWritten) Run(ctx context.Context, req ralph.Request) (ralph.Response, error) {
	return f(ctx, req)
}

// with is soundRunner but for what edit makes of its answers.
func with(edit func(ctx context.Context, req ralph.Request, r *ralph.Response, err *error)) runnerAsWritten {
	return func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
		r, err := soundRunner(ctx, req)
		edit(ctx, req, &r, &err)
		return r, err
	}
}

// asked is soundRunner but for what edit makes of requests.
func asked(edit func(*ralph.Request)) runnerAsWritten {
	return func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
		edit(&req)
		return soundRunner(ctx, req)
	}
}

// when is soundRunner but for what it is asked for first.
func when(what string, instead runnerAsWritten) runnerAsWritten {
	return func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
		if strings.HasPrefix(req.Prompt, what+" ") && ctx.Err() == nil {
			return instead(ctx, req)
		}
		return soundRunner(ctx, req)
	}
}
