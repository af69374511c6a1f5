package tasks

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/plugin"
)

//go:embed ralph-prompt.md
var defaultTemplate string

// DefaultTemplate is the prompt of a [Session] that has no other, in Markdown, with the
// names of [Session.Template] in braces. It is a good start for one of your own.
func DefaultTemplate() string { return defaultTemplate }

// prompt is what the agent is told in an iteration: the template, filled with what is
// true now, and what is to be known of earlier ones. That comes last, where it is read
// last: why the answer before was rejected is what this iteration is about.
func (r *session) prompt(_ context.Context, s ralph.State) (string, error) {
	it, there := find(r.items, r.item.Key)
	if !there {
		it = r.item
	}
	text, err := r.fill(it)
	if err != nil {
		return "", err
	}
	if r.HowVerified != "" {
		text = strings.TrimRight(text, "\n") + "\n\nWhen its box is ticked, " + it.Key + " is verified: " + r.HowVerified + ".\n"
	}
	more := s.Continuation()
	// The first attempt at an item: nothing came before it.
	if more == "" {
		return text, nil
	}
	// Else an agent that finds its box ticked answers that all is done.
	if it.Done && !r.isDone(it) && !r.unjudged(it) {
		more += "\nThe box of " + it.Key + " is ticked, but that alone does not count: the check that is told above rejects the task. Mend what is missing. When you have answered, it is checked again.\n"
	}
	return strings.TrimRight(text, "\n") + "\n\n" + more + "\nGo on with " + it.Key + ".\n", nil
}

// fill fills the template for an item. Documents are looked for each time: an earlier
// item may have been to write one.
func (r *session) fill(it Item) (string, error) {
	beside := func(name string) string { return filepath.Join(filepath.Dir(r.path), name) }
	documents := r.documents()
	spec := cmp.Or(r.Spec, beside("spec.md"))
	// A prompt must not name a file that is not there: the agent would look for it, or
	// write it.
	if r.Spec == "" && len(documents) > 0 && !slices.Contains(documents, spec) {
		spec = documents[0]
	}
	how, err := r.howDone(it)
	if err != nil {
		return "", err
	}
	// What the caller has set goes before what is found, and what is found before the
	// usual name.
	values := map[string]string{
		"FEATURE_NAME":     r.report.FeatureBranch,
		"SPEC_PATH":        spec,
		"DOCUMENTS":        cmp.Or(strings.Join(documents, ", "), spec+", if it is there"),
		"TASKS_PATH":       cmp.Or(r.path, "the list of tasks"),
		"PROGRESS_PATH":    cmp.Or(r.Progress, beside("progress.txt")),
		"CURRENT_TASK":     it.DescribeIn(r.items),
		"HOW_DONE":         how,
		"ITERATION_NUMBER": fmt.Sprint(r.report.IterationsRun + 1),
	}
	maps.Copy(values, r.Values)
	text, err := ralph.Template(cmp.Or(r.Template, defaultTemplate), values)
	if err != nil {
		return "", fmt.Errorf("tasks: prompt: %s", strings.TrimPrefix(err.Error(), "ralph: ")) // one package is enough
	}
	return text, nil
}

// documents are the paths of what describes the feature, Spec first, where it is given.
func (r *session) documents() []string {
	list := r.Documents
	if list == nil && r.path != "" {
		list = Documents(r.path)
	}
	if r.Spec != "" && !slices.Contains(list, r.Spec) {
		list = slices.Insert(slices.Clone(list), 0, r.Spec)
	}
	return list
}

// howDone says how the agent marks an item as done. The source knows its own file, by
// an absolute path or the one it was given; the prompt has one path for it, by which
// the agent may know the file from where it is, and so that one is put in its place.
func (r *session) howDone(it Item) (how string, err error) {
	src, ok := r.Source.(interface{ HowDone(it Item) string })
	switch {
	// The source is a program's own, and nobody has said where it keeps its tasks.
	case !ok && r.path == "":
		return "mark it as done where the tasks are kept", nil
	case !ok:
		return "tick its box in " + r.path + ": \"[ ]\" becomes \"[x]\"", nil
	}
	if list, is := r.Source.(ListFile); is { // so that it names its file as Filename does
		list.Path = list.Filename()
		src = list
	}
	err = plugin.Call("tasks: Source", func() error {
		how = src.HowDone(it)
		if file, ok := r.Source.(interface{ Filename() string }); ok && file.Filename() != "" {
			how = strings.ReplaceAll(how, file.Filename(), r.path)
		}
		return nil
	})
	return how, err
}

// filename is the path of the file that a source reads; "" = it says none. Of a list
// and a prd.json it is as it was given: a prompt with absolute paths would be another
// one on each machine.
func filename(src Source) string {
	switch src := src.(type) {
	case ListFile:
		return src.Path
	case PRDFile:
		return src.Path
	case interface{ Filename() string }:
		return src.Filename()
	}
	return ""
}

// place is the path of the file that a source reads, or of the folder that its items
// are in, each in a file of its own; "" = it says neither. It is asked once, at the
// start: the first item's file may be moved when it is done.
func place(src Source, items []Item) string {
	path := filename(src)
	// A folder of tasks has no file of its own; the agent is shown where they lie.
	if of, ok := src.(interface{ FilenameOf(key string) string }); ok && path == "" && len(items) > 0 {
		first := max(0, slices.IndexFunc(items, func(it Item) bool { return !it.Done })) // what is done may lie elsewhere
		if path = of.FilenameOf(items[first].Key); path != "" {
			path = filepath.Dir(path)
		}
	}
	return path
}

// Describe says all that the list says of an item, for the agent that works on it: ID,
// text, phase, details, criteria, and that somebody has begun. It is plain text of
// several lines; a zero Item gives "".
func (it Item) Describe() string {
	var b strings.Builder
	if it.ID != "" {
		b.WriteString(it.ID + " ")
	}
	b.WriteString(it.Text)
	if it.Phase != "" {
		fmt.Fprintf(&b, " (in %q)", it.Phase)
	}
	if it.Details != "" {
		b.WriteString("\n\n" + it.Details)
	}
	if len(it.Acceptance) > 0 {
		b.WriteString("\n\nIt is done when:\n- " + strings.Join(it.Acceptance, "\n- "))
	}
	if it.Doing && !it.Done {
		b.WriteString("\n\nSomebody has begun with it: see what of it is there.")
	}
	return b.String()
}

// maxListed is how many items are named in a sentence. An error, or a prompt, that
// names thousands is read by nobody.
const maxListed = 20

// listed names items, the first of them.
func listed(items []Item) string {
	var list []string
	for _, it := range items {
		list = append(list, it.Key)
	}
	return firstFew(list, maxListed)
}

// told names items as listed does, but in a sentence that is said again and again, and
// where keys may be whole titles: three of them.
func told(items []Item) string {
	var list []string
	for _, it := range items {
		list = append(list, it.Key)
	}
	return firstFew(list, 3)
}

func firstFew(names []string, most int) string {
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// feature names a session on a list: by the git branch that is checked out in dir, else
// by the folder that the list is in. The branch goes first, since the folder is often
// the same for all features, as in a project with one tasks.md.
func feature(ctx context.Context, dir, path string) string {
	folder := dir
	if path != "" {
		folder = filepath.Dir(path)
	}
	abs, _ := filepath.Abs(folder) // fails only if the current folder is gone
	return cmp.Or(branch(ctx, dir), filepath.Base(abs))
}
