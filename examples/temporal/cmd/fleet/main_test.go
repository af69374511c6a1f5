package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestMain makes the test binary the program, and so its workers, which are itself again.
func TestMain(m *testing.M) {
	if os.Getenv("FLEET_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func fleetCommand(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	out := &bytes.Buffer{}
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "FLEET_MAIN=1", "TMPDIR="+t.TempDir()), out, out
	return cmd, out
}

// TestFleet: all loops are verified, each in all of its iterations: the claim before the
// last one was rejected.
func TestFleet(t *testing.T) {
	t.Parallel()
	cmd, out := fleetCommand(t, "--loops", "6", "--workers", "2", "--iterations", "3")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		`(?m)^verified:6$`,
		`6 loops, 18 iterations in [0-9.]+ s: [0-9.]+ loops/s, [0-9.]+ iterations/s; history of a loop: 3[0-9] events, [1-9][0-9]{3} bytes\n`,
		`worker [0-9]+: peak memory [0-9?]+ kB\nworker [0-9]+: peak memory [0-9?]+ kB\n$`,
	} {
		if !regexp.MustCompile(want).Match(out.Bytes()) {
			t.Errorf("it does not say %s:\n%s", want, out)
		}
	}
}

// TestFleetInterrupted: what it has started ends with it.
func TestFleetInterrupted(t *testing.T) {
	t.Parallel()
	cmd, out := fleetCommand(t, "--loops", "2", "--workers", "1", "--iterations", "100000")
	cmd.Stdout = nil
	says, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 100)
	if _, err := says.Read(line); err != nil || !strings.HasPrefix(string(line), "Running:") {
		t.Errorf("%s %v", line, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	// The pipes end when all who have them have ended: the server and the worker too.
	if err := cmd.Wait(); err == nil || !strings.Contains(out.String(), "fleet: interrupt signal received: nothing is left\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"--loops 0", "--loops, --workers and --iterations begin at 1"},
		{"--workers -1", "--loops, --workers and --iterations begin at 1"},
		{"200", "there are flags alone"},
		{"--loop 3", "flag provided but not defined: -loop"},
		{"--loops many", `invalid value "many" for flag -loops`},
		{"--server 127.0.0.1:1", "127.0.0.1:1"},
	} {
		cmd, out := fleetCommand(t, strings.Fields(tt.args)...)
		if err := cmd.Run(); err == nil || strings.Count(out.String(), tt.want) != 1 {
			t.Errorf("%s: %v\n%s", tt.args, err, out)
		}
	}
}
