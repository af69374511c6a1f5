package ralph

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
)

// A place is where a program keeps what is its own: the value of the first variable
// that is set, or else or, then rest. CONFIG, CACHE, DATA and STATE stand for the
// folders of the XDG specification, ~ for the home folder. It is read from the
// environment when it is asked for, since a client that is started then reads the same.
type place struct{ env, or, rest string }

// clientFolders are those that agents' clients write to beside the workspace, by
// format. A client that is missing is one more row.
func clientFolders() map[Format][]place {
	usual := func(name string) []place {
		return []place{{or: "CONFIG/" + name}, {or: "CACHE/" + name}, {or: "DATA/" + name}, {or: "STATE/" + name}}
	}
	return map[Format][]place{
		FormatClaude: append(usual("claude"), place{env: "CLAUDE_CONFIG_DIR", or: "~/.claude"}, place{or: "~/.claude.json"},
			place{or: "~/.claude.json.backup"}, place{or: "CACHE/claude-cli-nodejs"}),
		FormatCodex:    {{env: "CODEX_HOME", or: "~/.codex"}},
		FormatGemini:   {{env: "GEMINI_CLI_HOME", or: "~", rest: "/.gemini"}},
		FormatOpencode: append(usual("opencode"), place{or: "~/.opencode"}),
		FormatCopilot:  append(usual("copilot"), place{env: "COPILOT_HOME", or: "~/.copilot"}),
		FormatAmp:      append(usual("amp"), place{or: "~/.amp"}),
		FormatCline:    append(usual("cline"), place{env: "CLINE_DIR", or: "~/.cline"}),
		FormatCursor:   append(usual("cursor"), place{or: "~/.cursor"}),
		FormatKimi:     append(usual("kimi"), place{or: "~/.kimi"}),
	}
}

// toolFolders are the caches of tools that agents and checks use.
func toolFolders() []place {
	return []place{
		{or: "CACHE"}, {or: "~/Library/Caches"},
		{env: "GOCACHE"}, {env: "GOMODCACHE"}, {env: "GOPATH", or: "~/go", rest: "/pkg"}, {env: "GOLANGCI_LINT_CACHE"}, {or: "CONFIG/go/telemetry"},
		{env: "npm_config_cache NPM_CONFIG_CACHE", or: "~/.npm"}, {env: "YARN_CACHE_FOLDER"}, {or: "~/.yarn/berry/cache"}, {or: "DATA/pnpm/store"}, {or: "~/.pnpm-store"},
		{env: "BUN_INSTALL", or: "~/.bun", rest: "/install/cache"}, {env: "DENO_DIR"},
		{env: "PIP_CACHE_DIR"}, {env: "UV_CACHE_DIR"}, {env: "PYTHONPYCACHEPREFIX"},
		{env: "CARGO_HOME", or: "~/.cargo", rest: "/registry"}, {env: "CARGO_HOME", or: "~/.cargo", rest: "/git"}, {env: "CARGO_TARGET_DIR"},
		{or: "~/.m2/repository"}, {env: "GRADLE_USER_HOME", or: "~/.gradle", rest: "/caches"}, {env: "GRADLE_USER_HOME", or: "~/.gradle", rest: "/daemon"},
		{env: "NUGET_PACKAGES", or: "~/.nuget/packages"}, {or: "~/.bundle/cache"}, {env: "COMPOSER_HOME", or: "~/.composer", rest: "/cache"},
	}
}

// ClientFolders returns the folders and files that the client which prints this
// format writes to beside its workspace: settings, sessions and caches. It is for
// [Sandbox.Write]; they need not be there. Nil = nothing is known of it.
//
// A sandbox without them would break the client's login, or lose its sessions.
func ClientFolders(f Format) []string { return locate(clientFolders()[f]) }

// ToolFolders returns the caches of the tools that agents and checks use: of Go,
// Node, Python, Rust, Java and others. It is for [Sandbox.Write]; they need not be
// there.
//
// Without them each build begins with an empty cache. What an agent writes to a cache
// another build may use: grant them only where that is acceptable.
func ToolFolders() []string { return locate(toolFolders()) }

// locate finds the places. One that is relative, for want of a home folder, is left
// out: a sandbox would grant it below whatever folder is current.
func locate(folders []place) (paths []string) {
	home, _ := os.UserHomeDir()
	for _, f := range folders {
		path := f.or
		for name := range strings.FieldsSeq(f.env) {
			path = cmp.Or(os.Getenv(name), path)
		}
		for _, xdg := range []struct{ word, env, or string }{
			{"CONFIG", "XDG_CONFIG_HOME", "~/.config"}, {"CACHE", "XDG_CACHE_HOME", "~/.cache"},
			{"DATA", "XDG_DATA_HOME", "~/.local/share"}, {"STATE", "XDG_STATE_HOME", "~/.local/state"},
		} {
			if rest, ok := strings.CutPrefix(path, xdg.word); ok && (rest == "" || rest[0] == '/') {
				path = cmp.Or(os.Getenv(xdg.env), xdg.or) + rest
			}
		}
		if rest, ok := strings.CutPrefix(path, "~"); ok && home != "" {
			path = home + rest
		}
		if path = filepath.Clean(path + f.rest); filepath.IsAbs(path) {
			paths = append(paths, path)
		}
	}
	return paths
}
