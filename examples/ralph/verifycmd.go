package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/spec"
	"github.com/ralph-loop/ralph/verify"
)

func verifyFlags(f *flags) {
	f.StringVar(&f.output, "output", "", "the `FILE` with what the agent said, - for standard input (default: its claim alone)")
	f.BoolVar(&f.json, "json", false, "print JSON")
	f.BoolVar(&f.templates, "templates", false, "list the checks that definitions can use by name (method template)")
	f.DurationVar(&f.timeout, "timeout", 0, "end a verification after this `TIME`, like 30m (0: never)")
	f.StringVar(&f.dir, "dir", "", "the `FOLDER` to work in (default: the current one)")
	stageFlags(f)
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

// runVerify runs a definition's verifiers without any agent.
func runVerify(e env, f *flags, args []string) error {
	if f.templates {
		return printTemplates(e.stdout, args)
	}
	switch len(args) {
	case 0:
		return fail(exitUsage, "verify takes FILE and, if there are several tasks in it, TASK; 'ralph help verify' tells more")
	case 1, 2:
	default:
		return fail(exitUsage, "%q is one argument too many", args[2])
	}
	if info, err := os.Stat(cmp.Or(f.dir, ".")); err != nil || !info.IsDir() {
		return fail(exitConfig, "--dir %s is not a folder", f.dir)
	}
	parts, err := f.parts(e, args)
	if err != nil {
		return err
	}
	config, err := f.tasksConfig(cmp.Or(f.dir, "."))
	if err != nil {
		return err
	}
	judged := spec.Env{Dir: cmp.Or(f.dir, "."), Judge: f.judgeWith(config)}
	said, err := f.said(e.stdin)
	if err != nil {
		return err
	}
	var results []verified
	for _, p := range parts {
		r, err := f.verifyPart(e, config, judged, p, said)
		if err != nil {
			return fail(exitConfig, "%s: %w", args[0], err)
		}
		results = append(results, r)
	}
	if err := f.printVerified(e.stdout, results); err != nil {
		return err
	}
	return verifiedExit(e, results)
}

// A part is one agent's part of a definition.
type part struct {
	def   spec.Definition
	stage string
}

// parts finds what is to be verified.
func (f *flags) parts(e env, args []string) ([]part, error) {
	file, err := spec.Load(args[0])
	if err == nil {
		err = file.Validate()
	}
	if err != nil {
		return nil, fail(exitConfig, "%w", err)
	}
	e.warn(file)
	defs := file.Definitions()
	for _, c := range file.Fragments() {
		defs = append(defs, spec.Definition{ID: "", Completion: &c})
	}
	if len(args) == 2 {
		defs = slices.DeleteFunc(defs, func(d spec.Definition) bool { return d.ID != args[1] })
	}
	switch {
	case len(defs) == 0 && len(args) == 2:
		return nil, fail(exitConfig, "%s: there is no task %q%s", args[0], args[1], didYouMean(args[1], ids(file)))
	case len(defs) > 1:
		return nil, fail(exitUsage, "%s: there are %d tasks in it; name one: %s", args[0], len(defs), strings.Join(ids(file), ", "))
	case len(defs) == 0:
		return nil, fail(exitConfig, "%s: there is no task in it", args[0])
	}
	d := defs[0]
	if f.stage != "" {
		return []part{{d, f.stage}}, nil
	}
	var all []part
	if d.Completion != nil {
		for _, a := range d.Completion.Agents {
			all = append(all, part{d, a.Agent})
		}
	}
	if len(all) == 0 {
		all = []part{{d, "coder"}}
	}
	return all, nil
}

func ids(f *spec.File) []string {
	var all []string
	for _, d := range f.Definitions() {
		all = append(all, d.ID)
	}
	return all
}

// maxOutput bounds an answer that is read from a file, in bytes.
const maxOutput = 8 << 20

// said is the agent's answer; nil = there is none.
func (f *flags) said(stdin io.Reader) (*string, error) {
	if f.output == "" {
		return nil, nil
	}
	from := stdin
	if f.output != "-" {
		file, err := os.Open(f.output)
		if err != nil {
			return nil, fail(exitConfig, "--output: %w", err)
		}
		defer file.Close()
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, maxOutput+1))
	switch {
	case err != nil:
		return nil, fail(exitConfig, "--output: %w", err)
	case len(text) > maxOutput: // a part of it would be judged for the whole
		return nil, fail(exitConfig, "--output: it has more than %d bytes; give what the agent said in the end, not the stream", maxOutput)
	}
	answer := string(text)
	return &answer, nil
}

// verifyPart verifies one part, as the loop would.
func (f *flags) verifyPart(e env, config spec.Config, judged spec.Env, p part, said *string) (verified, error) {
	own := *f
	own.stage = p.stage
	if own.stage == "" {
		own.stage = "coder"
	}
	def := p.def
	if def.ID == "" { // a fragment
		def.ID, def.Title = "fragment", "fragment"
		if p.stage == "" {
			c := *def.Completion
			c.Agents = slices.Clone(c.Agents)
			for i := range c.Agents {
				c.Agents[i].Agent = cmp.Or(c.Agents[i].Agent, own.stage)
			}
			def.Completion = &c
		}
	}
	task, v, err := own.task(config, judged, def)
	if err != nil {
		return verified{}, err
	}
	if task, err = v.Prepare(e.ctx, task); err != nil {
		return verified{}, err
	}
	if len(task.Guarded) > 0 {
		e.say("guarded files are compared with what they are now: there was no loop before this")
	}
	claim := ralph.Claim{Task: task, Iteration: 1, Attempt: 1, Start: time.Now(), Promised: true}
	if said != nil {
		claim.Output = *said
		promise := ralph.FindPromise(*said, task.Promise, task.Match)
		if claim.Promised = promise.Found; !promise.Found {
			e.say("%s: the output makes no promise (%s); %s is asked for", own.stage, promise.Why, task.Promise)
		}
	}
	ctx, stop := withTimeout(e.ctx, f.timeout)
	defer stop()
	verdict, err := v.Verify(ctx, claim)
	r := verified{Task: task.ID, Stage: own.stage, Passed: verdict.Passed && err == nil, Feedback: verdict.Feedback, Checks: verdict.Checks}
	if err != nil {
		status := ralph.CheckUnable
		if ctx.Err() != nil && e.ctx.Err() == nil {
			status, err = ralph.CheckTimeout, fmt.Errorf("the verification did not end within %v", f.timeout)
		}
		r.Error = err.Error()
		r.Checks = append(slices.Clone(r.Checks), ralph.Check{Name: "verifier", Status: status, Detail: err.Error()})
	}
	return r, nil
}

func (f *flags) printVerified(out io.Writer, results []verified) error {
	if f.json {
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(results)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "STAGE\tCHECK\tSTATUS\tEXIT\tTIME\tDETAIL")
	for _, r := range results {
		for _, c := range r.Checks {
			exit, took := "-", "-"
			if c.ExitCode != nil {
				exit = fmt.Sprint(*c.ExitCode)
			}
			if c.Duration > 0 {
				took = c.Duration.Round(time.Millisecond).String()
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", clean(r.Stage), short(clean(c.Name), 60), c.Status, exit, took, short(clean(c.Detail), 100))
		}
		result := "passed"
		switch {
		case r.Passed:
		case decided(r):
			result = "rejected"
		default:
			result = "unable"
		}
		fmt.Fprintf(w, "%s\t= %s\t\t\t\t\n", clean(r.Stage), result)
	}
	return w.Flush()
}

// short cuts text for a table.
func short(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit-1]) + "…"
}

// verifiedExit is 0 if all passed, 3 if the work was rejected, and 4 if it is not
// known whether it would be.
func verifiedExit(e env, results []verified) error {
	var rejected, unable []string
	for _, r := range results {
		switch {
		case r.Passed:
		case decided(r):
			rejected = append(rejected, r.Stage)
		default:
			unable = append(unable, r.Stage)
		}
		if !r.Passed && r.Feedback != "" {
			for line := range strings.SplitSeq(strings.TrimSpace(r.Feedback), "\n") {
				fmt.Fprintf(e.stderr, "   | %s\n", strings.Map(printable, line))
			}
		}
	}
	if cause := e.ctx.Err(); cause != nil {
		return cause
	}
	var errs []string
	if len(rejected) > 0 {
		errs = append(errs, "rejected: "+strings.Join(rejected, ", "))
	}
	if len(unable) > 0 {
		errs = append(errs, "could not be verified: "+strings.Join(unable, ", "))
	}
	switch {
	case len(rejected) > 0:
		return &exitError{exitNotVerified, errors.New(strings.Join(errs, "; "))}
	case len(unable) > 0:
		return &exitError{exitAgent, errors.New(strings.Join(errs, "; "))}
	}
	return nil
}

// decided reports whether a rejection says something about the work.
func decided(r verified) bool {
	unsure := r.Error != ""
	for _, c := range r.Checks {
		switch c.Status {
		case ralph.CheckFailed:
			return true
		case ralph.CheckUnable, ralph.CheckTimeout:
			unsure = true
		}
	}
	return !unsure
}

func printTemplates(out io.Writer, args []string) error {
	if len(args) > 0 {
		return fail(exitUsage, "--templates takes no arguments")
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tARGUMENTS\tCHECKS")
	for _, t := range verify.Templates() {
		fmt.Fprintf(w, "%s\t%s\t%s\n", t.Name, cmp.Or(t.Args, "-"), t.Does)
	}
	return w.Flush()
}
