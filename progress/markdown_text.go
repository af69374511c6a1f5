package progress

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/term"
)

// What is written at most. Agents' words are not trusted: each entry is one
// line, so that it cannot look like a section or its end.
const (
	maxFiles     = 200
	maxFile      = 4 << 10
	maxTitle     = 1 << 10
	maxLearnings = 20
	maxLearning  = 500
)

const (
	markdownTitle    = "# Ralph Progress Log"
	patternsTitle    = "Codebase Patterns"
	patternsToCome   = "[Patterns discovered during implementation - updated by agent]"
	iterationHeading = "## Iteration "
	sectionEnd       = "---"
)

// A shownOutcome is how an outcome is shown.
type shownOutcome struct {
	outcome    ralph.Outcome
	mark, word string
}

func shownOutcomes() [3]shownOutcome {
	return [3]shownOutcome{
		{ralph.OutcomeSuccess, "✅", "Completed"},
		{ralph.OutcomeFailure, "❌", "Failed"},
		{ralph.OutcomeSkipped, "⏭️", "Skipped"},
	}
}

// header begins a new file.
func header(feature string, started time.Time) string {
	return fmt.Sprintf("%s\n\nFeature: %s\nStarted: %s\n\n## %s\n\n%s\n\n%s\n",
		markdownTitle, line(feature, maxTitle), stamp(started), patternsTitle, patternsToCome, sectionEnd)
}

// text is the section as it stands in the file. Blocks without entries are left
// out.
func (s Section) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%d - %s\n", iterationHeading, s.Number, stamp(s.Time))
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

func writeList(b *strings.Builder, label string, list []string, entries, size int) {
	n := 0
	for _, text := range list {
		if text = line(text, size); text == "" || n == entries {
			continue
		}
		if n++; n == 1 {
			b.WriteString(label)
		}
		b.WriteString("- " + text + "\n")
	}
}

// line makes one line of text, of at most limit bytes. Its blanks stay, for a
// file's name may have two in a row.
func line(text string, limit int) string {
	text = strings.TrimSpace(strings.NewReplacer("\n", " ", "\t", " ", "\u2028", " ", "\u2029", " ").Replace(term.Clean(text)))
	if len(text) <= limit {
		return text
	}
	n := limit - len("…")
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return strings.TrimSpace(text[:n]) + "…"
}

// oneWord makes one word of a task's ID, so that it can be told from the title.
func oneWord(text string) string { return strings.ReplaceAll(line(text, maxTitle), " ", "_") }

// Learnings returns what an answer says the agent has learned: the entries of
// the list below **Learnings**:, a line "Learnings:" or a heading "Learnings".
// Each is one line of at most 500 bytes without control sequences; there are at
// most 20, the first ones, and none twice.
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

// learned reads an answer line by line.
type learned struct {
	list   []string
	entry  string // not complete: lines that are indented may follow
	in     bool   // in a list of learnings
	indent int    // of the label, if it is a list item itself; else -1
	blank  bool   // the line before was blank
}

func (l *learned) read(text string) {
	bare := strings.TrimSpace(text)
	indent := len(text) - len(strings.TrimLeft(text, " \t"))
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
	case isItem && indent > l.indent && strings.Trim(bare, "-*_ ") != "":
		l.add()
		l.entry = item
	case !isItem && indent > 0 && !l.blank && l.entry != "":
		if len(l.entry) <= maxLearning {
			l.entry += " " + bare
		}
	default:
		l.add()
		l.in = false
	}
	l.blank = false
}

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

// label takes apart "**Name**: rest" and "**Name:** rest".
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

// listItem returns the text of a list item without its mark; text as it is if
// it is none.
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
