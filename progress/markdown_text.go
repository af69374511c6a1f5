package progress

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/term"
)

// What is written at most, in entries and in bytes. Agents' words are not trusted: each
// entry is one line, so that it cannot look like a section or its end. An agent reads the
// file at each iteration, so a section must not grow with what the one before has printed.
const (
	maxFiles     = 200
	maxFile      = 4 << 10
	maxTitle     = 1 << 10
	maxLearnings = 20
	maxLearning  = 500
)

// What is always the same in the file. It is what readers look for, so it must stay as it
// is, for files that are there already.
const (
	markdownTitle    = "# Ralph Progress Log"
	patternsTitle    = "Codebase Patterns"
	patternsToCome   = "[Patterns discovered during implementation - updated by agent]"
	iterationHeading = "## Iteration "
	sectionEnd       = "---"
)

// A shownOutcome is how an outcome is shown. It is one table for writing and for
// reading.
type shownOutcome struct {
	outcome    ralph.Outcome
	mark, word string
}

// The marks stand beside words, so that the file can be read where there is no font for
// them.
func shownOutcomes() [3]shownOutcome {
	return [3]shownOutcome{
		{ralph.OutcomeSuccess, "✅", "Completed"},
		{ralph.OutcomeFailure, "❌", "Failed"},
		{ralph.OutcomeSkipped, "⏭️", "Skipped"},
	}
}

// header begins a new file. The placeholder shows agents where patterns belong; the
// reader leaves it out.
func header(feature string, started time.Time) string {
	return fmt.Sprintf("%s\n\nFeature: %s\nStarted: %s\n\n## %s\n\n%s\n\n%s\n",
		markdownTitle, line(feature, maxTitle), stamp(started), patternsTitle, patternsToCome, sectionEnd)
}

// text is the section as it stands in the file. Blocks without entries are left out. It
// is what [ReadMarkdown] makes the same Section of.
func (s Section) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%d - %s\n", iterationHeading, s.Number, stamp(s.Time))
	// A loop without a task has a section all the same: its files and learnings count.
	if task := oneWord(s.Task) + " " + line(s.Title, maxTitle); task != " " {
		fmt.Fprintf(&b, "**Task**: %s\n", strings.TrimSuffix(task, " "))
	}
	for _, st := range shownOutcomes() {
		if st.outcome == s.Status {
			fmt.Fprintf(&b, "**Status**: %s %s\n", st.mark, st.word)
		}
	}
	writeList(&b, "**Files Changed**: \n", s.Files, maxFiles, maxFile)
	writeList(&b, "**Learnings**:\n", s.Learnings, maxLearnings, maxLearning)
	b.WriteString(sectionEnd + "\n")
	return b.String()
}

// writeList writes a list, if there is anything in it, one line for each entry.
func writeList(b *strings.Builder, label string, list []string, entries, size int) {
	var written []string
	for _, text := range list {
		// Entries that are blank once they are cleaned would look like the end of the
		// list, and those that are the same then would be one when it is read.
		if text = line(text, size); text == "" || len(written) == entries || slices.Contains(written, text) {
			continue
		}
		if written = append(written, text); len(written) == 1 {
			b.WriteString(label)
		}
		b.WriteString("- " + text + "\n")
	}
}

// line makes one line of text, of at most limit bytes. Its blanks stay, for a
// file's name may have two in a row.
//
// Line separators of Unicode are line ends to some editors, so they go too. A text that
// is cut shows it.
func line(text string, limit int) string {
	text = strings.TrimSpace(strings.NewReplacer("\n", " ", "\t", " ", "\u2028", " ", "\u2029", " ").Replace(term.Clean(text)))
	if len(text) <= limit {
		return text
	}
	return strings.TrimSpace(cut(text, limit-len("…"))) + "…"
}

// oneWord makes one word of a task's ID, so that it can be told from the title. The
// reader cuts at the first blank.
func oneWord(text string) string { return strings.ReplaceAll(line(text, maxTitle), " ", "_") }

// Learnings returns what an answer says the agent has learned: the entries of
// the list below **Learnings**:, a line "Learnings:" or a heading "Learnings".
// Each is one line of at most 500 bytes without control sequences; there are at
// most 20, the first ones, and none twice.
//
// It is how [Markdown] finds them where a runner does not tell
// [ralph.Response.Learnings]. Labels are matched as agents write them, bold or not, as
// a list item or a heading, and in any case.
func Learnings(answer string) []string {
	var l learned
	for text := range strings.SplitSeq(answer, "\n") {
		l.read(term.Clean(text))
		if len(l.list) == maxLearnings {
			break
		}
	}
	l.add()
	return l.list
}

// learned reads an answer line by line. An entry may go on over several lines, so it is
// known to be whole only when something else begins.
type learned struct {
	list   []string
	entry  string // not complete: lines that are indented may follow
	in     bool   // in a list of learnings
	indent int    // of the label, if it is a list item itself; else -1
	blank  bool   // the line before was blank
}

// read takes a line. The list ends at the first line that is neither an entry nor goes
// on with one, for the answer goes on with other things.
func (l *learned) read(text string) {
	bare := strings.TrimSpace(text)
	indent := len(text) - len(strings.TrimLeft(text, " \t"))
	// A second list of learnings in one answer goes on with the first.
	if rest, item, ok := learningsLabel(bare); ok {
		l.add()
		l.in, l.blank, l.entry, l.indent = true, false, rest, -1
		if item {
			l.indent = indent
		}
		return
	}
	if !l.in {
		return
	}
	item, isItem := listItem(bare)
	switch {
	case bare == "":
		l.blank = true
		return
	// A label that is a list item itself has its entries below it, further in; an item
	// on its own level is the next point of the answer.
	case isItem && indent > l.indent && strings.Trim(bare, "-*_ ") != "":
		l.add()
		l.entry = item
	case !isItem && indent > 0 && !l.blank && l.entry != "":
		// It is cut to that later; more of it need not be held.
		if len(l.entry) <= maxLearning {
			l.entry += " " + bare
		}
	default:
		l.add()
		l.in = false
	}
	l.blank = false
}

// An entry that stands there already is dropped: agents repeat themselves.
func (l *learned) add() {
	text := line(l.entry, maxLearning)
	l.entry = ""
	if nothing(text) {
		return
	}
	if len(l.list) < maxLearnings && !slices.Contains(l.list, text) {
		l.list = append(l.list, text)
	}
}

// learningsLabel reports whether a line says that learnings follow, and returns
// what follows on the same line. Some agents write the label as a list item.
//
// It must be the first word of a label: a sentence that speaks of learnings announces
// no list.
func learningsLabel(text string) (rest string, item, ok bool) {
	if len(text) < len("learnings") {
		return "", false, false
	}
	text, item = listItem(text)
	name, rest, labelled := label(text)
	if bare := strings.TrimLeft(text, "#"); !labelled && len(bare) < len(text) { // a heading
		name, rest, _ = strings.Cut(strings.Trim(bare, " *_"), ":")
		labelled = true
	}
	if !labelled && !item {
		name, rest, labelled = strings.Cut(text, ":")
		labelled = labelled && strings.EqualFold(name, "learnings")
	}
	if !labelled {
		return "", false, false
	}
	first, _, _ := strings.Cut(strings.TrimSpace(name), " ")
	return strings.Trim(rest, " *_"), item, strings.EqualFold(first, "learnings")
}

// label takes apart "**Name**: rest" and "**Name:** rest": agents write both, whatever
// the sections before show them.
func label(text string) (name, rest string, ok bool) {
	text, ok = strings.CutPrefix(text, "**")
	if !ok {
		return "", "", false
	}
	name, rest, ok = strings.Cut(text, "**")
	if !ok {
		return "", "", false
	}
	if inside, found := strings.CutSuffix(name, ":"); found {
		return inside, strings.TrimPrefix(rest, " "), true
	}
	rest, ok = strings.CutPrefix(rest, ":")
	return name, strings.TrimPrefix(rest, " "), ok
}

// listItem returns the text of a list item without its mark; text as it is if it is
// none. A number of more than three digits is a year or a port, and no mark.
func listItem(text string) (string, bool) {
	for _, mark := range []string{"- ", "* ", "+ ", "• "} {
		if rest, ok := strings.CutPrefix(text, mark); ok {
			return strings.TrimSpace(rest), true
		}
	}
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	if rest := text[digits:]; digits > 0 && digits < 4 && (strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") ")) {
		return strings.TrimSpace(rest[2:]), true
	}
	return text, false
}
