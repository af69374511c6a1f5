package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks"
)

// runFlags are the flags of run.
type runFlags struct {
	shared
	template, progress, stages            string
	slots                                 int
	worktrees, follow, unverified, repair bool
	include, spec                         list
}

func (f *runFlags) own(set *flag.FlagSet) {
	set.StringVar(&f.template, "template", "", "the prompt `FILE` for the items of a list (default: templates/ralph-prompt.md, else built in)")
	set.StringVar(&f.progress, "progress", "", "the progress `FILE` (default: progress.txt beside the task file)")
	set.Var(&f.spec, "spec", "a document that the prompt names, a `FILE` or folder, beside those that are found beside the task file; may be given several times")
	set.IntVar(&f.slots, "slots", 0, "how many tasks are worked on at the same time, a `NUMBER` (1)")
	set.BoolVar(&f.worktrees, "worktrees", false, "give each task a git worktree and a branch of its own, which is merged when it is verified")
	set.StringVar(&f.stages, "stages", "", "of definitions, the `AGENTS` through whose hands they go, with commas between (default: coder, reviewer, tester, qa)")
	set.StringVar(&f.stages, "stage", "", "another name of --stages, for one `AGENT`")
	set.BoolVar(&f.follow, "follow", false, "run the tasks that agents propose, if their commands were trusted before")
	set.BoolVar(&f.unverified, "unverified", false, "take tasks for done of which nothing was verified")
	set.BoolVar(&f.repair, "repair", false, "give a conflict with the main branch to the task's first agent")
	set.Var(&f.include, "include", "`FILES` that git does not track and that come into each worktree, like .env; may be given several times")
}

// A work is a run of a task file.
type work struct {
	env
	*runFlags
	project, file string
	branch, onto  string       // the one that is checked out, and the one that the task file names
	begunOn       *string      // the one that it named when this was begun, if an interrupted run with worktrees goes on
	tasks         source       // as it was when this began; nil = definitions
	items         []tasks.Item // what it held then
	documents     []string     // that the prompt names
	agent         ralph.Runner
	logPath       string
	record        ralph.ProgressLog
	meta          map[string]string
	place         *progress.Dir     // the record of its loops; nil = there can be none
	run           *progress.Journal // its own; nil before it begins, too
	earlier       []progress.Entry  // its loops, if it was interrupted
	since         time.Time         // when that began
}

func (f *runFlags) run(e env, args []string) error {
	w := &work{env: e, runFlags: f}
	if f.given["slots"] && f.slots < 1 {
		return fail(exitUsage, "--slots is a number, 1 or more, not %d", f.slots)
	}
	file := min(len(args), 1)
	if err := cmp.Or(f.iterations(args[file:]), w.locate(args[:file])); err != nil {
		return err
	}
	kind, err := tasks.KindOf(w.file)
	if err != nil {
		return fail(exitConfig, "%w", err)
	}
	w.stated = kind == tasks.KindDefinitions
	if err := f.fits(w.file, kind); err != nil {
		return err
	}
	piped := w.stated || w.given["slots"] || w.worktrees
	if !piped {
		w.agent, err = f.command(e, nil, w.project)
	}
	if err != nil {
		return err
	}
	dir, release, err := w.alone(e, w.project, "run "+w.file)
	if err != nil {
		return err
	}
	defer release()
	if dir != nil {
		w.place = dir.Under(w.name())
		w.recall(piped)
	}
	if piped {
		return w.pipeline(kind)
	}
	return w.list(kind)
}

// name is the run's.
func (w *work) name() string { return cmp.Or(w.id, relative(w.project, w.file)) }

// recall finds what an interrupted run has left, and the flags and limits it had.
func (w *work) recall(piped bool) {
	last, err := w.place.Look(w.name())
	if err != nil || w.anew || last.State.Done() && !(w.resumes && !last.Reopened().Done()) {
		return
	}
	parts := w.place.Parts(w.ctx, last)
	if len(parts) > 0 { // else no task was begun with, maybe because of the flags
		w.begun(last)
	}
	if branch := last.Meta["branch"]; last.Meta["file"] == absolute(w.file) && w.worktrees && last.Meta["worktrees"] == "true" {
		w.begunOn = &branch
	}
	l := w.relimited(last.State.Task.Limits, w.limits())
	w.maxCost, w.maxTokens, w.maxDuration = l.CostUSD, l.Tokens, l.Duration
	if !piped { // else each of its loops has the other ones
		w.earlier, w.since = parts, last.Started
		w.max, w.timeout, w.verifyTimeout, w.stalls = l.Iterations, l.IterationTimeout, l.VerifyTimeout, l.Stalls
	}
}

// begin begins the record of the run.
func (w *work) begin(prompt string, open, most int, changed func(progress.Entry) string) error {
	if w.place == nil {
		return nil
	}
	limits := w.limits()
	limits.Iterations = most
	start := ralph.Start(ralph.Task{ID: w.feature(), Prompt: prompt, Dir: w.project, Limits: limits})
	start.Loop, w.meta["tasks"], w.meta["log"] = w.name(), fmt.Sprint(open), absolute(w.logFile())
	j, goesOn, err := w.shared.begin(w.env, w.place.Under(""), progress.KindSession, start, w.meta, changed)
	if err != nil {
		return err
	}
	if w.run = j; !goesOn {
		w.earlier, w.since = nil, time.Time{}
	}
	return j.Begin(w.ctx, goesOn)
}

// end records how the run ended, if it has, and returns the error that it ends with.
func (w *work) end(err, exit error) error {
	if w.run != nil {
		exit = cmp.Or(exit, w.run.End(w.ctx, err))
	}
	return exit
}

// locate finds the project, the task file and the progress file.
func (w *work) locate(args []string) error {
	var err error
	if w.project, w.branch, err = w.workspace(w.ctx); err != nil {
		return err
	}
	if len(args) == 1 {
		w.file = filepath.Clean(args[0])
	} else {
		found, err := tasks.Look(w.ctx, w.project)
		if err != nil {
			return err
		}
		w.file = near(found.Path)
		others := ""
		if n := len(found.Done); n > 0 {
			others = fmt.Sprintf("; all is done in %s", plural(n, "other"))
		}
		w.say("task file: %s%s", w.file, others)
	}
	w.progress = cmp.Or(named(w.progress), filepath.Join(filepath.Dir(w.file), "progress.txt"))
	return nil
}

// feature names what is worked on.
func (w *work) feature() string {
	return cmp.Or(w.branch, filepath.Base(filepath.Dir(absolute(w.file))))
}

func (w *work) logFile() string {
	return cmp.Or(named(w.log), filepath.Join(w.project, ".ralph", "log.jsonl"))
}

// open opens the logs. All but the record are for people.
func (w *work) open() error {
	w.logPath = w.logFile()
	execution, err := w.executionLog(w.logPath)
	if err != nil {
		return err
	}
	text := progress.Redactor{Secrets: redact().Secrets, Task: true}
	view := progress.Multi(text.Log(&progress.Markdown{Path: w.progress, Feature: w.feature()}), execution)
	w.record = without(unexamined(view), w.project, w.progress, w.logPath)
	return nil
}

// at is where a loop stands among the tasks.
func (w *work) at(ev ralph.Event) string {
	for i, it := range w.items {
		if it.Key == ev.Task {
			return strings.TrimSpace(fmt.Sprintf("task %d of %d %s", i+1, len(w.items), it.ID))
		}
	}
	return ev.Task
}

// list works a list or a prd.json off.
func (w *work) list(kind tasks.Kind) error {
	if err := w.settle(kind); err != nil {
		return err
	}
	text, err := w.prompt()
	if err != nil {
		return err
	}
	w.sayDocuments(text)
	verifier, how, err := w.checks(nil)
	if err != nil {
		return err
	}
	s := &tasks.Session{
		Source: w.tasks, Runner: w.agent, Dir: w.project, Template: text, Path: absolute(w.file), Feature: w.feature(),
		Documents: w.documents, Spec: w.specPath(), Progress: absolute(w.progress), Limits: w.limits(), Verifier: verifier, HowVerified: how, Method: w.method(),
	}
	c, err := w.criteria(w.project)
	if err != nil {
		return err
	}
	s.Learn = w.learning(c)
	kept := tasks.PendingFile{Redact: redact().String}
	if w.place != nil {
		kept.Path = strings.TrimSuffix(w.place.File(w.name()), ".jsonl") + ".pending.json"
		s.Name, s.Control, s.Answered = w.name(), w.place.Control, w.place.Pending
	}
	if w.place != nil && !w.anew {
		if s.Pending, err = kept.Load(); err != nil {
			return fail(exitConfig, "%w", err)
		}
	}
	reasons := slices.DeleteFunc(slices.Collect(maps.Values(s.Pending)), func(why string) bool { return why == "" })
	if openItems(w.items) == 0 && (len(s.Pending) == 0 || verifier == nil && len(reasons) == 0) { // found out before any log is begun
		left := ""
		if len(s.Pending) > 0 {
			left = "; ticked by the agent, not verified: " + line(strings.Join(slices.Sorted(maps.Keys(s.Pending)), ", "))
		}
		return fail(exitConfig, "%s: there is nothing to do: %s, all done%s", w.file, plural(len(w.items), "task"), left)
	}
	if w.dryRun {
		dry := &printer{agent: w.agent, out: w.stdout}
		s.Runner = dry
		_, err := s.Run(w.ctx)
		return dry.end(err)
	}
	if err := w.canBegin(w.env, w.agent); err != nil {
		return err
	}
	w.meta = w.shared.meta(w.env, w.file, w.agent, w.boxTerms(criteria{shared: &w.shared}.terms()))
	if err := w.begin(text, openItems(w.items), cmp.Or(w.max, 10), changed(text, w.project, w.meta)); err != nil {
		return err
	}
	if err := w.open(); err != nil {
		return err
	}
	if w.run != nil {
		s.Keep, s.Relimit, s.Begun, s.Since = kept.Keep, w.relimit, map[string]ralph.State{}, w.since
		for _, part := range w.earlier {
			s.Begun[part.Loop] = part.State // an item may have a check beside its loop
		}
	}
	if w.place != nil { // the first of them: what is not on record does not begin
		w.record = progress.Multi(w.place, w.record)
	}
	v := w.view(w.env, w.agent)
	v.Place = w.at
	s.Output = func(req ralph.Request) (display, raw io.Writer) {
		if w.place != nil {
			raw = w.place.Output(req)
		}
		return v.Output(req), raw
	}
	s.Log, s.Live, s.Evidence = progress.Multi(w.record, v.log), v.Live, w.evidence(w.place, w.logPath)
	report, err := s.Run(w.ctx)
	v.close()
	exit := w.end(err, w.exit(err, report.TasksRemaining))
	if !report.StartTime.IsZero() {
		w.close(report, err, exit)
	}
	return exit
}

// close tells how a session has ended.
func (w *work) close(r tasks.Report, err, exit error) {
	end := ralph.State{Loop: w.name(), Stop: stopOf(err), Elapsed: r.Elapsed, Usage: r.Usage, Unpriced: r.Unpriced}
	end.Task.Limits = w.limits()
	end.Task.Limits.Iterations = r.MaxIterations
	if w.run != nil {
		end.Asked = w.run.State.Asked
	}
	next := ""
	if end.Stop == ralph.StopStalled && len(r.Skipped)+len(r.Waiting) >= r.TasksRemaining { // what was given up stays so where a run goes on
		next = commandLine(sparing(w.args, passing...))
	}
	if end.Stop == ralph.StopStalled { // it names them
		r.Skipped, r.Waiting = nil, nil
	}
	w.conclude(end, exit, r.TasksRemaining, r.IterationsRun, plural(r.TasksCompleted, "task")+" done", r.Left(), next)
}

// conclude tells in three lines how the run of a task file has ended, which tasks are left
// and why, and what command goes on with it; "" = the usual one.
func (w *work) conclude(end ralph.State, exit error, remaining, iterations int, done, left, next string) {
	if w.place != nil {
		end.Files = w.place.Changed(context.WithoutCancel(w.ctx), w.name())
	}
	if end.Unpriced > 0 { // which of them it was nobody has kept
		end.Blind = "not known"
	}
	c := progress.Closing{State: end, Iterations: iterations, Records: near(w.logPath)}
	switch code := exitCode(w.ctx, exit); {
	case exit != nil && end.Stop == ralph.StopIterations && (end.Asked != 0 || end.Task.Limits.Iterations == 0): // of a pipeline it is no limit
		c.Result = fmt.Sprintf("not completed: stopped on request after iteration %d: %s; %s", iterations, done, plural(remaining, "remains", "remain"))
	case exit == nil:
		c.Result = "completed: " + done
		if by := w.verifying(ralph.Task{}); w.proven() {
			c.Result += ", verified by " + cmp.Or(by, "--guard")
		} else if !w.stated {
			c.Result += " by the agent's word"
		}
	case code == exitNotVerified || code == exitAgent:
		c.Result = "not completed: " + ours{exit}.Error() + strings.TrimSuffix("; "+left, "; ")
	default:
		what := map[bool]string{true: "interrupted", false: "not completed"}[code > exitSignal]
		c.Result = fmt.Sprintf("%s: %s, %s", what, done, plural(remaining, "remains", "remain"))
	}
	if exit != nil && w.place != nil {
		c.Next = cmp.Or(next, w.further(end.Loop, end))
	}
	w.ended(w.env, c)
}

// learning says what a loop learns from earlier ones, nil = nothing.
func (w *work) learning(c criteria) func(context.Context, ralph.State, int, int) (ralph.Lesson, error) {
	if learns := c.learn || c.config.Learn && !c.given["learn"]; !learns || w.place == nil {
		return nil
	}
	return w.place.Learn
}

// relimit takes over what others have asked of the run: other limits, to stop or to
// be cancelled. Its loops see the latter themselves.
func (w *work) relimit(ctx context.Context, _ ralph.Limits) (ralph.Limits, error) {
	s, err := w.run.Ask(ctx)
	return s.Task.Limits, err
}

// prompt is the template of the user, "" = the built-in one.
func (w *work) prompt() (string, error) {
	file := cmp.Or(w.template, filepath.Join(w.project, "templates", "ralph-prompt.md"))
	if w.template == "" && !isFile(file) {
		return "", nil
	}
	w.say("prompt template: %s", file)
	return readPrompt(file)
}

// stopOf is why a run stopped, "" = it was interrupted, or could not go on.
func stopOf(err error) ralph.StopReason {
	stop, ok := errors.AsType[*ralph.StopError](err)
	switch {
	case err == nil:
		return ralph.StopVerified
	case ok:
		return stop.Reason
	}
	return ""
}

// exit is the end of a run: tasks remain, whatever stopped it.
func (w *work) exit(err error, remaining int) error {
	stop, ok := errors.AsType[*ralph.StopError](err)
	switch {
	case err == nil:
		return nil
	case context.Cause(w.ctx) != nil || !ok:
		return fail(exitConfig, "%w", err)
	case stopCode(stop.Reason) != exitAgent:
		return fail(exitNotVerified, "%s (%s): %s", plural(remaining, "task remains", "tasks remain"), stop.Reason, line(stop.Detail))
	}
	return agentFailed(stop)
}
