package tasks

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A usual is a place where people keep their tasks. Another tool's is one more line of
// the table.
type usual struct {
	pattern string // of paths in the project; one of its parts may have a "*"
	of      string // which tool has it there; "" = no special one
	feature bool   // the "*" is a feature, which a git branch may name
	perhaps bool   // what lies there may be something else: it counts if there is a box in it
}

// usuals are the places, in the order in which they are looked at and listed. No place
// outranks another: of two files in which something is open a person must choose, for
// to work on the wrong one costs money.
var usuals = [...]usual{
	{pattern: "tasks.md"},
	{pattern: "prd.json"},
	{pattern: "tasks.yaml"},
	{pattern: "tasks.yml"},
	{pattern: "tasks.json"},
	{pattern: "TASKS.md"},
	{pattern: "feature_list.json"},
	{pattern: "specs/*/tasks.md", of: "spec-kit", feature: true},
	{pattern: ".specify/specs/*/tasks.md", of: "spec-kit", feature: true},
	{pattern: ".kiro/specs/*/tasks.md", of: "Kiro", feature: true},
	{pattern: "openspec/changes/*/tasks.md", of: "OpenSpec", feature: true},
	{pattern: "scripts/ralph/prd.json", of: "snarktank's loop"},
	{pattern: "plans/prd.json"},
	{pattern: ".ralph/prd.json"},
	{pattern: "fix_plan.md", perhaps: true},
	{pattern: "@fix_plan.md", perhaps: true},
	{pattern: "TODO.md", perhaps: true},
	{pattern: "todo.md", perhaps: true},
	{pattern: ".ralph/fix_plan.md", of: "ralph-claude-code", perhaps: true},
	{pattern: ".ralph/@fix_plan.md", of: "ralph-claude-code", perhaps: true},
	{pattern: ".taskmaster/tasks/tasks.json", of: "Taskmaster"},
	{pattern: "tasks/tasks.json", of: "Taskmaster"},
	{pattern: "backlog", of: "Backlog.md"},
	{pattern: "docs/stories/*.md", of: "BMAD", perhaps: true},
}

const (
	// of one folder are looked at
	maxEntries = 1000
	// bytes are read of a file to see whether there is a box in it; a longer one is
	// taken for a list
	maxPerhaps = 1 << 20
	// are listed in an error
	maxPlaces = 30
	// bytes are said of what is wrong with one
	maxWrong = 160
)

// Find returns the path of the task file of the project in a folder: tasks.md,
// prd.json, tasks.yaml or what else people and their tools call it, in the folder
// itself or where spec-kit, Kiro, OpenSpec, Taskmaster, Backlog.md, BMAD and the bash
// loops keep theirs. Of the folders of several features it is the one that the git
// branch names. Of several files it is the one in which something is open, if all is
// done in each of the others; that is not asked of definitions, which package
// tasks/spec reads.
//
// If there is still more than one, the error lists them, each with how much of it is
// open; if there is none, it lists what was looked for, and what in the folder has a
// name like it. A link to a file in the folder is that file's path, so that it can be
// written back; folders that links lead to outside of it are not looked into, and of a
// folder 1000 entries are.
//
// Find writes nothing. When ctx is done, the error is context.Cause(ctx).
func Find(ctx context.Context, dir string) (path string, err error) {
	f, err := Look(ctx, dir)
	return f.Path, err
}

// Found is what [Look] has found. It is the zero value if Look returns an error.
type Found struct {
	// Path of the task file: in the folder that was given, and relative if that is.
	Path string
	// Done are the paths of the other task files, in all of which everything is done; nil
	// = there is no other, or the git branch has decided.
	Done []string
}

// Look does what [Find] does, and also returns the finished task files that were
// passed over, for a program that tells a person why this file was chosen.
func Look(ctx context.Context, dir string) (Found, error) {
	s := &search{dir: dir, branch: branch(ctx, dir)}
	var err error
	if s.root, err = os.OpenRoot(dir); err != nil {
		return Found{}, fmt.Errorf("tasks: there is no task file: %w", err)
	}
	defer s.root.Close()
	all := s.settle(s.all())
	s.stand(ctx, all)
	one := slices.IndexFunc(all, found.isOpen)
	switch {
	case ctx.Err() != nil:
		return Found{}, context.Cause(ctx)
	case len(all) == 1:
		return Found{Path: all[0].path}, nil
	case one >= 0 && !slices.ContainsFunc(all[one+1:], found.isOpen):
		f := Found{Path: all[one].path}
		for i := range all {
			if i != one {
				f.Done = append(f.Done, all[i].path)
			}
		}
		return f, nil
	case len(all) > 1:
		return Found{}, fmt.Errorf("tasks: there are several task files in %s; name one: %s", filepath.Clean(dir), s.list(all))
	}
	if s.unread != nil {
		return Found{}, fmt.Errorf("tasks: there is no task file in %s that can be read: %s", filepath.Clean(dir), strings.Join(s.unread, "; "))
	}
	var names []string
	for _, u := range usuals {
		names = append(names, filepath.FromSlash(u.pattern))
	}
	if s.branch != "" {
		names = append(names, filepath.Join("specs", s.branch, "tasks.md"))
	}
	return Found{}, fmt.Errorf("tasks: there is no task file: none of %s is in %s; name one%s", strings.Join(names, ", "), filepath.Clean(dir), s.nearly())
}
