package modelserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// FakeModel is the model that clients are told to use, where they must be told
// one.
const FakeModel = "fake-model"

// Env makes home the home directory of an agent's client, writing its settings
// there, and returns the variables, as "NAME=value", that make it use the
// server: to be added to the environment, since PATH is not among them. Agents
// are claude, codex, gemini, copilot, opencode and cline.
//
// Telemetry and updates are off, and the proxy is [Server.ProxyURL] for all but
// loopback. All six were seen to obey it, at these versions: claude with its
// telemetry on, codex with its plug-ins on, gemini and copilot with a model
// elsewhere. Two ask it even so, for what cannot be turned off: opencode for a
// package registry, cline for its feature flags; they go on without.
//
// Clients retry once where they can be told so.
func (s *Server) Env(agent, home string) ([]string, error) {
	env := s.shared(home)
	files := map[string]string{}
	v1 := s.URL + "/v1"
	switch agent {
	case "claude":
		env = append(env, "ANTHROPIC_BASE_URL="+s.URL, "ANTHROPIC_API_KEY=dummy", "CLAUDE_CONFIG_DIR="+filepath.Join(home, ".claude"),
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
			"CLAUDE_CODE_MAX_RETRIES=1", "IS_SANDBOX=1")
	case "codex":
		env = append(env, "CODEX_HOME="+filepath.Join(home, ".codex"), "FAKE_KEY=dummy")
		files[".codex/config.toml"] = codexConfig(v1)
	case "gemini":
		env = append(env, "GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL="+s.URL, "GEMINI_CLI_NO_RELAUNCH=true")
		files[".gemini/settings.json"] = string(encode(doc{
			"security": doc{"auth": doc{"selectedType": "gemini-api-key"}},
			"privacy":  doc{"usageStatisticsEnabled": false}, "telemetry": doc{"enabled": false},
			"general": doc{"enableAutoUpdate": false, "disableAutoUpdate": true, "maxAttempts": 2},
			// Left to choose a model itself, it asks one, for a minute and a half.
			"model": doc{"name": "gemini-2.5-flash"},
		}))
	case "copilot":
		env = append(env, "COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false", "COPILOT_PROVIDER_BASE_URL="+v1,
			"COPILOT_PROVIDER_API_KEY=dummy", "COPILOT_MODEL="+FakeModel, "COPILOT_HOME="+filepath.Join(home, ".copilot"))
	case "opencode":
		env = append(env, "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1")
		files[".config/opencode/opencode.json"] = string(opencodeConfig(v1))
	case "cline":
		env = append(env, "CLINE_SESSION_BACKEND_MODE=local", "CLINE_DIR="+filepath.Join(home, ".cline"))
		files[".cline/data/settings/global-settings.json"] = `{"telemetryOptOut":true,"autoUpdateEnabled":false}`
		files[".cline/data/settings/providers.json"] = string(clineProviders(v1))
	default:
		return nil, fmt.Errorf("no environment is known for agent %q", agent)
	}
	return env, writeFiles(home, files)
}

// shared is what every client gets. TMPDIR is left alone: who runs a client
// gives it one of its own.
func (s *Server) shared(home string) []string {
	env := []string{"HOME=" + home,
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "XDG_CACHE_HOME=" + filepath.Join(home, ".cache"),
		"XDG_DATA_HOME=" + filepath.Join(home, ".local/share"), "XDG_STATE_HOME=" + filepath.Join(home, ".local/state")}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env = append(env, name+"="+s.ProxyURL, strings.ToLower(name)+"="+s.ProxyURL)
	}
	const loopback = "127.0.0.1,localhost,::1"
	return append(env, "NO_PROXY="+loopback, "no_proxy="+loopback)
}

func codexConfig(v1 string) string {
	return `model = "` + FakeModel + `"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "` + v1 + `"
env_key = "FAKE_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1

[features]
plugins = false
apps = false

[analytics]
enabled = false
`
}

func opencodeConfig(v1 string) json.RawMessage {
	return encode(doc{
		"provider": doc{"scripted": doc{
			"npm": "@ai-sdk/openai-compatible", "name": "scripted",
			"options": doc{"baseURL": v1, "apiKey": "dummy"},
			"models":  doc{FakeModel: doc{"name": FakeModel}},
		}},
		"model": "scripted/" + FakeModel, "small_model": "scripted/" + FakeModel,
		"autoupdate": false, "share": "disabled", "permission": doc{"*": "allow"},
	})
}

// clineProviders is what "cline auth" writes.
func clineProviders(v1 string) json.RawMessage {
	const name = "openai-compatible"
	return encode(doc{
		"version": 1, "lastUsedProvider": name, "modes": doc{},
		"providers": doc{name: doc{
			"settings":  doc{"provider": name, "apiKey": "dummy", "model": FakeModel, "baseUrl": v1},
			"updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual",
		}},
	})
}

func writeFiles(home string, files map[string]string) error {
	var errs []error
	for name, text := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, os.WriteFile(path, []byte(text), 0o600))
	}
	return errors.Join(errs...)
}
