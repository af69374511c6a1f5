package ralph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph/internal/reply"
	"github.com/ralph-loop/ralph/internal/term"
)

// Causes with which this driver ends a run of the agent.
var (
	errIterationTimeout = errors.New("the iteration time-out has passed")
	errVerifyTimeout    = errors.New("the verification time-out has passed")
	errBudget           = errors.New("the budget is spent")
)

// budgetGrace is the time to verify a claim that was made before the budget ended
// the run: work that is done should not be lost to a second too few.
const budgetGrace = 5 * time.Minute

// An attempt is one run of the agent, before its answer is judged.
type attempt struct {
	req   Request
	resp  Response
	start time.Time

	fault Fault
	err   string
	after time.Duration // of a rate limit

	usage     Usage // what was told while it ran and in the end
	workspace string
	files     []string
	sinkErr   error // of the raw sink
}

// attempt runs the agent once.
func (l *Local) attempt(ctx context.Context, s State, req Request) *attempt {
	a := &attempt{req: req, start: time.Now()}
	before, _ := l.look(ctx, s.Task.Dir)

	runCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if d := s.Task.Limits.IterationTimeout; d > 0 {
		var stop context.CancelFunc
		runCtx, stop = context.WithTimeoutCause(runCtx, d, errIterationTimeout)
		defer stop()
	}
	if d := s.Task.Limits.Duration; d > 0 {
		var stop context.CancelFunc
		runCtx, stop = context.WithTimeoutCause(runCtx, d-s.Elapsed, errBudget)
		defer stop()
	}

	var raw *sink
	if l.Output != nil {
		req.Display, req.Raw = l.Output(req)
		if req.Raw != nil {
			raw = &sink{w: req.Raw}
			req.Raw = raw
		}
	}
	var mu sync.Mutex
	var live Usage
	req.Live = func(u Usage) {
		mu.Lock()
		live = u
		mu.Unlock()
		if s.Over(u, time.Since(a.start)) != "" {
			cancel(errBudget)
		}
	}

	var err error
	a.resp, err = l.Runner.Run(runCtx, req)

	a.resp.Usage = Usage{}.add(a.resp.Usage) // without what is no amount, for it is recorded
	mu.Lock()
	a.usage = a.resp.Usage.atLeast(live)
	mu.Unlock()
	a.fault, a.err, a.after = classify(ctx, runCtx, a.resp, err)
	if raw != nil && raw.err != nil {
		a.sinkErr = fmt.Errorf("raw output: %w", raw.err)
	}
	after, _ := l.look(context.WithoutCancel(ctx), s.Task.Dir)
	a.workspace = after.digest
	a.files = relativeTo(s.Task.Dir, after.root, after.changedSince(before))
	return a
}

// classify says how a run ended. The contexts come first: what an agent says
// after it was told to stop does not say why it stopped. ran may be nil.
func classify(ctx, ran context.Context, resp Response, err error) (f Fault, text string, after time.Duration) {
	if ctx.Err() != nil {
		return FaultInterrupted, context.Cause(ctx).Error(), 0
	}
	if err == nil {
		if blank(resp.Output) {
			return FaultEmpty, ErrEmpty.Error(), 0
		}
		return "", "", 0
	}
	text = clip(err.Error(), maxDetail)
	if ran != nil {
		switch cause := context.Cause(ran); cause {
		case errIterationTimeout:
			return FaultTimeout, errIterationTimeout.Error(), 0
		case errBudget:
			return FaultBudget, errBudget.Error(), 0
		}
	}
	if limit, ok := errors.AsType[*rateLimitError](err); ok {
		return FaultRateLimit, text, limit.after
	}
	if _, ok := errors.AsType[*permanentError](err); ok {
		return FaultPermanent, text, 0
	}
	switch {
	case errors.Is(err, ErrIncomplete):
		return FaultIncomplete, text, 0
	case errors.Is(err, ErrEmpty):
		return FaultEmpty, text, 0
	case errors.Is(err, context.DeadlineExceeded):
		return FaultTimeout, text, 0
	}
	return FaultError, text, 0
}

// claims reports whether an answer that ended in f may hold a claim. What came
// with a rate limit, or when the agent could not even start, is no answer.
func (f Fault) claims() bool {
	return f != FaultInterrupted && f != FaultRateLimit && f != FaultPermanent
}

// judge looks for a claim in the answer, has it verified and returns the whole
// attempt as data.
func (l *Local) judge(ctx context.Context, s State, a *attempt) Iteration {
	it := Iteration{
		Number: s.Iteration, Attempt: s.Attempt, Start: a.start.UTC().Round(0),
		Fault: a.fault, Error: a.err, RetryAfter: a.after,
		Usage: Usage{}.add(a.usage), Model: clip(a.resp.Model, 256), Session: clip(a.resp.Session, 256),
		Files:     boundedList(append(relativeTo(s.Task.Dir, "", a.resp.Files), a.files...), maxFilesBytes),
		Learnings: boundedList(a.resp.Learnings, maxFilesBytes), Workspace: a.workspace, Omitted: a.resp.Omitted,
	}
	if it.Fault.claims() {
		l.findClaim(&it, s, a)
		if it.Claimed || s.Task.Always && !it.Blocked {
			l.verify(ctx, s, a, &it)
		}
	}
	it.Outcome = OutcomeSuccess
	switch {
	case it.Fault == FaultInterrupted:
		it.Outcome = OutcomeInterrupted
	case passed(s.Task, it):
	case it.Fault != "" || it.Claimed || s.Task.Always:
		it.Outcome = OutcomeFailure
	}
	it.Elapsed = time.Since(a.start)
	it.End = time.Now().UTC().Round(0)
	return it
}

// findClaim looks for the promises in the agent's own words: the output without
// copies of the prompt, in which the promise always stands.
func (l *Local) findClaim(it *Iteration, s State, a *attempt) {
	text := withoutPrompt(a.resp.Output, a.req.Prompt)
	p := FindPromise(text, s.Task.promise(), s.Task.Match)
	it.Claimed, it.Line = p.Found, p.Line
	if p.Found {
		return
	}
	if s.Task.Blocked != "" {
		if b := FindPromise(text, s.Task.Blocked, s.Task.Match); b.Found {
			it.Blocked, it.Line = true, b.Line
			return
		}
	}
	if p.Why != WhyNone && !s.Task.Always {
		it.NearMiss = p.Why
	}
}

// withoutPrompt removes verbatim copies of the prompt from the output, line
// numbers unchanged. Only a prompt that holds a tag can do harm.
func withoutPrompt(output, prompt string) string {
	prompt = term.Plain(prompt)
	if tagged, escaped := scan(output); !tagged && !escaped || !reply.HasTag(prompt) {
		return output
	}
	return reply.Remove(term.Plain(output), prompt)
}

// verify asks the verifier. That it cannot tell is no verdict on the work.
func (l *Local) verify(ctx context.Context, s State, a *attempt, it *Iteration) {
	claim := Claim{
		Task: s.Task, Iteration: it.Number, Attempt: it.Attempt, Start: it.Start,
		Output: a.resp.Output, Omitted: a.resp.Omitted, Files: slices.Clone(it.Files),
		Promised: it.Claimed, Fault: it.Fault,
	}
	if l.Evidence != "" {
		claim.Evidence = filepath.Join(l.Evidence, fmt.Sprintf("%03d.%d", it.Number, it.Attempt))
	}
	verifyCtx := ctx
	if d := s.Task.Limits.VerifyTimeout; d > 0 {
		var stop context.CancelFunc
		verifyCtx, stop = context.WithTimeoutCause(verifyCtx, d, errVerifyTimeout)
		defer stop()
	}
	if d := s.Task.Limits.Duration; d > 0 {
		left := d - s.Elapsed - time.Since(a.start)
		if it.Fault == FaultBudget {
			left = budgetGrace
		}
		var stop context.CancelFunc
		verifyCtx, stop = context.WithTimeoutCause(verifyCtx, left, errBudget)
		defer stop()
	}
	v, err := l.Verifier.Verify(verifyCtx, claim)
	if ctx.Err() != nil && (err != nil || !v.Passed) {
		it.Fault, it.Error = FaultInterrupted, context.Cause(ctx).Error()
		it.Claimed, it.Line = false, 0
		return
	}
	if err != nil {
		status := CheckUnable
		if cause := context.Cause(verifyCtx); cause != nil {
			status, err = CheckTimeout, cause
		} else if errors.Is(err, context.DeadlineExceeded) {
			status = CheckTimeout
		}
		v.Passed = false
		v.Feedback = cmp.Or(v.Feedback, err.Error())
		v.Checks = append(slices.Clone(v.Checks), Check{Name: "verifier", Status: status, Detail: err.Error()})
	}
	it.Verdict = v.bounded()
	it.Verdict.Feedback = clip(v.Feedback, maxFeedback)
}

// atLeast fills what the final report leaves out with what was told before.
func (u Usage) atLeast(live Usage) Usage {
	u.Requests = max(u.Requests, live.Requests)
	u.Messages = max(u.Messages, live.Messages)
	u.InputTokens = max(u.InputTokens, live.InputTokens)
	u.OutputTokens = max(u.OutputTokens, live.OutputTokens)
	u.CostUSD = cmp.Or(u.cost(), live.cost())
	return u
}

// boundedList returns the distinct lines of a list, as many as fit into limit
// bytes.
func boundedList(list []string, limit int) []string {
	var kept []string
	size := 0
	for _, text := range list {
		text = fit(strings.TrimSpace(text), 1<<10)
		if text == "" || slices.Contains(kept, text) {
			continue
		}
		if size += len(text); size > limit || len(kept) == maxFiles {
			break
		}
		kept = append(kept, text)
	}
	return kept
}

// A sink remembers that it could not be written, and lets the agent go on.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	if s.err == nil {
		_, s.err = s.w.Write(p)
	}
	return len(p), nil
}
