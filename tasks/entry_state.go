package tasks

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph/internal/doc"
	"github.com/ralph-loop/ralph/internal/status"
)

// A state is a member that says how far an entry is. An entry may have several:
// "passes" and "status", where one tool has added its own to the file of another.
type state struct {
	key   string // as it is written
	value *doc.Node
	flag  bool // it is true or false, else a word
	is    status.Status
}

// readState finds out how far an entry is. The first key of the table that is there
// decides: flags before words, and what is not null before what is. That another one
// says done where it does not is an error; that it does not say so yet is none, since
// one value is all that loops write.
//
// An error, and no rule, since both rules are wrong: to take the entry for done may
// lose it, and to take it for open may pay for it twice.
func (p *jsonText) readState(e *entry, m members) {
	for _, key := range slices.Concat(p.keys.flags, p.keys.words) {
		f, ok := m[key]
		if !ok {
			continue
		}
		s := state{key: f.key, value: f.value, flag: slices.Contains(p.keys.flags, key)}
		switch {
		case f.value.Kind == doc.Null:
		case s.flag && f.value.Kind == doc.Bool:
			if f.value.Text == "true" {
				s.is = status.Done
			}
		case !s.flag && f.value.Kind == doc.Text:
			s.is = p.word(e, f.value.Text)
		case key != "passes" && p.others(m, key): // it is about something else, such as when it was done
			continue
		case s.flag:
			p.want(f.key, "true or false", f.value)
		default:
			p.want(f.key, "a text", f.value)
		}
		e.states = append(e.states, s)
	}
	// A null is what generators write for "not yet": it decides only where nothing else
	// does.
	if said := slices.DeleteFunc(slices.Clone(e.states), func(s state) bool { return s.value.Kind == doc.Null }); len(said) > 0 {
		e.states = said
	}
	if len(e.states) == 0 {
		return
	}
	first := e.states[0]
	e.Offset, e.Done = first.value.Start, first.is == status.Done
	p.stateKey = cmp.Or(p.stateKey, first.key)
	// Each is weighed against the one that decides.
	for _, s := range e.states {
		p.weigh(e, s)
	}
}

// others reports whether another key says how far an entry is. Then this one may hold
// anything, such as the date under "completed"; alone it must be what it seems.
func (p *jsonText) others(m members, key string) bool {
	return slices.ContainsFunc(slices.Concat(p.keys.flags, p.keys.words), func(other string) bool {
		return other != key && m[other].value != nil
	})
}

// word is what the word of a status means. The first word for done that the file has is
// what a tick will write, so that it looks like the others.
func (p *jsonText) word(e *entry, word string) status.Status {
	is, known := status.Of(word)
	if is == status.Done {
		p.doneWord = cmp.Or(p.doneWord, word)
	}
	e.note = cmp.Or(p.notes.of(word, is, known), e.note)
	return is
}

// statusNotes are what a person should know of the words of statuses. Not for
// concurrent use: each reading has its own.
type statusNotes map[string]string

// of is the note on a word; "" = there is nothing to say. What a word means is the same
// each time: it is looked up once.
func (s statusNotes) of(word string, is status.Status, known bool) string {
	note, again := s[word]
	if !again {
		note = statusNote(oneLine(word), is, known)
		s[word] = note
	}
	return note
}

// statusNote is what a person should know of a word: that it is not known, or that an
// entry counts as open of which it says something else.
func statusNote(word string, is status.Status, known bool) string {
	switch {
	case !known && word != "":
		note := fmt.Sprintf("its status %s is not known, and taken for open", doc.Quote(word))
		if meant := status.Nearest(word); meant != "" {
			note += fmt.Sprintf("; is %q meant?", meant)
		}
		return note
	case is == status.Failed, strings.EqualFold(word, "blocked"):
		return fmt.Sprintf("its status is %s, and it is open", doc.Quote(word))
	}
	return ""
}

// weigh takes over what one of the states of an entry says, beside the first. Between
// two that say open in different words there is no contradiction: skipped goes before
// begun, for nobody is to do it.
func (p *jsonText) weigh(e *entry, s state) {
	first := e.states[0]
	quote := func(s state) string {
		if s.value.Kind == doc.Text {
			return doc.Quote(s.value.Text)
		}
		return s.value.Text
	}
	switch {
	case s.is == status.Done && !e.Done || s.flag && s.is != status.Done && e.Done && first.flag:
		p.fail(s.value, "the %s %q contradicts itself: %q is %s, and %q is %s: make them say the same", p.what, e.Key, first.key, quote(first), s.key, quote(s))
	case s.is == status.Done:
	case e.Done:
		e.note = fmt.Sprintf("%q is %s, and so it is done, although %q is %s", first.key, quote(first), s.key, quote(s))
	case s.is == status.Skipped:
		e.why, e.note = WhySkipped, fmt.Sprintf("%q is %s", s.key, quote(s))
	case s.is == status.Doing:
		e.Doing = true
	}
}

// settle gives entries their keys, finds what they come after, and takes out the parts
// of what is not to be done, or is. It comes last, when all ids are known: an entry may
// name one that stands below it.
func (p *jsonText) settle() {
	lines, given := p.lines(), make(givenKeys)
	for _, named := range [...]bool{true, false} { // an id goes before a text
		for e := range written(p.entries) {
			if named == (e.ID != "") {
				e.Key = given.next(e.Key)
			}
		}
	}
	for e := range written(p.entries) {
		for _, part := range e.parts {
			part.belongs(e, lines)
		}
	}
}

// lines are where the ids stand, which are there once. Two of one id are an error,
// since a tick would not know which; where the tool itself writes them it is a note,
// and the second has a key with a number.
func (p *jsonText) lines() map[string]int {
	lines := make(map[string]int)
	for e := range written(p.entries) {
		line, again := lines[e.ID]
		switch {
		case e.ID == "":
		case !again:
			lines[e.ID] = e.Line
		case p.twins:
			e.note = fmt.Sprintf("the %s in line %d has the same id", p.what, line)
		default:
			p.fail(e.node, "the %s %q stands in line %d already: each needs an id of its own", p.what, e.ID, line)
		}
	}
	return lines
}

// belongs says what follows for an entry from what it is a part of. Open parts of what
// is done are not worked on: who says that the whole is done has decided about them.
func (e *entry) belongs(whole *entry, lines map[string]int) {
	e.Parent = whole.Key
	for i, id := range e.After { // what is beside it comes before what is at the top
		if beside := below(whole.ID, id); !strings.Contains(id, ".") && (lines[beside] > 0 || lines[id] == 0) {
			e.After[i] = beside
		}
	}
	switch {
	case e.Done || e.why != "":
	case whole.why != "":
		e.why, e.note = whole.why, "it is a part of "+whole.Key+": "+whole.note
	case whole.Done:
		e.why, e.note = WhySkipped, "it is a part of "+whole.Key+", which is done"
	}
}

// finding says of an entry whether it is a task. Waits are the items that it waits for.
// What it comes after and nobody will do is told, for it is the one thing that looks
// like an order and is none.
func (e *entry) finding(all map[string]*entry, waits []Item) Finding {
	f := Finding{Item: e.Item, Why: e.why, Detail: e.note}
	f.wait(waits)
	var details []string
	if !e.Done && e.why == "" {
		for _, key := range e.After {
			is := "not there"
			if other := all[key]; other != nil && other.why == "" {
				continue
			} else if other != nil {
				is = "no task"
			}
			details = append(details, fmt.Sprintf("it comes after %s, which is %s: not waited for", doc.Quote(key), is))
		}
	}
	f.Detail = joined(f.Detail, strings.Join(details, "; "))
	return f
}

// tick returns a copy of the text in which an entry is done. Bytes are replaced where
// they stand, and nothing is written anew: the file keeps its indentation, its order of
// keys and its numbers as they are. Values are replaced from the last to the first, so
// that offsets stay right.
func (p *jsonText) tick(e *entry) ([]byte, error) {
	if e.Done {
		return bytes.Clone(p.Text), nil
	}
	key, done := p.how(e)
	// Nothing says how far it is: what does so in other entries is added at its end.
	if len(e.states) == 0 {
		last := e.node.Keys[len(e.node.Keys)-1].Text
		ticked, ok := p.Set(e.node, last, key, done)
		if !ok {
			return nil, fmt.Errorf("tasks: %q of the %s %q cannot be changed in place", key, p.what, e.Key)
		}
		return ticked.Text, nil
	}
	text := bytes.Clone(p.Text)
	states := slices.Clone(e.states)
	slices.SortFunc(states, func(a, b state) int { return b.value.Start - a.value.Start })
	for _, s := range states {
		if s.key == key || s.flag && s.is != status.Done { // flags that differ would contradict each other
			text = slices.Replace(text, s.value.Start, s.value.End, done.JSON()...)
		}
	}
	return text, nil
}

// how is the member that is written to make an entry done: the one that decides now, or
// for an entry without any that of the others, or "passes".
func (p *jsonText) how(e *entry) (key string, done *doc.Node) {
	key = cmp.Or(p.stateKey, "passes")
	if len(e.states) > 0 {
		key = e.states[0].key
	}
	if slices.Contains(p.keys.words, snake(key)) {
		return key, doc.String(cmp.Or(p.doneWord, "done"))
	}
	return key, &doc.Node{Kind: doc.Bool, Text: "true", Start: -1}
}

// howDone is HowDone of a source whose text is JSON. A text that cannot be read, or an
// item that is not in it, leaves the usual way.
func (parse jsonReader) howDone(path, what string, text []byte, it Item) string {
	key, done := "passes", "true"
	if what == "task" {
		key, done = "status", `"done"`
	}
	if p, err := parse(text); err == nil {
		for e := range written(p.entries) {
			if e.Key == it.Key {
				k, value := p.how(e)
				key, done = k, string(value.JSON())
			}
		}
	}
	name := strconv.Quote(cmp.Or(it.ID, it.Key))
	if it.ID != "" && it.ID != it.Key {
		name += fmt.Sprintf(" (%s)", it.Text)
	}
	return fmt.Sprintf("set %q of the %s %s to %s in %s", key, what, name, done, path)
}
