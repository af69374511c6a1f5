package ralph_test

import (
	"os"
	"strings"
	"testing"
)

// TestReadme checks that the README's ten lines are those of an Example, so that
// they compile.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(readme), "```go\n")
	code, _, _ = strings.Cut(code, "```")
	if code == "" {
		t.Fatal("the README has no Go code")
	}
	want := "\t" + strings.ReplaceAll(strings.TrimSpace(code), "\n", "\n\t")
	if !strings.Contains(string(source), want) {
		t.Errorf("example_readme_test.go does not hold the README's code:\n%s", want)
	}
	if n := strings.Count(string(readme), "\n"); n > 150 {
		t.Errorf("the README has %d lines", n)
	}
}
