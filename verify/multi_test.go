package verify_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// says is a verifier that always gives the same verdict.
func says(v ralph.Verdict, err error) ralph.Verifier {
	return ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) { return v, err })
}

// statuses are the names and results of checks.
func statuses(v ralph.Verdict) (list []string) {
	for _, c := range v.Checks {
		list = append(list, fmt.Sprintf("%s: %s", c.Name, c.Status))
	}
	return list
}

func TestMultiStage(t *testing.T) {
	t.Parallel()
	yes, no := says(ralph.Pass(), nil), says(ralph.Reject("verified, passed"), nil)
	broken := says(ralph.Pass(), errors.New("no database"))
	unable := says(ralph.Verdict{Feedback: "no tool", Checks: []ralph.Check{{Name: "x", Status: ralph.CheckUnable}}}, nil)
	late := says(ralph.Verdict{Checks: []ralph.Check{{Name: "x", Status: ralph.CheckTimeout}}}, nil)
	tests := []struct {
		name     string
		v        verify.MultiStage
		passed   bool
		checks   []string
		feedback string // part of it
	}{
		{"all pass", verify.MultiStage{Stages: []verify.Stage{{Name: "a", Verifier: yes}, {Name: "b", Verifier: yes}}}, true,
			[]string{"a: passed", "b: passed"}, ""},
		{"the words of a reason decide nothing", verify.MultiStage{Stages: []verify.Stage{{Name: "acceptance_verified", Verifier: no}}}, false,
			[]string{"acceptance_verified: failed"}, "acceptance_verified: verified, passed"},
		{"the first failure ends it", verify.MultiStage{Stages: []verify.Stage{{Name: "a", Verifier: no}, {Name: "b", Verifier: yes}}}, false,
			[]string{"a: failed", "b: skipped"}, "a: "},
		{"passed with an error", verify.MultiStage{Stages: []verify.Stage{{Name: "a", Verifier: broken}}}, false,
			[]string{"a: unable"}, "no database"},
		{"unable is not failed", verify.MultiStage{Stages: []verify.Stage{{Name: "a", Verifier: unable}}}, false,
			[]string{"a: unable"}, "says nothing about your work"},
		{"a time-out is not failed", verify.MultiStage{Stages: []verify.Stage{{Name: "a", Verifier: late}}}, false,
			[]string{"a: timeout"}, "says nothing about your work"},
		{"advice decides nothing", verify.MultiStage{Stages: []verify.Stage{{Name: "a", Verifier: no, Advisory: true}, {Name: "b", Verifier: yes}}}, true,
			[]string{"a: warning", "b: passed"}, ""},
		{"advice that cannot be had decides nothing", verify.MultiStage{Stages: []verify.Stage{{Name: "a", Verifier: broken, Advisory: true}, {Name: "b", Verifier: yes}}}, true,
			[]string{"a: warning", "b: passed"}, ""},
		{"advice is told with what is wrong", verify.MultiStage{Stages: []verify.Stage{{Name: "a", Verifier: no, Advisory: true}, {Name: "b", Verifier: no}}}, false,
			[]string{"a: warning", "b: failed"}, "decides nothing: a: verified, passed"},
		{"any", verify.MultiStage{Any: true, Stages: []verify.Stage{{Name: "a", Verifier: no}, {Name: "b", Verifier: yes}, {Name: "c", Verifier: broken}}}, true,
			[]string{"a: warning", "b: passed", "c: warning"}, ""},
		{"none of any", verify.MultiStage{Any: true, Stages: []verify.Stage{{Name: "a", Verifier: no}, {Name: "b", Verifier: yes, Advisory: true}}}, false,
			[]string{"a: failed", "b: passed"}, "a: "},
		{"at once all are run", verify.MultiStage{Parallel: -1, Stages: []verify.Stage{{Name: "a", Verifier: no}, {Name: "b", Verifier: no}}}, false,
			[]string{"a: failed", "b: failed"}, "a: verified, passed\n\nb: verified, passed"},
		{"without name and verifier", verify.MultiStage{Stages: []verify.Stage{{}}}, true, []string{"unnamed: passed"}, ""},
		{"a stage that says no more", verify.MultiStage{Stages: []verify.Stage{{Verifier: says(ralph.Verdict{}, nil)}}}, false,
			[]string{"unnamed: failed"}, "does not say why"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v, err := tt.v.Verify(t.Context(), ralph.Claim{Promised: true, Output: "done"})
			if err != nil || v.Passed != tt.passed {
				t.Errorf("got passed %v, error %v", v.Passed, err)
			}
			if diff := cmp.Diff(tt.checks, statuses(v)); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(v.Feedback, tt.feedback) || v.Passed && v.Feedback != "" {
				t.Errorf("feedback %q, want %q", v.Feedback, tt.feedback)
			}
		})
	}
}

// TestMultiStagePromise: a stage without a verifier is checked, and not taken as
// passed without being asked.
func TestMultiStagePromise(t *testing.T) {
	t.Parallel()
	v, err := verify.MultiStage{Stages: []verify.Stage{{Name: "promise"}}}.Verify(t.Context(), ralph.Claim{Output: "not yet"})
	if err != nil || v.Passed {
		t.Error(v, err)
	}
}

func TestMultiStageDecidesNothing(t *testing.T) {
	t.Parallel()
	for _, m := range []verify.MultiStage{
		{},
		{Stages: []verify.Stage{{Name: "a", Verifier: says(ralph.Pass(), nil), Advisory: true}}},
		{Any: true, Stages: []verify.Stage{{Name: "a", Verifier: says(ralph.Pass(), nil), Advisory: true}}},
	} {
		if v, err := m.Verify(t.Context(), ralph.Claim{Promised: true}); err == nil || v.Passed {
			t.Errorf("%+v: %v, %v", m, v, err)
		}
	}
}

// TestMultiStageOrder: the verdict is in the order of the stages, whichever ends
// first, and no more run at a time than Parallel says.
func TestMultiStageOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		stage := func(name string, takes time.Duration) verify.Stage {
			return verify.Stage{Name: name, Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
				now := running.Add(1)
				defer running.Add(-1)
				for {
					if m := most.Load(); now <= m || most.CompareAndSwap(m, now) {
						break
					}
				}
				<-time.After(takes)
				return ralph.Reject(name + " is wrong"), nil
			})}
		}
		m := verify.MultiStage{Parallel: 2, Stages: []verify.Stage{stage("slow", 3*time.Second), stage("quick", time.Second), stage("last", time.Second)}}
		v, err := m.Verify(t.Context(), ralph.Claim{Promised: true})
		if want := "slow: slow is wrong\n\nquick: quick is wrong\n\nlast: last is wrong"; err != nil || v.Feedback != want {
			t.Errorf("%q, %v", v.Feedback, err)
		}
		if most.Load() != 2 {
			t.Errorf("%d stages ran at the same time", most.Load())
		}
		if got := v.Checks[0].Duration; got != 3*time.Second {
			t.Errorf("the slow stage took %v", got)
		}
	})
}

// TestMultiStageEvidence: what commands leave as evidence is kept, of stages
// within stages too.
func TestMultiStageEvidence(t *testing.T) {
	t.Parallel()
	inner := verify.MultiStage{Stages: []verify.Stage{
		{Name: "one", Verifier: verify.External{Shell: "echo one"}},
		{Name: "two", Verifier: verify.External{Shell: "echo two; exit 3"}},
	}}
	v, err := verify.MultiStage{Stages: []verify.Stage{{Name: "outer", Verifier: inner}}}.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"outer: failed", "outer: one: passed"}, statuses(v)); diff != "" {
		t.Fatal(diff)
	}
	for i, code := range []int{3, 0} {
		if c := v.Checks[i]; c.ExitCode == nil || *c.ExitCode != code || !strings.HasPrefix(c.Digest, "sha256:") || c.Duration <= 0 {
			t.Errorf("%+v", c)
		}
	}
}

// TestMultiStageFeedback: one stage's long feedback does not push out another's.
func TestMultiStageFeedback(t *testing.T) {
	t.Parallel()
	var stages []verify.Stage
	for i := range 10 {
		stages = append(stages, verify.Stage{Name: fmt.Sprintf("stage %d", i), Verifier: says(ralph.Reject(strings.Repeat("long ", 2000)), nil)})
	}
	v, err := verify.MultiStage{Stages: stages, Parallel: 4}.Verify(t.Context(), ralph.Claim{})
	if err != nil || len(v.Feedback) > 8<<10 {
		t.Fatalf("%d bytes, %v", len(v.Feedback), err)
	}
	for i := range 10 {
		if !strings.Contains(v.Feedback, fmt.Sprintf("stage %d: ", i)) {
			t.Errorf("stage %d is not in the feedback", i)
		}
	}
}

// TestMultiStageMany: a verdict has at most 64 checks, and what rejects is among
// them.
func TestMultiStageMany(t *testing.T) {
	t.Parallel()
	var m verify.MultiStage
	for i := range 100 {
		stage := verify.Stage{Name: fmt.Sprintf("stage %d", i), Verifier: says(ralph.Pass(), nil)}
		if i == 80 {
			stage.Verifier = says(ralph.Reject("no"), nil)
		}
		m.Stages = append(m.Stages, stage)
	}
	v, err := m.Verify(t.Context(), ralph.Claim{})
	if err != nil || v.Passed || v.Feedback != "stage 80: no" || len(v.Checks) != 64 {
		t.Fatalf("%d checks, %q, %v", len(v.Checks), v.Feedback, err)
	}
	want := []string{"stage 0: passed", "stage 61: passed", "stage 80: failed", "37 more checks: skipped"}
	got := statuses(v)
	if diff := cmp.Diff(want, []string{got[0], got[61], got[62], got[63]}); diff != "" {
		t.Error(diff)
	}
}

// TestMultiStageAdviceWithin: what an advisory stage, or one of several of which
// any is enough, has beside its own check decides nothing either.
func TestMultiStageAdviceWithin(t *testing.T) {
	t.Parallel()
	inner := verify.Stage{Name: "outer", Verifier: verify.MultiStage{Parallel: -1, Stages: []verify.Stage{
		{Name: "one", Verifier: verify.External{Shell: "exit 1"}}, {Name: "two", Verifier: verify.External{Shell: "exit 2"}},
	}}}
	yes := verify.Stage{Name: "yes", Verifier: says(ralph.Pass(), nil)}
	advice := inner
	advice.Advisory = true
	for _, m := range []verify.MultiStage{{Stages: []verify.Stage{advice, yes}}, {Stages: []verify.Stage{inner, yes}, Any: true}} {
		v, err := m.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: t.TempDir()}})
		if err != nil || !v.Passed {
			t.Error(v, err)
		}
		if diff := cmp.Diff([]string{"outer: warning", "yes: passed", "outer: two: warning"}, statuses(v)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestMultiStageCancelled(t *testing.T) {
	t.Parallel()
	for _, parallel := range []int{0, 2} {
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := ralph.VerifierFunc(func(ctx context.Context, _ ralph.Claim) (ralph.Verdict, error) {
			cancel(ralph.ErrCancelled)
			return ralph.Pass(), nil
		})
		v, err := verify.MultiStage{Parallel: parallel, Stages: []verify.Stage{{Name: "a", Verifier: stop}, {Name: "b", Verifier: stop}}}.Verify(ctx, ralph.Claim{})
		if !errors.Is(err, ralph.ErrCancelled) || v.Passed {
			t.Errorf("parallel %d: %v, %v", parallel, v, err)
		}
		if parallel == 0 && (v.Checks[1].Status != ralph.CheckSkipped || strings.Contains(v.Checks[1].Detail, "did not pass")) {
			t.Errorf("the second stage: %+v", v.Checks[1])
		}
	}
}

func BenchmarkMultiStage(b *testing.B) {
	text := strings.Repeat("The work goes on, line by line.\n", 1<<15)
	claim := ralph.Claim{Promised: true, Output: text}
	b.Run("floor", func(b *testing.B) {
		b.SetBytes(int64(10 * len(text)))
		for b.Loop() {
			for range 10 {
				if strings.Contains(strings.ToLower(text), "todo") {
					b.Fatal("found")
				}
			}
		}
	})
	b.Run("stages", func(b *testing.B) {
		var m verify.MultiStage
		for range 10 {
			m.Stages = append(m.Stages, verify.Stage{Name: "s", Verifier: verify.String{Excludes: []string{"TODO"}}})
		}
		b.SetBytes(int64(10 * len(text)))
		for b.Loop() {
			if v, err := m.Verify(b.Context(), claim); err != nil || !v.Passed {
				b.Fatal(v, err)
			}
		}
	})
}
