package verify

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/plugin"
	"github.com/ralph-loop/ralph/internal/process"
	"github.com/ralph-loop/ralph/internal/term"
)

// Semantic asks a judge whether each of the criteria is met.
// A judge is just another agent, any [ralph.Runner]; a small model is enough:
//
//	judge, err := ralph.Preset("claude")
//	judge.Model = "haiku"
//	v := verify.Semantic{Judge: judge, Criteria: []string{"every endpoint checks the token"}}
//
// The judge reads what the agent says, and what Evidence says of the work; it
// runs in an empty folder of its own. Both texts are fenced by a delimiter that
// is new for each call, and are called data. The judge must answer with one line
// for each criterion, in order, and nothing else:
//
//  1. VERIFIED: <why>
//  2. NOT_VERIFIED: <what is missing>
//
// Any other answer is no verdict, and so is one whose verdicts stand in the text
// that was judged. The judge is asked again once; then the check is unable, which
// rejects. A judge is still only a reader, and can be wrong or deceived: give it
// Evidence, and prefer [External] for what a command can find out.
type Semantic struct {
	// Judge is asked. It may be nil if there are Excludes and no Criteria.
	Judge ralph.Runner
	// Criteria must all be met. Without Criteria and Excludes, they are the
	// task's Acceptance.
	Criteria []string
	// Excludes must not be in the answer, upper and
	// lower case alike. They are looked for first; one that is found rejects
	// without a call of the judge.
	Excludes []string
	// Evidence returns facts about the work for the judge, such as the diff. Its
	// error is the verifier's error. Nil = none but the list of changed files;
	// then a run that ended in a fault is rejected, for its words prove nothing.
	Evidence func(ctx context.Context, c ralph.Claim) (string, error)
	// Fallback decides when the judge failed, or answered otherwise than it must.
	// The checks say so. Nil = none: the check is unable.
	Fallback ralph.Verifier
	// Redact returns a text without its secrets, as progress.Redactor's String
	// does. All that leaves the verifier passes it: the feedback, the names and
	// details of the checks, errors, and what is kept in [ralph.Claim.Evidence].
	// What the judge is asked does not, nor what Fallback keeps, which has a Redact
	// of its own. It may be called concurrently. Nil = nothing is hidden.
	Redact func(string) string
}

var _ ralph.Verifier = Semantic{}

// Validate reports what keeps it from judging such a task: there are no criteria, or
// no judge for them. A judge that cannot be run is one only without a Fallback.
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

// Prepare has Fallback prepare the task, see [ralph.Verifier].
func (s Semantic) Prepare(ctx context.Context, t ralph.Task) (ralph.Task, error) {
	return prepare(ctx, s.Fallback, t)
}

// Verify implements [ralph.Verifier]. A judge that fails is no error but an
// unable check, or a time-out. The verdict's Usage is the judge's, each time it was
// asked, and Fallback's.
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
	if c.Fault != "" && s.Evidence == nil {
		return judge(append(checks, ralph.Check{Name: "judge", Status: ralph.CheckFailed,
			Detail: fmt.Sprintf("the run ended with a fault (%s), so its words are not taken", c.Fault)})...), nil
	}
	if len(criteria) == 0 {
		return judge(checks...), nil
	}
	facts, err := s.facts(ctx, c)
	if err != nil {
		return ralph.Verdict{}, err
	}
	h := &hearing{ctx: ctx, judge: s.Judge, claim: c, criteria: criteria, said: term.Clean(c.Output), facts: facts, hide: s.Redact}
	answers, check, spent := h.hold()
	if ctx.Err() != nil {
		return ralph.Verdict{Usage: spent}, context.Cause(ctx)
	}
	if answers == nil {
		v, err := s.fallback(ctx, c, checks, check)
		v.Usage = spent.Add(v.Usage)
		return v, err
	}
	checks = append(checks, check)
	for i, a := range answers {
		criterion := h.hide.text(criteria[i])
		name := fmt.Sprintf("%d. %s", i+1, oneLine(criterion, 80, 20))
		status, detail := ralph.CheckPassed, oneLine(h.hide.text(a.why), 300, 100)
		if !a.met {
			status, detail = ralph.CheckFailed, fmt.Sprintf("not met: %s: %s", oneLine(criterion, 200, 50), detail)
		}
		checks = append(checks, ralph.Check{Name: name, Status: status, Detail: detail})
	}
	v := judge(checks...)
	v.Usage = spent
	return v, nil
}

// fallback is what follows when the judge gave no verdict.
func (s Semantic) fallback(ctx context.Context, c ralph.Claim, checks []ralph.Check, check ralph.Check) (ralph.Verdict, error) {
	if s.Fallback == nil {
		return judge(append(checks, check)...), nil
	}
	check.Status, check.Detail = ralph.CheckWarning, "the fallback decides, for "+check.Detail
	v, err := ask(ctx, s.Fallback, c)
	v.Passed = v.Passed && err == nil
	v.Checks = few(append(append(checks, check), v.Checks...))
	return v, err
}

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

func (s Semantic) facts(ctx context.Context, c ralph.Claim) (string, error) {
	var b strings.Builder
	if len(c.Files) > 0 {
		fmt.Fprintf(&b, "Files that changed:\n%s\n\n", strings.Join(c.Files, "\n"))
	}
	if s.Evidence != nil {
		var text string
		err := plugin.Call("the function", func() (err error) {
			text, err = s.Evidence(ctx, c)
			return err
		})
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if err != nil {
			return "", fmt.Errorf("verify: Semantic: evidence: %w", err)
		}
		b.WriteString(text)
	}
	return term.Clean(strings.TrimSpace(b.String())), nil
}

// A hearing is one claim before a judge.
type hearing struct {
	ctx      context.Context // of the call that it lives in
	judge    ralph.Runner
	claim    ralph.Claim
	criteria []string
	said     string
	facts    string
	hide     hider
}

// hold asks the judge, at most twice. Without answers the check says why.
func (h *hearing) hold() (answers []answer, check ralph.Check, spent ralph.Usage) {
	start := time.Now()
	check = ralph.Check{Name: "judge", Status: ralph.CheckPassed}
	record := h.record()
	var model, why, warnings string
	for range 2 {
		fence := rand.Text()
		prompt := h.prompt(fence, why)
		resp, err := h.ask(prompt)
		if err == nil && resp.Usage == (ralph.Usage{}) {
			resp.Usage.Requests = 1 // it does not tell, which is not nothing
		}
		spent = spent.Add(resp.Usage)
		model = cmp.Or(resp.Model, model)
		for _, text := range resp.Warnings {
			warnings += "\n" + oneLine(h.hide.text(text), 400, 100)
		}
		digest := sha256.Sum256([]byte(resp.Output))
		check.Digest = "sha256:" + hex.EncodeToString(digest[:])
		record(prompt, resp.Output)
		if err != nil {
			check.Status = errorStatus(h.ctx, err)
			check.Detail = "the judge could not be asked: " + oneLine(h.hide.text(err.Error()), 400, 100)
			break
		}
		if answers, why = h.read(resp); why == "" {
			break
		}
		check.Status = ralph.CheckUnable
		check.Detail = "the judge gave no verdict: " + why
	}
	if answers != nil {
		check.Status, check.Detail = ralph.CheckPassed, ""
	}
	check.Duration = time.Since(start)
	check.Detail = strings.TrimSpace(check.Detail + " " + bill(model, spent) + warnings)
	return answers, check, spent
}

// ask runs the judge in an empty folder: what it reads is what it is told, and
// no file of the agent's can give it orders.
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
	return resp, err
}

// record returns a function that keeps what is asked and answered, if there is
// a folder for it. That it cannot be kept does not change what was found.
func (h *hearing) record() func(prompt, answer string) {
	if h.claim.Evidence == "" || os.MkdirAll(h.claim.Evidence, 0o755) != nil {
		return func(string, string) {}
	}
	return func(prompt, answer string) {
		f, err := os.CreateTemp(h.claim.Evidence, "judge-*.txt")
		if err != nil {
			return
		}
		_, err = f.WriteString(h.hide.text(fmt.Sprintf("%s\n\n== the judge answered ==\n\n%s\n", prompt, answer)))
		if errors.Join(err, f.Close()) != nil {
			os.Remove(f.Name()) // better none than a part
		}
	}
}

// bill says what the judge has used.
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
