package verify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

const hunter = "hunter2hunter2"

func hideHunter(text string) string { return strings.ReplaceAll(text, hunter, "[hidden]") }

// TestRedact: whatever asks and however a verifier decides, no secret leaves it:
// not in what it says, not in files, not in their names.
func TestRedact(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "exam"), "")
	task, err := verify.Snapshot(ralph.Task{Dir: dir}, "exam")
	if err != nil {
		t.Fatal(err)
	}
	// The first half of the secret is in what is quoted of an output, the other in
	// what is left out.
	torn := fmt.Sprintf("yes abcdefg | head -c %d; printf %s; yes | head -c 100000; printf %s; yes | head -c %d; exit 1", 2<<10-7, hunter, hunter, 5<<10-7)
	external := func(e verify.External) ralph.Verifier {
		e.Redact = hideHunter
		return e
	}
	judged := func(answer string, err error, s verify.Semantic) ralph.Verifier {
		s.Judge = ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			return ralph.Response{Output: amidDecoy(req.Prompt, answer)}, err
		})
		s.Redact = hideHunter
		return s
	}
	plain := external(verify.External{Shell: "echo " + hunter})
	long := strings.Repeat("x", 295) + hunter + strings.Repeat("y", 200)
	for name, tt := range map[string]struct {
		v     ralph.Verifier
		files int
	}{
		"command":          {plain, 1},
		"arguments":        {external(verify.External{Args: []string{"echo", hunter}}), 1},
		"fails":            {external(verify.External{Shell: "echo " + hunter + "; exit 1"}), 1},
		"torn":             {external(verify.External{Shell: torn}), 1},
		"long name":        {external(verify.External{Shell: "echo " + strings.Repeat("x", 138) + hunter + strings.Repeat("y", 200)}), 1},
		"wanted":           {external(verify.External{Shell: "true", Contains: []string{strings.Repeat("x", 55) + hunter + strings.Repeat("y", 80)}}), 0},
		"unwanted":         {external(verify.External{Shell: "echo " + hunter, Excludes: []string{hunter}}), 1},
		"not there":        {external(verify.External{Args: []string{"/none/" + hunter}}), 0},
		"no such folder":   {external(verify.External{Shell: "true", Dir: hunter}), 0},
		"outside":          {external(verify.External{Shell: "true", Dir: "../" + hunter}), 0},
		"environment":      {external(verify.External{Shell: "true", Env: []string{hunter}}), 0},
		"cached":           {verify.Cache(plain), 1},
		"stages":           {verify.MultiStage{Any: true, Stages: []verify.Stage{{Verifier: verify.Cache(plain)}, {Verifier: plain}}}, 2},
		"guarded":          {verify.Guard{Verifier: verify.Cache(verify.MultiStage{Stages: []verify.Stage{{Verifier: plain}}})}, 1},
		"file template":    {verify.Template{Name: "file-exists", Args: []string{hunter}, Redact: hideHunter}, 0},
		"command template": {verify.Template{Name: "go-test", Args: []string{"./" + hunter}, Redact: hideHunter}, 1},
		"coverage":         {verify.Template{Name: "go-test", Args: []string{"50", "./" + hunter}, Redact: hideHunter}, 1},
		"no template":      {verify.Template{Name: hunter, Redact: hideHunter}, 0},
		"judge":            {judged("1. NOT_VERIFIED: "+long, nil, verify.Semantic{Criteria: []string{long}}), 1},
		"judge agrees":     {judged("1. VERIFIED: "+hunter, nil, verify.Semantic{Criteria: []string{"a"}}), 1},
		"judge babbles":    {judged(strings.Repeat("x", 55)+hunter+strings.Repeat("y", 100), nil, verify.Semantic{Criteria: []string{"a"}}), 2},
		"judge fails":      {judged("", errors.New(strings.Repeat("x", 395)+hunter+strings.Repeat("y", 200)), verify.Semantic{Criteria: []string{"a"}}), 1},
		"judged evidence": {judged("", nil, verify.Semantic{Criteria: []string{"a"}, Evidence: func(context.Context, ralph.Claim) (string, error) {
			return "", errors.New(hunter)
		}}), 0},
		"fallback": {judged(hunter, nil, verify.Semantic{Criteria: []string{"a"}, Fallback: plain}), 3},
		"words":    {judged("", nil, verify.Semantic{Excludes: []string{hunter}}), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			v, err := tt.v.Verify(t.Context(), ralph.Claim{Task: task, Evidence: folder, Promised: true, Output: "I set it to " + hunter})
			checkHidden(t, "the error", fmt.Sprint(err))
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			checkHidden(t, "the verdict", string(text))
			files, err := os.ReadDir(folder)
			if err != nil || len(files) != tt.files {
				t.Errorf("%v, %v", files, err)
			}
			for _, f := range files {
				checkHidden(t, "the name of a file", f.Name())
				text, err := os.ReadFile(filepath.Join(folder, f.Name()))
				if err != nil {
					t.Error(err)
				}
				checkHidden(t, f.Name(), string(text))
			}
		})
	}
}

// checkHidden wants neither the secret in a text nor half of it.
func checkHidden(t *testing.T, what, text string) {
	t.Helper()
	if i := strings.Index(text, hunter[:len(hunter)/2]); i >= 0 {
		t.Errorf("%s holds the secret: …%s…", what, text[max(i-60, 0):min(i+60, len(text))])
	}
}
