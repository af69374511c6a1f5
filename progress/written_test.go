package progress_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/term/termtest"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

// writeAll runs a loop in which all that an agent, a check and a task file may say
// is this text, and that of the model, and returns every file that is written.
func writeAll(t *testing.T, text, model string) map[string]string {
	t.Helper()
	dir, work := t.TempDir(), t.TempDir()
	r := progress.Redactor{Task: true}
	session, err := progress.File{Path: filepath.Join(dir, "logs", "session.log")}.Create()
	if err != nil {
		t.Fatal(err)
	}
	hidden := r.Writer(session)
	banner := &progress.Banner{W: hidden, Mode: "build"}
	if err := os.WriteFile(filepath.Join(work, "said"), []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fails := verify.External{Args: []string{"sh", "-c", "cat said; cat said >&2; exit 1"}, Redact: r.String}
	judge := verify.Semantic{Judge: ralph.Replay(text), Criteria: []string{"It works."}, Redact: r.String}
	loop := &ralph.Local{
		Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			if _, err := io.WriteString(req.Raw, text); err != nil {
				return ralph.Response{}, err
			}
			resp := ralph.Response{Output: text + "\n\n**Learnings**:\n- " + text, Model: model, Files: []string{text}, Learnings: []string{text}}
			if req.Iteration == 1 {
				return resp, errors.New(text)
			}
			return resp, nil
		}),
		Verifier: verify.MultiStage{Stages: []verify.Stage{{Name: "check", Verifier: fails}, {Name: "judge", Verifier: judge}}, Parallel: 2},
		Log: progress.Multi(banner, r.Log(&progress.JSONL{W: progress.File{Path: filepath.Join(dir, ".ralph", "log.jsonl")}}),
			r.Log(&progress.Markdown{Path: filepath.Join(dir, "progress.txt")})),
		Output:    func(ralph.Request) (io.Writer, io.Writer) { return nil, banner },
		Evidence:  filepath.Join(dir, ".ralph", "evidence"),
		Workspace: func(context.Context, string) (string, []string, error) { return "", []string{text}, nil },
	}
	text = strings.ToValidUTF8(text, "\uFFFD") // a task is text
	spec, err := json.Marshal(map[string]string{"command": text})
	if err != nil {
		t.Fatal(err)
	}
	loop.Meta = map[string]string{"verify": text}
	task := ralph.Task{ID: "T", Title: text, Prompt: "Do it: " + text, Dir: work, Spec: spec, Always: true, Limits: ralph.Limits{Iterations: 2, Retries: -1}}
	if _, ok := errors.AsType[*ralph.StopError](second(loop.Run(t.Context(), ralph.Start(task)))); !ok {
		t.Fatalf("%q: the loop did not stop as it should", text)
	}
	if err := errors.Join(banner.Close(time.Now(), text), hidden.Close(), session.Close()); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == ".gitignore" {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(content)
		return err
	})
	kinds := map[string]bool{}
	for name := range files {
		kinds[strings.SplitN(filepath.Base(name), "-", 2)[0]] = true
	}
	if err != nil || !kinds["log.jsonl"] || !kinds["progress.txt"] || !kinds["session.log"] || !kinds["judge"] || len(kinds) < 5 {
		t.Fatalf("%q: not all files are there: %v, %v", text, kinds, err)
	}
	return files
}

func second(_ ralph.State, err error) error { return err }

// TestWrittenIsPrintable: no file that is written holds what a terminal should not
// be shown, and JSON lines hold all of it, escaped.
func TestWrittenIsPrintable(t *testing.T) {
	t.Parallel()
	for _, text := range termtest.Sequences() {
		for name, content := range writeAll(t, text, text) {
			termtest.Check(t, name, content)
			if filepath.Ext(name) != ".jsonl" {
				continue
			}
			said := strings.ToValidUTF8(text, "\uFFFD")
			for line := range strings.Lines(content) {
				var rec progress.Record
				if err := json.Unmarshal([]byte(line), &rec); err != nil {
					t.Errorf("%s: %v", line, err)
				}
				if s := rec.Event.State; s != nil && rec.Kind == ralph.EventLoopStarted && s.Task.Title != said {
					t.Errorf("the title is %q, want %q", s.Task.Title, said)
				}
			}
		}
	}
}

// TestWrittenHoldsNoSecrets: no file that is written holds a secret that has a
// known form, however it is written there; nor one that only shows when what is
// invisible in it is left out.
func TestWrittenHoldsNoSecrets(t *testing.T) {
	t.Parallel()
	cases := redactCases()
	aws := "AKIA" + strings.ToUpper(key(16))
	cases["parted by what is invisible"] = "id «" + aws[:9] + "\u200b" + aws[9:] + "»{aws}."
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, _ := parts(c)
			files := writeAll(t, text, "model")
			for rest := c; ; {
				_, after, found := strings.Cut(rest, "«")
				if !found {
					break
				}
				secret, after, _ := strings.Cut(after, "»{")
				rest = after
				for _, secret := range []string{secret, strings.ReplaceAll(secret, "\u200b", "")} {
					escaped, err := json.Marshal(secret)
					if err != nil {
						t.Fatal(err)
					}
					for file, content := range files {
						if strings.Contains(content, secret) || strings.Contains(content, strings.Trim(string(escaped), `"`)) {
							t.Errorf("%s holds %q", file, secret)
						}
					}
				}
			}
		})
	}
}
