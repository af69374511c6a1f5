package pipeline_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// TestOwnRoles: a file of the user's is used instead of the role that is built in,
// and everything else is told all the same.
func TestOwnRoles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "prompts")
	write(t, filepath.Join(filepath.Dir(dir), "coder.md"), "Not in the folder.")
	write(t, filepath.Join(dir, "coder.md"), "Stage {{STAGE}} of {TASK_ID}, ${TASK_TITLE}: {{ITERATION}} of {{MAX_ITERATIONS}}, spec {{SPEC_ID}} at '{{SPEC_PATH}}'; leave {x} and $HOME.\n")
	write(t, filepath.Join(dir, "agent.md"), "Any other. {{REJECT}}")
	agents := []string{"coder", "reviewer", "docs", "../coder", "agent"}
	roles, err := pipeline.Prompts{Dir: dir}.Load(agents)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "coder.md"), "Changed.")
	write(t, filepath.Join(dir, "qa.md"), "Changed.")
	for agent, want := range map[string]string{
		"coder":    "Stage coder of TASK-001, Implement user authentication: 2 of 15, spec auth at 'specs/auth.md'; leave {x} and $HOME.",
		"reviewer": "You review what was done",
		"docs":     "Any other. If the work does not hold",
		"agent":    "Any other. ",
		"../coder": "Any other. ",
		"qa":       "You look at what was done for this task as those do who will use it.", // it was not loaded
	} {
		workspace := t.TempDir()
		write(t, filepath.Join(workspace, "specs", "auth.md"), "what is wanted")
		s := pipeline.Stage{Definition: theTask(), Agent: agent, Feedback: "mend it", Before: []pipeline.Record{{Agent: "plan", Verified: true}}}
		got := told(t, roles, workspace, s, func(st *ralph.State) { st.Iteration = 2 })
		if !strings.Contains(got, "## Your role\n\n"+want) {
			t.Errorf("%s: no %q in\n%s", agent, want, got)
		}
		if diff := cmp.Diff([]string{"Task Information", "Task", "Specification", "What the stages before you left on record", "Why it was sent back to you",
			"Your role", "What holds for everyone", "What done means", "When you are done", "About the last iteration"}, headings(got)); diff != "" {
			t.Errorf("%s: %s", agent, diff)
		}
	}
}

// TestLoadRefuses: what is wrong with roles is found before anything runs, all of it.
func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for agent, text := range map[string]string{
		"coder": "Do it.\n{{TASK_IDD}}", "reviewer": " \n", "tester": "\xff", "qa": strings.Repeat("x", 1<<20), "docs": "Write {{STAGE}}.",
	} {
		write(t, filepath.Join(dir, agent+".md"), text)
	}
	for _, tt := range []struct {
		prompts pipeline.Prompts
		agents  []string
		says    []string
	}{
		{pipeline.Prompts{Dir: dir}, []string{"coder", "docs", "reviewer", "tester", "qa"}, []string{
			"coder.md: template, line 2: nothing is known of {{TASK_IDD}}; the known names are ITERATION, MAX_ITERATIONS, REJECT, SPEC_ID, SPEC_PATH, STAGE, TASK_ID, TASK_TITLE",
			"reviewer.md is blank", "tester.md is not valid UTF-8", "qa.md has more than 65536 bytes",
		}},
		{pipeline.Prompts{Dir: filepath.Join(dir, "coder.md")}, []string{"coder"}, []string{"not a directory"}},
		{pipeline.Prompts{Spec: "../specs"}, nil, []string{"../specs is not in the workspace"}},
		{pipeline.Prompts{Spec: "/specs"}, nil, []string{"/specs is not in the workspace"}},
	} {
		_, err := tt.prompts.Load(tt.agents)
		if err == nil || !strings.HasPrefix(err.Error(), "pipeline: ") || strings.Count(err.Error(), "pipeline: ") != 1 {
			t.Fatalf("%v: %v", tt.prompts, err)
		}
		for _, want := range tt.says {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("no %q in %v", want, err)
			}
		}
	}
	if _, err := (pipeline.Prompts{Dir: filepath.Join(dir, "none")}).Load([]string{"coder"}); err != nil {
		t.Errorf("without a folder: %v", err)
	}
}
