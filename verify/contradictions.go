package verify

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/english"
	"github.com/ralph-loop/ralph/internal/reply"
)

// Contradictions rejects an answer that claims to be done and says in other
// words that it is not: that work is left ("I still need to migrate the tests",
// an open check box), that a mark of open work is in the code ("TODO: rate
// limiting"), that tests or the build fail, or that something blocks the work.
// Each kind that is found is a failed check, which quotes the sentence.
//
// What counts is what a sentence says, not a word in it. "Removed every TODO",
// "0 tests failed", "fixed the bug that made tests fail" and "the script exits
// with 1 if a test fails" contradict nothing. Nor does what the agent only
// shows: code, inline or in a fence, quotations, and the task's own text, if it
// is repeated word for word. The log of a test run in a fence is not read
// either, because the agent may show a log from before its work; a log that is
// pasted as plain text is read.
//
// It reads English, and it reads words. An agent that is silent about what it
// left out is not found out by it, but by [External]. An agent that does say so
// is often found out: this is a statistical rule. Of 64 contradictions and 64
// honest answers that were written apart from all that it was built from, with the
// promise below each, it lets 18 contradictions through and rejects none of the
// honest ones. Of 8836 others that it was not built from, most of them written in
// pairs that say the contrary in nearly the same words, it lets 45 percent of the
// contradictions through and rejects 3.2 percent of the honest ones.
//
// The zero value is ready for use. A Contradictions is safe for concurrent use,
// starts nothing, and takes time that grows with the length of the answer.
type Contradictions struct {
	// Patterns are further words that stand for work that is left: plain text
	// of one or more words, upper and lower case alike. A pattern counts where
	// a sentence states it, and not where a sentence denies it or says that it
	// is gone. They are not regular expressions. nil = none. A blank one is an
	// error.
	Patterns []string
}

var _ ralph.Verifier = Contradictions{}

// Validate returns an error if a pattern has no words: it would be found in
// every answer. It does not look at the task.
func (v Contradictions) Validate(ralph.Task) error {
	_, err := v.patterns()
	return err
}

// Verify implements [ralph.Verifier]. It judges the words of any claim, also of
// one that was not promised or whose run ended in a fault. If a part of the
// answer was left out and the rest is consistent, the check is unable: a
// contradiction may be in the part that is missing. Errors are that of
// Validate, and context.Cause(ctx).
func (v Contradictions) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	if ctx.Err() != nil {
		return ralph.Verdict{}, context.Cause(ctx)
	}
	patterns, err := v.patterns()
	if err != nil {
		return ralph.Verdict{}, err
	}
	// Each kind is looked for even when one was found. The agent is told all
	// that speaks against it at once, and not one thing in each iteration.
	text := withoutEcho(c.Output, c.Task)
	var checks []ralph.Check
	for kind, quote := range english.Contradictions(text) {
		if quote != "" {
			checks = append(checks, contradiction(kinds()[kind], quote))
		}
	}
	if quote := english.States(text, patterns); quote != "" {
		checks = append(checks, contradiction([2]string{"pattern", "has words that stand for open work"}, quote))
	}
	switch {
	case len(checks) > 0:
	case c.Omitted > 0:
		checks = append(checks, ralph.Check{Name: "contradictions", Status: ralph.CheckUnable,
			Detail: fmt.Sprintf("%d bytes of the answer were left out, so it cannot be known that it does not contradict itself",
				c.Omitted)})
	default:
		checks = append(checks, ralph.Check{Name: "contradictions", Status: ralph.CheckPassed,
			Detail: "the answer does not say that work is left"})
	}
	return judge(checks...), nil
}

// patterns returns the words of each pattern, in lower case. Patterns are words
// and not regular expressions: the same rules that keep "removed every TODO"
// from being a contradiction have to hold for them, and those rules work on
// words.
func (v Contradictions) patterns() ([][]string, error) {
	var out [][]string
	for i, p := range v.Patterns {
		words := english.Words(p)
		if len(words) == 0 {
			return nil, fmt.Errorf("verify: Contradictions: pattern %d has no words; it would match anything", i+1)
		}
		out = append(out, words)
	}
	return out, nil
}

// withoutEcho takes the task's own text out of the answer: its prompt, and its
// list of criteria as [ralph.State.Prompt] shows it. An agent that repeats an
// open box of the task ("write the docs") does not say that this is still to be
// done.
//
// Nor are the words of the promise a statement: a claim "ALL TESTS PASS" does
// not take back that two fail.
func withoutEcho(output string, t ralph.Task) string {
	// A prompt of a word or two ("fix it") is not removed, for such words stand
	// in honest sentences as well, which would lose their sense.
	if text := strings.TrimSpace(t.Prompt); len(text) >= 16 {
		output = reply.Remove(output, text)
	}
	if len(t.Acceptance) > 0 {
		list := "Acceptance criteria:\n\n- [ ] " + strings.Join(t.Acceptance, "\n- [ ] ")
		output = reply.Remove(output, list)
	}
	if t.Blocked != "" {
		output = reply.Remove(output, "<promise>"+t.Blocked+"</promise>")
	}
	return reply.Remove(output, "<promise>"+cmp.Or(t.Promise, ralph.DefaultPromise)+"</promise>")
}

// kinds names each kind of contradiction for the check, and says for the agent
// what an answer of that kind does. A function and not a variable: nothing in
// this package can be changed by somebody who imports it.
func kinds() [english.Kinds][2]string {
	return [english.Kinds][2]string{
		english.OpenMark:     {"open marks", "names a mark of open work"},
		english.FailingTests: {"failing tests", "says that tests or the build fail"},
		english.WorkLeft:     {"work left", "says that work is left"},
		english.Blocked:      {"blocked", "says that something blocks the work"},
	}
}

// The sentence is quoted, cut to its ends: an agent that is told only
// "contradiction" cannot mend it, and a person cannot see whether the rule was
// wrong.
func contradiction(kind [2]string, quote string) ralph.Check {
	return ralph.Check{Name: "contradictions: " + kind[0], Status: ralph.CheckFailed,
		Detail: "the answer " + kind[1] + ": " + strconv.Quote(oneLine(quote, 160, 60))}
}
