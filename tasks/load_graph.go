package tasks

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// graph refuses tasks that do not fit together.
func (r *reader) graph(units []unit) {
	byID := make(map[string]int, len(units))
	for i, u := range units {
		if u.def.ID == "" {
			continue // reported already
		}
		r.task = u.def.ID
		if first, twice := byID[u.def.ID]; twice {
			line := ""
			if p := r.problem(units[first].node, ""); p.Line > 0 && !r.invalid.full() {
				line = " on line " + strconv.Itoa(p.Line)
			}
			r.refuse(u.node.get("id"), "the ID %s is given twice: task %d%s has it too", quoteShort(u.def.ID), first+1, line)
			continue
		}
		byID[u.def.ID] = i
	}
	g := graph{units: units, byID: byID, seen: make([]visit, len(units))}
	for _, u := range units {
		r.task = u.def.ID
		for j, id := range u.def.Dependencies {
			if _, known := byID[id]; !known && !r.invalid.full() {
				r.refuse(u.dependency(j), "depends on %s, which is not a task of this file%s", quoteShort(id), r.meantID(id, units))
			}
		}
	}
	for i := range units {
		if cycle := g.cycle(i); cycle != nil {
			first := units[cycle[0]]
			r.task = first.def.ID
			r.refuse(first.node.get("dependencies"), "the tasks wait for each other: %s", g.path(cycle))
		}
	}
	r.task = ""
}

// meantID looks for the nearest ID where there are not too many.
func (r *reader) meantID(id string, units []unit) string {
	if len(units) > 1000 || utf8.RuneCountInString(id) < 5 { // T1 and T2 are no slips of the pen
		return ""
	}
	ids := make([]string, 0, len(units))
	for _, u := range units {
		if u.def.ID != "" && u.def.ID != r.task {
			ids = append(ids, u.def.ID)
		}
	}
	if name := nearest(id, ids); name != "" {
		return "; did you mean " + quoteShort(name) + "?"
	}
	return ""
}

// dependency is where a dependency stands.
func (u unit) dependency(i int) *node {
	list := u.node.get("dependencies")
	if list != nil && i < len(list.items) {
		return list.items[i]
	}
	return list
}

// A graph looks for cycles: each task is gone through once.
type graph struct {
	units []unit
	byID  map[string]int
	seen  []visit
}

type visit int8

const (
	visitNever visit = iota
	visitNow         // on the way that is being followed
	visitDone
)

// cycle returns the tasks of the first cycle that can be reached from a task,
// over tasks that were not gone through before. It keeps its own stack, for a
// chain of tasks can be long.
func (g *graph) cycle(from int) []int {
	if g.seen[from] != visitNever {
		return nil
	}
	type step struct{ task, next int }
	var cycle []int
	way := []step{{task: from}}
	g.seen[from] = visitNow
	for len(way) > 0 {
		at := &way[len(way)-1]
		deps := g.units[at.task].def.Dependencies
		if at.next == len(deps) {
			g.seen[at.task] = visitDone
			way = way[:len(way)-1]
			continue
		}
		next, known := g.byID[deps[at.next]]
		at.next++
		switch {
		case !known:
		case g.seen[next] == visitNever:
			g.seen[next] = visitNow
			way = append(way, step{task: next})
		case g.seen[next] == visitNow && cycle == nil:
			start := slices.IndexFunc(way, func(s step) bool { return s.task == next })
			for _, s := range way[start:] {
				cycle = append(cycle, s.task)
			}
		}
	}
	return cycle
}

// path writes a cycle, the first task again at the end.
func (g *graph) path(cycle []int) string {
	const most = 20
	ids := make([]string, 0, most)
	for _, i := range cycle[:min(len(cycle), most)] {
		ids = append(ids, g.units[i].def.ID)
	}
	if len(cycle) > most {
		ids = append(ids, "…")
	}
	return strings.Join(append(ids, ids[0]), " → ")
}
