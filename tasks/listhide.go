package tasks

import "strings"

// What hides boxes, other than code: HTML and front matter.

// hideHTML hides an HTML comment, or an element with verbatim text, that begins at
// i. It ends with the line that holds its end, or with the text.
func (s *scanner) hideHTML(i, end, depth int) bool {
	rest := s.text[i:end]
	if strings.HasPrefix(rest, "<!--") {
		s.skip, s.html = len(s.text), 0 // also behind the list item: that is what is meant
		if n := strings.Index(s.text[i+2:], "-->"); n >= 0 {
			s.skip = i + 2 + n
		}
		return true
	}
	for _, name := range [...]string{"pre", "script", "style", "textarea"} {
		after := 1 + len(name)
		if len(rest) < after || !strings.EqualFold(rest[1:after], name) || len(rest) > after && strings.IndexByte(" \t>", rest[after]) < 0 {
			continue
		}
		if s.tag < i || s.tag == 0 {
			s.tag = s.verbatimEnd(i)
		}
		s.skip, s.html = s.tag, s.base(depth)
		return true
	}
	return false
}

// leavesHTML reports whether a hidden line is shown after all, since it is no
// longer in the list item with the element.
func (s *scanner) leavesHTML(pos, end int) bool {
	i, col := indent(s.text, pos, end, 0)
	if i == end || col >= s.html {
		return false
	}
	s.skip = pos - 1
	return true
}

// verbatimEnd returns where the end tag of <pre> and the like is.
func (s *scanner) verbatimEnd(i int) int {
	for {
		n := strings.Index(s.text[i:], "</")
		if n < 0 {
			return len(s.text)
		}
		i += n
		for _, tag := range [...]string{"</pre>", "</script>", "</style>", "</textarea>"} {
			if len(s.text) >= i+len(tag) && strings.EqualFold(s.text[i:i+len(tag)], tag) {
				return i
			}
		}
		i += 2
	}
}

// inlineComment hides what is in a comment that begins in the middle of a line
// and does not end in it. GitHub would show a list that begins in there, but who
// writes one means it to be hidden. Without an end before the next blank line it
// is no comment.
func (s *scanner) inlineComment(pos, end int) {
	if pos <= s.skip && s.skip > 0 || s.fence.mark != 0 {
		return
	}
	for i := pos; i < end; {
		switch {
		case s.text[i] == '`':
			run := s.text[i : len(s.text)-len(strings.TrimLeft(s.text[i:], "`"))]
			i += len(run)
			if n := codeEnd(s.text[i:end], len(run)); n > 0 {
				i += n
			}
		case s.text[i] == '\\':
			i += 2
		case strings.HasPrefix(s.text[i:end], "<!--"):
			if n := strings.Index(s.text[i+2:end], "-->"); n >= 0 {
				i += 2 + n + 3
				continue
			}
			if close := s.commentEnd(end); close > 0 {
				s.skip, s.html = close, 0
			}
			return
		default:
			i++
		}
	}
}

// codeEnd returns the offset behind the next run of exactly n backticks, or 0.
func codeEnd(t string, n int) int {
	for i := 0; ; {
		k := strings.IndexByte(t[i:], '`')
		if k < 0 {
			return 0
		}
		i += k
		size := len(t[i:]) - len(strings.TrimLeft(t[i:], "`"))
		if i += size; size == n {
			return i
		}
	}
}

// commentEnd returns where the next "-->" is behind the line that ends at end, or
// 0 if there is none before the next blank line.
func (s *scanner) commentEnd(end int) int {
	_, from := s.lines.end(s.text, end)
	at := s.close.find(s.text, "-->", from)
	if at == len(s.text) || s.nextBlank(from) < at {
		return 0
	}
	return at
}

// nextBlank returns where the next blank line is that begins at from or behind
// it. It remembers it, so that no line is looked at twice.
func (s *scanner) nextBlank(from int) int {
	if from > s.blank || s.blank == 0 {
		for s.blank = from; s.blank < len(s.text); {
			end, next := s.ahead.end(s.text, s.blank)
			if trimBlanks(s.text[s.blank:end]) == "" {
				break
			}
			s.blank = next
		}
	}
	return s.blank
}

// frontMatter returns the last offset of the YAML block that a text begins with,
// or -1. What begins with "---" but not with a key is a thematic break.
func frontMatter(text string, pos int) int {
	first, rest, _ := strings.Cut(text[pos:], "\n")
	if strings.TrimRight(first, " \t\r") != "---" {
		return -1
	}
	at, keyed := pos+len(first)+1, false
	for rest != "" {
		var line string
		size := len(rest)
		line, rest, _ = strings.Cut(rest, "\n")
		line = strings.TrimRight(line, " \t\r")
		if line == "---" || line == "..." {
			if !keyed {
				return -1
			}
			return at
		}
		if !keyed {
			if keyed = isKey(line); !keyed && !strings.HasPrefix(line, "#") {
				return -1
			}
		}
		at += size - len(rest)
	}
	return -1
}

// isKey reports whether a line looks like a key of YAML: "title: …".
func isKey(line string) bool {
	name, value, found := strings.Cut(line, ":")
	name = strings.Trim(name, `"'`)
	if !found || name == "" || value != "" && value[0] != ' ' && value[0] != '\t' {
		return false
	}
	for _, c := range name {
		if !isLetter(c) && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.' {
			return false
		}
	}
	return isLetter(rune(name[0]))
}
