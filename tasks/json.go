package tasks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/internal/doc"
	"github.com/ralph-loop/ralph/internal/file"
)

// A jsonText is a text of JSON that is being read, and the stories or tasks that have
// been read of it. It serves one reading of one text, and is not for concurrent use.
type jsonText struct {
	*doc.Doc
	what  string // "story" or "task"
	list  string // the key of the list of them
	phase string // what the list that is being read belongs to
	notes statusNotes
	// an id may be there twice; what that means is noted rather than refused
	twins   bool
	keys    entryKeys
	entries []*entry // in the order of the file, those that are parts of others not among them
	// stateKey is the first key that says how far something is, as it is written; doneWord
	// the first word of a status that means done. What has no state is given such a one.
	stateKey, doneWord string
	compare            func(a, b *entry) int // says which comes first, where that is free
	// the first mistake; reading goes on, so that no caller has to ask after each value
	err error
}

// readJSON parses a text. The reader of located values takes a text or refuses it; what
// is wrong with one that is no JSON at all is asked of encoding/json, whose words
// people know and can look up, with line and column added.
func readJSON(what, list string, text []byte) (*jsonText, error) {
	if !utf8.Valid(text) {
		return nil, notUTF8(text)
	}
	p := &jsonText{Doc: &doc.Doc{Text: text}, what: what, list: list, notes: make(statusNotes), keys: newEntryKeys(), compare: byPriority}
	d, err := doc.ParseJSON("", text)
	if err == nil {
		p.Doc = d
		return p, nil
	}
	body := bytes.TrimPrefix(text, []byte("\ufeff"))
	if err := json.Unmarshal(body, new(json.RawMessage)); err != nil {
		at := len(text)
		early := json.NewDecoder(bytes.NewReader(body)).Decode(new(json.RawMessage)) // says whether the text ends too early
		if bad, ok := errors.AsType[*json.SyntaxError](err); ok && !errors.Is(early, io.ErrUnexpectedEOF) {
			at += max(int(bad.Offset)-1, 0) - len(body)
		}
		p.fail(&doc.Node{Start: at}, "bad JSON: %v", err)
		return nil, p.err
	}
	bad, _ := errors.AsType[doc.Problems](err) // it has no other errors
	if bad[0].Line == 0 {                      // it is about the file
		return nil, errors.New(bad[0].Text)
	}
	return nil, fmt.Errorf("line %d, column %d: %s", bad[0].Line, bad[0].Column, bad[0].Text)
}

// text is the text of a value, and a mistake if it is none; then it is "".
func (p *jsonText) text(key string, n *doc.Node) string {
	if n.Kind != doc.Text {
		p.want(key, "a text", n)
	}
	return n.Text
}

// want notes the mistake of a value of the wrong type, in the words of people: a list,
// and not an array; a text, and not a string.
func (p *jsonText) want(key, what string, n *doc.Node) {
	found := [...]string{doc.Null: "null", doc.Bool: "true or false", doc.Integer: "a number", doc.Float: "a number",
		doc.Text: "a text", doc.List: "a list", doc.Map: "an object"}
	p.fail(n, "%s: want %s, found %s", key, what, found[n.Kind])
}

// fail keeps the first mistake, and says where it is: line and column, from 1. Those
// that come after it often follow from it.
func (p *jsonText) fail(n *doc.Node, format string, args ...any) {
	if p.err == nil {
		line, column := p.Place(n)
		p.err = fmt.Errorf("line %d, column %d: %s", line, column, fmt.Sprintf(format, args...))
	}
}

// A jsonReader reads a text of JSON. Sources hand it to what they have in common.
type jsonReader func(text []byte) (*jsonText, error)

// items are the tasks of a text, in the order in which they are to be worked on.
func (p *jsonText) items() []Item { return InOrder(working(p.entries, p.compare)) }

// findings says of each story or task of a text whether it is one to work on, in the
// order of the file. What waits is found in the order of the work, in which circles are
// broken.
func (p *jsonText) findings() []Finding {
	all := make(map[string]*entry)
	for e := range written(p.entries) {
		all[e.Key] = e
	}
	items := p.items()
	waiting, circles := Waiting(items), inCircles(items)
	var findings []Finding
	for e := range written(p.entries) {
		f := e.finding(all, waiting[e.Key])
		f.Detail = joined(f.Detail, circles[e.Key])
		findings = append(findings, f)
	}
	return findings
}

// joined are two details in one.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// load reads a file. Errors name it.
func (parse jsonReader) load(ctx context.Context, what, path string) (*jsonText, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	text, err := read(what, path)
	if err != nil {
		return nil, err
	}
	p, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// check is Check of a source whose text is JSON.
func (parse jsonReader) check(ctx context.Context, what, path string) ([]Finding, error) {
	p, err := parse.load(ctx, what, path)
	if err != nil {
		return nil, err
	}
	return p.findings(), nil
}

// mark is Mark of a source whose text is JSON. The key is looked for among all entries,
// also those that are no tasks: who names one by its key means it.
func (parse jsonReader) mark(path, what, key string, text []byte) ([]byte, error) {
	p, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for e := range written(p.entries) {
		if e.Key == key {
			return p.tick(e)
		}
	}
	return nil, &NoItemError{Path: path, Key: key, item: what}
}

// rewrite replaces the text of a file by what is made of it, unless that is the same.
// If the file has changed since it was read, it is read again and marked again: a lock
// would not do, since those who write it too, agents and their tools, take none.
func rewrite(what, path string, mark func(text []byte) ([]byte, error)) error {
	for range 100 { // others may write it at the same time
		was, err := read(what, path)
		if err != nil {
			return err
		}
		text, err := mark(was)
		if err != nil || bytes.Equal(was, text) {
			return err
		}
		switch swapped, err := file.Swap(what, path, was, text); {
		case err != nil:
			return fmt.Errorf("tasks: %w", err)
		case swapped:
			return nil
		}
	}
	return fmt.Errorf("tasks: %s %s: others write it all the time: try again when they are done", what, path)
}

// absolute is the absolute path of a file; "" stays.
func absolute(path string) string {
	if path == "" {
		return ""
	}
	abs, _ := filepath.Abs(path) // fails only if the current folder is gone
	return cmp.Or(abs, path)
}

// followed is the path that a symbolic link leads to; another one stays as it is. What
// a link leads to is settled once, for what it leads to later may be an agent's choice.
func followed(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return path, nil // what else is wrong with it is said by who reads it
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return path, fmt.Errorf("tasks: %w", err)
	}
	return real, nil
}
