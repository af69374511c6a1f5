package verify_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
	"github.com/ralph-loop/ralph/verify/verifytest"
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
	judge := verifytest.Judge(func(criterion string) bool { return false }) // ralph.JudgePreset, in earnest
	v := verify.Semantic{Judge: judge, Criteria: []string{"the change has a test"}}
	got, err := v.Verify(context.Background(), ralph.Claim{Promised: true, Iteration: 1, Output: "Done."})
	fmt.Println(got.Passed, got.Feedback, err)
	// Output: false not met: the change has a test: so it is <nil>
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

// The agent may not edit its own exam.
func ExampleGuard() {
	dir, err := os.MkdirTemp("", "guard")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	exam := filepath.Join(dir, "check.sh")
	if err := os.WriteFile(exam, []byte("exit 1\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	task, err := verify.Snapshot(ralph.Task{Dir: dir}, "check.sh") // before the loop starts
	if err != nil {
		fmt.Println(err)
		return
	}
	v := verify.Guard{Verifier: verify.External{Shell: "sh check.sh"}}

	if err := os.WriteFile(exam, []byte("exit 0\n"), 0o600); err != nil { // the agent
		fmt.Println(err)
	}
	got, err := v.Verify(context.Background(), ralph.Claim{Task: task, Promised: true})
	fmt.Println(got.Passed, err)
	fmt.Println(got.Feedback)
	// Output:
	// false <nil>
	// the files that decide whether the task is done must be as they were before the loop started, and check.sh was changed; undo that
}

// An agent that reads the tests can write to the tests. The exam is one that it has
// not seen.
func ExampleHeldOut() {
	dir, err := os.MkdirTemp("", "held-out")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	workspace, exam := filepath.Join(dir, "workspace"), filepath.Join(dir, "exam")
	for name, text := range map[string]string{
		filepath.Join(workspace, "test.sh"): `test "$(sh add.sh 1 2)" = 3`,
		filepath.Join(exam, "test.sh"):      `test "$(sh add.sh 20 22)" = 42`,
		filepath.Join(workspace, "add.sh"):  `echo 3`, // the agent's
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			fmt.Println(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			fmt.Println(err)
		}
	}
	v := verify.HeldOut{Verifier: verify.External{Shell: "sh test.sh", InheritEnv: []string{"PATH"}}, Exam: exam}
	got, err := v.Verify(context.Background(), ralph.Claim{Task: ralph.Task{Dir: workspace}, Promised: true})
	fmt.Println(got.Passed, err)
	for _, c := range got.Checks {
		fmt.Println(c.Status, c.Name)
	}
	fmt.Println(got.Checks[0].Detail)
	// Output:
	// false <nil>
	// failed held-out exam
	// passed visible check
	// failed held-out: sh test.sh
	// the visible check passes and the held-out one fails; sh test.sh ended with exit code 1, expected 0
}

// A snapshot is part of the task, and so of all that is saved of a loop.
func ExampleSnapshot() {
	dir, err := os.MkdirTemp("", "snapshot")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "a_test.go"), nil, 0o600); err != nil {
		fmt.Println(err)
		return
	}
	task, err := verify.Snapshot(ralph.Task{Dir: dir}, "**/*_test.go")
	fmt.Println(err)
	for _, name := range slices.Sorted(maps.Keys(task.Guarded)) {
		fmt.Println(name)
	}
	// Output:
	// <nil>
	// **/*_test.go
	// a_test.go
}

// Two stages that run the same command run it once for each attempt.
func ExampleCache() {
	runs := 0
	tests := verify.Cache(ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
		runs++
		return ralph.Pass(), nil
	}))
	v := verify.MultiStage{Stages: []verify.Stage{
		{Name: "coder", Verifier: tests},
		{Name: "tester", Verifier: tests},
	}}
	got, err := v.Verify(context.Background(), ralph.Claim{Promised: true, Iteration: 1, Attempt: 1})
	fmt.Println(got.Passed, err, runs)
	// Output: true <nil> 1
}

func ExampleTemplate() {
	v := verify.Template{Name: "file-exists", Args: []string{"example_test.go", "report.pdf"}}
	got, err := v.Verify(context.Background(), ralph.Claim{Promised: true})
	for _, c := range got.Checks {
		fmt.Println(c.Status, c.Name)
	}
	fmt.Println(got.Passed, err)

	fmt.Println(verify.Template{Name: "npm-test", Args: []string{"unit"}}.Validate(ralph.Task{}))
	// Output:
	// passed file-exists example_test.go
	// failed file-exists report.pdf
	// false <nil>
	// verify: Template: npm-test: "unit" is too much; the arguments are: none
}

func ExampleAgent() {
	for _, answer := range []string{"The parser is done.", "The parser is done. I committed it as 3f2a91c."} {
		got, err := verify.Agent("coder").Verify(context.Background(), ralph.Claim{Promised: true, Output: answer})
		fmt.Println(got.Passed, err)
	}
	// Output:
	// false <nil>
	// true <nil>
}

// What a list of checks, a help text or a form shows.
func ExampleTemplates() {
	for _, t := range verify.Templates() {
		fmt.Println(strings.TrimSpace(t.Name + " " + t.Args))
	}
	// Output:
	// go-test [PERCENT] [PACKAGE...]
	// pytest [PERCENT] [PATH...]
	// npm-test
	// cargo-test
	// golangci-lint [PATH...]
	// ruff [PATH...]
	// file-exists PATH...
	// http-status URL [STATUS]
}

// A check gets what tools need. One that needs more names it.
func ExampleDefaultInheritEnv() {
	os.Setenv("DATABASE_URL", "postgres://localhost/test")
	defer os.Unsetenv("DATABASE_URL")
	for _, names := range [][]string{nil, append(verify.DefaultInheritEnv(), "DATABASE_URL")} {
		v := verify.External{Shell: `echo "database: $DATABASE_URL"`, InheritEnv: names, Contains: []string{"postgres"}}
		got, err := v.Verify(context.Background(), ralph.Claim{Promised: true})
		fmt.Println(got.Passed, err)
	}
	// Output:
	// false <nil>
	// true <nil>
}

// A program asks before it runs the commands of somebody else's file.
func ExampleExternal_Starts() {
	v := verify.MultiStage{Stages: []verify.Stage{
		{Name: "words", Verifier: verify.Contradictions{}},
		{Name: "tests", Verifier: verify.External{Args: []string{"npm", "test"}, Dir: "web", Env: []string{"CI=1"}}},
		{Name: "lint", Verifier: verify.Template{Name: "ruff"}},
	}}
	for _, line := range v.Starts(ralph.Task{}) {
		fmt.Println(line)
	}
	// Output:
	// cd web && CI=1 npm test
	// ruff check .
}

// A mistake in the configuration is found before an agent is paid.
func ExampleMultiStage_Validate() {
	v := verify.MultiStage{Stages: []verify.Stage{
		{Name: "words", Verifier: verify.String{Excludes: []string{"TODO"}}, Advisory: true},
	}}
	fmt.Println(v.Validate(ralph.Task{}))
	// Output: verify: MultiStage: all stages are advisory, so none decides; make one required
}
