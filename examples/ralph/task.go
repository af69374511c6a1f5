package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks"
	"github.com/ralph-loop/ralph/tasks/pipeline"
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
	file   string
	def    spec.Definition
	done   spec.Completion
	agents map[string]*criteriaFlags
}

// criteriaFlags are what flags say of one agent's criteria.
type criteriaFlags struct {
	spec.Criteria
	command, config string
}

func (f *createFlags) own(set *flag.FlagSet) {
	set.StringVar(&f.file, "file", "tasks.yaml", "the `FILE` to add the definition to (default: tasks.yaml); made if it is not there")
	set.StringVar(&f.done.Outcome, "outcome", "", "the one `SENTENCE` that says what done means")
	set.Var((*list)(&f.done.Acceptance), "acceptance", "one `CRITERION`; may be given several times")
	set.StringVar(&f.def.Description, "description", "", "what is to be done, the `TEXT` for the agent")
	set.IntVar(&f.def.Priority, "priority", 0, "a `NUMBER`, lower is more urgent")
	set.Var((*list)(&f.def.Dependencies), "follows", "the `ID` of a task that must be done before; may be given several times")
	f.agents = map[string]*criteriaFlags{}
	for _, stage := range stages {
		c := &criteriaFlags{}
		f.agents[stage] = c
		set.StringVar(&c.Promise, stage+"-promise", "", "the "+stage+"'s completion promise, a `TEXT`")
		set.StringVar(&c.Description, stage+"-description", "", "what success means for the "+stage+", a `TEXT`")
		set.StringVar(&c.Method, stage+"-verify", "", "how its work is verified, a `METHOD`: string_match, semantic, external, multi_stage, …")
		set.StringVar(&c.command, stage+"-verify-cmd", "", "the `COMMAND` of the method external")
		set.StringVar(&c.config, stage+"-verify-config", "", "the method's configuration, as `JSON`")
		set.StringVar(&c.Blocked, stage+"-blocked", "", "the promise that says \"I cannot go on\", a `TEXT`")
		set.IntVar(&c.MaxIterations, stage+"-max-iterations", 0, "at most this `NUMBER` of iterations")
		set.Var((*list)(&c.Guard), stage+"-guard", "a `GLOB` of files that the "+stage+" must not change; may be given several times")
	}
}

// printPrompt prints what an agent must be told to write definitions.
func printPrompt(e env, _ *shared, _ []string) error {
	_, err := fmt.Fprint(e.stdout, definitionsPrompt)
	return err
}

// run adds a definition to a file.
func (f *createFlags) run(e env, args []string) error {
	switch {
	case strings.TrimSpace(f.done.Outcome) == "":
		return fail(exitUsage, "--outcome is missing: one sentence that says what done means")
	case len(f.done.Acceptance) == 0:
		return fail(exitUsage, "--acceptance is missing: at least one criterion that can be checked")
	}
	for _, stage := range stages {
		c := f.agents[stage]
		if err := c.configure(stage); err != nil {
			return err
		}
		if !reflect.ValueOf(c.Criteria).IsZero() {
			f.done.Agents = append(f.done.Agents, spec.AgentCriteria{Agent: stage, Criteria: c.Criteria})
		}
	}
	if ext := strings.ToLower(filepath.Ext(f.file)); ext != ".yaml" && ext != ".yml" && ext != ".json" {
		return fail(exitUsage, "--file %s: definitions are in a file that ends in .yaml, .yml or .json", f.file)
	}
	add := addDefinition
	if parent := args[0]; e.verb == "task followup" {
		args = args[1:]
		add = func(path string, def spec.Definition) error { return addFollowup(e, path, parent, def) }
	}
	f.def.ID, f.def.SpecID, f.def.Title = args[0], args[1], args[2]
	f.def.Status, f.def.Completion, f.def.CreatedAt = spec.StatusTodo, &f.done, time.Now().UTC().Truncate(time.Second)
	if err := add(f.file, f.def); err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "%s added to %s\n", line(f.def.ID), f.file)
	f.created(e)
	return nil
}

// configure makes the method's configuration of what the flags say of it.
func (c *criteriaFlags) configure(stage string) (err error) {
	switch {
	case c.command != "" && c.config != "":
		return fail(exitUsage, "--%s-verify-cmd and --%s-verify-config exclude each other", stage, stage)
	case c.command != "" && c.Method != "" && c.Method != "external":
		return fail(exitUsage, "--%s-verify-cmd is for the method external, not %s", stage, c.Method)
	case c.command != "":
		c.Method = "external"
		c.Config, err = json.Marshal(map[string]string{"command": c.command})
	case c.config != "":
		c.Config = json.RawMessage(c.config)
		return unless(json.Valid(c.Config), exitUsage, "--%s-verify-config is not JSON", stage)
	}
	return err
}

// addFollowup adds a definition that follows another one of its file.
func addFollowup(e env, path, parent string, def spec.Definition) error {
	to := &pipeline.File{Path: named(path)}
	there, err := to.Read(e.ctx)
	if slices.ContainsFunc(there, func(d spec.Definition) bool { return d.ID == def.ID }) {
		err = fail(exitConfig, "%s: the file has a task of this ID", def.ID)
	}
	if err == nil {
		_, err = to.AddFollowups(e.ctx, parent, []spec.Definition{def})
	}
	return err
}

// addDefinition adds a definition to a file, which is made if it is not there.
func addDefinition(path string, def spec.Definition) error {
	info, err := os.Stat(path)
	first := errors.Is(err, fs.ErrNotExist)
	if err == nil && info.Mode().IsRegular() {
		text, err := ralph.ReadFile(path, maxConfig)
		first = err == nil && len(bytes.TrimSpace(text)) == 0
	}
	if first {
		text, err := firstText(path, def)
		if err != nil {
			return err
		}
		return spec.Create(path, text)
	}
	f, err := spec.Load(path)
	if err == nil {
		err = f.Add(def)
	}
	if err == nil {
		err = f.Validate()
	}
	if err == nil {
		err = f.Save()
	}
	return err
}

// firstText is that of a file with one definition: a list, to which more can be
// added.
func firstText(path string, def spec.Definition) ([]byte, error) {
	text, err := def.YAML()
	_, entry, _ := strings.Cut(string(text), "\n") // below "task:", as deep as in a list
	text = []byte("- " + strings.TrimPrefix(entry, "  "))
	if err == nil && strings.EqualFold(filepath.Ext(path), ".json") {
		text, err = json.MarshalIndent([]spec.Definition{def}, "", "  ")
		text = append(text, '\n')
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
	kind, err := tasks.KindOf(args[0])
	if err != nil {
		return fail(exitConfig, "%w", err)
	}
	if kind != tasks.KindDefinitions {
		return f.listBoxes(e, args[0], kind)
	}
	if err := f.fits(args[0], kind); err != nil {
		return err
	}
	file, err := spec.Load(args[0])
	if err != nil {
		return err
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

// agentsOf are the criteria of a definition, agent by agent.
func agentsOf(d spec.Definition) []spec.AgentCriteria {
	if d.Completion == nil {
		return nil
	}
	return d.Completion.Agents
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

// checkTasks reports everything that is wrong with a task file, and of one with boxes
// what is made of each.
func checkTasks(e env, f *shared, args []string) error {
	path := args[0]
	kind, err := tasks.KindOf(path)
	if err != nil {
		return fail(exitConfig, "%w", err)
	}
	if kind != tasks.KindDefinitions {
		return f.checkBoxes(e, path, kind)
	}
	if err := f.fits(path, kind); err != nil {
		return err
	}
	file, err := load(path)
	if err != nil {
		return err
	}
	e.warn(file.Warnings)
	defs := file.Definitions()
	// A verifier that cannot be built is a mistake too; a judge is not asked for.
	c := criteria{shared: f}
	c.env.Judge = func(string) (ralph.Runner, error) { return ralph.Replay(), nil }
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
	fmt.Fprintf(e.stdout, "%s: %s, %s\n", path, plural(len(defs), "task"), cmp.Or(counts(defs), "no definition"))
	return nil
}
