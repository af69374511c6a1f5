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
	"strconv"
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
		{"excludes not", verify.External{Shell: "echo failed", Excludes: []string{"FAILED"}}, ralph.CheckPassed, 0, nil},
		{"a text in the middle of much", verify.External{Shell: "seq 200000; echo FAILED; seq 200000", Excludes: []string{"199999\nFAILED"}, Contains: []string{"199999\n200000\nFAILED\n1\n"}}, ralph.CheckPassed, 0, nil},
		{"odd bytes", verify.External{Shell: `printf 'a\000\377\033[31mred\033[0m\n'; exit 1`}, ralph.CheckFailed, 1, []string{"a\uFFFDred"}},
		{"missing program", verify.External{Args: []string{"no-such-program"}}, ralph.CheckUnable, -1, []string{"no-such-program could not be run", "is it installed"}},
		{"missing program in a shell line", verify.External{Shell: "no-such-program --all"}, ralph.CheckUnable, 127, []string{"could not be run", "no-such-program"}},
		{"missing folder", verify.External{Args: []string{"true"}, Dir: "gone"}, ralph.CheckUnable, -1, []string{"gone"}},
		{"folder", verify.External{Shell: "test -f here", Dir: "sub"}, ralph.CheckPassed, 0, nil},
		{"time-out", verify.External{Shell: "echo begun; sleep 300", Timeout: 100 * time.Millisecond}, ralph.CheckTimeout, -1, []string{"did not end within 100ms", "begun"}},
		{"ignores signals", verify.External{Shell: "trap '' TERM INT; sleep 300; sleep 300", Timeout: 100 * time.Millisecond}, ralph.CheckTimeout, -1, []string{"did not end"}},
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

func TestExternalErrors(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]verify.External{
		"no command":      {},
		"blank":           {Shell: "  "},
		"two commands":    {Args: []string{"true"}, Shell: "true"},
		"blank text":      {Shell: "true", Contains: []string{" "}},
		"absolute folder": {Shell: "true", Dir: outside},
		"up":              {Shell: "true", Dir: "../"},
		"up and down":     {Shell: "true", Dir: "a/../../x"},
		"link":            {Shell: "true", Dir: "link"},
	} {
		if got, err := v.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: dir}, Promised: true}); err == nil || got.Passed {
			t.Errorf("%s: %+v, %v; want an error", name, got, err)
		}
	}
	if got, err := (verify.External{Shell: "true", Dir: filepath.Join(dir, ".")}).Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: dir}}); err != nil || !got.Passed {
		t.Errorf("an absolute path inside: %+v, %v", got, err)
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
	// That evidence cannot be kept does not change the verdict, but is said.
	v, err = verify.External{Shell: "true"}.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: t.TempDir()}, Evidence: "/dev/null/x"})
	if err != nil || !v.Passed || !strings.Contains(v.Checks[0].Detail, "could not be kept") {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestFailure40ExternalOutput verifies with a command that prints a gigabyte, in
// a process whose peak memory the kernel tells.
func TestFailure40ExternalOutput(t *testing.T) {
	t.Parallel()
	if os.Getenv("VERIFY_TEST_MEMORY") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFailure40ExternalOutput$")
		cmd.Env = append(os.Environ(), "VERIFY_TEST_MEMORY=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	v, err := verify.External{Shell: "head -c 1073741824 /dev/zero | tr '\\000' x; echo; echo FAILED", Contains: []string{"xFAILED", "x\nFAILED"}}.
		Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: t.TempDir()}})
	if err != nil || v.Passed || !strings.Contains(v.Feedback, `did not print "xFAILED"`) || strings.Contains(v.Feedback, `print "x\nFAILED"`) {
		t.Fatalf("%+v, %v", v, err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	kb, err := strconv.Atoi(strings.Fields(peak)[0])
	if err != nil || kb > 32<<10 && !race {
		t.Errorf("peak memory %d KiB, %v", kb, err)
	}
}

func BenchmarkExternal(b *testing.B) {
	b.Run("floor", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("external", func(b *testing.B) {
		v := verify.External{Args: []string{"true"}}
		claim := ralph.Claim{Task: ralph.Task{Dir: b.TempDir()}, Promised: true}
		for b.Loop() {
			if got, err := v.Verify(b.Context(), claim); err != nil || !got.Passed {
				b.Fatal(got, err)
			}
		}
	})
}
