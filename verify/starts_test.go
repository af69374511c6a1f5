package verify_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

func TestStarts(t *testing.T) {
	t.Parallel()
	judge, err := ralph.Preset("codex")
	if err != nil {
		t.Fatal(err)
	}
	args, err := judge.CommandLine()
	if err != nil {
		t.Fatal(err)
	}
	v := verify.Guard{Globs: []string{"x"}, Verifier: verify.MultiStage{Stages: []verify.Stage{
		{Verifier: verify.Cache(verify.External{Args: []string{"go", "run", "a b", "it's", ""}, Dir: "sub dir"})},
		{Verifier: verify.HeldOut{Exam: "/x", Verifier: verify.External{Shell: "make test | tee log", Env: []string{"A=1"}}}},
		{Verifier: verify.Template{Name: "go-test", Args: []string{"80"}}},
		{Verifier: verify.Template{Name: "file-exists", Args: []string{"a"}}},
		{Verifier: verify.Semantic{Judge: judge, Fallback: verify.External{Shell: "true"}}},
		{Verifier: verify.String{}},
	}}}
	got := v.Starts(ralph.Task{})
	if len(got) != 5 {
		t.Fatalf("%q", got)
	}
	want := []string{`cd 'sub dir' && go run 'a b' 'it'\''s' ''`, "A=1 make test | tee log", "go test ./...", verify.External{Args: args}.Starts(ralph.Task{})[0], "true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
