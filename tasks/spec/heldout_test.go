package spec_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// folders makes a workspace and an exam beside it.
func folders(t *testing.T) (base, work string) {
	t.Helper()
	base = t.TempDir()
	work = filepath.Join(base, "work")
	for name, text := range map[string]string{"work/add.sh": "echo 3", "work/test.sh": `test "$(sh add.sh 1 2)" = 3`, "work/inside/x": "x", "exam-of-ours/test.sh": `test "$(sh add.sh 20 22)" = 42`} {
		name = filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return base, work
}

const heldOut = `
task:
  id: T1
  title: Add numbers
  completion:
    outcome: it adds
    acceptance_criteria: [it adds any two numbers]
    coder:
      verification_method: held_out
      verification_config:
        exam: ../exam-of-ours
        reveal: passed
        method: external
        config: {command: sh test.sh}
`

// A definition has its exam beside the workspace. It is agreed on when the loop
// starts, and the agent is not told of it.
func TestHeldOutMethod(t *testing.T) {
	t.Parallel()
	base, work := folders(t)
	f, err := spec.Parse("tasks.yaml", []byte(heldOut))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Validate(); err != nil {
		t.Fatal(err)
	}
	task, err := f.Definitions()[0].Task("coder")
	if err != nil {
		t.Fatal(err)
	}
	if prompt := ralph.Start(task).Prompt(); strings.Contains(prompt, "exam-of-ours") || strings.Contains(prompt, "test.sh") || !strings.Contains(prompt, "an exam that you have not seen") {
		t.Errorf("the agent is told: %s", prompt)
	}
	for name, dirs := range map[string][2]string{"the task's": {work, ""}, "the environment's": {"", work}} {
		task := task
		task.Dir = dirs[0]
		v := spec.Verifier(spec.Env{Dir: dirs[1]})
		if err := v.Validate(task); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		task, err := v.Prepare(t.Context(), task)
		if err != nil || len(task.Guarded) == 0 || task.Dir != dirs[0] {
			t.Errorf("%s: %+v, %v", name, task, err)
		}
		c := ralph.Claim{Task: task, Iteration: 1, Attempt: 1, Promised: true, Output: "I committed it."}
		got, err := v.Verify(t.Context(), c)
		if err != nil || got.Passed || !strings.Contains(got.Checks[0].Detail, "the visible check passes and the held-out one fails") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if strings.Contains(got.Feedback, base) || strings.Contains(got.Feedback, "checks failed") {
			t.Errorf("%s: the agent is told: %s", name, got.Feedback)
		}
	}

	v := spec.Verifier(spec.Env{})
	task.Dir = work
	prepared, err := v.Prepare(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(base, "exam-of-ours", "test.sh"), []byte("exit 0"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := v.Verify(t.Context(), ralph.Claim{Task: prepared, Promised: true, Output: "I committed it."}); err != nil || got.Passed || !got.Undecided() {
		t.Errorf("an exam that was changed: %+v, %v", got, err)
	}
	task.Spec = json.RawMessage(strings.Replace(string(task.Spec), "../exam-of-ours", "inside", 1))
	if err := v.Validate(task); err == nil || !strings.Contains(err.Error(), "inside the workspace") {
		t.Errorf("an exam in the workspace: %v", err)
	}
}

// What is wrong with its configuration is found when it is read.
func TestHeldOutMethodConfig(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		`{"exam":"../e","method":"external","config":{"command":"true"},"include":["node_modules"],"reveal":"counts"}`: "",
		`{"exam":"../e","method":"string_match","include":"node_modules"}`:                                             "",
		`{"method":"external","config":{"command":"true"}}`:                                                            "exam is missing",
		`{"exam":"","method":"external","config":{"command":"true"}}`:                                                  "exam is empty",
		`{"exam":"../e","method":" "}`:                                                                                 "method is empty; it says what runs the exam",
		`{"exam":"../e"}`:                                                                                              "method is missing",
		`{"exam":"../e","config":{"command":"true"}}`:                                                                  "method is missing",
		`{"exam":"../e","method":"external"}`:                                                                          "command is missing",
		`{"exam":"../e","method":"externl"}`:                                                                           `did you mean "external"?`,
		`{"exam":"../e","method":"external","config":{"command":"true"},"reveal":"name"}`:                              `did you mean "names"?`,
		`{"exam":"../e","method":"external","config":{"command":"true"},"reveal":["x"]}`:                               "expected text",
		`{"exam":"../e","method":"external","config":{"command":"true"},"exams":"x"}`:                                  `did you mean "exam"?`,
	} {
		_, err := spec.Env{}.Verifier("held_out", json.RawMessage(config))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", config, err)
		}
	}
}
