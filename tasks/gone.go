package tasks

import (
	"context"
	"maps"
	"slices"

	"github.com/ralph-loop/ralph/internal/plugin"
)

// This file is about items that are no longer in the list. A task is not done by removing
// it, whatever it is called; but without an ID it may have got another text, and then it
// is still there.

// missing lists the items that are not among others.
func missing(items, others []Item) (list []Item) {
	there := make(map[string]bool, len(others))
	for _, it := range others {
		there[it.Key] = true
	}
	for _, it := range items {
		if !there[it.Key] {
			list = append(list, it)
		}
	}
	return list
}

// lost lists what was in the list and is no longer, under no other text either. It is
// sorted by key, so that reports of two runs are the same.
func (r *session) lost() (list []Item) {
	lost := maps.Clone(r.last)
	for _, it := range r.items {
		delete(lost, it.Key)
	}
	for _, key := range slices.Sorted(maps.Keys(lost)) {
		if _, renamed := r.renamed[key]; !renamed {
			list = append(list, lost[key])
		}
	}
	return list
}

// rename notes which of the items that went have another text now: for each that has no
// ID one must have come at the same time, for one that was ticked a ticked one. Texts
// are not compared: an agent that rewrites a task may rewrite all of it. An item with
// an ID has a name, and is never looked for under another.
//
// What the source knows as no task was not renamed but taken out, as by a
// strike-through. If the source cannot say, nothing is renamed: then the item is
// missing, which a person sees, rather than done under another name.
func (r *session) rename(ctx context.Context, went, came []Item) {
	went = slices.DeleteFunc(went, func(it Item) bool { return it.ID != "" })
	if len(went) == 0 || len(came) == 0 {
		return
	}
	if source, ok := r.Source.(interface {
		Check(context.Context) ([]Finding, error)
	}); ok {
		var found []Finding
		if err := plugin.Call("tasks: Source", func() (err error) { found, err = source.Check(ctx); return }); err != nil {
			return // it cannot be known
		}
		out := map[string]bool{}
		for _, f := range found {
			if !f.Task() {
				out[f.Item.Key], out[f.Item.Text] = true, true
			}
		}
		went = slices.DeleteFunc(went, func(it Item) bool { return out[it.Key] || out[it.Text] })
	}
	// Those that were ticked choose first, since they may only become what is ticked.
	for _, done := range [...]bool{true, false} {
		for _, it := range went {
			i := slices.IndexFunc(came, func(to Item) bool { return to.Done || !done })
			if it.Done != done || i < 0 {
				continue
			}
			r.renamed[it.Key], r.before[came[i].Key] = came[i].Key, r.before[it.Key]
			delete(r.pending, it.Key)
			came = slices.Delete(came, i, i+1)
		}
	}
}

// follow goes on with the item under the text that it has got as its box was ticked:
// without an ID it has no other name. While its box is open it is not followed: the
// agent is told to put the old text back, so that it cannot change a task into an
// easier one.
func (r *session) follow() {
	if _, there := find(r.items, r.item.Key); there {
		return
	}
	key, renamed := r.renamed[r.item.Key]
	for next, again := r.renamed[key]; again; next, again = r.renamed[key] {
		key = next
	}
	if to, there := find(r.items, key); renamed && there && to.Done {
		r.item = to
	}
}

// removed reports whether an item of an earlier run was taken out of the list since: it
// is not there, and is known by an ID, or there is none that it may have become. In
// doubt it was not removed: a session that waits for an item which nobody can find
// again would never end.
func (r *session) removed(key, text string) bool {
	if _, there := find(r.items, key); there {
		return false
	}
	known := map[string]bool{}
	for _, s := range r.Begun {
		known[s.Task.ID] = true
	}
	for _, key := range r.DoneBefore {
		known[key] = true
	}
	for key := range r.Pending {
		known[key] = true
	}
	return hasID(key, text) || !slices.ContainsFunc(r.items, func(it Item) bool { return it.ID == "" && !known[it.Key] })
}
