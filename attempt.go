package ralph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/plugin"
	"github.com/ralph-loop/ralph/internal/term"
)

// Causes with which this driver ends a run of the agent. They are compared by identity
// with context.Cause, so an agent that prints the same words, or a caller with a
// deadline of its own, is never mistaken for them.
var (
	errIterationTimeout = errors.New("the iteration time-out has passed")
	errVerifyTimeout    = errors.New("the verification time-out has passed")
	errBudget           = errors.New("the budget is spent")
)

// overtime ends a verification when the loop's time is over. It is told the agent and
// people as the reason why a claim was not verified, so it names the limit.
type overtime struct{ limit time.Duration }

func (o *overtime) Error() string {
	return fmt.Sprintf("the check was ended: limit of %v reached", o.limit)
}

const (
	// budgetGrace is the time to verify a claim that was made before the budget
	// ended the run: work that is done should not be lost because the budget ended
	// a second early.
	budgetGrace = 5 * time.Minute
	// verifyGrace is how long a verifier may take to return once its context is
	// done.
	verifyGrace = 10 * time.Second
)

// attempt runs the agent once and returns the event that says how it went: the
// whole attempt before its verdict. The view is the workspace as it is now, nil =
// not known, and before the one as it was, nil = to be looked at. The error is of
// the raw sink.
//
// Once the runner was called nothing here fails any more: whatever went wrong is a
// field of the event, for money was spent and the loop has to know.
func (l *Local) attempt(ctx context.Context, s State, req Request, before *view, m *midrun) (Event, *view, error) {
	if before == nil {
		before, _ = l.view(ctx, s.Task.Dir)
		before = cmp.Or(before, &view{})
	}
	start := time.Now()
	runCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// A budget ends the run while it streams. Checked only between iterations, one long
	// iteration could spend it many times over.
	used := newMeter(s, start, cancel)
	if d := s.Task.Limits.IterationTimeout; d > 0 {
		var stop context.CancelFunc
		runCtx, stop = context.WithTimeoutCause(runCtx, d, errIterationTimeout)
		defer stop()
	}
	raw := l.output(&req)
	req.Live = used.tell
	if l.Live != nil {
		told := req
		req.Live = func(u Usage) {
			used.tell(u)
			_ = plugin.Call("Local.Live", func() error { l.Live(told, used.sofar()); return nil }) // the attempt is not its
		}
	}
	var resp Response
	err := m.agent(used, func() error {
		return plugin.Call("Runner", func() (err error) { resp, err = l.Runner.Run(runCtx, req); return })
	})
	// A stream that broke off has told usage that the final report lacks, so the larger
	// of both counts.
	live := used.end()

	resp.Usage = Usage{}.Add(resp.Usage) // without what is no amount, for it is recorded
	it := answered(s, req, resp, start)
	it.Usage = Usage{}.Add(resp.Usage.atLeast(live))
	it.Fault, it.Error, it.RetryAfter = classify(ctx, runCtx, resp, err)
	told := context.WithoutCancel(ctx) // an interrupted attempt is told of too
	after, unseen := l.view(told, s.Task.Dir)
	// Said once, not once in each iteration: the state remembers.
	if unseen != "" && s.Unseen == "" {
		it.Unseen = unseen
	}
	if after != nil {
		it.Workspace = after.digest
		// What git sees goes beside what the agent says: either may know of files that
		// the other does not.
		changed := relativeTo(s.Task.Dir, after.root, after.changedSince(told, *before))
		it.Files = boundedList(append(it.Files, changed...), maxFilesBytes)
	}
	it.findClaim(s.Task, req, resp)
	it.End, it.Elapsed = time.Now().UTC().Round(0), time.Since(start)
	if raw.err != nil {
		return it.answer(s, resp), after, &partError{"raw output", raw.err}
	}
	return it.answer(s, resp), after, nil
}

// answered is what a response alone says of an attempt.
//
// Texts and lists of an agent are cut here, before they are recorded: a state has to
// stay small whatever an agent prints, and nothing here decides anything by them.
func answered(s State, req Request, resp Response, start time.Time) Iteration {
	return Iteration{
		Number: req.Iteration, Attempt: req.Attempt, Start: start.UTC().Round(0),
		Usage: Usage{}.Add(resp.Usage), Model: clip(resp.Model, 256), Session: clip(resp.Session, 256),
		Files:     boundedList(relativeTo(s.Task.Dir, "", resp.Files), maxFilesBytes),
		Learnings: boundedList(resp.Learnings, maxFilesBytes), Omitted: resp.Omitted,
		Ended: boundedEnded(resp.Ended),
	}
}

// answer is the event of an attempt that has not been judged.
func (it Iteration) answer(s State, resp Response) Event {
	return s.event(Event{Kind: EventAnswered, Iteration: it, Answer: &resp})
}

// event says of which loop an event is, and when it was. Times are UTC, without Go's
// monotonic clock, so that an event equals what is read back of it.
func (s State) event(ev Event) Event {
	ev.V, ev.Time = Version, time.Now().UTC().Round(0)
	ev.Loop, ev.Task, ev.Agent = s.Loop, s.Task.ID, s.Task.Agent
	return ev
}

// view looks at the workspace. A nil view says that it could not be looked at, and the
// text says why. That is never an error of the attempt: whether anything changed is
// unknown then, which is not the same as unchanged.
func (l *Local) view(ctx context.Context, dir string) (*view, string) {
	v, err := l.look(ctx, dir)
	if err != nil {
		return nil, unseen(err)
	}
	return &v, ""
}

// unseen is why a look failed, in one bounded line that is never empty: an empty text
// would say that the look went well.
func unseen(err error) string {
	return fit(cmp.Or(term.Line(plugin.Brief(err)), "it cannot be read"), maxUnseen)
}

// output gives the request its sinks, which cannot disturb the agent, and returns
// the raw one.
//
// A terminal that was closed or a disk that is full must not end a run that was paid
// for, so errors of both are kept from the runner. That nobody can watch is harmless;
// that the raw stream is not on disk is told at the end.
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
//
// The order was learned from loops that slept for hours because a time-out, or a file
// that an agent printed, spoke of a rate limit: first what this driver did itself, then
// the kind of the error that the runner chose, and never the words of either.
func classify(ctx, ran context.Context, resp Response, err error) (f Fault, text string, after time.Duration) {
	if ctx.Err() != nil {
		return FaultInterrupted, context.Cause(ctx).Error(), 0
	}
	// No error and no text is not success: an agent that says nothing has claimed
	// nothing, and a second try may help.
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

// claims reports whether an answer that ended in f may hold a claim. What came with a
// rate limit, or when the agent could not even start, is no answer. A time-out, a
// budget or a broken stream may come after the claim was made: then the evidence
// decides, and work that is done is not thrown away.
func (f Fault) claims() bool {
	return f != FaultInterrupted && f != FaultRateLimit && f != FaultPermanent
}

// findClaim looks for the promises in the agent's own words: the output without
// copies of the prompt, in which the promise always stands.
//
// The promise is looked for first: an answer that holds both it and the blocked promise
// is a claim, and evidence can settle that; a false alarm would call a person.
func (it *Iteration) findClaim(t Task, req Request, resp Response) {
	if !it.Fault.claims() {
		return
	}
	text, said := t.Match.withoutPrompt(resp.Output, req.Prompt)
	p := findPromise(text, t.promise(), t.Match, said)
	it.Claimed, it.Line = p.Found, p.Line
	if p.Found {
		return
	}
	if t.Blocked != "" {
		if b := findPromise(text, t.Blocked, t.Match, said); b.Found {
			it.Blocked, it.Line = true, b.Line
			it.Obstacle = before(text, b.Line)
			return
		}
	}
	if p.Why != WhyNone && !t.Always {
		it.NearMiss = p.Why
	}
}

// before is the end of what stands before a line of a text. The beginning is left out:
// what an agent says last before it gives up is why.
func before(text string, line int) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	text = clip(strings.TrimSpace(strings.Join(lines[:min(max(line-1, 0), len(lines))], "\n")), len(text))
	if most := maxObstacle - len("…"); len(text) > most {
		text = "…" + strings.ToValidUTF8(text[len(text)-most:], "")
	}
	return text
}

// A sink remembers that it could not be written, and lets the agent go on. Its
// zero value takes nothing.
type sink struct {
	w   io.Writer
	err error
}

// It reports success whatever happens: a Runner that sees an error of its writer may
// end the run, which it should not.
func (s *sink) Write(p []byte) (int, error) {
	if s.err == nil {
		s.err = plugin.Call("output", func() error { _, err := s.w.Write(p); return err })
	}
	return len(p), nil
}

// Overwrites passes on what the writer says of carriage returns.
func (s *sink) Overwrites() bool { return term.Overwrites(s.w) }
