package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/nearest"
)

// A Kind is what a file of tasks holds. Its text is stable; "" is none.
type Kind string

const (
	// A Markdown list, see [ParseList].
	KindList Kind = "list"
	// A prd.json, see [ParsePRD].
	KindPRD Kind = "prd"
	// A tasks.json of Taskmaster, see [TaskmasterFile].
	KindTaskmaster Kind = "taskmaster"
	// A folder of Backlog.md, see [Backlog].
	KindBacklog Kind = "backlog"
	// Definitions in YAML or JSON, which package tasks/spec reads. They say by which
	// commands each task is verified, and so are no list to tick.
	KindDefinitions Kind = "definitions"
)

var _, _ Source = TaskmasterFile{}, Backlog{}

// Source is the source of this kind at a path, which is taken as it is: nothing is
// read, and no link is followed. The caller asks [KindOf] and calls the source's
// method Resolve; [OpenSource] does both. Definitions have no source, and neither
// has a kind that is not known: it is nil.
func (k Kind) Source(path string) Source {
	switch k {
	case KindList:
		return ListFile{Path: path}
	case KindPRD:
		return PRDFile{Path: path}
	case KindTaskmaster:
		return TaskmasterFile{Path: path}
	case KindBacklog:
		return Backlog{Path: path}
	}
	return nil
}

// KindOf says what a file holds, by the ending of its name, in any case: .md and
// .markdown are lists, .yaml and .yml definitions. In .json, and in .txt or without an
// ending if the text begins with a brace or is a JSON list, the keys tell:
//
//	userStories, stories or features with a list          prd.json
//	a list that says of each whether it passes or is done,
//	or by which criteria, or that has titles and no ids   prd.json
//	a list of tasks below a tag, or tasks with what only
//	Taskmaster has, such as a testStrategy                Taskmaster
//	a task with a completion; another object with id,
//	task or tasks; another list; what is no JSON, if the
//	file is not called prd.json or feature_list.json      definitions
//	another object                                        prd.json
//
// The readers of these kinds say where a file is wrong. Any other .txt, and file without an ending,
// is a list. A folder is one of Backlog.md if there are tasks in its folder tasks, or
// its configuration beside that.
//
// Another ending, another folder and a file that cannot be read or is none are errors,
// and so is a file of another tool that is known and holds no tasks which can be read:
// the error says what it seems to be. At most 16 MiB are read.
func KindOf(path string) (Kind, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() && isBacklog(path) {
		return KindBacklog, nil
	}
	text, err := read("task file", path)
	if err != nil {
		return "", err
	}
	if tool := foreign(path, text); tool != "" {
		return "", fmt.Errorf("tasks: task file %s: it seems to be %s", path, tool)
	}
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	switch strings.ToLower(filepath.Ext(path)) {
	case ".md", ".markdown":
		return KindList, nil
	case ".yaml", ".yml":
		return KindDefinitions, nil
	case ".json":
		return kindOfJSON(path, text), nil
	case ".txt", "":
		if bytes.HasPrefix(text, []byte("{")) || bytes.HasPrefix(text, []byte("[")) && json.Valid(text) {
			return kindOfJSON(path, text), nil
		}
		return KindList, nil
	}
	return "", fmt.Errorf("tasks: task file %s: what it holds is not known by its name: a list ends in .md, definitions in .yaml, .yml or .json, and stories are in prd.json", path)
}

// An object is one of JSON, by its keys in snake_case: people and tools write
// userStories and user_stories.
type object map[string]json.RawMessage

func (o *object) UnmarshalJSON(text []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	*o = make(object, len(all))
	for key, value := range all {
		(*o)[snake(key)] = value
	}
	return nil
}

// A key that is null counts: who writes it means the kind that has it.
func (o object) has(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return o[key] != nil })
}

// objects are the objects in a list; ok is false if it is none of objects.
func objects(text []byte) (all []object, ok bool) {
	return all, len(text) > 0 && text[0] == '[' && json.Unmarshal(text, &all) == nil
}

// kindOfJSON says what the keys tell. What has none of them is a prd.json, whose reader
// says what it needs. What is no JSON is told by its name alone, so that a slip of the
// pen in a prd.json is reported as one, by line and column, and not as a mistake in a
// definition.
func kindOfJSON(path string, text []byte) Kind {
	if list, ok := objects(text); ok {
		return kindOfTasks(path, list, true)
	}
	var root object
	if err := json.Unmarshal(text, &root); err != nil {
		if base := filepath.Base(path); base == "prd.json" || base == "feature_list.json" {
			return KindPRD
		}
		return KindDefinitions
	}
	for _, name := range []string{"user_stories", "stories", "features"} {
		if list := root[name]; len(list) > 0 && list[0] == '[' {
			return KindPRD
		}
	}
	if list, ok := objects(root["tasks"]); ok {
		return kindOfTasks(path, list, false)
	}
	if root.has("id", "task", "tasks") {
		return KindDefinitions
	}
	for _, value := range root {
		var tag struct{ Tasks []json.RawMessage }
		if json.Unmarshal(value, &tag) == nil && tag.Tasks != nil {
			return KindTaskmaster
		}
	}
	return KindPRD
}

// kindOfTasks says what a list holds, a bare one or one of tasks, by what definitions
// do not have. "completion" is theirs alone and decides at once. Otherwise a single key
// in one of the objects is enough: files are written by models, which leave keys out
// more often than they make them up.
func kindOfTasks(path string, list []object, bare bool) Kind {
	story, taskmaster := false, !bare && isTaskmaster(path)
	// A bare list of titles without IDs is what people write first who have not read
	// about any format.
	nameless := len(list) > 0 // none of them has an id, as definitions have it
	for _, o := range list {
		if o.has("completion", "completion_spec", "spec_id") {
			return KindDefinitions
		}
		taskmaster = taskmaster || !bare && o.has("test_strategy", "subtasks", "details") && !o.has("passes", "passed")
		story = story || o.has("passes", "passed", "done", "completed", "acceptance_criteria", "acceptance", "criteria", "steps") || o.has("status", "state") && o.isForeign()
		nameless = nameless && !o.has("id", "task") && o.has("title", "description")
	}
	switch {
	case taskmaster:
		return KindTaskmaster
	case story, nameless:
		return KindPRD
	}
	return KindDefinitions
}

// isForeign reports whether an object has a key that definitions do not have, and that
// is no slip of the pen for one of theirs. Definitions have a status too, so that key
// alone does not tell; and one that is misspelt must come to the reader which says so.
func (o object) isForeign() bool {
	known := []string{"id", "spec_id", "title", "description", "status", "priority", "dependencies", "assignee", "created_at", "updated_at", "metadata", "iteration", "completion", "completion_spec", "task"}
	for key := range o {
		if !slices.Contains(known, key) && nearest.Of(key, known) == "" {
			return true
		}
	}
	return false
}

// isTaskmaster reports whether a path is where Taskmaster keeps its tasks. A file there
// is taken for one of its own although its tasks have nothing yet that only Taskmaster
// writes.
func isTaskmaster(path string) bool {
	return filepath.Base(filepath.Dir(filepath.Dir(absolute(path)))) == ".taskmaster"
}

// OpenSource returns the source that a file is by [KindOf]: a [ListFile], a [PRDFile],
// a [TaskmasterFile] or a [Backlog]. It reads the file and returns its error if nothing
// can be worked on from there. A file of definitions is no source.
//
// What could change while somebody works from the source is settled now, once, as the
// Resolve methods do it: which file a symbolic link leads to, which tag is meant, which
// status says done. Otherwise an agent could have its tasks ticked elsewhere, or finish
// them all by a setting.
func OpenSource(path string) (Source, error) {
	kind, err := KindOf(path)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	src := kind.Source(path)
	switch s := src.(type) {
	case ListFile:
		src, err = s.Resolve(ctx)
	case PRDFile:
		src, err = s.Resolve(ctx)
	case TaskmasterFile:
		src, err = s.Resolve(ctx)
	case Backlog:
		src, err = s.Resolve(ctx)
	default:
		return nil, fmt.Errorf("tasks: task file %s: it holds definitions, which package tasks/spec reads, and no list of stories: the key is \"userStories\"", path)
	}
	if err != nil {
		return nil, err
	}
	if _, err = src.Items(ctx); err != nil {
		return nil, err
	}
	return src, nil
}
