package ralph_test

import (
	"slices"
	"testing"

	"github.com/ralph-loop/ralph"
)

func TestFolders(t *testing.T) {
	for _, name := range []string{"CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "GOCACHE", "GOPATH", "npm_config_cache", "NPM_CONFIG_CACHE", "CARGO_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", "/home/me")
	for _, tt := range []struct {
		name, value string
		format      ralph.Format // "" = tools
		want        string
	}{
		{"X", "", ralph.FormatClaude, "/home/me/.claude"},
		{"X", "", ralph.FormatClaude, "/home/me/.config/claude"},
		{"CLAUDE_CONFIG_DIR", "/c", ralph.FormatClaude, "/c"},
		{"XDG_STATE_HOME", "/s", ralph.FormatOpencode, "/s/opencode"},
		{"CODEX_HOME", "relative", ralph.FormatCodex, ""},
		{"X", "", ralph.FormatText, ""},
		{"GOCACHE", "/g", "", "/g"},
		{"GOPATH", "/p", "", "/p/pkg"},
		{"X", "", "", "/home/me/.cache"},
		{"NPM_CONFIG_CACHE", "/n", "", "/n"},
	} {
		t.Setenv(tt.name, tt.value)
		got := ralph.ToolFolders()
		if tt.format != "" {
			got = ralph.ClientFolders(tt.format)
		}
		if tt.want == "" && len(got) > 0 || tt.want != "" && !slices.Contains(got, tt.want) {
			t.Errorf("%s=%s, %s: %q", tt.name, tt.value, tt.format, got)
		}
		t.Setenv(tt.name, "")
	}
}
