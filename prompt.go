package ralph

import (
	"fmt"
	"strconv"
	"strings"
)

// Prompt returns what the agent is told: the task's own text, what done means,
// how to say so and how it will be verified, and the [State.Continuation].
// A driver may send something else, see [Local].
//
// The promise is shown on a line of its own and never in a code fence, for
// models copy the fence; and never as the last line, so that an agent that only
// repeats its prompt claims nothing.
//
// The prompt is made of the state alone, so that a replay of the same events gives the
// same one: there is no date in it and nothing of the machine. What strangers said (the
// verifier's output, the agent's own words) is in it only as quotations.
func (s State) Prompt() string {
	var b strings.Builder
	s.writeTask(&b)
	s.writeStatus(&b)
	s.writeDone(&b)
	b.WriteString("\n" + s.Signal())
	if more := s.Continuation(); more != "" {
		b.WriteString("\n" + more)
	}
	b.WriteString("\n" + s.closing() + "\n")
	return b.String()
}

// Opening returns the first prompt for a session, whose later ones come from a [Hook]:
// the task's own text, what done means, and how the agent tells that it is done. It is
// [State.Prompt] without what holds for fresh context alone.
func (s State) Opening() string {
	var b, end strings.Builder
	s.writeTask(&b)
	s.writeDone(&end)
	end.WriteString("\n" + s.Signal())
	return b.String() + strings.TrimPrefix(end.String(), "\n")
}

// writeTask writes the task in the user's words, unchanged. The line below it says
// where they end and ours begin; without a Prompt the title stands for it.
func (s State) writeTask(b *strings.Builder) {
	if text := strings.TrimSpace(s.Task.Prompt); text != "" {
		b.WriteString(text + "\n\n---\n\n")
	} else if s.Task.Title != "" {
		b.WriteString("# " + s.Task.Title + "\n\n---\n\n")
	}
}

// Signal returns the part of the prompt that says how the agent tells that the task
// is done, and how that will be verified: for those who send prompts of their own.
func (s State) Signal() string {
	var b strings.Builder
	if s.Task.Always {
		s.writeAlways(&b)
	} else {
		s.writeSignal(&b)
	}
	return b.String()
}

// writeStatus says that the context is fresh. An agent that is not told looks for a
// conversation that never was, or begins the work anew beside what is there.
func (s State) writeStatus(b *strings.Builder) {
	of := ""
	if n := s.Task.Limits.iterations(); n > 0 {
		of = fmt.Sprintf(" of %d", n)
	}
	fmt.Fprintf(b, "## Where you are\n\nThis is iteration %d%s", s.Iteration, of)
	if s.Task.Agent != "" {
		fmt.Fprintf(b, ", and your role is %s", s.Task.Agent)
	}
	b.WriteString(". Every iteration starts with fresh context: what earlier ones did is in the files, not in this conversation. Look at what is there before you change anything.\n")
}

// writeDone says what the work is measured by. Acceptance criteria look like a list to
// tick off, since models work through those; nothing reads the boxes.
func (s State) writeDone(b *strings.Builder) {
	t := s.Task
	if t.Outcome == "" && len(t.Acceptance) == 0 && t.Success == "" {
		return
	}
	b.WriteString("\n## What done means\n")
	if t.Outcome != "" {
		fmt.Fprintf(b, "\n%s\n", t.Outcome)
	}
	if len(t.Acceptance) > 0 {
		b.WriteString("\nAcceptance criteria:\n\n")
		for _, a := range t.Acceptance {
			fmt.Fprintf(b, "- [ ] %s\n", a)
		}
	}
	if t.Success != "" {
		who := "you"
		if t.Agent != "" {
			who = "the " + t.Agent
		}
		fmt.Fprintf(b, "\nSuccess criteria for %s: %s\n", who, t.Success)
	}
}

// writeSignal says how to claim, and gives a way out that is honest: an agent that may
// only claim or go on will claim.
func (s State) writeSignal(b *strings.Builder) {
	t := s.Task
	fmt.Fprintf(b, `## When you are done

When everything above is really done, end your answer with this line, alone and as the very last one, outside of any code block or quotation:

%s

`, t.tag(t.promise()))
	if t.HowVerified != "" {
		fmt.Fprintf(b, "Your claim will then be verified: %s.", strings.TrimSuffix(t.HowVerified, "."))
	} else {
		b.WriteString("Your claim will then be verified.")
	}
	b.WriteString(" A claim that does not hold is found out, and the loop goes on; so make it only when it is true. Until then do not write that line, and do not talk about it.\n")
	if t.Blocked != "" {
		s.writeBlocked(b, " instead")
	} else {
		b.WriteString("\nIf you are blocked, say what prevents you from finishing, and leave the line out.\n")
	}
}

// writeAlways asks for no promise: where every answer is verified, a promise would only
// be one more thing to get wrong.
func (s State) writeAlways(b *strings.Builder) {
	how := "Your work is verified after every iteration"
	if s.Task.HowVerified != "" {
		how += ": " + strings.TrimSuffix(s.Task.HowVerified, ".")
	}
	fmt.Fprintf(b, "## When you are done\n\n%s. There is nothing to announce: end your answer when you have done what you can.\n", how)
	if s.Task.Blocked != "" {
		s.writeBlocked(b, ", alone")
	}
}

// writeBlocked says how the agent tells that it is blocked.
func (s State) writeBlocked(b *strings.Builder, how string) {
	stops := "That stops the loop and calls a person."
	switch n := s.Task.Limits.blocked(); {
	case n < 0:
		stops = "Another iteration then looks for another way."
	case n > s.Blocked+1:
		stops = fmt.Sprintf("Another iteration then looks for another way; %d in a row that end so stop the loop and call a person.", n)
	}
	fmt.Fprintf(b, `
If you are blocked and no further work of yours can help, say what is missing and end your answer with this line%s:

%s

%s
`, how, s.Task.tag(s.Task.Blocked), stops)
}

// tag is the promise as it is looked for: MatchAnywhere takes the very text, the
// others fold its white space.
func (t Task) tag(promise string) string {
	if t.Match != MatchAnywhere {
		promise = fold(promise)
	}
	return openTag + promise + closeTag
}

// closing is the last line of the prompt, so that the tag is not: an agent that repeats
// its prompt, or the end of it, must claim nothing.
func (s State) closing() string {
	if n := s.Task.Limits.iterations(); n > 0 {
		return fmt.Sprintf("The loop goes on until the work is verified, at most to iteration %d.", n)
	}
	return "The loop goes on until the work is verified."
}

// Continuation returns what an agent should know of the iterations before: why
// the last claim was rejected, or that none was made, or what was nearly one,
// and guidance from people. "" = nothing: [State.Prompt] ends with it, and those
// who send prompts of their own add it to them.
func (s State) Continuation() string {
	var b strings.Builder
	s.writeLast(&b)
	section := func(title string) {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("## " + title + "\n\n")
	}
	if s.Blocked > 0 {
		section("What was in the way")
		s.writeObstacle(&b)
	}
	if len(s.Lessons) > 0 {
		section("What earlier loops were told")
		b.WriteString("Claims for tasks like this one were rejected before. These were the most frequent reasons; see that they do not hold for this task:\n")
		for _, text := range s.Lessons {
			b.WriteByte('\n')
			quote(&b, text)
		}
	}
	if len(s.Ended) > 0 {
		section("What was left running")
		b.WriteString("Nothing that you start outlives your answer. After the last one this was done:\n\n")
		quote(&b, endedText(s.Ended, "you")+"; start it in the check itself, if that needs it")
	}
	if len(s.Guidance) > 0 {
		section("Guidance from the people who run this loop")
		for _, g := range s.Guidance {
			fmt.Fprintf(&b, "- %s\n", strings.ReplaceAll(g, "\n", "\n  "))
		}
	}
	return b.String()
}

// writeLast says what came of the last iteration. Only one thing of it is told, the
// most useful one: a rejection before a tag in the wrong form, and that before the
// plain fact that nothing was claimed.
func (s State) writeLast(b *strings.Builder) {
	switch {
	case s.Feedback != "":
		b.WriteString("## What is missing\n\nThe work was verified after an earlier iteration, and it is not done yet. This is what the check said:\n\n")
		quote(b, s.Feedback)
		if s.Repeated >= fewRepeated && !s.Verdict.Undecided() {
			fmt.Fprintf(b, "\nThis check has now failed %s times with the same output, whatever was changed in between: so the cause is elsewhere. Question what you take for granted about it before you change more.\n", inWords(s.Repeated))
		}
		b.WriteString("\nDo not start over: look at what is there, find out why the check failed and mend that.\n")
		if miss := s.nearMiss(); miss != "" {
			b.WriteString("\n" + miss + "\n")
		}
	case s.Blocked > 0 || s.Task.Always || s.Iteration <= 1:
	case s.nearMiss() != "":
		b.WriteString("## About the last iteration\n\n" + s.nearMiss() + "\n")
	default:
		b.WriteString("## About the last iteration\n\nIt ended without the line that says the task is done. Review what has been achieved, go on from there, and do not stop before the task is really done.\n")
	}
}

// writeObstacle says why the last iteration was blocked. The words are the agent's own
// of the last context, which the new one does not have; repeated back, they keep it
// from the same dead end.
func (s State) writeObstacle(b *strings.Builder) {
	b.WriteString("The last iteration ended with the line that says that it is blocked.")
	if s.Obstacle != "" {
		b.WriteString(" These were its words:\n\n")
		quote(b, s.Obstacle)
		b.WriteByte('\n')
	} else {
		b.WriteByte(' ')
	}
	b.WriteString("Look for another way to reach the goal. Only if there is none, say again what is missing, and that you are blocked.\n")
}

// fewRepeated is how often the same rejection must have come before the agent is told.
// Twice is still a mend that has missed; from the third time on the agent takes
// something for granted that is not so.
const fewRepeated = 3

// inWords is a small number as people write it.
func inWords(n int) string {
	if words := []string{"three", "four", "five", "six", "seven", "eight", "nine", "ten"}; n >= 3 && n-3 < len(words) {
		return words[n-3]
	}
	return strconv.Itoa(n)
}

// left takes over what was ended when the agent was. It stays until a prompt that
// tells it was answered. What a client leaves that broke is not the agent's to mend.
func (s State) left(it Iteration) State {
	if it.Fault == "" || it.Fault == FaultTimeout {
		s.Ended = boundedEnded(it.Ended)
	}
	return s
}

// quote writes text that nobody vouches for as an indented block, so that it cannot
// pass for instructions or close a fence. A fence would not do: the text may hold one,
// and with it end ours.
func quote(b *strings.Builder, text string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		b.WriteString("    " + line + "\n")
	}
}

// nearMiss is the one sentence that makes the agent get its promise right. It names the
// mistake and not the rule alone: agents that are told the whole rule again make the
// same mistake again.
func (s State) nearMiss() string {
	sentence := ""
	switch s.NearMiss {
	case WhyMalformed:
		sentence = "something like the completion line, but the tag was not well formed: it is <promise>, the text, </promise>, without attributes, blanks in the tags or escaping"
	case WhyWrongCase:
		sentence = "the completion line in the wrong case: upper and lower case count, in the tag and in the text"
	case WhyWrongText:
		sentence = "a promise with another text than the one asked for: copy the text between the tags exactly and add nothing to it"
	case WhyFenced:
		sentence = "the completion line in a code block, where it does not count: write it as plain text, without a fence around it and not indented"
	case WhyQuoted:
		sentence = "the completion line in a quotation, code span or comment, where it does not count: write it as plain text, without marks around it"
	case WhyNotAlone:
		sentence = "the completion line with other text on it: it must stand alone on its line"
	case WhyNotLast:
		sentence = "the completion line, but more text followed it: it must be the very last line of the answer"
	default:
		return ""
	}
	return "The last answer held " + sentence + ". It was not taken as a claim. If the task is really done, say so in the right form; if it is not, go on and leave the line out."
}
