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
// none, last) and else in the order of the file. A task that depends on one which is
// not in the file never is: [File.Validate] says so.
func (f *File) Ready() []Definition {
	done := map[string]bool{}
	for _, u := range f.units {
		if u.def.Status == StatusDone {
			done[u.def.ID] = true
		}
	}
	var ready []Definition
	for _, u := range f.units {
		// A task that is running was begun by somebody who may have died: who takes it
		// finds out whether it is free.
		open := u.def.Status.Effective() == StatusTodo || u.def.Status == StatusRunning
		waits := slices.ContainsFunc(u.def.Dependencies, func(id string) bool { return !done[id] })
		if open && !waits {
			ready = append(ready, u.def)
		}
	}
	slices.SortStableFunc(ready, ByPriority)
	return ready
}

// ByPriority orders definitions by how urgent they are, for [slices.SortStableFunc]:
// lower priorities first, and 0, which is none, last. Tasks of the same priority keep
// the order in which they stand.
func ByPriority(a, b Definition) int { // as an unsigned number, one less than 0 is the greatest
	return cmp.Compare(uint(max(a.Priority, 0))-1, uint(max(b.Priority, 0))-1)
}

// order refuses tasks that do not fit together, or to those that are there already.
//
// All of it is looked at, for a person mends a file once: IDs first, since dependencies
// cannot be understood where one is given twice.
func (r *reader) order(units []unit, there []Definition) {
	// The first task of an ID keeps it: the message is told at the second, and names the line
	// of the first.
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
		// A definition that is no file's has no lines.
		if line, _ := r.doc.Place(units[first].node); line > 0 {
			where = " on line " + strconv.Itoa(line)
		}
		r.refuse(u.node.Get("id"), "the ID %s is given twice: task %d%s has it too", doc.Quote(u.def.ID), first+1, where)
	}
	// Tasks that are there already wait for none of the new ones, so no cycle leads
	// through them.
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
	for i := range units {
		cycle := g.cycle(i, nil)
		if cycle == nil {
			continue
		}
		var path []string
		for _, i := range append(cycle, cycle[0]) {
			path = append(path, units[i].def.ID)
		}
		// A cycle of a thousand tasks is told by its beginning.
		if len(path) > 21 {
			path = slices.Concat(path[:20], []string{"…", path[0]})
		}
		r.task = path[0]
		r.refuse(units[cycle[0]].node.Get("dependencies"), "the tasks wait for each other: %s", strings.Join(path, " → "))
	}
	r.task = ""
}

// meantID looks for the nearest ID where there are not too many; but is the task's own.
// A guess among a thousand names takes long and is seldom right.
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

// A graph looks for cycles: each task is gone through once. Each task is visited once,
// so files with many tasks that depend on many are no matter.
type graph struct {
	next [][]int // the tasks that a task waits for
	seen []visit
}

// A visit says how far a task was gone through: a task that is met on the way that
// leads to it is in a cycle.
type visit int8

const (
	visitNow visit = iota + 1 // on the way that is being followed
	visitDone
)

// cycle returns the tasks of the first cycle that can be reached from a task, over
// tasks that were not gone through before. way leads there. One cycle is told for each
// group of tasks: mending it usually mends the others.
func (g *graph) cycle(task int, way []int) (cycle []int) {
	if g.seen[task] == visitNow {
		return slices.Clone(way[slices.Index(way, task):])
	}
	if g.seen[task] == visitDone {
		return nil
	}
	g.seen[task] = visitNow
	for _, next := range g.next[task] {
		// The others are gone through all the same, so that each task is seen once.
		if found := g.cycle(next, append(way, task)); cycle == nil {
			cycle = found
		}
	}
	g.seen[task] = visitDone
	return cycle
}
