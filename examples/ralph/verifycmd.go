package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/spec"
	"github.com/ralph-loop/ralph/verify"
)

// verifyFlags are the flags of verify.
type verifyFlags struct {
	shared
	output          string
	json, templates bool
}

func (f *verifyFlags) own(set *flag.FlagSet) {
	set.StringVar(&f.output, "output", "", "the `FILE` with what the agent said, - for standard input (default: its claim alone)")
	set.BoolVar(&f.json, "json", false, "print JSON")
	set.BoolVar(&f.templates, "templates", false, "list the checks that definitions can use by name (method template)")
}

// A verified is what came of one agent's part of a task.
type verified struct {
	Task     string        `json:"task"`
	Stage    string        `json:"stage"`
	Passed   bool          `json:"passed"`
	Error    string        `json:"error,omitempty"`
	Feedback string        `json:"feedback,omitempty"`
	Checks   []ralph.Check `json:"checks,omitempty"`
}

// run runs a definition's verifiers without any agent.
func (f *verifyFlags) run(e env, args []string) error {
	if f.templates {
		return printTemplates(e.stdout, args)
	}
	if len(args) == 0 {
		return fail(exitUsage, "verify takes FILE and, if there are several tasks in it, TASK; 'ralph help verify' tells more")
	}
	dir := f.dir
	if dir == "" { // as for run
		dir, _, _ = f.workspace(e.ctx)
	}
	if err := isFolder(dir); err != nil {
		return err
	}
	def, stages, err := f.parts(e, args)
	if err != nil {
		return err
	}
	c, err := f.criteria(dir)
	if err != nil {
		return err
	}
	if proceed, err := f.consented(e, c, args[0], def, stages); !proceed || err != nil {
		return err
	}
	said, err := f.said(e.stdin)
	if err != nil {
		return err
	}
	if f.output == "" { // there are no words to look at
		c.config.TakePromises = true
	}
	var results []verified
	for _, stage := range stages {
		r, err := f.verifyPart(e, c, def, stage, said)
		if err != nil {
			return fail(exitConfig, "%s: %w", args[0], err)
		}
		results = append(results, r)
	}
	if err := f.printVerified(e.stdout, results); err != nil {
		return err
	}
	return f.verifiedExit(e, results)
}

// consented shows what is started, if that is all that is asked for, or asks for
// consent to it.
func (f *verifyFlags) consented(e env, c criteria, file string, def spec.Definition, stages []string) (proceed bool, err error) {
	var all []stranger
	for _, stage := range stages {
		c, task, err := c.able(def, stage)
		if err != nil {
			return false, fail(exitConfig, "%s: %w", file, err)
		}
		all = append(all, c.stranger(file, def.ID+"."+stage, task))
	}
	if f.dryRun {
		showStarts(e.stdout, all)
		return false, nil
	}
	return true, f.trusted(e, file, all...)
}

// able is the task of a stage, and what verifies it. A judge that is asked for and
// not there is one that cannot be asked: what needs none is verified all the same.
func (c criteria) able(def spec.Definition, stage string) (criteria, ralph.Task, error) {
	task, err := c.task(def, stage)
	if errors.Is(err, spec.ErrNoJudge) {
		c.env.Judge = func(string) (ralph.Runner, error) {
			return ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
				return ralph.Response{}, ralph.Permanent(errors.New("there is no judge: " + nameJudge))
			}), nil
		}
		task, err = c.task(def, stage)
	}
	return c, task, err
}

// parts finds the definition that is to be verified, and whose parts of it.
func (f *verifyFlags) parts(e env, args []string) (d spec.Definition, stages []string, err error) {
	file, err := load(args[0])
	if err != nil {
		return d, nil, err
	}
	e.warn(file.Warnings)
	defs := file.Definitions()
	for _, c := range file.Fragments() {
		c.Agents = slices.Clone(c.Agents)
		for i := range c.Agents {
			c.Agents[i].Agent = cmp.Or(c.Agents[i].Agent, f.stage, "coder")
		}
		defs = append(defs, spec.Definition{ID: "fragment", Title: "fragment", Completion: &c})
	}
	var known []string
	for _, d := range defs {
		known = append(known, d.ID)
	}
	if len(args) == 2 {
		defs = slices.DeleteFunc(defs, func(d spec.Definition) bool { return d.ID != args[1] })
	}
	switch {
	case len(defs) == 0 && len(args) == 2:
		return d, nil, fail(exitConfig, "%s: there is no task %q%s", args[0], args[1], didYouMean(args[1], "", known))
	case len(defs) > 1:
		return d, nil, fail(exitUsage, "%s: there are %d tasks in it; name one: %s", args[0], len(defs), strings.Join(known, ", "))
	case len(defs) == 0:
		return d, nil, fail(exitConfig, "%s: there is no task in it", args[0])
	}
	for _, a := range agentsOf(defs[0]) {
		if f.stage == "" {
			stages = append(stages, a.Agent)
		}
	}
	if len(stages) == 0 {
		stages = []string{cmp.Or(f.stage, firstStage(defs[0]))}
	}
	return defs[0], stages, nil
}

// maxOutput bounds an answer that is read from a file, in bytes.
const maxOutput = 8 << 20

// said is the agent's answer, if there is one.
func (f *verifyFlags) said(stdin io.Reader) (string, error) {
	var text []byte
	var err error
	switch f.output {
	case "":
		return "", nil
	case "-":
		text, err = io.ReadAll(io.LimitReader(stdin, maxOutput+1))
	default:
		text, err = ralph.ReadFile(f.output, maxOutput)
	}
	if err == nil && len(text) > maxOutput { // a part of it would be judged for the whole
		err = fmt.Errorf("it has more than %d bytes", maxOutput)
	}
	if err != nil {
		err = fail(exitConfig, "--output: %w", err)
	}
	return string(text), err
}

// verifyPart verifies one agent's part, as the loop would.
func (f *verifyFlags) verifyPart(e env, c criteria, def spec.Definition, stage, said string) (verified, error) {
	c, task, err := c.able(def, stage)
	if err == nil {
		task, err = c.verifier().Prepare(e.ctx, task)
	}
	if err != nil {
		return verified{}, err
	}
	if slices.ContainsFunc(slices.Collect(maps.Keys(task.Guarded)), func(key string) bool { return !strings.HasPrefix(key, "//") }) {
		e.say("guarded files are compared with what they are now: there was no loop before this")
	}
	claim := ralph.Claim{Task: task, Iteration: 1, Attempt: 1, Start: time.Now(), Promised: true}
	if f.output != "" {
		claim.Output = said
		promise := ralph.FindPromise(said, task.Promise, task.Match)
		if claim.Promised = promise.Found; !promise.Found {
			e.say("%s: the output makes no promise (%s); %s is asked for", stage, promise.Why, task.Promise)
		}
	}
	ctx := e.ctx // without a deadline verifiers have their own
	if f.timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, f.timeout)
		defer stop()
	}
	v, how := f.view(e, nil), f.verifying(task)
	v.Named, v.Verifying = true, func(ralph.Task) string { return how }
	if !v.Terminal {
		e.say("%s.%s: verifying: %s", def.ID, stage, how)
	}
	v.Append(ctx, ralph.Event{Kind: ralph.EventAnswered, Task: def.ID, Agent: stage, Iteration: ralph.Iteration{Claimed: true}})
	verdict, err := c.verifier().Verify(ctx, claim)
	v.close()
	r := verified{Task: task.ID, Stage: stage, Passed: verdict.Passed && err == nil, Feedback: verdict.Feedback, Checks: verdict.Checks}
	if err != nil {
		status := ralph.CheckUnable
		if ctx.Err() != nil && e.ctx.Err() == nil {
			status, err = ralph.CheckTimeout, fmt.Errorf("the verification did not end within %v", f.timeout)
		}
		r.Error = ours{err}.Error()
		r.Checks = append(slices.Clone(r.Checks), ralph.Check{Name: "verifier", Status: status, Detail: r.Error})
	}
	return r, nil
}

func (f *verifyFlags) printVerified(out io.Writer, results []verified) error {
	if f.json {
		text, err := asJSON(results, "  ")
		if err == nil {
			_, err = io.WriteString(out, text)
		}
		return err
	}
	rows := [][]string{{"STAGE", "CHECK", "STATUS", "EXIT", "TIME", "DETAIL"}}
	for _, r := range results {
		for _, c := range r.Checks {
			exit, took := measured(c)
			detail, _, _ := strings.Cut(c.Detail, "\n")
			rows = append(rows, []string{r.Stage, short(c.Name, 60), string(c.Status), exit, took, short(detail, 100)})
		}
		rows = append(rows, []string{r.Stage, "= " + r.result()})
	}
	return columns(out, rows)
}

// verifiedExit is 0 if all passed, 3 if the work was rejected, and 4 if it is not
// known whether it would be.
func (f *verifyFlags) verifiedExit(e env, results []verified) error {
	stages, noted := map[string][]string{}, false
	for _, r := range results {
		stages[r.result()] = append(stages[r.result()], r.Stage)
		if !r.Passed {
			quote(e.stderr, r.Feedback)
		}
		for _, c := range r.Checks {
			if _, more, ok := strings.Cut(c.Detail, "\n"); ok {
				quote(e.stderr, more)
				noted = noted || c.Status == ralph.CheckFailed
			}
		}
	}
	if noted && f.verifyEnv == "" {
		e.say("--verify-env names variables that a check gets beside what tools need")
	}
	rejected, unable := strings.Join(stages["rejected"], ", "), strings.Join(stages["unable"], ", ")
	switch {
	case e.ctx.Err() != nil:
		return e.ctx.Err()
	case rejected != "" && unable != "":
		return fail(exitNotVerified, "rejected: %s; could not be verified: %s", rejected, unable)
	case rejected != "":
		return fail(exitNotVerified, "rejected: %s", rejected)
	}
	if unable != "" {
		return fail(exitAgent, "could not be verified: %s", unable)
	}
	return nil
}

// quote shows text of several lines.
func quote(w io.Writer, text string) {
	for line := range strings.Lines(progress.Printable(strings.TrimSpace(text))) {
		fmt.Fprintf(w, "   | %s\n", strings.TrimSpace(line))
	}
}

// result says in a word what came of it.
func (r verified) result() string {
	switch {
	case r.Passed:
		return "passed"
	case (ralph.Verdict{Checks: r.Checks}).Undecided():
		return "unable"
	}
	return "rejected"
}

func printTemplates(out io.Writer, args []string) error {
	if len(args) > 0 {
		return fail(exitUsage, "--templates takes no arguments")
	}
	rows := [][]string{{"NAME", "ARGUMENTS", "CHECKS"}}
	for _, t := range verify.Templates() {
		rows = append(rows, []string{t.Name, t.Args, t.Does})
	}
	return columns(out, rows)
}
