package ralph_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
)

// TestJudgePreset runs every judge with a stand-in for its client that shows its
// arguments, its environment and its private file. A judge has no rights: nothing
// that approves or switches a sandbox off, and of the environment only what it
// needs.
func TestJudgePreset(t *testing.T) {
	for _, e := range os.Environ() { // what is left is what is set below
		name, value, _ := strings.Cut(e, "=")
		if name != "PATH" {
			t.Setenv(name, value)
			os.Unsetenv(name)
		}
	}
	common := []string{"HOME", "USER", "LANG", "LC_ALL", "HTTPS_PROXY", "no_proxy", "XDG_CONFIG_HOME", "NODE_EXTRA_CA_CERTS"}
	own := map[string][]string{
		"claude":   {"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CONFIG_DIR", "AWS_PROFILE", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT"},
		"codex":    {"OPENAI_API_KEY", "CODEX_HOME", "AWS_PROFILE"},
		"gemini":   {"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_APPLICATION_CREDENTIALS"},
		"opencode": {"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "GEMINI_API_KEY", "AWS_PROFILE", "GITHUB_TOKEN", "COPILOT_GITHUB_TOKEN", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_APPLICATION_CREDENTIALS"},
		"copilot":  {"COPILOT_GITHUB_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY", "COPILOT_HOME"},
	}
	none := []string{"DATABASE_URL", "NPM_TOKEN", "SSH_AUTH_SOCK", "LD_PRELOAD_X", "NODE_OPTIONS", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "GEMINI_CLI", "COPILOT_ALLOW_ALL", "OPENCODE_PERMISSION", "GITHUB_ENV", "RALPH_E2E", "GIT_DIR"}
	for _, list := range append(slices.Collect(func(yield func([]string) bool) {
		for _, list := range own {
			if !yield(list) {
				return
			}
		}
	}), common, none) {
		for _, name := range list {
			t.Setenv(name, "set")
		}
	}
	standIn := filepath.Join(t.TempDir(), "stand-in")
	const script = "#!/bin/sh\nprintf 'arg %s\\n' \"$@\"\nenv | sed 's/=.*//; s/^/env /'\nfor a; do case $a in */judge-*) sed 's/^/file /' \"$a\";; esac; done\n"
	if err := os.WriteFile(standIn, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, login := range own {
		c, err := ralph.JudgePreset(name)
		if err != nil {
			t.Fatal(err)
		}
		set := []string{"TMPDIR", "PATH", "PWD", "OLDPWD", "SHLVL", "_"}
		for _, e := range c.Env {
			variable, _, _ := strings.Cut(e, "=")
			set = append(set, variable)
		}
		c.Args[0], c.Format, c.Model = standIn, ralph.FormatText, "small"
		resp, err := c.Run(t.Context(), ralph.Request{Prompt: "x"})
		if err != nil {
			t.Fatal(name, err)
		}
		var got []string
		for line := range strings.Lines(resp.Output) {
			switch kind, text, _ := strings.Cut(strings.TrimSpace(line), " "); {
			case kind == "env" && !slices.Contains(set, text) && !strings.HasPrefix(text, "RALPH_RUN_"):
				got = append(got, text)
			case kind == "arg" && slices.ContainsFunc([]string{"dangerous", "yolo", "allow-all", "auto", "bypass", "full-access", "{private"}, func(bad string) bool {
				return strings.Contains(text, bad) && text != "--no-auto-update"
			}):
				t.Errorf("%s runs with %s", name, text)
			}
		}
		want := slices.Concat(common, login)
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the environment (-want +got):\n%s", name, diff)
		}
		if !strings.Contains(resp.Output, "arg --model\narg small\n") || name == "gemini" && !strings.Contains(resp.Output, `file decision = "deny"`) {
			t.Errorf("%s: %s", name, resp.Output)
		}
		if again, _ := ralph.JudgePreset(name); again.Args[0] == standIn {
			t.Errorf("%s: presets are shared", name)
		}
	}
	for name, want := range map[string]string{
		"cline": "ralph: cline cannot be run without tools, so it is no judge; these can: claude, codex, gemini, opencode, copilot",
		"claud": `ralph: unknown agent "claud"`, "": "ralph: unknown agent",
	} {
		if c, err := ralph.JudgePreset(name); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}
