package main

import (
	"bytes"
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
	Name, Version      string   // the version that it was tried with
	Settings, Commands string   // its file, and its folder, in a project
	Unit, Most         string   // of its hooks' time-outs: what they count, and the longest
	Refused            []string // flags with which no hook of ours is run
	Base               json.RawMessage
	Start, Resume      []string // what stands behind the program, to begin a session or go on with one
	Prompt             []string // what stands last
	Env                []string
	Add                []struct {
		At    []string // the list, or object, in its settings
		Hook  string   // what of ralph hook it starts, if anything
		Value string   // an element, or a member
	}
}

func clients() (all []client, err error) {
	text, err := clientFiles.ReadFile("clients/clients.json")
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	return all, err
}

// clientFor is the first client of the table that fits.
func clientFor(fits func(client) bool, what string) (client, error) {
	all, err := clients()
	var names []string
	for _, c := range all {
		if fits(c) {
			return c, nil
		}
		names = append(names, c.Name)
	}
	if err == nil {
		err = fail(exitUsage, "%s is none of the clients whose hooks are known: %s", what, strings.Join(names, ", "))
	}
	return client{}, err
}

func (c client) is(word string) bool { return filepath.Base(word) == c.Name }

// line is the command line of a session.
func (c client) line(program []string, session, prompt string, goesOn bool, within time.Duration) ([]string, error) {
	for _, flag := range c.Refused {
		if slices.ContainsFunc(program, func(arg string) bool { name, _, _ := strings.Cut(arg, "="); return name == flag }) {
			return nil, fail(exitUsage, "with %s %s runs no hook of ours", flag, c.Name)
		}
	}
	within, err := c.longest(within)
	if err != nil {
		return nil, err
	}
	settings, err := c.with(c.Base, within, " --launched", "stop", "end", "")
	own := slices.Clone(map[bool][]string{false: c.Start, true: c.Resume}[goesOn])
	last := slices.Clone(c.Prompt)
	for _, args := range [][]string{own, last} {
		for i := range args {
			if err == nil {
				args[i], err = ralph.Template(args[i], map[string]string{"SESSION": session, "SETTINGS": string(settings), "PROMPT": prompt})
			}
		}
	}
	at := slices.IndexFunc(program, c.is) + 1
	return slices.Concat(program[:at], own, program[at:], last), err
}

// with adds to settings what is of these hooks, whose commands end with more.
func (c client) with(text []byte, within time.Duration, more string, hooks ...string) ([]byte, error) {
	unit, err := time.ParseDuration(c.Unit)
	for _, a := range c.Add {
		if err != nil || !slices.Contains(hooks, a.Hook) {
			continue
		}
		command, _ := json.Marshal(fmt.Sprintf("%s %s--hook-timeout=%v%s", word(self()), hookCommand(c.Name, a.Hook), within, more)) // it is text
		var value string
		if value, err = ralph.Template(a.Value, map[string]string{"COMMAND": string(command), "TIMEOUT": fmt.Sprint(int64(within / unit))}); err == nil {
			text, err = spec.AddJSON(text, value, a.At...)
		}
	}
	return text, err
}

// without takes out of settings what with has added.
func (c client) without(text []byte) (_ []byte, err error) {
	for _, a := range c.Add {
		if err == nil {
			text, err = spec.RemoveJSON(text, func(value []byte) bool {
				return string(value) == a.Value || a.Hook != "" && bytes.Contains(value, []byte(hookCommand(c.Name, a.Hook)))
			}, a.At...)
		}
	}
	return text, err
}

// longest is the time-out of its hooks, 0 = as long as it allows.
func (c client) longest(within time.Duration) (time.Duration, error) {
	most, err := time.ParseDuration(c.Most)
	if within <= 0 || within > most {
		within = most
	}
	return within, err
}

// hookCommand is what the command of a hook has after the program.
func hookCommand(client, hook string) string { return "hook " + hook + " " + client + " " }

func self() string {
	if path, err := os.Executable(); err == nil {
		return path
	}
	return os.Args[0]
}
