package tasks

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

// A Kind is what a file of tasks holds.
type Kind string

const (
	KindList        Kind = "list"        // a Markdown list, see [ParseList]
	KindPRD         Kind = "prd"         // a prd.json, see [ParsePRD]
	KindDefinitions Kind = "definitions" // definitions in YAML or JSON, see [Load]
)

// KindOf says what a file holds, by its name and, for JSON, by whether it has
// userStories. It reads the file and returns its error if it cannot be read.
func KindOf(path string) (Kind, error) {
	text, err := readRegular("task file", path)
	if err != nil {
		return "", err
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml":
		return KindDefinitions, nil
	case ".json":
		var keys map[string]json.RawMessage
		if json.Unmarshal(text, &keys) == nil {
			for key := range keys {
				if strings.EqualFold(key, "userStories") {
					return KindPRD, nil
				}
			}
			if keys["id"] == nil && keys["task"] == nil && keys["tasks"] == nil {
				return KindPRD, nil // to be told what a prd.json has
			}
		}
		return KindDefinitions, nil
	case ".md", ".markdown", ".txt", "":
		return KindList, nil
	}
	return "", fmt.Errorf("task file %s: what it holds is not known by its name: a list ends in .md, definitions in .yaml, .yml or .json, and stories are in prd.json", path)
}
