package tasks

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/ralph-loop/ralph/internal/doc"
)

// An entry is a story of a prd.json, or a task or a subtask of Taskmaster. The formats
// differ in names more than in what they say, so one reader is enough for both: what it
// takes for what stands in a table of keys.
type entry struct {
	Item
	node  *doc.Node
	order float64 // the priority; smaller comes first
	// what says how far it is, the one that decides first; the others must not
	// contradict it, and are written too where they would
	states []state
	parts  []*entry
	why    Why    // it is no task; "" = it is one
	note   string // what a person should know of it
}

// entryKeys are the keys of an entry that are read, each list the best first, as they
// are written in snake_case. Others are left alone. To read another dialect is to add
// its key to the list of what it means. Known has all of them, for a key that stands
// twice.
type entryKeys struct {
	id, title, text, details, plan, steps, criteria, priority, after, parts, flags, words []string
	known                                                                                 map[string]bool
}

func newEntryKeys() entryKeys {
	k := entryKeys{
		id:       []string{"id"},
		title:    []string{"title", "name", "summary"},
		text:     []string{"feature", "story", "user_story", "task", "requirement", "description", "text"}, // where there is no title
		details:  []string{"description", "details"},
		plan:     []string{"test_strategy"},
		steps:    []string{"steps"},
		criteria: []string{"acceptance_criteria", "acceptance", "criteria"},
		priority: []string{"priority"},
		after:    []string{"dependencies", "depends_on", "blocked_by"},
		parts:    []string{"subtasks", "sub_tasks", "tasks", "stories", "user_stories"},
		flags:    []string{"passes", "passed", "done", "completed", "complete", "is_done"},
		words:    []string{"status", "state"},
		known:    make(map[string]bool),
	}
	// A key that is read must not stand twice; of others that is nobody's concern.
	for _, keys := range [][]string{k.id, k.title, k.text, k.details, k.plan, k.steps, k.criteria, k.priority, k.after, k.parts, k.flags, k.words} {
		for _, key := range keys {
			k.known[key] = true
		}
	}
	return k
}

// snake is a key as snake_case writes it: userStories is user_stories, ID is id, and
// "is-done" is is_done. The files are written by models from examples, which differ in
// this.
func snake(key string) string {
	var b strings.Builder
	lower := false // the last one
	for _, r := range key {
		switch {
		case r == '-' || r == ' ':
			r = '_'
		case unicode.IsUpper(r) && lower:
			b.WriteByte('_')
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// A field is a member of an entry. The key is kept as the file has it, so that errors
// name it as it stands there.
type field struct {
	key   string // as it is written
	value *doc.Node
}

// members are the members of an object, by their keys in snake_case. Of two with one
// name the first counts.
type members map[string]field

// first is the first of the keys that is there, whatever its value is.
func (m members) first(keys []string) (f field, ok bool) {
	for _, key := range keys {
		if f, ok = m[key]; ok {
			return f, true
		}
	}
	return field{}, false
}

// firstText is the first of the keys under which there is a text that is not blank. One
// that is there and empty is a form that nobody has filled in, and must not hide the
// next.
func (m members) firstText(keys []string) (key string, f field) {
	for _, key := range keys {
		if f := m[key]; f.value != nil && f.value.Kind == doc.Text && strings.TrimSpace(f.value.Text) != "" {
			return key, f
		}
	}
	return "", field{}
}

// entryOf reads an object, as a part of another one if whole is not nil. It goes on
// after a mistake, so that what it returns is whole; the first mistake is kept in p.
// Keys that differ in how they are written alone are one key: a file with "userStories"
// and "user_stories" is read by one tool in one way and by the next in another, so a
// second one is a mistake.
func (p *jsonText) entryOf(n *doc.Node, whole *entry) *entry {
	e := &entry{node: n, order: math.Inf(1)}
	e.Line, e.Phase = p.Line(n), p.phase
	e.Offset = n.Start
	if n.Kind != doc.Map {
		p.want(p.list, "a "+p.what+", which is an object", n)
		return e
	}
	m := make(members)
	for i, key := range n.Keys {
		name := snake(key.Text)
		if _, again := m[name]; again && p.keys.known[name] {
			p.fail(key, "a second %q in one %s", key.Text, p.what)
		} else if !again {
			m[name] = field{key.Text, n.Items[i]}
		}
	}
	p.name(e, m, whole)
	p.describe(e, m)
	if f, ok := m.first(p.keys.priority); ok {
		if e.order = p.priority(f.key, f.value); math.Abs(e.order) <= math.MaxInt32 {
			e.Priority = int(e.order)
		}
	}
	e.After = p.after(m)
	p.readState(e, m)
	p.readParts(e, m)
	return e
}

// name reads the id of an entry and its text. A number is an id as it is written.
// Without a title the description is the text, in one line; without either there is
// nothing to ask an agent for, which is an error that only the file's author can mend.
func (p *jsonText) name(e *entry, m members, whole *entry) {
	if f, ok := m.first(p.keys.id); ok {
		if e.ID = f.value.Text; !numeric(f.value) {
			e.ID = oneLine(p.text(f.key, f.value))
		}
		if e.ID == "" {
			p.fail(e.node, "a %s without an id", p.what)
		}
	}
	if whole != nil {
		e.Parent, e.Level = whole.Key, whole.Level+1
		e.ID = below(whole.ID, e.ID)
	}
	// A title of the wrong type is a mistake. "name" and "summary" may be anything.
	if f, ok := m["title"]; ok {
		e.Text = oneLine(p.text(f.key, f.value))
	}
	if _, f := m.firstText(p.keys.title); e.Text == "" && f.value != nil {
		e.Text = oneLine(f.value.Text)
	}
	if key, f := m.firstText(p.keys.text); e.Text == "" && f.value != nil {
		e.Text = oneLine(f.value.Text)
		delete(m, key) // it need not be told twice
	}
	switch {
	case e.Text != "":
	case e.ID == "":
		p.fail(e.node, "a %s without an id, a title and a description", p.what)
	default:
		p.fail(e.node, "the %s %q has no title", p.what, e.ID)
	}
	e.Key = cmp.Or(e.ID, e.Text)
}

// below is the ID of a part: 5.1 for the part 1 of 5. One that is more than a number is
// that of the part itself: to call it 5.US-1 would be a name that stands nowhere in the
// file.
func below(whole, id string) string {
	if whole == "" || id == "" || strings.HasPrefix(id, whole+".") || strings.Trim(id, "0123456789.") != "" {
		return id
	}
	return whole + "." + id
}

// describe reads what else is to be told of an entry. The plan of its tests and the
// steps come last and are bounded first, so that a long description cannot push out how
// the work is judged.
func (p *jsonText) describe(e *entry, m members) {
	var texts []string
	// Two keys may hold the same text, as where a tool has copied the one to the other.
	for _, key := range p.keys.details {
		f, ok := m[key]
		if !ok || f.value.Kind == doc.Null || f.value.Kind != doc.Text && key != "description" {
			continue
		}
		if text := strings.TrimSpace(p.text(f.key, f.value)); text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	var rest []string
	if _, f := m.firstText(p.keys.plan); f.value != nil {
		rest = append(rest, "Test strategy: "+clipText(strings.TrimSpace(f.value.Text), maxDetails/2))
	}
	if f, ok := m.first(p.keys.criteria); ok {
		e.Acceptance = p.criteria(f.key, f.value)
	}
	if f, ok := m.first(p.keys.steps); ok && (f.value.Kind == doc.List || f.value.Kind == doc.Text) {
		if steps := p.criteria(f.key, f.value); e.Acceptance == nil {
			e.Acceptance = steps
		} else if len(steps) > 0 {
			rest = append(rest, clipText("Steps:\n- "+strings.Join(steps, "\n- "), maxDetails/4))
		}
	}
	end := strings.Join(rest, "\n\n")
	e.Details = clipText(strings.Join(texts, "\n\n"), maxDetails-len(end)-len("\n\n"))
	e.Details = strings.TrimSpace(e.Details + "\n\n" + end)
}

// readParts reads the entries that an entry is made of: a list of objects, of which at
// least one says how far it is. Other lists under these keys, such as texts that name
// steps, are nobody's tasks: they could never be done.
func (p *jsonText) readParts(e *entry, m members) {
	for _, key := range p.keys.parts {
		f := m[key]
		if f.value == nil || f.value.Kind != doc.List || !slices.ContainsFunc(f.value.Items, p.hasState) {
			continue
		}
		for _, n := range f.value.Items {
			e.parts = append(e.parts, p.entryOf(n, e))
		}
	}
}

// hasState reports whether an object says how far it is. By this a list of parts is
// told from one of notes, whose objects are nobody's tasks.
func (p *jsonText) hasState(n *doc.Node) bool {
	return n.Kind == doc.Map && slices.ContainsFunc(n.Keys, func(key *doc.Node) bool {
		name := snake(key.Text)
		return slices.Contains(p.keys.flags, name) || slices.Contains(p.keys.words, name)
	})
}

// read reads the entries of a list, and appends them to what has been read.
func (p *jsonText) read(n *doc.Node) {
	if n.Kind != doc.List {
		p.want(p.list, "a list of "+plural(p.what), n)
	}
	for _, item := range n.Items {
		p.entries = append(p.entries, p.entryOf(item, nil))
	}
}

// plural is more than one of what the format calls its entries, for errors.
func plural(what string) string {
	if stem, ok := strings.CutSuffix(what, "y"); ok {
		return stem + "ies"
	}
	return what + "s"
}

// written are entries and their parts, in the order of the file, each before its parts.
func written(entries []*entry) iter.Seq[*entry] {
	return func(yield func(*entry) bool) { visit(entries, yield) }
}

// visit yields entries and their parts until yield returns false, which it returns
// then.
func visit(entries []*entry, yield func(*entry) bool) bool {
	for _, e := range entries {
		if !yield(e) || !visit(e.parts, yield) {
			return false
		}
	}
	return true
}

// working are the tasks among entries, sorted, the parts of each before it. The sort is
// stable: the order of the file decides where nothing else does.
func working(entries []*entry, compare func(a, b *entry) int) (items []Item) {
	for _, e := range slices.SortedStableFunc(slices.Values(entries), compare) {
		items = append(items, working(e.parts, compare)...)
		if e.why == "" {
			items = append(items, e.Item)
		}
	}
	return items
}

// byPriority compares entries by their priority; those without one come last, since an
// author who gives some has thought about those.
func byPriority(a, b *entry) int { return cmp.Compare(a.order, b.order) }
