package tasks

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// SetStatus sets the status of a task, and changes nothing else in the text: a
// status that is there is replaced in its own quotes, one that is missing gets a
// line after the ID. The file is written by [File.Save].
//
// It is an error if there is no such task, if its ID is given twice, or if its
// status cannot be changed alone, because it stands in an anchor or is written as
// a block of text.
func (f *File) SetStatus(id string, s Status) error {
	if strings.TrimSpace(string(s)) == "" {
		return &Problem{File: f.Name, Task: id, Text: "a status cannot be empty"}
	}
	return f.set(id, "status", textNode(string(s)))
}

// SetIteration sets the iteration of a task, as SetStatus does its status.
func (f *File) SetIteration(id string, n int) error {
	if n < 0 {
		return &Problem{File: f.Name, Task: id, Text: fmt.Sprintf("an iteration cannot be negative, found %d", n)}
	}
	return f.set(id, "iteration", &node{kind: nodeInt, text: strconv.Itoa(n), offset: -1})
}

// SetUpdatedAt sets updated_at of a task, in UTC and to the second, as SetStatus
// does its status.
func (f *File) SetUpdatedAt(id string, t time.Time) error {
	return f.set(id, "updated_at", textNode(t.UTC().Format(time.RFC3339)))
}

func (f *File) unit(id string) (*node, error) {
	var found *node
	for _, u := range f.units {
		if u.def.ID != id {
			continue
		}
		if found != nil {
			p := f.doc.problem(u.node, "the ID is given twice, so it is not clear which task is meant")
			p.Task = id
			return nil, p
		}
		found = u.node
	}
	if found == nil {
		r := reader{}
		return nil, &Problem{File: f.Name, Text: fmt.Sprintf("there is no task %s%s", quoteShort(id), r.meantID(id, f.units))}
	}
	return found, nil
}

// set changes the value of a key of a task. Each way to write it is tried on a
// copy of the text, and taken only if what is read from that copy differs in
// this value and in nothing else.
func (f *File) set(id, key string, value *node) error {
	target, err := f.unit(id)
	if err != nil {
		return err
	}
	if old := target.get(key); old != nil && old.equal(value) {
		return nil
	}
	for _, e := range f.edits(target, key, value) {
		next, err := Parse(f.Name, e.apply(f.doc.text))
		if err != nil || len(next.roots) != len(f.roots) {
			continue
		}
		same := true
		for i, root := range f.roots {
			same = same && root.sameBut(next.roots[i], target, key, value)
		}
		if same {
			next.Methods, next.loaded = f.Methods, f.loaded
			*f = *next
			return nil
		}
	}
	at := target
	if item := target.get(key); item != nil {
		at = item
	}
	p := f.doc.problem(at, "%s cannot be changed without changing more than it; write it as %s: %s on a line of its own", key, key, value.text)
	p.Task = id
	return p
}

// sameBut says whether n and o are the same but for one key of the mapping
// target within n, which has the value in o.
func (n *node) sameBut(o, target *node, key string, value *node) bool {
	if n == target {
		got := o.get(key)
		return got != nil && got.equal(value) && n.without(key).equal(o.without(key))
	}
	if n.kind != o.kind || n.text != o.text || len(n.items) != len(o.items) || len(n.keys) != len(o.keys) {
		return false
	}
	for i, item := range n.items {
		if len(n.keys) > 0 && !n.keys[i].equal(o.keys[i]) || !item.sameBut(o.items[i], target, key, value) {
			return false
		}
	}
	return true
}

// without is a mapping without one of its keys.
func (n *node) without(key string) *node {
	rest := *n
	rest.keys, rest.items = nil, nil
	for i, k := range n.keys {
		if k.text != key {
			rest.keys, rest.items = append(rest.keys, k), append(rest.items, n.items[i])
		}
	}
	return &rest
}

// An edit replaces a part of a text.
type edit struct {
	start, end int
	text       string
}

// edits are the ways in which a value could be written, the best first.
func (f *File) edits(target *node, key string, value *node) []edit {
	item := target.get(key)
	switch {
	case item == nil || item.merged:
		return f.insertions(target, key, value)
	case f.doc.json:
		return []edit{{item.offset, item.end, string(value.json())}}
	}
	quoted := string(value.json())
	start, end := f.doc.scalarAt(item)
	switch {
	case end < 0:
		return nil
	case item.kind == nodeNull && item.raw == "":
		return []edit{{start, start, " " + value.text}, {start, start, " " + quoted}, {start, start, ": " + quoted}}
	case bytes.HasPrefix(f.doc.text[start:], []byte(`"`)):
		if value.kind != nodeText {
			quoted = value.text
		}
		return []edit{{start, end, quoted}}
	case bytes.HasPrefix(f.doc.text[start:], []byte(`'`)):
		return []edit{{start, end, "'" + strings.ReplaceAll(value.text, "'", "''") + "'"}, {start, end, quoted}}
	}
	return []edit{{start, end, value.text}, {start, end, quoted}}
}

// scalarAt returns where a YAML value stands that is written on one line, without
// anchor and tag; an alias stands where it is used. If it is written otherwise,
// end is -1.
func (d *document) scalarAt(n *node) (start, end int) {
	start = d.offsetOf(n.line, n.column)
	start, rest := skipProperties(start, string(d.text[start:]))
	switch {
	case n.kind == nodeNull && n.raw == "":
		return start, start
	case strings.HasPrefix(rest, `"`):
		return start, start + doubleQuoted(rest)
	case strings.HasPrefix(rest, `'`):
		return start, start + singleQuoted(rest)
	case n.alias && strings.HasPrefix(rest, "*"):
		if i := strings.IndexAny(rest, " \t\r\n,]}"); i >= 0 {
			rest = rest[:i]
		}
		return start, start + len(rest)
	case strings.HasPrefix(rest, n.raw):
		return start, start + len(n.raw)
	}
	return start, -1
}

// skipProperties skips an anchor and a tag before a value.
func skipProperties(start int, rest string) (int, string) {
	for strings.HasPrefix(rest, "&") || strings.HasPrefix(rest, "!") {
		i := strings.IndexAny(rest, " \t\r\n")
		if i < 0 {
			break
		}
		trimmed := strings.TrimLeft(rest[i:], " \t")
		start += len(rest) - len(trimmed)
		rest = trimmed
	}
	return start, rest
}

// doubleQuoted is the length of a text in double quotes.
func doubleQuoted(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// singleQuoted is the length of a text in single quotes.
func singleQuoted(s string) int {
	for i := 1; i < len(s); i++ {
		if s[i] != '\'' {
			continue
		}
		if i+1 == len(s) || s[i+1] != '\'' {
			return i + 1
		}
		i++
	}
	return len(s)
}

// insertions add a key after the ID.
func (f *File) insertions(target *node, key string, value *node) []edit {
	i := target.index("id")
	if i < 0 {
		return nil
	}
	id, val := target.keys[i], target.items[i]
	text := f.doc.text
	keyAt, end := id.offset, val.end
	if !f.doc.json {
		keyAt = f.doc.offsetOf(id.line, id.column)
		_, end = f.doc.scalarAt(val)
	}
	if end < 0 {
		return nil
	}
	if target.flow {
		return f.insertFlow(text, keyAt, end, key, value)
	}
	newline := "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		newline = "\r\n"
	}
	if i := bytes.IndexByte(text[end:], '\n'); i >= 0 {
		end += i
		if text[end-1] == '\r' {
			end--
		}
	} else {
		end = len(text)
	}
	line := newline + strings.Repeat(" ", id.column-1) + key + ": "
	return []edit{{end, end, line + value.text}, {end, end, line + string(value.json())}}
}

// insertFlow adds a key to a mapping in braces, laid out as the ID before it.
func (f *File) insertFlow(text []byte, keyAt, end int, key string, value *node) []edit {
	quotedKey := key
	if f.doc.json || text[keyAt] == '"' {
		quotedKey = strconv.Quote(key)
	}
	colon, comma := ": ", ", "
	if f.doc.json {
		_, after, _ := bytes.Cut(text[keyAt:end], []byte(":"))
		if !bytes.HasPrefix(after, []byte(" ")) {
			colon, comma = ":", ","
		}
	}
	lineStart := bytes.LastIndexByte(text[:keyAt], '\n') + 1
	if indent := text[lineStart:keyAt]; lineStart > 0 && len(bytes.TrimSpace(indent)) == 0 {
		comma = ",\n" + string(indent)
		if lineStart > 1 && text[lineStart-2] == '\r' {
			comma = ",\r\n" + string(indent)
		}
	}
	start := comma + quotedKey + colon
	if f.doc.json {
		return []edit{{end, end, start + string(value.json())}}
	}
	return []edit{{end, end, start + value.text}, {end, end, start + string(value.json())}}
}

// offsetOf is the offset of a line and a column as package yaml counts them: CR
// LF, CR, LF and Unicode's line separators end a line, a byte order mark does
// not count.
func (d *document) offsetOf(line, column int) int {
	at := 0
	if bytes.HasPrefix(d.text, []byte(byteOrderMark)) {
		at = len(byteOrderMark)
	}
	for ; line > 1 && at < len(d.text); line-- {
		i := bytes.IndexFunc(d.text[at:], func(r rune) bool {
			return r == '\n' || r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029
		})
		if i < 0 {
			return len(d.text)
		}
		at += i
		_, size := utf8.DecodeRune(d.text[at:])
		if bytes.HasPrefix(d.text[at:], []byte("\r\n")) {
			size = len("\r\n")
		}
		at += size
	}
	for ; column > 1 && at < len(d.text); column-- {
		_, size := utf8.DecodeRune(d.text[at:])
		at += size
	}
	return at
}
