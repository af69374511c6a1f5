package tasks

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// An Item is one thing to do: a box of a list, a story of a prd.json, or what a
// task source of your own has.
type Item struct {
	// ID is what the source calls the item, "T001"; "" if it has none.
	ID string `json:"id,omitempty"`
	// Key names the item within its list and stays the same while its text
	// does: the ID, else the text. If that stands in the list more than once,
	// the later ones end in "#2", "#3" and so on.
	Key string `json:"key,omitempty"`
	// Text is the description in one line, without box, ID and markers. Lines
	// that go on below are in Details.
	Text string `json:"text,omitempty"`
	// Phase is the text of the nearest heading above, without the number signs.
	Phase string `json:"phase,omitempty"`
	// Story is what a story marker says: "US1" for [US1]. Several are joined by
	// a comma and a space.
	Story string `json:"story,omitempty"`
	// Parallel says that the item is marked [P]: it touches nothing that other
	// items marked so touch.
	Parallel bool `json:"parallel,omitempty"`
	Done     bool `json:"done,omitempty"`
	Level    int  `json:"level,omitempty"` // how deep the item is nested in list items; 0 = not at all
	Line     int  `json:"line,omitempty"`  // from 1
	// Offset is where the mark is, in bytes from the start of the file: in a
	// list the character between the brackets; in a prd.json the value of
	// passes, or, if there is none, the brace that opens the story.
	Offset int `json:"offset,omitempty"`
	// Acceptance holds a story's acceptance criteria.
	Acceptance []string `json:"acceptance,omitempty"`
	// Details are the lines indented below the item, up to the next item with an
	// ID, or a story's description. At most 4 KiB are kept.
	Details string `json:"details,omitempty"`
	// Priority is a story's: 1 comes before 2; 0 = not given.
	Priority int `json:"priority,omitempty"`
}

// A List is what a Markdown task list holds.
type List struct {
	// Items are the tasks: boxes with an ID.
	Items []Item
	// Others are boxes that are no tasks by the strict rule: those without an
	// ID, and all under a heading like "Success criteria" or "Definition of
	// done" and its subsections. They say how the work is judged, and a loop
	// that waits for them never ends (FAILURES 23).
	Others []Item
}

// All returns the items and the others in the order of the file.
func (l List) All() []Item {
	all := slices.Concat(l.Items, l.Others)
	if len(l.Items) > 0 && len(l.Others) > 0 {
		slices.SortFunc(all, func(a, b Item) int { return a.Offset - b.Offset })
	}
	return all
}

// ParseList reads a Markdown task list, tasks.md. An empty text is an empty
// list; the error is for a text that is not UTF-8.
//
// A box is what GitHub renders as one: a list item ("-", "*", "+", "1." or "1)")
// that begins with "[ ]", "[x]" or "[X]", then a space or a tab, then text. Lists
// may be nested. Nothing is a box in a code block, fenced or indented, in an
// HTML comment, a block quote or front matter. Three rules are not GitHub's: a
// comment that opens in the middle of a line hides the lines up to its end; a tag
// like <details> hides nothing; and "[ ]*" marks an optional task, as Kiro writes
// them, which is one of [List.Others].
//
// A box is a task if its text begins with an ID, in bold or not: T001, T12.3,
// TASK-12, ABC-7a, [T001], "Task 1.1:" (the ID is 1.1), "1.", "2.3.1". AC-1 and
// SC-001 are criteria and no tasks. Markers like [P] and [US1] may follow in any
// order.
func ParseList(text []byte) (List, error) {
	if !utf8.Valid(text) {
		return List{}, notUTF8(text)
	}
	var s scanner
	s.scan(string(text))
	if s.unsorted || len(s.list.Others) > 0 {
		setKeys(s.list)
	}
	return s.list, nil
}

// Tick returns a copy of a list in which the item's box is ticked. It differs in
// one byte; in none if the box is ticked already. The error is for a text in
// which that box is no longer where it was: parse the list again.
func Tick(text []byte, it Item) ([]byte, error) {
	at := it.Offset
	if at < 1 || at+2 >= len(text) || text[at-1] != '[' || text[at+1] != ']' || !isMark(text[at]) {
		return nil, moved(it)
	}
	rest := text[at+2:]
	if n := bytes.IndexAny(rest, "\r\n"); n >= 0 {
		rest = rest[:n]
	}
	now, _ := boxText(string(rest))
	if now == "" {
		return nil, moved(it)
	}
	if is := describe(now); is.ID != it.ID || is.Text != it.Text {
		return nil, moved(it)
	}
	ticked := bytes.Clone(text)
	if ticked[at] == ' ' {
		ticked[at] = 'x'
	}
	return ticked, nil
}

func moved(it Item) error {
	return fmt.Errorf("the box of %q is no longer at line %d: the list has changed since it was read", it.Key, it.Line)
}

// notUTF8 says where a text stops being UTF-8.
func notUTF8(text []byte) error {
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return errors.New("line 1: not UTF-8 but, it seems, UTF-16; save the file as UTF-8")
	}
	line, rest := 1, text
	for {
		n := bytes.IndexByte(rest, '\n')
		if n < 0 || !utf8.Valid(rest[:n]) {
			return fmt.Errorf("line %d: not UTF-8", line)
		}
		line, rest = line+1, rest[n+1:]
	}
}
