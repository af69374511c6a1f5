package spec

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/internal/doc"
)

// Ready returns the definitions that can be worked on now: those that are to be done or
// were begun, and whose dependencies are done, by priority (lower first; 0, which is
// none, last) and else in the order of the file.
//
// A dependency that failed or was skipped keeps its dependants back, for what they
// build on is not there. So does one that the file does not know.
func (f *File) Ready() []Definition {
	done := map[string]bool{}
	for _, u := range f.units {
		if u.def.Status.Effective() == StatusDone {
			done[u.def.ID] = true
		}
	}
	var ready []Definition
	for _, u := range f.units {
		open := slices.Contains([]Status{StatusTodo, StatusRunning}, u.def.Status.Effective())
		waits := slices.ContainsFunc(u.def.Dependencies, func(id string) bool { return !done[id] })
		if open && !waits {
			ready = append(ready, u.def)
		}
	}
	slices.SortStableFunc(ready, ByPriority)
	return ready
}

// ByPriority orders definitions by how urgent they are, for [slices.SortStableFunc]:
// lower priorities first, and 0, which is none, last. A negative one counts as 0, since
// nobody has said what is more urgent than 1. Sort stably: the order of a file is what
// people chose where they gave no priorities.
func ByPriority(a, b Definition) int { // as an unsigned number, one less than 0 is the greatest
	return cmp.Compare(uint(max(a.Priority, 0))-1, uint(max(b.Priority, 0))-1)
}

// order refuses tasks that do not fit together, or to those that are there already. IDs
// come first: what a dependency means is not clear while an ID is given twice.
func (r *reader) order(units []unit, there []Definition) {
	byID := make(map[string]int, len(units))
	for i, u := range units {
		if u.def.ID == "" {
			continue // reported already
		}
		r.task = u.def.ID
		first, twice := byID[u.def.ID]
		if !twice {
			byID[u.def.ID] = i
			continue
		}
		where := ""
		if line, _ := r.doc.Place(units[first].node); line > 0 {
			where = " on line " + strconv.Itoa(line)
		}
		r.refuse(u.node.Get("id"), "the ID %s is given twice: task %d%s has it too", doc.Quote(u.def.ID), first+1, where)
	}
	// Only tasks of this text can be part of a cycle: those that are there already were
	// read without these, so none of them waits for one.
	g := graph{next: make([][]int, len(units)), seen: make([]visit, len(units))}
	for i, u := range units {
		r.task = u.def.ID
		for j, id := range u.def.Dependencies {
			switch next, known := byID[id]; {
			case slices.ContainsFunc(there, func(d Definition) bool { return d.ID == id }):
			case known:
				g.next[i] = append(g.next[i], next)
			case !r.invalid.full(): // a guess takes time
				r.refuse(u.node.Get("dependencies").Items[j], "depends on %s, which is not a task of this file%s", doc.Quote(id), meantID(id, r.task, units))
			}
		}
	}
	// Each cycle is told once, and a long one in short: its beginning is enough to find
	// it.
	for i := range units {
		cycle := g.cycle(i, nil)
		if cycle == nil {
			continue
		}
		var path []string
		for _, i := range append(cycle, cycle[0]) {
			path = append(path, units[i].def.ID)
		}
		if len(path) > 21 {
			path = slices.Concat(path[:20], []string{"…", path[0]})
		}
		r.task = path[0]
		r.refuse(units[cycle[0]].node.Get("dependencies"), "the tasks wait for each other: %s", strings.Join(path, " → "))
	}
	r.task = ""
}

// meantID guesses which ID was meant; but is the task's own, which is never meant. In a
// file with more than 1000 tasks it does not look, for each guess compares with all of
// them; short IDs it leaves alone, since T1 is as near to T2 as to any other.
func meantID(id, but string, units []unit) string {
	if len(units) > 1000 || utf8.RuneCountInString(id) < 5 { // T1 and T2 are no slips of the pen
		return ""
	}
	ids := make([]string, 0, len(units))
	for _, u := range units {
		if u.def.ID != "" && u.def.ID != but {
			ids = append(ids, u.def.ID)
		}
	}
	if name := Nearest(id, ids...); name != "" {
		return "; did you mean " + doc.Quote(name) + "?"
	}
	return ""
}

// A graph looks for cycles: each task is gone through once, so that a file with many
// thousands of tasks takes no noticeable time.
type graph struct {
	next [][]int // the tasks that a task waits for
	seen []visit
}

type visit int8

const (
	visitNow visit = iota + 1 // on the way that is being followed
	visitDone
)

// cycle returns the tasks of the first cycle that can be reached from a task,
// over tasks that were not gone through before. way leads there.
func (g *graph) cycle(task int, way []int) (cycle []int) {
	if g.seen[task] == visitNow {
		return slices.Clone(way[slices.Index(way, task):])
	}
	if g.seen[task] == visitDone {
		return nil
	}
	g.seen[task] = visitNow
	for _, next := range g.next[task] {
		if found := g.cycle(next, append(way, task)); cycle == nil {
			cycle = found
		}
	}
	g.seen[task] = visitDone
	return cycle
}
