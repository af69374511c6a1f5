package main

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(apart{m}, map[string]func(){"ralph": main, "nolocks": nolocks, "terminal": onTerminal})
}

// apart runs tests with a state folder of their own, and no questions asked.
type apart struct{ *testing.M }

func (a apart) Run() int {
	dir, err := os.MkdirTemp("", "ralph-test-state-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv("XDG_STATE_HOME", dir)
	os.Setenv("RALPH_TRUST", "1")
	return a.M.Run()
}

// TestScripts runs every command as a user would, errors included. In a script,
// "exits CODE COMMAND…" runs a command and wants its exit code, and that what it tells to
// be run is what our commands take; "repo" makes a git repository of the current folder, and "left" fails if a process with the
// script's mark lives.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Condition: func(cond string) (bool, error) { // [hup]: not started by nohup; [landlock]: the kernel has it
			switch cond {
			case "hup":
				return !signal.Ignored(syscall.SIGHUP), nil
			case "landlock":
				return landlock(), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Setup: func(e *testscript.Env) error {
			for _, name := range []string{"HOME", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOTOOLCHAIN"} {
				e.Setenv(name, os.Getenv(name))
			}
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("XDG_STATE_HOME", e.WorkDir+"-state") // WorkDir is the workspace of many a script
			if os.Getenv("GOCACHE") == "" {
				if dir, err := os.UserCacheDir(); err == nil {
					e.Setenv("GOCACHE", dir+"/go-build")
				}
			}
			e.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
			e.Setenv("RALPH_TRUST", "1") // scripts write what they run; trust.txtar unsets it
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits,
			"repo": func(ts *testscript.TestScript, _ bool, _ []string) {
				ts.Check(ts.Exec("git", "init", "-q"))
			},
		},
	})
}

// exits runs a command and checks its exit code, which testscript does not tell
// apart.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	err := ts.Exec("sh", append([]string{"-c", `"$@"; code=$?; echo "exit code $code" >&2; exit $code`, "sh"}, args[1:]...)...)
	_ = err
	stderr := ts.ReadFile("stderr")
	if !strings.HasSuffix(strings.TrimSpace(stderr), "exit code "+args[0]) {
		ts.Fatalf("want exit code %s", args[0])
	}
	for _, line := range suggested(ts.ReadFile("stdout") + "\n" + stderr) { // whatever the situation
		if err := taken(line); err != nil {
			ts.Fatalf("what it says to run cannot be run: %v", err)
		}
	}
}

func TestSplitWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line string
		want string // words joined by |
	}{
		{"agent -p", "agent|-p"},
		{`agent 'a b' "c \"d" e\ f ''`, `agent|a b|c "d|e f|`},
		{"  a\tb ", "a|b"},
		{"sh -c 'x; y'", "sh|-c|x; y"},
	} {
		got, err := splitWords(tt.line)
		if err != nil || strings.Join(got, "|") != tt.want {
			t.Errorf("%s: got %q, %v", tt.line, got, err)
		}
	}
	for _, line := range []string{"", "  ", "a; b", "a $(b)", "a 'b", `a \`, "a | b"} {
		if got, err := splitWords(line); err == nil {
			t.Errorf("%s: got %q, want an error", line, got)
		}
	}
}
