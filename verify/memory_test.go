package verify_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

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
