package spec_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/spec"
	"github.com/ralph-loop/ralph/verify/verifytest"
)

// claim is what an agent says in a folder.
func claim(dir, output string) ralph.Claim {
	return ralph.Claim{Task: ralph.Task{ID: "T1", Dir: dir}, Iteration: 1, Attempt: 1, Output: output, Promised: true}
}

// judge answers all criteria alike and keeps what it was asked.
type judge struct {
	met    bool
	prompt string
	model  string
}

func (j *judge) env() spec.Env {
	known := []string{"a", "a horse", "x", "no keys", "no secrets"}
	return spec.Env{Judge: func(model string) (ralph.Runner, error) {
		j.model = model
		judge := verifytest.Judge(func(criterion string) bool { return j.met && slices.Contains(known, criterion) })
		return ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
			j.prompt = req.Prompt
			return judge.Run(ctx, req)
		}), nil
	}}
}

// Each built-in method accepts what is good and rejects what is bad.
func TestBuiltinMethods(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "there"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, method, config, output string
		passed                       bool
		detail                       string // of the feedback or of a check
	}{
		{"promise", "string_match", "", "done", true, "unverified: promise only"},
		{"contains", "string_match", `{"contains":"Green"}`, "all green", true, ""},
		{"contains not", "string_match", `{"contains":["green","blue"]}`, "all green", false, "blue"},
		{"excludes", "string_match", `{"excludes":["red"]}`, "one red", false, "red"},
		{"shell", "external", `{"command":"test -f there && echo passed","output_contains":"passed","output_not_contains":["FAIL"],"timeout":"1m"}`, "", true, ""},
		{"shell fails", "external", `{"command":"echo FAIL","output_not_contains":["FAIL"]}`, "", false, "FAIL"},
		{"shell misses", "external", `{"command":"true","output_contains":["200"]}`, "", false, "200"},
		{"exit code", "external", `{"command":"exit 3","success_exit_code":3}`, "", true, ""},
		{"arguments", "external", `{"command":["test","-f"],"args":["there"]}`, "", true, ""},
		{"program and arguments", "external", `{"command":"test","args":["-f","not there"]}`, "", false, "exit code 1"},
		{"environment", "external", `{"command":"test \"$A\" = b","env":{"A":"b"}}`, "", true, ""},
		{"working_dir", "external", `{"command":"true","working_dir":"nowhere"}`, "", false, "nowhere"},
		{"stages", "multi_stage", `{"stages":[{"name":"one","method":"external","config":{"command":"true"}},{"name":"two","method":"external","config":{"command":"false"},"required":false}]}`, "", true, "two"},
		{"a stage fails", "multi_stage", `{"stages":[{"name":"one","method":"external","config":{"command":"false"}}],"parallel":true}`, "", false, "false"},
		{"any stage", "multi_stage", `{"require_all":false,"stages":[{"name":"one","method":"external","config":{"command":"false"}},{"name":"two","method":"string_match"}]}`, "", true, "one"},
		{"nested", "multi_stage", `{"stages":[{"name":"one","method":"multi_stage","config":{"stages":[{"name":"two","method":"external","config":{"command":"false"}}]}}]}`, "", false, "false"},
		{"no contradiction", "contradictions", "", "Everything is in place.", true, ""},
		{"contradiction", "contradictions", "", "I still need to migrate the tests.", false, "still need to"},
		{"own pattern", "contradictions", `{"patterns":["half baked"]}`, "It is half baked.", false, "half baked"},
		{"agent", "agent", `{"agent":"coder"}`, "I committed the change.", true, ""},
		{"agent not", "agent", `{"agent":"coder"}`, "It works.", false, "commit"},
		{"negative patterns need no judge", "semantic", `{"negative_patterns":["hardcoded"]}`, "a hardcoded key", false, "hardcoded"},
		{"and pass without one", "semantic", `{"negative_patterns":["hardcoded"]}`, "no such key", true, ""},
		{"template", "template", `{"name":"file-exists","args":["there"]}`, "", true, ""},
		{"template fails", "template", `{"name":"file-exists","args":["elsewhere"]}`, "", false, "elsewhere"},
	} {
		var config json.RawMessage
		if test.config != "" {
			config = json.RawMessage(test.config)
		}
		v, err := spec.Env{}.Verifier(test.method, config)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		got, err := v.Verify(t.Context(), claim(dir, test.output))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		text, _ := json.Marshal(got)
		if got.Passed != test.passed || !strings.Contains(string(text), strings.ReplaceAll(test.detail, `"`, `\"`)) {
			t.Errorf("%s: got %s, want passed %v and %q", test.name, text, test.passed, test.detail)
		}
	}
}

func TestSemanticMethod(t *testing.T) {
	t.Parallel()
	for _, met := range []bool{true, false} {
		j := &judge{met: met}
		v, err := j.env().Verifier("semantic", json.RawMessage(`{"check_for":["a horse"],"model":"haiku"}`))
		if err != nil {
			t.Fatal(err)
		}
		got, err := v.Verify(t.Context(), claim(t.TempDir(), "done"))
		if err != nil || got.Passed != met {
			t.Errorf("met %v: got %+v, %v", met, got, err)
		}
		if j.model != "haiku" || !strings.Contains(j.prompt, "a horse") {
			t.Errorf("model %q, prompt %q", j.model, j.prompt)
		}
	}
}

// A judge that breaks rejects, unless the definition says what takes its place.
func TestSemanticFallback(t *testing.T) {
	t.Parallel()
	env := spec.Env{Judge: func(string) (ralph.Runner, error) {
		return ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
			return ralph.Response{Output: "I am sorry"}, nil
		}), nil
	}}
	for config, want := range map[string]bool{`{"check_for":"a"}`: false, `{"check_for":"a","fallback":"string_match"}`: true} {
		v, err := env.Verifier("semantic", json.RawMessage(config))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := v.Verify(t.Context(), claim(t.TempDir(), "done")); got.Passed != want {
			t.Errorf("%s: got %+v", config, got)
		}
	}
}

// Facts for the judge come from the program.
func TestSemanticEvidence(t *testing.T) {
	t.Parallel()
	j := &judge{met: true}
	env := j.env()
	env.Evidence = func(context.Context, ralph.Claim) (string, error) { return "the diff", nil }
	v, err := env.Verifier("semantic", json.RawMessage(`{"check_for":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Verify(t.Context(), claim(t.TempDir(), "done")); err != nil || !strings.Contains(j.prompt, "the diff") {
		t.Errorf("prompt %q, %v", j.prompt, err)
	}
}

// A command that several stages run runs once for a claim.
func TestEqualStagesRunOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const stage = `{"name":"n","method":"external","config":{"command":"echo x >> log"}}`
	v, err := spec.Env{}.Verifier("multi_stage", json.RawMessage(`{"stages":[`+stage+`,`+stage+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := v.Verify(t.Context(), claim(dir, "")); err != nil || !got.Passed || len(got.Checks) != 2 {
		t.Fatalf("got %+v, %v", got, err)
	}
	if log, err := os.ReadFile(filepath.Join(dir, "log")); err != nil || string(log) != "x\n" {
		t.Errorf("log %q, %v", log, err)
	}
}

// A method or a judge of the program's own that panics is an error with its stack.
func TestMethodPanics(t *testing.T) {
	t.Parallel()
	env := spec.Env{
		Judge:   func(string) (ralph.Runner, error) { panic("no judge today") },
		Methods: spec.Methods{"vote": func(json.RawMessage, spec.Env) (ralph.Verifier, error) { panic("no quorum") }},
	}
	for method, want := range map[string]string{"vote": `spec: the verification method "vote" panicked: no quorum`, "semantic": "spec: semantic: judge: Env.Judge panicked: no judge today"} {
		v, err := env.Verifier(method, json.RawMessage(`{"check_for":"a"}`))
		if err == nil || v != nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "method_test.go") {
			t.Errorf("%s: got %v, %v, want %s and the stack", method, v, err, want)
		}
	}
}

// So is a verifier that it made.
func TestMethodsVerifierPanics(t *testing.T) {
	t.Parallel()
	crash := ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) { panic("no quorum") })
	env := spec.Env{Methods: spec.Methods{"vote": func(json.RawMessage, spec.Env) (ralph.Verifier, error) { return crash, nil }}}
	config := spec.Config{TakePromises: true} // nothing is asked but the method
	task, err := config.Task(parseOne(t, shortTask+"\n  coder: {verification_method: vote}\n"), "coder")
	if err != nil {
		t.Fatal(err)
	}
	v, err := spec.Verifier(env).Verify(t.Context(), ralph.Claim{Task: task, Promised: true})
	if v.Passed || err == nil || !strings.HasPrefix(err.Error(), "spec: the verifier panicked: no quorum\n") || !strings.Contains(err.Error(), "method_test.go") {
		t.Errorf("%+v, %v", v, err)
	}
}

// A verifier that is configured but cannot be built is an error,
// before anything runs, and never no verifier.
func TestFailure16UnbuildableMethod(t *testing.T) {
	t.Parallel()
	noVerifier := spec.Methods{
		"nil":    func(json.RawMessage, spec.Env) (ralph.Verifier, error) { return nil, nil },
		"broken": func(json.RawMessage, spec.Env) (ralph.Verifier, error) { return nil, errors.New("broken") },
	}
	for _, test := range []struct {
		criteria spec.Criteria
		env      spec.Env
		want     string
	}{
		{spec.Criteria{Method: "extrenal"}, spec.Env{}, `unknown verification method "extrenal"; did you mean "external"?`},
		{spec.Criteria{Method: "nil"}, spec.Env{Methods: noVerifier}, `the verification method "nil" gave no verifier`},
		{spec.Criteria{Method: "broken"}, spec.Env{Methods: noVerifier}, "broken"},
		{spec.Criteria{Method: "external"}, spec.Env{}, "external: command is missing"},
		{spec.Criteria{Method: "external", Config: json.RawMessage(`{"comand":"x","command":"y"}`)}, spec.Env{}, `unknown key "comand" in external; did you mean "command"?`},
		{spec.Criteria{Method: "external", Config: json.RawMessage(`[]`)}, spec.Env{}, "external: expected a mapping, found a list"},
		{spec.Criteria{Method: "semantic", Config: json.RawMessage(`{"check_for":"x"}`)}, spec.Env{}, "semantic: no judge is configured"},
		{spec.Criteria{Method: "semantic", Config: json.RawMessage(`{"check_for":"x"}`)}, spec.Env{Judge: func(string) (ralph.Runner, error) { return nil, nil }}, `semantic: there is no judge for the model ""`},
		{spec.Criteria{Method: "semantic", Config: json.RawMessage(`{"check_for":"x"}`)}, spec.Env{Judge: func(string) (ralph.Runner, error) { return nil, errors.New("no such model") }}, "semantic: judge: no such model"},
		{spec.Criteria{Method: "semantic"}, (&judge{}).env(), "semantic: there is nothing to check for: no check_for, and no acceptance_criteria"},
		{spec.Criteria{Method: "semantic", Config: json.RawMessage(`{"check_for":"{{acceptance_criteria}}"}`)}, (&judge{}).env(), "semantic: {{acceptance_criteria}} is not filled in"},
		{spec.Criteria{Method: "multi_stage", Config: json.RawMessage(`{"stages":[{"name":"a","method":"semantic","config":{"check_for":"x"}}]}`)}, spec.Env{}, "multi_stage: stage 1 (a): semantic: no judge is configured"},
		{spec.Criteria{Method: "agent"}, spec.Env{}, `agent: there is no rule for ""; known are coder, tester, reviewer`},
		{spec.Criteria{Method: "guard", Config: json.RawMessage(`{"files":"a","method":"nil"}`)}, spec.Env{Methods: noVerifier}, `guard: the verification method "nil" gave no verifier`},
	} {
		v, err := test.env.Verifier(test.criteria.Method, test.criteria.Config)
		if err == nil || err.Error() != "spec: "+test.want {
			t.Errorf("got %v, %v, want %s", v, err, test.want)
		}
	}
}

// Without a method, a judge is asked about the acceptance criteria; without a
// judge the promise is all there is, and the verdict says so.
func TestNoMethod(t *testing.T) {
	t.Parallel()
	with, without := parseOne(t, strings.Replace(shortTask, `first, "second & third"`, "a horse", 1)), spec.Definition{ID: "T1"}
	j := &judge{}
	for _, test := range []struct {
		name   string
		def    spec.Definition
		env    spec.Env
		passed bool
		check  string
	}{
		{"a judge", with, j.env(), false, ""},
		{"no judge", with, spec.Env{}, true, "unverified: promise only"},
		{"nothing to ask a judge", without, j.env(), true, "unverified: promise only"},
	} {
		task, err := test.def.Task("docs")
		if err != nil {
			t.Fatal(err)
		}
		got, err := verifyTask(t, task, test.env, claim(t.TempDir(), "done"))
		if err != nil || got.Passed != test.passed || test.check != "" && got.Checks[0].Name != test.check {
			t.Errorf("%s: got %+v, %v", test.name, got, err)
		}
	}
	if !strings.Contains(j.prompt, "a horse") {
		t.Errorf("the judge was asked %q", j.prompt)
	}
}

// A program's own method, by name, and in the place of a built-in one.
func TestOwnMethods(t *testing.T) {
	t.Parallel()
	env := spec.Env{Methods: spec.Methods{
		"vote": func(config json.RawMessage, env spec.Env) (ralph.Verifier, error) {
			inner, err := env.Verifier("string_match", json.RawMessage(`{"contains":"aye"}`))
			return ralph.VerifierFunc(func(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
				v, err := inner.Verify(ctx, c)
				v.Feedback += string(config)
				return v, err
			}), err
		},
		"external": func(json.RawMessage, spec.Env) (ralph.Verifier, error) {
			return ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) { return ralph.Reject("not here"), nil }), nil
		},
	}}
	d := parseOne(t, shortTask+`
  qa:
    verification_method: multi_stage
    verification_config:
      stages:
        - {name: vote, method: vote, config: {of: "{{acceptance_criteria}}"}}
        - {name: command, method: external, config: {command: "true"}, required: false}
`)
	if err := d.Validate(env.Methods); err != nil {
		t.Error(err)
	}
	task, err := d.Task("qa")
	if err != nil {
		t.Fatal(err)
	}
	got, err := verifyTask(t, task, env, claim(t.TempDir(), "nay"))
	if err != nil || got.Passed || !strings.Contains(got.Feedback, `{"of":["first","second & third"]}`) {
		t.Errorf("nay: got %+v, %v", got, err)
	}
	got, err = verifyTask(t, task, env, claim(t.TempDir(), "aye"))
	if err != nil || !got.Passed || !strings.Contains(got.Checks[1].Detail, "not here") {
		t.Errorf("aye: got %+v, %v", got, err)
	}
	f, err := spec.Parse("f", []byte("id: A\ntitle: a\ncompletion: {outcome: o, acceptance_criteria: [a], qa: {verification_method: vote}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Validate(); err == nil {
		t.Error("Validate knows a method nobody told it of")
	}
	if f.Methods = env.Methods; f.Validate() != nil {
		t.Error(f.Validate())
	}
}

// What a definition's judge is told: how much it may be shown, and what the words of
// the answer were found to be.
func TestSemanticIsTold(t *testing.T) {
	t.Parallel()
	j := &judge{met: true}
	d := parseOne(t, shortTask+`
  coder:
    verification_method: semantic
    verification_config: {check_for: a, max_bytes: 1000}
`)
	task, err := (&spec.Config{}).Task(d, "coder")
	if err != nil {
		t.Fatal(err)
	}
	got, err := verifyTask(t, task, j.env(), claim(t.TempDir(), "I committed it."))
	if err != nil || !got.Passed || !strings.Contains(j.prompt, `passed "no contradictions"`) {
		t.Errorf("%+v, %v\n%s", got, err, j.prompt)
	}
	got, err = verifyTask(t, task, j.env(), claim(t.TempDir(), strings.Repeat("I committed it. ", 70)))
	if err != nil || got.Passed || !got.Undecided() || !strings.Contains(got.Feedback, "max_bytes") {
		t.Errorf("%+v, %v", got, err)
	}
}
