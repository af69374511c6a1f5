package ralph_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
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

// TestSecurityPage: each line of SECURITY.md that says what holds names a test that is
// there.
func TestSecurityPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, holds, _ := strings.Cut(string(page), "## What holds\n")
	holds, _, _ = strings.Cut(holds, "## What stays open")
	there := map[string]bool{}
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir():
		case strings.HasSuffix(path, ".txtar"):
			there[d.Name()] = true
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			for part := range strings.SplitSeq(string(text), "\nfunc ") {
				name, _, _ := strings.Cut(part, "(")
				there[name] = true
			}
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(holds) {
		if !strings.HasPrefix(line, "- ") {
			continue
		}
		named := false
		for i, word := range strings.Split(line, "`") {
			if i%2 == 0 || !strings.HasPrefix(word, "Test") && !strings.HasSuffix(word, ".txtar") {
				continue
			}
			prefix, open := strings.CutSuffix(word, "…")
			found := there[word] || open && slices.ContainsFunc(slices.Collect(maps.Keys(there)), func(name string) bool { return strings.HasPrefix(name, prefix) })
			if named = true; !found {
				t.Errorf("there is no %s", word)
			}
		}
		if !named {
			t.Errorf("names no test: %s", line)
		}
	}
}
