package ralph

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/file"
)

// A judging is how a client runs as a judge: without tools, without what would let
// it do things without being asked, and without what it would read beside its
// prompt and its login. The zero value is of a client that always has tools.
//
// A judge reads what the agent wrote, which may hold instructions to it. Without tools
// the worst that those can do is a wrong verdict.
type judging struct {
	args    []string // the whole command line
	env     []string
	private string   // a file, see Command.private
	login   []string // variables that its own login needs, see Command.Inherit
}

// inherited are the variables that every judge gets: where programs and the login
// are, how to write, how to reach the provider.
//
// It is a list of what is let through and not of what is kept out, for nobody can list
// all variables that hold a secret or change what a program does.
func inherited() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "LC_*", "TERM", "TZ",
		"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
		"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", // the system's keyring
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA",
	}
}

// The logins of clouds that resell models.
func amazonLogin() []string { return []string{"AWS_*"} }
func googleLogin() []string {
	return []string{"GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_*", "CLOUDSDK_*", "GCLOUD_PROJECT"}
}
func azureLogin() []string { return []string{"AZURE_*"} }

// claudeJudge has an empty list of tools. That alone would leave the tools of MCP
// servers, and instructions that the workspace has for every session.
func claudeJudge() judging {
	return judging{
		args: []string{
			"claude", "-p", "--verbose", "--output-format", "stream-json", "--tools", "", "--strict-mcp-config",
			"--safe-mode", // else CLAUDE.md is read, also from the folders above, and hooks are run
			"--permission-mode", "dontAsk", "--no-session-persistence",
		},
		login: slices.Concat([]string{"ANTHROPIC_*", "CLAUDE_*", "CLOUD_ML_REGION", "VERTEX_REGION_*", "API_TIMEOUT_MS", "DISABLE_*"},
			amazonLogin(), googleLogin(), azureLogin()),
	}
}

// codexJudge switches off each feature that is a tool, since codex has no one switch
// for all; the read-only sandbox is for those that a later version adds.
func codexJudge() judging {
	args := []string{
		"codex", "exec", "--json", "--skip-git-repo-check", "--ephemeral", "--sandbox", "read-only", "--ignore-rules",
		"-c", "project_doc_max_bytes=0", "-c", `web_search="disabled"`, "-c", "tools.view_image=false",
	}
	for _, feature := range []string{"shell_tool", "unified_exec", "view_image", "image_generation", "multi_agent", "goals", "hooks", "plugins", "apps"} {
		args = append(args, "-c", "features."+feature+"=false")
	}
	return judging{args: append(args, "-"), login: slices.Concat([]string{"OPENAI_*", "CODEX_*"}, amazonLogin(), azureLogin())}
}

// geminiJudge denies every tool by a policy in a file of its own, whose priority is
// above those of other rules.
func geminiJudge() judging {
	return judging{
		args: []string{
			"gemini", "--output-format", "stream-json", "--skip-trust", "--policy", privateFile,
			"--extensions", "none", "--allowed-mcp-server-names", "none",
		},
		private: "[[rule]]\ntoolName = \"*\"\ndecision = \"deny\"\npriority = 999\n",
		login:   slices.Concat([]string{"GEMINI_*", "GOOGLE_*", "CODE_ASSIST_ENDPOINT"}, googleLogin()),
	}
}

// opencodeJudge defines an agent without tools by the environment, since a file in the
// workspace would be the agent's to change.
func opencodeJudge() judging {
	return judging{
		args: []string{"opencode", "run", "--format", "json", "--pure", "--agent", "judge"},
		env: []string{
			`OPENCODE_CONFIG_CONTENT={"agent":{"judge":{"mode":"primary","permission":{"*":"deny"},"tools":{"*":false}}}}`,
			"OPENCODE_DISABLE_PROJECT_CONFIG=1", "OPENCODE_DISABLE_CLAUDE_CODE=1",
		},
		login: slices.Concat([]string{
			"OPENCODE_API_KEY", "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_DISABLE_*", "ANTHROPIC_*", "OPENAI_*", "GEMINI_*", "GOOGLE_API_KEY", "OPENROUTER_*", "GROQ_*", "XAI_*", "MISTRAL_*", "DEEPSEEK_*", "OLLAMA_*",
			"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN",
		}, amazonLogin(), googleLogin(), azureLogin()),
	}
}

// copilotJudge allows one tool, which does not exist.
func copilotJudge() judging {
	return judging{
		args: []string{
			"copilot", "--output-format", "json", "--available-tools=none", // a name that no tool has: without any all are available
			"--disable-builtin-mcps", "--no-custom-instructions", "--no-ask-user", "--no-auto-update",
		},
		login: []string{ // not COPILOT_ALLOW_ALL
			"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST", "COPILOT_GH_HOST", "COPILOT_HOME", "COPILOT_MODEL",
			"COPILOT_PROVIDER_*", "COPILOT_OFFLINE", "COPILOT_AUTO_UPDATE",
		},
	}
}

// JudgePreset returns a new [Command] that runs a known agent's client as a judge,
// for package verify's Semantic: claude, codex, copilot, gemini or opencode. The
// client has no tools and reads no instructions from the folder it runs in or those
// above it, nothing is approved on its behalf, and of this process's environment it
// gets what Inherit names: what programs need to run, and this client's own login.
// Add to Inherit what another login needs, such as the variable that codex's
// configuration names for a provider's key.
//
// What a client reads from the home folder it still reads: its settings, and
// instructions that are there for every session. Codex also starts the MCP servers
// that its configuration names.
//
// Clients that cannot be run without tools (amp, cline and so text) are an error, as
// an unknown name is; both list the known ones.
func JudgePreset(name string) (*Command, error) {
	c, err := Preset(name)
	if err != nil {
		return nil, err
	}
	var known []string
	for _, of := range clients() {
		if of.judge.args == nil {
			continue
		}
		known = append(known, of.preset)
		if of.preset == name {
			c.Args, c.private = of.judge.args, of.judge.private
			c.Env = append(c.Env, of.judge.env...)
			c.Inherit = slices.Concat(inherited(), of.judge.login)
			return c, nil
		}
	}
	return nil, fmt.Errorf("ralph: %s cannot be run without tools, so it is no judge; these can: %s", name, strings.Join(known, ", "))
}

const privateFile = "{private file}"

// withPrivate writes the client's private file, if it has one, and puts its path in the
// arguments. It lies in the run's temporary folder, which is removed with it, and the
// arguments are copied, for a Command may run many times at once.
func (c *Command) withPrivate(args []string, tmp string) ([]string, error) {
	if c.private == "" {
		return args, nil
	}
	path := filepath.Join(tmp, "judge-policy.toml")
	args = slices.Clone(args)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], privateFile, path)
	}
	return args, file.Put("", path, []byte(c.private))
}
