package tasks

import (
	"container/heap"
	"fmt"
	"slices"
	"strings"
)

// InOrder returns items in the order in which they are to be worked on: the parts of an
// item before it, what it comes After before it, and else as they are given: an item that
// has to wait comes as soon as it no longer has to. The parts of an item wait for what it
// comes After too. Keys that none of the items has are ignored.
//
// Where items wait for each other in a circle, the first of them in the order given does
// not wait for those behind it. No item is ever lost. Without parts and predecessors the
// slice is returned as it is; else it is a new one.
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

// Waits returns the open ones among items that an item waits for: its parts, and what it
// or an item that it is a part of comes After; nil = it can be worked on. The item is
// looked up by its key. A circle is broken as [InOrder] does it. For many items ask
// [Waiting], which is not slower for all of them than Waits is for one.
func Waits(items []Item, it Item) []Item {
	if w := waitsOf(items); w != nil {
		if i, ok := w.at[it.Key]; ok {
			return w.open(i, isDoneItem)
		}
	}
	return nil
}

// Waiting returns, for each open item that cannot be worked on yet, what [Waits] returns
// for it, by its key.
func Waiting(items []Item) map[string][]Item {
	waiting := map[string][]Item{}
	w := waitsOf(items)
	for i, it := range items {
		if it.Done || w == nil {
			continue
		}
		if open := w.open(i, isDoneItem); len(open) > 0 {
			waiting[it.Key] = open
		}
	}
	return waiting
}

func isDoneItem(it Item) bool { return it.Done }

// waits says which items wait for which. Items are known by their index.
type waits struct {
	items []Item
	at    map[string]int // by key
	part  []int          // of which item each is a part; -1 = of none
	on    [][]int        // what each waits for; there is no circle in it
	order []int
}

// waitsOf is nil if no item can wait for another.
func waitsOf(items []Item) *waits {
	parts, after := false, false
	for i := range items {
		parts = parts || items[i].Parent != ""
		after = after || len(items[i].After) > 0
	}
	if !parts && !after {
		return nil
	}
	w := &waits{items: items, at: make(map[string]int, len(items)), part: make([]int, len(items)), on: make([][]int, len(items))}
	for i := range items {
		if _, twice := w.at[items[i].Key]; !twice {
			w.at[items[i].Key] = i
		}
	}
	w.readParents()
	for i, whole := range w.part {
		if whole >= 0 {
			w.on[whole] = append(w.on[whole], i)
		}
	}
	w.order = w.partsFirst()
	if after {
		w.readAfter()
		w.unroll()
		w.order = w.sorted()
	}
	return w
}

// open are the items that one waits for and that are not done.
func (w *waits) open(i int, done func(Item) bool) (open []Item) {
	for _, on := range w.on[i] {
		if !done(w.items[on]) {
			open = append(open, w.items[on])
		}
	}
	return open
}

// readParents notes of which item each is a part. In a circle the last is a part of none.
func (w *waits) readParents() {
	for i := range w.items {
		w.part[i] = -1
		if name := w.items[i].Parent; name != "" {
			if whole, ok := w.at[name]; ok && whole != i {
				w.part[i] = whole
			}
		}
	}
	seen := make([]int, len(w.items)) // on the way up from which item, from 1
	for start := range w.items {
		i := start
		for i >= 0 && seen[i] == 0 {
			seen[i] = start + 1
			i = w.part[i]
		}
		if i < 0 || seen[i] != start+1 {
			continue
		}
		top := i
		for j := w.part[i]; j != i; j = w.part[j] {
			top = max(top, j)
		}
		w.part[top] = -1
	}
}

// partsFirst is the order in which an item comes behind the last of its parts, and theirs.
func (w *waits) partsFirst() []int {
	last := make([]int, len(w.items))
	for i := range last {
		for j := i; j >= 0; j = w.part[j] {
			last[j] = i
		}
	}
	order := make([]int, 0, len(last))
	for i := range last {
		for j := i; j >= 0 && last[j] == i; j = w.part[j] {
			order = append(order, j)
		}
	}
	return order
}

// readAfter notes what each item comes after, by itself or with what it is a part of.
func (w *waits) readAfter() {
	for i := range w.items {
		for whole := i; whole >= 0; whole = w.part[whole] {
			for _, key := range w.items[whole].After {
				on, ok := w.at[key]
				if ok && on != i && !slices.Contains(w.on[i], on) && (whole == i || !w.within(on, whole)) {
					w.on[i] = append(w.on[i], on)
				}
			}
		}
		slices.Sort(w.on[i])
	}
}

// within reports whether an item is another, or one of its parts, or theirs.
func (w *waits) within(i, whole int) bool {
	for i >= 0 && i != whole {
		i = w.part[i]
	}
	return i == whole
}

// unroll has no item of a circle wait for one that comes behind it.
func (w *waits) unroll() {
	place := w.places()
	circle := circles(w.on)
	for i, on := range w.on {
		w.on[i] = slices.DeleteFunc(on, func(j int) bool { return circle[i] == circle[j] && place[j] > place[i] })
	}
}

func (w *waits) places() []int {
	place := make([]int, len(w.order))
	for n, i := range w.order {
		place[i] = n
	}
	return place
}

// circles numbers the items so that those that wait for each other, by way of others or
// not, and only those have the same number (Tarjan's algorithm).
func circles(on [][]int) (number []int) {
	number, low, seen := make([]int, len(on)), make([]int, len(on)), make([]int, len(on))
	var path []int
	count, circle := 0, 0
	var visit func(i int)
	visit = func(i int) {
		count++
		seen[i], low[i] = count, count
		path = append(path, i)
		for _, j := range on[i] {
			switch {
			case seen[j] == 0:
				visit(j)
				low[i] = min(low[i], low[j])
			case number[j] == 0: // it is on the path
				low[i] = min(low[i], seen[j])
			}
		}
		if low[i] < seen[i] {
			return
		}
		circle++
		for number[i] == 0 {
			number[path[len(path)-1]] = circle
			path = path[:len(path)-1]
		}
	}
	for i := range on {
		if seen[i] == 0 {
			visit(i)
		}
	}
	return number
}

// sorted is the order in which what is first in w.order and need not wait comes next.
func (w *waits) sorted() []int {
	place, left, next := w.places(), make([]int, len(w.on)), make([][]int, len(w.on))
	var ready places
	for i, on := range w.on {
		if left[i] = len(on); left[i] == 0 {
			ready = append(ready, place[i])
		}
		for _, j := range on {
			next[j] = append(next[j], i)
		}
	}
	heap.Init(&ready)
	order := make([]int, 0, len(w.on))
	for len(ready) > 0 {
		i := w.order[heap.Pop(&ready).(int)]
		order = append(order, i)
		for _, j := range next[i] {
			if left[j]--; left[j] == 0 {
				heap.Push(&ready, place[j])
			}
		}
	}
	return order
}

// places is a heap.
type places []int

func (p places) Len() int           { return len(p) }
func (p places) Less(i, j int) bool { return p[i] < p[j] }
func (p places) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }
func (p *places) Push(x any)        { *p = append(*p, x.(int)) }
func (p *places) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}

// DescribeIn says what [Item.Describe] says, and beside it which of the items it is a part
// of, and which are its parts, each with its state, in the order given.
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

// maxParts is how many parts of an item are listed.
const maxParts = 100

// name is an item in a line: its ID, and its text.
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
