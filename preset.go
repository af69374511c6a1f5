package ralph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/stream"
)

// presets are the known agents' clients, as data. Each runs without asking
// anybody anything, which is what a loop needs, and what a sandbox is for.
func presets() []preset {
	return []preset{
		{"claude", Command{
			Args:   []string{"claude", "-p", "--verbose", "--output-format", "stream-json", "--dangerously-skip-permissions"},
			Format: FormatClaude, ModelFlag: "--model",
		}},
		{"codex", Command{
			Args:   []string{"codex", "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-"},
			Format: FormatCodex, ModelFlag: "--model",
		}},
		{"gemini", Command{
			Args:   []string{"gemini", "--output-format", "stream-json", "--yolo", "--skip-trust"},
			Format: FormatGemini, ModelFlag: "--model",
		}},
		{"opencode", Command{
			Args:   []string{"opencode", "run", "--format", "json", "--auto"},
			Format: FormatOpencode, ModelFlag: "--model",
		}},
		{"copilot", Command{
			Args:   []string{"copilot", "--output-format", "json", "--allow-all-tools", "--allow-all-paths", "--no-ask-user", "--no-auto-update"},
			Format: FormatCopilot, ModelFlag: "--model",
		}},
		{"amp", Command{
			Args:   []string{"amp", "-x", "--stream-json", "--dangerously-allow-all"},
			Format: FormatAmp,
		}},
		{"cline", Command{
			// It takes a prompt on a pipe only beside one in its arguments, and
			// leaves a daemon behind unless it is told not to.
			Args:   []string{"cline", "--json", "Do the task that follows."},
			Env:    []string{"CLINE_SESSION_BACKEND_MODE=local"},
			Format: FormatCline, ModelFlag: "--model",
		}},
		{"text", Command{Args: []string{"cline", "-y"}, Env: []string{"CLINE_SESSION_BACKEND_MODE=local"}, Format: FormatText, ModelFlag: "--model"}},
	}
}

type preset struct {
	name    string
	command Command
}

// Presets returns the names that [Preset] knows, in the order in which a program
// should look for what is installed.
func Presets() []string {
	var names []string
	for _, p := range presets() {
		names = append(names, p.name)
	}
	return names
}

// Preset returns a new [Command] for a known agent's client: amp, claude, cline,
// codex, copilot, gemini, opencode, or text, which is any client that prints its
// answer as plain text (S3's is cline). Fields may be changed before it is used.
// An unknown name is an error that lists the known ones.
func Preset(name string) (*Command, error) {
	for _, p := range presets() {
		if p.name == name {
			c := p.command
			c.Args, c.Env = slices.Clone(c.Args), slices.Clone(c.Env)
			return &c, nil
		}
	}
	return nil, fmt.Errorf("unknown agent %q; the known ones are %s", name, strings.Join(Presets(), ", "))
}

// Formats returns the formats a [Command] can decode, sorted.
func Formats() []Format {
	var formats []Format
	for _, name := range stream.Formats() {
		formats = append(formats, Format(name))
	}
	return formats
}

// A Telling says what the streams of a [Format] can tell of a run.
type Telling struct {
	Cost       bool // in US dollars
	Tokens     bool
	Session    bool // the agent's own session ID
	RateLimits bool // structurally; in text they are guessed from errors
}

// Tells returns what a format can tell.
func (f Format) Tells() Telling {
	switch f {
	case FormatClaude, FormatOpencode:
		return Telling{Cost: true, Tokens: true, Session: true, RateLimits: true}
	case FormatCursor, FormatAmp, FormatGemini, FormatCodex:
		return Telling{Tokens: true, Session: true}
	case FormatCopilot:
		return Telling{Session: true, RateLimits: true}
	case FormatCline:
		return Telling{Cost: true, Tokens: true}
	}
	return Telling{}
}
