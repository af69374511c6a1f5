package ralph

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/ralph-loop/ralph/internal/plugin"
)

// judge has what was claimed in an answer verified and returns the whole attempt.
//
// It takes the event as a record has it, with nothing from the memory of the process
// that ran the agent: so another process can judge the answer after a crash.
func (l *Local) judge(ctx context.Context, s State, ev Event, m *midrun) Iteration {
	it, start := ev.Iteration, time.Now()
	if it.Fault.claims() && (it.Claimed || s.Task.Always && !it.Blocked) {
		l.verify(ctx, s, *ev.Answer, &it, m)
	}
	// For people only. Next decides by Claimed, Verdict and Fault.
	it.Outcome = OutcomeSuccess
	switch {
	case it.Fault == FaultInterrupted || it.Fault == FaultRateLimit:
		it.Outcome = OutcomeInterrupted
	case passed(s.Task, it):
	case it.Fault != "" || it.Claimed || s.Task.Always:
		it.Outcome = OutcomeFailure
	}
	it.Elapsed = addSat(it.Elapsed, time.Since(start))
	it.End = time.Now().UTC().Round(0)
	return it
}

// verify has a claim verified. That the verifier cannot tell is no verdict on the
// work.
//
// The claim gets copies of what the iteration records: a verifier that sorts or cuts
// its list changes no record.
func (l *Local) verify(ctx context.Context, s State, resp Response, it *Iteration, m *midrun) {
	claim := Claim{
		Task: s.Task, Iteration: it.Number, Attempt: it.Attempt, Start: it.Start,
		Output: resp.Output, Omitted: resp.Omitted, Files: slices.Clone(it.Files),
		Promised: it.Claimed, Fault: it.Fault, Base: s.Base, Mark: s.Mark,
	}
	// The folder has the loop, the iteration and the attempt in its name: a retry must
	// not overwrite the evidence of the attempt before it.
	if l.Evidence != "" {
		claim.Evidence = filepath.Join(l.Evidence, folder(s.Loop), fmt.Sprintf("%03d.%d", it.Number, it.Attempt))
	}
	verifyCtx := ctx
	if d, cause := l.verifyTime(s, it); d > 0 {
		var stop context.CancelFunc
		verifyCtx, stop = context.WithTimeoutCause(ctx, d, cause)
		defer stop()
	}
	v, late, err := l.ask(verifyCtx, claim, m)
	v.Usage = it.Verdict.Usage.Add(v.Usage) // that of a verification before, which a crash has ended, too
	// Whether the rejection is the verifier's judgment or only says that it was ended
	// cannot be told, so it counts for nothing; the iteration is made again. A pass
	// that was reached in time stands.
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
	// The agent is told the short form. The stack of a panic is for the people who read
	// the check.
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
//
// A verifier may state how long its own parts may take (its method Takes), so that the
// default of five minutes does not cut off a build which was given twenty. What is left
// of Duration bounds all of them; a claim that was made just as the time ran out gets
// budgetGrace.
func (l *Local) verifyTime(s State, it *Iteration) (time.Duration, error) {
	stated := time.Duration(0)
	if v, ok := l.Verifier.(interface{ Takes(Task) time.Duration }); ok {
		plugin.Call("the verifier's Takes", func() error { // if it cannot say, it is not said
			stated = v.Takes(s.Task)
			return nil
		})
	}
	d, cause := s.Task.Limits.verifyTimeout(stated), errVerifyTimeout
	if s.Task.Limits.Duration > 0 {
		left := s.Task.Limits.Duration - s.Elapsed - it.Elapsed
		if it.Fault == FaultBudget || left <= 0 {
			left = budgetGrace
		}
		if d <= 0 || left < d {
			d, cause = left, &overtime{s.Task.Limits.Duration}
		}
	}
	return d, cause
}

// ask asks the verifier, and gives up one that does not return although its
// context is done. late says that a time-out had passed when it answered.
//
// Go cannot end a goroutine. One that ignores its context is therefore left behind:
// that leaks it, and it is still better than a loop that hangs for ever over somebody's
// verifier. Its late answer goes to variables that nobody reads any more.
func (l *Local) ask(ctx context.Context, c Claim, m *midrun) (Verdict, bool, error) {
	var a struct {
		v    Verdict
		late bool
		err  error
	}
	// What stands if the verifier calls runtime.Goexit, as t.FailNow does in a test:
	// then the call never returns, but its deferred functions run.
	a.err = errors.New("the verifier ended its goroutine")
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.err = plugin.Call("Verifier", func() (err error) { a.v, err = l.Verifier.Verify(ctx, c); return })
		cause := context.Cause(ctx)
		_, over := cause.(*overtime)
		a.late = over || cause == errVerifyTimeout
	}()
	m.wait(done, ctx.Done())
	grace, stop := context.WithTimeout(context.Background(), verifyGrace)
	defer stop()
	m.wait(done, grace.Done())
	select {
	case <-done:
		return a.v, a.late, a.err
	default:
		return Verdict{}, true, errors.New("the verifier does not return")
	}
}

// folder names a loop's folder: what people can read of the loop's name, and a hash, by
// which distinct names stay distinct, also to file systems that ignore case. Evidence
// of two loops in one folder would overwrite each other, and a name with a slash would
// leave the folder.
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
