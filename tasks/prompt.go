package tasks

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
)

//go:embed ralph-prompt.md
var defaultTemplate string

// DefaultTemplate is the prompt of a [Session] that has no other. It is a good
// start for one of your own.
func DefaultTemplate() string { return defaultTemplate }

// prompt is what the agent is told in an iteration: the template, filled with
// what is true now, and what is to be known of earlier ones.
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
	if more == "" {
		return text, nil
	}
	if it.Done && !r.isDone(it) && !r.unjudged(it) {
		more += "\nThe box of " + it.Key + " is ticked, but that alone does not count: the check that is told above rejects the task. Mend what is missing. When you have answered, it is checked again.\n"
	}
	return strings.TrimRight(text, "\n") + "\n\n" + more + "\nGo on with " + it.Key + ".\n", nil
}

func (r *session) fill(it Item) (string, error) {
	beside := func(name string) string { return filepath.Join(filepath.Dir(r.path), name) }
	values := map[string]string{
		"FEATURE_NAME":     r.report.FeatureBranch,
		"SPEC_PATH":        cmp.Or(r.Spec, beside("spec.md")),
		"TASKS_PATH":       r.path,
		"PROGRESS_PATH":    cmp.Or(r.Progress, beside("progress.txt")),
		"CURRENT_TASK":     it.Describe(),
		"ITERATION_NUMBER": fmt.Sprint(r.report.IterationsRun + 1),
	}
	maps.Copy(values, r.Values)
	text, err := ralph.Template(cmp.Or(r.Template, defaultTemplate), values)
	if err != nil {
		return "", fmt.Errorf("tasks: prompt: %s", strings.TrimPrefix(err.Error(), "ralph: ")) // one package is enough
	}
	return text, nil
}

// Describe says all that the list says of an item, for the agent that works on it.
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
	return b.String()
}

// listed names items, the first of them.
func listed(items []Item) string {
	const most = 20
	var list []string
	for _, it := range items {
		list = append(list, it.Key)
	}
	if more := len(list) - most; more > 0 {
		list = append(list[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
}

// feature names a session on a list: by the git branch that is checked out in
// dir, else by the folder that the list is in.
func feature(ctx context.Context, dir, path string) string {
	folder := dir
	if path != "" {
		folder = filepath.Dir(path)
	}
	abs, _ := filepath.Abs(folder) // fails only if the current folder is gone
	return cmp.Or(branch(ctx, dir), filepath.Base(abs))
}
