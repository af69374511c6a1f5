package spec_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// verifyTask asks the verifier of a task about a claim.
func verifyTask(t *testing.T, task ralph.Task, env spec.Env, c ralph.Claim) (ralph.Verdict, error) {
	t.Helper()
	v := spec.Verifier(env)
	if err := v.Validate(task); err != nil {
		t.Fatal(err)
	}
	task.Dir = c.Task.Dir
	c.Task = task
	return v.Verify(t.Context(), c)
}

// verify_promises looks at the words before the evidence, with a configuration or
// without one, unless that says no.
func TestVerifyPromises(t *testing.T) {
	t.Parallel()
	d := parseOne(t, shortTask+`
  coder: {verification_method: external, verification_config: {command: "echo x >> log"}}
  qa: {verification_method: external, verification_config: {command: "echo x >> log"}}
`)
	for _, test := range []struct {
		agent, output string
		passed        bool
		log           string
	}{
		{"coder", "I committed the change.", true, "x\n"},
		{"coder", "It works.", false, ""},
		{"coder", "I committed the change. I still need to migrate the tests.", false, ""},
		{"qa", "It works.", true, "x\n"},
		{"qa", "I still need to migrate the tests.", false, ""},
	} {
		task, err := d.Task(test.agent)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		got, err := verifyTask(t, task, spec.Env{}, claim(dir, test.output))
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		if err != nil || got.Passed != test.passed || string(log) != test.log {
			t.Errorf("%s %q: got %+v, %v, log %q", test.agent, test.output, got, err, log)
		}
		if told := strings.Contains(task.HowVerified, "must say that the work was committed"); told != (test.agent == "coder") {
			t.Errorf("%s is told: %s", test.agent, task.HowVerified)
		}

		config, err := spec.ParseConfig("c", []byte("ralph: {verify_promises: false}"))
		if err != nil {
			t.Fatal(err)
		}
		if task, err = config.Task(d, test.agent); err != nil || strings.Contains(task.HowVerified, "your answer") {
			t.Errorf("%s: %v, %v", test.agent, task.HowVerified, err)
		}
		if got, err := verifyTask(t, task, spec.Env{}, claim(t.TempDir(), test.output)); err != nil || !got.Passed {
			t.Errorf("verify_promises: false: %s %q: %+v, %v", test.agent, test.output, got, err)
		}
	}
}

// Files are guarded around the method: by guard, and by the method of that name.
func TestGuard(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a_test.go", "1")
	write("exam.sh", "1")
	d := parseOne(t, shortTask+`
  coder:
    guard: "*_test.go"
    verification_method: multi_stage
    verification_config:
      stages:
        - {name: exam, method: guard, config: {files: [exam.sh], method: external, config: {command: "true"}}}
`)
	task, err := d.Task("coder")
	if err != nil {
		t.Fatal(err)
	}
	env := spec.Env{Dir: dir}
	if task, err = spec.Verifier(env).Prepare(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	verify := func() ralph.Verdict {
		c := claim(dir, "I committed it.")
		c.Task = task
		got, err := spec.Verifier(env).Verify(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := verify(); !got.Passed {
		t.Errorf("nothing was changed: %+v", got)
	}
	for _, name := range []string{"a_test.go", "exam.sh"} {
		write(name, "2")
		if got := verify(); got.Passed || !strings.Contains(got.Feedback, name) {
			t.Errorf("%s was changed: %+v", name, got)
		}
		write(name, "1")
	}
	free, err := parseOne(t, shortTask).Task("coder")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := spec.Verifier(env).Prepare(t.Context(), free); err != nil || got.Guarded != nil {
		t.Errorf("nothing to guard: %v, %v", got.Guarded, err)
	}
}

// One verifier serves every task: what a task's Spec says is what is asked.
func TestVerifier(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := spec.Parse("f", []byte(`
- {id: A, title: a, completion: {outcome: o, acceptance_criteria: [a], coder: {verification_method: external, verification_config: {command: touch made}}}}
- {id: B, title: b, completion: {outcome: o, acceptance_criteria: [a], coder: {verification_method: external, verification_config: {command: test -f missing}, max_iterations: 2}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	loop := &ralph.Local{
		Runner:   ralph.Replay("I committed it.\n<promise>IMPLEMENTATION_COMPLETE</promise>", "I committed it.\n<promise>IMPLEMENTATION_COMPLETE</promise>"),
		Verifier: spec.Verifier(spec.Env{Dir: dir}),
	}
	var got []string
	for _, d := range f.Definitions() {
		task, err := d.Task("coder")
		if err != nil {
			t.Fatal(err)
		}
		final, _ := loop.Run(t.Context(), ralph.Start(task))
		got = append(got, d.ID+" "+string(final.Stop))
	}
	if diff := cmp.Diff([]string{"A verified", "B iterations"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err != nil {
		t.Errorf("Env.Dir was not used: %v", err)
	}
}

// A Spec that is missing or not understood is an error, never a pass.
func TestVerifierSpecErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                               "spec: task T1: it has no Spec, so there is nothing to build a verifier from",
		`{`:                              "spec: task T1: Spec: this is not JSON: unexpected end of JSON input",
		`{}`:                             "spec: task T1: the version 0 of its Spec is not known here; known is 1",
		`{"v":2}`:                        "spec: task T1: the version 2 of its Spec is not known here; known is 1",
		`{"v":1,"also":1}`:               `spec: task T1: unknown key "also" in Spec; known are v, agent, `,
		`{"v":1,"criteria":{"metod":1}}`: `spec: task T1: unknown key "metod" in Spec.criteria; known are promise, `,
		`{"v":1,"agent":"docs","criteria":{"verification_config":{"command":"x"}}}`: "spec: task T1: Spec.criteria has a verification_config but no verification_method",
		`{"v":1,"criteria":{"verification_config":{"command":"x"}}}`:                "spec: task T1: there is a verification_config but no verification_method",
		`{"v":1,"criteria":{"verification_method":"vote"}}`:                         `spec: task T1: unknown verification method "vote"`,
	} {
		c := claim(t.TempDir(), "done")
		c.Task.Spec = json.RawMessage(text)
		got, err := spec.Verifier(spec.Env{}).Verify(t.Context(), c)
		if err == nil || !strings.HasPrefix(err.Error(), want) || got.Passed {
			t.Errorf("%s: got %+v, %v, want %s", text, got, err, want)
		}
		if _, err := spec.Verifier(spec.Env{}).Prepare(t.Context(), c.Task); err == nil && want != "" && !strings.Contains(text, "vote") && !strings.HasPrefix(want, "spec: task T1: there is") {
			t.Errorf("%s: Prepare: no error", text)
		}
	}
}

// A criterion that reads like the placeholder is a criterion.
func TestBuildFilledOnce(t *testing.T) {
	t.Parallel()
	d := spec.Definition{ID: "T1", Completion: &spec.Completion{
		Acceptance: []string{"{{acceptance_criteria}}"},
		Agents:     []spec.AgentCriteria{{Agent: "docs", Criteria: spec.Criteria{Method: "string_match", Config: json.RawMessage(`{"contains":"{{acceptance_criteria}}"}`)}}},
	}}
	task, err := d.Task("docs")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := verifyTask(t, task, spec.Env{}, claim("", "{{acceptance_criteria}}")); err != nil || !got.Passed {
		t.Errorf("got %+v, %v", got, err)
	}
}

// Drivers find the verifier's Validate and Prepare: what cannot be built is found
// before the first iteration, and what is guarded deep inside is in the task.
func TestTaskVerifierPrepares(t *testing.T) {
	t.Parallel()
	var v ralph.Verifier = spec.Verifier(spec.Env{Dir: t.TempDir()})
	if _, ok := v.(interface{ Validate(ralph.Task) error }); !ok {
		t.Error("no Validate")
	}
	prepare, ok := v.(interface {
		Prepare(context.Context, ralph.Task) (ralph.Task, error)
	})
	if !ok {
		t.Fatal("no Prepare")
	}
	task, err := parseOne(t, shortTask+"  coder: {verification_method: semantic, verification_config: {check_for: a}}\n").Task("coder")
	if err != nil {
		t.Fatal(err)
	}
	if err := spec.Verifier(spec.Env{}).Validate(task); !errors.Is(err, spec.ErrNoJudge) || err.Error() != "spec: task T1: semantic: no judge is configured" {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ralph.ErrCancelled)
	if _, err := prepare.Prepare(ctx, task); !errors.Is(err, ralph.ErrCancelled) {
		t.Errorf("got %v", err)
	}
}

// Names are guessed for programs too.
func TestNearest(t *testing.T) {
	t.Parallel()
	if got := spec.Nearest("extrenal", "semantic", "external"); got != "external" {
		t.Errorf("got %q", got)
	}
	if got := spec.Nearest("vote", "semantic", "external"); got != "" {
		t.Errorf("got %q", got)
	}
}

// What a command's tools read from the home folder is noted when the loop starts.
func TestAcceptConfig(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("NPM_CONFIG_USERCONFIG", filepath.Join(home, ".npmrc"))
	d := parseOne(t, shortTask+`
  docs: {verification_method: external, verification_config: {command: "true npm test"}}
`)
	task, err := d.Task("docs")
	if err != nil {
		t.Fatal(err)
	}
	task.Dir = t.TempDir()
	if task, err = spec.Verifier(spec.Env{}).Prepare(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".yarnrc.yml"), []byte("yarnPath: /bin/true"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := claim("", "done")
	c.Task = task
	for accept := range map[bool]bool{false: true, true: true} {
		if got, err := spec.Verifier(spec.Env{AcceptConfig: accept}).Verify(t.Context(), c); err != nil || got.Passed != accept {
			t.Errorf("%t: %+v, %v", accept, got, err)
		}
	}
}
