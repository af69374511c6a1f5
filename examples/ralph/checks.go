package main

import (
	"context"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// checks returns what verifies the work: stated, which is what tasks say themselves,
// and what the flags ask for beside it, with what the agent is told of that. Both
// are empty if nothing is asked for; stated may be nil.
func (s *shared) checks(stated ralph.Verifier) (v ralph.Verifier, told string, err error) {
	var stages []verify.Stage
	var how []string
	examined := func(v ralph.Verifier) ralph.Verifier {
		if s.exam == "" {
			return v
		}
		how = append(how, "tests that you have not seen must pass too")
		return verify.HeldOut{Verifier: v, Exam: absolute(s.exam)}
	}
	env := s.checkEnv()
	if env == nil { // the user wrote this command
		env = []string{"*"}
	}
	command := ralph.Verifier(verify.External{Shell: s.verify, AcceptConfig: s.acceptConfig, Redact: redact().String, InheritEnv: env})
	if s.verify != "" {
		how = append(how, "the command `"+s.verify+"` must succeed")
		command = examined(command)
	}
	switch {
	case stated != nil && s.verify == "":
		stages = append(stages, verify.Stage{Name: "definition", Verifier: examined(stated)})
	case stated != nil:
		stages = append(stages, verify.Stage{Name: "definition", Verifier: stated})
	case s.exam != "" && s.verify == "":
		return nil, "", fail(exitConfig, "--exam needs --verify, the command that is run on it")
	}
	if s.verify != "" {
		stages = append(stages, verify.Stage{Name: "--verify", Verifier: command})
	}
	if stated == nil && s.judge != "" {
		judge, err := s.judgeNamed(s.judge, s.judgeModel)
		if err != nil {
			return nil, "", err
		}
		how = append(how, "a judge must agree that it is done")
		stages = append(stages, verify.Stage{Name: "--judge", Verifier: judged{judge}})
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

// checkEnv are the variables that checks get; nil = what tools need.
func (s *shared) checkEnv() []string {
	switch s.verifyEnv {
	case "":
		return nil
	case "all":
		return []string{"*"}
	}
	return append(verify.DefaultInheritEnv(), s.moreEnv()...)
}

// moreEnv are the variables that --verify-env names.
func (s *shared) moreEnv() []string {
	return strings.FieldsFunc(s.verifyEnv, func(r rune) bool { return r == ',' || r == ' ' })
}

// proven reports whether anything but the agent's word is asked for.
func (s *shared) proven() bool { return s.verify != "" || s.judge != "" || len(s.guard) > 0 }

// A judged asks the judge about a task's acceptance criteria, or if it has none
// whether what it asks for is done.
type judged struct{ judge ralph.Runner }

func (j judged) of(t ralph.Task) verify.Semantic {
	v := verify.Semantic{Judge: j.judge, Redact: redact().String}
	if len(t.Acceptance) == 0 {
		v.Criteria = []string{"everything that the task asks for is done"}
	}
	return v
}

func (j judged) Validate(t ralph.Task) error { return j.of(t).Validate(t) }

func (j judged) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	return j.of(c.Task).Verify(ctx, c)
}
