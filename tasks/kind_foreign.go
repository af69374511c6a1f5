package tasks

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// foreign says what a file of another tool seems to be that holds no tasks which can be
// read, and what can be done; "" = it is none that is known. Without it the error would
// be the one of a reader that was never meant: "there is no box in it" of a database.
func foreign(path string, text []byte) string {
	abs := absolute(path)
	f := look{path: abs, base: strings.ToLower(filepath.Base(abs)), text: text}
	if strings.HasSuffix(f.base, ".json") && json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &f.root) != nil {
		f.root = nil
	}
	for _, tool := range foreigners() {
		if tool.fits(f) {
			return tool.says
		}
	}
	return ""
}

// A look is what is seen of a file.
type look struct {
	path, base string // absolute, and the name in lower case
	text       []byte
	// if its name ends in .json and it is one; else nil, which has no keys
	root object
}

// A foreigner is a kind of file of another tool. Another one is a line of the table. One
// of these is enough to recognize it.
type foreigner struct {
	names []string        // patterns of its path, in lower case, as far as they go
	keys  []string        // it is an object of JSON that has them all
	is    func(look) bool // nil = there is nothing else
	// what it is, and where the tasks are: the end of the sentence "it seems to be"
	says string
}

func (t foreigner) fits(f look) bool {
	return slices.ContainsFunc(t.names, func(name string) bool { return endsIn(strings.ToLower(f.path), name) }) ||
		t.keys != nil && !slices.ContainsFunc(t.keys, func(key string) bool { return !f.root.has(key) }) ||
		t.is != nil && t.is(f)
}

// foreigners are the files that people give who have their tasks elsewhere. The first
// that fits counts, so those that are known by a name of their own stand before those
// that are known by headings.
func foreigners() []foreigner {
	const beside = "; the tasks are in the tasks.md beside it: name that"
	const taskmaster = "; its tasks are in .taskmaster/tasks/tasks.json: name that"
	document := func(names ...string) func(look) bool {
		return func(f look) bool { return f.isDocument(names...) }
	}
	return []foreigner{
		// Its database is written by its own program, which keeps an index beside it: a
		// tick from here would be overwritten.
		{names: []string{".beads/*", "beads.jsonl", "issues.jsonl"}, says: "the database of beads, which is not read: write the issues as boxes into a list (\"- [ ] bd-1 Write the parser\") and name that"},
		{names: []string{"task-complexity-report*"}, keys: []string{"meta", "complexity_analysis"}, says: "Taskmaster's report on complexity" + taskmaster},
		{names: []string{".taskmaster/state.json", ".taskmaster/config.json"}, keys: []string{"current_tag", "last_switched"}, says: "a setting of Taskmaster" + taskmaster},
		{names: []string{".taskmaster/*/task_*.txt", ".taskmaster/*/task_*.md"}, says: "a copy of one task that Taskmaster writes; its tasks are in tasks.json beside it: name that"},
		{is: look.isBacklogTask, says: "one task of Backlog.md; name the folder that its folder tasks is in"},
		// Its list is of stories, and each of them has a file with the boxes.
		{names: []string{"sprint-status.yaml"}, is: look.isSprint, says: "BMAD's list of stories and their status; the tasks are boxes in the files of the stories: name one of these"},
		{names: []string{"package.json", "package-lock.json", "tsconfig.json", "composer.json", "deno.json"}, keys: []string{"name", "version", "scripts"}, says: "a setting of a package, and holds no tasks: name the file with the tasks"},
		// VS Code calls commands tasks; .vscode/tasks.json has the name of a task file
		// and holds none.
		{names: []string{".vscode/*.json"}, says: "a setting of VS Code, whose tasks are commands: name the file with the tasks"},
		{is: look.isEpics, says: "BMAD's epics, which have no boxes: the tasks are boxes in the files of the stories: name one of these"},
		{is: look.isStory, says: "a story of BMAD without boxes: write its tasks as boxes below \"Tasks / Subtasks\" (\"- [ ] Task 1: Write the parser\")"},
		{is: document("spec.md", "plan.md"), says: "a specification or plan without boxes" + beside},
		{is: document("requirements.md", "design.md"), says: "a document of Kiro without boxes" + beside},
		{is: document("proposal.md"), says: "a proposal of OpenSpec without boxes" + beside},
	}
}

func (f look) isBacklogTask() bool {
	return endsIn(f.path, "tasks/*") && isFrontTask(f.text) && isBacklogDir(filepath.Dir(filepath.Dir(f.path)))
}

func (f look) isSprint() bool {
	return filepath.Ext(f.base) == ".yaml" && bytes.Contains(slices.Concat([]byte("\n"), f.text), []byte("\ndevelopment_status:"))
}

// isEpics reports whether it is so called, or has headings of epics and of their stories.
func (f look) isEpics() bool {
	return f.isDocument("epics.md", "epic.md") || f.isMarkdown() && hasHeading(f.text, "epic ") && hasHeading(f.text, "story ")
}

// isStory reports whether there are the headings that a story has.
func (f look) isStory() bool {
	return f.isMarkdown() && hasHeading(f.text, "acceptance criteria") && (hasHeading(f.text, "story") || hasHeading(f.text, "dev notes"))
}

// isMarkdown reports whether it is Markdown without any box. Any, also in a block of
// code: what has a box may be a list, whose reader knows better and says what is wrong
// with it.
func (f look) isMarkdown() bool {
	return (strings.HasSuffix(f.base, ".md") || strings.HasSuffix(f.base, ".markdown")) &&
		!slices.ContainsFunc([]string{"[ ]", "[x]", "[X]", "[-]", "[~]", "[]"}, func(box string) bool { return bytes.Contains(f.text, []byte(box)) })
}

// isDocument reports whether it is Markdown of such a name without any box, and not empty.
func (f look) isDocument(names ...string) bool {
	return slices.Contains(names, f.base) && f.isMarkdown() && len(bytes.TrimSpace(f.text)) > 0
}

// hasHeading reports whether a heading of any level begins with these words, in lower
// case. Setext headings do not count: the templates that are recognized so have none.
func hasHeading(text []byte, words string) bool {
	for line := range bytes.Lines(text) {
		if rest := bytes.TrimLeft(line, "#"); len(rest) < len(line) && bytes.HasPrefix(bytes.ToLower(bytes.TrimSpace(rest)), []byte(words)) {
			return true
		}
	}
	return false
}

// isBacklog reports whether a folder is one of Backlog.md, or the tasks of one. One
// that is called so and has a configuration counts without tasks too: then the error is
// that there are none yet, and how one is made.
func isBacklog(path string) bool {
	if dir := (Backlog{Path: path}).folder(); dir != "" {
		return isBacklogDir(dir)
	}
	base := filepath.Base(absolute(path)) // which may have no tasks yet
	return (base == "backlog" || base == ".backlog") && statusesOf(path) != nil
}

// isBacklogDir reports whether a folder has the configuration of Backlog.md and a
// folder tasks, or a task in that. A configuration is not needed: projects share the
// tasks alone. A folder that is called tasks is common, so one of its files must be a
// task.
func isBacklogDir(dir string) bool {
	if info, err := os.Stat(filepath.Join(dir, "tasks")); err != nil || !info.IsDir() {
		return false
	}
	if statusesOf(dir) != nil {
		return true
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close() // it was only read
	names, _ := markdownIn(root, "tasks")
	// of files, so that a folder with thousands of notes is not read to find out that
	// it is none
	const enough = 100
	left := maxBacklogText
	for _, name := range names[:min(len(names), enough)] {
		text, err := readIn(root, name, left)
		if err != nil {
			continue
		}
		left -= len(text)
		if isFrontTask(text) {
			return true
		}
	}
	return false
}

// isFrontTask reports whether a file has the front matter of a task of Backlog.md.
// Other tools have front matter with one or two of these keys.
func isFrontTask(text []byte) bool {
	head, ok := readFront(text)
	return ok && head.value("id") != "" && head.value("status") != "" && head.value("title") != ""
}
