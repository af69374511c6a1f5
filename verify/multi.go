package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/plugin"
)

// MultiStage asks several verifiers, its stages. It passes when all stages pass
// that are not advisory or, with Any, when one of them does. Each stage is one
// check in the verdict, under its name, whatever came of it. In a verdict that
// passes, the checks of stages that did not pass are warnings, for they decided
// nothing. Of more checks than the 64 a verdict may have, those that reject are
// kept first.
//
// Stages run in order, and the first that does not pass ends it: those after it
// are skipped, since they may take long and would tell little. With Any, and
// with Parallel, which is for stages that do not depend on each other, all are
// run. Where they run one after the other, a stage is told in
// [ralph.Claim.Checks] what those before it have found. The feedback is in the
// order of the stages, whichever ends first, so that the same work gets the
// same words.
//
// If a stage could not find out, the agent is told so, and not that its work is
// wrong. The zero value has no stages and is an error. A MultiStage is safe for
// concurrent use if its verifiers are.
type MultiStage struct {
	// Stages are asked in this order. Empty is an error.
	Stages []Stage
	// Any lets one stage that passes suffice, and all stages run, so that the
	// record shows what the others found. An advisory stage never suffices.
	Any bool
	// Parallel is the number of stages that run at the same time. 0 or 1 = one
	// after the other, negative = all at once. They share the workspace, so two
	// that write to the same files disturb each other. A verifier that stands
	// in two stages must be safe for concurrent use.
	Parallel int
}

// A Stage is a part of a [MultiStage]. The zero value takes the promise as
// enough.
type Stage struct {
	// Name is what the stage's check is called. "" = "unnamed".
	Name string
	// Verifier decides. Nil = String{}: the promise is enough.
	Verifier ralph.Verifier
	// Advisory turns the stage's failure into a warning. Such a stage never
	// decides, and its advice reaches the agent only in a verdict that rejects.
	Advisory bool
}

var _ ralph.Verifier = MultiStage{}

// A stageResult is what came of one stage.
type stageResult struct {
	check  ralph.Check
	more   []ralph.Check // of a stage that has more evidence than fits into one check
	passed bool
	wrong  string // why it did not pass, for the agent
	usage  ralph.Usage
}

// Validate returns an error if no stage can decide, because there are none or
// all are advisory, or if a stage cannot work on the task. The error names the
// stage.
func (m MultiStage) Validate(t ralph.Task) error {
	if err := m.decides(); err != nil {
		return err
	}
	for _, s := range m.Stages {
		if err := validate(s.Verifier, t); err != nil {
			return of("MultiStage: "+s.name(), err)
		}
	}
	return nil
}

// Prepare has every stage prepare the task, in order, see [ralph.Verifier]. An
// advisory one too: its warnings would be worth nothing otherwise. On an error
// the task is returned as it came.
func (m MultiStage) Prepare(ctx context.Context, t ralph.Task) (ralph.Task, error) {
	prepared := t
	for _, s := range m.Stages {
		var err error
		if prepared, err = prepare(ctx, s.Verifier, prepared); err != nil {
			return t, of("MultiStage: "+s.name(), err)
		}
	}
	return prepared, nil
}

// decides is the error of stages that cannot decide. Without it, a list that is
// empty by mistake would pass everything, as "all of none".
func (m MultiStage) decides() error {
	switch {
	case len(m.Stages) == 0:
		return errors.New("verify: MultiStage: there are no stages; add one to Stages")
	case !slices.ContainsFunc(m.Stages, func(s Stage) bool { return !s.Advisory }):
		return errors.New("verify: MultiStage: all stages are advisory, so none decides; make one required")
	}
	return nil
}

// Verify implements [ralph.Verifier]. It is an error if no stage can decide.
// The error or the panic of a stage makes its check unable, or a time-out, and
// never a pass, and the other stages still count. If ctx is done the error is
// context.Cause(ctx), and the verdict beside it holds the checks so far. Its
// Usage is that of all stages that ran.
func (m MultiStage) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	if ctx.Err() != nil {
		return ralph.Verdict{}, context.Cause(ctx)
	}
	if err := m.decides(); err != nil {
		return ralph.Verdict{}, err
	}
	results := make([]stageResult, len(m.Stages))
	for i, s := range m.Stages {
		results[i].check = ralph.Check{Name: s.name(), Status: ralph.CheckSkipped}
	}
	if m.Parallel == 0 || m.Parallel == 1 {
		m.inOrder(ctx, c, results)
	} else {
		m.atOnce(ctx, c, results)
	}
	ended := ctx.Err() == nil
	v := m.sum(results, ended)
	if !ended {
		return v, context.Cause(ctx)
	}
	return v, nil
}

// inOrder runs one stage after the other, each with the checks of those before
// it, until one that decides does not pass. slices.Concat makes a new list each
// time, since a stage may keep the claim that it was given.
func (m MultiStage) inOrder(ctx context.Context, c ralph.Claim, results []stageResult) {
	for i, s := range m.Stages {
		results[i] = s.run(ctx, c)
		c.Checks = slices.Concat(c.Checks, []ralph.Check{results[i].check}, results[i].more)
		why := "not run, for " + results[i].check.Name + " did not pass"
		switch {
		case ctx.Err() != nil:
			why = notRun
		case results[i].passed || s.Advisory || m.Any:
			continue
		}
		for j := range results[i+1:] {
			results[i+1+j].check.Detail = why
		}
		return
	}
}

// notRun tells a stage that was not reached in time from one that was skipped
// because another had failed.
const notRun = "not run, for the time to do it was over"

// atOnce runs the stages beside each other, at most Parallel at a time. The
// group has no context of its own: the first that fails does not end the
// others, whose results the agent should be told in the same go.
func (m MultiStage) atOnce(ctx context.Context, c ralph.Claim, results []stageResult) {
	var group errgroup.Group
	group.SetLimit(m.Parallel)
	for i, s := range m.Stages {
		group.Go(func() error {
			if results[i].check.Detail = notRun; ctx.Err() == nil {
				results[i] = s.run(ctx, c)
			}
			return nil
		})
	}
	group.Wait()
}

// sum makes one verdict of all stages. It cannot pass if they were cut short:
// with Any, a stage that had passed is enough, but a caller whose time is over
// must not get a pass and an error.
func (m MultiStage) sum(results []stageResult, ended bool) ralph.Verdict {
	passed, failed := 0, 0
	var v ralph.Verdict
	var extra []ralph.Check
	var wrong, advice []string
	for i, r := range results {
		v.Checks = append(v.Checks, r.check)
		v.Usage = v.Usage.Add(r.usage)
		extra = append(extra, r.more...)
		switch {
		case m.Stages[i].Advisory:
			if r.wrong != "" {
				advice = append(advice, r.wrong)
			}
		case r.passed:
			passed++
		default:
			failed++
			if r.wrong != "" {
				wrong = append(wrong, r.wrong)
			}
		}
	}
	v.Checks = append(v.Checks, extra...)
	v.Passed = ended && (failed == 0 || m.Any && passed > 0)
	if v.Passed {
		for i := range v.Checks {
			v.Checks[i] = advisory(v.Checks[i]) // it decided nothing
		}
	} else {
		v.Feedback = shared(wrong, headBytes+tailBytes-1<<10)
		if len(advice) > 0 {
			v.Feedback += "\n\nAdvice, which decides nothing: " + shared(advice, 1<<10)
		}
	}
	v.Checks = few(v.Checks)
	return v
}

// shared joins texts, each cut to its share of the limit, so that a long one
// does not push out the others. What a short text leaves over is shared among
// those after it. More is kept of the end, where tools sum up.
func shared(texts []string, limit int) string {
	var b strings.Builder
	for i, text := range texts {
		if i > 0 {
			b.WriteString("\n\n")
		}
		share := limit / (len(texts) - i)
		text = ends(text, share/3, share/2)
		limit -= len(text)
		b.WriteString(text)
	}
	return b.String()
}

// name is the stage's name on one line, for it may come from a file of somebody
// else.
func (s Stage) name() string {
	return cmp.Or(oneLine(s.Name, 100, 20), "unnamed")
}

// run asks the stage's verifier, and makes one check of what it says. The
// check's detail is for people and may hold the stack of a panic; what the
// agent is told leaves it out, for it says nothing about the work.
func (s Stage) run(ctx context.Context, c ralph.Claim) stageResult {
	start := time.Now()
	v, err := ask(ctx, s.Verifier, c)
	r := stageResult{check: ralph.Check{Name: s.name(), Status: ralph.CheckPassed}, passed: v.Passed && err == nil, usage: v.Usage}
	r.evidence(v.Checks)
	r.check.Duration = time.Since(start)

	said, unable := strings.TrimSpace(v.Feedback), ""
	switch {
	case err != nil:
		r.check.Status = errorStatus(ctx, err)
		r.check.Detail = oneLine(err.Error(), 600, 200)
		unable = oneLine(plugin.Brief(err), 600, 200)
	case !v.Passed:
		r.check.Status = rejection(v)
		r.check.Detail = cmp.Or(details(v.Checks, r.check.Status), oneLine(said, 400, 400))
		unable = r.check.Detail
		said = cmp.Or(said, r.check.Detail, "it does not say why")
	default:
		r.check.Detail = details(v.Checks, "")
	}
	switch {
	case r.passed:
		return r
	case r.check.Status == ralph.CheckFailed:
		r.wrong = fmt.Sprintf("%s: %s", r.check.Name, said)
	default:
		r.wrong = fmt.Sprintf("%s could not be checked, which says nothing about your work: %s", r.check.Name, cmp.Or(unable, said))
	}
	if s.Advisory {
		r.check = advisory(r.check)
		for i := range r.more {
			r.more[i] = advisory(r.more[i])
		}
	}
	return r
}

// advisory makes a warning of a check that did not pass, with the old status
// before its detail: the record still tells a check that failed from one that
// could not be made.
func advisory(c ralph.Check) ralph.Check {
	switch c.Status {
	case ralph.CheckFailed, ralph.CheckUnable, ralph.CheckTimeout:
		c.Detail = oneLine(string(c.Status)+": "+c.Detail, 600, 300)
		c.Status = ralph.CheckWarning
	}
	return c
}

// evidence takes exit code and digest over, from the first check that did not
// pass, else from the last that has any. One check has room for one exit code.
// What other checks have is kept as checks of their own, so that no evidence is
// lost when stages are nested.
func (r *stageResult) evidence(checks []ralph.Check) {
	main := -1
	for i, c := range checks {
		if c.ExitCode == nil && c.Digest == "" {
			continue
		}
		if main < 0 || checks[main].Status == ralph.CheckPassed {
			main = i
		}
	}
	for i, c := range checks {
		switch {
		case i == main:
			r.check.ExitCode, r.check.Digest = c.ExitCode, c.Digest
		case c.ExitCode != nil || c.Digest != "":
			c.Name = r.check.Name + ": " + c.Name
			r.more = append(r.more, c)
		}
	}
}

// details joins what checks say: those of a status, or all if status is "".
func details(checks []ralph.Check, status ralph.CheckStatus) string {
	var texts []string
	for _, c := range checks {
		if c.Detail != "" && (status == "" || c.Status == status) {
			texts = append(texts, strings.TrimSpace(c.Detail))
		}
	}
	return oneLine(strings.Join(texts, "; "), 600, 300)
}

// rejection is the status of a verdict that rejects: failed, unless it rejects
// only because checks could not be made. That must survive wrapping, or the
// agent would be told to mend what is not broken.
func rejection(v ralph.Verdict) ralph.CheckStatus {
	switch {
	case !v.Undecided():
		return ralph.CheckFailed
	case slices.ContainsFunc(v.Checks, func(c ralph.Check) bool { return c.Status == ralph.CheckUnable }):
		return ralph.CheckUnable
	}
	return ralph.CheckTimeout
}

// errorStatus is the status of an error. A deadline counts as a time-out even
// if the verifier has put its own words around it, or none.
func errorStatus(ctx context.Context, err error) ralph.CheckStatus {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ralph.CheckTimeout
	}
	return ralph.CheckUnable
}
