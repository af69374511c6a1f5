package tasks

import (
	"fmt"
	"slices"
	"strings"
)

// InOrder returns items in the order in which they are to be worked on. The parts of an
// item come before it, and so does what it comes After, for which its parts wait too.
// Otherwise the order is the one given: an item that has to wait comes as soon as it no
// longer has to. Keys that none of the items has are ignored, for often they are tasks
// that were done and archived; the Check method of a source tells of them.
//
// Where items wait for each other in a circle, the first of them in the order given
// does not wait for those behind it, and neither do its parts. To refuse such a list
// would help nobody: agents write them, and one of the items must be first. No item is
// ever lost.
//
// Without parts and predecessors the slice is returned as it is; else it is a new one.
// The time grows with the number of items and of what they wait for, times a logarithm.
func InOrder(items []Item) []Item {
	w := waitsOf(items)
	if w == nil {
		return items
	}
	sorted := make([]Item, len(items))
	for n, i := range w.order {
		sorted[n] = items[i]
	}
	return sorted
}

// Waits returns the items that an item waits for and that are not done; nil = it can be
// worked on. These are its parts, what it comes After, and what any item that it is a
// part of comes After. While one of its parts is open, what it waits for beside its
// parts is left out, since the part waits for that too. The item is looked up by its
// key. A circle is broken as [InOrder] does it.
//
// For many items use [Waiting]: it takes no longer for all of them than Waits for
// one.
func Waits(items []Item, it Item) []Item {
	if w := waitsOf(items); w != nil {
		if i, ok := w.at[it.Key]; ok {
			return w.open(i, isDoneItem, map[int][]Item{})
		}
	}
	return nil
}

// Waiting returns, for each open item that cannot be worked on yet, what [Waits]
// returns for it, by its key. Several items may share one slice: do not change it. The
// map is never nil.
func Waiting(items []Item) map[string][]Item {
	waiting := map[string][]Item{}
	w, shared := waitsOf(items), map[int][]Item{}
	for i, it := range items {
		if it.Done || w == nil {
			continue
		}
		if open := w.open(i, isDoneItem, shared); len(open) > 0 {
			waiting[it.Key] = open
		}
	}
	return waiting
}

// isDoneItem goes by the source alone; a session, which has a Verifier, asks its own
// isDone.
func isDoneItem(it Item) bool { return it.Done }

// inCircles says of each open item that waits for itself by way of others, by its key,
// which these are, in half a sentence for people. Since nobody could begin, such an item
// does not wait for those that come behind it.
func inCircles(items []Item) map[string]string {
	told := map[string]string{}
	for _, it := range items {
		if !it.Done && slices.Contains(it.After, it.Key) {
			told[it.Key] = "waits for itself: ignored"
		}
	}
	w := waitsOf(items)
	if w == nil || w.circle == nil {
		return told
	}
	members := map[int][]Item{}
	for i, it := range items {
		if !it.Done {
			members[w.circle[i]] = append(members[w.circle[i]], it)
		}
	}
	for _, all := range members {
		for i, it := range all {
			if len(all) == 1 {
				continue // the others are done
			}
			near := slices.Concat(all[:min(i, maxListed)], all[i+1:min(len(all), i+1+maxListed)])
			near = near[:min(len(near), maxListed)]
			more := ""
			if n := len(all) - 1 - len(near); n > 0 {
				more = fmt.Sprintf(" and %d more", n)
			}
			told[it.Key] = "waits for itself by way of " + listed(near) + more + ": the first of them does not wait"
		}
	}
	return told
}

// DescribeIn says what [Item.Describe] says, and beside it which of the items it is a part
// of, and which are its parts, each with its state, in the order given. The parts are
// named so that the agent does not do their work again, and so that it knows what is
// left of the item itself when they are done. At most 100 are listed.
func (it Item) DescribeIn(items []Item) string {
	var b strings.Builder
	b.WriteString(it.Describe())
	if whole, ok := find(items, it.Parent); ok && it.Parent != "" && it.Parent != it.Key {
		fmt.Fprintf(&b, "\n\nIt is a part of %s, which comes when all its parts are done.", whole.name())
	}
	var parts []Item
	open := false
	for i := range items {
		if part := &items[i]; part.Parent == it.Key && it.Key != "" && part.Key != it.Key {
			parts, open = append(parts, *part), open || !part.Done
		}
	}
	switch {
	case len(parts) == 0:
		return b.String()
	case open:
		b.WriteString("\n\nIts parts are tasks of their own, and come before it: leave their boxes alone.\n")
	default:
		b.WriteString("\n\nIts parts are tasks of their own, and are done: leave their boxes alone. What is left is to see that together they are all that is asked for above, and to do what is missing.\n")
	}
	for i, part := range parts {
		if i == maxParts {
			fmt.Fprintf(&b, "\n- and %d more", len(parts)-i)
			break
		}
		fmt.Fprintf(&b, "\n- [%s] %s", part.mark(), part.name())
	}
	return b.String()
}

// maxParts is how many parts of an item are listed. A prompt must stay small whatever a
// file holds; nobody has more parts than this and means each one.
const maxParts = 100

// name is an item in a line: its ID, and its text. It is not its key, which may end in
// a number that only this package gives.
func (it Item) name() string { return strings.TrimSpace(it.ID + " " + it.Text) }

// mark is an item's state, as a box has it.
func (it Item) mark() string {
	switch {
	case it.Done:
		return "x"
	case it.Doing:
		return "-"
	}
	return " "
}
