// Package doc reads YAML and JSON into one tree in which every value knows where
// it stands: an error can point at it, and it can be changed in place while all
// other bytes of the text, comments and layout included, stay as they are.
//
//	d, err := doc.Parse("tasks.yaml", text)
//	for _, root := range d.Roots {
//		status := root.Get("status")
//		line, column := d.Place(status)
//		d, ok = d.Set(root, "id", "status", doc.String("done")) // d.Text is the new text
//	}
//
// What a program makes of the values is its own business; nothing here knows
// what a task is. Texts come from strangers: size, depth and what aliases make
// of a text are bounded, and tags that ask for anything but plain data are errors.
package doc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of a text, so that no file can take all memory: its size in bytes, how
// deep it nests, and what its aliases make of it.
const (
	MaxText   = 4 << 20
	maxDepth  = 100
	maxNodes  = 200_000
	maxShared = 16 << 20 // bytes of all texts with aliases expanded
)

const byteOrderMark = "\xef\xbb\xbf"

// A Doc is a text and the values in it. It is never changed: [Doc.Set] and
// [Doc.Append] return another one. The zero Doc is for nodes that came without a
// text.
type Doc struct {
	Name string // as it was given; for messages
	Text []byte // must not be changed
	JSON bool   // else YAML
	// Roots are the values, one for each YAML document that is not empty. They
	// must not be changed.
	Roots []*Node

	value        bool  // a value of a larger whole: places in it help nobody
	repeats      bool  // keys may be given twice, and texts need not be UTF-8
	lines        []int // where lines begin; nil = not looked for yet
	nodes, bytes int   // what was made of the text so far
}

// A Problem is one thing that keeps a text from being read, and where.
type Problem struct {
	File         string // the name that was given
	Line, Column int    // from 1, in characters; 0 = not known
	Text         string
}

// Problems is the error of everything in this package that reads: at least one,
// at most a hundred.
type Problems []Problem

// Error returns one line for each problem: "file:line:column: text".
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = fmt.Sprintf("%s:%d:%d: %s", one.File, one.Line, one.Column, one.Text)
	}
	return strings.Join(lines, "\n")
}

// Parse reads a text. It is JSON if the name ends in .json or if all of it is
// JSON, else YAML. A byte order mark is skipped. Keys that are given twice are
// errors. The error is [Problems].
func Parse(name string, text []byte) (*Doc, error) {
	return parse(&Doc{Name: name, Text: text})
}

// ParseJSON reads a text that is JSON whatever its name. Unlike in [Parse], a key
// may be given twice: the caller finds both in [Node.Keys]. What is no UTF-8 is
// replaced in texts and keys.
func ParseJSON(name string, text []byte) (*Doc, error) {
	return parse(&Doc{Name: name, Text: text, JSON: true, repeats: true})
}

func parse(d *Doc) (*Doc, error) {
	if len(d.Text) > MaxText {
		return nil, d.fail(nil, "the file has more than %d bytes, which is the most that is read", MaxText)
	}
	if at := NotUTF8(d.Text); at >= 0 && !d.repeats {
		return nil, d.fail(&Node{Start: at}, "the file is not UTF-8")
	}
	body := bytes.TrimPrefix(d.Text, []byte(byteOrderMark))
	first, _ := utf8.DecodeRune(bytes.TrimLeft(body, " \t\r\n"))
	d.JSON = d.JSON || strings.EqualFold(filepath.Ext(d.Name), ".json") || (first == '{' || first == '[') && json.Valid(body)
	var err error
	if d.JSON {
		err = d.parseJSON(body)
	} else {
		err = d.parseYAML()
	}
	if err == nil && !d.repeats {
		err = d.unique(d.Roots)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// FromJSON reads one JSON value that is no text of its own, so that problems in
// it have no place.
func FromJSON(raw []byte) (*Node, error) {
	d := &Doc{Text: raw, JSON: true, value: true}
	if err := d.parseJSON(raw); err != nil {
		return nil, err
	}
	if err := d.unique(d.Roots); err != nil {
		return nil, err
	}
	return d.Roots[0], nil
}

// NotUTF8 returns where a text stops being UTF-8, in bytes; -1 = it does not.
func NotUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	return bytes.IndexFunc(bytes.ReplaceAll(text, []byte("\uFFFD"), []byte("xxx")), func(r rune) bool { return r == utf8.RuneError })
}

// Place returns where a value stands, from 1, in characters; 0 if that is not
// known, as for a nil node.
func (d *Doc) Place(n *Node) (line, column int) {
	switch {
	case n == nil:
		return 0, 0
	case n.line > 0:
		return n.line, n.column
	case d.value || n.Start < 0 || d.Text == nil:
		return 0, 0
	}
	line = d.Line(n)
	before := d.Text[d.lines[line-1]:min(n.Start, len(d.Text))]
	if line == 1 {
		before = bytes.TrimPrefix(before, []byte(byteOrderMark))
	}
	return line, utf8.RuneCount(before) + 1
}

// Line returns the line in which a JSON value of the text stands, from 1. The time does
// not grow with the length of the line, as that of [Doc.Place] does.
func (d *Doc) Line(n *Node) int {
	if d.lines == nil {
		d.lines = []int{0}
		for i, c := range d.Text {
			if c == '\n' {
				d.lines = append(d.lines, i+1)
			}
		}
	}
	i, _ := slices.BinarySearch(d.lines, n.Start+1)
	return i
}

func (d *Doc) problem(n *Node, format string, args ...any) Problem {
	line, column := d.Place(n)
	return Problem{d.Name, line, column, fmt.Sprintf(format, args...)}
}

func (d *Doc) fail(n *Node, format string, args ...any) error {
	return Problems{d.problem(n, format, args...)}
}

// count keeps the bounds.
func (d *Doc) count(n *Node, depth, size int) error {
	d.nodes++
	d.bytes += size
	switch {
	case depth > maxDepth:
		return d.fail(n, "values are nested more than %d deep", maxDepth)
	case d.nodes > maxNodes || d.bytes > maxShared:
		return d.fail(n, "there are too many values; aliases count each time they are used")
	}
	return nil
}

// unique reports the keys that are given twice in the first mapping that has
// such, the innermost first.
func (d *Doc) unique(nodes []*Node) error {
	for _, n := range nodes {
		if err := d.unique(n.Items); err != nil {
			return err
		}
		var all Problems
		seen := make(map[string]*Node, len(n.Keys))
		for _, key := range n.Keys {
			if first := seen[key.Text]; first != nil && len(all) < 100 {
				where := ""
				if line, _ := d.Place(first); line > 0 {
					where = fmt.Sprintf(" (first on line %d)", line)
				}
				all = append(all, d.problem(key, "the key %s is given twice%s", Quote(key.Text), where))
			}
			seen[key.Text] = key
		}
		if all != nil {
			return all
		}
	}
	return nil
}
