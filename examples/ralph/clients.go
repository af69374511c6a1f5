package main

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// clientFiles hold the table of the clients that can be hooked, and their commands.
//
//go:embed clients
var clientFiles embed.FS

// A client is an agent's program whose hooks can keep a session going, as a row of
// the table has it. In the texts, {NAME} is filled in.
type client struct {
	Name, Version      string        // the version that it was tried with
	Settings, Commands string        // its file, and its folder, in a project
	Note, Cap          string        // what to know of installed hooks, and of its sessions
	Ticks, Most        time.Duration // of its hooks' time-outs: how many are a second, and the longest, in seconds
	Refused            []string      // flags with which no hook of ours is run, or the session is not ours
	Chooses, Installed bool          // it chooses its sessions' IDs; it has hooks from its settings alone
	Base               json.RawMessage
	Files              map[string]string // what is put into {FOLDER}
	Hash               string            // the text that {HASH} is of
	Start, Resume      []string          // what stands behind the program, to begin a session or go on with one
	Prompt             []string          // what stands last; where not given otherwise:
	Typed, Again       []string          // in a terminal; to go on with a session
	Env                []string
	Words              ralph.Words // its transcript, if its hooks are not told the last words
	Add                []struct {
		spec.Insertion        // into its settings; those with hooks come first
		Hook           string // what of ralph hook it starts, if anything
	}
}

// clientFor is the first client of the table that fits.
func clientFor(fits func(client) bool, what string) (client, error) {
	var all []client
	text, err := clientFiles.ReadFile("clients/clients.json")
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	var names []string
	for _, c := range all {
		if fits(c) {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return client{}, cmp.Or(err, fail(exitUsage, "%s is none of the clients whose hooks are known: %s", what, strings.Join(names, ", ")))
}

// clientOf is the client of a command line, if hooks of ours are run by it.
func clientOf(program []string) (client, error) {
	c, err := clientFor(func(c client) bool { return slices.ContainsFunc(program, c.is) }, strings.Join(program, " "))
	for _, arg := range program[slices.IndexFunc(program, c.is)+1:] {
		if name, _, _ := strings.Cut(arg, "="); err == nil && slices.Contains(c.Refused, name) {
			err = fail(exitUsage, "with %s %s runs no hook of ours, or has another session", name, c.Name)
		}
	}
	return c, err
}

func (c client) is(word string) bool { return filepath.Base(word) == c.Name }

// line is the command line of a session, with what it needs in its folder.
func (c client) line(program []string, is map[string]string, goesOn, typed bool, within time.Duration) ([]string, error) {
	all, err := c.hooks(within, " --launched", "stop", "end", "")
	if err != nil {
		return nil, err
	}
	settings, err := spec.EditJSON(c.Base, true, all...)
	is["SETTINGS"], is["COMMAND"], is["TIMEOUT"] = string(settings), c.command("stop", within, " --launched"), c.timeout(within)
	fill := func(text string) (filled string) {
		if err == nil {
			filled, err = ralph.Template(text, is)
		}
		return filled
	}
	is["HASH"] = fmt.Sprintf("%x", sha256.Sum256([]byte(fill(c.Hash))))
	for name, text := range c.Files {
		if text = fill(text); err == nil {
			err = os.WriteFile(filepath.Join(is["FOLDER"], name), []byte(text), 0o600)
		}
	}
	own, last := c.Start, c.Prompt
	if typed && c.Typed != nil {
		last = c.Typed
	}
	if goesOn && c.Resume != nil {
		own = c.Resume
	}
	if goesOn && c.Again != nil {
		last = c.Again
	}
	at := slices.IndexFunc(program, c.is) + 1
	line := slices.Clone(program[:at])
	for _, text := range own {
		line = append(line, fill(text))
	}
	line = append(line, program[at:]...)
	for _, text := range last {
		line = append(line, fill(text))
	}
	return line, err
}

// command is what starts a hook, which ends with more, as JSON.
func (c client) command(hook string, within time.Duration, more string) string {
	return asText(fmt.Sprintf("%s%s%v%s", word(self()), c.mark(hook), c.longest(within), more))
}

// mark is by what a hook of ours is known.
func (c client) mark(hook string) string { return " hook " + hook + " " + c.Name + " --hook-timeout=" }

// timeout is how long a hook may take, as its settings have it.
func (c client) timeout(within time.Duration) string {
	return fmt.Sprint(int64(max(1, c.longest(within)*c.Ticks/time.Second)))
}

// hooks are what of these hooks, whose commands end with more, stands in settings.
func (c client) hooks(within time.Duration, more string, hooks ...string) (all []spec.Insertion, err error) {
	for _, a := range c.Add {
		if err == nil && slices.Contains(hooks, a.Hook) {
			if a.Hook != "" {
				a.Mark = c.mark(a.Hook)
			}
			a.Value, err = ralph.Template(a.Value, map[string]string{"COMMAND": c.command(a.Hook, within, more), "TIMEOUT": c.timeout(within)})
			all = append(all, a.Insertion)
		}
	}
	return all, err
}

// longest is the time-out of its hooks, 0 = as long as it allows.
func (c client) longest(within time.Duration) time.Duration {
	if most := c.Most * time.Second; within <= 0 || within > most {
		return most
	}
	return within
}

func self() string {
	if path, err := os.Executable(); err == nil {
		return path
	}
	return os.Args[0]
}
