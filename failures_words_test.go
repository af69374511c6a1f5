package ralph_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// TestFailureWords feeds what real clients printed when they failed, against a
// provider that was scripted to fail them, through Command: what becomes of it, and
// the sentence that a user reads. A file holds the exit status and the prompt, both
// outputs, and what is wanted, which -update rewrites. Its name begins with the client.
func TestFailureWords(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/failures/*.txt")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil || len(archive.Files) != 3 {
				t.Fatal(err, len(archive.Files))
			}
			agent, _, _ := strings.Cut(filepath.Base(file), "-")
			dir := t.TempDir()
			var code int
			if _, err := fmt.Sscanf(string(archive.Comment), "exit %d,", &code); err != nil {
				t.Fatal(err)
			}
			_, prompt, _ := strings.Cut(strings.TrimSpace(string(archive.Comment)), "prompt ")
			for i, name := range []string{"stdout", "stderr"} {
				if err := os.WriteFile(filepath.Join(dir, name), archive.Files[i].Data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			l := &ralph.Local{
				Runner:   ralph.RunnerFunc(sh(ralph.Format(agent), fmt.Sprintf("cat >/dev/null; cat stdout; cat stderr >&2; exit %d", code)).Run),
				Verifier: verify.External{Args: []string{"true"}},
				Prompt:   func(context.Context, ralph.State) (string, error) { return prompt, nil },
			}
			it, err := l.Iterate(t.Context(), ralph.Start(ralph.Task{Prompt: "It is in the file.", Dir: dir}))
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("%s: %s\n", it.Fault, it.Error)
			if *update {
				archive.Files[2].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(archive.Files[2].Data), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
