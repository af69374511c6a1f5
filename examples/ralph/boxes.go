package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/tasks"
)

// A source is a task file, or a folder of them, that has no definitions: what there is
// to do, what is made of each box, and how it is told that one is done.
type source interface {
	tasks.Source
	Check(ctx context.Context) ([]tasks.Finding, error)
	Tick(key string) error
	Mark(key string, text []byte) ([]byte, error)
	Filename() string
	HowDone(it tasks.Item) string
}

// kindFlags are the flags that mean something for one kind of task file alone, and what
// that is called.
var kindFlags = []struct {
	kind  tasks.Kind
	what  string
	flags []string
}{
	{tasks.KindList, "Markdown lists", []string{"all-boxes", "criteria", "optional"}},
	{tasks.KindTaskmaster, "Taskmaster's tasks.json", []string{"tag"}},
}

// fits refuses flags that would be ignored.
func (s *shared) fits(path string, kind tasks.Kind) error {
	for _, k := range kindFlags {
		for _, flag := range k.flags {
			if s.given[flag] && kind != k.kind {
				return fail(exitUsage, "--%s is for %s, and %s is none", flag, k.what, path)
			}
		}
	}
	return nil
}

// source is what a path is by its kind, with the flags that say what of it is a task.
// Definitions are none.
func (s *shared) source(path string, kind tasks.Kind) (source, error) {
	if err := s.fits(path, kind); err != nil {
		return nil, err
	}
	switch kind {
	case tasks.KindList:
		return tasks.ListFile{Path: path, AllBoxes: s.allBoxes, OnlyIDs: s.given["all-boxes"] && !s.allBoxes || s.onlyIDs,
			Criteria: s.criteriaToo, Optional: s.optionalToo}, nil
	case tasks.KindPRD:
		return tasks.PRDFile{Path: path}, nil
	case tasks.KindTaskmaster:
		return tasks.TaskmasterFile{Path: path, Tag: s.tag}, nil
	case tasks.KindBacklog:
		return tasks.Backlog{Path: path}, nil
	}
	return nil, fail(exitConfig, "%s: its kind, %s, has no boxes", path, string(kind))
}

// resolve fixes what a source would look up again in the workspace, to which the agent
// writes.
func resolve(ctx context.Context, from source) (to source, err error) {
	switch src := from.(type) {
	case tasks.ListFile:
		to, err = src.Resolve(ctx)
	case tasks.PRDFile:
		to, err = src.Resolve(ctx)
	case tasks.TaskmasterFile:
		to, err = src.Resolve(ctx)
	case tasks.Backlog:
		to, err = src.Resolve(ctx)
	}
	if err != nil {
		return nil, fail(exitConfig, "%w", err)
	}
	return to, nil
}

// settle makes the source of a run and says of it what a person should know before
// anything begins: what is left out, what the prompt names, and on which branch.
func (w *work) settle(kind tasks.Kind) error {
	src, err := w.source(w.file, kind)
	if err == nil {
		w.tasks, err = resolve(w.ctx, src)
	}
	if err != nil {
		return err
	}
	if w.items, err = w.tasks.Items(w.ctx); err != nil {
		return fail(exitConfig, "%w", err)
	}
	if file, ok := w.tasks.(tasks.TaskmasterFile); ok {
		if w.tag = file.Tag; w.tag != "" {
			w.say("%s: tag %s", w.file, w.tag)
		}
	}
	w.sayLeft(w.env, w.file, kind, w.tasks)
	if err := w.specify(); err != nil {
		return err
	}
	return w.sayBranch()
}

// specify finds the documents that the prompt names: those of --spec, then those beside
// the task file.
func (w *work) specify() error {
	for _, path := range w.spec {
		if _, err := os.Stat(path); err != nil {
			return fail(exitConfig, "--spec %s: there is no such file or folder", path)
		}
		w.documents = append(w.documents, absolute(path))
	}
	for _, path := range tasks.Documents(absolute(w.file)) {
		if !slices.Contains(w.documents, path) {
			w.documents = append(w.documents, path)
		}
	}
	if w.documents == nil {
		w.documents = []string{} // none, and not those that are there by then
		return nil
	}
	w.say("the prompt names %s", strings.Join(w.shownDocuments(), ", "))
	return nil
}

// specPath is the specification of a template that names one.
func (w *work) specPath() string {
	if len(w.spec) > 0 {
		return absolute(w.spec[0])
	}
	return filepath.Join(filepath.Dir(absolute(w.file)), "spec.md")
}

// shownDocuments are the documents as they are called in the project's folder, which is
// the agent's, or a worktree's too.
func (w *work) shownDocuments() (names []string) {
	for _, path := range w.documents {
		name := relative(w.project, path)
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			name = path
		}
		names = append(names, name)
	}
	return names
}

// sayBranch tells of the branch that a prd.json names.
func (w *work) sayBranch() error {
	file, ok := w.tasks.(tasks.PRDFile)
	if !ok {
		return nil
	}
	prd, err := file.Read()
	if err != nil {
		return fail(exitConfig, "%w", err)
	}
	switch w.onto = prd.Branch; {
	case w.onto == "":
	case w.worktrees:
		w.say("%s: it is worked on the branch %s", w.file, w.onto)
	case w.branch == w.onto:
		w.say("%s: branch %s", w.file, w.onto)
	default:
		w.say("warning: %s names the branch %s, and %s is checked out; switch to it, or have it worked on with --worktrees", w.file, w.onto, cmp.Or(w.branch, "none"))
	}
	return nil
}

// boxTerms adds what was agreed of the boxes, for the record.
func (w *work) boxTerms(terms map[string]string) map[string]string {
	for flag, value := range map[string]string{"all-boxes": fmt.Sprint(w.allBoxes), "criteria": fmt.Sprint(w.criteriaToo), "optional": fmt.Sprint(w.optionalToo), "spec": w.spec.String()} {
		if w.given[flag] {
			terms[flag] = value
		}
	}
	if w.tag != "" {
		terms["tag"] = w.tag
	}
	return terms
}

// A because is a reason why something is no task: in a count of one and of several, in a
// table, and with which flag it is one.
type because struct {
	why                  tasks.Why
	one, many, row, flag string
}

var becauses = []because{
	{tasks.WhyNoID, "box without an ID", "boxes without an ID", "no task: it has no ID", "--all-boxes"},
	{tasks.WhyPart, "open part of a task that is done", "open parts of tasks that are done", "part of a task: it is in its prompt", "--all-boxes"},
	{tasks.WhyCriterion, "criterion", "criteria", "no task: it says how work is judged", "--criteria"},
	{tasks.WhyOptional, "optional box", "optional boxes", "no task: it is optional", "--optional"},
	{tasks.WhyNoBox, "near-box", "near-boxes", "no box: nothing renders it as one", ""},
	{tasks.WhySkipped, "skipped", "skipped", "no task: nobody is to do it", ""},
	{tasks.WhyNoFront, "file without front matter", "files without front matter", "no task: it has no front matter", ""},
}

// what says in a table what was made of a box.
func what(f tasks.Finding) string {
	text, flag := "task", ""
	switch i := slices.IndexFunc(becauses, func(b because) bool { return b.why == f.Why }); {
	case f.Why == tasks.WhyWaits:
		text = "task, after others"
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

// sayLeft says in one line what of a task file is not worked off, and why: nobody waits
// for it, which should surprise nobody.
func (s *shared) sayLeft(e env, path string, kind tasks.Kind, src source) {
	found, err := src.Check(e.ctx)
	if err != nil {
		return // who reads the file's items tells it
	}
	if left := leftOut(found, kind == tasks.KindBacklog); left != "" {
		e.say("%s: left out: %s; 'ralph task check %s' tells why", path, left, word(path))
	}
}

// leftOut counts what is not worked off, by why. What is done needs nobody, and a part
// is worked off with its task, if that is open. Where there are several files they are
// named, and not lines.
func leftOut(found []tasks.Finding, files bool) string {
	at := map[tasks.Why][]string{}
	done := map[string]bool{} // the tasks
	above := ""               // the last of them
	for _, f := range found {
		switch {
		case f.Task():
			above = f.Item.Key
			done[above] = f.Item.Done
		case f.Item.Done && f.Why != tasks.WhyNoBox:
		case f.Why == tasks.WhyPart && !done[cmp.Or(f.Item.Parent, above)]:
		case files:
			at[f.Why] = append(at[f.Why], short(cmp.Or(f.Item.Key, f.Item.Text), 40))
		default:
			at[f.Why] = append(at[f.Why], fmt.Sprint(f.Item.Line))
		}
	}
	all := slices.Clone(becauses)
	for _, why := range slices.Sorted(maps.Keys(at)) {
		if !slices.ContainsFunc(all, func(b because) bool { return b.why == why }) {
			all = append(all, because{why: why, one: string(why), many: string(why)}) // of a source that knows more
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
	const most = 5
	text := map[bool]string{true: "line ", false: "lines "}[len(places) == 1]
	if names {
		text = ""
	}
	if more := len(places) - most; more > 0 {
		return fmt.Sprintf("%s%s and %d more", text, strings.Join(places[:most], ", "), more)
	}
	return text + strings.Join(places, ", ")
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
	for _, f := range found {
		status := status(f.Item, f.Why == tasks.WhyWaits)
		if f.Why == tasks.WhyNoBox || f.Why == tasks.WhyNoFront {
			status = ""
		}
		rows = append(rows, []string{lineNumber(f.Item.Line), f.Item.ID, status, short(f.Item.Text, 50), what(f)})
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

// lineNumber is "" for what stands in no line.
func lineNumber(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
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
	parents := map[string]bool{}
	for _, it := range items {
		parents[it.Parent] = true
	}
	rows := [][]string{{"TASK", "STATUS", "PART OF", "AFTER", "PHASE", "TEXT"}}
	for _, it := range items {
		var before []string // what it waits for
		if !it.Done && (len(it.After) > 0 || parents[it.Key]) {
			for _, open := range tasks.Waits(items, it) {
				before = append(before, open.Key)
			}
		}
		rows = append(rows, []string{it.ID, status(it, before != nil), it.Parent, short(strings.Join(before, ", "), 30), short(it.Phase, 30), short(it.Text, 80)})
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
