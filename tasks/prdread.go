package tasks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// story reads one story.
func (p prdText) story(v span) (story, error) {
	if p.text[v.from] != '{' {
		return story{}, p.want("userStories", "a story, which is an object", v)
	}
	s := story{order: math.Inf(1), item: Item{Offset: v.from}}
	var seen []string
	err := p.members(v, func(key string, at int, value span) error {
		if s.first == 0 {
			s.first = at
		}
		s.last = value.to
		known, err := p.field(&s, key, value)
		if !known || err != nil {
			return err
		}
		if slices.Contains(seen, key) {
			return p.errorf(at, "a second %q in one story", key)
		}
		seen = append(seen, key)
		return nil
	})
	switch {
	case err != nil:
		return story{}, err
	case s.item.ID == "":
		return story{}, p.errorf(v.from, "a story without an id")
	case s.item.Text == "":
		return story{}, p.errorf(v.from, "the story %q has no title", s.item.ID)
	}
	s.item.Key = s.item.ID
	return s, nil
}

// field reads a member of a story, if its key is known.
func (p prdText) field(s *story, key string, v span) (known bool, err error) {
	null := p.text[v.from] == 'n'
	switch key {
	case "id":
		s.item.ID, err = p.id(v)
	case "title":
		s.item.Text, err = p.string(key, v)
		s.item.Text = strings.Join(strings.Fields(s.item.Text), " ")
	case "description":
		if !null {
			s.item.Details, err = p.string(key, v)
			s.item.Details = clipText(strings.TrimSpace(s.item.Details), maxDetails)
		}
	case "acceptanceCriteria":
		s.item.Acceptance, err = p.criteria(key, v)
	case "priority":
		if !null {
			s.order, err = p.priority(key, v)
		}
		if math.Abs(s.order) <= math.MaxInt32 {
			s.item.Priority = int(s.order)
		}
	case "passes":
		s.passes, s.item.Offset = v, v.from
		s.item.Done = p.text[v.from] == 't'
		if !null && p.text[v.from] != 'f' && !s.item.Done {
			err = p.want(key, "true or false", v)
		}
	default:
		return false, nil
	}
	return true, err
}

// id reads "US-001" or 1.
func (p prdText) id(v span) (string, error) {
	if p.isNumber(v) {
		return string(p.text[v.from:v.to]), nil
	}
	id, err := p.string("id", v)
	return strings.Join(strings.Fields(id), " "), err
}

// criteria reads a list of texts, or one text.
func (p prdText) criteria(key string, v span) ([]string, error) {
	var texts []string
	switch p.text[v.from] {
	case 'n':
		return nil, nil
	case '"':
		text, err := p.string(key, v)
		return []string{text}, err
	case '[':
		err := p.members(v, func(_ string, _ int, value span) error {
			text, err := p.criterion(key, value)
			texts = append(texts, text)
			return err
		})
		return texts, err
	}
	return nil, p.want(key, "a list of texts", v)
}

func (p prdText) criterion(key string, v span) (string, error) {
	if p.text[v.from] != '{' {
		return p.string(key, v)
	}
	text := ""
	err := p.members(v, func(name string, _ int, value span) error {
		if (name == "text" || name == "description" || name == "criterion") && text == "" && p.text[value.from] == '"' {
			text, _ = p.string(name, value)
		}
		return nil
	})
	if err == nil && text == "" {
		err = p.want(key, `a text, or an object with a "text"`, v)
	}
	return text, err
}

// priority reads 2, "2", "P2" or "high". Another word is no priority.
func (p prdText) priority(key string, v span) (float64, error) {
	if p.isNumber(v) {
		n, err := strconv.ParseFloat(string(p.text[v.from:v.to]), 64)
		if err != nil {
			return 0, p.errorf(v.from, "%s: the number is too big", key)
		}
		return n, nil
	}
	word, err := p.string(key, v)
	if err != nil {
		return 0, p.want(key, "a number", v)
	}
	word = strings.ToLower(strings.TrimSpace(word))
	if i := slices.Index([]string{"critical", "high", "medium", "low"}, word); i >= 0 {
		return float64(i + 1), nil
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(word, "p")); err == nil {
		return float64(n), nil
	}
	return math.Inf(1), nil
}

// string reads a text; key says where, in the error.
func (p prdText) string(key string, v span) (s string, err error) {
	if p.text[v.from] != '"' {
		return "", p.want(key, "a text", v)
	}
	err = json.Unmarshal(p.text[v.from:v.to], &s)
	return s, err
}

func (p prdText) isNumber(v span) bool {
	c := p.text[v.from]
	return c == '-' || '0' <= c && c <= '9'
}

// members calls each with the members of an object, or with the entries of a
// list, which have no key. At is where the member begins.
func (p prdText) members(v span, each func(key string, at int, value span) error) error {
	dec := json.NewDecoder(bytes.NewReader(p.text[v.from:v.to]))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		at, key := skipSpace(p.text, v.from+int(dec.InputOffset())), ""
		if p.text[v.from] == '{' {
			token, err := dec.Token()
			if err != nil {
				return err
			}
			key, _ = token.(string)
		}
		from := skipSpace(p.text, v.from+int(dec.InputOffset()))
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		if err := each(key, at, span{from, v.from + int(dec.InputOffset())}); err != nil {
			return err
		}
	}
	return nil
}

// skipSpace goes over what may stand before a value.
func skipSpace(text []byte, i int) int {
	for i < len(text) && bytes.IndexByte([]byte(" \t\r\n,:"), text[i]) >= 0 {
		i++
	}
	return i
}

// kind names what a value is.
func (p prdText) kind(v span) string {
	switch p.text[v.from] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case 'n':
		return "null"
	case 't', 'f':
		return "true or false"
	}
	return "a number"
}

// want is the error of a value of the wrong type.
func (p prdText) want(key, what string, v span) error {
	return p.errorf(v.from, "%s: want %s, found %s", key, what, p.kind(v))
}

// errorf says where in the text it is.
func (p prdText) errorf(at int, format string, args ...any) error {
	before := p.text[:at]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Errorf("line %d, column %d: %s", line, column, fmt.Sprintf(format, args...))
}

// A lineCounter tells the lines of offsets that rise.
type lineCounter struct {
	text  []byte
	pos   int
	lines int
}

func (c *lineCounter) at(offset int) int {
	c.lines += bytes.Count(c.text[c.pos:offset], []byte("\n"))
	c.pos = offset
	return c.lines + 1
}
