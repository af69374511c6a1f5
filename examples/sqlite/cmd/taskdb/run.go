package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/sqlite"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
	"github.com/ralph-loop/ralph/verify"
)

// running are the flags of run.
type running struct {
	dir, agent, line, stages string
	slots                    int
	worktrees                bool
}

func runFlags(f *flag.FlagSet, o *options) {
	f.StringVar(&o.dir, "dir", ".", "the workspace, a `folder` of this run alone")
	f.StringVar(&o.agent, "agent", "", "the `name` of a known client, such as claude, codex or gemini")
	f.StringVar(&o.line, "verify", "", "a shell `line` that must succeed too, for each claim")
	f.StringVar(&o.stages, "stages", "", "the `agents` of this run, with commas; empty = coder,reviewer,tester,qa and those of the definitions")
	f.IntVar(&o.slots, "slots", 1, "how many tasks at the same time; more than one needs --worktrees")
	f.BoolVar(&o.worktrees, "worktrees", false, "give each task a git worktree, and merge what is verified")
}

// client is the agent that the flags and arguments name.
func (o *options) client(args []string) (*ralph.Command, error) {
	switch {
	case o.agent != "" && len(args) > 0:
		return nil, errors.New("name a client with --agent, or a command after --, and not both")
	case len(args) > 0:
		return &ralph.Command{Args: args}, nil
	case o.agent == "":
		return nil, errors.New("who is to do it? --agent claude, or -- and a command that reads its prompt from standard input")
	}
	return ralph.Preset(o.agent)
}

// runTasks runs the tasks that are open and that nobody else has.
func runTasks(ctx context.Context, e env, o *options, args []string) error {
	path, args := args[0], args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	client, err := o.client(args)
	if err == nil && o.slots > 1 && !o.worktrees {
		err = fmt.Errorf("--slots %d: several agents in one folder break each other's work: give each task a git worktree with --worktrees", o.slots)
	}
	if err == nil {
		err = client.Ready(ctx)
	}
	if err == nil {
		err = outside(path, o.dir)
	}
	if err != nil {
		return err
	}
	hold, err := progress.HoldWorkspace(o.dir, "taskdb run")
	if err != nil {
		return err
	}
	defer hold.Close()
	return e.with(ctx, path, func(db *sqlite.DB) error { return o.drive(ctx, e, db, client) })
}

// outside refuses a database that lies where agents work: they could write there what is run
// to verify them.
func outside(path, dir string) error {
	path, err := filepath.EvalSymlinks(path)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return fmt.Errorf("%s lies in the workspace %s, where the agents can write to it: keep it elsewhere", path, dir)
	}
	for _, one := range []string{path, filepath.Dir(path)} { // who can write to the folder can put another file there
		if info, err := os.Stat(one); err != nil || info.Mode().Perm()&0o022 != 0 && runtime.GOOS != "windows" {
			return fmt.Errorf("others can write to %s, and so decide what is run: chmod go-w it", one)
		}
	}
	return nil
}

// drive runs a pipeline on the database.
func (o *options) drive(ctx context.Context, e env, db *sqlite.DB, client *ralph.Command) error {
	record, err := progress.WorkspaceDir(o.dir)
	if err != nil {
		return err
	}
	hide := progress.Redactor{Secrets: progress.SecretsIn(os.Environ())}
	record.Redactor = hide
	source := &sqlite.Source{DB: db, What: "taskdb run in " + o.dir}
	defer source.Close()
	p := pipeline.Pipeline{
		Name: "taskdb", Source: source, Dir: o.dir, Record: record, Log: hide.Log(db), Redact: hide.String,
		Runner:   func(pipeline.Place) (ralph.Runner, error) { return client, nil },
		Verifier: spec.Verifier(spec.Env{Dir: o.dir, Redact: hide.String}),
		Stages:   strings.FieldsFunc(o.stages, func(c rune) bool { return c == ',' }),
		Rules:    pipeline.Rules{Slots: o.slots, Merge: o.worktrees},
	}
	if o.line != "" {
		p.Verifier = verify.MultiStage{Stages: []verify.Stage{{Name: "definition", Verifier: p.Verifier}, {Name: "verify", Verifier: verify.External{Shell: o.line, Redact: hide.String}}}}
		p.HowVerified = fmt.Sprintf("the command `%s` must succeed", o.line)
	}
	if err := db.CatchUp(ctx, record, p.Name); err != nil {
		return err
	}
	agreed, err := p.Agree(ctx)
	if err != nil {
		return err
	}
	for _, t := range agreed.Tasks {
		env{stdout: e.stderr}.show([]spec.Definition{t.Definition})
	}
	return o.follow(ctx, e, db, agreed)
}

// told are the events that people are told of, in words.
var told = map[pipeline.Kind]string{
	pipeline.EventBegan: "begins", pipeline.EventEnded: "ends", pipeline.EventMerged: "is merged", pipeline.EventUnmerged: "is not merged",
	pipeline.EventAltered: "is left alone", pipeline.EventBroken: "cannot be run", pipeline.EventNoted: "note", pipeline.EventStopped: "the run ends",
}

// follow runs what was agreed, and tells what happens.
func (o *options) follow(ctx context.Context, e env, db *sqlite.DB, agreed *pipeline.Agreed) error {
	var failed error
	s := agreed.State
	for ev, err := range agreed.Events(ctx) {
		if failed = err; err != nil {
			break
		}
		s = s.Apply(ev)
		words, tell := told[ev.Kind]
		if !tell {
			continue
		}
		for _, more := range []string{string(ev.Stop), ev.Text} {
			if more != "" {
				words += ": " + more
			}
		}
		fmt.Fprintln(e.stderr, line(strings.Trim(ev.Task+"."+ev.Agent, ".")+" "+words))
	}
	left, err := remaining(ctx, db, agreed)
	_, stopped := errors.AsType[*ralph.StopError](failed)
	switch {
	case err != nil:
		return errors.Join(failed, err)
	case left == 0 && stopped: // other runs have done the rest
		failed = nil
	case left > 0 && failed == nil:
		failed = errRemain
	}
	fmt.Fprintf(e.stdout, "%d of %d tasks are done\n", len(s.Parts)-left, len(s.Parts))
	return failed
}

// remaining is how many tasks of a run are not done, by whichever run.
func remaining(ctx context.Context, db *sqlite.DB, agreed *pipeline.Agreed) (left int, err error) {
	defs, err := db.Definitions(context.WithoutCancel(ctx))
	done := map[string]bool{}
	for _, d := range defs {
		done[d.ID] = d.Status.Effective() == spec.StatusDone
	}
	for _, t := range agreed.Tasks {
		if !done[t.Definition.ID] {
			left++
		}
	}
	return left, err
}
