// Package verify holds the usual verifiers: they decide whether an agent's
// claim that a task is done is true.
//
// A promise is only the agent's word. The verifiers differ in what they
// believe:
//
//   - [External] and [Template] believe what a command says about the work.
//     They are the ones to prefer: tests cannot be talked into passing.
//   - [HeldOut] runs such a check with an exam that the agent has not seen, and
//     [Guard] sees to it that the agent has not changed the one it has.
//   - [Semantic] believes another model, a judge, which is shown what git
//     finds.
//   - [String], [Contradictions] and [Agent] look at the agent's own words.
//     They cost nothing, and prove little.
//   - [MultiStage] asks several verifiers, and [Cache] asks one only once.
//
// A loop takes one verifier:
//
//	loop := &ralph.Local{
//		Runner:   claude,
//		Verifier: verify.External{Args: []string{"go", "test", "./..."}, Excludes: []string{"no test files"}},
//	}
//
// The same rules hold for all of them, and for those you write. The zero value
// of a verdict rejects. An error is never a pass. "No" (a check failed) and "I
// could not find out" (a check was unable to run, or timed out) are different
// results, because only the first is about the agent's work. A rejection says
// what is missing, short enough to be quoted to the agent. Nothing is decided
// by words in a reason. A configuration that would let everything through, such
// as a blank text to look for, is an error. Verifiers are values, safe for
// concurrent use. Package verifytest tests whether a verifier keeps these
// rules.
package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
)

// String looks at the words of the answer: all of Contains must be in it and
// none of Excludes, upper and lower case alike. Each entry is a check of its
// own. An entry of Excludes is also found where markup, entities, invisible
// characters, look-alikes or line breaks hide it; an entry of Contains is not,
// for who has to write a word can write it plainly. String rejects a claim that
// was not promised, and one whose run ended in a fault, for then words prove
// nothing.
//
// Entries are plain text, not patterns, and may be parts of words: "done" is in
// "undone". What a sentence says is for [Contradictions].
//
// The zero value takes the promise as enough, which is to trust the agent's
// word: the verdict holds a warning that says so. A String is safe for
// concurrent use and starts nothing.
type String struct {
	// Contains must each be in the answer. Empty = nothing is asked for. A
	// blank entry is an error.
	Contains []string
	// Excludes must not be in the answer. Empty = nothing is forbidden. A blank
	// entry is an error.
	Excludes []string
}

var _ ralph.Verifier = String{}

// Validate returns an error if an entry is blank. It does not look at the task.
func (s String) Validate(ralph.Task) error { return notBlank("String", s.Contains, s.Excludes) }

// Verify implements [ralph.Verifier]. A blank entry is an error, for it would
// match anything; the only other one is context.Cause(ctx). If a part of the
// answer was left out ([ralph.Claim.Omitted]), a text that was not found makes
// the check unable, in Contains and in Excludes alike: it may stand in that
// part.
func (s String) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	if ctx.Err() != nil {
		return ralph.Verdict{}, context.Cause(ctx)
	}
	if err := notBlank("String", s.Contains, s.Excludes); err != nil {
		return ralph.Verdict{}, err
	}
	if check, wrong := unclaimed("promise", c); wrong {
		return judge(check), nil
	}
	// A pass that is marked: whoever reads the record later must not take it
	// for a check.
	if len(s.Contains)+len(s.Excludes) == 0 {
		v := ralph.Pass()
		v.Checks = []ralph.Check{{Name: "unverified: promise only", Status: ralph.CheckWarning, Detail: "nothing but the agent's word was checked"}}
		return v, nil
	}
	text := strings.ToLower(c.Output)
	var checks []ralph.Check
	for _, want := range s.Contains {
		short := quoted([]string{want})
		check := ralph.Check{Name: "contains " + short, Status: ralph.CheckPassed}
		switch {
		case strings.Contains(text, strings.ToLower(want)):
		case c.Omitted > 0:
			check.Status, check.Detail = ralph.CheckUnable, fmt.Sprintf("%s is not in what was kept of the answer; %d bytes were left out", short, c.Omitted)
		default:
			check.Status, check.Detail = ralph.CheckFailed, "the answer does not contain "+short
		}
		checks = append(checks, check)
	}
	for _, bad := range s.Excludes {
		short := quoted([]string{bad})
		check := ralph.Check{Name: "excludes " + short, Status: ralph.CheckPassed}
		switch {
		case holdsFolded(c.Output, bad):
			check.Status, check.Detail = ralph.CheckFailed, "the answer contains "+short
		case c.Omitted > 0:
			check.Status, check.Detail = ralph.CheckUnable, fmt.Sprintf("%d bytes of the answer were left out, so it cannot be known that it does not contain %s", c.Omitted, short)
		}
		checks = append(checks, check)
	}
	return judge(checks...), nil
}

// unclaimed is the check of words that are not taken, if they are not. The order
// matters for the agent: it is told first that it made no claim, since nothing that
// it said was meant as one.
func unclaimed(name string, c ralph.Claim) (check ralph.Check, wrong bool) {
	check = ralph.Check{Name: name, Status: ralph.CheckFailed, Detail: "the answer does not claim that the task is done"}
	if c.Promised {
		check.Detail = fmt.Sprintf("the run ended with a fault (%s), so its words are not taken", c.Fault)
	}
	return check, !c.Promised || c.Fault != ""
}

// judge returns the verdict of checks that must all pass. Its feedback is made
// of the details of those that do not, one line for each, and is short however
// many there are.
func judge(checks ...ralph.Check) ralph.Verdict {
	v := ralph.Verdict{Passed: true, Checks: few(checks)}
	var missing []string
	for _, c := range checks {
		switch c.Status {
		case ralph.CheckFailed, ralph.CheckUnable, ralph.CheckTimeout:
			v.Passed = false
			missing = append(missing, c.Detail)
		}
	}
	v.Feedback = ends(strings.Join(missing, "\n"), 5<<10, 2<<10)
	return v
}

// notBlank is the error of a text that would match anything. As a rule to
// contain, such a text passes every answer; as one to exclude, it passes none.
func notBlank(who string, lists ...[]string) error {
	for _, list := range lists {
		for _, text := range list {
			if strings.TrimSpace(text) == "" {
				return errors.New("verify: " + who + ": an entry of Contains or Excludes is blank; it would match anything")
			}
		}
	}
	return nil
}
