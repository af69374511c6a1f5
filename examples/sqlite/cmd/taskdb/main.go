// Command taskdb keeps tasks in a SQLite database, and has agents work them off:
//
//	taskdb demo                                   see it at work: no key, no network
//	taskdb migrate [--to column|tables] DB        make a database, or bring one to a layout
//	taskdb import [--trust] DB FILE               add the definitions of a YAML or JSON file
//	taskdb add [flags] DB ID TITLE                add one task
//	taskdb list DB                                show the tasks, and where their loops stand
//	taskdb run [flags] DB [-- CLIENT ARGUMENT …]  run those that are open
//	taskdb log DB [TASK]                          show what happened
//	taskdb export DB                              print all definitions, for import elsewhere
//
// Exit codes: 0 all is well, or all tasks are done; 1 it failed; 2 usage; 3 tasks remain;
// 130 interrupted. Whoever can write to the database decides what run starts, see the
// README.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/sqlite"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/spec"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// env is what a command works with.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

// A command has flags of its own, and at least so many arguments.
type command struct {
	usage string
	args  [2]int // at least and at most; -1 = any number
	do    func(context.Context, env, *options, []string) error
	flags func(*flag.FlagSet, *options)
}

// options are what the flags say.
type options struct {
	to                          string
	description, outcome, check string
	trust                       bool
	running
}

// errUsage and errRemain have exit codes of their own.
var (
	errUsage  = errors.New("usage")
	errRemain = errors.New("tasks remain")
)

func commands() map[string]command {
	return map[string]command{
		"demo":       {"demo", [2]int{0, 0}, demo, nil},
		"demo-agent": {"demo-agent", [2]int{0, 0}, demoAgent, nil},
		"migrate": {"migrate [--to column|tables] DB", [2]int{1, 1}, migrate, func(f *flag.FlagSet, o *options) {
			f.StringVar(&o.to, "to", "", "the `layout` of completions: column or tables; a database has column at first, and else stays as it is")
		}},
		"import": {"import [--trust] DB FILE", [2]int{2, 2}, importFile, func(f *flag.FlagSet, o *options) {
			f.BoolVar(&o.trust, "trust", false, "agree to the commands that the file has")
		}},
		"add": {"add [flags] DB ID TITLE", [2]int{3, 3}, add, func(f *flag.FlagSet, o *options) {
			f.StringVar(&o.description, "description", "", "what the agent is asked to do; the title is used if it is empty")
			f.StringVar(&o.outcome, "outcome", "", "one `sentence` that says when it is done; the title is used if it is empty")
			f.StringVar(&o.check, "verify", "", "the `command` that succeeds when it is done, for the coder's work")
		}},
		"list":   {"list DB", [2]int{1, 1}, list, nil},
		"run":    {"run [flags] DB [-- CLIENT ARGUMENT …]", [2]int{1, -1}, runTasks, runFlags},
		"log":    {"log DB [TASK]", [2]int{1, 2}, log, nil},
		"export": {"export DB", [2]int{1, 1}, export, nil},
	}
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	e := env{stdin, stdout, stderr}
	err := e.command(ctx, args)
	stop, stopped := errors.AsType[*ralph.StopError](err)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
		return 2 // it was told
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "taskdb: interrupted: give the command again to go on")
		return 130
	}
	fmt.Fprintln(stderr, "taskdb:", progress.Printable(err.Error()))
	if errors.Is(err, errRemain) || stopped && stop.Reason != ralph.StopInvalid {
		return 3
	}
	return 1
}

// command runs the command that the arguments name.
func (e env) command(ctx context.Context, args []string) error {
	all := commands()
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	c, ok := all[name]
	if !ok {
		fmt.Fprintf(e.stderr, "taskdb: there is no command %q; there are:\n", name)
		for _, known := range []string{"demo", "migrate", "import", "add", "list", "run", "log", "export"} {
			fmt.Fprintln(e.stderr, "  taskdb", all[known].usage)
		}
		return errUsage
	}
	o, flags := &options{}, flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(e.stderr)
	flags.Usage = func() { fmt.Fprintln(e.stderr, "usage: taskdb", c.usage); flags.PrintDefaults() }
	if c.flags != nil {
		c.flags(flags, o)
	}
	if err := flags.Parse(args); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			err = errUsage
		}
		return err
	}
	if n := flags.NArg(); n < c.args[0] || c.args[1] >= 0 && n > c.args[1] {
		flags.Usage()
		return errUsage
	}
	return c.do(ctx, e, o, flags.Args())
}

func migrate(ctx context.Context, e env, o *options, args []string) error {
	var to sqlite.Layout // as it is
	for _, l := range []sqlite.Layout{sqlite.Column, sqlite.Tables} {
		if l.String() == o.to {
			to = l
		}
	}
	if o.to != to.String() && o.to != "" {
		return fmt.Errorf("--to %s: there are column and tables", o.to)
	}
	return sqlite.Migrate(ctx, args[0], to)
}

// with opens the database for a command.
func (e env) with(ctx context.Context, path string, do func(*sqlite.DB) error) error {
	db, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	db.Waits = func() {
		fmt.Fprintf(e.stderr, "%s: another process is in the middle of a change; waiting for it\n", line(path))
	}
	return errors.Join(do(db), db.Close())
}

// importFile asks before strangers' commands are in: from then on the database is believed.
func importFile(ctx context.Context, e env, o *options, args []string) error {
	file, err := spec.Load(args[1])
	if err == nil {
		err = file.Validate()
	}
	if info, stat := os.Stat(args[1]); err != nil && stat == nil && info.Size() > 256<<10 {
		return fmt.Errorf("%w\nif that is because the file is long: import it as several, of some thousand tasks each", err)
	}
	if err != nil {
		return err
	}
	if e.show(file.Definitions()) && !o.trust {
		if err := e.consent(); err != nil {
			return err
		}
	}
	return put(ctx, e, args[0], file.Definitions()...)
}

// show shows what the checks of tasks run, and reports whether they run anything.
func (e env) show(defs []spec.Definition) (any bool) {
	for _, d := range defs {
		for _, starts := range checks(d) {
			fmt.Fprintf(e.stdout, "%s: its checks run: %s\n", line(d.ID), line(starts))
			any = true
		}
	}
	return any
}

// consent asks the person at the terminal.
func (e env) consent() error {
	in, is := e.stdin.(*os.File)
	out, shown := e.stdout.(*os.File)
	if !is || !shown || !progress.DisplayOn(in, nil).Terminal || !progress.DisplayOn(out, nil).Terminal {
		return errors.New("nobody has agreed to these commands; look at them, then give the command again with --trust")
	}
	fmt.Fprint(e.stdout, "Add them, to be started with your rights? [y/N] ")
	text, err := bufio.NewReader(in).ReadString('\n')
	if text = strings.ToLower(strings.TrimSpace(text)); err != nil || text != "y" && text != "yes" {
		return errors.New("not agreed to; nothing was added")
	}
	return nil
}

func add(ctx context.Context, e env, o *options, args []string) error {
	d := spec.Definition{ID: args[1], Title: args[2], Description: cmp.Or(o.description, args[2]), Status: spec.StatusTodo, CreatedAt: time.Now().UTC().Round(time.Second)}
	if o.outcome != "" || o.check != "" {
		outcome := cmp.Or(o.outcome, d.Title)
		d.Completion = &spec.Completion{Outcome: outcome, Acceptance: []string{outcome}}
	}
	if o.check != "" {
		d.Completion.Acceptance = []string{"the command `" + o.check + "` succeeds"}
		config, err := json.Marshal(map[string]string{"command": o.check})
		if err != nil {
			return err
		}
		d.Completion.Agents = []spec.AgentCriteria{{Agent: "coder", Criteria: spec.Criteria{Method: "external", Config: config}}}
	}
	e.show([]spec.Definition{d}) // who adds a command by hand has agreed to it
	return put(ctx, e, args[0], d)
}

func put(ctx context.Context, e env, path string, defs ...spec.Definition) error {
	return e.with(ctx, path, func(db *sqlite.DB) error {
		if err := db.Add(ctx, defs...); err != nil {
			return err
		}
		for _, d := range defs {
			fmt.Fprintln(e.stdout, "added", line(d.ID))
		}
		return nil
	})
}

// line is a text of others in one line, without what would take effect on a terminal.
func line(text string) string { return progress.PrintableLine(text) }

// checks are the commands that verify a definition.
func checks(d spec.Definition) (all []string) {
	if d.Completion == nil {
		return nil
	}
	for _, a := range d.Completion.Agents {
		if t, err := d.Task(a.Agent); err == nil {
			for _, starts := range spec.Verifier(spec.Env{}).Starts(t) {
				if !slices.Contains(all, starts) {
					all = append(all, starts)
				}
			}
		}
	}
	return all
}

func list(ctx context.Context, e env, _ *options, args []string) error {
	return e.with(ctx, args[0], func(db *sqlite.DB) error {
		defs, bad := db.Definitions(ctx) // with those that cannot be read come the others
		loops, err := db.Standings(ctx)
		if err != nil {
			return errors.Join(bad, err)
		}
		lasts := map[string]string{}
		for _, s := range loops {
			if lasts[s.Task] == "" { // the last one that changed
				lasts[s.Task] = strings.TrimSuffix(fmt.Sprintf("%s, iteration %d: %s", s.Agent, s.Iteration, s.Stop), ": ")
			}
		}
		w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "TASK\tSTATUS\tLOOP\tTITLE")
		for _, d := range defs {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", line(d.ID), line(string(cmp.Or(d.Status, spec.StatusTodo))), line(cmp.Or(lasts[d.ID], "-")), line(d.Title))
		}
		return errors.Join(w.Flush(), bad)
	})
}

func log(ctx context.Context, e env, _ *options, args []string) error {
	task := append(args, "")[1]
	return e.with(ctx, args[0], func(db *sqlite.DB) error {
		found := task == ""
		for rec, err := range db.Records(ctx, task) {
			if err != nil {
				return err
			}
			if found = true; rec.Kind != ralph.EventIterationEnded {
				continue
			}
			text := fmt.Sprintf("%s %s.%s %d/%d %s: %s", rec.Timestamp.Format(time.RFC3339), rec.TaskID, rec.Stage, rec.Iteration, rec.Max, rec.Outcome, rec.Feedback)
			fmt.Fprintln(e.stdout, line(strings.TrimSuffix(strings.Replace(text, "/-1 ", "/any ", 1), ": ")))
		}
		if !found {
			return fmt.Errorf("nothing is on record of a task %q", task)
		}
		return nil
	})
}

func export(ctx context.Context, e env, _ *options, args []string) error {
	return e.with(ctx, args[0], func(db *sqlite.DB) error {
		defs, err := db.Definitions(ctx)
		if err != nil {
			return err
		}
		var text bytes.Buffer
		enc := json.NewEncoder(&text)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(map[string]any{"tasks": append([]spec.Definition{}, defs...)}); err != nil {
			return err
		}
		_, err = e.stdout.Write(progress.PrintableJSON(text.Bytes()))
		return err
	})
}
