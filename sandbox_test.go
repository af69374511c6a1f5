package ralph_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

// A Command in a Sandbox writes to its workspace and its temporary folder. Where the
// system cannot keep it from more, Require makes that an error, and without Require
// it is a warning.
func TestCommandSandbox(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	script := `echo x >inside; echo x >"$TMPDIR/t" && cat "$TMPDIR/t"; echo x >` + outside + `/new; echo '<promise>COMPLETE</promise>'`
	c := sh("text", script)
	c.Sandbox = &ralph.Sandbox{Require: true}
	resp, err := c.Run(t.Context(), ralph.Request{Dir: dir, Prompt: "go on"})
	if errors.Is(err, errors.ErrUnsupported) {
		if !strings.Contains(err.Error(), "sandbox: it is required, but") {
			t.Errorf("the error is %v", err)
		}
		c.Sandbox = &ralph.Sandbox{}
		resp, err := c.Run(t.Context(), ralph.Request{Dir: dir, Prompt: "go on"})
		if err != nil || !slices.ContainsFunc(resp.Warnings, func(w string) bool { return strings.Contains(w, "is not restricted") }) {
			t.Errorf("not required: %v, warnings %q", err, resp.Warnings)
		}
		return
	}
	if err != nil || len(resp.Warnings) > 0 {
		t.Fatalf("%v, warnings %q", err, resp.Warnings)
	}
	if !strings.HasPrefix(resp.Output, "x\n") {
		t.Errorf("TMPDIR was not writable: %q", resp.Output)
	}
	if _, err := os.Stat(filepath.Join(dir, "inside")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(outside, "new")); err == nil {
		t.Error("it wrote outside")
	}
}

func TestCommandSandboxWrap(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("commands are not run there")
	}
	c := sh("text", `echo "$WRAPPED"; echo '<promise>COMPLETE</promise>'`)
	c.Sandbox = &ralph.Sandbox{Wrap: []string{"env", "WRAPPED=yes"}}
	if err := c.Validate(ralph.Task{}); err != nil {
		t.Error(err)
	}
	if line, err := c.CommandLine(); err != nil || line[0] != "env" || line[2] != "/bin/sh" {
		t.Errorf("the command line is %q, %v", line, err)
	}
	resp, err := c.Run(t.Context(), ralph.Request{Dir: t.TempDir()})
	if err != nil || !strings.HasPrefix(resp.Output, "yes\n") {
		t.Errorf("%q, %v", resp.Output, err)
	}
	c.Sandbox.Wrap = []string{"no-such-wrapper"}
	if err := c.Validate(ralph.Task{}); err == nil || !strings.Contains(err.Error(), "no-such-wrapper") {
		t.Errorf("a wrapper that is not there: %v", err)
	}
}

// The record of what was agreed cannot be made writable: that is found before the
// first attempt, and at each one.
func TestCommandSandboxProtectsTheState(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	c := sh("text", `echo '<promise>COMPLETE</promise>'`)
	c.Sandbox = &ralph.Sandbox{Write: []string{home}}
	const want = "ralph: sandbox: "
	if err := c.Validate(ralph.Task{Dir: t.TempDir()}); err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "--state") {
		t.Errorf("Validate: %v", err)
	}
	it := faultOf(t, c)
	if it.Fault != ralph.FaultPermanent || !strings.Contains(it.Error, want) {
		t.Errorf("the fault is %q: %s", it.Fault, it.Error)
	}
	c.Sandbox.Protect = []string{filepath.Join(t.TempDir(), "elsewhere")}
	if err := c.Sandbox.Validate(home); err != nil {
		t.Errorf("with another folder: %v", err)
	}
}

func ExampleSandbox() {
	agent, err := ralph.Preset("claude")
	if err != nil {
		panic(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		panic(err)
	}
	agent.Sandbox = &ralph.Sandbox{
		Write: []string{filepath.Join(home, ".claude"), filepath.Join(home, ".claude.json"), filepath.Join(home, ".cache")},
		Hide:  []string{"/srv/exams"}, // the verifier, which has another Sandbox or none, sees them
		PIDs:  true,
	}
}
