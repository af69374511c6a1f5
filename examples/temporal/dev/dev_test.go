package dev_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/examples/temporal/dev"
)

// TestProgram has the server's program built if it is not there, and then it is.
func TestProgram(t *testing.T) {
	path, err := dev.Program(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), path, "--version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Server 1.") {
		t.Errorf("%s --version: %v: %s", path, err, out)
	}
	again, err := dev.Program(t.Context(), nil) // it says nothing, for it builds nothing
	if err != nil || again != path {
		t.Errorf("%s, %v; want %s", again, err, path)
	}
}
