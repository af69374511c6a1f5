package tasks

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Add appends a definition, and changes nothing that stands in the text: a list
// gets one more entry in its own layout; a file that is no list, or whose list
// cannot be added to, gets one more YAML document. The file is written by
// [File.Save]; a file that is not there yet is [Definition.YAML].
//
// It is an error if the definition is not valid (see [Definition.Validate]), if
// the file has a task of its ID, or if it is JSON and holds no list.
func (f *File) Add(d Definition) error {
	refuse := func(text string) error { return &Problem{File: f.Name, Task: d.ID, Text: text} }
	if err := d.Validate(f.Methods); err != nil {
		return err
	}
	if slices.ContainsFunc(f.units, func(u unit) bool { return u.def.ID == d.ID }) {
		return refuse("the file has a task of this ID")
	}
	n, err := d.node()
	if err != nil {
		return err
	}
	additions, err := f.additions(n)
	if err != nil {
		return err
	}
	for _, e := range additions {
		next, err := Parse(f.Name, e.apply(f.doc.text))
		if err == nil && f.addedTo(next, n) {
			next.Methods, next.loaded = f.Methods, f.loaded
			*f = *next
			return nil
		}
	}
	return refuse("it cannot be added: the file holds no list of tasks")
}

func (e edit) apply(text []byte) []byte {
	return slices.Concat(text[:e.start], []byte(e.text), text[e.end:])
}

// addedTo says whether next is f and one more task.
func (f *File) addedTo(next *File, n *node) bool {
	last := len(f.units)
	if len(next.units) != last+1 || len(next.parts) != len(f.parts) || !next.units[last].node.equal(n) {
		return false
	}
	for i, u := range f.units {
		if !u.node.equal(next.units[i].node) {
			return false
		}
	}
	return true
}

// list is the list of tasks at the end of the text, or nil.
func (f *File) list() *node {
	root := f.roots[len(f.roots)-1]
	if root.kind == nodeMap {
		root = root.get("tasks")
	}
	if root == nil || root.kind != nodeList {
		return nil
	}
	return root
}

// additions are the ways in which a definition could be added, the best first.
func (f *File) additions(n *node) ([]edit, error) {
	list := f.list()
	if f.doc.json {
		if list == nil {
			return nil, nil
		}
		return []edit{f.addJSON(list, n)}, nil
	}
	var all []edit
	if list != nil && !list.flow {
		text, err := n.yamlText()
		if err != nil {
			return nil, err
		}
		lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
		indent := strings.Repeat(" ", list.column-1)
		all = append(all, f.atEnd(indent+"- "+strings.Join(lines, indent+"  ")+"\n"))
	}
	wrapped := &node{kind: nodeMap, offset: -1}
	wrapped.add("task", n)
	text, err := wrapped.yamlText()
	if err != nil {
		return nil, err
	}
	return append(all, f.atEnd("---\n"+string(text))), nil
}

// atEnd adds lines to the text, with its line ends.
func (f *File) atEnd(lines string) edit {
	text := f.doc.text
	if len(text) > 0 && text[len(text)-1] != '\n' {
		lines = "\n" + lines
	}
	if bytes.Contains(text, []byte("\r\n")) {
		lines = strings.ReplaceAll(lines, "\n", "\r\n")
	}
	return edit{len(text), len(text), lines}
}

// addJSON adds an item to a list that has some, laid out as its first.
func (f *File) addJSON(list, n *node) edit {
	end := list.items[len(list.items)-1].end
	space := f.doc.text[list.offset+1 : list.items[0].offset]
	value := []byte(n.json())
	if i := bytes.LastIndexByte(space, '\n'); i >= 0 {
		var b bytes.Buffer
		if json.Indent(&b, value, string(space[i+1:]), "  ") == nil { // it is valid
			value = b.Bytes()
		}
		if bytes.Contains(space, []byte("\r\n")) {
			value = bytes.ReplaceAll(value, []byte("\n"), []byte("\r\n"))
		}
	}
	return edit{end, end, "," + string(space) + string(value)}
}
