package verify_test

import (
	"context"
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

func ExampleString() {
	v, err := verify.String{Excludes: []string{"TODO"}}.Verify(context.Background(),
		ralph.Claim{Promised: true, Output: "Done, but one todo is left."})
	fmt.Println(v.Passed, v.Feedback, err)
	// Output: false the answer contains "TODO" <nil>
}

func ExampleExternal() {
	v, err := verify.External{Shell: "echo 2 tests fail; exit 1"}.Verify(context.Background(), ralph.Claim{Promised: true})
	fmt.Println(v.Passed, err)
	fmt.Println(v.Feedback)
	// Output:
	// false <nil>
	// echo 2 tests fail; exit 1 ended with exit code 1, expected 0
	// It printed:
	// 2 tests fail
}

func ExampleMultiStage() {
	v := verify.MultiStage{Stages: []verify.Stage{
		{Name: "words", Verifier: verify.Contradictions{}},
		{Name: "lint", Verifier: verify.External{Shell: "exit 1"}, Advisory: true},
		{Name: "tests", Verifier: verify.External{Shell: "echo ok"}},
	}}
	got, err := v.Verify(context.Background(), ralph.Claim{Promised: true, Output: "All tests pass."})
	for _, c := range got.Checks {
		fmt.Println(c.Name, c.Status)
	}
	fmt.Println(got.Passed, err)
	// Output:
	// words passed
	// lint warning
	// tests passed
	// true <nil>
}

func ExampleSemantic() {
	judge := ralph.Replay("1. NOT_VERIFIED: the answer names no test") // a small model, in earnest
	v := verify.Semantic{Judge: judge, Criteria: []string{"the change has a test"}}
	got, err := v.Verify(context.Background(), ralph.Claim{Promised: true, Iteration: 1, Output: "Done."})
	fmt.Println(got.Passed, got.Feedback, err)
	// Output: false not met: the change has a test: the answer names no test <nil>
}

func ExampleContradictions() {
	for _, answer := range []string{"Removed every TODO.", "Done. TODO: rate limiting"} {
		got, err := verify.Contradictions{}.Verify(context.Background(), ralph.Claim{Promised: true, Output: answer})
		fmt.Println(got.Passed, err)
	}
	// Output:
	// true <nil>
	// false <nil>
}
