package ralph_test

import (
	"os"
	"strings"
	"testing"
)

// TestReadme checks that all Go code of the README stands in an Example, so that
// it compiles, and most of it runs.
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
	blocks := strings.Split(string(readme), "```go\n")[1:]
	if len(blocks) < 3 {
		t.Errorf("the README has %d blocks of Go code", len(blocks))
	}
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		want := "\t" + strings.ReplaceAll(strings.TrimSpace(code), "\n", "\n\t")
		if !strings.Contains(string(source), want) {
			t.Errorf("example_readme_test.go does not hold the README's code:\n%s", want)
		}
	}
	if n := strings.Count(string(readme), "\n"); n > 150 {
		t.Errorf("the README has %d lines", n)
	}
}
