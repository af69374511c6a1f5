package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// home says what there is in the current folder, and the one command to start with.
func (e env) home() error {
	s := &shared{}
	project, branch, err := s.workspace(e.ctx)
	if err != nil {
		return err
	}
	_, _, noTree := topLevel(e.ctx, s.dir)
	inTree := func(command string) string { // plan, build and prompt work in a git work tree alone
		return map[bool]string{noTree == nil: command, errors.Is(noTree, ralph.ErrNoWorkTree): "git init && " + command}[true]
	}
	rows := [][]string{{"folder:", project}, {"git:", cmp.Or(branch, "no branch, so nobody sees what an agent changed; 'git init' makes a repository")}}
	var start, again string // the first that fits; that for the last loop that can go on
	found := func(what, is, command string) {
		rows = append(rows, []string{what + ":", is})
		start = cmp.Or(start, command)
	}
	loops, err := s.onRecord(e)
	if err != nil {
		found("records", err.Error(), "")
	}
	for i, st := range loops {
		switch further := s.further(st.Loop, st.State); {
		case st.Status == progress.StatusInterrupted:
			found("interrupted", st.Line(time.Now()), "ralph resume "+word(st.Loop))
		case !st.State.Done():
			found("active", st.Line(time.Now()), "ralph status --watch")
		case further != "" && i >= len(loops)-endedShown:
			found("stopped", st.Line(time.Now())+"; '"+further+"' goes on", "")
			again = further
		}
	}
	listed := e.taskFile(project, found)
	for _, home := range []string{project, filepath.Join(project, ".ralph")} {
		if isFile(filepath.Join(home, planName)) {
			found("plan", relative(project, filepath.Join(home, planName)), inTree("ralph build"))
		}
	}
	if specs, _ := filepath.Glob(filepath.Join(project, "specs", "*")); len(specs) > 0 {
		found("specifications", plural(len(specs), "entry", "entries")+" in specs", inTree("ralph plan"))
	}
	for _, name := range []string{"PROMPT.md", "prompt.md"} {
		if start != "" || !isFile(filepath.Join(project, name)) {
			continue
		}
		switch text, err := readPrompt(filepath.Join(project, name)); {
		case err != nil:
			found("prompt", ours{err}.Error(), "")
		case strings.Contains(text, "<promise>"+ralph.DefaultPromise+"</promise>"):
			found("prompt", name, inTree("ralph prompt "+name))
		default: // it does not say how to end
			found("prompt", name, inTree("ralph prompt "+name+" --always --verify 'The command that shows that it is done'"))
		}
	}
	lists, _ := filepath.Glob(filepath.Join(project, "*.md"))
	for i, path := range lists {
		if is, next := e.boxes(project, path); start == "" && i < 100 && next != "" {
			found("list", is, next)
		}
	}
	start = cmp.Or(start, again)
	usable := ""
	for _, a := range known(e.ctx) {
		rows = append(rows, []string{"agent:", a.name + ": " + a.is})
		if a.usable && usable == "" {
			usable = a.name
		}
	}
	switch {
	case usable == "":
		if slices.ContainsFunc(commands(), func(c command) bool {
			return strings.HasPrefix(strings.TrimPrefix(start, "git init && ")+" ", "ralph "+c.name+" ") && newFlags(c).Lookup("agent-cmd") != nil
		}) {
			start += " --agent-cmd COMMAND"
		}
		start = cmp.Or(start, listed, "ralph demo")
		rows = append(rows, []string{"agent:", "none of the known ones is installed and logged in; --agent-cmd takes any other"})
	case start == "":
		start = "ralph start 'What is to be done' --verify 'The command that shows it' -- " + usable
	}
	if err := columns(e.stdout, rows); err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "\nstart with: %s\n'ralph help' lists the commands.\n", line(start))
	return nil
}

// onRecord are the loops of this workspace, but those of a run.
func (s *shared) onRecord(e env) (all []pipeline.Standing, err error) {
	dir, err := s.found(e)
	if err != nil {
		return nil, err
	}
	loops, err := pipeline.Standings(e.ctx, dir)
	for _, st := range loops {
		if st.Parent == "" {
			all = append(all, st)
		}
	}
	return all, err
}

// taskFile says which task file there is, and how it stands, and returns the command that
// lists what is in it.
func (e env) taskFile(project string, found func(what, is, command string)) (lists string) {
	f, err := tasks.Look(e.ctx, project)
	switch {
	case errors.Is(err, tasks.ErrNoFile):
		return ""
	case err != nil:
		found("task file", ours{err}.Error(), "")
		return ""
	}
	name := relative(project, f.Path)
	kind, err := tasks.KindOf(f.Path)
	stands, next := "", ""
	switch {
	case err != nil:
	case kind == tasks.KindDefinitions:
		var file *spec.File
		if file, err = spec.Load(f.Path); err == nil {
			stands = counts(file.Definitions())
			next = map[bool]string{true: "ralph run"}[len(file.Ready()) > 0]
		}
	default:
		var items []tasks.Item
		items, err = kind.Source(f.Path).Items(e.ctx)
		stands = fmt.Sprintf("%d of %d open", openItems(items), len(items))
		next = map[bool]string{true: "ralph run"}[openItems(items) > 0]
		if is, all := e.boxes(project, f.Path); kind == tasks.KindList && next == "" && all != "" {
			found("task file", is, all)
			return ""
		}
	}
	if err != nil {
		stands, next = ours{err}.Error(), "ralph task check "+word(name)
	}
	found("task file", name+": "+stands, next)
	return "ralph task list " + word(name)
}

// boxes says how many boxes of a list are open, those without an ID if no other one is,
// and what command works them off; both are "" if none is open.
func (e env) boxes(project, path string) (is, command string) {
	name := relative(project, path)
	for _, all := range []bool{false, true} {
		items, err := tasks.ListFile{Path: path, AllBoxes: all}.Items(e.ctx)
		if n := openItems(items); err == nil && n > 0 {
			return fmt.Sprintf("%s: %d of %d open%s", name, n, len(items), map[bool]string{true: ", with boxes that have no ID"}[all]), "ralph run " + word(name) + map[bool]string{true: " --all-boxes"}[all]
		}
	}
	return "", ""
}

// A knownAgent is an agent that is installed, and what is known of it.
type knownAgent struct {
	name, is string
	usable   bool
}

// known are the agents that are installed. All are asked for their login at once, and not
// for long: a person waits.
func known(ctx context.Context) []knownAgent {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	all := make([]knownAgent, len(ralph.Presets()))
	for i, name := range ralph.Presets() {
		c, err := ralph.Preset(name)
		if err != nil {
			continue
		}
		if _, err := exec.LookPath(c.Args[0]); err != nil {
			continue
		}
		wg.Go(func() {
			all[i] = knownAgent{name, "installed", true}
			if err := c.Ready(ctx); errors.Is(err, ralph.ErrLogin) {
				all[i] = knownAgent{name, strings.TrimPrefix(ours{err}.Error(), name+": "), false}
			}
		})
	}
	wg.Wait()
	return slices.DeleteFunc(all, func(a knownAgent) bool { return a.name == "" })
}
