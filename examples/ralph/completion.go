package main

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

// completions hold a script for each shell. All that a script knows is to ask "ralph
// complete" for what can stand in a place: what there is then stands in one place.
//
//go:embed completion
var completions embed.FS

// shells are those that have a script.
func shells() (all []string) {
	files, _ := completions.ReadDir("completion") // it is in the program
	for _, file := range files {
		all = append(all, strings.TrimSuffix(file.Name(), path.Ext(file.Name())))
	}
	return all
}

func runCompletion(e env, _ *shared, args []string) error {
	if text, err := completions.ReadFile("completion/" + args[0] + ".sh"); err == nil {
		_, err = e.stdout.Write(text)
		return err
	}
	return fail(exitUsage, "completion: unknown shell %q%s; the known ones are %s", args[0], didYouMean(args[0], "", shells()), strings.Join(shells(), ", "))
}

// completing prints what can stand where the last of some words stands, a line each, and
// fails where that is a file, which the shell knows better.
type completing struct {
	shared
	words []string
}

func (c *completing) after(words []string) { c.words = words }

func (c *completing) run(e env, _ []string) error {
	if len(c.words) == 0 {
		return nil
	}
	last := c.words[len(c.words)-1]
	found := slices.DeleteFunc(slices.Clone(c.candidates(e)), func(text string) bool {
		return !strings.HasPrefix(text, last) || text != line(text)
	})
	for _, text := range found {
		fmt.Fprintln(e.stdout, text)
	}
	return unless(len(found) > 0, exitConfig, "")
}

// candidates are the words that can stand in the place of the last.
func (c *completing) candidates(e env) []string {
	before, last := c.words[:len(c.words)-1], c.words[len(c.words)-1]
	if len(before) == 0 {
		return append(names(""), "help", "--version")
	}
	name, args := commandFirst(before)
	switch {
	case name == "help" && len(args) == 0:
		return names("")
	case name == group, name == "help" && args[0] == group:
		return names(group + " ")
	}
	at := slices.IndexFunc(commands(), func(c command) bool { return c.name == name })
	if at < 0 {
		return nil
	}
	cmd := commands()[at]
	f := newFlags(cmd)
	if flag, _, has := cutFlag(before[len(before)-1]); strings.HasPrefix(before[len(before)-1], "-") && !has && f.Lookup(flag) != nil && takesValue(f.Lookup(flag)) {
		return valuesOf(name, flag)
	}
	if flag, _, has := cutFlag(last); has && strings.HasPrefix(last, "-") {
		var all []string
		for _, value := range valuesOf(name, flag) {
			all = append(all, last[:strings.Index(last, "=")+1]+value)
		}
		return all
	}
	if strings.HasPrefix(last, "-") {
		var all []string
		for _, name := range f.names() {
			all = append(all, "--"+name)
		}
		return all
	}
	arg, _, _ := strings.Cut(strings.Trim(cmd.args, "[]"), " ")
	switch {
	case arg == "ID", name == "log": // else that is a file
		return c.loops(e)
	case arg == "SHELL":
		return shells()
	case arg == "ACTION" && slices.ContainsFunc(args, func(word string) bool { return word == "install" || word == "uninstall" }):
		return []string{"claude", "codex", "gemini", "copilot"}
	case arg == "ACTION":
		return []string{"install", "uninstall"}
	}
	return nil
}

// valuesOf are the values of a command's flag that has a few.
func valuesOf(command, name string) []string {
	if command == "log" && name == "format" {
		return []string{"table", "json", "md"}
	}
	return map[string][]string{
		"agent": ralph.Presets(), "judge": ralph.Presets(), "format": strings.Split(formats(), ", "),
		"match": {"last-line", "own-line", "anywhere", "fold"}, "sandbox": {"on", "off", "require"},
		"stages": stages, "stage": stages,
	}[name]
}

// loops are the names of those on record here.
func (c *completing) loops(e env) (all []string) {
	if dir, err := c.found(e); err == nil {
		for entry, err := range dir.Loops(e.ctx) {
			if err == nil && entry.Parent == "" { // else it cannot be read, or is meant by its run
				all = append(all, entry.Loop)
			}
		}
	}
	return all
}
