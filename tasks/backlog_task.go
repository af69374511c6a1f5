package tasks

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/internal/status"
)

// task reads a file. One without front matter, or without an id in it, is no task, and
// none that is an error: people keep notes and templates beside their tasks. Its name
// stands for its text then.
func (f *backlogFolder) task(name string, text []byte) *backlogTask {
	t := &backlogTask{name: name, moved: strings.HasPrefix(name, "completed/"), ordinal: math.Inf(1), order: math.Inf(1)}
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
		base := path.Base(name)
		t.ID, t.why, t.Text, t.Key = "", WhyNoFront, base, base
		return t
	}
	t.Key, t.Line = t.ID, id.line
	// A file without a title is a task all the same; only its name is poor.
	t.Text = cmp.Or(head.value("title"), t.ID)
	t.Parent, t.After = head.value("parent_task_id"), head.values("dependencies")
	t.order = priorityOf(head.value("priority"))
	if math.Abs(t.order) <= math.MaxInt32 {
		t.Priority = int(t.order)
	}
	if ordinal, err := strconv.ParseFloat(head.value("ordinal"), 64); err == nil {
		t.ordinal = ordinal
	}
	if at, ok := head.entry("status"); ok {
		t.Offset = at.from
	}
	f.state(t, head.value("status"))
	// It was put away, and says that it is open. Neither is certain; to work on what
	// somebody has put away would be worse.
	if t.moved && !t.Done && t.why == "" {
		t.why, t.note = WhySkipped, fmt.Sprintf("it is in the folder completed, but its status is %s", strconv.Quote(head.value("status")))
	}
	t.describe(text[head.body:])
	return t
}

// state reads how far a task is. A word that is not known is open, and noted: to take
// it for done would lose a task.
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
	t.note = f.notes.of(word, is, known)
}

// describe reads the sections of a file. What was noted while the task was worked on is
// left alone: it is about an earlier attempt, and would be taken for what is asked for.
// The plan gets half of the room at most, so that it does not push out the description.
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

// A backlogSection is a heading of the second level and the lines below it. Its lines
// are without their line ends.
type backlogSection struct {
	title string
	lines []string
}

// sectionsOf are the sections of a file; the first is what stands before any heading.
// What stands between the marks of a section ("<!-- SECTION:PLAN:BEGIN -->"), or in a
// block of code, is within that, headings or not: Backlog.md writes the marks so that a
// plan may have headings of its own.
func sectionsOf(body []byte) []backlogSection {
	all, marked, fence := []backlogSection{{}}, "", ""
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
			all = append(all, backlogSection{title: strings.TrimSpace(heading)})
			continue
		}
		last := &all[len(all)-1]
		last.lines = append(last.lines, line)
	}
	return all
}

// markOf is what a comment says that is a line of its own, and whether the line is one.
func markOf(line string) (string, bool) {
	mark, begins := strings.CutPrefix(line, "<!-- ")
	mark, ends := strings.CutSuffix(mark, " -->")
	return mark, begins && ends
}

// criteriaOf are the boxes among lines, without their numbers ("#1"), which are
// Backlog.md's for its commands; what is indented below one goes on with it. Ticked
// ones are among them: each iteration sees all that the task is judged by.
func criteriaOf(lines []string) (all []string) {
	for _, line := range lines {
		text := strings.TrimSpace(line)
		box, _ := boxText(trimBlanks(strings.TrimPrefix(text, bulletOf(text))))
		if box == "" {
			if n := len(all) - 1; n >= 0 && text != "" && isBlank(line[0]) {
				all[n] += " " + text
			}
			continue
		}
		if rest, ok := strings.CutPrefix(box, "#"); ok {
			box = strings.TrimSpace(strings.TrimLeft(rest, "0123456789"))
		}
		all = append(all, box)
	}
	return all
}

// ids are the keys of tasks by how their ids may be written. Names are whole ids,
// bodies are without the prefix.
type ids struct{ names, bodies map[string]string }

// key is the key of the task that is meant by an id; "" = there is none. An id may be
// written in another case, without its prefix, with zeros before its numbers, or with the
// prefix of before the project chose one of its own. Backlog.md takes all of these for
// one id, and people type the short forms.
func (x ids) key(id string) string {
	name := canonical(id)
	if key := x.names[name]; key != "" {
		return key
	}
	// A prefix that is neither the project's nor the usual one is that of another
	// project, and the number says nothing here.
	if prefix := strings.TrimSuffix(name, bodyOf(name)); prefix == "" || prefix == "task-" {
		return x.bodies[bodyOf(name)]
	}
	return ""
}

// identify gives tasks their keys: the id, and for a second file with one id, as a copy
// or a merge leaves it, the id and a number. To refuse the folder would keep all other
// tasks from being worked on.
func (f *backlogFolder) identify() ids {
	x := ids{make(map[string]string), make(map[string]string)}
	given := make(givenKeys)
	for _, t := range f.tasks {
		if t.why == WhyNoFront {
			continue
		}
		if t.Key = given.next(t.ID); t.Key != t.ID {
			t.note = "another file has the same id"
		}
		name := canonical(t.ID)
		x.names[name] = cmp.Or(x.names[name], t.Key)
		x.bodies[bodyOf(name)] = cmp.Or(x.bodies[bodyOf(name)], t.Key)
	}
	return x
}

// link finds the keys of what tasks are parts of, and come after. An id that cannot be
// found stays in After as it is written, for Check to tell; a parent that cannot be
// found is none.
func (f *backlogFolder) link() {
	x, known := f.identify(), make(map[string]*backlogTask)
	for _, t := range f.tasks { // a task comes before its parts
		known[t.Key] = t
		for i, id := range t.After {
			t.After[i] = cmp.Or(x.key(id), id)
		}
		// task-2.1 is a part of task-2 for Backlog.md also where no parent is given.
		if i := strings.LastIndexByte(t.ID, '.'); t.Parent == "" && i > 0 {
			t.Parent = t.ID[:i]
		}
		if t.Parent = x.key(t.Parent); t.Parent == t.Key {
			t.Parent = ""
		}
		if whole := known[t.Parent]; whole != nil && math.IsInf(t.ordinal, 1) { // its turn is theirs
			t.ordinal, t.order = whole.ordinal, min(t.order, whole.order)
		}
	}
}

// canonical is an id in lower case, without zeros before its numbers: TASK-007 is
// task-7.
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

// bodyOf is an id without the letters and the hyphen before its first number: 2.10 of
// task-2.10.
func bodyOf(id string) string {
	if i := strings.IndexFunc(id, unicode.IsDigit); i > 0 && id[i-1] == '-' {
		return id[i:]
	}
	return id
}

// numbersOf are the numbers of an id: 2, 10 of task-2.10. They are compared as numbers,
// so that task-10 stands behind task-2.
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
