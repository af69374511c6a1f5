package tasks

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/doc"
)

// A front is the front matter of a Markdown file: the keys between two lines "---" at its
// beginning. Each key is read by itself, so that what other keys hold, which need not be
// YAML in the files that people have ("assignee: @me"), keeps none from being read. A
// YAML reader for the whole would refuse such a file, and one that writes YAML back
// would reformat it.
type front struct {
	text    []byte
	entries []frontEntry
	end     int // where the line is that closes it
	body    int // where the text below it begins
}

// A frontEntry is a key at the left margin and the lines that belong to it. It is all
// of what is replaced when its value is set, so a value of several lines goes as a
// whole.
type frontEntry struct {
	key      string
	from, to int // in the text, in bytes; the line end is within
	line     int // from 1
}

// readFront reads the front matter of a file; ok is false if it has none: the first
// line must be "---", and some later one must close it.
func readFront(text []byte) (f front, ok bool) {
	f.text = text
	at, line := 0, 0
	for row := range bytes.Lines(text) {
		from := at
		at, line = at+len(row), line+1
		content := bytes.TrimRight(row, " \t\r\n")
		if line == 1 {
			// A byte order mark, which some editors write, is no part of the line.
			if string(bytes.TrimPrefix(content, []byte("\ufeff"))) != "---" {
				return f, false
			}
			continue
		}
		if string(content) == "---" || string(content) == "..." {
			f.end, f.body = from, at
			return f, true
		}
		f.add(string(content), from, at, line)
	}
	return f, false
}

// add takes a line to the key that it begins, or goes on with. A key stands at the left
// margin, and begins with nothing that means something else in YAML; a line that is
// indented, a comment or an entry of a list goes on.
func (f *front) add(content string, from, to, line int) {
	key, rest, colon := strings.Cut(content, ":")
	key = strings.TrimRight(key, " \t")
	begins := colon && key != "" && !strings.ContainsAny(key[:1], " \t#-\"'{}[],&*!|>%@`") && (rest == "" || isBlank(rest[0]))
	switch n := len(f.entries) - 1; {
	case begins:
		f.entries = append(f.entries, frontEntry{key, from, to, line})
	case n >= 0:
		f.entries[n].to = to
	}
}

// entry is what stands under a key, the first if it is there twice, in snake_case or
// not.
func (f front) entry(key string) (frontEntry, bool) {
	i := slices.IndexFunc(f.entries, func(e frontEntry) bool { return snake(e.key) == key })
	if i < 0 {
		return frontEntry{}, false
	}
	return f.entries[i], true
}

// parse reads an entry as YAML; nil = it is none, and its reader takes the text as it
// is.
func (f front) parse(e frontEntry) (*doc.Doc, *doc.Node) {
	d, err := doc.Parse("", f.text[e.from:e.to])
	if err != nil || d.JSON || len(d.Roots) != 1 || len(d.Roots[0].Keys) == 0 || d.Roots[0].Keys[0].Text != e.key {
		return nil, nil
	}
	return d, d.Roots[0].Items[0]
}

// value is the text under a key, in one line, as it stands there if it is no YAML; ""
// if there is none. A number is the text that is written, for 1.10 is an id and no 1.1.
func (f front) value(key string) string {
	e, ok := f.entry(key)
	if !ok {
		return ""
	}
	if _, n := f.parse(e); n != nil {
		if n.Kind == doc.Null || n.Kind == doc.List || n.Kind == doc.Map {
			return ""
		}
		return oneLine(n.Written())
	}
	// What is no YAML, such as a title with a colon in it, is taken as the line has it.
	first, _, _ := bytes.Cut(f.text[e.from:e.to], []byte("\n"))
	_, rest, _ := strings.Cut(string(first), ":")
	return oneLine(rest)
}

// values are the texts of a list under a key, or the one text. "[a, b" that is no YAML
// is split at its commas: what a task waits for must not be lost by a bracket.
func (f front) values(key string) (all []string) {
	e, ok := f.entry(key)
	if !ok {
		return nil
	}
	_, n := f.parse(e)
	if n == nil || n.Kind != doc.List {
		if one := f.value(key); one != "" {
			all = strings.Split(strings.Trim(one, "[]"), ",")
		}
	} else {
		for _, item := range n.Items {
			all = append(all, item.Written())
		}
	}
	for i, one := range all {
		all[i] = oneLine(one)
	}
	return slices.DeleteFunc(all, func(one string) bool { return one == "" })
}

// set returns a copy of the text with another value for a key, in the quotes that are
// there, or with one more key behind the first. All other bytes stay. If that cannot be
// done it is an error, and nothing is guessed: a file that was made worse is not noticed
// before its tool refuses it.
func (f front) set(key, value string) ([]byte, error) {
	e, there := f.entry(key)
	if !there {
		if len(f.entries) == 0 {
			return nil, fmt.Errorf("there is no front matter to write %s into", key)
		}
		e = f.entries[0]
	}
	d, _ := f.parse(e)
	if d != nil {
		name := key
		if there {
			name = e.key
		}
		if next, ok := d.Set(d.Roots[0], e.key, name, doc.String(value)); ok {
			return slices.Concat(f.text[:e.from], next.Text, f.text[e.to:]), nil
		}
	}
	return nil, fmt.Errorf("line %d: the value of %q cannot be changed in place: write it as %s: %s", e.line, e.key, key, value)
}
