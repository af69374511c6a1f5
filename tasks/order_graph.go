package tasks

import (
	"container/heap"
	"slices"
)

// waits says which items wait for which. Items are nodes of a graph, known by their index.
// Behind them come the gates: what an item with parts comes after holds its gate, and that
// holds its parts and the gates of these, so that a thousand parts of what comes after a
// thousand items are not a million edges.
type waits struct {
	items  []Item
	at     map[string]int // by key
	part   []int          // of which item each is a part; -1 = of none
	on     [][]int        // what each node waits for; there is no circle in it
	order  []int          // of the items
	circle []int          // the nodes that wait for each other have the same number; nil = none has to
}

// waitsOf is nil if no item can wait for another. Most lists are such, and are spared
// the graph.
func waitsOf(items []Item) *waits {
	parts, after := false, false
	for i := range items {
		parts = parts || items[i].Parent != ""
		after = after || len(items[i].After) > 0
	}
	if !parts && !after {
		return nil
	}
	w := &waits{items: items, at: make(map[string]int, len(items)), part: make([]int, len(items)), on: make([][]int, len(items), 2*len(items))}
	for i := range items {
		// Keys are unique in our sources; in another one's the first is meant.
		if _, twice := w.at[items[i].Key]; !twice {
			w.at[items[i].Key] = i
		}
	}
	// The parts come first and without a circle: what an item comes after is handed
	// down to them below, and the order without it is what a circle is broken by.
	w.readParents()
	for i, whole := range w.part {
		if whole >= 0 {
			w.on[whole] = append(w.on[whole], i)
		}
	}
	w.order = w.partsFirst()
	if after {
		w.readAfter()
	}
	return w
}

// each yields the items that a node waits for, by itself and behind gates; some twice.
// It follows gates, and there is no circle left by then, so it ends.
func (w *waits) each(node int, yield func(on int) bool) bool {
	for _, on := range w.on[node] {
		if on < len(w.items) && !yield(on) || on >= len(w.items) && !w.each(on, yield) {
			return false
		}
	}
	return true
}

// open are the items that a node waits for and that are not done. What its gate holds back
// is left out where it waits for a part, which waits for that too. Nodes that wait for the
// same have it from shared.
func (w *waits) open(node int, done func(Item) bool, shared map[int][]Item) []Item {
	var nodes []int
	gate, part := -1, false
	for _, on := range w.on[node] {
		switch {
		case on >= len(w.items):
			gate = on
		case !done(w.items[on]):
			nodes, part = append(nodes, on), part || w.part[on] == node
		}
	}
	// The usual case of a large list: a family of parts, all of which wait for the
	// same.
	if gate >= 0 && len(nodes) == 0 {
		if _, known := shared[gate]; !known {
			shared[gate] = w.open(gate, done, shared)
		}
		return shared[gate]
	}
	if gate >= 0 && !part {
		w.each(gate, func(on int) bool {
			if !done(w.items[on]) {
				nodes = append(nodes, on)
			}
			return true
		})
		slices.Sort(nodes)
		nodes = slices.Compact(nodes)
	}
	var open []Item
	for _, on := range nodes {
		open = append(open, w.items[on])
	}
	return slices.Clip(open)
}

// readParents notes of which item each is a part. In a circle the last is a part of
// none. A file that says that an item is a part of itself, or of one that is not there,
// says nothing.
func (w *waits) readParents() {
	for i := range w.items {
		w.part[i] = -1
		if name := w.items[i].Parent; name != "" {
			if whole, ok := w.at[name]; ok && whole != i {
				w.part[i] = whole
			}
		}
	}
	// Each is visited once, whichever start leads to it, so that a long chain does not
	// take the square of its length.
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

// partsFirst is the order in which an item comes behind the last of its parts, and
// theirs. Nothing else moves: a list whose parts stand below their item, as people
// write it, is worked off from top to bottom otherwise.
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

// readAfter notes what each item comes after, by itself or with what it is a part of, and
// the order that follows.
func (w *waits) readAfter() {
	nodes, gate := w.gates()
	inside := w.inside()
	for i := range w.items {
		for _, key := range w.items[i].After {
			on, ok := w.at[key]
			if !ok || on == i {
				continue
			}
			w.on[i] = append(w.on[i], on)
			// An item may come after one of its own parts. The gate holds all parts, so
			// that this one would wait for itself.
			if gate[i] > 0 && !inside(on, i) {
				w.on[gate[i]] = append(w.on[gate[i]], on)
			}
		}
		if whole := w.part[i]; whole >= 0 {
			for _, node := range [...]int{i, gate[i]} {
				if node == i || node > 0 {
					w.on[node] = append(w.on[node], gate[whole])
				}
			}
		}
	}
	place := make([]int, len(nodes))
	for n, node := range nodes {
		place[node] = n
	}
	// An edge may be there twice, by a part and by name; what an item waits for is told
	// once.
	for i := range w.on {
		slices.Sort(w.on[i])
		w.on[i] = slices.Compact(w.on[i])
	}
	w.unroll(place)
	w.order = slices.DeleteFunc(w.sorted(nodes, place), func(node int) bool { return node >= len(w.items) })
}

// gates makes the gates, and returns the order with them, each before all that it
// holds, and which is that of each item; 0 = it has no parts, since 0 is the number of
// an item. The gate of an item stands before the first of its parts, whose turn comes
// first.
func (w *waits) gates() (nodes, gate []int) {
	// An item without parts needs none: what it comes after holds it directly.
	gate = make([]int, len(w.items))
	for _, i := range w.order {
		from := len(nodes)
		for whole := w.part[i]; whole >= 0 && gate[whole] == 0; whole = w.part[whole] {
			gate[whole] = len(w.on)
			nodes, w.on = append(nodes, gate[whole]), append(w.on, nil)
		}
		slices.Reverse(nodes[from:])
		nodes = append(nodes, i)
	}
	return nodes, gate
}

// inside returns what reports whether an item is another, or one of its parts, or
// theirs. Items are numbered once so that the parts of each have the numbers that
// follow its own; to go up from each would take a square of the time in a deep tree.
func (w *waits) inside() func(i, whole int) bool {
	n := len(w.items)
	size, first, free := make([]int, n), make([]int, n), make([]int, n+1) // an item's parts are numbered behind it
	for _, i := range w.order {
		if size[i]++; w.part[i] >= 0 {
			size[w.part[i]] += size[i]
		}
	}
	for _, i := range slices.Backward(w.order) {
		whole := w.part[i] + 1 // 0 = none
		first[i] = free[whole]
		free[whole] += size[i]
		free[i+1] = first[i] + 1
	}
	return func(i, whole int) bool { return first[whole] <= first[i] && first[i] < first[whole]+size[whole] }
}

// unroll has no node of a circle wait for one that comes behind it. All such edges are
// dropped, and not just enough of them to open the circle: which ones would then depend
// on where the search began, and the order would change with an edit elsewhere in the
// file. The rest of the circle stays: what is not behind is still waited for.
func (w *waits) unroll(place []int) {
	circle := circles(w.on)
	for i, on := range w.on {
		w.on[i] = slices.DeleteFunc(on, func(j int) bool {
			behind := circle[i] == circle[j] && place[j] > place[i]
			if behind {
				w.circle = circle
			}
			return behind
		})
	}
}

// circles numbers the nodes so that those that wait for each other, by way of others or
// not, and only those have the same number (Tarjan's algorithm). Numbers begin at 1; 0
// is a node that is not done with. It calls itself as deep as the longest chain, which
// a goroutine's stack, that grows, can hold.
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

// sorted is the order in which what is first among the nodes and need not wait comes
// next. A heap, since the first that is ready may stand anywhere: so an item that had
// to wait is taken at once when it no longer has to, and not at the end of the list.
func (w *waits) sorted(nodes, place []int) []int {
	left, next := make([]int, len(w.on)), make([][]int, len(w.on))
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
		i := nodes[heap.Pop(&ready).(int)]
		order = append(order, i)
		for _, j := range next[i] {
			if left[j]--; left[j] == 0 {
				heap.Push(&ready, place[j])
			}
		}
	}
	return order
}

// places is a heap of positions in the order without predecessors, for container/heap.
// The smallest comes first.
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
