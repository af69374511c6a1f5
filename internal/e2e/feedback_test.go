package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// TestFeedbackLoop: an agent that knows nothing but its prompt, a real process,
// mends exactly the functions whose tests the feedback names, though they fail in
// the middle of more output than a prompt may quote.
func TestFeedbackLoop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const all = 400
	wrong := map[int]bool{123: true, 200: true, 201: true}
	var code, tests strings.Builder
	code.WriteString("package m\n\n")
	tests.WriteString("package m\n\nimport \"testing\"\n\n")
	for i := range all {
		got := i
		if wrong[i] {
			got = -1
		}
		fmt.Fprintf(&code, "func F%03d() int { return %d }\n", i, got)
		fmt.Fprintf(&tests, "func TestF%03d(t *testing.T) {\n\tif got := F%03[1]d(); got != %[1]d {\n\t\tt.Errorf(\"got %%d\", got)\n\t}\n}\n", i)
	}
	put("go.mod", "module m\n\ngo 1.26\n")
	put("m.go", code.String())
	put("m_test.go", tests.String())
	// The agent looks for the names of failing tests in its prompt, and in nothing
	// else. It notes what it mends.
	agent := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(agent, []byte(`#!/bin/sh
prompt=$(cat)
for n in $(printf '%s\n' "$prompt" | sed -n 's/.*--- FAIL: TestF0*\([0-9]*\) .*/\1/p'); do
	sed -i "s/^func F$n() .*/func F$n() int { return $n }/" m.go
	echo $n >> mended
done
echo '<promise>COMPLETE</promise>'
`), 0o755); err != nil {
		t.Fatal(err)
	}
	task, err := verify.Snapshot(ralph.Task{ID: "mend", Dir: dir, Prompt: "Mend the functions."}, "*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	loop := &ralph.Local{
		Runner:   &ralph.Command{Args: []string{agent}, Format: ralph.FormatText},
		Verifier: verify.Guard{Verifier: verify.External{Args: []string{"go", "test", "-v", "."}}},
	}
	s, err := loop.Run(t.Context(), ralph.Start(task))
	if err != nil || s.Iteration != 2 {
		t.Fatalf("%v in iteration %d: %s", err, s.Iteration, s.Feedback)
	}
	mended, err := os.ReadFile(filepath.Join(dir, "mended"))
	if err != nil || string(mended) != "123\n200\n201\n" {
		t.Errorf("mended %q, %v", mended, err)
	}
	// What proves it outlives the loop.
	if len(s.Verdict.Checks) != 2 || *s.Verdict.Checks[1].ExitCode != 0 || s.Verdict.Checks[1].Digest == "" || s.Line != 1 {
		t.Errorf("completion record: line %d, %+v", s.Line, s.Verdict)
	}
}
