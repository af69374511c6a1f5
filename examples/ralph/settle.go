package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
	"github.com/ralph-loop/ralph/verify"
)

// A source is a task file, or a folder of them, that has no definitions: what there is to
// do, and what is made of each box.
type source interface {
	tasks.Source
	Check(ctx context.Context) ([]tasks.Finding, error)
}

// boxKinds are the kinds of task files without definitions.
var boxKinds = []tasks.Kind{tasks.KindList, tasks.KindPRD, tasks.KindTaskmaster, tasks.KindBacklog}

// flagsFor are the flags that mean something for some kinds of task files alone, what
// these are called, and what else does it for the others.
var flagsFor = []struct {
	kinds         []tasks.Kind
	what, instead string
	flags         []string
}{
	{[]tasks.Kind{tasks.KindList}, "Markdown lists", "", []string{"all-boxes", "criteria", "optional"}},
	{[]tasks.Kind{tasks.KindTaskmaster}, "Taskmaster's tasks.json", "", []string{"tag"}},
	{boxKinds, "lists and stories", "; a definition names its specification by its spec_id", []string{"spec"}},
	{boxKinds, "lists and stories", "; the prompts of definitions are in .ralph/prompts", []string{"template"}},
	{[]tasks.Kind{tasks.KindDefinitions}, "definitions", "", []string{"stages", "stage", "follow"}},
}

// flagsWith are flags that do nothing without another one.
var flagsWith = map[string]string{"repair": "worktrees", "include": "worktrees"}

// fits refuses flags that would be ignored.
func (s *shared) fits(path string, kind tasks.Kind) error {
	for _, k := range flagsFor {
		for _, flag := range k.flags {
			if s.given[flag] && !slices.Contains(k.kinds, kind) {
				return fail(exitUsage, "--%s is for %s, and %s is none%s", flag, k.what, path, k.instead)
			}
		}
	}
	for _, flag := range slices.Sorted(maps.Keys(flagsWith)) {
		if with := flagsWith[flag]; s.given[flag] && !s.given[with] {
			return fail(exitUsage, "--%s does nothing without --%s: give both, or neither", flag, with)
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
			w.say("%s: tag %s%s", w.file, w.tag, w.stale(file))
		}
	}
	w.sayLeft(w.env, w.file, kind, w.tasks)
	return cmp.Or(w.sayBranch(), w.specify())
}

// stale says that the tag which Taskmaster calls the current one is not there, if that is
// why another one is worked on.
func (w *work) stale(file tasks.TaskmasterFile) string {
	var state struct{ CurrentTag string }
	above := filepath.Dir(filepath.Dir(file.Filename()))
	text, err := ralph.ReadFile(filepath.Join(above, "state.json"), maxConfig)
	if w.given["tag"] || filepath.Base(above) != ".taskmaster" || err != nil || json.Unmarshal(text, &state) != nil || state.CurrentTag == "" || state.CurrentTag == file.Tag {
		return ""
	}
	return fmt.Sprintf("; the current one by state.json, %s, is not in it", line(state.CurrentTag))
}

// specify finds the documents that the prompt names: those of --spec, then those beside
// the task file.
func (w *work) specify() error {
	for _, path := range w.spec {
		if path == "" {
			return fail(exitUsage, "--spec is empty: give it the path of a document")
		}
		info, err := os.Stat(path)
		if err != nil {
			return fail(exitConfig, "--spec %s: there is no such file or folder", path)
		}
		if !info.IsDir() && !info.Mode().IsRegular() {
			return fail(exitConfig, "--spec %s: is neither a regular file nor a folder", path)
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
	}
	return nil
}

// sayDocuments tells which documents the prompt names, if it does: a template of the
// user's own may not. "" = the built-in one.
func (w *work) sayDocuments(template string) {
	switch names := strings.Join(w.shownDocuments(), ", "); {
	case names == "":
	case template == "" || strings.Contains(template, "DOCUMENTS"):
		w.say("the prompt names %s", names)
	case len(w.spec) > 1 || len(w.spec) == 1 && !strings.Contains(template, "SPEC_PATH"):
		w.say("warning: the prompt template has no {{DOCUMENTS}}, so the prompt does not name %s", w.spec.String())
	}
}

// specPath is the document that a template has as the specification: the first of --spec;
// "" = none was named.
func (w *work) specPath() string {
	if len(w.spec) == 0 {
		return ""
	}
	return absolute(w.spec[0])
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
	case w.begunOn != nil && *w.begunOn != redact().String(w.onto): // the agent can write to the file
		return fail(exitConfig, "%s: it was begun on the branch %s, and names %s now; it goes on only as it was agreed. Put that back, or start it over with --new", w.file, cmp.Or(line(*w.begunOn), "that was checked out then"), cmp.Or(w.onto, "none"))
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
	for flag, value := range map[string]string{"all-boxes": fmt.Sprint(w.allBoxes), "criteria": fmt.Sprint(w.criteriaToo), "optional": fmt.Sprint(w.optionalToo), "spec": strings.Join(w.documents[:min(len(w.spec), len(w.documents))], listed)} {
		if w.given[flag] {
			terms[flag] = value
		}
	}
	if w.tag != "" {
		terms["tag"] = w.tag
	}
	if w.worktrees && w.onto != "" {
		terms["branch"] = w.onto
	}
	return terms
}

// list has the items of a list as tasks: each is one agent's, who says when it is done.
func (r *piped) list(kind tasks.Kind) (err error) {
	if err := r.settle(kind); err != nil {
		return err
	}
	l := pipeline.List{Source: r.tasks}
	r.p.Source, r.p.Stages = l, []string{""}
	if r.worktrees && r.onto != "" {
		r.p.Branch, r.branch = r.onto, r.onto
	}
	r.p.Task = func(d spec.Definition, agent string) (ralph.Task, error) {
		t, err := l.Task(d, agent)
		t.Method = r.method()
		return t, err
	}
	if r.p.Verifier, r.p.HowVerified, err = r.checks(nil); r.p.Verifier == nil {
		r.p.Verifier = verify.String{}
	}
	text, errText := r.prompt()
	r.sayDocuments(text)
	documents := strings.Join(r.shownDocuments(), ", ")
	if spec := cmp.Or(r.specPath(), filepath.Join(filepath.Dir(absolute(r.file)), "spec.md")); text != "" {
		r.p.Prompt = l.Prompt(text, map[string]string{
			"FEATURE_NAME": r.feature(), "SPEC_PATH": spec, "TASKS_PATH": absolute(r.file), "PROGRESS_PATH": absolute(r.progress),
			"DOCUMENTS": cmp.Or(documents, spec), "HOW_DONE": "say so: that it is done is written for you",
		})
	} else if documents != "" {
		roles, errRoles := r.p.Prompts.Load(r.p.Stages)
		errText = cmp.Or(errText, errRoles)
		r.p.Prompt = func(st pipeline.Stage) func(context.Context, ralph.State) (string, error) {
			st.Definition.Description += "\n\nDocuments of it, to be read as far as the task needs them: " + documents
			prompt, err := roles.Prompt(r.project, st)
			if err != nil {
				return func(context.Context, ralph.State) (string, error) { return "", err }
			}
			return prompt
		}
	}
	return cmp.Or(err, errText)
}

// toBranch checks out the branch of the tasks before they are read, which are those that
// it has; where nothing is to be done nothing is checked out.
func (r *piped) toBranch() error {
	if r.p.Branch == "" {
		return nil
	}
	defs, err := r.p.OnBranch(r.ctx)
	if err != nil {
		return fail(exitConfig, "%w", err)
	}
	if len(defs) > 0 && !slices.ContainsFunc(defs, isToDo) && !r.unfinished() {
		return r.nothing(defs)
	}
	return wrong(r.p.Switch(r.ctx))
}

// reopen says, for each kind of file, how a task is opened again.
var reopen = map[tasks.Kind]string{
	tasks.KindDefinitions: "set the status of those that are to run again to todo",
	tasks.KindList:        `untick the boxes of those that are to run again: "[x]" becomes "[ ]"`,
	tasks.KindPRD:         `set "passes" of those that are to run again to false, or what says instead that they are done`,
	tasks.KindTaskmaster:  "set the status of those that are to run again to pending",
	tasks.KindBacklog:     "set the status of those that are to run again to To Do",
}

// nothing is the error of a file in which there is nothing to do.
func (r *piped) nothing(defs []spec.Definition) error {
	all := "all done"
	if slices.ContainsFunc(defs, func(d spec.Definition) bool { return d.Status.Effective() != spec.StatusDone }) {
		all = counts(defs)
	}
	return fail(exitConfig, "%s: there is nothing to do: %s, %s; %s", r.file, plural(len(defs), "task"), all, reopen[r.kind])
}

// isToDo reports whether the file has somebody do a task.
func isToDo(d spec.Definition) bool {
	s := d.Status.Effective()
	return s != spec.StatusDone && s != spec.StatusSkipped
}

// saySlots tells that more slots do nothing for a file whose tasks come one after the other.
func (r *piped) saySlots() {
	if r.slots < 2 || sideBySide(r.kind, r.items) {
		return
	}
	which := "the stories of a prd.json come one after the other"
	if r.kind == tasks.KindList {
		which = "the tasks of this list come one after the other: those may run side by side that are marked [P] and stand together"
	}
	r.say("%s: --slots %d has no effect: %s", r.file, r.slots, which)
}

// sideBySide reports whether tasks may be worked on at the same time, as far as the kind of
// the file says.
func sideBySide(kind tasks.Kind, items []tasks.Item) bool {
	if kind != tasks.KindList && kind != tasks.KindPRD {
		return true
	}
	items = tasks.InOrder(items)
	for i, it := range items {
		if i > 0 && it.Parallel && items[i-1].Parallel && it.Phase == items[i-1].Phase && !it.Done && !items[i-1].Done {
			return true
		}
	}
	return false
}
