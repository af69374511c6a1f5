package ralph_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ralph-loop/ralph"
)

// named is a preset's client that is a shell script, in an environment without keys.
func named(t *testing.T, preset, script string) *ralph.Command {
	t.Helper()
	c, err := ralph.Preset(preset)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	program := filepath.Join(home, c.Args[0])
	syscall.ForkLock.RLock() // a child of another test that inherits the file keeps it from being run
	err = os.WriteFile(program, []byte("#!/bin/sh\necho \"$@\" >>"+filepath.Join(home, "asked")+"\n"+script), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	c.Args[0] = program
	c.Inherit, c.Env = []string{"PATH"}, []string{"HOME=" + home}
	return c
}

const (
	claudeKnows = "case \"$*\" in 'auth --help') echo 'Usage: claude auth [options] [command]'; exit 0;; 'auth status') ;; *) exit 9;; esac\n"
	claudeOut   = `echo '{"loggedIn": false, "authMethod": "none", "apiProvider": "firstParty"}'; exit 1`
	claudeIn    = `echo '{"loggedIn": true, "authMethod": "api_key", "apiProvider": "firstParty"}'`
	codexOut    = "echo 'WARNING: proceeding, even though we could not create PATH aliases' >&2; echo 'Not logged in' >&2; exit 1"
)

func TestReady(t *testing.T) {
	t.Parallel()
	write := func(name, text string) func(*testing.T, *ralph.Command) {
		return func(t *testing.T, c *ralph.Command) {
			file := filepath.Join(filepath.Dir(c.Args[0]), name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	with := func(env string) func(*testing.T, *ralph.Command) {
		return func(_ *testing.T, c *ralph.Command) { c.Env = append(c.Env, env) }
	}
	arg := func(args ...string) func(*testing.T, *ralph.Command) {
		return func(_ *testing.T, c *ralph.Command) { c.Args = append(c.Args, args...) }
	}
	for _, tt := range []struct {
		name, preset, script string
		but                  func(*testing.T, *ralph.Command)
		says                 string // "" = nothing
		asked                string // "" = nothing
	}{
		{"claude, out", "claude", claudeKnows + claudeOut, nil, "claude auth status", "auth --help\nauth status\n"},
		{"claude, in", "claude", claudeKnows + claudeIn, nil, "", "auth --help\nauth status\n"},
		{"claude, a cloud's", "claude", claudeKnows + `echo '{"loggedIn": false, "authMethod": "third_party"}'; exit 1`, nil, "", "auth --help\nauth status\n"},
		{"claude, with a field less", "claude", claudeKnows + `echo '{"authMethod": "none"}'; exit 1`, nil, "", "auth --help\nauth status\n"},
		{"claude, in words", "claude", claudeKnows + "echo Not logged in; exit 1", nil, "", "auth --help\nauth status\n"},
		{"claude, an older one, which would take it for a prompt", "claude", "echo 'Usage: claude [options] [prompt]'", nil, "", "auth --help\n"},
		{"claude, with settings of its own", "claude", claudeKnows + claudeOut, arg("--settings=x.json"), "", ""},
		{"codex, out", "codex", codexOut, nil, "Not logged in", "login status\n"},
		{"codex, in", "codex", "echo 'Logged in using ChatGPT' >&2", nil, "", "login status\n"},
		{"codex, an older one", "codex", "echo \"error: unexpected argument 'status' found\" >&2; exit 2", nil, "", "login status\n"},
		{"codex, a broken one", "codex", "echo 'Error checking login status: not logged in?' >&2; exit 1", nil, "", "login status\n"},
		{"codex, a pipe for a configuration", "codex", codexOut, func(t *testing.T, c *ralph.Command) {
			dir := filepath.Join(filepath.Dir(c.Args[0]), ".codex")
			if out, err := exec.Command("sh", "-c", `mkdir "$0" && mkfifo "$0/config.toml"`, dir).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}, "Not logged in", "login status\n"},
		{"codex, a key", "codex", codexOut, with("OPENAI_API_KEY=x"), "", ""},
		{"codex, an empty key", "codex", codexOut, with("OPENAI_API_KEY="), "Not logged in", "login status\n"},
		{"codex, a provider in its configuration", "codex", codexOut, write(".codex/config.toml", `model_provider = "own"`), "", ""},
		{"codex, another configuration", "codex", codexOut, write(".codex/config.toml", `model = "x"`), "Not logged in", "login status\n"},
		{"codex, a provider in its arguments", "codex", codexOut, arg("-c", "model_provider=own"), "", ""},
		{"codex, a model on this machine", "codex", codexOut, arg("--oss"), "", ""},
		{"gemini has none", "gemini", "exit 1", nil, "", ""},
		{"opencode has free models", "opencode", "exit 1", nil, "", ""},
		{"another program", "claude", claudeKnows + claudeOut, func(_ *testing.T, c *ralph.Command) { c.Format = ralph.FormatText }, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := named(t, tt.preset, tt.script)
			if tt.but != nil {
				tt.but(t, c)
			}
			err := c.Ready(t.Context())
			if (tt.says != "") != errors.Is(err, ralph.ErrLogin) || tt.says == "" && err != nil || tt.says != "" && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want %q", err, tt.says)
			}
			asked, _ := os.ReadFile(filepath.Join(filepath.Dir(c.Args[0]), "asked"))
			if string(asked) != tt.asked {
				t.Errorf("asked %q, want %q", asked, tt.asked)
			}
		})
	}
	if err := (&ralph.Command{}).Ready(t.Context()); err == nil {
		t.Error("no Args are no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := named(t, "codex", "exec sleep 1000").Ready(ctx); err == nil || errors.Is(err, ralph.ErrLogin) {
		t.Errorf("not asked: %v", err)
	}
	missing := named(t, "codex", "")
	missing.Args[0] = filepath.Join(t.TempDir(), "codex")
	if err := missing.Ready(t.Context()); err == nil || errors.Is(err, ralph.ErrLogin) {
		t.Errorf("not installed: %v", err)
	}
}
