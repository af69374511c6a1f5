package tasks

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/internal/status"
)

// task reads a file. One without front matter, or without an id in it, is no task.
func (f *backlogFolder) task(name string, text []byte) *backlogTask {
	t := &backlogTask{name: name, order: math.Inf(1)}
	t.Line = 1
	head, ok := readFront(text)
	id, there := head.entry("id")
	switch t.ID = head.value("id"); {
	case !utf8.Valid(text):
		ok, t.note = false, "it is not UTF-8"
	case !ok:
		t.note = "it has no front matter"
	case !there || t.ID == "":
		ok, t.note = false, "its front matter has no id"
	}
	if !ok {
		t.ID, t.why, t.Text, t.Key = "", WhyNoFront, name, name
		return t
	}
	t.Key, t.Line = t.ID, id.line
	t.Text = cmp.Or(head.value("title"), t.ID)
	t.Parent, t.After = head.value("parent_task_id"), head.values("dependencies")
	t.order = priorityOf(head.value("priority"))
	if math.Abs(t.order) <= math.MaxInt32 {
		t.Priority = int(t.order)
	}
	if ordinal, err := strconv.ParseFloat(head.value("ordinal"), 64); err == nil {
		t.ordinal = &ordinal
	}
	if at, ok := head.entry("status"); ok {
		t.Offset = at.from
	}
	f.state(t, head.value("status"))
	t.describe(text[head.body:])
	return t
}

// state reads how far a task is.
func (f *backlogFolder) state(t *backlogTask, word string) {
	is, known := f.meaning(word)
	switch is {
	case status.Done:
		t.Done = true
	case status.Doing:
		t.Doing = true
	case status.Skipped:
		t.why, t.note = WhySkipped, "its status is "+strconv.Quote(word)
		return
	}
	t.note = statusNote(word, is, known)
}

// describe reads the sections of a file. What was noted while the task was worked on is
// left alone.
func (t *backlogTask) describe(body []byte) {
	var details, plan string
	for _, s := range sectionsOf(body) {
		text := strings.TrimSpace(strings.Join(s.lines, "\n"))
		switch name := strings.ToLower(strings.TrimSpace(strings.TrimSuffix(s.title, "(Optional)"))); {
		case name == "acceptance criteria", name == "definition of done":
			t.Acceptance = append(t.Acceptance, criteriaOf(s.lines)...)
		case text == "", slices.Contains([]string{"implementation notes", "notes", "comments", "final summary"}, name):
		case name == "implementation plan":
			plan = clipText("Implementation plan:\n"+text, maxDetails/2)
		case name == "", name == "description":
			details += text + "\n\n"
		default:
			details += s.title + ":\n" + text + "\n\n"
		}
	}
	details = clipText(strings.TrimSpace(details), maxDetails-len(plan)-len("\n\n"))
	t.Details = strings.TrimSpace(details + "\n\n" + plan)
}

// A section is a heading of the second level and the lines below it.
type section struct {
	title string
	lines []string
}

// sectionsOf are the sections of a file; the first is what stands before any heading.
// What stands between the marks of a section ("<!-- SECTION:PLAN:BEGIN -->"), or in a
// block of code, is within that, headings or not.
func sectionsOf(body []byte) []section {
	all, marked, fence := []section{{}}, "", ""
	for row := range bytes.Lines(body) {
		line := strings.TrimRight(string(row), " \t\r\n")
		trimmed := strings.TrimSpace(line)
		if mark, ok := markOf(trimmed); ok {
			switch begun, begins := strings.CutSuffix(mark, ":BEGIN"); {
			case begins && marked == "":
				marked = begun
				continue
			case marked != "" && mark == marked+":END":
				marked = ""
				continue
			}
		}
		switch {
		case fence != "" && strings.HasPrefix(trimmed, fence):
			fence = ""
		case fence == "" && (strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~")):
			fence = trimmed[:3]
		}
		if heading, ok := strings.CutPrefix(line, "## "); ok && marked == "" && fence == "" {
			all = append(all, section{title: strings.TrimSpace(heading)})
			continue
		}
		last := &all[len(all)-1]
		last.lines = append(last.lines, line)
	}
	return all
}

// markOf is what a comment says that is a line of its own.
func markOf(line string) (string, bool) {
	mark, begins := strings.CutPrefix(line, "<!-- ")
	mark, ends := strings.CutSuffix(mark, " -->")
	return mark, begins && ends
}

// criteriaOf are the boxes among lines, without their numbers ("#1"); what is indented
// below one goes on with it.
func criteriaOf(lines []string) (all []string) {
	for _, line := range lines {
		text := strings.TrimSpace(line)
		if !isBox(text) {
			if n := len(all) - 1; n >= 0 && text != "" && isBlank(line[0]) {
				all[n] += " " + text
			}
			continue
		}
		text = strings.TrimSpace(text[len("- [ ]"):])
		if rest, ok := strings.CutPrefix(text, "#"); ok {
			text = strings.TrimSpace(strings.TrimLeft(rest, "0123456789"))
		}
		all = append(all, text)
	}
	return all
}

// isBox reports whether a line is a box of a list.
func isBox(text string) bool {
	return len(text) > len("- [ ]") && strings.ContainsRune("-*+", rune(text[0])) && text[1:3] == " [" && strings.ContainsRune(" xX", rune(text[3])) && text[4] == ']'
}

// link gives tasks their keys, and finds the keys of those that they name.
func (f *backlogFolder) link() {
	keys, bodies := make(map[string]string), make(map[string]string)
	taken := make(map[string]int)
	for _, t := range f.tasks {
		if t.why == WhyNoFront {
			continue
		}
		for taken[t.Key] > 0 || taken[t.ID] > 0 && t.Key == t.ID {
			taken[t.ID]++
			t.Key = t.ID + "#" + strconv.Itoa(taken[t.ID])
			t.note = "another file has the same id"
		}
		taken[t.Key] = max(taken[t.Key], 1)
		name := canonical(t.ID)
		if keys[name] == "" {
			keys[name] = t.Key
		}
		if body := bodyOf(name); bodies[body] == "" {
			bodies[body] = t.Key
		}
	}
	// An id may be written in another case, without its prefix, with zeros before its
	// numbers, or with the prefix of before the project chose one of its own.
	find := func(id string) string {
		name := canonical(id)
		if key := keys[name]; key != "" {
			return key
		}
		if prefix := strings.TrimSuffix(name, bodyOf(name)); prefix == "" || prefix == "task-" {
			return bodies[bodyOf(name)]
		}
		return ""
	}
	whole := make(map[string]*backlogTask)
	for _, t := range f.tasks { // a task comes before its parts
		whole[t.Key] = t
		for i, id := range t.After {
			t.After[i] = cmp.Or(find(id), id)
		}
		if t.Parent == "" {
			if i := strings.LastIndexByte(t.ID, '.'); i > 0 {
				t.Parent = t.ID[:i]
			}
		}
		if t.Parent = find(t.Parent); t.Parent == t.Key {
			t.Parent = ""
		}
		if of := whole[t.Parent]; of != nil && t.ordinal == nil {
			t.ordinal, t.order = of.ordinal, min(t.order, of.order) // its turn is theirs
		}
	}
}

// canonical is an id in lower case, without zeros before its numbers.
func canonical(id string) string {
	digit := func(i int) bool { return i >= 0 && i < len(id) && id[i] >= '0' && id[i] <= '9' }
	var b strings.Builder
	begun := false // a number, by a digit that counts
	for i := range len(id) {
		if id[i] == '0' && !begun && digit(i+1) {
			continue
		}
		begun = digit(i)
		b.WriteByte(id[i])
	}
	return strings.ToLower(b.String())
}

// bodyOf is an id without the letters and the hyphen before its first number.
func bodyOf(id string) string {
	if i := strings.IndexFunc(id, unicode.IsDigit); i > 0 && id[i-1] == '-' {
		return id[i:]
	}
	return id
}

// numbersOf are the numbers of an id: 2, 10 of task-2.10.
func numbersOf(id string) (numbers []int) {
	for part := range strings.SplitSeq(bodyOf(id), ".") {
		number, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		numbers = append(numbers, number)
	}
	return numbers
}
