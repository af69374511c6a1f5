package tasks

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
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
// that leaves open which one counts.
func ParsePRD(text []byte) (PRD, error) {
	prd, stories, err := parsePRD(text)
	if err != nil {
		return PRD{}, err
	}
	for _, s := range stories {
		prd.Items = append(prd.Items, s.item)
	}
	return prd, nil
}

// TickPRD returns a copy of a prd.json in which the story passes. Only the value
// of "passes" differs; if there was none, it is added after the story's last
// member. The error is for a text in which the story is no longer where it was.
func TickPRD(text []byte, it Item) ([]byte, error) {
	_, stories, err := parsePRD(text)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(stories, func(s story) bool { return s.item.ID == it.ID && s.item.Offset == it.Offset })
	if i < 0 {
		return nil, fmt.Errorf("the story %q is no longer at line %d: the file has changed since it was read", it.ID, it.Line)
	}
	s := stories[i]
	if s.item.Done {
		return bytes.Clone(text), nil
	}
	if s.passes.to > 0 {
		return slices.Concat(text[:s.passes.from], []byte("true"), text[s.passes.to:]), nil
	}
	space := text[s.item.Offset+1 : s.first]
	member := `"passes": true`
	if len(space) == 0 {
		member = `"passes":true`
	}
	return slices.Concat(text[:s.last], []byte(","), space, []byte(member), text[s.last:]), nil
}

// A story is an item and where it stands.
type story struct {
	item        Item
	order       float64
	passes      span // zero = none
	first, last int  // where the first member begins, and the last one ends
}

// A span is a JSON value in the text.
type span struct{ from, to int }

// A prdText is a text that is valid JSON.
type prdText struct{ text []byte }

func parsePRD(text []byte) (PRD, []story, error) {
	if !utf8.Valid(text) {
		return PRD{}, nil, notUTF8(text)
	}
	start := len(text) - len(bytes.TrimPrefix(text, []byte("\ufeff")))
	p := prdText{text}
	if err := json.Unmarshal(text[start:], new(json.RawMessage)); err != nil {
		at := len(text)
		if bad, ok := errors.AsType[*json.SyntaxError](err); ok && !isTruncated(text[start:]) {
			at = start + max(int(bad.Offset)-1, 0)
		}
		return PRD{}, nil, p.errorf(at, "bad JSON: %v", err)
	}
	root := span{skipSpace(text, start), len(text)}
	var prd PRD
	var stories []story
	var err error
	switch text[root.from] {
	case '[':
		stories, err = p.stories(root)
	case '{':
		stories, err = p.root(root, &prd)
	default:
		err = p.want("the file", "an object with userStories", root)
	}
	if err != nil {
		return PRD{}, nil, err
	}
	slices.SortStableFunc(stories, func(a, b story) int { return cmp.Compare(a.order, b.order) })
	return prd, stories, nil
}

// isTruncated reports whether the text ends too early, an empty one too.
func isTruncated(text []byte) bool {
	err := json.NewDecoder(bytes.NewReader(text)).Decode(new(json.RawMessage))
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

// root reads the object with the stories.
func (p prdText) root(v span, prd *PRD) ([]story, error) {
	var stories span
	err := p.members(v, func(key string, at int, value span) error {
		switch key {
		case "project":
			prd.Project, _ = p.string(key, value) // only shown: nothing hangs on its type
		case "branchName":
			prd.Branch, _ = p.string(key, value)
		case "description":
			prd.Description, _ = p.string(key, value)
		case "userStories":
			if stories.to > 0 {
				return p.errorf(at, "a second %q", key)
			}
			stories = value
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case stories.to == 0:
		return nil, p.errorf(v.from, "there is no list of stories: the key is \"userStories\"")
	}
	return p.stories(stories)
}

func (p prdText) stories(v span) ([]story, error) {
	if p.text[v.from] != '[' {
		return nil, p.want("userStories", "a list of stories", v)
	}
	var all []story
	seen := make(map[string]int)
	lines := lineCounter{text: p.text}
	err := p.members(v, func(_ string, _ int, value span) error {
		s, err := p.story(value)
		if err != nil {
			return err
		}
		s.item.Line = lines.at(value.from)
		if line, again := seen[s.item.ID]; again {
			return p.errorf(value.from, "the story %q stands in line %d already: each needs an id of its own", s.item.ID, line)
		}
		seen[s.item.ID] = s.item.Line
		all = append(all, s)
		return nil
	})
	return all, err
}
