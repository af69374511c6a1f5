package main

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph/tasks"
	"github.com/ralph-loop/ralph/tasks/spec"
)

//go:embed prompts/tasks.md
var definitionsPrompt string

// stages are the agents that flags of task create name. A definition may have
// others.
var stages = []string{"coder", "reviewer", "tester", "qa"}

// createFlags are the flags of task create.
type createFlags struct {
	shared
	file, outcome, description string
	priority                   int
	acceptance, depends        list
	agents                     map[string]*criteriaFlags
}

// criteriaFlags are what flags say of one agent's criteria.
type criteriaFlags struct {
	promise, description, verify, command, config, blocked string
	iterations                                             int
	guard                                                  list
}

func (f *createFlags) own(set *flag.FlagSet) {
	set.StringVar(&f.file, "file", "tasks.yaml", "the `FILE` to add the definition to (default: tasks.yaml); made if it is not there")
	set.StringVar(&f.outcome, "outcome", "", "the one `SENTENCE` that says what done means")
	set.Var(&f.acceptance, "acceptance", "one `CRITERION`; may be given several times")
	set.StringVar(&f.description, "description", "", "what is to be done, the `TEXT` for the agent")
	set.IntVar(&f.priority, "priority", 0, "a `NUMBER`, lower is more urgent")
	set.Var(&f.depends, "follows", "the `ID` of a task that must be done before; may be given several times")
	f.agents = map[string]*criteriaFlags{}
	for _, stage := range stages {
		c := &criteriaFlags{}
		f.agents[stage] = c
		set.StringVar(&c.promise, stage+"-promise", "", "the "+stage+"'s completion promise, a `TEXT`")
		set.StringVar(&c.description, stage+"-description", "", "what success means for the "+stage+", a `TEXT`")
		set.StringVar(&c.verify, stage+"-verify", "", "how its work is verified, a `METHOD`: string_match, semantic, external, multi_stage, …")
		set.StringVar(&c.command, stage+"-verify-cmd", "", "the `COMMAND` of the method external")
		set.StringVar(&c.config, stage+"-verify-config", "", "the method's configuration, as `JSON`")
		set.StringVar(&c.blocked, stage+"-blocked", "", "the promise that says \"I cannot go on\", a `TEXT`")
		set.IntVar(&c.iterations, stage+"-max-iterations", 0, "at most this `NUMBER` of iterations")
		set.Var(&c.guard, stage+"-guard", "a `GLOB` of files that the "+stage+" must not change; may be given several times")
	}
}

// printPrompt prints what an agent must be told to write definitions.
func printPrompt(e env, _ *shared, _ []string) error {
	_, err := fmt.Fprint(e.stdout, definitionsPrompt)
	return err
}

// run adds a definition to a file.
func (f *createFlags) run(e env, args []string) error {
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
	switch strings.ToLower(filepath.Ext(f.file)) {
	case ".yaml", ".yml", ".json":
	default:
		return fail(exitUsage, "--file %s: definitions are in a file that ends in .yaml, .yml or .json", f.file)
	}
	if err := addDefinition(f.file, def); err != nil {
		return fail(exitConfig, "%w", err)
	}
	fmt.Fprintf(e.stdout, "%s added to %s\n", line(def.ID), f.file)
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
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && blank(path) {
		text, err := firstText(path, def)
		if err != nil {
			return err
		}
		return os.WriteFile(path, text, 0o644)
	}
	f, err := spec.Load(path)
	if err == nil {
		err = f.Add(def)
	}
	if err == nil {
		err = f.Validate()
	}
	if err != nil {
		return err
	}
	return f.Save()
}

// blank reports whether there is nothing in a file.
func blank(path string) bool {
	text, err := os.ReadFile(path)
	return err == nil && strings.TrimSpace(string(text)) == ""
}

// firstText is that of a file with one definition: a list, to which more can be
// added.
func firstText(path string, def spec.Definition) ([]byte, error) {
	if err := def.Validate(nil); err != nil {
		return nil, err
	}
	var text []byte
	var err error
	if strings.EqualFold(filepath.Ext(path), ".json") {
		text, err = json.MarshalIndent([]spec.Definition{def}, "", "  ")
		text = append(text, '\n')
	} else if text, err = def.YAML(); err == nil { // below "task:", as deep as in a list
		_, entry, _ := strings.Cut(string(text), "\n")
		text = []byte("- " + strings.TrimPrefix(entry, "  "))
	}
	if err != nil {
		return nil, err
	}
	f, err := spec.Parse(path, text)
	if err == nil {
		err = f.Validate()
	}
	return text, err
}

// listTasks prints what is in a task file.
func listTasks(e env, f *shared, args []string) error {
	path := args[0]
	kind, err := tasks.KindOf(path)
	if err != nil {
		return fail(exitConfig, "%w", err)
	}
	if kind == tasks.KindDefinitions {
		file, err := spec.Load(path)
		if err != nil {
			return fail(exitConfig, "%w", err)
		}
		rows := [][]string{{"TASK", "STATUS", "PRIORITY", "FOLLOWS", "AGENTS", "TITLE"}}
		for _, d := range file.Definitions() {
			var agents []string
			for _, a := range agentsOf(d) {
				agents = append(agents, strings.TrimSuffix(a.Agent+":"+a.Criteria.Method, ":"))
			}
			rows = append(rows, []string{d.ID, string(cmp.Or(d.Status, spec.StatusTodo)), fmt.Sprint(d.Priority),
				strings.Join(d.Dependencies, ","), strings.Join(agents, ","), d.Title})
		}
		return columns(e.stdout, rows)
	}
	items, err := f.source(path, kind).Items(e.ctx)
	if err != nil {
		return fail(exitConfig, "%w", err)
	}
	rows := [][]string{{"TASK", "STATUS", "PHASE", "TEXT"}}
	for _, it := range items {
		status := "open"
		if it.Done {
			status = "done"
		}
		rows = append(rows, []string{it.ID, status, short(it.Phase, 30), short(it.Text, 80)})
	}
	return columns(e.stdout, rows)
}

// agentsOf are the criteria of a definition, agent by agent.
func agentsOf(d spec.Definition) []spec.AgentCriteria {
	if d.Completion == nil {
		return nil
	}
	return d.Completion.Agents
}

// sayOthers tells of open boxes that are not taken for tasks: nobody waits for
// them, which should surprise nobody.
func (f *shared) sayOthers(e env, path string, kind tasks.Kind, items []tasks.Item) {
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

func (f *shared) source(path string, kind tasks.Kind) tasks.Source {
	if kind == tasks.KindPRD {
		return tasks.PRDFile{Path: path}
	}
	return tasks.ListFile{Path: path, AllBoxes: f.allBoxes}
}

// checkTasks reports everything that is wrong with a task file.
func checkTasks(e env, f *shared, args []string) error {
	path := args[0]
	kind, err := tasks.KindOf(path)
	if err != nil {
		return fail(exitConfig, "%w", err)
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
	file, err := load(path)
	if err != nil {
		return err
	}
	e.warn(file)
	defs := file.Definitions()
	// A verifier that cannot be built is a mistake too; a judge is not asked for.
	c := criteria{shared: f}
	c.judged("claude")
	for _, d := range defs {
		if d.Completion == nil && f.strict {
			return fail(exitConfig, "%s: %s has no completion, and --strict asks for one", path, d.ID)
		}
		for _, a := range agentsOf(d) {
			if _, err := c.task(d, a.Agent); err != nil {
				return fail(exitConfig, "%s: %w", path, err)
			}
		}
	}
	fmt.Fprintf(e.stdout, "%s: %s, %s\n", path, plural(len(defs), "task"), cmp.Or(counts(file), "no definition"))
	return nil
}
