package verify

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file"
	"github.com/ralph-loop/ralph/internal/plugin"
	"github.com/ralph-loop/ralph/internal/process"
	"github.com/ralph-loop/ralph/internal/term"
)

// Semantic asks a judge whether each of the criteria is met. A judge is just
// another agent, any [ralph.Runner]. A small model is enough, and one without
// tools is best, which is what [ralph.JudgePreset] makes:
//
//	judge, err := ralph.JudgePreset("claude")
//	judge.Model = "haiku"
//	v := verify.Semantic{Judge: judge, Criteria: []string{"every endpoint checks the token"}}
//
// The judge reads the task, what the agent says, and the facts: what git finds
// changed in the workspace since [ralph.Claim.Base], what [ralph.Claim.Checks]
// have found, and Evidence. Of every changed file it is told the name, how many
// lines and bytes, and a digest, then the diff; there is no diff of lock files,
// of files that were generated before the work began, and of files that are not
// text. It is shown all of that or nothing, see MaxBytes. Without a Base it is
// told that there is no diff.
//
// The judge runs in an empty folder of its own. All texts are fenced by a
// delimiter that is new for each call, and are called data. The judge must
// answer with one line for each criterion, in order, and nothing else:
//
//  1. VERIFIED: <why>
//  2. NOT_VERIFIED: <what is missing>
//
// Among the criteria, at a random place, is one that is known to be false. A
// judge that says it is met does not judge, whatever made it do so: the check
// is unable, which rejects. An answer of any other form is no verdict, and
// neither is one whose verdicts stand in the criteria or in the text that was
// judged: the judge is asked again once, and then the check is unable.
//
// A judge is still only a reader, and can be wrong or deceived: prefer
// [External] for what a command can find out. It costs money each time: in a
// [MultiStage], put it after the checks that are free.
//
// The zero value judges by the task's Acceptance and is an error without a
// Judge. A Semantic is safe for concurrent use if Judge, Fallback, Evidence and
// Redact are.
type Semantic struct {
	// Judge is asked, at most twice for a claim. It may be nil if there are
	// Excludes and no Criteria.
	Judge ralph.Runner
	// Criteria must all be met, 48 at most. Without Criteria and Excludes, they
	// are the task's Acceptance. Each is one statement that can be true or
	// false; one that holds several gets one answer for all of them.
	Criteria []string
	// Excludes must not be in the answer, see [String]. They are looked for
	// first, because that is free; one that is found rejects without a call of
	// the judge.
	Excludes []string
	// Evidence returns further facts about the work for the judge. They count
	// in MaxBytes. Its error, or its panic, is the verifier's error. It is
	// called once for each claim. Nil = none. Without it, and without a diff, a
	// run that ended in a fault is rejected, for its words prove nothing.
	Evidence func(ctx context.Context, c ralph.Claim) (string, error)
	// MaxBytes bounds what the judge is shown, in bytes: the task, the answer
	// and the facts together. If there is more, the judge is not asked and the
	// check is unable; it says how many bytes there are. Nothing is ever cut,
	// since a judge cannot know what was in a part that it did not see. 0 = 256
	// KiB, about 80,000 tokens; negative = no bound.
	MaxBytes int
	// Timeout bounds the judge's time, both calls together if it is asked
	// twice. 0 = 5 minutes, unless the context has a deadline of its own, as
	// every loop's has; negative = none.
	Timeout time.Duration
	// Fallback decides when the judge failed, or gave no verdict in the form it
	// must have. It does not decide when there was too much to show, nor when
	// the judge may have been deceived: when its answer repeats what it judges,
	// or says that what is false is met. Otherwise, whoever deceives the judge
	// could choose who decides. The checks say that it did. Nil = none: the
	// check is unable.
	Fallback ralph.Verifier
	// Redact returns a text without its secrets, as the method String of
	// progress.Redactor does. Everything that leaves the verifier goes through
	// it: the feedback, the names and details of the checks, errors, and what
	// is kept in [ralph.Claim.Evidence]. What the judge is asked does not, for
	// it could not judge what it cannot see; nor does what Fallback keeps,
	// which has a Redact of its own. It may be called concurrently. Nil =
	// nothing is hidden.
	Redact func(string) string
}

var _ ralph.Verifier = Semantic{}

// Validate returns an error if the claim of such a task cannot be judged: there
// are no criteria, too many, or no judge for them. That the judge cannot be run
// is an error only without a Fallback.
func (s Semantic) Validate(t ralph.Task) error {
	criteria, err := s.criteria(t)
	if err == nil && len(criteria) > 0 && s.Fallback == nil {
		err = of("Semantic: judge", validate(s.Judge, t))
	}
	if err == nil {
		err = validate(s.Fallback, t)
	}
	_, err = hider(s.Redact).leaving(ralph.Verdict{}, err)
	return err
}

// Prepare has Fallback prepare the task, see [ralph.Verifier]. The judge needs
// nothing noted: git tells what has changed.
func (s Semantic) Prepare(ctx context.Context, t ralph.Task) (ralph.Task, error) {
	return prepare(ctx, s.Fallback, t)
}

// Verify implements [ralph.Verifier]. A judge that fails is no error but a
// check that is unable, or a time-out. Errors are that of Validate, of
// Evidence, of Fallback, and context.Cause(ctx). The verdict's Usage is what
// the judge has used, each time it was asked, and Fallback.
func (s Semantic) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	return hider(s.Redact).leaving(s.verify(ctx, c))
}

func (s Semantic) verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	if ctx.Err() != nil {
		return ralph.Verdict{}, context.Cause(ctx)
	}
	criteria, err := s.criteria(c.Task)
	if err != nil {
		return ralph.Verdict{}, err
	}
	var checks []ralph.Check
	if len(s.Excludes) > 0 {
		words := c
		words.Promised, words.Fault = true, "" // these are asked about below
		v, err := String{Excludes: s.Excludes}.Verify(ctx, words)
		if err != nil || !v.Passed {
			return v, err
		}
		checks = v.Checks
	}
	switch {
	// The work of a run that broke off can still be judged, by what is there;
	// its words alone cannot.
	case c.Fault != "" && s.Evidence == nil && c.Base == "":
		return judge(append(checks, ralph.Check{Name: "judge", Status: ralph.CheckFailed,
			Detail: fmt.Sprintf("the run ended with a fault (%s), so its words are not taken", c.Fault)})...), nil
	case len(criteria) == 0:
		return judge(checks...), nil
	}
	return s.hear(ctx, c, criteria, checks)
}

// hear has the judge decide on the criteria. What it has spent is returned
// whatever comes of it, for it was paid.
func (s Semantic) hear(ctx context.Context, c ralph.Claim, criteria []string, checks []ralph.Check) (ralph.Verdict, error) {
	shown, unable, err := s.shown(ctx, c)
	if err != nil {
		return ralph.Verdict{}, err
	}
	if unable != "" {
		return judge(append(checks, ralph.Check{Name: "judge", Status: ralph.CheckUnable, Detail: unable})...), nil
	}
	heard, cancel := s.heard(ctx)
	defer cancel()
	h := &hearing{ctx: heard, judge: s.Judge, claim: c, criteria: criteria, exhibits: shown, hide: s.Redact}
	answers, check, spent := h.hold()
	checks = append(checks, h.warnings...)
	if ctx.Err() != nil {
		return ralph.Verdict{Usage: spent}, context.Cause(ctx)
	}
	if answers == nil {
		if h.deceived {
			s.Fallback = nil
		}
		v, err := s.fallback(ctx, c, checks, check, h.told)
		v.Usage = spent.Add(v.Usage)
		return v, err
	}
	v := judge(append(append(checks, check), h.found(answers)...)...)
	v.Usage = spent
	return v, nil
}

// warn keeps what does not hold for the judge on this system, for people: a
// sandbox that the kernel cannot give it, say.
func (h *hearing) warn(text string) {
	text = oneLine(h.hide.text(text), 400, 100)
	h.warnings = append(h.warnings, ralph.Check{Name: "judge", Status: ralph.CheckWarning, Detail: text})
}

// found makes a check of each answer. The criterion stands in the detail as
// well, since the agent is told the details alone.
func (h *hearing) found(answers []answer) []ralph.Check {
	var checks []ralph.Check
	for i, a := range answers {
		criterion := h.hide.text(h.criteria[i])
		name := fmt.Sprintf("%d. %s", i+1, oneLine(criterion, 80, 20))
		status, detail := ralph.CheckPassed, oneLine(h.hide.text(a.why), 300, 100)
		if !a.met {
			status, detail = ralph.CheckFailed, fmt.Sprintf("not met: %s: %s", oneLine(criterion, 200, 50), detail)
		}
		checks = append(checks, ralph.Check{Name: name, Status: status, Detail: detail})
	}
	return checks
}

// heard is the context of the hearing. A deadline that the caller has set wins
// over the default, and both over nothing: a client that hangs must not hang
// the loop.
func (s Semantic) heard(ctx context.Context) (context.Context, context.CancelFunc) {
	_, bounded := ctx.Deadline()
	if s.Timeout < 0 || s.Timeout == 0 && bounded {
		return ctx, func() {}
	}
	d := cmp.Or(s.Timeout, judgeTime)
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("it did not answer within %v", d))
}

// judgeTime is the default of Semantic.Timeout.
const judgeTime = 5 * time.Minute

// fallback is what follows when the judge gave no verdict. told is what the
// agent is told of it, if that is not what the check says. The judge's check
// becomes a warning where the fallback decides, so that a pass has no check in
// it which could not be made.
func (s Semantic) fallback(ctx context.Context, c ralph.Claim, checks []ralph.Check, check ralph.Check, told string) (ralph.Verdict, error) {
	if s.Fallback == nil {
		v := judge(append(checks, check)...)
		v.Feedback = cmp.Or(told, v.Feedback)
		return v, nil
	}
	check.Status, check.Detail = ralph.CheckWarning, "the fallback decides, for "+check.Detail
	v, err := ask(ctx, s.Fallback, c)
	v.Passed = v.Passed && err == nil
	v.Checks = few(append(append(checks, check), v.Checks...))
	return v, err
}

// criteria are those to judge by, or what is wrong with the configuration. A
// task without Acceptance is an error here and not a pass: somebody wanted a
// judge.
func (s Semantic) criteria(task ralph.Task) ([]string, error) {
	criteria := s.Criteria
	if len(criteria) == 0 && len(s.Excludes) == 0 {
		criteria = task.Acceptance
	}
	if err := notBlank("Semantic", criteria, s.Excludes); err != nil {
		return nil, errors.New("verify: Semantic: a criterion or an entry of Excludes is blank")
	}
	switch {
	case len(criteria) == 0 && len(s.Excludes) == 0:
		return nil, errors.New("verify: Semantic: there are no criteria: neither Criteria nor Excludes are set, and the task has no Acceptance")
	case len(criteria) > maxCriteria:
		return nil, fmt.Errorf("verify: Semantic: %d criteria are too many; %d can be judged, in stages of a MultiStage more", len(criteria), maxCriteria)
	case len(criteria) > 0 && s.Judge == nil:
		return nil, errors.New("verify: Semantic: there is no Judge to ask about the criteria")
	}
	return criteria, nil
}

// maxCriteria is what the checks of a verdict can hold, with others beside them.
const maxCriteria = 48

// A hearing is one claim before a judge. It is made for each call of Verify, so
// a Semantic itself keeps nothing.
type hearing struct {
	ctx      context.Context // of the call that it lives in
	judge    ralph.Runner
	claim    ralph.Claim
	criteria []string
	exhibits exhibits
	hide     hider

	deceived bool   // an answer was not the judge's own
	judged   string // what it was shown, folded; "" = not yet
	told     string // why there is no verdict, without the stack of a panic
	warnings []ralph.Check
}

// hold asks the judge, at most twice. Without answers the check says why.
// Twice, because a good judge now and then adds a line of prose and mends that
// when told so; more often would only be paid for.
func (h *hearing) hold() (answers []answer, check ralph.Check, spent ralph.Usage) {
	start := time.Now()
	check = ralph.Check{Name: "judge", Status: ralph.CheckPassed}
	var model, why string
	for range 2 {
		asked := h.questions()
		prompt := h.prompt(asked, rand.Text(), why)
		resp, err := h.ask(prompt)
		if err == nil && resp.Usage == (ralph.Usage{}) {
			resp.Usage.Requests = 1 // it does not tell, which is not nothing
		}
		spent = spent.Add(resp.Usage)
		model = cmp.Or(resp.Model, model)
		for _, text := range resp.Warnings {
			h.warn(text)
		}
		check.Digest = "sha256:" + hashed(resp.Output)
		h.record(prompt, resp.Output)
		if err != nil {
			check.Status = errorStatus(h.ctx, err)
			why := func(text string) string {
				return "the judge could not be asked: " + oneLine(h.hide.text(text), 400, 100)
			}
			check.Detail, h.told = why(err.Error()), why(plugin.Brief(err))
			break
		}
		var fooled bool
		if answers, why, fooled = h.read(resp, asked); why == "" {
			break
		}
		check.Status = ralph.CheckUnable
		check.Detail = "the judge gave no verdict: " + why
		if fooled {
			break // it would be again
		}
	}
	if answers != nil {
		check.Status, check.Detail = ralph.CheckPassed, ""
	}
	check.Duration = time.Since(start)
	check.Detail = strings.TrimSpace(check.Detail + " " + bill(model, spent))
	return answers, check, spent
}

// ask runs the judge in an empty folder: what it reads is what it is told, and
// no file of the agent's (an AGENTS.md, say) can give it orders.
func (h *hearing) ask(prompt string) (ralph.Response, error) {
	dir, err := process.NewTempDir("")
	if err != nil {
		return ralph.Response{}, err
	}
	defer dir.Remove()
	var resp ralph.Response
	err = plugin.Call("the judge", func() (err error) {
		resp, err = h.judge.Run(h.ctx, ralph.Request{
			Loop: h.claim.Task.ID, Task: h.claim.Task.ID, Agent: "judge", Dir: dir.Path,
			Iteration: h.claim.Iteration, Attempt: h.claim.Attempt, Prompt: prompt,
		})
		return err
	})
	if err == nil && h.ctx.Err() != nil {
		err = context.Cause(h.ctx) // what it says comes too late
	}
	return resp, err
}

// record keeps what is asked and answered, if there is a folder for it. That it
// cannot be kept does not change what was found.
func (h *hearing) record(prompt, answer string) {
	if h.claim.Evidence == "" {
		return
	}
	f, err := file.Temp(h.claim.Evidence, "judge-*.txt")
	if err != nil {
		return
	}
	_, err = f.WriteString(h.hide.text(term.Clean(fmt.Sprintf("%s\n\n== the judge answered ==\n\n%s\n", prompt, answer))))
	if errors.Join(err, f.Close()) != nil {
		os.Remove(f.Name()) // better none than a part
	}
}

// bill says what the judge has used; "" if it does not tell.
func bill(model string, u ralph.Usage) string {
	if u.InputTokens+u.OutputTokens == 0 && u.CostUSD == nil {
		return ""
	}
	text := "(" + u.String()
	if model != "" {
		text += ", " + oneLine(model, 60, 20)
	}
	return text + ")"
}
