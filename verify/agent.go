package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/english"
)

// Agent returns the verifier for a stage of work by the name of its agent. It looks
// for words that the agent's answer must have:
//
//   - coder: it says that something was committed;
//   - tester: it reports that tests pass, and none that fail;
//   - reviewer: it says that the review passed or the work is approved, and not
//     the contrary;
//   - qa: nothing but the promise is needed, and the verdict holds a warning that
//     says so.
//
// The name of any other stage is an error of Verify and Validate, never a pass. A claim that
// was not promised is rejected, and so is one whose run ended in a fault.
//
// These rules are weak: they take the agent's word for what it did, and an agent
// that writes "All tests pass" passes without having run one. Where the truth can
// be asked for, ask: [External] runs the tests or looks into the history, and
// [Guard] sees to it that the agent did not edit its own exam.
func Agent(name string) ralph.Verifier { return stageRule(name) }

// A stageRule is the rule for the stage of this name.
type stageRule string

var _ ralph.Verifier = stageRule("")

// Validate reports whether there is no rule for the stage.
func (r stageRule) Validate(ralph.Task) error {
	_, _, err := r.rule()
	return err
}

// rule is the stage's name, and the rule for its words; nil = the promise is enough.
func (r stageRule) rule() (name string, rule func(text string, omitted int64) ralph.Check, err error) {
	name = strings.ToLower(strings.TrimSpace(string(r)))
	switch name {
	case "coder":
		rule = committed
	case "tester":
		rule = testsPass
	case "reviewer":
		rule = approved
	case "qa":
	default:
		err = errors.New("verify: Agent: no rule for " + word(string(r)) + "; there are coder, tester, reviewer and qa")
	}
	return name, rule, err
}

// Verify implements [ralph.Verifier].
func (r stageRule) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	if ctx.Err() != nil {
		return ralph.Verdict{}, context.Cause(ctx)
	}
	name, rule, err := r.rule()
	if err != nil {
		return ralph.Verdict{}, err
	}
	switch {
	case !c.Promised:
		return judge(ralph.Check{Name: name, Status: ralph.CheckFailed,
			Detail: "the answer does not claim that the task is done"}), nil
	case c.Fault != "":
		return judge(ralph.Check{Name: name, Status: ralph.CheckFailed,
			Detail: fmt.Sprintf("the run ended with a fault (%s), so its words are not taken", c.Fault)}), nil
	case rule == nil:
		return judge(ralph.Check{Name: "unverified: promise only", Status: ralph.CheckWarning,
			Detail: "there is no rule for the stage " + name}), nil
	}
	check := rule(withoutEcho(c.Output, c.Task), c.Omitted)
	check.Name = name
	return judge(check), nil
}

// committed looks for a commit that was made.
func committed(text string, omitted int64) ralph.Check {
	if yes, _ := english.Stage("coder", text); yes != "" {
		return passed("the answer says that it committed", yes)
	}
	return lacking("the answer does not say that the work was committed: commit it, and say so", omitted)
}

// testsPass looks for tests that pass and for some that fail.
func testsPass(text string, omitted int64) ralph.Check {
	if no := english.Contradictions(text)[english.FailingTests]; no != "" {
		return refuted("the answer says that tests fail", no)
	}
	switch yes, _ := english.Stage("tester", text); {
	case yes == "":
		return lacking("the answer does not report passing tests: run them, and say how many passed", omitted)
	case omitted > 0:
		return unsure(omitted, "tests that fail")
	default:
		return passed("the answer reports passing tests", yes)
	}
}

// approved looks for an approval and for the contrary.
func approved(text string, omitted int64) ralph.Check {
	switch yes, no := english.Stage("reviewer", text); {
	case no != "":
		return refuted("the answer does not approve", no)
	case yes == "":
		return lacking("the answer does not say that the review passed or that the work is approved", omitted)
	case omitted > 0:
		return unsure(omitted, "an objection")
	default:
		return passed("the answer approves the work", yes)
	}
}

func passed(what, text string) ralph.Check {
	return ralph.Check{Status: ralph.CheckPassed, Detail: what + ": " + quoted([]string{oneLine(text, 160, 60)})}
}

func refuted(what, text string) ralph.Check {
	return ralph.Check{Status: ralph.CheckFailed, Detail: what + ": " + quoted([]string{oneLine(text, 160, 60)})}
}

// lacking is the check of words that are not there, which cannot be known if a
// part of the answer was left out.
func lacking(what string, omitted int64) ralph.Check {
	if omitted > 0 {
		return ralph.Check{Status: ralph.CheckUnable,
			Detail: fmt.Sprintf("%s (%d bytes of the answer were left out)", what, omitted)}
	}
	return ralph.Check{Status: ralph.CheckFailed, Detail: what}
}

// unsure is the check of words that must not be there.
func unsure(omitted int64, what string) ralph.Check {
	return ralph.Check{Status: ralph.CheckUnable, Detail: fmt.Sprintf(
		"%d bytes of the answer were left out, so it cannot be known that it does not report %s", omitted, what)}
}
