package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/spec"
	"github.com/ralph-loop/ralph/verify"
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

// checks returns what verifies the work: stated, which is what tasks say themselves,
// and what the flags ask for beside it, with what the agent is told of that. Both
// are empty if nothing is asked for; stated may be nil.
func (s *shared) checks(stated ralph.Verifier) (v ralph.Verifier, told string, err error) {
	var stages []verify.Stage
	var how []string
	add := func(name string, v ralph.Verifier, text string) {
		stages = append(stages, verify.Stage{Name: name, Verifier: v})
		if text != "" {
			how = append(how, text)
		}
	}
	if stated != nil && s.verify == "" {
		add("definition", s.examined(stated), "")
	} else if stated != nil {
		add("definition", stated, "")
	}
	if s.verify != "" {
		add("--verify", s.examined(s.external()), "the command `"+s.verify+"` must succeed")
	}
	if stated == nil && s.judge != "" {
		judge, err := s.judgeNamed(s.judge, s.judgeModel)
		if err != nil {
			return nil, "", err
		}
		add("--judge", judged{judge, int(s.judgeBytes)}, "a judge must agree that it is done")
	}
	switch {
	case s.exam != "" && stated == nil && s.verify == "":
		return nil, "", fail(exitConfig, "--exam needs --verify, the command that is run on it")
	case s.exam != "":
		how = append(how, "tests that you have not seen must pass too")
	}
	switch len(stages) {
	case 0:
	case 1:
		v = stages[0].Verifier
	default:
		v = verify.MultiStage{Stages: stages}
	}
	if len(s.guard) > 0 {
		how = append(how, "these files must stay as they are: "+s.guard.String())
		v = verify.Guard{Verifier: v, Globs: s.guard}
	}
	return v, strings.Join(how, "; "), nil
}

// method names what the flags ask for beside what tasks say themselves, as definitions
// name it, for those who compare loops.
func (s *shared) method() string {
	var all []string
	for _, m := range []struct {
		name  string
		asked bool
	}{{"external", s.verify != ""}, {"semantic", s.judge != ""}, {"held_out", s.exam != ""}, {"guard", len(s.guard) > 0}} {
		if m.asked {
			all = append(all, m.name)
		}
	}
	return cmp.Or(strings.Join(all, "+"), "string_match")
}

// examined lays the exam over what a verifier looks at, if there is one.
func (s *shared) examined(v ralph.Verifier) ralph.Verifier {
	if s.exam == "" {
		return v
	}
	return verify.HeldOut{Verifier: v, Exam: absolute(s.exam)}
}

// external is the command of --verify. The user wrote it, so it gets all of the environment,
// unless --verify-env or --sandbox say otherwise.
func (s *shared) external() ralph.Verifier {
	env := s.checkEnv()
	if env == nil && s.sandbox == "" {
		env = []string{"*"}
	}
	return verify.External{Shell: s.verify, AcceptConfig: s.acceptConfig, Redact: redact().String, InheritEnv: env, Sandbox: s.checkBox()}
}

// checkEnv are the variables that checks get; nil = what tools need.
func (s *shared) checkEnv() []string {
	if s.verifyEnv == "" {
		return nil
	}
	return append(verify.DefaultInheritEnv(), s.moreEnv()...)
}

// moreEnv are the variables that --verify-env names.
func (s *shared) moreEnv() []string {
	if s.verifyEnv == "all" {
		return []string{"*"}
	}
	return strings.FieldsFunc(s.verifyEnv, func(r rune) bool { return r == ',' || r == ' ' })
}

// proven reports whether anything but the agent's word is asked for.
func (s *shared) proven() bool { return s.verify != "" || s.judge != "" || len(s.guard) > 0 }

// A judged asks the judge about a task's acceptance criteria, or if it has none
// whether what it asks for is done.
type judged struct {
	judge ralph.Runner
	most  int // bytes to show it; 0 = the usual number
}

func (j judged) of(t ralph.Task) verify.Semantic {
	v := verify.Semantic{Judge: j.judge, Redact: redact().String, MaxBytes: j.most}
	if len(t.Acceptance) == 0 {
		v.Criteria = []string{"everything that the task asks for is done"}
	}
	return v
}

func (j judged) Validate(t ralph.Task) error { return j.of(t).Validate(t) }

func (j judged) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	return j.of(c.Task).Verify(ctx, c)
}
