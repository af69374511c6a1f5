package verify_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// mark names the processes of a test in their environment.
func mark(t *testing.T) string { return "VERIFY_TEST=" + t.Name() }

// checkNoneLeft fails if a process with the test's mark lives.
func checkNoneLeft(t *testing.T) {
	t.Helper()
	envs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range envs {
		if env, err := os.ReadFile(file); err == nil && strings.Contains(string(env), mark(t)+"\x00") {
			t.Errorf("a process is left: %s", file)
		}
	}
}

func TestExternal(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("looks for processes in /proc")
	}
	for _, tt := range []struct {
		name   string
		v      verify.External
		status ralph.CheckStatus
		exit   int      // -1 = none
		says   []string // in the feedback
	}{
		{"passes", verify.External{Args: []string{"true"}}, ralph.CheckPassed, 0, nil},
		{"shell line", verify.External{Shell: "true && test 1 = 1"}, ralph.CheckPassed, 0, nil},
		{"wrong exit", verify.External{Shell: "echo two tests fail; exit 3"}, ralph.CheckFailed, 3, []string{"ended with exit code 3, expected 0", "two tests fail"}},
		{"expected exit", verify.External{Shell: "exit 3", ExitCode: 3}, ralph.CheckPassed, 3, nil},
		{"says nothing", verify.External{Args: []string{"false"}}, ralph.CheckFailed, 1, []string{"false ended with exit code 1", "It printed nothing."}},
		{"no shell in arguments", verify.External{Args: []string{"test", "$HOME", "=", "$HOME"}}, ralph.CheckPassed, 0, nil},
		{"contains, on stdout", verify.External{Shell: "echo 5 passed", Contains: []string{"5 passed"}}, ralph.CheckPassed, 0, nil},
		{"contains, on stderr", verify.External{Shell: "echo 5 passed >&2", Contains: []string{"5 passed"}}, ralph.CheckPassed, 0, nil},
		{"contains not", verify.External{Shell: "echo 5 Passed", Contains: []string{"5 passed"}}, ralph.CheckFailed, 0, []string{`did not print "5 passed"`}},
		{"excludes", verify.External{Shell: "echo FAILED >&2", Excludes: []string{"FAILED"}}, ralph.CheckFailed, 0, []string{`printed "FAILED"`}},
		{"many texts", verify.External{Shell: "echo b", Contains: []string{"1", "2", "3", "4", "5", "6", "7"}, Excludes: []string{"b"}}, ralph.CheckFailed, 0, []string{`did not print "1", "2", "3", "4", "5" and 2 more; must not print but printed "b"`}},
		{"long texts", verify.External{Shell: "seq 10000; exit 1", Contains: slices.Repeat([]string{strings.Repeat("\xff", 10000)}, 9)}, ralph.CheckFailed, 1, []string{"exit code 1", "did not print", "and 4 more", "9999\n10000"}},
		{"excludes not", verify.External{Shell: "echo failed", Excludes: []string{"FAILED"}}, ralph.CheckPassed, 0, nil},
		{"a text in the middle of much", verify.External{Shell: "seq 200000; echo FAILED; seq 200000", Excludes: []string{"199999\nFAILED"}, Contains: []string{"199999\n200000\nFAILED\n1\n"}}, ralph.CheckPassed, 0, nil},
		{"odd bytes", verify.External{Shell: `printf 'a\000\377\033[31mred\033[0m\n'; exit 1`}, ralph.CheckFailed, 1, []string{"a\uFFFDred"}},
		{"missing program", verify.External{Args: []string{"no-such-program"}}, ralph.CheckUnable, -1, []string{"no-such-program could not be run", "is it installed"}},
		{"missing program in a shell line", verify.External{Shell: "no-such-program --all"}, ralph.CheckUnable, 127, []string{"could not be run", "no-such-program"}},
		{"missing folder", verify.External{Args: []string{"true"}, Dir: "gone"}, ralph.CheckUnable, -1, []string{"gone"}},
		{"folder", verify.External{Shell: "test -f here", Dir: "sub"}, ralph.CheckPassed, 0, nil},
		{"program that may not be run", verify.External{Args: []string{"sub/here"}}, ralph.CheckUnable, -1, []string{"sub/here could not be run", "permission denied"}},
		{"program that may not be run in a shell line", verify.External{Shell: "sub/here"}, ralph.CheckUnable, 126, []string{"could not be run"}},
		{"the shell's own code is expected", verify.External{Shell: "no-such-program", ExitCode: 127}, ralph.CheckPassed, 127, nil},
		{"a program's own code", verify.External{Args: []string{"sh", "-c", "exit 127"}}, ralph.CheckFailed, 127, []string{"exit code 127, expected 0"}},
		{"a file for a folder", verify.External{Args: []string{"true"}, Dir: "sub/here"}, ralph.CheckUnable, -1, []string{"not a directory"}},
		{"time-out", verify.External{Args: []string{"sleep", "300"}, Timeout: 10 * time.Millisecond}, ralph.CheckTimeout, -1, []string{"sleep 300 did not end within 10ms"}},
		{"no time-out", verify.External{Args: []string{"true"}, Timeout: -1}, ralph.CheckPassed, 0, nil},
		{"leaves a daemon", verify.External{Shell: "setsid sleep 300 & echo up"}, ralph.CheckPassed, 0, nil},
		{"dies of a signal", verify.External{Shell: "kill -SEGV $$"}, ralph.CheckFailed, -1, []string{"ended by signal"}},
		{"environment", verify.External{Shell: `test "$A" = "b c"`, Env: []string{"A=b c"}}, ralph.CheckPassed, 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "sub", "here"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			tt.v.Env = append(tt.v.Env, mark(t))
			v, err := tt.v.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: dir}, Promised: true})
			checkNoneLeft(t)
			if strings.Contains(v.Feedback, "printed nothing") && v.Checks[0].Digest == "" {
				t.Errorf("a command that was not run has printed nothing: %s", v.Feedback)
			}
			if err != nil || len(v.Checks) != 1 {
				t.Fatalf("%+v, %v", v, err)
			}
			c := v.Checks[0]
			if c.Status != tt.status || v.Passed != (tt.status == ralph.CheckPassed) {
				t.Errorf("%+v", v)
			}
			exit := -1
			if c.ExitCode != nil {
				exit = *c.ExitCode
			}
			if exit != tt.exit {
				t.Errorf("exit code %d, want %d", exit, tt.exit)
			}
			for _, want := range tt.says {
				if !strings.Contains(v.Feedback, want) {
					t.Errorf("the feedback does not say %q:\n%s", want, v.Feedback)
				}
			}
			if v.Passed == (v.Feedback != "") || !utf8.ValidString(v.Feedback) || len(v.Feedback) > 8<<10 {
				t.Errorf("feedback of %d bytes: %q", len(v.Feedback), v.Feedback)
			}
		})
	}
}

// TestExternalFolders: the agent can write into its workspace, so what is named
// there may lead out of it.
func TestExternalFolders(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	for name, to := range map[string]string{"link": outside, "inner": "sub", "twice": "link", "loop": "loop", "up": ".."} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		dir string
		ok  bool
	}{
		{"", true},
		{".", true},
		{"sub", true},
		{"sub/..", true},
		{"inner", true},
		{filepath.Join(dir, "sub"), true},
		{outside, false},
		{"..", false},
		{"../", false},
		{"a/../../x", false},
		{"link", false},
		{"twice", false},
		{"up", false},
		{"loop", false},
		{filepath.Join(dir, "link"), false},
	} {
		v, err := verify.External{Args: []string{"true"}, Dir: tt.dir}.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: dir}})
		if v.Passed != tt.ok || (err == nil) != tt.ok {
			t.Errorf("%q: %+v, %v", tt.dir, v, err)
		}
	}
}

// TestExternalFolderVanishes: between one claim and the next.
func TestExternalFolderVanishes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "workspace")
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	e := verify.External{Args: []string{"true"}, Dir: "sub"}
	for _, gone := range []string{"", filepath.Join(dir, "sub"), dir} {
		if gone != "" {
			if err := os.Remove(gone); err != nil {
				t.Fatal(err)
			}
		}
		v, err := e.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: dir}})
		want := ralph.CheckUnable
		if gone == "" {
			want = ralph.CheckPassed
		}
		if err != nil || len(v.Checks) != 1 || v.Checks[0].Status != want {
			t.Errorf("without %q: %+v, %v", gone, v, err)
		}
	}
}

func TestExternalCancelled(t *testing.T) {
	t.Parallel()
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if out, err := exec.Command("mkfifo", fifo).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	go func() { // cancels when the command has begun
		if f, err := os.Open(fifo); err == nil {
			f.Close()
			cancel(cause)
		}
	}()
	v, err := verify.External{Shell: "setsid sleep 300 & echo begun >fifo; sleep 300", Env: []string{mark(t)}}.
		Verify(ctx, ralph.Claim{Task: ralph.Task{Dir: dir}})
	if !errors.Is(err, cause) || v.Passed {
		t.Errorf("%+v, %v", v, err)
	}
	checkNoneLeft(t)
}

func TestExternalEvidence(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "a", "b")
	v, err := verify.External{Shell: "seq 20000; exit 1"}.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: t.TempDir()}, Evidence: folder})
	if err != nil || len(v.Checks) != 1 {
		t.Fatalf("%+v, %v", v, err)
	}
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	all, err := os.ReadFile(filepath.Join(folder, files[0].Name()))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(all)
	if diff := cmp.Diff("sha256:"+hex.EncodeToString(sum[:]), v.Checks[0].Digest); diff != "" {
		t.Error(diff)
	}
	if !strings.HasSuffix(string(all), "19999\n20000\n") || !strings.Contains(v.Checks[0].Detail, files[0].Name()) {
		t.Errorf("%d bytes, %s", len(all), v.Checks[0].Detail)
	}
	for _, want := range []string{"1\n2\n3\n", "bytes left out", "19999\n20000"} {
		if !strings.Contains(v.Feedback, want) {
			t.Errorf("no %q in %s", want, v.Feedback)
		}
	}
	// A command that was not started has no output.
	none := filepath.Join(t.TempDir(), "none")
	v, err = verify.External{Args: []string{"no-such-program"}}.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: t.TempDir()}, Evidence: none})
	if left, _ := os.ReadDir(none); err != nil || v.Passed || len(left) != 0 || strings.Contains(v.Checks[0].Detail, "full output") {
		t.Errorf("%v, %+v, %v", left, v, err)
	}
	// Nor has one that prints nothing.
	v, err = verify.External{Shell: "exit 1"}.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: t.TempDir()}, Evidence: none})
	if left, _ := os.ReadDir(none); err != nil || len(left) != 0 || strings.Contains(v.Checks[0].Detail, "full output") {
		t.Errorf("%v, %+v, %v", left, v, err)
	}
	// That evidence cannot be kept does not change the verdict, but is said.
	v, err = verify.External{Shell: "echo done"}.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: t.TempDir()}, Evidence: "/dev/null/x"})
	if err != nil || !v.Passed || !strings.Contains(v.Checks[0].Detail, "could not be kept") {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestExternalIsNoSession: a check that a session of an agent runs is none of that
// session's, whatever client it is of; what the check itself sets stays.
func TestExternalIsNoSession(t *testing.T) {
	marks := []string{"CLAUDECODE", "CODEX_THREAD_ID", "GEMINI_CLI", "OPENCODE", "AMP_CURRENT_THREAD_ID", "CLINE_ACTIVE"}
	for _, name := range marks {
		t.Setenv(name, "1")
	}
	t.Setenv("VERIFY_TEST_OTHER", "kept")
	e := verify.External{InheritEnv: []string{"*"}, Shell: `test "$VERIFY_TEST_OTHER$CLINE_ACTIVE" = keptset || exit 2; for name in ` + strings.Join(marks[:5], " ") + `; do ! env | grep "^$name=" || exit 1; done`,
		Env: []string{"CLINE_ACTIVE=set"}}
	if v, err := e.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: t.TempDir()}}); err != nil || !v.Passed {
		t.Errorf("%v: %+v", err, v)
	}
}
