package pipeline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// itemPrompt is what an item of a list is told.
func itemPrompt(t *testing.T, prompts pipeline.Prompts, s pipeline.Stage) string {
	t.Helper()
	roles, err := prompts.Load([]string{""})
	if err != nil {
		t.Fatal(err)
	}
	prompt, err := roles.Prompt(t.TempDir(), s)
	if err != nil {
		t.Fatal(err)
	}
	task, err := pipeline.List{}.Task(s.Definition, "")
	if err != nil {
		t.Fatal(err)
	}
	text, err := prompt(t.Context(), ralph.Start(task))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestItemPrompt: an item of a list has no stages, so none is spoken of, and no section is
// pointed to that is not there.
func TestItemPrompt(t *testing.T) {
	t.Parallel()
	path := write(t, filepath.Join(t.TempDir(), "tasks.md"), "## Login\n\n- [ ] T001 Check the token\n  - an expired one is refused\n")
	defs, err := pipeline.List{Source: tasks.ListFile{Path: path}}.Read(t.Context())
	if err != nil || len(defs) != 1 {
		t.Fatal(defs, err)
	}
	item := pipeline.Stage{Definition: defs[0], Branch: "ralph/T001"}
	got, golden := itemPrompt(t, pipeline.Prompts{}, item), filepath.Join("testdata", "prompts", "item.md")
	if *updatePrompts {
		write(t, golden, got)
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	item.Feedback = "a conflict in a.go"
	story := item
	story.Definition.Completion = &spec.Completion{Outcome: "Check the token", Acceptance: []string{"it is refused"}}
	for name, text := range map[string]string{"item": got, "again": itemPrompt(t, pipeline.Prompts{}, item), "story": itemPrompt(t, pipeline.Prompts{}, story)} {
		for _, none := range []string{"stage", "**Stage**", "the part of", "parts of others", "what done means", "  in this task", "not known"} {
			if strings.Contains(text, none) {
				t.Errorf("%s: %q is told:\n%s", name, none, text)
			}
		}
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "agent.md"), "My own words for {{TASK_ID}}.")
	write(t, filepath.Join(dir, ".md"), "A file without a name.")
	if own := itemPrompt(t, pipeline.Prompts{Dir: dir}, item); !strings.Contains(own, "## Your role\n\nMy own words for T001.\n") {
		t.Errorf("not the user's role:\n%s", own)
	}
}
