package ralph

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/stream"
)

// Capabilities are what the clients of a [Format] tell of a run: in their streams, and
// for Tokens, Model and Live also in a file that some clients write beside the stream.
// Where a person has turned that file off, only the end of the stream tells.
//
// They say what a limit can rest on: [Limits.CostUSD] needs Cost, or Tokens and a
// price; without Live it is checked only when the agent has ended. The zero value is of
// a format that tells nothing.
type Capabilities struct {
	Cost       bool // in US dollars
	Tokens     bool
	Model      bool // which one answered
	Live       bool // cost or tokens are told while it runs, after each model call
	Session    bool // the agent's own session ID
	RateLimits bool // structurally; elsewhere they are guessed from error messages
}

// A client is what is known of an agent's command-line client.
type client struct {
	format Format
	tells  Capabilities
	// marks are the names in its environment by which it, or another client,
	// knows that it runs inside a session, and then refuses or misbehaves.
	marks []string
	// zeros says that a cost of 0 may be that of a model for which the client has no
	// price.
	zeros bool
	// ledger is where it writes down what it uses; zero = nowhere that is read.
	ledger ledger
	// preset is the name [Preset] knows it by; "" = only its stream is decoded.
	preset  string
	command Command
	judge   judging
	login   loginCheck
	// commands says that it takes a prompt that begins with one of its commands, also
	// of those that the workspace adds, for that and not for a prompt.
	commands bool
}

// clients is all that is known of agents' clients beside their dialects, in the
// order in which a program should look for what is installed. The presets run
// without asking anybody anything, which is what a loop needs, and what a sandbox
// is for.
//
// It is a table so that a new client is a row and its dialect, and it is a function so
// that nobody can change it for others.
func clients() []client {
	backend := []string{"CLINE_SESSION_BACKEND_MODE=local"} // otherwise it leaves a daemon behind
	return []client{
		{
			format: FormatClaude, tells: Capabilities{Cost: true, Tokens: true, Model: true, Live: true, Session: true, RateLimits: true},
			ledger: ledger{folders: []string{"$CLAUDE_CONFIG_DIR", "$HOME/.claude"}, file: "projects/*/{session}.jsonl"},
			marks:  []string{"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID"},
			preset: "claude", command: Command{
				Args:      []string{"claude", "-p", "--verbose", "--output-format", "stream-json", "--dangerously-skip-permissions"},
				ModelFlag: "--model",
			},
			judge: claudeJudge(),
			login: claudeLogin(), commands: true,
		},
		{
			format: FormatCodex, tells: Capabilities{Tokens: true, Model: true, Live: true, Session: true},
			ledger: ledger{folders: []string{"$CODEX_HOME", "$HOME/.codex"}, file: "sessions/{day}/rollout-*-{session}.jsonl"},
			marks:  []string{"CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID"},
			preset: "codex", command: Command{
				Args:      []string{"codex", "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-"},
				ModelFlag: "--model",
			},
			judge: codexJudge(),
			login: codexLogin(),
		},
		{
			format: FormatGemini, tells: Capabilities{Tokens: true, Model: true, Live: true, Session: true},
			ledger: ledger{folders: []string{"$GEMINI_CLI_HOME/.gemini", "$HOME/.gemini"}, file: "tmp/*/chats/session-*-{id}.jsonl"},
			marks:  []string{"GEMINI_CLI"},
			preset: "gemini", command: Command{
				Args:      []string{"gemini", "--output-format", "stream-json", "--yolo", "--skip-trust"},
				ModelFlag: "--model",
			},
			judge: geminiJudge(), commands: true,
		},
		{
			format: FormatOpencode, zeros: true, tells: Capabilities{Cost: true, Tokens: true, Live: true, Session: true, RateLimits: true},
			marks:  []string{"OPENCODE", "OPENCODE_RUN_ID", "OPENCODE_PID"},
			preset: "opencode", command: Command{
				Args:      []string{"opencode", "run", "--format", "json", "--auto"},
				ModelFlag: "--model",
			},
			judge: opencodeJudge(),
		},
		{
			format: FormatCopilot, tells: Capabilities{Tokens: true, Model: true, Live: true, Session: true, RateLimits: true},
			ledger: ledger{
				folders: []string{"$tmp"}, file: "copilot-usage.jsonl",
				env:    []string{"COPILOT_OTEL_EXPORTER_TYPE=file", "COPILOT_OTEL_FILE_EXPORTER_PATH={tmp}/copilot-usage.jsonl"},
				unless: []string{"COPILOT_OTEL_", "OTEL_EXPORTER_"},
			},
			preset: "copilot", command: Command{
				Args:      []string{"copilot", "--output-format", "json", "--allow-all-tools", "--allow-all-paths", "--no-ask-user", "--no-auto-update"},
				ModelFlag: "--model",
			},
			judge: copilotJudge(), commands: true,
		},
		{
			format: FormatAmp, tells: Capabilities{Tokens: true, Model: true, Live: true, Session: true},
			marks:  []string{"AMP_CURRENT_THREAD_ID"},
			preset: "amp", command: Command{Args: []string{"amp", "-x", "--stream-json", "--dangerously-allow-all"}},
		},
		{
			format: FormatCline, zeros: true, tells: Capabilities{Cost: true, Tokens: true, Model: true, Live: true},
			marks:  []string{"CLINE_ACTIVE"},
			preset: "cline", command: Command{
				// It takes a prompt on a pipe only beside one in its arguments.
				Args: []string{"cline", "--json", "Do the task that follows."}, Env: backend,
				ModelFlag: "--model",
			},
		},
		{
			format: FormatText,
			preset: "text", command: Command{Args: []string{"cline", "-y"}, Env: backend, ModelFlag: "--model"},
		},
		{format: FormatCursor, tells: Capabilities{Tokens: true, Model: true, Session: true}},
		{format: FormatKimi},
	}
}

// Presets returns the names that [Preset] knows, in the order in which a program
// should look for what is installed.
func Presets() []string {
	var names []string
	for _, c := range clients() {
		if c.preset != "" {
			names = append(names, c.preset)
		}
	}
	return names
}

// Preset returns a new [Command] for a known agent's client: amp, claude, cline,
// codex, copilot, gemini, opencode, or text, which is any client that prints its
// answer as plain text (as it comes, cline). Its Prices are [DefaultPrices]. Fields
// may be changed before it is used. An unknown name is an error that lists the known ones.
//
// The presets run their clients without approval of each step, since nobody is there to
// approve: what they may touch is for [Command.Sandbox] and for the machine that they
// run on.
func Preset(name string) (*Command, error) {
	for _, c := range clients() {
		if name != "" && c.preset == name {
			c.command.Format, c.command.Prices = c.format, DefaultPrices()
			return &c.command, nil
		}
	}
	return nil, fmt.Errorf("ralph: unknown agent %q; the known ones are %s", name, strings.Join(Presets(), ", "))
}

// Formats returns the formats a [Command] can decode, sorted.
func Formats() []Format {
	var formats []Format
	for _, name := range stream.Formats() {
		formats = append(formats, Format(name))
	}
	return formats
}

// Capabilities returns what a format tells: nothing, if it is not known.
func (f Format) Capabilities() Capabilities { return f.client().tells }

// client returns what is known of the format's client: nothing, if it is not known.
func (f Format) client() client {
	for _, c := range clients() {
		if c.format == cmp.Or(f, FormatText) {
			return c
		}
	}
	return client{}
}

// Environ returns this process's environment without the variables by which a client of
// any known agent marks its session: a client that finds them takes itself for a part
// of that session. [Command] and verify.External start from it. It is read anew at each
// call.
func Environ() []string {
	var marks []string
	for _, c := range clients() {
		marks = append(marks, c.marks...)
	}
	return slices.DeleteFunc(os.Environ(), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.Contains(marks, name)
	})
}
