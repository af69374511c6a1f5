package spec

import (
	"bytes"
	"encoding/json"
	"slices"
)

// A part is a value in a text of JSON: where it stands, and, as a member of an object,
// where its name begins.
type part struct{ name, from, to int }

// parts are the values in the object or list that stands at in. A key of "" stands for
// all, another for the members of that name.
func parts(text []byte, in part, key string) (found []part, err error) {
	d := json.NewDecoder(bytes.NewReader(text[in.from:in.to]))
	open, err := d.Token()
	for err == nil && d.More() {
		var p part
		var name json.Token = ""
		if open == json.Delim('{') {
			name, err = d.Token()
			p.name = in.from + bytes.LastIndexByte(text[in.from:in.from+int(d.InputOffset())-1], '"') // names with quotes in them are none of ours
		}
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		p.to = in.from + int(d.InputOffset())
		p.from = p.to - len(value)
		if open == json.Delim('[') {
			p.name = p.from
		}
		if key == "" || name == key {
			found = append(found, p)
		}
	}
	return found, err
}

// find is the value at a path of keys; ok = it is there.
func find(text []byte, path ...string) (at part, ok bool, err error) {
	at = part{to: len(bytes.TrimRight(text, " \t\r\n"))}
	for _, key := range path {
		found, err := parts(text, at, key)
		if err != nil || len(found) == 0 {
			return at, false, err
		}
		at = found[len(found)-1]
	}
	return at, true, nil
}

// AddJSON puts a value into the list, or a member into the object, that stands at a
// path of keys in a text of JSON: as the last one, and without changing anything else
// of the text. The value is an element, which begins with {, or a member, like
// "key":1. What of the path is not there is made around it.
//
// It is for files of others, such as a program's settings. [RemoveJSON] takes it out.
func AddJSON(text []byte, value string, path ...string) ([]byte, error) {
	for n := len(path); ; n-- {
		at, ok, err := find(text, path[:n]...)
		if err != nil {
			return nil, err
		}
		if !ok {
			value = `"` + path[n-1] + `":` + map[bool]string{true: "[" + value + "]", false: "{" + value + "}"}[value[0] == '{']
			continue
		}
		end := at.from + len(bytes.TrimRight(text[at.from:at.to-1], " \t\r\n"))
		if text[end-1] != '{' && text[end-1] != '[' {
			value = "," + value
		}
		return slices.Insert(slices.Clone(text), end, []byte(value)...), nil
	}
}

// RemoveJSON takes out the elements, or the members, that are ours of the list or object
// at a path, and what AddJSON has made around them. Ours is given each as it is written.
func RemoveJSON(text []byte, ours func(value []byte) bool, path ...string) ([]byte, error) {
	at, ok, err := find(text, path...)
	if err != nil || !ok {
		return text, err
	}
	there, err := parts(text, at, "")
	for _, p := range slices.Backward(there) {
		if err == nil && ours(text[p.name:p.to]) {
			text, err = remove(text, p, path...)
		}
	}
	return text, err
}

// remove takes out a value that add has put in, and what it has made around it.
func remove(text []byte, p part, path ...string) ([]byte, error) {
	from, to := p.name, p.to
	if before := bytes.TrimRight(text[:from], " \t\r\n"); before[len(before)-1] == ',' {
		from = len(before) - 1
	} else if after := bytes.TrimLeft(text[to:], " \t\r\n"); after[0] == ',' {
		to = len(text) - len(after) + 1
	}
	text = slices.Delete(slices.Clone(text), from, to)
	if len(path) == 0 {
		return text, nil
	}
	at, ok, err := find(text, path...)
	if made := `"` + path[len(path)-1] + `":`; err == nil && ok && at.to-at.from == 2 && bytes.HasPrefix(text[at.name:], []byte(made+string(text[at.from]))) {
		return remove(text, at, path[:len(path)-1]...)
	}
	return text, err
}
