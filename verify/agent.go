package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/english"
)

// Agent returns the verifier for a stage of work, chosen by the name of the
// stage's agent. It looks for words that the agent's answer must have:
//
//   - coder: the answer says that something was committed;
//   - tester: it reports that tests pass, and none that fail;
//   - reviewer: it says that the review passed or that the work is approved,
//     and does not say the contrary;
//   - qa: nothing but the promise is needed, and the verdict holds a warning
//     that says so.
//
// Upper and lower case, and blanks around the name, do not count. Any other
// name is an error of Verify and of Validate, never a pass: a pipeline with a
// misspelt stage must stop before an agent is paid, not run without its check.
// A claim that was not promised is rejected, and so is one whose run ended in a
// fault, because words prove nothing about a run that broke off.
//
// These rules are weak: they take the agent's word for what it did, and an
// agent that writes "All tests pass" passes without having run one. Where the
// truth can be asked for, ask: [External] runs the tests or looks into the
// history, and [Guard] makes sure that the agent did not edit its own exam.
//
// The verifier is safe for concurrent use and starts nothing.
func Agent(name string) ralph.Verifier { return stageRule(name) }

// A stageRule is the rule for the stage of this name. It is a string and not a
// function that was looked up, so that an unknown name stays a value which
// Validate can report, with the name that the user wrote.
type stageRule string

// Validate returns an error if there is no rule for the stage. It does not look
// at the task.
func (r stageRule) Validate(ralph.Task) error {
	_, _, err := r.rule()
	return err
}

// rule returns the stage's name in its usual form, and the rule for its words.
// A nil rule without an error means that the promise is enough, as for qa; that
// is not the same as an unknown stage, which is an error.
func (r stageRule) rule() (name string, rule func(text string, omitted int64) ralph.Check, err error) {
	rules := map[string]func(string, int64) ralph.Check{"coder": committed, "tester": testsPass, "reviewer": approved, "qa": nil}
	name = strings.ToLower(strings.TrimSpace(string(r)))
	rule, known := rules[name]
	if !known {
		err = errors.New("verify: Agent: no rule for " + word(string(r)) + "; there are coder, tester, reviewer and qa")
	}
	return name, rule, err
}

// Verify implements [ralph.Verifier]. The errors are that of Validate, and
// context.Cause(ctx). The verdict has one check, named after the stage.
func (r stageRule) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	if ctx.Err() != nil {
		return ralph.Verdict{}, context.Cause(ctx)
	}
	name, rule, err := r.rule()
	if err != nil {
		return ralph.Verdict{}, err
	}
	if check, wrong := unclaimed(name, c); wrong {
		return judge(check), nil
	}
	if rule == nil { // a warning, so that nobody reads this verdict as evidence later
		return judge(ralph.Check{Name: "unverified: promise only", Status: ralph.CheckWarning,
			Detail: "there is no rule for the stage " + name}), nil
	}
	// The task's own text is taken out first. An agent that repeats "commit
	// your work" from its prompt has not said that it did.
	check := rule(withoutEcho(c.Output, c.Task), c.Omitted)
	check.Name = name
	return judge(check), nil
}

// committed looks for a commit that was made. It needs no case for an answer
// that lost a part, unlike the two below: lacking covers the words that were
// not found, and one commit that is told is enough, whatever else was said.
func committed(text string, omitted int64) ralph.Check {
	if yes, _ := english.Stage("coder", text); yes != "" {
		return says(ralph.CheckPassed, "the answer says that it committed", yes)
	}
	return lacking("the answer does not say that the work was committed: commit it, and say so", omitted)
}

// testsPass looks for tests that pass, and for some that fail. What speaks
// against the work is looked for first and decides alone: "12 tests pass, 2
// fail" says both.
func testsPass(text string, omitted int64) ralph.Check {
	if no := english.Contradictions(text)[english.FailingTests]; no != "" {
		return says(ralph.CheckFailed, "the answer says that tests fail", no)
	}
	switch yes, _ := english.Stage("tester", text); {
	case yes == "":
		return lacking("the answer does not report passing tests: run them, and say how many passed", omitted)
	case omitted > 0:
		return unsure(omitted, "tests that fail")
	default:
		return says(ralph.CheckPassed, "the answer reports passing tests", yes)
	}
}

// approved looks for an approval, and for an objection, which outweighs it: a
// review often praises before it objects.
func approved(text string, omitted int64) ralph.Check {
	switch yes, no := english.Stage("reviewer", text); {
	case no != "":
		return says(ralph.CheckFailed, "the answer does not approve", no)
	case yes == "":
		return lacking("the answer does not say that the review passed or that the work is approved", omitted)
	case omitted > 0:
		return unsure(omitted, "an objection")
	default:
		return says(ralph.CheckPassed, "the answer approves the work", yes)
	}
}

// says quotes the sentence that decided, so that a person who reads the record can
// see at once whether the rule misread it.
func says(status ralph.CheckStatus, what, text string) ralph.Check {
	return ralph.Check{Status: status, Detail: what + ": " + quoted([]string{oneLine(text, 160, 60)})}
}

// lacking is the check for words that were not found. Where a part of the
// answer was left out they may have been in it, so the check is unable: that is
// not the agent's failure.
func lacking(what string, omitted int64) ralph.Check {
	if omitted > 0 {
		return ralph.Check{Status: ralph.CheckUnable,
			Detail: fmt.Sprintf("%s (%d bytes of the answer were left out)", what, omitted)}
	}
	return ralph.Check{Status: ralph.CheckFailed, Detail: what}
}

// unsure is the check for words that must not be there and were not found in
// what was kept. It is not a pass: an answer must not get through because it is
// long.
func unsure(omitted int64, what string) ralph.Check {
	return ralph.Check{Status: ralph.CheckUnable, Detail: fmt.Sprintf(
		"%d bytes of the answer were left out, so it cannot be known that it does not report %s", omitted, what)}
}
