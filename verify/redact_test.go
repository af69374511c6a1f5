package verify_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// A censor hides the word secret. It writes on Close.
type censor struct {
	to   io.Writer
	text strings.Builder
}

func (c *censor) Write(p []byte) (int, error) { return c.text.Write(p) }
func (c *censor) Close() error {
	_, err := io.WriteString(c.to, strings.ReplaceAll(c.text.String(), "secret", "[hidden]"))
	return err
}

// TestRedacted: whatever asks, no secret reaches the evidence.
func TestRedacted(t *testing.T) {
	t.Parallel()
	folder, dir := t.TempDir(), t.TempDir()
	judge := ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
		return ralph.Response{Output: "a secret"}, nil
	})
	v := verify.Redacted(verify.Guard{Verifier: verify.MultiStage{Any: true, Stages: []verify.Stage{
		{Name: "command", Verifier: verify.External{Shell: "echo the secret"}},
		{Name: "judge", Verifier: verify.Semantic{Judge: judge, Criteria: []string{"the secret is kept"},
			Fallback: verify.External{Shell: "echo another secret"}}},
	}}}, func(w io.Writer) io.WriteCloser { return &censor{to: w} })
	write(t, filepath.Join(dir, "exam"), "")
	task, err := verify.Snapshot(ralph.Task{Dir: dir}, "exam")
	if err != nil {
		t.Fatal(err)
	}
	got, err := v.Verify(t.Context(), ralph.Claim{Task: task, Evidence: folder})
	if err != nil || !got.Passed {
		t.Fatal(got, err)
	}
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != 4 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil || strings.Contains(string(text), "secret") || !strings.Contains(string(text), "[hidden]") {
			t.Errorf("%s: %s, %v", f.Name(), text, err)
		}
	}
}
