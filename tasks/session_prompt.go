package tasks

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
)

// DefaultTemplate is the prompt of a [Session] that has no other.
//
//go:embed ralph-prompt.md
var DefaultTemplate string

// prompt is what the agent is told in an iteration: the template, read with what
// is true now, and what is to be known of earlier ones.
func (r *session) prompt(_ context.Context, s ralph.State) (string, error) {
	it := r.current.item
	if now, ok := find(r.items, it.Key); ok {
		it = now
	}
	text, err := r.fill(it)
	if err != nil {
		return "", err
	}
	more := s.Continuation()
	if more == "" {
		return text, nil
	}
	return strings.TrimRight(text, "\n") + "\n\n" + more + "\nGo on with " + it.Key + ".\n", nil
}

// tryPrompt finds mistakes in the template before anything is run.
func (r *session) tryPrompt() error {
	it, _ := r.next()
	_, err := r.fill(it)
	return err
}

func (r *session) fill(it Item) (string, error) {
	beside := func(given, name string) string {
		if given != "" || r.path == "" {
			return cmp.Or(given, name)
		}
		return filepath.Join(filepath.Dir(r.path), name)
	}
	values := map[string]string{
		"FEATURE_NAME":     r.report.FeatureBranch,
		"SPEC_PATH":        beside(r.Spec, "spec.md"),
		"TASKS_PATH":       r.path,
		"PROGRESS_PATH":    beside(r.Progress, "progress.txt"),
		"CURRENT_TASK":     describeItem(it),
		"ITERATION_NUMBER": fmt.Sprint(r.report.IterationsRun + 1),
	}
	maps.Copy(values, r.Values)
	text, err := ralph.Template(cmp.Or(r.Template, DefaultTemplate), values)
	if err != nil {
		return "", errors.New("prompt: " + strings.TrimPrefix(err.Error(), "ralph: "))
	}
	return text, nil
}

// describeItem says all that the list says of an item.
func describeItem(it Item) string {
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
		b.WriteString("\n\nIt is done when:")
		for _, text := range it.Acceptance {
			b.WriteString("\n- " + text)
		}
	}
	return b.String()
}

// Feature is the name of a session on a list (S0's feature branch): the git
// branch that is checked out in dir, else the name of the folder that the list
// is in.
func Feature(ctx context.Context, dir, path string) string {
	if out, err := git.Command(ctx, dir, "symbolic-ref", "--quiet", "--short", "HEAD").Output(); err == nil {
		if branch := string(bytes.TrimSpace(out)); branch != "" {
			return branch
		}
	}
	folder := dir
	if path != "" {
		folder = filepath.Dir(path)
	}
	if abs, err := filepath.Abs(folder); err == nil {
		folder = abs
	}
	return filepath.Base(folder)
}
