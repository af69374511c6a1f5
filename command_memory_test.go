package ralph_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

// TestFailure40 runs agents that print a gigabyte from a process of its own,
// whose peak memory the kernel tells: it must not grow with the output.
func TestFailure40OutputOfAGigabyte(t *testing.T) {
	t.Parallel()
	if race {
		t.Skip("the race detector multiplies memory; the run without it counts")
	}
	for _, kind := range []string{"text", "json", "line"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestOutputOfAGigabyteHelper$")
			cmd.Env = append(os.Environ(), "RALPH_TEST_MEMORY="+kind)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			_, peak, _ := strings.Cut(string(out), "VmHWM:")
			kb, err := strconv.Atoi(strings.Fields(peak)[0])
			if err != nil {
				t.Fatal(err)
			}
			if kb > 24<<10 {
				t.Errorf("peak memory is %d KiB, want at most 24 MiB", kb)
			}
		})
	}
}

// TestOutputOfAGigabyteHelper is the process that TestFailure40 measures.
func TestOutputOfAGigabyteHelper(t *testing.T) {
	kind := os.Getenv("RALPH_TEST_MEMORY")
	if kind == "" {
		return
	}
	cmd := ralph.Command{Args: []string{os.Args[0]}, Env: []string{agentMode + "=" + kind + " " + strconv.Itoa(1<<30)}}
	if kind != "text" {
		cmd.Format = ralph.FormatClaude
	}
	resp, err := cmd.Run(t.Context(), ralph.Request{Prompt: "Go on.", Promise: "COMPLETE"})
	if err != nil || !ralph.FindPromise(resp.Output, "COMPLETE", ralph.MatchLastLine).Found {
		t.Fatalf("%v, output of %d bytes", err, len(resp.Output))
	}
	if kind != "json" && resp.Omitted < 1<<29 {
		t.Errorf("%d bytes omitted", resp.Omitted)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(status), "\n") {
		if strings.HasPrefix(line, "VmHWM") {
			os.Stdout.WriteString(line + "\n")
		}
	}
}
