package tasks

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

const (
	// bytes of a list, since a box notes offsets in 32 bits, which halves the memory
	// that a long list takes
	maxList = math.MaxInt32
	// bytes that are worth a goroutine
	minChunk = 64 << 10
)

// parse reads a list, on as many goroutines as there are processors. Boxes that are no
// tasks for a reason that is taken are tasks too.
func parse(text []byte, taken map[Why]bool) (List, error) {
	return parseIn(text, taken, max(minChunk, len(text)/runtime.GOMAXPROCS(0)))
}

// parseIn is parse in chunks of this size at least. Whether a box is a task depends on
// the IDs of the whole list, so it takes three passes: the chunks are scanned, what
// their IDs are like is added up, and then each box is decided and read. The result
// must not depend on the size, which tests set.
func parseIn(text []byte, taken map[Why]bool, size int) (List, error) {
	if len(text) > maxList {
		return List{}, fmt.Errorf("a list may have %d bytes, and this one has %d", maxList, len(text))
	}
	chunks, err := scanned(text, size)
	if err != nil {
		return List{}, err
	}
	// What the first chunk has counted becomes what the list has.
	all := &chunks[0].schemes
	index := make([][]int32, len(chunks))
	for i := 1; i < len(chunks); i++ {
		index[i] = all.join(chunks[i].schemes)
	}
	all.choose()
	var takes [len(whys)]bool
	for i, why := range whys {
		takes[i] = i == isTask || taken[why]
	}
	parallel(len(chunks), func(i int) { chunks[i].decide(all, index[i], takes) })
	list, parts := share(chunks)
	parallel(len(chunks), func(i int) { chunks[i].fill(all, parts[i]) })
	setKeys(list, chunks)
	// Only where an ID has a dot, or a letter behind its number, can it name a part.
	// Most lists have none, and are spared the map.
	dotted := false
	for i := range chunks {
		chunks[i].setParents(parts[i].Others)
		dotted = dotted || chunks[i].dotted
	}
	if dotted {
		setNumbered(list.Items)
	}
	// Near boxes are bounded in each chunk, and so once more over all of them.
	told := 0
	for i := range chunks {
		for _, f := range chunks[i].near[:min(len(chunks[i].near), maxNear-told)] {
			told++
			f.Item.Line, f.Item.Offset = f.Item.Line+chunks[i].above, f.Item.Offset+chunks[i].offset
			f.Item.Phase = chunks[i].title(f.section)
			list.Others = append(list.Others, f.Finding)
		}
	}
	// Who takes boxes without an ID has said that the boxes are the tasks, and the
	// headings none.
	if !taken[WhyNoID] {
		list.Others = append(list.Others, headings(chunks, list.Items)...)
	}
	slices.SortStableFunc(list.Others, func(a, b Finding) int { return a.Item.Line - b.Item.Line })
	return list, nil
}

// share makes room for what the boxes of all chunks say, and shares it out. Each chunk
// writes into its own part of one slice, so that nothing is locked or copied.
func share(chunks []chunk) (List, []List) {
	tasks, others := 0, 0
	for i := range chunks {
		tasks, others = tasks+chunks[i].tasks, others+len(chunks[i].boxes)-chunks[i].tasks
	}
	var list List
	if tasks > 0 {
		list.Items = make([]Item, tasks)
	}
	if others > 0 {
		list.Others = make([]Finding, others)
	}
	parts, rest := make([]List, len(chunks)), list
	for i := range chunks {
		n, m := chunks[i].tasks, len(chunks[i].boxes)-chunks[i].tasks
		parts[i] = List{rest.Items[:n], rest.Others[:m]}
		rest = List{rest.Items[n:], rest.Others[m:]}
	}
	return list, parts
}

// decide says of each box whether it is a task. Index is where the chunk's schemes are
// among the list's; nil = at the same places. Boxes come in the order of the file, so
// what a box is nested below is decided before it.
func (c *chunk) decide(list *schemes, index []int32, takes [len(whys)]bool) {
	for i := range c.boxes {
		b := &c.boxes[i]
		if index != nil {
			b.scheme = index[b.scheme]
		}
		// Why it is none may have been found by the scanner; that its ID is none is
		// known only now.
		if b.why == isTask && !list.has(b) {
			b.why = isNoID
			if c.taskAbove(b) >= 0 {
				b.why = isPart
			}
		}
		if b.task = takes[b.why]; b.task {
			c.tasks++
		}
	}
}

// taskAbove is the index of the task that a box is nested below, whatever is in
// between; -1 = none.
func (c *chunk) taskAbove(b *box) int32 {
	p := b.parent
	for p >= 0 && !c.boxes[p].task {
		p = c.boxes[p].parent
	}
	return p
}

// fill reads what the boxes say. Keys of boxes that are tasks by the strict rule are
// their IDs here already; all others wait for setKeys, which knows the whole list.
func (c *chunk) fill(list *schemes, into List) {
	if c.nested {
		c.made = make([]*Item, len(c.boxes))
	}
	c.rises = true
	last := ""
	for i := range c.boxes {
		b := &c.boxes[i]
		var it *Item
		if b.task {
			it, into.Items = &into.Items[0], into.Items[1:]
		} else {
			f := &into.Others[0]
			into.Others = into.Others[1:]
			it, f.Why, f.Detail = &f.Item, whys[b.why], c.detail(b)
		}
		c.read(it, b, list.has(b))
		if b.below > b.end {
			it.Details = c.below(i)
		}
		if c.made != nil {
			c.made[i] = it
		}
		if b.why != isTask { // it is named after the tasks, so that none of them is called otherwise because of it
			c.loose = append(c.loose, it)
			continue
		}
		c.rises = c.rises && above(it.ID, last)
		last = it.ID
		it.Key = it.ID
	}
}

// read reads one box. It is read from the text a second time, and not kept since the
// scan: until the schemes are chosen nobody knows whether its first word is an ID.
func (c *chunk) read(it *Item, b *box, id bool) {
	text, _ := boxText(c.text[b.at-1 : b.end])
	it.read(text, id)
	it.Phase = c.title(int(b.section))
	// Whatever mark is no tick and no blank says that somebody has begun.
	mark := c.text[b.at]
	it.Done = isTicked(mark)
	it.Doing = !it.Done && mark != ' '
	it.Level, it.Line, it.Offset = int(b.level), c.above+int(b.line), c.offset+int(b.at)
}

// title is that of a section. What stands before the first heading of a chunk is below
// the last heading of the chunk before it.
func (c *chunk) title(section int) string {
	if s := c.sections[section]; s.line > 0 {
		return s.title
	}
	return c.first.title
}

// detail says more about why a box is no task. What can only be said when the keys are
// known is added by setParents.
func (c *chunk) detail(b *box) string {
	switch b.why {
	case isCriterion:
		if under := c.sections[b.section].criteria; under != "" {
			return "the heading is " + strconv.Quote(under)
		}
		return "its ID is one of a criterion"
	case isOptional:
		return `it is marked "[ ]*"`
	case isSkipped:
		return "it is struck out"
	}
	return ""
}

// below are the lines indented below a box, up to the next task: notes, steps and
// parts, which the agent is to see with the task. Of a box that is no task they end at
// any box.
func (c *chunk) below(i int) string {
	b := &c.boxes[i]
	// What stands below the next task belongs to that, though it is indented below this
	// one.
	text := c.text[b.end+1 : b.below]
	for j := i + 1; j < len(c.boxes) && c.boxes[j].at < b.below; j++ {
		if c.boxes[j].task || !b.task {
			text = c.text[b.end+1 : strings.LastIndexByte(c.text[:c.boxes[j].at], '\n')+1]
			break
		}
	}
	for { // the first line that is not blank says how far it is indented
		line, rest, more := strings.Cut(text, "\n")
		if at, col := indent(line, 0, len(line), 0); at < len(line) || !more {
			return dedent(text, col)
		}
		text = rest
	}
}

// setKeys makes the keys unique. Tasks get theirs first, in the order of the file, and
// then what is no task, so that a note which begins with T001 does not make the task
// T001 another one. The first of several keeps the plain key, so that a copy at the end
// of the file renames nothing.
func setKeys(list List, chunks []chunk) {
	// The IDs of a chunk were compared as it was filled; what is left is to compare the
	// last of each with the first of the next.
	risen, last := true, ""
	var loose []*Item
	n := 0
	for i := range chunks {
		c := &chunks[i]
		loose = append(loose, c.loose...)
		first := list.Items[n : n+c.tasks]
		n += c.tasks
		if len(first) > 0 {
			id := first[0].ID
			risen = risen && c.rises && above(id, last)
			last = first[len(first)-1].ID
		}
	}
	// IDs that rise are unique: no map of all keys is needed to see it.
	if risen && len(loose) == 0 { // so it is mostly
		return
	}
	given := make(givenKeys, len(list.Items)+len(list.Others))
	for i := range list.Items {
		if it := &list.Items[i]; it.Key != "" {
			it.Key = given.next(it.Key)
		}
	}
	for _, it := range loose {
		it.Key = given.next(cmp.Or(it.ID, it.Text))
	}
}

// givenKeys are the keys of items that were named, each with the last number that was
// given for it. The number is noted so that a thousand items with one text are not tried
// a thousand times each.
type givenKeys map[string]int

// next is a key that no item has yet: the one that is wanted, or that with a number.
func (g givenKeys) next(want string) string {
	key := want
	for g[key] > 0 {
		g[want]++
		key = want + "#" + strconv.Itoa(g[want])
	}
	g[key] = 1
	return key
}

// setParents says of boxes that are nested below a task that they are parts of it. It
// comes after setKeys, since it is keys that it sets.
func (c *chunk) setParents(others []Finding) {
	for i, it := range c.made {
		b := &c.boxes[i]
		if p := c.taskAbove(b); p >= 0 {
			it.Parent = c.made[p].Key
			c.dotted = c.dotted || lettered(it.ID) != ""
		}
		if !b.task {
			if b.why == isPart {
				others[0].Detail = "below " + it.Parent
			}
			others = others[1:]
		}
	}
}

// lettered returns the ID of the task that one like T018a is a part of; "" = none. One
// letter behind a digit: T018ab is a name of its own.
func lettered(id string) string {
	n := len(id) - 1
	if n < 1 || !isLetter(rune(id[n])) || !isDigit(rune(id[n-1])) {
		return ""
	}
	return id[:n]
}

// setNumbered says of items that are not nested, 1.2 or T1.2, that they are parts of the
// one whose number they go on, 1 or T1, or that has the number 1.0; and of nested ones,
// T018a, that they are parts of T018, if that is not nested. Those whose number comes
// before that of what they are a part of are looked up a second time, when all are
// known.
func setNumbered(items []Item) {
	known := map[string]string{} // keys, by ID
	var later []*Item
	set := func(it *Item) bool {
		var ids [2]string
		if dot := strings.LastIndexByte(it.ID, '.'); it.Parent != "" {
			ids[0] = lettered(it.ID)
		} else if dot >= 0 {
			ids = [2]string{it.ID[:dot], it.ID[:dot] + ".0"}
		}
		if ids[0] == "" {
			return true
		}
		for _, id := range ids {
			if key, ok := known[id]; ok && id != it.ID {
				it.Parent = key
				return true
			}
		}
		return false
	}
	for i := range items {
		it := &items[i]
		nested := it.Parent != ""
		if !set(it) {
			later = append(later, it)
		}
		if !nested && it.ID != "" {
			known[it.ID] = it.Key // the nearest above is meant
		}
	}
	for _, it := range later {
		set(it)
	}
}

// maxDetails bounds Item.Details, in bytes: they are told in each prompt for the item.
// Whoever needs more of them is told where the file is.
const maxDetails = 4 << 10

// dedent takes so many columns of indentation off each line, and bounds the text. Lines
// with less indentation, which go on a paragraph, lose what they have.
func dedent(text string, cols int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\n")
		for col := 0; col < cols && line != "" && isBlank(line[0]); line = line[1:] {
			_, col = indent(line, 0, 1, col)
		}
		b.WriteString(line)
		b.WriteByte('\n')
		if b.Len() > maxDetails {
			break
		}
	}
	return clipText(strings.Trim(b.String(), " \t\n"), maxDetails)
}

// clipText bounds a text, at the end of a rune, and says so with an ellipsis.
func clipText(t string, size int) string {
	if len(t) <= size {
		return t
	}
	return strings.ToValidUTF8(t[:size-len("…")], "") + "…"
}
