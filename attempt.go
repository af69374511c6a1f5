package ralph

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/ralph-loop/ralph/internal/plugin"
)

// Causes with which this driver ends a run of the agent.
var (
	errIterationTimeout = errors.New("the iteration time-out has passed")
	errVerifyTimeout    = errors.New("the verification time-out has passed")
	errBudget           = errors.New("the budget is spent")
)

const (
	// budgetGrace is the time to verify a claim that was made before the budget
	// ended the run: work that is done should not be lost because the budget ended
	// a second early.
	budgetGrace = 5 * time.Minute
	// verifyGrace is how long a verifier may take to return once its context is
	// done.
	verifyGrace = 10 * time.Second
)

// An attempt is one run of the agent, before its answer is judged.
type attempt struct {
	req   Request
	resp  Response
	start time.Time

	fault      Fault
	err        string
	retryAfter time.Duration // of a rate limit

	usage   Usage // the larger of live and final usage
	after   *view // the workspace; nil = not known
	files   []string
	sinkErr error // of the raw sink
}

// attempt runs the agent once. before is the workspace as it is, nil = to be
// looked at.
func (l *Local) attempt(ctx context.Context, s State, req Request, before *view) *attempt {
	if before == nil {
		before = cmp.Or(l.view(ctx, s.Task.Dir), &view{})
	}
	a := &attempt{req: req, start: time.Now()}
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
	raw := l.output(&req)
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

	err := plugin.Call("Runner", func() (err error) { a.resp, err = l.Runner.Run(runCtx, req); return })

	a.resp.Usage = Usage{}.Add(a.resp.Usage) // without what is no amount, for it is recorded
	mu.Lock()
	a.usage = a.resp.Usage.atLeast(live)
	mu.Unlock()
	a.fault, a.err, a.retryAfter = classify(ctx, runCtx, a.resp, err)
	if raw.err != nil {
		a.sinkErr = &partError{"raw output", raw.err}
	}
	told := context.WithoutCancel(ctx) // an interrupted attempt is told of too
	if a.after = l.view(told, s.Task.Dir); a.after != nil {
		a.files = relativeTo(s.Task.Dir, a.after.root, a.after.changedSince(told, *before))
	}
	return a
}

// view looks at the workspace; nil = it cannot be looked at.
func (l *Local) view(ctx context.Context, dir string) *view {
	v, err := l.look(ctx, dir)
	if err != nil {
		return nil
	}
	return &v
}

// output gives the request its sinks, which cannot disturb the agent, and returns
// the raw one.
func (l *Local) output(req *Request) *sink {
	raw := &sink{}
	if l.Output == nil {
		return raw
	}
	var display io.Writer
	raw.err = plugin.Call("Local.Output", func() error { display, raw.w = l.Output(*req); return nil })
	if display != nil {
		req.Display = &sink{w: display}
	}
	if raw.w != nil {
		req.Raw = raw
	}
	return raw
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
		Fault: a.fault, Error: a.err, RetryAfter: a.retryAfter,
		Usage: Usage{}.Add(a.usage), Model: clip(a.resp.Model, 256), Session: clip(a.resp.Session, 256),
		Files:     boundedList(append(relativeTo(s.Task.Dir, "", a.resp.Files), a.files...), maxFilesBytes),
		Learnings: boundedList(a.resp.Learnings, maxFilesBytes), Omitted: a.resp.Omitted,
		Ended: boundedEnded(a.resp.Ended),
	}
	if a.after != nil {
		it.Workspace = a.after.digest
	}
	if it.Fault.claims() {
		l.findClaim(&it, s, a)
		if it.Claimed || s.Task.Always && !it.Blocked {
			l.verify(ctx, s, a, &it)
		}
	}
	it.Outcome = OutcomeSuccess
	switch {
	case it.Fault == FaultInterrupted || it.Fault == FaultRateLimit:
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
	text, said := s.Task.Match.withoutPrompt(a.resp.Output, a.req.Prompt)
	p := findPromise(text, s.Task.promise(), s.Task.Match, said)
	it.Claimed, it.Line = p.Found, p.Line
	if p.Found {
		return
	}
	if s.Task.Blocked != "" {
		if b := findPromise(text, s.Task.Blocked, s.Task.Match, said); b.Found {
			it.Blocked, it.Line = true, b.Line
			return
		}
	}
	if p.Why != WhyNone && !s.Task.Always {
		it.NearMiss = p.Why
	}
}

// verify has a claim verified. That the verifier cannot tell is no verdict on the
// work.
func (l *Local) verify(ctx context.Context, s State, a *attempt, it *Iteration) {
	claim := Claim{
		Task: s.Task, Iteration: it.Number, Attempt: it.Attempt, Start: it.Start,
		Output: a.resp.Output, Omitted: a.resp.Omitted, Files: slices.Clone(it.Files),
		Promised: it.Claimed, Fault: it.Fault, Base: s.Base,
	}
	if l.Evidence != "" {
		claim.Evidence = filepath.Join(l.Evidence, folder(s.Loop), fmt.Sprintf("%03d.%d", it.Number, it.Attempt))
	}
	verifyCtx := ctx
	if d, cause := l.verifyTime(s, a, it.Fault); d > 0 {
		var stop context.CancelFunc
		verifyCtx, stop = context.WithTimeoutCause(ctx, d, cause)
		defer stop()
	}
	v, late, err := l.ask(verifyCtx, claim)
	if ctx.Err() != nil && (err != nil || late || !v.Passed) {
		it.Fault, it.Error = FaultInterrupted, context.Cause(ctx).Error()
		it.Claimed, it.Line = false, 0
		it.Verdict = Verdict{Usage: v.Usage}.bounded() // what was spent is spent
		return
	}
	if late {
		err = context.Cause(verifyCtx)
		if !v.Undecided() {
			v = Verdict{Usage: v.Usage} // what it found comes too late
		}
	}
	if err != nil {
		status := CheckUnable
		if late || errors.Is(err, context.DeadlineExceeded) {
			status = CheckTimeout
		}
		v.Passed = false
		v.Feedback = cmp.Or(v.Feedback, plugin.Brief(err))
		v.Checks = append(slices.Clone(v.Checks), Check{Name: "verifier", Status: status, Detail: err.Error()})
	}
	it.Verdict = v.bounded()
	it.Verdict.Feedback = clip(v.Feedback, maxFeedback)
}

// verifyTime returns how long a verification may take, and what ends it then; 0 or
// less = nothing does.
func (l *Local) verifyTime(s State, a *attempt, f Fault) (time.Duration, error) {
	stated := time.Duration(0)
	if v, ok := l.Verifier.(interface{ Takes(Task) time.Duration }); ok {
		plugin.Call("the verifier's Takes", func() error { // if it cannot say, it is not said
			stated = v.Takes(s.Task)
			return nil
		})
	}
	d, cause := s.Task.Limits.verifyTimeout(stated), errVerifyTimeout
	if s.Task.Limits.Duration > 0 {
		left := s.Task.Limits.Duration - s.Elapsed - time.Since(a.start)
		if f == FaultBudget || left <= 0 {
			left = budgetGrace
		}
		if d <= 0 || left < d {
			d, cause = left, errBudget
		}
	}
	return d, cause
}

// ask asks the verifier, and gives up one that does not return although its
// context is done. late says that a time-out had passed when it answered.
func (l *Local) ask(ctx context.Context, c Claim) (v Verdict, late bool, err error) {
	type answer struct {
		v    Verdict
		late bool
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		a := answer{err: errors.New("the verifier ended its goroutine")}
		defer func() { answers <- a }()
		a.err = plugin.Call("Verifier", func() (err error) { a.v, err = l.Verifier.Verify(ctx, c); return })
		cause := context.Cause(ctx)
		a.late = cause == errVerifyTimeout || cause == errBudget
	}()
	select {
	case a := <-answers:
		return a.v, a.late, a.err
	case <-ctx.Done():
	}
	select {
	case a := <-answers:
		return a.v, a.late, a.err
	case <-time.After(verifyGrace):
		return Verdict{}, true, errors.New("the verifier does not return")
	}
}

// folder names a loop's folder: what people can read of the loop's name, and a
// hash, by which distinct names stay distinct, also to file systems that ignore
// case.
func folder(loop string) string {
	readable := strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.", r)) {
			return r
		}
		return '_'
	}, loop)
	readable = strings.TrimLeft(readable[:min(len(readable), 64)], ".-")
	hash := sha256.Sum256([]byte(loop))
	return fmt.Sprintf("%s-%x", cmp.Or(readable, "loop"), hash[:8])
}

// A sink remembers that it could not be written, and lets the agent go on. Its
// zero value takes nothing.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	if s.err == nil {
		s.err = plugin.Call("output", func() error { _, err := s.w.Write(p); return err })
	}
	return len(p), nil
}
