package tasks

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

func (r *reader) expected(n *node, what, want string) {
	hint := ""
	if want == "text" {
		switch n.kind {
		case nodeBool, nodeInt, nodeFloat:
			hint = "; put it in quotes"
		case nodeMap:
			if !n.flow && len(n.keys) == 1 {
				hint = "; a text with a colon and a space in it needs quotes"
			}
		}
	}
	if what != "" {
		what += ": "
	}
	r.bad(n, "%sexpected %s, found %s%s", what, want, n.found(), hint)
}

func (r *reader) text(n *node, what string) string {
	if n.kind != nodeText {
		r.expected(n, what, "text")
		return ""
	}
	return n.text
}

// name reads text that people like to write as a number: 007, 1.10.
func (r *reader) name(n *node, what string) string {
	if n.kind == nodeInt || n.kind == nodeFloat {
		return cmp.Or(n.raw, n.text)
	}
	return r.text(n, what)
}

func (r *reader) list(n *node, what string) []*node {
	if n.kind != nodeList {
		r.expected(n, what, "a list")
		return nil
	}
	return n.items
}

// texts reads a list of texts, nil only if it is no list.
func (r *reader) texts(n *node, what string) []string {
	if n.kind != nodeList {
		r.expected(n, what, "a list of texts")
		return nil
	}
	all := make([]string, len(n.items))
	for i, item := range n.items {
		all[i] = r.text(item, fmt.Sprintf("%s[%d]", what, i))
	}
	return all
}

// oneOrMore reads a text or a list of texts.
func (r *reader) oneOrMore(n *node, what string) []string {
	if n.kind == nodeText {
		return []string{n.text}
	}
	if n.kind != nodeList {
		r.expected(n, what, "text or a list of texts")
		return nil
	}
	return r.texts(n, what)
}

func (r *reader) boolean(n *node, what string) bool {
	if n.kind != nodeBool {
		r.expected(n, what, "true or false")
	}
	return n.text == "true"
}

// integer reads a whole number. One outside least and most is invalid.
func (r *reader) integer(n *node, what string, least, most int) int {
	i, err := strconv.Atoi(n.text)
	switch {
	case n.kind != nodeInt:
		r.expected(n, what, "a whole number")
		return 0
	case err != nil:
		r.refuse(n, "%s: %s is out of range; it is too large", what, n.text)
		return 0
	case i < least || i > most:
		between := fmt.Sprintf("between %d and %d", least, most)
		if most == math.MaxInt {
			between = fmt.Sprintf("%d or more", least)
		}
		r.refuse(n, "%s: %d is out of range; it must be %s", what, i, between)
	}
	return i
}

func timeLayouts() []string {
	return []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly}
}

func (r *reader) time(n *node, what string) time.Time {
	if n.kind == nodeText {
		for _, layout := range timeLayouts() {
			if t, err := time.Parse(layout, strings.TrimSpace(n.text)); err == nil {
				return t.UTC()
			}
		}
	}
	r.expected(n, what, "a time like 2026-01-31T12:00:00Z")
	return time.Time{}
}
