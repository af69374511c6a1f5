package tasks

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A beside says which documents describe what the tasks of a file are for. Files that
// are known by name are told to the agent, and not looked for by what is in them: a
// prompt must be the same each time, and cost nothing to make.
type beside struct {
	file  string   // pattern of the task file's path, as far as it goes; see [filepath.Match]
	with  string   // only if this is there too; "" = always
	names []string // from the task file's folder, or from itself if it is a folder
}

// besides are looked through from top to bottom; what is there already, under this or
// another name, is not named again. Another tool is one more line.
var besides = [...]beside{
	{file: "*", names: []string{"spec.md", "plan.md", "research.md", "data-model.md", "quickstart.md", "contracts", "checklists"}}, // spec-kit
	{file: "*", names: []string{"requirements.md", "bugfix.md", "proposal.md", "design.md"}},                                       // Kiro, OpenSpec
	{file: "*", with: "proposal.md", names: []string{"specs"}},
	{file: "fix_plan.md", names: []string{"specs"}},
	{file: "@fix_plan.md", names: []string{"specs"}},
	{file: "prd.json", names: []string{"prd.md", "PRD.md"}},
	{file: "tasks/tasks.json", names: []string{"../docs/prd.txt", "../docs/prd.md"}}, // Taskmaster
	{file: "docs/stories/*", names: []string{"../prd.md", "../architecture.md"}},     // BMAD
	{file: "backlog", names: []string{"docs", "decisions"}},                          // Backlog.md
}

// Documents returns the paths of the files and folders beside a task file that describe
// what its tasks are for, as far as they are there: the specification, plan,
// requirements, design or proposal that spec-kit, Kiro, OpenSpec, Taskmaster, BMAD and
// Backlog.md write, and others of these names. They are joined to the path's own
// folder, and relative to what it is. nil = there are none.
//
// None of them is read: what they hold is for the agent to read as far as it needs it.
// One that cannot be looked at is left out, for an agent that lacks a document can
// still work.
func Documents(path string) (paths []string) {
	if path == "" {
		return nil
	}
	folder := filepath.Dir(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		folder = path
	}
	var have []os.FileInfo
	for _, b := range besides {
		if _, err := os.Stat(filepath.Join(folder, b.with)); err != nil || !endsIn(path, b.file) {
			continue
		}
		for _, name := range b.names {
			document := filepath.Join(folder, filepath.FromSlash(name))
			info, err := os.Stat(document)
			// prd.md and PRD.md are one file where the file system does not tell case
			// apart
			same := func(other os.FileInfo) bool { return os.SameFile(info, other) }
			if err != nil || !info.IsDir() && !info.Mode().IsRegular() || document == filepath.Clean(path) || slices.ContainsFunc(have, same) {
				continue
			}
			have, paths = append(have, info), append(paths, document)
		}
	}
	return paths
}

// endsIn reports whether the end of a path matches a pattern. The path is made absolute
// first, since "tasks.json" in the current folder may lie in one that is called tasks.
func endsIn(path, pattern string) bool {
	parts := strings.Split(filepath.ToSlash(absolute(path)), "/")
	n := min(len(parts), strings.Count(pattern, "/")+1)
	ok, _ := filepath.Match(filepath.FromSlash(pattern), filepath.Join(parts[len(parts)-n:]...)) // no pattern is malformed
	return ok
}
