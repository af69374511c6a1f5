package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// criteria is how definitions become tasks: with the defaults of a project, and
// with what verifies them.
type criteria struct {
	*shared
	config spec.Config
	env    spec.Env
}

// criteria reads the defaults of a project.
func (s *shared) criteria(project string) (criteria, error) {
	c := criteria{shared: s, env: spec.Env{Dir: project, AcceptConfig: s.acceptConfig, InheritEnv: s.checkEnv(), Sandbox: s.checkBox()}}
	var err error
	c.config, err = spec.LoadConfig(cmp.Or(s.config, filepath.Join(project, ".ralph", "config.yaml")))
	if err != nil && (s.config != "" || !errors.Is(err, fs.ErrNotExist)) {
		return c, fail(exitConfig, "%w", err)
	}
	c.judged(cmp.Or(s.judge, c.config.Judge))
	return c, nil
}

// judged names the judge.
func (c *criteria) judged(name string) {
	if name == "" {
		return
	}
	c.env.Judge = func(model string) (ralph.Runner, error) {
		return c.judgeNamed(name, cmp.Or(model, c.judgeModel, c.config.JudgeModel))
	}
}

func (s *shared) judgeNamed(name, model string) (ralph.Runner, error) {
	judge, err := ralph.JudgePreset(name)
	if err != nil {
		return nil, ours{err}
	}
	judge.Model, judge.Inherit = model, append(judge.Inherit, s.moreEnv()...)
	judge.Sandbox = s.confined(ralph.ClientFolders(judge.Format)...)
	if s.table != nil {
		judge.Prices = s.table
	}
	s.judges = append(s.judges, judge)
	return judge, s.bounded("the judge: ", judge)
}

func (c criteria) verifier() spec.TaskVerifier { return spec.Verifier(c.env) }

// task returns what is run for one agent's part of a definition, if that can be
// verified.
func (c criteria) task(d spec.Definition, stage string) (ralph.Task, error) {
	if stage != "" {
		if _, err := c.config.Stages([]string{stage}, d); err != nil {
			return ralph.Task{}, fmt.Errorf("%s: --stage: %w", d.ID, err)
		}
	}
	task, err := c.config.Task(d, cmp.Or(stage, firstStage(d)))
	if err != nil {
		return task, err
	}
	limits := c.limits()
	limits.Iterations = cmp.Or(c.max, task.Limits.Iterations)
	task.Dir, task.Limits = c.env.Dir, limits
	return task, judgeless(c.verifier().Validate(task))
}

// judgeless says how a judge is named, if there is none and one is asked for.
func judgeless(err error) error {
	if errors.Is(err, spec.ErrNoJudge) {
		return fmt.Errorf("%w: %s", err, nameJudge)
	}
	return err
}

const nameJudge = "name one with --judge, or with judge: below ralph: in .ralph/config.yaml"

// firstStage is the agent whose part a definition is, if nobody says.
func firstStage(d spec.Definition) string { return stagesOf(d)[0] }

// stagesOf are the stages whose criteria a definition states, else the coder's.
func stagesOf(d spec.Definition) []string {
	var all []string
	for _, a := range agentsOf(d) {
		all = append(all, a.Agent)
	}
	if len(all) == 0 {
		return []string{"coder"}
	}
	return all
}

// load loads definitions that must be usable.
func load(path string) (*spec.File, error) {
	f, err := spec.Load(path)
	if err == nil {
		err = f.Validate()
	}
	return f, err
}

// warn shows what a person should know of a task file: a task without a
// completion runs with the defaults.
func (e env) warn(warnings []string) {
	for _, text := range warnings {
		e.say("warning: %s", line(text))
	}
}

// counts says how many tasks have which status.
func counts(defs []spec.Definition) string {
	n := map[spec.Status]int{}
	var order []spec.Status
	for _, d := range defs {
		s := d.Status.Effective()
		if n[s]++; n[s] == 1 {
			order = append(order, s)
		}
	}
	var parts []string
	for _, s := range order {
		parts = append(parts, fmt.Sprintf("%d %s", n[s], s))
	}
	return strings.Join(parts, ", ")
}
