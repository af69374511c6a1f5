package verify_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
	"github.com/ralph-loop/ralph/verify/verifytest"
)

// TestFailure14PromiseWithoutWork: nobody's words stand for the work.
func TestFailure14PromiseWithoutWork(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := verify.External{Args: []string{"test", "-f", "result"}}
	claim := ralph.Claim{
		Task: ralph.Task{Dir: dir}, Iteration: 1, Attempt: 1, Promised: true,
		Output: "I wrote result and checked it twice. VERIFIED, all tests passed.",
		Files:  []string{"result"},
	}
	v, err := e.Verify(t.Context(), claim)
	if err != nil || v.Passed || !strings.Contains(v.Feedback, "test -f result ended with exit code 1, expected 0") {
		t.Errorf("without the work: %+v, %v", v, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "result"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if v, err := e.Verify(t.Context(), claim); err != nil || !v.Passed {
		t.Errorf("with the work: %+v, %v", v, err)
	}
}

// TestFailure14LoopGoesOn: a loop whose agent promises without the work goes on,
// and tells it what is missing, until the work is there.
func TestFailure14LoopGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var prompts []string
	l := &ralph.Local{
		Verifier: verify.External{Args: []string{"test", "-f", "result"}},
		Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			if prompts = append(prompts, req.Prompt); len(prompts) == 3 {
				write(t, filepath.Join(dir, "result"), "42\n")
			}
			return ralph.Response{Output: "All of it is done and VERIFIED.\n\n<promise>COMPLETE</promise>"}, nil
		}),
	}
	s, err := l.Run(t.Context(), ralph.Start(ralph.Task{ID: "T", Dir: dir, Prompt: "Write result."}))
	if err != nil || s.Stop != ralph.StopVerified || len(prompts) != 3 {
		t.Fatalf("%d calls: %+v, %v", len(prompts), s, err)
	}
	if !strings.Contains(prompts[2], "test -f result ended with exit code 1, expected 0") {
		t.Errorf("the agent was not told what is missing:\n%s", prompts[2])
	}
}

// TestFailure15WordsOfACheckDoNotPass: what a command says in favour of the
// work, or in excuse of itself, does not outweigh how it ends; what it says against
// the work does not either.
func TestFailure15WordsOfACheckDoNotPass(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line     string
		contains string
		status   ralph.CheckStatus
	}{
		{"echo 'I am sorry, I cannot do that.'; exit 1", "", ralph.CheckFailed},
		{"echo 'I am sorry, I cannot do that.'; exit 0", "", ralph.CheckPassed},
		{"echo 'VERIFIED: all criteria are met'; exit 1", "", ralph.CheckFailed},
		{"echo 'NOT_VERIFIED: 3 tests failed'; exit 0", "", ralph.CheckPassed},
		{"echo passed; echo PROCEED >&2; exit 2", "", ralph.CheckFailed},
		{"echo passed; kill -KILL $$", "", ralph.CheckFailed},
		{"echo passed; no-such-program", "", ralph.CheckUnable},
		{": passed; exit 1", "", ralph.CheckFailed},
		// Nor do they where words are asked for: both must be right.
		{"echo passed; exit 1", "passed", ralph.CheckFailed},
		{"echo done; exit 0", "passed", ralph.CheckFailed},
		{"echo passed; exit 0", "passed", ralph.CheckPassed},
	} {
		e := verify.External{Shell: tt.line}
		if tt.contains != "" {
			e.Contains = []string{tt.contains}
		}
		v, err := e.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: t.TempDir()}, Promised: true})
		if err != nil || len(v.Checks) != 1 || v.Checks[0].Status != tt.status || v.Passed != (tt.status == ralph.CheckPassed) || v.Passed != (v.Feedback == "") {
			t.Errorf("%s: %+v, %v; want %s", tt.line, v, err, tt.status)
		}
	}
}

// TestFailure16BrokenConfiguration: a verifier that cannot check what was asked
// for is an error, never an open gate. Without its flaw, the same one passes.
func TestFailure16BrokenConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module m\n")
	task, err := verify.Snapshot(ralph.Task{Dir: dir}, "go.mod")
	if err != nil {
		t.Fatal(err)
	}
	shell := []string{"sh", "-c", "echo ok"}
	judge := verifytest.Judge(func(criterion string) bool { return criterion == "ok" })
	for name, tt := range map[string]struct{ broken, mended ralph.Verifier }{
		"no command":               {verify.External{}, verify.External{Args: shell}},
		"no command, but a check":  {verify.External{Contains: []string{"ok"}}, verify.External{Args: shell, Contains: []string{"ok"}}},
		"no program":               {verify.External{Args: []string{""}}, verify.External{Args: []string{"true"}}},
		"blank line":               {verify.External{Shell: " \n"}, verify.External{Shell: "true\n"}},
		"two commands":             {verify.External{Args: shell, Shell: "true"}, verify.External{Shell: "true"}},
		"empty text":               {verify.External{Args: shell, Contains: []string{"ok", ""}}, verify.External{Args: shell, Contains: []string{"ok"}}},
		"blank text":               {verify.External{Args: shell, Excludes: []string{" \t"}}, verify.External{Args: shell, Excludes: []string{" \tx"}}},
		"environment, no name":     {verify.External{Args: shell, Env: []string{"=x"}}, verify.External{Args: shell, Env: []string{"A=x"}}},
		"environment, no value":    {verify.External{Args: shell, Env: []string{"A=1", "B"}}, verify.External{Args: shell, Env: []string{"A=1", "B="}}},
		"environment, NUL":         {verify.External{Args: shell, Env: []string{"A=\x00"}}, verify.External{Args: shell, Env: []string{"A="}}},
		"NUL in an argument":       {verify.External{Args: []string{"true", "a\x00b"}}, verify.External{Args: []string{"true", "ab"}}},
		"NUL in a line":            {verify.External{Shell: "true\x00"}, verify.External{Shell: "true"}},
		"folder outside":           {verify.External{Args: shell, Dir: ".."}, verify.External{Args: shell, Dir: "."}},
		"words, empty text":        {verify.String{Contains: []string{""}}, verify.String{Contains: []string{"ok"}}},
		"words, blank text":        {verify.String{Excludes: []string{"todo", "\n"}}, verify.String{Excludes: []string{"todo"}}},
		"judge, no criteria":       {verify.Semantic{Judge: judge}, verify.Semantic{Judge: judge, Criteria: []string{"ok"}}},
		"judge, blank criterion":   {verify.Semantic{Judge: judge, Criteria: []string{" "}}, verify.Semantic{Judge: judge, Criteria: []string{"ok"}}},
		"no judge":                 {verify.Semantic{Criteria: []string{"ok"}}, verify.Semantic{Excludes: []string{"todo"}}},
		"no stages":                {verify.MultiStage{}, verify.MultiStage{Stages: []verify.Stage{{}}}},
		"advisory stages only":     {verify.MultiStage{Stages: []verify.Stage{{Advisory: true}}}, verify.MultiStage{Stages: []verify.Stage{{Advisory: true}, {}}}},
		"guard of another file":    {verify.Guard{Globs: []string{"go.sum"}}, verify.Guard{Globs: []string{"go.mod"}}},
		"cache of nothing":         {verify.Cache(nil), verify.Cache(verify.String{})},
		"unknown template":         {verify.Template{Name: "tests"}, verify.Template{Name: "file-exists", Args: []string{"go.mod"}}},
		"template, no argument":    {verify.Template{Name: "file-exists"}, verify.Template{Name: "file-exists", Args: []string{"go.mod"}}},
		"unknown stage":            {verify.Agent("codr"), verify.Agent("qa")},
		"pattern without any word": {verify.Contradictions{Patterns: []string{"…"}}, verify.Contradictions{Patterns: []string{"todo …"}}},
	} {
		claim := ralph.Claim{Task: task, Iteration: 1, Attempt: 1, Promised: true, Output: "ok"}
		got, err := tt.broken.Verify(t.Context(), claim)
		if err == nil || got.Passed || !strings.HasPrefix(err.Error(), "verify: ") || strings.Count(err.Error(), "verify: ") != 1 {
			t.Errorf("%s: %+v, %v; want an error", name, got, err)
		}
		if got, err := tt.mended.Verify(t.Context(), claim); err != nil || !got.Passed {
			t.Errorf("%s, mended: %+v, %v; want a pass", name, got, err)
		}
	}
}

// left reports whether the process whose number is in a file lives.
func left(t *testing.T, file string) bool {
	t.Helper()
	pid, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	args, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "cmdline"))
	return err == nil && strings.HasPrefix(string(args), "sleep\x00")
}

// fifo makes a named pipe in dir.
func fifo(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(dir, "fifo")
	if out, err := exec.Command("mkfifo", name).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return name
}

// TestFailure29NothingIsLeft: a check that passes may leave servers, some of
// which have cut all links to it.
func TestFailure29NothingIsLeft(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]string{
		"in the background":  `sh -c "$SERVE" &`,
		"session of its own": `setsid sh -c "$SERVE" &`,
		"ignores signals":    `nohup setsid sh -c "trap '' HUP INT TERM; $SERVE" >/dev/null 2>&1 &`,
		"two forks":          `(setsid sh -c "$SERVE" &) &`,
		"holds no output":    `setsid sh -c "$SERVE" >/dev/null 2>&1 </dev/null &`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			fifo(t, dir)
			v, err := verify.External{
				Shell: start + " read up <fifo; echo passed",
				Env:   []string{"SERVE=echo $$ >pid; echo up >fifo; exec sleep 300", mark(t)},
			}.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: dir}})
			if err != nil || !v.Passed {
				t.Errorf("%+v, %v", v, err)
			}
			if left(t, filepath.Join(dir, "pid")) {
				t.Error("the server is left")
			}
			checkNoneLeft(t)
		})
	}
}

// TestFailure30CheckBehindAWrapper: at the time-out the program that does the
// work dies too, whatever stands before it and whatever that ignores.
func TestFailure30CheckBehindAWrapper(t *testing.T) {
	t.Parallel()
	const work = `echo $$ >pid; echo begun; echo >fifo; exec sleep 300`
	for name, line := range map[string]string{
		"none":                            work,
		"shell":                           `sh -c "$WORK"; exit 1`,
		"one that ignores signals":        `trap '' INT TERM HUP; sh -c "$WORK"; sleep 300`,
		"one that gives it a session":     `setsid -w sh -c "$WORK"; exit 1`,
		"one that is gone":                `setsid sh -c "$WORK" & sleep 300`,
		"one that clears its environment": `env -i PATH="$PATH" sh -c "$WORK"; exit 1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			begun := fifo(t, dir)
			ctx, timeout := context.WithCancelCause(t.Context())
			go func() {
				os.ReadFile(begun)
				timeout(verify.ErrTimeout)
			}()
			e := verify.External{Shell: strings.ReplaceAll(line, `"$WORK"`, "'"+work+"'"), Env: []string{mark(t)}}
			v, err := e.RunUntil(ctx, dir)
			if err != nil || len(v.Checks) != 1 {
				t.Fatalf("%+v, %v", v, err)
			}
			if v.Passed || v.Checks[0].Status != ralph.CheckTimeout || v.Checks[0].ExitCode != nil {
				t.Errorf("%+v", v)
			}
			for _, want := range []string{"did not end within 5m0s", "It printed:\nbegun"} {
				if !strings.Contains(v.Feedback, want) {
					t.Errorf("the feedback does not say %q:\n%s", want, v.Feedback)
				}
			}
			if left(t, filepath.Join(dir, "pid")) {
				t.Error("the program is left")
			}
			checkNoneLeft(t)
		})
	}
}
