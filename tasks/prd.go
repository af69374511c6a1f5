package tasks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/internal/doc"
	"github.com/ralph-loop/ralph/internal/file"
)

// A PRD is what a prd.json holds, the file of the bash loops: a project and its
// user stories.
type PRD struct {
	Project     string // "" if it is not given as a text
	Branch      string // "branchName": the git branch to work on
	Description string
	// Items are the user stories, by priority, those without one last, and
	// then in the order of the file. A story's title is the item's text, its
	// description the details.
	Items []Item
}

// ParsePRD reads a prd.json. The stories are in "userStories" of an object; a
// bare list of stories will do. A story needs an "id" (a text or a number) and a
// "title"; it is done if "passes" is true, and null or no "passes" is false.
// A "priority" is a number, a number in a text ("2", "P2") or one of critical,
// high, medium and low (1 to 4). An entry of "acceptanceCriteria" is a text or an
// object with a "text", "description" or "criterion". Other keys are left alone.
//
// Errors have the line and the column, counted in characters from 1: for bad JSON, a wrong type, a
// missing or repeated id, a missing title, and a key that stands twice where
// that leaves open which one counts. At most 4 MiB are read.
func ParsePRD(text []byte) (PRD, error) {
	p, err := readPRD(text)
	if err != nil {
		return PRD{}, err
	}
	for _, s := range p.stories {
		p.prd.Items = append(p.prd.Items, s.Item)
	}
	return p.prd, nil
}

// TickPRD returns a copy of a prd.json in which the story passes. Only the value
// of "passes" differs; if there was none, it is added after the story's last
// member. The error is for a text in which the story is no longer where it was.
func TickPRD(text []byte, it Item) ([]byte, error) {
	p, err := readPRD(text)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(p.stories, func(s story) bool { return s.ID == it.ID && s.Offset == it.Offset })
	if i < 0 {
		return nil, fmt.Errorf("tasks: the story %q is no longer at line %d: the file has changed since it was read", it.ID, it.Line)
	}
	s := p.stories[i]
	if s.Done {
		return bytes.Clone(text), nil
	}
	last := s.node.Keys[len(s.node.Keys)-1].Text
	ticked, ok := p.Set(s.node, last, "passes", &doc.Node{Kind: doc.Bool, Text: "true", Start: -1})
	if !ok {
		return nil, fmt.Errorf("tasks: \"passes\" of the story %q cannot be changed in place", it.ID)
	}
	return ticked.Text, nil
}

// A prdText is a prd.json that is being read, and what has been read of it.
type prdText struct {
	*doc.Doc
	prd     PRD
	stories []story // by priority
	err     error   // the first
}

// A story is an item, its priority, and where it stands.
type story struct {
	Item
	order float64
	node  *doc.Node
}

func readPRD(text []byte) (*prdText, error) {
	if !utf8.Valid(text) {
		return nil, notUTF8(text)
	}
	p := &prdText{Doc: &doc.Doc{Text: text}}
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
	d, err := doc.ParseJSON("", text)
	if bad, ok := errors.AsType[doc.Problems](err); ok {
		return nil, fmt.Errorf("line %d, column %d: %s", bad[0].Line, bad[0].Column, bad[0].Text)
	} else if err != nil {
		return nil, err
	}
	p.Doc = d
	switch root := d.Roots[0]; root.Kind {
	case doc.List:
		p.readStories(root)
	case doc.Map:
		p.root(root)
	default:
		p.want("the file", "an object with userStories", root)
	}
	slices.SortStableFunc(p.stories, func(a, b story) int { return cmp.Compare(a.order, b.order) })
	return p, p.err
}

// root reads the object with the stories.
func (p *prdText) root(n *doc.Node) {
	for key, into := range map[string]*string{"project": &p.prd.Project, "branchName": &p.prd.Branch, "description": &p.prd.Description} {
		if value := n.Get(key); value != nil && value.Kind == doc.Text { // else it is no error: these are only shown
			*into = value.Text
		}
	}
	stories := n.Key("userStories")
	if stories == nil {
		p.fail(n, "there is no list of stories: the key is \"userStories\"")
		return
	}
	for _, key := range n.Keys {
		if key.Text == stories.Text && key != stories {
			p.fail(key, "a second %q", key.Text)
		}
	}
	p.readStories(n.Get(stories.Text))
}

func (p *prdText) readStories(n *doc.Node) {
	if n.Kind != doc.List {
		p.want("userStories", "a list of stories", n)
	}
	seen := make(map[string]int)
	for _, node := range n.Items {
		s := p.story(node)
		if line, again := seen[s.ID]; again {
			p.fail(node, "the story %q stands in line %d already: each needs an id of its own", s.ID, line)
		}
		seen[s.ID] = s.Line
		p.stories = append(p.stories, s)
	}
}

func (p *prdText) story(n *doc.Node) story {
	s := story{order: math.Inf(1), node: n}
	if n.Kind != doc.Map {
		p.want("userStories", "a story, which is an object", n)
	}
	s.Line, _ = p.Place(n)
	s.Offset = n.Start
	for i, key := range n.Keys {
		if p.field(&s, key.Text, n.Items[i]) && n.Key(key.Text) != key {
			p.fail(key, "a second %q in one story", key.Text)
		}
	}
	switch {
	case s.ID == "":
		p.fail(n, "a story without an id")
	case s.Text == "":
		p.fail(n, "the story %q has no title", s.ID)
	}
	s.Key = s.ID
	return s
}

// field reads a member of a story, if its key is known.
func (p *prdText) field(s *story, key string, n *doc.Node) (known bool) {
	switch key {
	case "id":
		if s.ID = n.Text; !numeric(n) {
			s.ID = oneLine(p.text(key, n))
		}
	case "title":
		s.Text = oneLine(p.text(key, n))
	case "description":
		if n.Kind != doc.Null {
			s.Details = clipText(strings.TrimSpace(p.text(key, n)), maxDetails)
		}
	case "acceptanceCriteria":
		s.Acceptance = p.criteria(key, n)
	case "priority":
		if s.order = p.priority(key, n); math.Abs(s.order) <= math.MaxInt32 {
			s.Priority = int(s.order)
		}
	case "passes":
		s.Done, s.Offset = n.Text == "true", n.Start
		if n.Kind != doc.Bool && n.Kind != doc.Null {
			p.want(key, "true or false", n)
		}
	default:
		return false
	}
	return true
}

func numeric(n *doc.Node) bool   { return n.Kind == doc.Integer || n.Kind == doc.Float }
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// criteria reads a list of texts, or one text.
func (p *prdText) criteria(key string, n *doc.Node) (texts []string) {
	entries := n.Items
	switch n.Kind {
	case doc.Null, doc.List:
	case doc.Text:
		entries = []*doc.Node{n}
	default:
		p.want(key, "a list of texts", n)
	}
	for _, entry := range entries {
		texts = append(texts, p.criterion(key, entry))
	}
	return texts
}

func (p *prdText) criterion(key string, n *doc.Node) string {
	if n.Kind != doc.Map {
		return p.text(key, n)
	}
	for i, name := range n.Keys {
		if value := n.Items[i]; value.Kind == doc.Text && value.Text != "" && slices.Contains([]string{"text", "description", "criterion"}, name.Text) {
			return value.Text
		}
	}
	p.want(key, `a text, or an object with a "text"`, n)
	return ""
}

// priority reads 2, "2", "P2" or "high". Another word is no priority.
func (p *prdText) priority(key string, n *doc.Node) float64 {
	word := strings.ToLower(strings.TrimSpace(n.Text))
	switch level := slices.Index([]string{"critical", "high", "medium", "low"}, word); {
	case n.Kind == doc.Text && level >= 0:
		return float64(level + 1)
	case n.Kind == doc.Text:
		if number, err := strconv.Atoi(strings.TrimPrefix(word, "p")); err == nil {
			return float64(number)
		}
	case numeric(n):
		number, err := strconv.ParseFloat(n.Text, 64)
		if err != nil {
			p.fail(n, "%s: the number is too big", key)
		}
		return number
	case n.Kind != doc.Null:
		p.want(key, "a number", n)
	}
	return math.Inf(1)
}

func (p *prdText) text(key string, n *doc.Node) string {
	if n.Kind != doc.Text {
		p.want(key, "a text", n)
	}
	return n.Text
}

// want is the error of a value of the wrong type.
func (p *prdText) want(key, what string, n *doc.Node) {
	found := [...]string{doc.Null: "null", doc.Bool: "true or false", doc.Integer: "a number", doc.Float: "a number",
		doc.Text: "a text", doc.List: "a list", doc.Map: "an object"}
	p.fail(n, "%s: want %s, found %s", key, what, found[n.Kind])
}

// fail keeps the first error, and says where it is.
func (p *prdText) fail(n *doc.Node, format string, args ...any) {
	if p.err == nil {
		line, column := p.Place(n)
		p.err = fmt.Errorf("line %d, column %d: %s", line, column, fmt.Sprintf(format, args...))
	}
}

// PRDFile is the [Source] of a prd.json; see [ParsePRD]. It is a value and
// keeps nothing; its methods may be called concurrently, but of two ticks at the
// same time one may be lost.
type PRDFile struct {
	// Path of the file, which has at most 16 MiB. Items and Read follow a symbolic
	// link, Tick does not: resolve it once, as [OpenSource] does.
	Path string
}

// Items reads the file. It is an error if it is missing, is no regular file, is
// no prd.json or has no stories. That all stories pass is none.
func (f PRDFile) Items(ctx context.Context) ([]Item, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	prd, err := f.Read()
	if err == nil && len(prd.Items) == 0 {
		err = fmt.Errorf("tasks: %s: userStories is empty: write the stories into it", f.Path)
	}
	return prd.Items, err
}

// Read reads the file, also one without stories.
func (f PRDFile) Read() (PRD, error) {
	prd, _, err := f.read()
	return prd, err
}

func (f PRDFile) read() (PRD, []byte, error) {
	text, err := read("prd.json", f.Path)
	if err != nil {
		return PRD{}, nil, err
	}
	prd, err := ParsePRD(text)
	if err != nil {
		return PRD{}, nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return prd, text, nil
}

// Tick makes the story with this key pass; see [TickPRD]. The file is replaced
// as a whole, since false and true differ in length: readers see the old one or
// the new one, and its mode stays. It must be a regular file with one name, ours,
// root's or the folder's owner's. If the story passes already, nothing is written.
func (f PRDFile) Tick(key string) error {
	prd, text, err := f.read()
	if err != nil {
		return err
	}
	it, ok := find(prd.Items, key)
	if !ok {
		return fmt.Errorf("tasks: %s: there is no story %q to tick", f.Path, key)
	}
	ticked, err := TickPRD(text, it)
	if err != nil || it.Done {
		return err
	}
	if err := file.Replace("prd.json", f.Path, ticked); err != nil {
		return fmt.Errorf("tasks: %w", err)
	}
	return nil
}
