package tasks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Bounds of a text, so that no file can take all memory: its size, how deep it
// nests, and what its aliases make of it.
const (
	maxText   = 4 << 20
	maxDepth  = 100
	maxNodes  = 200_000
	maxShared = 16 << 20 // bytes of all texts with aliases expanded
)

const byteOrderMark = "\xef\xbb\xbf"

// A document is a text that nodes came from.
type document struct {
	name string
	text []byte
	json bool
	file bool // a text that people see: its lines and columns help them
	// nodes and bytes count what was made of the text so far.
	nodes, bytes int
}

// problem is an error at a node; nil is a place that is not known.
func (d *document) problem(n *node, format string, args ...any) *Problem {
	p := &Problem{File: d.name, Text: fmt.Sprintf(format, args...)}
	switch {
	case n == nil:
	case n.line > 0:
		p.Line, p.Column = n.line, n.column
	case d.file && n.offset >= 0:
		p.Line, p.Column = d.place(n.offset)
	}
	return p
}

// place returns line and column of an offset.
func (d *document) place(offset int) (line, column int) {
	before := d.text[:min(offset, len(d.text))]
	start := bytes.LastIndexByte(before, '\n') + 1
	if start == 0 {
		before = bytes.TrimPrefix(before, []byte(byteOrderMark))
	}
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}

// parse returns the documents of a text.
func (d *document) parse() ([]*node, error) {
	if len(d.text) > maxText {
		return nil, &Problem{File: d.name, Text: fmt.Sprintf("the file has more than %d bytes, which is the most that is read", maxText)}
	}
	if !utf8.Valid(d.text) {
		at := 0
		for rest := d.text; ; at++ {
			r, size := utf8.DecodeRune(rest)
			if r == utf8.RuneError && size == 1 {
				break
			}
			at, rest = at+size-1, rest[size:]
		}
		p := &Problem{File: d.name, Text: "the file is not UTF-8"}
		p.Line, p.Column = d.place(at)
		return nil, p
	}
	body := bytes.TrimPrefix(d.text, []byte(byteOrderMark))
	first, _ := utf8.DecodeRune(bytes.TrimLeft(body, " \t\r\n"))
	if strings.EqualFold(filepath.Ext(d.name), ".json") || (first == '{' || first == '[') && json.Valid(body) {
		d.json = true
		root, err := d.parseJSON(body)
		if err != nil {
			return nil, err
		}
		return []*node{root}, nil
	}
	return d.parseYAML()
}

// parseJSON reads one JSON value.
func (d *document) parseJSON(body []byte) (*node, error) {
	var whole json.RawMessage
	if err := json.Unmarshal(body, &whole); err != nil {
		p := &Problem{File: d.name, Text: "this is not JSON: " + err.Error()}
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok && d.file {
			p.Line, p.Column = d.place(len(d.text) - len(body) + max(int(syntax.Offset)-1, 0))
		}
		return nil, p
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	j := jsonReader{doc: d, dec: dec, body: body, skipped: len(d.text) - len(body)}
	return j.value(0)
}

type jsonReader struct {
	doc     *document
	dec     *json.Decoder
	body    []byte
	skipped int // bytes before body
}

// token reads the next token and where it stands.
func (j *jsonReader) token() (json.Token, *node, error) {
	start := int(j.dec.InputOffset())
	for start < len(j.body) && strings.IndexByte(" \t\r\n,:", j.body[start]) >= 0 {
		start++
	}
	tok, err := j.dec.Token()
	return tok, &node{offset: start + j.skipped, end: int(j.dec.InputOffset()) + j.skipped}, err
}

func (j *jsonReader) value(depth int) (*node, error) {
	tok, n, err := j.token()
	if err != nil {
		return nil, err
	}
	if err := j.doc.count(n, depth, 0); err != nil {
		return nil, err
	}
	switch v := tok.(type) {
	case bool:
		n.kind, n.text = nodeBool, fmt.Sprint(v)
	case json.Number:
		n.kind, n.text = numberKind(v.String()), v.String()
	case string:
		n.kind, n.text = nodeText, v
	case json.Delim:
		n.flow = true
		if v == '{' {
			n.kind = nodeMap
		} else {
			n.kind = nodeList
		}
		return n, j.fill(n, depth)
	}
	return n, nil
}

// fill reads what is in a list or a mapping.
func (j *jsonReader) fill(n *node, depth int) error {
	for j.dec.More() {
		if n.kind == nodeMap {
			tok, key, err := j.token()
			if err != nil {
				return err
			}
			key.kind, key.text = nodeText, fmt.Sprint(tok)
			n.keys = append(n.keys, key)
		}
		item, err := j.value(depth + 1)
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	_, closing, err := j.token()
	n.end = closing.end
	return errors.Join(err, j.doc.unique(n))
}

func numberKind(text string) nodeKind {
	if strings.ContainsAny(text, ".eE") {
		return nodeFloat
	}
	return nodeInt
}

// count keeps the bounds.
func (d *document) count(n *node, depth, size int) error {
	d.nodes++
	d.bytes += size
	switch {
	case depth > maxDepth:
		return d.problem(n, "values are nested more than %d deep", maxDepth)
	case d.nodes > maxNodes || d.bytes > maxShared:
		return d.problem(n, "there are too many values; aliases count each time they are used")
	}
	return nil
}

// unique reports keys that are given twice.
func (d *document) unique(n *node) error {
	var all problems
	seen := make(map[string]*node, len(n.keys))
	for _, key := range n.keys {
		if first := seen[key.text]; first != nil && !all.full() {
			where := ""
			if at := d.problem(first, ""); at.Line > 0 {
				where = fmt.Sprintf(" (first on line %d)", at.Line)
			}
			all.add(d.problem(key, "the key %s is given twice%s", quoteShort(key.text), where))
		}
		seen[key.text] = key
	}
	return all.join()
}

// parseYAML reads all documents; those without content are left out.
func (d *document) parseYAML() ([]*node, error) {
	// The library does not say where a control character stands.
	if at := bytes.IndexFunc(d.text, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f }); at >= 0 {
		p := &Problem{File: d.name, Text: fmt.Sprintf("there is a control character (%q)", d.text[at])}
		p.Line, p.Column = d.place(at)
		return nil, p
	}
	loader, err := yaml.NewLoader(bytes.NewReader(d.text))
	if err != nil {
		return nil, err
	}
	var roots []*node
	for {
		var n yaml.Node
		if err := loader.Load(&n); errors.Is(err, io.EOF) {
			return roots, nil
		} else if err != nil {
			return nil, d.syntax(err)
		}
		for _, root := range n.Content {
			v, err := d.convert(root, 0, false)
			if err != nil {
				return nil, err
			}
			if v.kind != nodeNull {
				roots = append(roots, v)
			}
		}
	}
}

// syntax makes a problem of the library's error.
func (d *document) syntax(err error) error {
	p := &Problem{File: d.name, Text: "this is not YAML: " + err.Error()}
	if e, ok := errors.AsType[*yaml.LoadError](err); ok {
		p.Text = "this is not YAML: " + e.Message
		if e.ContextMsg != "" {
			p.Text += " " + e.ContextMsg
			if e.ContextMark.Line > 0 {
				p.Text += fmt.Sprintf(" that begins on line %d", e.ContextMark.Line)
			}
		}
		if e.Mark.Line > 0 {
			p.Line, p.Column = e.Mark.Line, max(e.Mark.Column, 1)
		}
	}
	return p
}
