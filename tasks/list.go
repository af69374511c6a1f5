package tasks

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/internal/file"
)

// A List is what a Markdown task list holds. The zero value is a list of nothing.
type List struct {
	// Items are the tasks: boxes with an ID. They are in the order of the file, which
	// is not yet that of the work, see [InOrder].
	Items []Item
	// Others are boxes that are no tasks by the strict rule, each with the reason: those
	// without an ID, optional ones, and all under a heading like "Success criteria" or
	// "Definition of done" and its subsections. The latter say how the work is judged, and
	// a loop that waits for them never ends. Lines that are nearly boxes are here too, and
	// headings that begin with an ID, "### Task 1", if three or more do so and have no task below.
	Others []Finding
}

// All returns the items and the others that are boxes, in the order of the file, as a
// new slice. What is no box cannot be ticked, and is left out.
func (l List) All() []Item {
	all := slices.Clone(l.Items)
	for _, f := range l.Others {
		if f.Why != WhyNoBox {
			all = append(all, f.Item)
		}
	}
	slices.SortFunc(all, func(a, b Item) int { return a.Offset - b.Offset })
	return all
}

// ParseList reads a Markdown task list, tasks.md. An empty text is an empty
// list; the error is for a text that is not UTF-8, or has more than 2 GiB.
//
// A box is what GitHub renders as one: a list item ("-", "*", "+", "1." or "1)")
// that begins with "[ ]", "[x]" or "[X]", then a space or a tab, then text. Lists
// may be nested. Nothing is a box in a code block, fenced or indented, in an
// HTML comment or in a block quote. Not GitHub's are "[-]", "[~]" and "[/]", which are
// open boxes that somebody has begun with; "[ ]*", an optional task, as Kiro writes
// them; and that an HTML element like <details> hides nothing. Lines that are nearly
// boxes, such as "-[ ] text", are among [List.Others], the first 1,000 of them. Boxes below
// a line "**Acceptance criteria:**" are criteria, up to the next paragraph.
//
// A box is a task if its text begins with an ID, in bold or not: T001, T12.3a,
// TASK-12, TASK_25, T031-MIN, A.1.1, #7, [T001], "Task 1.1:" (the ID is 1.1), "1.",
// "2.3.1". Since "H2 database" and "TLS-1.3" look the same, the file decides: IDs are
// those of a form that most boxes have, or of which several rise through the file, or
// that is written as nothing else is. Below a task, boxes with an ID of the same kind
// are tasks; others, with a form of their own or none, are parts of it. AC-1 and SC-001
// are criteria and no tasks. Markers like [P] and [US1] may follow in any order.
//
// An item is a part of the task that it is nested below, but T018a of T018, if that is not
// nested; an item that is not nested, 1.2, of the one with the ID 1, or else 1.0. P0 to P4,
// of which one comes again, are priorities and no IDs.
//
// Large lists are read on several goroutines. ParseList keeps nothing and may be called
// concurrently. Hostile texts cost no more than their length: nesting, near boxes and
// details are bounded.
func ParseList(text []byte) (List, error) {
	return parse(text, nil)
}

// Tick returns a copy of a list in which the item's box is ticked. It differs in one
// byte; in none if the box is ticked already. The error is for a text in which that box
// is no longer where it was: parse the list again. Tick does not search for the box,
// since of two with the same text it could tick the wrong one. With the key alone, use
// [ListFile.Mark].
func Tick(text []byte, it Item) ([]byte, error) {
	at := it.Offset
	if at >= 1 && at+2 < len(text) && text[at-1] == '[' && text[at+1] == ']' && isMark(text[at]) {
		rest := text[at+2:]
		if n := bytes.IndexAny(rest, "\r\n"); n >= 0 {
			rest = rest[:n]
		}
		now, _ := boxText(string(text[at-1 : at+2+len(rest)]))
		var is Item
		if is.read(now, it.ID != ""); now != "" && is.ID == it.ID && is.Text == it.Text {
			ticked := bytes.Clone(text)
			if !isTicked(ticked[at]) {
				ticked[at] = 'x'
			}
			return ticked, nil
		}
	}
	return nil, fmt.Errorf("tasks: the box of %q is no longer at line %d: the list has changed since it was read", it.Key, it.Line)
}

// notUTF8 says where a text stops being UTF-8, in lines from 1. What editors on Windows
// save as Unicode is told apart, since each of its lines is wrong.
func notUTF8(text []byte) error {
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return errors.New("line 1: not UTF-8 but, it seems, UTF-16; save the file as UTF-8")
	}
	n := 1
	for line := range bytes.Lines(text) {
		if !utf8.Valid(line) {
			break
		}
		n++
	}
	return fmt.Errorf("line %d: not UTF-8", n)
}

// ListFile is the [Source] of a Markdown task list, tasks.md. The grammar is
// that of [ParseList]. It is a value and keeps nothing; its methods may be
// called concurrently.
type ListFile struct {
	// Path of the file, which has at most 16 MiB. Items follows a symbolic link, Tick
	// does not: an agent that may write the list may put a link there, and the tick
	// would go where it leads. Resolve it once, as [ListFile.Resolve] and [OpenSource]
	// do.
	Path string
	// AllBoxes takes boxes without an ID for tasks too, but no criteria and no optional
	// ones. Their text is their key then, so an edit makes another task of it.
	AllBoxes bool
	// OnlyIDs takes the boxes with an ID alone, also where they are few among many. If
	// neither AllBoxes nor OnlyIDs is set, such a list is refused.
	OnlyIDs bool
	// Criteria takes the boxes under headings like "Success criteria" too.
	Criteria bool
	// Optional takes the boxes that are marked as optional too: "[ ]*".
	Optional bool
}

// Items reads the file. It is an error if it is missing, is no regular file, is not
// UTF-8, is empty, or holds no task, and if few of its boxes have an ID, see OnlyIDs.
// It is no error that all tasks are done. Errors name the file, what was found instead,
// with lines, and the field to set.
func (f ListFile) Items(ctx context.Context) ([]Item, error) {
	list, err := f.read(ctx)
	if err != nil {
		return nil, err
	}
	if err := f.refuse(list); err != nil {
		return nil, err
	}
	return InOrder(list.Items), nil
}

// refuse says why nobody can work on a list: no box is a task, or few among many have
// an ID, so that it is not clear what the others are. Few is a third or less. To guess
// is wrong both ways: to leave out most of a list that somebody meant, or to work on
// boxes that are notes.
//
// Five or more that stand together are a list, whatever else is in the file.
func (f ListFile) refuse(list List) error {
	count := map[Why]int{}
	for _, o := range list.Others {
		count[o.Why]++
	}
	if len(list.Items) > 0 {
		n, all := len(list.Items), len(list.Items)+count[WhyNoID]
		if f.AllBoxes || f.OnlyIDs || n*3 > all || n >= 5 && list.apart() {
			return nil
		}
		return fmt.Errorf("tasks: task list %s: few of its boxes have an ID, %d of %d (%s): take them all (--all-boxes; in Go AllBoxes), or only those with an ID (--all-boxes=false; in Go OnlyIDs)",
			f.Path, n, all, firstOf(list.Items))
	}
	var boxes, titles []Item
	for _, o := range list.Others {
		switch {
		case o.Why != WhyNoBox:
			boxes = append(boxes, o.Item)
		case o.Detail == aHeading:
			titles = append(titles, o.Item)
		}
	}
	also := ""
	if n := len(titles); n > 0 {
		also = fmt.Sprintf("; %d headings have an ID, but are no boxes (%s)", n, firstOf(titles))
	}
	if n, first := len(list.Others), list.Others[0]; len(boxes) == 0 {
		return fmt.Errorf("tasks: task list %s: there is no box in it, but what is nearly one (%d): line %d: %s; a task is a list item like \"- [ ] T001 Write the parser\"%s",
			f.Path, n, first.Item.Line, first.Detail, also)
	}
	ways := []string{"give them an ID, as in \"- [ ] T001 Write the parser\""}
	for _, way := range [...]struct {
		why  Why
		says string
	}{
		{WhyNoID, "take those without one (--all-boxes; in Go AllBoxes)"},
		{WhyCriterion, "take criteria (--criteria; in Go Criteria)"},
		{WhyOptional, "take optional ones (--optional; in Go Optional)"},
	} {
		if count[way.why] > 0 {
			ways = append(ways, way.says)
		}
	}
	return fmt.Errorf("tasks: task list %s: none of its boxes (%d) is a task (%s): %s%s", f.Path, len(boxes), firstOf(boxes), strings.Join(ways, ", or "), also)
}

// firstOf names the first few of some items, with their lines, so that a person sees
// which boxes are meant without opening the file.
func firstOf(items []Item) string {
	var lines []string
	for _, it := range items[:min(len(items), 5)] {
		lines = append(lines, fmt.Sprintf("line %d: %s", it.Line, clipText(cmp.Or(it.Key, it.Text), 40)))
	}
	if len(items) > len(lines) {
		lines = append(lines, "…")
	}
	return strings.Join(lines, ", ")
}

// apart reports whether most boxes below the headings with tasks have an ID: those
// without one are elsewhere, as in a report at the end.
func (l List) apart() bool {
	phases, without := map[string]bool{}, 0
	for _, it := range l.Items {
		phases[it.Phase] = true
	}
	for _, o := range l.Others {
		if o.Why == WhyNoID && phases[o.Item.Phase] {
			without++
		}
	}
	return without <= len(l.Items)
}

// Check says of each box of the file, in its order, whether it is a task, and why not.
// Two tasks with one ID are told, but are no error: the second has a key of its own.
// Check does so also for a list that Items refuses; the error is for one that cannot be
// read, and for one without boxes.
func (f ListFile) Check(ctx context.Context) ([]Finding, error) {
	list, err := f.read(ctx)
	if err != nil {
		return nil, err
	}
	waiting := Waiting(list.Items)
	all := list.Others
	ids := map[string]int{} // the last line of each
	for _, it := range list.Items {
		f := Finding{Item: it}
		if on := waiting[it.Key]; len(on) > 0 {
			f.Why, f.Detail = WhyWaits, "for "+on[0].Key
			if len(on) > 1 {
				f.Detail += fmt.Sprintf(" and %d more", len(on)-1)
			}
		}
		if n := ids[it.ID]; n > 0 && it.ID != "" {
			f.Detail = strings.TrimPrefix(fmt.Sprintf("%s; line %d has the same ID", f.Detail, n), "; ")
		}
		ids[it.ID] = it.Line
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b Finding) int { return a.Item.Line - b.Item.Line })
	return all, nil
}

// Resolve returns a ListFile that means the same from now on, however the file changes.
// Its Path is the file that a symbolic link leads to. A list that Items accepts now is
// not refused later because boxes without an ID were added to it. Agents add such boxes
// as notes while they work, and the session must not end by it. The error is that of
// Items.
func (f ListFile) Resolve(ctx context.Context) (ListFile, error) {
	if info, err := os.Lstat(f.Path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if f.Path, err = filepath.EvalSymlinks(f.Path); err != nil {
			return f, fmt.Errorf("tasks: %w", err)
		}
	}
	list, err := f.read(ctx)
	if err == nil {
		err = f.refuse(list)
	}
	if err == nil && !f.AllBoxes {
		f.OnlyIDs = true
	}
	return f, err
}

// Filename is the absolute path of the file; "" = none is given.
func (f ListFile) Filename() string {
	if f.Path == "" {
		return ""
	}
	abs, _ := filepath.Abs(f.Path) // fails only if the current folder is gone
	return cmp.Or(abs, f.Path)
}

// HowDone says how an item is marked as done, for the agent: half a sentence that
// begins with a verb. It reads nothing; a box like "[-]" is told of in other words, for
// "[ ]" is not there to be found.
func (f ListFile) HowDone(it Item) string {
	if it.Doing {
		return fmt.Sprintf("tick its box in %s: what stands between its brackets becomes \"x\"", f.Path)
	}
	return fmt.Sprintf("tick its box in %s: \"[ ]\" becomes \"[x]\"", f.Path)
}

// read reads the file, and takes for items what the fields say.
func (f ListFile) read(ctx context.Context) (List, error) {
	if ctx.Err() != nil {
		return List{}, context.Cause(ctx)
	}
	text, err := read("task list", f.Path)
	if err != nil {
		return List{}, err
	}
	return f.parse(text)
}

// takes are the reasons for which a box is no task, and one of this list yet. The parts
// of a task are taken with what has no ID.
func (f ListFile) takes() map[Why]bool {
	return map[Why]bool{WhyNoID: f.AllBoxes, WhyPart: f.AllBoxes, WhyCriterion: f.Criteria, WhyOptional: f.Optional}
}

// parse reads a text. A file without any box is an error here, where a list without
// tasks is not: it is hardly the file that was meant.
func (f ListFile) parse(text []byte) (List, error) {
	list, err := parse(text, f.takes())
	switch {
	case err != nil:
		return List{}, fmt.Errorf("task list %s: %w", f.Path, err)
	case strings.TrimSpace(strings.TrimPrefix(string(text), "\ufeff")) == "":
		return List{}, fmt.Errorf("tasks: task list %s is empty: write the tasks into it, as in \"- [ ] T001 Write the parser\"", f.Path)
	case len(list.Items)+len(list.Others) == 0:
		return List{}, fmt.Errorf("tasks: task list %s: there is no box in it: a task is a list item like \"- [ ] T001 Write the parser\"", f.Path)
	}
	return list, nil
}

// Tick ticks the box of the item with this key: it reads the file again and writes one
// byte of it, in place, so that its mode and all that others write elsewhere in the
// file stay. To replace the file as a whole, as is done where more than a byte changes,
// would lose what an agent writes at the same time.
//
// It must be a regular file without other hard links, and belong to this user, to root
// or to the folder's owner. If the box is ticked already, nothing is written. An item
// of [List.Others] can be ticked too. If there is no such item, the error is a
// *[NoItemError].
func (f ListFile) Tick(key string) (err error) {
	out, err := file.Edit("task list", f.Path)
	if err != nil {
		return fmt.Errorf("tasks: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	text, err := file.Rest("task list", out, maxText)
	if err != nil {
		return fmt.Errorf("tasks: %w", err)
	}
	ticked, it, err := f.mark(key, text)
	if err != nil || it.Done {
		return err
	}
	if _, err := out.WriteAt(ticked[it.Offset:it.Offset+1], int64(it.Offset)); err != nil {
		return fmt.Errorf("tasks: tick %q: %w", key, err)
	}
	return nil
}

// Mark returns a copy of a text of the list in which the item with this key is ticked,
// wherever it stands there. It touches no file: it is for those who keep the list
// elsewhere, as in a git tree. If there is no such item, the error is a *[NoItemError].
func (f ListFile) Mark(key string, text []byte) ([]byte, error) {
	ticked, _, err := f.mark(key, text)
	return ticked, err
}

func (f ListFile) mark(key string, text []byte) ([]byte, Item, error) {
	list, err := parse(text, f.takes())
	if err != nil {
		return nil, Item{}, fmt.Errorf("task list %s: %w", f.Path, err)
	}
	it, ok := find(list.All(), key)
	if !ok {
		return nil, Item{}, &NoItemError{Path: f.Path, Key: key, file: "task list"}
	}
	ticked, err := Tick(text, it)
	return ticked, it, err
}

// A NoItemError says that the item which is to be marked as done is not in the file.
// The sources return it from Tick and Mark; read it with errors.As or errors.AsType.
type NoItemError struct {
	Path string // of the file
	Key  string // of the item

	file, item string // what they are called; "" = nothing, and "item"
}

func (e *NoItemError) Error() string {
	return fmt.Sprintf("tasks: %s: there is no %s %q to tick", strings.TrimSpace(e.file+" "+e.Path), cmp.Or(e.item, "item"), e.Key)
}
