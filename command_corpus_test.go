package ralph_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

// formatOf names the formats of the corpus as this package does.
func formatOf(name string) ralph.Format {
	name, _, _ = strings.Cut(name, "-")
	return ralph.Format(name)
}

// TestCommandCorpus takes whole streams the way of a real agent's output.
func TestCommandCorpus(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := 0
	for _, c := range promiseCases(t) {
		if c.Format == "" || c.Format == "messages-json" {
			continue // words: TestFindPromiseCorpus; sessions: TestHookWithMessageCases
		}
		n++
		file := filepath.Join(dir, c.ID)
		if err := os.WriteFile(file, []byte(c.Text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := ralph.Command{Args: []string{"cat", file}, Format: formatOf(c.Format)}
		resp, err := cmd.Run(t.Context(), ralph.Request{Prompt: "Go on.", Promise: c.Promise})
		if errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if got := ralph.FindPromise(resp.Output, c.Promise, ralph.MatchLastLine); got.Found != c.want() {
			t.Errorf("%s: %+v, want %v: %s\noutput %q, error %v", c.ID, got, c.want(), c.Why, resp.Output, err)
		}
	}
	if n < 50 {
		t.Errorf("only %d streams", n)
	}
}
