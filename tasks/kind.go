package tasks

import (
	"bytes"
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
// userStories, or stories without that key around them. It reads the file and returns its error if it cannot be read.
func KindOf(path string) (Kind, error) {
	text, err := readRegular("task file", path)
	if err != nil {
		return "", err
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml":
		return KindDefinitions, nil
	case ".json":
		return kindOfJSON(bytes.TrimPrefix(text, []byte("\ufeff"))), nil
	case ".md", ".markdown", ".txt", "":
		return KindList, nil
	}
	return "", fmt.Errorf("task file %s: what it holds is not known by its name: a list ends in .md, definitions in .yaml, .yml or .json, and stories are in prd.json", path)
}

// kindOfJSON goes by the keys. What is no JSON is taken for definitions, whose
// reader says where it is wrong.
func kindOfJSON(text []byte) Kind {
	var file map[string]json.RawMessage
	if json.Unmarshal(text, &file) == nil {
		for key := range file {
			if strings.EqualFold(key, "userStories") {
				return KindPRD
			}
		}
		if file["id"] == nil && file["task"] == nil && file["tasks"] == nil {
			return KindPRD // to be told what a prd.json has
		}
		return KindDefinitions
	}
	var stories []map[string]json.RawMessage
	if json.Unmarshal(text, &stories) == nil {
		for _, story := range stories {
			if story["passes"] != nil || story["acceptanceCriteria"] != nil {
				return KindPRD
			}
		}
	}
	return KindDefinitions
}
