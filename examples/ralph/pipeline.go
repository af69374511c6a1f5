package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// A piped is a run of a task file by a pipeline: of definitions, and of lists that
// several agents work off.
type piped struct {
	*work
	c criteria
	p pipeline.Pipeline
	a *pipeline.Agreed

	kind    tasks.Kind
	clients map[string]string // what agents' clients are called, if these are several
	dropped int               // how many tasks nobody is to do: they do not remain
	s       pipeline.State
	events  []pipeline.Event // of this run, and of what it goes on with
}

// pipeline works a task file off by a pipeline.
func (w *work) pipeline(kind tasks.Kind) error {
	w.file = named(w.file)
	r, err := w.piped(kind)
	if err == nil && !w.dryRun {
		err = r.toBranch()
	}
	if err == nil {
		err = r.agree()
	}
	if err != nil {
		return err
	}
	if w.dryRun {
		return r.preview()
	}
	if err := w.trusted(w.env, w.file, r.strangers()...); err != nil {
		return err
	}
	if err := r.ready(); err != nil {
		return err
	}
	if err := r.resume(); err != nil {
		return err
	}
	if err := w.open(); err != nil {
		return err
	}
	return r.drive()
}

// piped is the pipeline that the flags ask for.
func (w *work) piped(kind tasks.Kind) (*piped, error) {
	r := &piped{work: w, kind: kind, c: criteria{shared: &w.shared}}
	r.p = pipeline.Pipeline{
		Name: w.name(), Dir: w.project, Anew: w.anew, Share: w.share, Include: w.include, Follow: w.follow,
		Stages:  strings.FieldsFunc(w.stages, func(c rune) bool { return c == ',' || c == ' ' }),
		Rules:   pipeline.Rules{Slots: w.slots, Merge: w.worktrees, Unverified: w.unverified, Repair: w.repair, CostUSD: w.maxCost, Tokens: w.maxTokens, Duration: w.maxDuration, Priced: w.maxCost > 0},
		Limits:  w.limits(),
		Prompts: pipeline.Prompts{Dir: filepath.Join(w.project, "prompts")},
		Runner:  r.runner, Trusted: r.known, Redact: redact().String,
	}
	if own := filepath.Join(w.project, ".ralph", "prompts"); isFolder(own) == nil {
		r.p.Prompts.Dir = own
	}
	if w.given["timeout"] && w.timeout == 0 {
		r.p.Limits.IterationTimeout = -1
	}
	if w.place != nil {
		r.p.Record = w.place.Under("")
	}
	c, err := w.criteria(w.project)
	if err != nil {
		return nil, err
	}
	r.p.Learn = w.learning(c)
	if kind != tasks.KindDefinitions {
		return r, r.list(kind)
	}
	c.env.Redact = r.p.Redact
	r.c, r.p.Config, r.p.Source = c, c.config, &pipeline.File{Path: w.file}
	r.p.Verifier, r.p.HowVerified, err = w.checks(c.verifier())
	return r, err
}

// agree finds out what is to be done: what cannot be is told now, and not after hours.
func (r *piped) agree() (err error) {
	if r.p.Rules.Slots > 1 && !r.p.Rules.Merge && !r.p.Share {
		return fail(exitConfig, "--slots %d: several agents in one folder break each other's work: give each task a git worktree with --worktrees, or let them share the folder with --share", r.p.Rules.Slots)
	}
	if r.a, err = r.p.Agree(r.ctx); errors.Is(err, spec.ErrNoJudge) {
		return fail(exitConfig, "%s: %w", r.file, judgeless(err))
	} else if err != nil {
		return fail(exitConfig, "%w", err)
	}
	if f, ok := r.p.Source.(*pipeline.File); ok {
		r.warn(f.Warnings())
	}
	r.s = r.a.State.Apply(pipeline.Event{Kind: pipeline.EventStarted, State: &r.a.State})
	defs := make([]spec.Definition, len(r.a.Tasks))
	for i, t := range r.a.Tasks {
		defs[i] = t.Definition
	}
	for _, d := range defs {
		if d.Status.Effective() == spec.StatusSkipped {
			r.dropped++
		}
	}
	switch written := !slices.ContainsFunc(defs, isToDo); {
	case len(defs) == 0:
		return fail(exitConfig, "%s: there is no task in it", r.file)
	case r.s.Remaining() == r.dropped && written && !r.unfinished():
		return r.nothing(defs)
	case r.s.Remaining() > 0 && len(r.s.Ready()) == 0:
		todo := map[bool]string{true: "; set the status of those that are to run to todo"}[r.kind == tasks.KindDefinitions]
		return fail(exitConfig, "%s: no task is ready: %s%s", r.file, counts(defs), todo)
	}
	r.saySlots()
	for _, order := range r.s.Orders {
		for _, agent := range order {
			if _, err := r.client(r.c.config.Client(agent)); err != nil {
				return err
			}
		}
	}
	r.logPath, r.meta = r.logFile(), r.shared.meta(r.env, r.file, r.agent, r.boxTerms(r.c.terms()))
	r.meta["worktrees"], r.meta["log"] = fmt.Sprint(r.worktrees), absolute(r.logPath)
	r.p.Meta = r.meta
	return nil
}

// unfinished reports whether a run was killed before its end was on record: it still has
// to tidy up, though all of its tasks may be done.
func (r *piped) unfinished() bool {
	if r.place == nil || r.anew {
		return false
	}
	e, err := r.p.Record.Look(r.name())
	return err == nil && !e.State.Done()
}

// client is the program that works for an agent: what the flags name goes before what the
// configuration does, and that before the first one installed.
func (r *piped) client(name string) (*ralph.Command, error) {
	s := r.shared
	_, unknown := ralph.Preset(name)
	switch cmd, made := r.agent.(*ralph.Command); {
	case name == "" || s.agent != "" || s.agentCmd != "":
		if name = ""; made {
			return cmd, nil
		}
	case unknown != nil:
		s.agentCmd, s.format, s.model = name, "", ""
	default:
		s.agent, s.format, s.model = name, "", ""
	}
	cmd, err := s.command(r.env, nil, r.project)
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fail(exitAgent, "%w", err)
	}
	if err == nil && name == "" {
		r.agent = cmd
	}
	return cmd, err
}

// ready asks the clients of all agents for their logins, each once.
func (r *piped) ready() error {
	asked := map[string]bool{}
	r.clients = map[string]string{}
	for _, order := range r.s.Orders {
		for _, agent := range order {
			cmd, err := r.client(r.c.config.Client(agent))
			if err == nil && !asked[cmd.Args[0]] {
				asked[cmd.Args[0]] = true
				err = r.env.ready(cmd)
			}
			if err != nil {
				return err
			}
			r.clients[agent] = agentName(cmd)
		}
	}
	return r.canBegin(r.env, nil)
}

// runner is the agent of a stage, in its folder.
func (r *piped) runner(place pipeline.Place) (ralph.Runner, error) {
	cmd, err := r.client(place.Client)
	if err != nil || cmd.Sandbox == nil || place.Write == nil {
		return cmd, err
	}
	own, box := *cmd, *cmd.Sandbox
	box.Write = slices.Concat(slices.DeleteFunc(slices.Clone(box.Write), func(dir string) bool {
		return slices.Contains(repository(r.project), dir) // of that it gets only what it needs
	}), place.Write)
	own.Sandbox = &box
	return &own, nil
}

// stage names a stage of a task, where there are several.
func (r *piped) stage(task, agent string) string {
	s := r.a.State
	if i := s.Find(task); i >= 0 && len(s.Orders[s.Parts[i].Order]) == 1 || agent == "" {
		return line(task)
	}
	return line(task + "." + agent)
}

// strangers are what the tasks that are to be run start, and what else the workspace's
// files have started.
func (r *piped) strangers() (all []stranger) {
	for _, t := range r.a.Tasks {
		all = append(all, r.startsOf(t)...)
	}
	for _, filter := range r.a.Filters {
		all = append(all, newStranger("git", filepath.Join(r.project, ".git", "config"), []string{filter}, filter))
	}
	for _, a := range r.c.config.Agents {
		if _, err := ralph.Preset(a.Client); a.Client != "" && err != nil && r.shared.agent == "" && r.agentCmd == "" {
			all = append(all, newStranger(a.Agent, r.file, []string{a.Client}, "client", a.Client))
		}
	}
	return all
}

func (r *piped) startsOf(t pipeline.AgreedTask) (all []stranger) {
	for _, task := range t.Stages {
		if task.Spec != nil {
			all = append(all, r.c.stranger(r.file, r.stage(task.ID, task.Agent), task))
		}
	}
	return all
}

// known reports whether a person has agreed to what a task starts that an agent proposes.
func (r *piped) known(t pipeline.AgreedTask) bool {
	known, _ := trustFile()
	return !slices.ContainsFunc(r.startsOf(t), func(s stranger) bool { return len(s.starts) > 0 && !known[s.digest] })
}

// resume finds what an interrupted run has left, and tells it. It goes on only as it was
// agreed: what is on record outside the workspace is believed, and nothing else.
func (r *piped) resume() error {
	if r.place == nil {
		return nil
	}
	*r.again = r.resuming(r.name())
	if r.anew {
		return r.aside(r.env, r.p.Record, r.name())
	}
	_, events, err := pipeline.Recorded(r.ctx, r.p.Record, r.name())
	if errors.Is(err, fs.ErrNotExist) {
		return r.unrecorded()
	}
	var left []pipeline.Interrupted
	if err == nil {
		left, err = r.a.Interrupted(r.ctx)
	}
	if err != nil {
		return fail(exitConfig, "%w; --new starts it over", err)
	}
	for _, loop := range left {
		if err := r.unlike(loop); err != nil {
			return err
		}
	}
	for i, t := range r.a.Tasks {
		if t.Stages != nil && r.s.Stands[i].Phase == pipeline.PhaseDone {
			r.say("%s was stopped (verified) when this ended before; its status is written back", line(t.Definition.ID))
		}
	}
	e, err := r.p.Record.Look(r.name())
	switch {
	case err == nil && e.Holder != nil:
		return wrong(&progress.HeldError{What: fmt.Sprintf("loop %q", e.Loop), Holder: *e.Holder})
	case err != nil || e.State.Done() && !r.resumes:
		return wrong(err)
	}
	r.events = events
	_, err = r.goesOn(r.env, r.p.Record, e, e, func(progress.Entry) string { return "" })
	return err
}

// unrecorded refuses to begin what is said to run, and was begun elsewhere.
func (r *piped) unrecorded() error {
	for _, t := range r.a.Tasks {
		if t.Definition.Status == spec.StatusRunning && r.logged(t.Definition.ID) {
			return fail(exitConfig, "%s: %s was interrupted, and what was agreed for it is not on record in %s; a log in the workspace is not believed, for the agent can write to it. --state names the folder it was begun with, --new starts it over", r.file, line(t.Definition.ID), r.place.Path)
		}
	}
	return nil
}

// unlike refuses a loop that is no longer what was agreed. What is given on the command
// line is agreed anew.
func (r *piped) unlike(loop pipeline.Interrupted) error {
	anew, was, what := maps.Clone(r.given), loop.Entry.State.Task, ""
	anew["agent"], anew["command"], anew["file"], anew["worktrees"] = true, true, true, false
	switch what = unlike(loop.Entry.Meta, r.meta, anew); {
	case loop.Changed:
		what = "its definition, or a default of the configuration, has changed"
	case what == "" && !r.worktrees && was.Dir != loop.Now.Dir:
		what = "the folder it works in has changed from " + line(was.Dir)
	case what == "":
		return nil
	}
	return fail(exitConfig, "%s: %s was interrupted, and since it began %s; it goes on only as it was agreed. Put that back, or start it over with --new", r.file, line(was.ID), what)
}

// preview is --dry-run: what would be run in which order, by whom and how it would be
// verified, and what the agent would first be told.
func (r *piped) preview() error {
	rows, prompt := [][]string{{"TASK", "VERIFIED", "ITERATIONS", "AGENT"}}, ""
	dry := &printer{out: r.stdout}
	for _, step := range r.s.Order() {
		if step.Kind != pipeline.StepStage {
			continue
		}
		t := r.a.Tasks[step.Part]
		task := t.Stages[slices.IndexFunc(t.Stages, func(task ralph.Task) bool { return task.Agent == step.Agent })]
		cmd, err := r.client(r.c.config.Client(step.Agent))
		if err == nil && dry.agent == nil {
			dry.agent = cmd
			prompt, err = r.a.Prompt(r.ctx, step)
		}
		if err != nil {
			return fail(exitConfig, "%w", err)
		}
		rows = append(rows, []string{r.stage(task.ID, task.Agent), task.HowVerified, fmt.Sprint(task.Limits.Iterations), strings.Join(cmd.Args, " ")})
	}
	if columns(r.stdout, rows); dry.agent == nil {
		return nil
	}
	if starts := r.strangers(); slices.ContainsFunc(starts, func(s stranger) bool { return len(s.starts) > 0 }) {
		fmt.Fprintln(r.stdout, "\nWhat the files start:")
		showStarts(r.stdout, starts)
	}
	fmt.Fprintf(r.stdout, "\n%s at a time%s\n\n== %s\n", plural(max(r.slots, 1), "task"), budget(r.s.Rules), line(rows[1][0]))
	_, err := dry.Run(r.ctx, ralph.Request{Prompt: prompt})
	return dry.end(err)
}

// budget says what a run may use.
func budget(rules pipeline.Rules) string {
	var all []string
	if rules.CostUSD > 0 {
		all = append(all, ralph.Usage{CostUSD: &rules.CostUSD}.Cost())
	}
	if rules.Tokens > 0 {
		all = append(all, plural(int(rules.Tokens), "token"))
	}
	if rules.Duration > 0 {
		all = append(all, rules.Duration.String())
	}
	return strings.TrimSuffix("; in all at most "+strings.Join(all, ", "), "; in all at most ")
}
