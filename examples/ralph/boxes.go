package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/tasks"
)

// A because is a reason why something is no task: in a count of one and of several, in a
// table, and with which flag it is one.
type because struct {
	why                  tasks.Why
	one, many, row, flag string
}

var becauses = []because{
	{tasks.WhyNoID, "box without an ID", "boxes without an ID", "no task: it has no ID", "--all-boxes"},
	{tasks.WhyPart, "part of a task", "parts of tasks", "part of a task, and in its prompt", "--all-boxes"},
	{whyLost, "open part of a task that is done", "open parts of tasks that are done", "part of a task that is done: nobody is told of it", "--all-boxes"},
	{tasks.WhyCriterion, "criterion", "criteria", "no task: it says how work is judged", "--criteria"},
	{tasks.WhyOptional, "optional box", "optional boxes", "no task: it is optional", "--optional"},
	{tasks.WhyNoBox, "near-box", "near-boxes", "no box: nothing renders it as one", ""},
	{tasks.WhySkipped, "that nobody is to do", "that nobody is to do", "no task: nobody is to do it", ""},
	{tasks.WhyNoFront, "file without front matter", "files without front matter", "no task", ""},
}

// whyLost is why nobody is told of a part of a task: that is done.
const whyLost tasks.Why = "lost"

// withLost says of open parts of tasks that are done that they are.
func withLost(found []tasks.Finding) []tasks.Finding {
	found = slices.Clone(found)
	done := map[string]bool{} // the tasks
	above := ""               // the last of them
	for i, f := range found {
		switch {
		case f.Task():
			above = f.Item.Key
			done[above] = f.Item.Done
		case f.Why == tasks.WhyPart && !f.Item.Done && done[cmp.Or(f.Item.Parent, above)]:
			found[i].Why = whyLost
		}
	}
	return found
}

// what says in a table what was made of a box.
func what(f tasks.Finding) string {
	text, flag := "task", ""
	switch i := slices.IndexFunc(becauses, func(b because) bool { return b.why == f.Why }); {
	case f.Why == tasks.WhyWaits:
		text = "task, waits"
	case i >= 0:
		text, flag = becauses[i].row, becauses[i].flag
	case !f.Task():
		text = "no task"
	}
	if f.Detail != "" {
		text += " (" + f.Detail + ")"
	}
	if flag != "" {
		text += "; " + flag + " takes it"
	}
	return text
}

// sayLeft says in one line what of a task file is not worked off, and why, and in another
// one what of its tasks is not as somebody may think: nobody waits for what is left out,
// and a status that nobody knows is open.
func (s *shared) sayLeft(e env, path string, kind tasks.Kind, src source) {
	found, err := src.Check(e.ctx)
	if err != nil {
		return // who reads the file's items tells it
	}
	if left := leftOut(found, kind == tasks.KindBacklog); left != "" {
		e.say("%s: left out: %s; 'ralph task check %s' tells why", path, left, word(path))
	}
	if odd := oddities(found); odd != "" {
		e.say("warning: %s: %s", path, odd)
	}
}

// oddities are what a person should know of some tasks, the first of them: a status that
// nobody knows, states that contradict each other, a dependency that is not there.
func oddities(found []tasks.Finding) string {
	var all []string
	for _, f := range found {
		told := slices.DeleteFunc(strings.Split(f.Detail, "; "), func(text string) bool {
			return text == "" || strings.HasPrefix(text, "for ") && f.Why == tasks.WhyWaits || strings.HasPrefix(text, "tasks/")
		})
		if f.Task() && len(told) > 0 {
			all = append(all, short(cmp.Or(f.Item.Key, f.Item.Text), 40)+": "+short(strings.Join(told, ", "), 160))
		}
	}
	return first(all, "; ", "; ")
}

// first names the first of some things, and how many more there are.
func first(all []string, between, last string) string {
	const most = 5
	if more := len(all) - most; more > 0 {
		return fmt.Sprintf("%s%sand %d more", strings.Join(all[:most], between), last, more)
	}
	return strings.Join(all, between)
}

// leftOut counts what is not worked off, by why. What is done needs nobody, and a part
// is worked off with its task, if that is open. Where there are several files they are
// named, and not lines.
func leftOut(found []tasks.Finding, files bool) string {
	at := map[tasks.Why][]string{}
	for _, f := range withLost(found) {
		switch {
		case f.Task() || f.Why == tasks.WhyPart || f.Item.Done && f.Why != tasks.WhyNoBox:
		case files:
			at[f.Why] = append(at[f.Why], short(cmp.Or(f.Item.Key, f.Item.Text), 40))
		default:
			at[f.Why] = append(at[f.Why], fmt.Sprint(f.Item.Line))
		}
	}
	all := slices.Clone(becauses)
	for _, why := range slices.Sorted(maps.Keys(at)) {
		if !slices.ContainsFunc(all, func(b because) bool { return b.why == why }) {
			all = append(all, because{why: why, one: line(string(why)), many: line(string(why))}) // of a source that knows more
		}
	}
	var parts []string
	for _, b := range all {
		if places := at[b.why]; len(places) > 0 {
			parts = append(parts, fmt.Sprintf("%s (%s)", plural(len(places), b.one, b.many), strings.TrimSuffix(few(places, files)+"; "+b.flag, "; ")))
		}
	}
	return strings.Join(parts, ", ")
}

// few are the first of some lines, or of some names.
func few(places []string, names bool) string {
	text := map[bool]string{true: "line ", false: "lines "}[len(places) == 1]
	if names {
		text = ""
	}
	return text + first(places, ", ", " ")
}

// checkBoxes prints what is made of each box, story or file, and why.
func (s *shared) checkBoxes(e env, path string, kind tasks.Kind) error {
	src, err := s.source(path, kind)
	if err != nil {
		return err
	}
	found, err := src.Check(e.ctx)
	if err != nil {
		return fail(exitConfig, "%w", err)
	}
	items, refused := src.Items(e.ctx)
	rows := [][]string{{"LINE", "TASK", "STATUS", "TEXT", "WHAT IT IS"}}
	for _, f := range withLost(found) {
		status := status(f.Item, f.Why == tasks.WhyWaits)
		if f.Why == tasks.WhyNoBox || f.Why == tasks.WhyNoFront {
			status = ""
		}
		number := strings.TrimPrefix(fmt.Sprint(f.Item.Line), "0") // of what stands in no line
		rows = append(rows, []string{number, name(f.Item), status, short(f.Item.Text, 50), what(f)})
	}
	if len(found) > 0 {
		columns(e.stdout, rows)
	}
	if refused != nil {
		return fail(exitConfig, "%w", refused)
	}
	fmt.Fprintf(e.stdout, "%s: %s, %d open\n", line(path), plural(len(items), "task"), openItems(items))
	s.sayLeft(e, path, kind, src)
	return nil
}

// name is the ID of an item, with what tells it from others with the same one; "" = it has none.
func name(it tasks.Item) string {
	if it.ID == "" {
		return ""
	}
	return cmp.Or(it.Key, it.ID)
}

// status is how an item stands.
func status(it tasks.Item, waits bool) string {
	switch {
	case it.Done:
		return "done"
	case waits:
		return "waits"
	case it.Doing:
		return "doing"
	}
	return "open"
}

// listBoxes prints the items of a list, stories or a folder in the order in which they
// are worked on.
func (s *shared) listBoxes(e env, path string, kind tasks.Kind) error {
	src, err := s.source(path, kind)
	if err != nil {
		return err
	}
	items, err := src.Items(e.ctx)
	if err != nil {
		return fail(exitConfig, "%w", err)
	}
	waiting := tasks.Waiting(items)
	rows := [][]string{{"TASK", "STATUS", "PART OF", "AFTER", "PHASE", "TEXT"}}
	for _, it := range items {
		var before []string // what it waits for
		for _, open := range waiting[it.Key] {
			before = append(before, open.Key)
		}
		rows = append(rows, []string{name(it), status(it, before != nil), it.Parent, short(strings.Join(before, ", "), 30), short(it.Phase, 30), short(it.Text, 80)})
	}
	return columns(e.stdout, filled(rows, "PART OF", "AFTER"))
}

// filled leaves out the columns of these names in which nothing stands.
func filled(rows [][]string, names ...string) [][]string {
	for _, name := range names {
		at := slices.Index(rows[0], name)
		if slices.ContainsFunc(rows[1:], func(row []string) bool { return row[at] != "" }) {
			continue
		}
		for i := range rows {
			rows[i] = slices.Delete(rows[i], at, at+1)
		}
	}
	return rows
}
