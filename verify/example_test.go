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
