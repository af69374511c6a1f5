package tasks

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxNearly is how many files are named that may have been meant. The rest is a number:
// the error must stay one that is read.
const maxNearly = 8

// What the names of files have in them that may have been meant, and how they end.
var (
	nearlyNames   = [...]string{"task", "todo", "to-do", "to_do", "prd", "plan", "feature", "backlog", "stories", "story", "issues", "checklist"}
	nearlyEndings = [...]string{"", ".md", ".markdown", ".mdown", ".txt", ".json", ".jsonl", ".yaml", ".yml"}
)

// nearly names what lies in the project and may have been meant: "" = nothing does. It
// only names, and takes none of them: to work on a file that happens to be called
// plan.md would spend money on somebody's notes.
func (s *search) nearly() string {
	var names []string
	for _, name := range s.boxless {
		names = append(names, filepath.FromSlash(name)+" (there is no box in it)")
	}
	for _, name := range s.entries(".") {
		info, err := s.root.Stat(name)
		if err != nil || slices.Contains(s.boxless, name) || !isNearly(strings.ToLower(name)) {
			continue
		}
		switch {
		case info.Mode().IsRegular():
			names = append(names, name)
		case info.IsDir() && name == "backlog":
			names = append(names, name+" (a folder of Backlog.md has config.yml and tasks in it)")
		}
	}
	switch more := len(names) - maxNearly; {
	case names == nil:
		return ""
	case more > 0:
		names = append(names[:maxNearly], fmt.Sprintf("%d more", more))
	}
	return ". There is " + strings.Join(names, ", ")
}

// isNearly reports whether a name in lower case may be that of a task file: by a part
// of the name, since people write my-tasks.md and TODO-v2.txt, and by the ending, so
// that no program's source is named.
func isNearly(name string) bool {
	ending := path.Ext(name)
	return slices.Contains(nearlyEndings[:], ending) &&
		slices.ContainsFunc(nearlyNames[:], func(part string) bool { return strings.Contains(strings.TrimSuffix(name, ending), part) })
}
