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
		{"text", Command{Args: []string{"cline", "-y"}, Format: FormatText, ModelFlag: "--model"}},
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

// Preset returns a new [Command] for a known agent's client: claude, codex, or
// text, which is any client that prints its answer as plain text (S3's is
// cline). Fields may be changed before it is used. An unknown name is an error
// that lists the known ones.
func Preset(name string) (*Command, error) {
	for _, p := range presets() {
		if p.name == name {
			c := p.command
			c.Args = slices.Clone(c.Args)
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
