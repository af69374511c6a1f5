package doc

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// An edit replaces a part of a text.
type edit struct {
	start, end int
	text       string
}

// Set returns the document with another value for a key of a mapping: a scalar
// that is there is replaced in its own quotes, a list or a mapping is written as
// what is around it is, a key that is missing is put behind the key after, laid out
// like that. All other bytes stay. Each way to write it is tried, and taken only if
// what is read back differs in this value and in nothing else; ok is false if there
// is no such way, because the value stands in an anchor that is used elsewhere, say,
// or is a text that is written as a block.
func (d *Doc) Set(m *Node, after, key string, value *Node) (next *Doc, ok bool) {
	rest := m.without(key)
	return d.try(d.edits(m, after, key, value), d.Roots, m, func(o *Node) bool {
		got := o.Get(key)
		return got != nil && got.Equal(value) && rest.Equal(o.without(key))
	})
}

// Remove returns the document without a key of a mapping, which must have it and others.
// See [Doc.Set].
func (d *Doc) Remove(m *Node, key string) (next *Doc, ok bool) {
	return d.try(d.removals(m, m.index(key)), d.Roots, m, m.without(key).Equal)
}

// Append returns the document with one more item in a list, in the list's own
// layout. A YAML list must be written in lines and be the end of the text. See
// [Doc.Set].
func (d *Doc) Append(list, item *Node) (next *Doc, ok bool) {
	return d.try(d.additions(list, item), d.Roots, list, func(o *Node) bool {
		return o.Kind == List && slices.EqualFunc(append(slices.Clip(list.Items), item), o.Items, (*Node).Equal)
	})
}

// AppendDocument returns the document with one more YAML document. See [Doc.Set].
func (d *Doc) AppendDocument(root *Node) (next *Doc, ok bool) {
	text, err := root.YAMLText()
	if d.JSON || err != nil {
		return nil, false
	}
	return d.try([]edit{d.atEnd("---\n" + string(text))}, append(slices.Clip(d.Roots), root), nil, nil)
}

// try returns what the first edit makes of the document that reads as roots, but
// for the node at, for which changed decides.
func (d *Doc) try(edits []edit, roots []*Node, at *Node, changed func(*Node) bool) (*Doc, bool) {
	same := func(n, o *Node) bool { return n.same(o, at, changed) }
	for _, e := range edits {
		text := slices.Concat(d.Text[:e.start], []byte(e.text), d.Text[e.end:])
		next, err := parse(&Doc{Name: d.Name, Text: text, JSON: d.JSON, repeats: d.repeats})
		if err == nil && slices.EqualFunc(roots, next.Roots, same) {
			return next, true
		}
	}
	return nil, false
}

// without is a mapping without one of its keys.
func (n *Node) without(key string) *Node {
	rest := n.Empty()
	for i, k := range n.Keys {
		if k.Text != key {
			rest.Keys, rest.Items = append(rest.Keys, k), append(rest.Items, n.Items[i])
		}
	}
	return rest
}

// edits are the ways in which a value could be written, the best first.
func (d *Doc) edits(m *Node, after, key string, value *Node) []edit {
	forms := []string{value.Text, string(value.JSON())}
	if d.JSON {
		forms = forms[1:]
	}
	start, end, before := -1, -1, ""
	block := !d.JSON && !m.Flow && (value.Kind == List || value.Kind == Map)
	switch item := m.Get(key); {
	case item == nil || item.merged:
		end, before = d.insertion(m, after, key)
		start = end
	case block || !d.JSON && item.Flow:
		start, end = d.afterKey(m, m.index(key))
		before = " "
	case d.JSON:
		start, end = item.Start, item.End
	default:
		start, end = d.scalarAt(item)
		switch quote := d.Text[start:min(start+1, len(d.Text))]; {
		case item.Kind == Null && item.raw == "":
			before = " "
			forms = append(forms, ":"+before+forms[1]) // of a key with a question mark
		case string(quote) == `"` && value.Kind == Text:
			forms = forms[1:]
		case string(quote) == `'`:
			forms[0] = "'" + strings.ReplaceAll(value.Text, "'", "''") + "'"
		}
	}
	if end < 0 {
		return nil
	}
	var all []edit
	if block {
		all = append(all, edit{start, end, strings.TrimRight(before, " ") + d.indented(value, m.Keys[0].column+1)})
	}
	for _, form := range forms {
		all = append(all, edit{start, end, before + form})
	}
	return all
}

// indented is a list or mapping in lines of its own below a key.
func (d *Doc) indented(value *Node, indent int) string {
	text, _ := value.YAMLText() // what cannot be written is not read back either
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		b.WriteByte('\n')
		if line = strings.TrimRight(line, "\n"); line != "" {
			b.WriteString(strings.Repeat(" ", indent) + line)
		}
	}
	return strings.ReplaceAll(b.String(), "\n", d.newline())
}

// removals are the ways to take a key and its value out of a mapping.
func (d *Doc) removals(m *Node, i int) []edit {
	at, end := d.keyAt(m, i), d.valueEnd(m, i)
	var all []edit
	if i+1 < len(m.Keys) { // up to the next key
		all = append(all, edit{at, d.keyAt(m, i+1), ""})
	}
	if before := bytes.TrimRight(d.Text[:at], " \t\r\n"); m.Flow && bytes.HasSuffix(before, []byte(",")) {
		return append([]edit{{len(before) - 1, end, ""}}, all...)
	}
	start := len(bytes.TrimRight(d.Text[:at], " "))
	if m.Flow || start > 0 && d.Text[start-1] != '\n' {
		return append(all, edit{at, end, ""})
	}
	if n := bytes.IndexByte(d.Text[end:], '\n'); n >= 0 {
		end += n + 1
	} else {
		end = len(d.Text)
	}
	return append([]edit{{start, end, ""}}, all...)
}

// insertion returns what must stand before the value of a new key, and where, or
// -1.
func (d *Doc) insertion(m *Node, after, key string) (end int, text string) {
	i := m.index(after)
	if i < 0 {
		return -1, ""
	}
	before := m.Keys[i]
	keyAt, end := d.keyAt(m, i), d.valueEnd(m, i)
	switch {
	case end < 0 || m.Flow:
		return end, d.flowKey(keyAt, max(keyAt, end), key)
	case bytes.IndexByte(d.Text[end:], '\n') < 0:
		end = len(d.Text)
	default:
		end += bytes.IndexAny(d.Text[end:], "\r\n")
	}
	return end, d.newline() + strings.Repeat(" ", before.column-1) + key + ": "
}

// flowKey is a comma and a key in a mapping in braces, laid out as the key before.
func (d *Doc) flowKey(keyAt, end int, key string) string {
	if d.JSON || d.Text[keyAt] == '"' {
		key = strconv.Quote(key)
	}
	colon, comma := ": ", ", "
	if _, value, _ := bytes.Cut(d.Text[keyAt:end], []byte(":")); d.JSON && !bytes.HasPrefix(value, []byte(" ")) {
		colon, comma = ":", ","
	}
	lineStart := bytes.LastIndexByte(d.Text[:keyAt], '\n') + 1
	if indent := d.Text[lineStart:keyAt]; lineStart > 0 && len(bytes.TrimSpace(indent)) == 0 {
		comma = "," + d.newline() + string(indent)
	}
	return comma + key + colon
}

// newline is the line end of the text.
func (d *Doc) newline() string {
	if bytes.Contains(d.Text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// additions are the ways to add an item to a list.
func (d *Doc) additions(list, item *Node) []edit {
	if d.JSON {
		return []edit{d.addJSON(list, item)}
	}
	text, err := item.YAMLText()
	if list.Flow || err != nil {
		return nil
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	indent := strings.Repeat(" ", list.column-1)
	return []edit{d.atEnd(indent + "- " + strings.Join(lines, indent+"  ") + "\n")}
}

// atEnd adds lines to the text, with its line ends.
func (d *Doc) atEnd(lines string) edit {
	end := len(d.Text)
	if end > 0 && d.Text[end-1] != '\n' {
		lines = "\n" + lines
	}
	return edit{end, end, strings.ReplaceAll(lines, "\n", d.newline())}
}

// addJSON adds an item to a list, laid out as its first.
func (d *Doc) addJSON(list, item *Node) edit {
	value := item.JSON()
	if len(list.Items) == 0 {
		return edit{list.Start + 1, list.Start + 1, string(value)}
	}
	end := list.Items[len(list.Items)-1].End
	space := d.Text[list.Start+1 : list.Items[0].Start]
	if i := bytes.LastIndexByte(space, '\n'); i >= 0 {
		var b bytes.Buffer
		_ = json.Indent(&b, value, string(space[i+1:]), "  ") // it is valid
		value = bytes.ReplaceAll(b.Bytes(), []byte("\n"), []byte(d.newline()))
	}
	return edit{end, end, "," + string(space) + string(value)}
}

// scalarAt returns where a YAML value stands that is written on one line, without
// anchor and tag; an alias stands where it is used. If it is written otherwise,
// end is -1.
func (d *Doc) scalarAt(n *Node) (start, end int) {
	start = d.offsetOf(n.line, n.column)
	start, rest := skipProperties(start, string(d.Text[start:]))
	switch {
	case n.Kind == Null && n.raw == "":
		return start, start
	case strings.HasPrefix(rest, `"`), strings.HasPrefix(rest, `'`):
		return start, start + quotedLength(rest)
	case n.alias && strings.HasPrefix(rest, "*"):
		return start, start + len(rest) - len(strings.TrimLeftFunc(rest, func(c rune) bool { return !strings.ContainsRune(" \t\r\n,]}", c) }))
	case strings.HasPrefix(rest, n.raw):
		return start, start + len(n.raw)
	}
	return start, -1
}

// keyAt returns where the key of an entry stands.
func (d *Doc) keyAt(m *Node, i int) int {
	if d.JSON {
		return m.Keys[i].Start
	}
	return d.offsetOf(m.Keys[i].line, m.Keys[i].column)
}

// valueEnd returns where the value of an entry ends, -1 = it is not known.
func (d *Doc) valueEnd(m *Node, i int) int {
	n := m.Items[i]
	if d.JSON {
		return n.End
	}
	if n.Kind != List && n.Kind != Map {
		if _, end := d.scalarAt(n); end >= 0 {
			return end
		}
	} else if n.Flow && !n.alias {
		start, rest := skipProperties(0, string(d.Text[d.offsetOf(n.line, n.column):]))
		if length := flowLength(rest); length > 0 {
			return d.offsetOf(n.line, n.column) + start + length
		}
	}
	return d.blockEnd(d.keyAt(m, i), m.Keys[i].column-1, n.Kind == List)
}

// afterKey returns where the value of an entry of YAML stands, from behind the colon.
func (d *Doc) afterKey(m *Node, i int) (start, end int) {
	_, key := d.scalarAt(m.Keys[i])
	colon := bytes.IndexByte(d.Text[max(key, 0):], ':')
	if key < 0 || colon < 0 {
		return -1, -1
	}
	start = key + colon + 1
	return start, max(start, d.valueEnd(m, i))
}

// blockEnd returns where the lines end that are indented more than the one at an
// offset, without blank ones at their end. A list may be indented as its key is.
func (d *Doc) blockEnd(at, indent int, list bool) int {
	pos, end := at, at
	for line := range bytes.Lines(d.Text[at:]) {
		text := bytes.TrimRight(line, " \t\r\n")
		depth := len(text) - len(bytes.TrimLeft(text, " "))
		inside := depth > indent || list && depth == indent && bytes.HasPrefix(text[depth:], []byte("-"))
		switch {
		case pos == at || inside && len(text) > 0:
			end = pos + len(text)
		case len(text) > 0:
			return end
		}
		pos += len(line)
	}
	return end
}

// flowLength is the length of a list or mapping in brackets, 0 = it is not known.
func flowLength(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"', '\'':
			i += quotedLength(s[i:]) - 1
		}
	}
	return 0
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

// quotedLength is the length of a text in double or single quotes. In the
// former a backslash escapes, in the latter the quote itself, given twice.
func quotedLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[0] == '"' && s[i] == '\\', s[0] == '\'' && strings.HasPrefix(s[i:], "''"):
			i++
		case s[i] == s[0]:
			return i + 1
		}
	}
	return len(s)
}

// offsetOf is the offset of a line and a column as package yaml counts them: CR
// LF, CR, LF and Unicode's line separators end a line, a byte order mark does
// not count.
func (d *Doc) offsetOf(line, column int) int {
	text := strings.TrimPrefix(string(d.Text), byteOrderMark)
	atLine, atColumn := 1, 1
	for i, c := range text {
		switch {
		case atLine == line && atColumn == column:
			return len(d.Text) - len(text) + i
		case c == '\r' && strings.HasPrefix(text[i:], "\r\n"): // the next ends the line
		case strings.ContainsRune("\n\r\u0085\u2028\u2029", c):
			atLine, atColumn = atLine+1, 1
		default:
			atColumn++
		}
	}
	return len(d.Text)
}
