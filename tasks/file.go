package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph/internal/file"
	"github.com/ralph-loop/ralph/internal/git"
)

// A Kind is what a file of tasks holds.
type Kind string

const (
	KindList        Kind = "list"        // a Markdown list, see [ParseList]
	KindPRD         Kind = "prd"         // a prd.json, see [ParsePRD]
	KindDefinitions Kind = "definitions" // definitions in YAML or JSON, which package tasks/spec reads
)

// KindOf says what a file holds, by the ending of its name, in any case: .md and
// .markdown are lists, .yaml and .yml definitions. In .json, and in .txt or
// without an ending if the text begins with a brace or is a JSON list, the keys
// tell: an object with userStories, or a list of stories, is a prd.json; an
// object with id, task or tasks, another list, and what is no JSON, are
// definitions, whose reader says where they are wrong. Any other .txt, and file
// without an ending, is a list. Another ending is an error, and so is a file that
// cannot be read or is none.
func KindOf(path string) (Kind, error) {
	text, err := read("task file", path)
	if err != nil {
		return "", err
	}
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	switch strings.ToLower(filepath.Ext(path)) {
	case ".md", ".markdown":
		return KindList, nil
	case ".yaml", ".yml":
		return KindDefinitions, nil
	case ".json":
		return kindOfJSON(text), nil
	case ".txt", "":
		if bytes.HasPrefix(text, []byte("{")) || bytes.HasPrefix(text, []byte("[")) && json.Valid(text) {
			return kindOfJSON(text), nil
		}
		return KindList, nil
	}
	return "", fmt.Errorf("tasks: task file %s: what it holds is not known by its name: a list ends in .md, definitions in .yaml, .yml or .json, and stories are in prd.json", path)
}

func kindOfJSON(text []byte) Kind {
	var object struct{ UserStories, ID, Task, Tasks json.RawMessage }
	if json.Unmarshal(text, &object) == nil && (object.UserStories != nil || object.ID == nil && object.Task == nil && object.Tasks == nil) {
		return KindPRD // without userStories to be told what a prd.json has
	}
	var stories []struct{ Passes, AcceptanceCriteria json.RawMessage }
	if json.Unmarshal(text, &stories) == nil {
		for _, story := range stories {
			if story.Passes != nil || story.AcceptanceCriteria != nil {
				return KindPRD
			}
		}
	}
	return KindDefinitions
}

// OpenSource returns the source that a file is by [KindOf]: a [ListFile] or a
// [PRDFile]. It reads the file and returns its error if nothing can be worked on
// from there. A symbolic link is resolved now, once: the source is the file that it
// leads to. A file of definitions is no source.
func OpenSource(path string) (Source, error) {
	kind, err := KindOf(path)
	if err != nil {
		return nil, err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, fmt.Errorf("tasks: %w", err)
		}
	}
	var src Source = ListFile{Path: path}
	switch kind {
	case KindPRD:
		src = PRDFile{Path: path}
	case KindDefinitions:
		return nil, fmt.Errorf("tasks: task file %s: it holds definitions, which package tasks/spec reads, and no list of stories: the key is \"userStories\"", path)
	}
	if _, err = src.Items(context.Background()); err != nil {
		return nil, err
	}
	return src, nil
}

// branch is the git branch that is checked out in a folder, "" if there is none.
func branch(ctx context.Context, dir string) string {
	name, _ := git.Branch(ctx, dir) // none if it fails
	return name
}

// maxText is the most that is read of a list or a prd.json, in bytes.
const maxText = 16 << 20

// read reads a file. What names it in errors.
func read(what, path string) ([]byte, error) {
	text, err := file.Read(what, path, maxText)
	if err != nil {
		return nil, fmt.Errorf("tasks: %w", err)
	}
	return text, nil
}
