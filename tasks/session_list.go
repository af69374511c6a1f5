package tasks

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

// verify reads the list again: an item is done when its box is ticked.
func (r *session) verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	if err := r.look(ctx); err != nil {
		if ctx.Err() != nil {
			return ralph.Verdict{}, context.Cause(ctx)
		}
		// The agent had it in hands, and can mend it.
		text := "the task list can no longer be read, which ends the session unless you restore it: " + err.Error()
		return ralph.Verdict{Feedback: text, Checks: []ralph.Check{{Name: "task list", Status: ralph.CheckFailed, Detail: text}}}, nil
	}
	check, wrong := r.box()
	v := ralph.Verdict{Passed: check.Status == ralph.CheckPassed, Checks: []ralph.Check{check}}
	if open := r.remaining(); c.Promised && len(open) > 0 {
		claim := "The last answer claimed that everything is done, but " + areOpen(open) + "."
		v.Checks = append(v.Checks, ralph.Check{Name: "promise", Status: ralph.CheckWarning, Detail: claim})
		r.note = claim // should the next prompt be that of another item
		wrong = append(wrong, claim)
	}
	if !v.Passed {
		v.Feedback = strings.Join(wrong, "\n")
	}
	return v, nil
}

// box looks whether the item is done.
func (r *session) box() (check ralph.Check, wrong []string) {
	it, there := find(r.items, r.current.item.Key)
	check = ralph.Check{Name: "box of " + r.current.item.Key, Status: ralph.CheckPassed}
	switch {
	case there && it.Done:
	case there:
		check.Status = ralph.CheckFailed
		check.Detail = fmt.Sprintf("the box of %s is not ticked", it.Key)
		wrong = append(wrong, check.Detail+": tick it when the task is done, and only then.")
	case r.current.item.ID == "" && r.current.newly > 0:
		// Without an ID the text is all that it can be known by, and was changed
		// when the box was ticked.
		check.Detail = "its text was changed"
	default:
		check.Status = ralph.CheckFailed
		check.Detail = fmt.Sprintf("%s is no longer in the list", r.current.item.Key)
		wrong = append(wrong, check.Detail+": put it back, and tick its box when it is done. A task is not done by removing it.")
	}
	return check, wrong
}

// areOpen says how many items are open, and which.
func areOpen(items []Item) string {
	if len(items) == 1 {
		return "1 task is open: " + listed(items)
	}
	return fmt.Sprintf("%d tasks are open: %s", len(items), listed(items))
}

// listed names items, the first of them.
func listed(items []Item) string {
	const most = 20
	var list []string
	for _, it := range items[:min(len(items), most)] {
		list = append(list, it.Key)
	}
	if more := len(items) - most; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
}

// reread reads the list again and notes what was ticked.
func (r *session) reread(ctx context.Context) error {
	items, err := r.Source.Items(ctx)
	if err != nil {
		return err
	}
	for _, it := range items {
		switch {
		case it.Done && !r.before[it.Key]:
			r.ticked[it.Key] = true
		case !it.Done:
			delete(r.ticked, it.Key)
		}
	}
	r.items = items
	r.remember(items)
	return nil
}

func (r *session) remember(items []Item) {
	for _, it := range items {
		if it.ID != "" {
			r.known[it.Key] = it
		}
	}
}

// look reads the list again after an attempt, and counts what was ticked in it.
func (r *session) look(ctx context.Context) error {
	old, known := r.items, maps.Clone(r.known)
	if err := r.reread(ctx); err != nil {
		return err
	}
	r.current.newly = r.newly(old, known)
	return nil
}

// newly counts the boxes that are ticked and were not when they were last in the
// list, which may have been broken in between.
func (r *session) newly(old []Item, known map[string]Item) int {
	done := map[string]bool{}
	for key, it := range known {
		done[key] = it.Done
	}
	for _, it := range old {
		done[it.Key] = it.Done
	}
	n := 0
	for _, it := range r.items {
		was, there := done[it.Key]
		if it.Done && !was && (there || it.ID == "") {
			n++
		}
	}
	return n
}

// remaining lists what is open, and what was open when it was last in the list:
// a task is not done by removing it.
func (r *session) remaining() []Item {
	left := slices.DeleteFunc(slices.Clone(r.items), func(it Item) bool { return it.Done })
	lost := maps.Clone(r.known)
	for _, it := range r.items {
		delete(lost, it.Key)
	}
	for _, key := range slices.Sorted(maps.Keys(lost)) {
		if it := lost[key]; !it.Done {
			left = append(left, it)
		}
	}
	return left
}
