package verify_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// A part is a verifier with everything that one may have.
type part struct {
	name    string
	invalid error
	verdict ralph.Verdict
	err     error
}

func (p part) Verify(context.Context, ralph.Claim) (ralph.Verdict, error) { return p.verdict, p.err }
func (p part) Validate(ralph.Task) error                                  { return p.invalid }
func (p part) Prepare(_ context.Context, t ralph.Task) (ralph.Task, error) {
	t.Guarded = maps.Clone(t.Guarded)
	if t.Guarded == nil {
		t.Guarded = map[string]string{}
	}
	t.Guarded[p.name] = "1"
	return t, p.invalid
}

// validate asks a verifier as the drivers do.
func validate(t *testing.T, v any, task ralph.Task) error {
	t.Helper()
	able, ok := v.(interface{ Validate(ralph.Task) error })
	if !ok {
		t.Fatalf("%T has no Validate", v)
	}
	return able.Validate(task)
}

var silent = ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
	return ralph.Response{Output: "Sure!"}, nil
})

// wrapped are the verifiers that consist of others.
func wrapped(inner ralph.Verifier) map[string]ralph.Verifier {
	return map[string]ralph.Verifier{
		"MultiStage": verify.MultiStage{Stages: []verify.Stage{{Name: "words"}, {Name: "inner", Verifier: inner}}},
		"Cache":      verify.Cache(inner),
		"Guard":      verify.Guard{Verifier: inner, Globs: []string{"*.nothing"}},
		"Semantic":   verify.Semantic{Judge: silent, Criteria: []string{"a"}, Fallback: inner},
		"all":        verify.MultiStage{Stages: []verify.Stage{{Verifier: verify.Cache(verify.Guard{Verifier: inner, Globs: []string{"*.nothing"}})}}},
	}
}

func TestHandsOn(t *testing.T) {
	t.Parallel()
	broken := errors.New("verify: broken")
	cost := 0.25
	spent := ralph.Usage{InputTokens: 3, CostUSD: &cost}
	for name := range wrapped(nil) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := ralph.Task{Dir: t.TempDir(), Guarded: map[string]string{"//x": "1"}}
			err := validate(t, wrapped(part{invalid: broken})[name], task)
			if !errors.Is(err, broken) || strings.Count(err.Error(), "verify: ") != 1 || !strings.HasPrefix(err.Error(), "verify: ") {
				t.Errorf("Validate: %v", err)
			}
			if err := validate(t, wrapped(part{})[name], task); err != nil {
				t.Errorf("Validate: %v", err)
			}
			claim := agreed(t, wrapped(part{name: "inner"})[name], task)
			if claim.Task.Guarded["inner"] != "1" || claim.Task.Guarded["//x"] != "1" || len(task.Guarded) != 1 {
				t.Errorf("Prepare: %v", claim.Task.Guarded)
			}
			p := wrapped(part{invalid: broken})[name].(interface {
				Prepare(context.Context, ralph.Task) (ralph.Task, error)
			})
			if got, err := p.Prepare(t.Context(), task); !errors.Is(err, broken) || cmp.Diff(task, got) != "" {
				t.Errorf("Prepare: %v, %v", got, err)
			}
			delete(claim.Task.Guarded, "inner") // which is no file
			for _, inner := range []part{{verdict: ralph.Verdict{Passed: true, Usage: spent}}, {verdict: ralph.Verdict{Usage: spent}}, {verdict: ralph.Verdict{Usage: spent}, err: broken}} {
				v, _ := wrapped(inner)[name].Verify(t.Context(), claim)
				if v.Usage.InputTokens != 3 || v.Usage.CostUSD == nil || *v.Usage.CostUSD != cost || v.Passed != inner.verdict.Passed {
					t.Errorf("%+v: %+v", inner, v)
				}
			}
		})
	}
}

// TestUsageOfAllStages adds what each stage has used, also of those that decided
// nothing.
func TestUsageOfAllStages(t *testing.T) {
	t.Parallel()
	one := part{verdict: ralph.Verdict{Passed: true, Usage: ralph.Usage{InputTokens: 1}}}
	advice := part{verdict: ralph.Verdict{Usage: ralph.Usage{InputTokens: 10}}}
	for _, parallel := range []int{0, -1} {
		m := verify.MultiStage{Parallel: parallel, Stages: []verify.Stage{{Verifier: one}, {Verifier: advice, Advisory: true}, {Verifier: one}}}
		if v, err := m.Verify(t.Context(), ralph.Claim{}); err != nil || !v.Passed || v.Usage.InputTokens != 12 {
			t.Errorf("%+v, %v", v, err)
		}
	}
}

// TestJudgeUsage: every question is paid for.
func TestJudgeUsage(t *testing.T) {
	t.Parallel()
	cost := 0.25
	judge := func(answers ...string) ralph.Runner {
		return ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			answer := answers[0]
			if len(answers) > 1 && strings.Contains(req.Prompt, "could not be used") {
				answer = answers[1]
			}
			var err error
			if answer == "" {
				err = errors.New("no network")
			}
			return ralph.Response{Output: amidDecoy(req.Prompt, answer), Usage: ralph.Usage{InputTokens: 5, CostUSD: &cost}}, err
		})
	}
	for _, tt := range []struct {
		name   string
		judge  ralph.Runner
		passed bool
		asked  int64
	}{
		{"verified", judge("1. VERIFIED: so it is"), true, 1},
		{"not verified", judge("1. NOT_VERIFIED: it is not"), false, 1},
		{"asked again", judge("Sure!", "1. VERIFIED: so it is"), true, 2},
		{"no verdict", judge("Sure!"), false, 2},
		{"it fails", judge(""), false, 1},
	} {
		v, err := verify.Semantic{Judge: tt.judge, Criteria: []string{"a"}}.Verify(t.Context(), ralph.Claim{Output: "done"})
		if err != nil || v.Passed != tt.passed || v.Usage.InputTokens != 5*tt.asked || v.Usage.CostUSD == nil || *v.Usage.CostUSD != cost*float64(tt.asked) {
			t.Errorf("%s: %+v, %v", tt.name, v, err)
		}
	}
	// One that does not tell has not cost nothing.
	if v, err := (verify.Semantic{Judge: silent, Criteria: []string{"a"}}).Verify(t.Context(), ralph.Claim{}); err != nil || v.Usage.Requests != 2 || v.Usage.CostUSD != nil {
		t.Errorf("%+v, %v", v, err)
	}
	// What was spent before the context ended was spent.
	ctx, cancel := context.WithCancel(t.Context())
	quitting := ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
		cancel()
		return ralph.Response{Usage: ralph.Usage{InputTokens: 5}}, context.Canceled
	})
	if v, err := (verify.Semantic{Judge: quitting, Criteria: []string{"a"}}).Verify(ctx, ralph.Claim{}); !errors.Is(err, context.Canceled) || v.Usage.InputTokens != 5 {
		t.Errorf("%+v, %v", v, err)
	}
}

type invalidJudge struct{ ralph.Runner }

func (invalidJudge) Validate(ralph.Task) error { return errors.New("it is not installed") }

// TestValidate: what cannot work is found out before an agent has run.
func TestValidate(t *testing.T) {
	t.Parallel()
	task := ralph.Task{Dir: t.TempDir()}
	for _, tt := range []struct {
		v    ralph.Verifier
		want string // "" = valid
	}{
		{verify.External{}, "verify: External: there is no command"},
		{&verify.External{}, "verify: External: there is no command"},
		{verify.External{Args: []string{"true"}, Shell: "true"}, "both"},
		{verify.External{Args: []string{"true"}, Contains: []string{" "}}, "blank"},
		{verify.External{Args: []string{"true"}, Env: []string{"x"}}, "NAME=value"},
		{verify.External{Args: []string{"true"}}, ""},
		{verify.MultiStage{}, "verify: MultiStage: there are no stages"},
		{verify.MultiStage{Stages: []verify.Stage{{Advisory: true}}}, "all stages are advisory"},
		{verify.MultiStage{Stages: []verify.Stage{{Name: "unit tests", Verifier: verify.External{}}}}, "verify: MultiStage: unit tests: External: there is no command"},
		{verify.MultiStage{Stages: []verify.Stage{{}}}, ""},
		{verify.Guard{}, "verify: Guard: there is nothing to guard"},
		{verify.Guard{Globs: []string{""}}, "verify: Guard: "},
		{verify.Guard{Globs: []string{"../x"}}, "outside the workspace"},
		{verify.Guard{Globs: []string{"[x"}}, "no glob"},
		{verify.Guard{Globs: []string{"*_test.go"}, Verifier: verify.External{}}, "no command"},
		{verify.Guard{Globs: []string{"*_test.go"}}, ""},
		{verify.Cache(nil), "verify: Cache: there is no verifier"},
		{verify.Cache(verify.External{}), "no command"},
		{verify.Cache(verify.String{}), ""},
		{verify.String{Contains: []string{" "}}, "blank"},
		{verify.String{}, ""},
		{verify.Contradictions{Patterns: []string{"!"}}, "verify: Contradictions: pattern 1"},
		{verify.Contradictions{}, ""},
		{verify.Agent("cook"), "verify: Agent: no rule"},
		{verify.Agent("QA"), ""},
		{verify.Template{Name: "x"}, "verify: Template: there is no"},
		{verify.Template{Name: "go-test"}, ""},
		{verify.Semantic{}, "there are no criteria"},
		{verify.Semantic{Judge: silent}, "there are no criteria"},
		{verify.Semantic{Criteria: []string{"a"}}, "there is no Judge"},
		{verify.Semantic{Judge: silent, Criteria: slices.Repeat([]string{"a"}, 49)}, "too many"},
		{verify.Semantic{Judge: silent, Criteria: []string{" "}}, "blank"},
		{verify.Semantic{Judge: invalidJudge{silent}, Criteria: []string{"a"}}, "verify: Semantic: judge: it is not installed"},
		{verify.Semantic{Judge: invalidJudge{silent}, Criteria: []string{"a"}, Fallback: verify.String{}}, ""},
		{verify.Semantic{Judge: silent, Criteria: []string{"a"}, Fallback: verify.External{}}, "no command"},
		{verify.Semantic{Excludes: []string{"a"}}, ""},
		{verify.Semantic{Judge: silent, Criteria: []string{"a"}}, ""},
	} {
		err := validate(t, tt.v, task)
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || strings.Count(err.Error(), "verify: ") != 1) {
			t.Errorf("%+v: %v, want %q", tt.v, err, tt.want)
		}
	}
	guarded, err := verify.Snapshot(task, "*_test.go")
	if err != nil || (verify.Guard{}).Validate(guarded) != nil {
		t.Errorf("any snapshot will do: %v, %v", (verify.Guard{}).Validate(guarded), err)
	}
	err = verify.External{Env: []string{"secret"}, Args: []string{"true"}, Redact: func(s string) string { return strings.ReplaceAll(s, "secret", "***") }}.Validate(task)
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("it tells the secret: %v", err)
	}
}
