package main

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/ralph-loop/ralph/tasks"
	"github.com/ralph-loop/ralph/tasks/spec"
)

//go:embed prompts/tasks.md
var definitionsPrompt string

// stages are S1's agents. A definition may have others.
var stages = []string{"coder", "reviewer", "tester", "qa"}

// criteriaFlags are what flags say of one agent's criteria.
type criteriaFlags struct {
	promise, description, verify, command, config, blocked string
	iterations                                             int
	guard                                                  list
}

func taskCommandFlags(f *flags) {
	f.StringVar(&f.file, "file", "", "create: the `FILE` to add the definition to (default: tasks.yaml); made if it is not there")
	f.StringVar(&f.outcome, "outcome", "", "create: the one `SENTENCE` that says what done means")
	f.Var(&f.acceptance, "acceptance", "create: one `CRITERION`; may be given several times")
	f.StringVar(&f.description, "description", "", "create: what is to be done, the `TEXT` for the agent")
	f.IntVar(&f.priority, "priority", 0, "create: a `NUMBER`, lower is more urgent")
	f.Var(&f.depends, "follows", "create: the `ID` of a task that must be done before; may be given several times")
	f.BoolVar(&f.allBoxes, "all-boxes", false, "list and check: take every box of a list for a task, also those without an ID")
	f.BoolVar(&f.strict, "strict", false, "check: a task without a completion is an error")
	f.agents = map[string]*criteriaFlags{}
	for _, stage := range stages {
		c := &criteriaFlags{}
		f.agents[stage] = c
		f.StringVar(&c.promise, stage+"-promise", "", "create: the "+stage+"'s completion promise, a `TEXT`")
		f.StringVar(&c.description, stage+"-description", "", "create: what success means for the "+stage+", a `TEXT`")
		f.StringVar(&c.verify, stage+"-verify", "", "create: how its work is verified, a `METHOD`: string_match, semantic, external, multi_stage, …")
		f.StringVar(&c.command, stage+"-verify-cmd", "", "create: the `COMMAND` of the method external")
		f.StringVar(&c.config, stage+"-verify-config", "", "create: the method's configuration, as `JSON`")
		f.StringVar(&c.blocked, stage+"-blocked", "", "create: the promise that says \"I cannot go on\", a `TEXT`")
		f.IntVar(&c.iterations, stage+"-max-iterations", 0, "create: at most this `NUMBER` of iterations")
		f.Var(&c.guard, stage+"-guard", "create: a `GLOB` of files that the "+stage+" must not change; may be given several times")
	}
}

func runTask(e env, f *flags, args []string) error {
	if len(args) == 0 {
		return fail(exitUsage, "task takes create, list, check or prompt; 'ralph help task' tells more")
	}
	switch verb, args := args[0], args[1:]; verb {
	case "create":
		return createTask(e, f, args)
	case "list":
		return listTasks(e, f, args)
	case "check":
		return checkTasks(e, f, args)
	case "prompt":
		if len(args) > 0 {
			return fail(exitUsage, "task prompt takes no arguments")
		}
		fmt.Fprint(e.stdout, definitionsPrompt)
		return nil
	default:
		return fail(exitUsage, "unknown: task %s%s", verb, didYouMean(verb, []string{"create", "list", "check", "prompt"}))
	}
}

// createTask is S1's task-create.
func createTask(e env, f *flags, args []string) error {
	if len(args) != 3 {
		return fail(exitUsage, "task create takes ID, SPEC and TITLE, not %d arguments", len(args))
	}
	def := spec.Definition{
		ID: args[0], SpecID: args[1], Title: args[2], Description: f.description, Status: spec.StatusTodo,
		Priority: f.priority, Dependencies: f.depends,
	}
	switch {
	case strings.TrimSpace(f.outcome) == "":
		return fail(exitUsage, "--outcome is missing: one sentence that says what done means")
	case len(f.acceptance) == 0:
		return fail(exitUsage, "--acceptance is missing: at least one criterion that can be checked")
	}
	def.Completion = &spec.Completion{Outcome: f.outcome, Acceptance: f.acceptance}
	for _, stage := range stages {
		c, given, err := f.agents[stage].criteria(stage)
		if err != nil {
			return err
		}
		if given {
			def.Completion.Agents = append(def.Completion.Agents, spec.AgentCriteria{Agent: stage, Criteria: c})
		}
	}
	path := cmp.Or(f.file, "tasks.yaml")
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml", ".json":
	default:
		return fail(exitUsage, "--file %s: definitions are in a file that ends in .yaml, .yml or .json", path)
	}
	if err := addDefinition(path, def); err != nil {
		return fail(exitConfig, "%w", err)
	}
	fmt.Fprintf(e.stdout, "%s added to %s\n", clean(def.ID), path)
	return nil
}

// criteria returns what the flags say, and whether they say anything.
func (c *criteriaFlags) criteria(stage string) (spec.Criteria, bool, error) {
	got := spec.Criteria{Promise: c.promise, Description: c.description, Method: c.verify, MaxIterations: c.iterations, Blocked: c.blocked, Guard: c.guard}
	switch {
	case c.command != "" && c.config != "":
		return got, false, fail(exitUsage, "--%s-verify-cmd and --%s-verify-config exclude each other", stage, stage)
	case c.command != "" && c.verify != "" && c.verify != "external":
		return got, false, fail(exitUsage, "--%s-verify-cmd is for the method external, not %s", stage, c.verify)
	case c.command != "":
		text, err := json.Marshal(map[string]string{"command": c.command})
		if err != nil {
			return got, false, err
		}
		got.Method, got.Config = "external", text
	case c.config != "":
		if !json.Valid([]byte(c.config)) {
			return got, false, fail(exitUsage, "--%s-verify-config is not JSON", stage)
		}
		got.Config = json.RawMessage(c.config)
	}
	given := c.promise != "" || c.description != "" || c.verify != "" || got.Config != nil || c.iterations != 0 || c.blocked != "" || len(c.guard) > 0
	return got, given, nil
}

// addDefinition adds a definition to a file, which is made if it is not there.
func addDefinition(path string, def spec.Definition) error {
	info, err := os.Stat(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err != nil && !isNew {
		return err
	}
	if isNew || info.Mode().IsRegular() && blank(path) {
		if err := def.Validate(nil); err != nil {
			return err
		}
		return writeFirst(path, def)
	}
	f, err := spec.Load(path)
	if err != nil {
		return err
	}
	if err := f.Add(def); err != nil {
		return err
	}
	if err := f.Validate(); err != nil {
		return err
	}
	return f.Save()
}

// blank reports whether there is nothing in a file.
func blank(path string) bool {
	text, err := os.ReadFile(path)
	return err == nil && strings.TrimSpace(string(text)) == ""
}

// writeFirst writes a file with one definition: a list, to which more can be
// added.
func writeFirst(path string, def spec.Definition) error {
	var text []byte
	var err error
	if strings.EqualFold(filepath.Ext(path), ".json") {
		text, err = json.MarshalIndent([]spec.Definition{def}, "", "  ")
		text = append(text, '\n')
	} else {
		text, err = def.YAML()
		lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
		for i, line := range lines {
			switch i {
			case 0:
				lines[i] = ""
			case 1:
				lines[i] = "- " + strings.TrimPrefix(line, "  ")
			}
		}
		text = []byte(strings.Join(lines, "") + "\n")
	}
	if err != nil {
		return err
	}
	f, err := spec.Parse(path, text)
	if err != nil {
		return err
	}
	if err := f.Validate(); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// listTasks prints what is in a task file.
func listTasks(e env, f *flags, args []string) error {
	path, kind, err := oneFile("list", args)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	if kind == tasks.KindDefinitions {
		file, err := spec.Load(path)
		if err != nil {
			return fail(exitConfig, "%w", err)
		}
		fmt.Fprintln(w, "TASK\tSTATUS\tPRIORITY\tFOLLOWS\tAGENTS\tTITLE")
		for _, d := range file.Definitions() {
			var agents []string
			if d.Completion != nil {
				for _, a := range d.Completion.Agents {
					agents = append(agents, strings.TrimSuffix(a.Agent+":"+a.Criteria.Method, ":"))
				}
			}
			fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\n", clean(d.ID), clean(string(cmp.Or(d.Status, spec.StatusTodo))), d.Priority,
				cmp.Or(clean(strings.Join(d.Dependencies, ",")), "-"), cmp.Or(clean(strings.Join(agents, ",")), "-"), clean(d.Title))
		}
		return w.Flush()
	}
	items, err := f.source(path, kind).Items(e.ctx)
	if err != nil {
		return fail(exitConfig, "%w", err)
	}
	fmt.Fprintln(w, "TASK\tSTATUS\tPHASE\tTEXT")
	for _, it := range items {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", cmp.Or(clean(it.ID), "-"), boxStatus(it), cmp.Or(short(clean(it.Phase), 30), "-"), short(clean(it.Text), 80))
	}
	return w.Flush()
}

// sayOthers tells of open boxes that are not taken for tasks: nobody waits for
// them, which should surprise nobody.
func (f *flags) sayOthers(e env, path string, kind tasks.Kind, items []tasks.Item) {
	if kind != tasks.KindList || f.allBoxes {
		return
	}
	all, err := (tasks.ListFile{Path: path, AllBoxes: true}).Items(e.ctx)
	if n := openItems(all) - openItems(items); err == nil && n > 0 {
		e.say("%s: %s besides, without an ID or under a heading like \"Success criteria\": not taken for tasks; --all-boxes does", path, plural(n, "open box", "open boxes"))
	}
}

func openItems(items []tasks.Item) int {
	n := 0
	for _, it := range items {
		if !it.Done {
			n++
		}
	}
	return n
}

func boxStatus(it tasks.Item) string {
	if it.Done {
		return "done"
	}
	return "open"
}

func (f *flags) source(path string, kind tasks.Kind) tasks.Source {
	if kind == tasks.KindPRD {
		return tasks.PRDFile{Path: path}
	}
	return tasks.ListFile{Path: path, AllBoxes: f.allBoxes}
}

func oneFile(verb string, args []string) (string, tasks.Kind, error) {
	if len(args) != 1 {
		return "", "", fail(exitUsage, "task %s takes one FILE", verb)
	}
	kind, err := tasks.KindOf(args[0])
	if err != nil {
		return "", "", fail(exitConfig, "%w", err)
	}
	return args[0], kind, nil
}

// checkTasks reports everything that is wrong with a task file.
func checkTasks(e env, f *flags, args []string) error {
	path, kind, err := oneFile("check", args)
	if err != nil {
		return err
	}
	if kind != tasks.KindDefinitions {
		items, err := f.source(path, kind).Items(e.ctx)
		if err != nil {
			return fail(exitConfig, "%w", err)
		}
		open := openItems(items)
		fmt.Fprintf(e.stdout, "%s: %s, %d open\n", path, plural(len(items), "task"), open)
		f.sayOthers(e, path, kind, items)
		return nil
	}
	file, err := spec.Load(path)
	if err == nil {
		err = file.Validate()
	}
	if err != nil {
		return fail(exitConfig, "%w", err)
	}
	e.warn(file)
	defs := file.Definitions()
	if f.strict {
		for _, d := range defs {
			if d.Completion == nil {
				return fail(exitConfig, "%s: %s has no completion, and --strict asks for one", path, d.ID)
			}
		}
	}
	// A verifier that cannot be built is a mistake too; a judge is not asked for.
	judged := spec.Env{Judge: f.judgeWith(spec.Config{Judge: "claude"})}
	for _, d := range defs {
		if d.Completion == nil {
			continue
		}
		for _, a := range d.Completion.Agents {
			own := *f
			own.stage = a.Agent
			if _, _, err := own.task(spec.Config{}, judged, d); err != nil {
				return fail(exitConfig, "%s: %w", path, err)
			}
		}
	}
	fmt.Fprintf(e.stdout, "%s: %s, %s\n", path, plural(len(defs), "task"), cmp.Or(counts(file), "no definition"))
	return nil
}
