package stream

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A filter says which keys of an object are wanted. A nil filter wants a scalar;
// the filter of an array is that of its elements.
type filter map[string]filter

// A value is what was wanted of a line. It lives until the next line.
type value struct {
	kind  byte   // 's' string, 'n' number or literal, '{', '['
	short []byte // a string, a number or a literal
	text  *text  // a string that is longer
	list  []*value
	keys  []string // of an object: those of list
}

// maxShort is the length from which a string is a text.
const maxShort = 1 << 10

// get returns what is at a path of keys, nil if it is not there.
func (v *value) get(path ...string) *value {
	for _, k := range path {
		if v == nil {
			return nil
		}
		n := slices.Index(v.keys, k)
		if n < 0 {
			return nil
		}
		v = v.list[n]
	}
	return v
}

// asText returns a string to keep, nil if the value is none.
func (v *value) asText() *text {
	if v == nil || v.kind != 's' {
		return nil
	}
	if v.text == nil {
		v.text = &text{buf: bytes.Clone(v.short)}
	}
	return v.text
}

// str returns the string at a path, "" if there is none.
func (v *value) str(path ...string) string {
	if v = v.get(path...); v == nil || v.kind != 's' {
		return ""
	}
	if v.text != nil {
		return v.text.String()
	}
	return strings.ToValidUTF8(string(v.short), "\uFFFD")
}

func (v *value) num(path ...string) (float64, bool) {
	if v = v.get(path...); v == nil || v.kind != 'n' {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v.short), 64)
	return f, err == nil && f-f == 0 // not NaN, not infinite
}

func (v *value) int(path ...string) int64 {
	f, ok := v.num(path...)
	if !ok || f < 0 || f > 1<<60 {
		return 0
	}
	return int64(f)
}

func (v *value) is(path ...string) bool {
	v = v.get(path...)
	return v != nil && v.kind == 'n' && string(v.short) == "true"
}

// Limits of what one line may make the reader keep besides its long strings.
const (
	maxDepth  = 32
	maxValues = 4096
	maxKey    = 128
	maxLit    = 64
)

// A reader reads lines of JSON as they come, in any pieces, and keeps of each
// only what its filter wants: strings that are not wanted are passed by at the
// speed of a search for their end. A raw line feed always ends the line, so one
// that is torn costs only itself.
type reader struct {
	want filter
	drop func(kind string) bool // by the top-level "type": the line is of no use
	line func(*value)
	junk func(line []byte) // the beginning of a line that is no JSON object

	state  state
	stack  []frame
	slab   []*value          // given to lines in turn
	names  map[string]string // the keys that were wanted, to be shared
	values int
	key    []byte // being read
	str    *value // being read; nil = not wanted
	num    *value // the literal being read; nil = not wanted
	lit    []byte // being read
	esc    []byte // an escape sequence that is not complete
	odd    bool   // in a string that is not wanted: an odd run of backslashes ends here
	depth  int    // of containers that are not wanted
	inStr  bool   // in a string in them
	other  []byte // the beginning of a line that is no JSON
	isKey  bool   // the string being read is a key
	next   filter // of the value that follows
	wanted bool   // it is wanted at all
}

type frame struct {
	v    *value
	want filter
	key  string
}

type state byte

const (
	atLineStart state = iota
	inJunk
	toLineEnd // the rest of the line is of no use
	beforeKey
	afterKey
	beforeValue
	inString
	inLiteral
	inSkipped
	afterValue
	afterObject // the line's object is complete
)

func (r *reader) write(p []byte) {
	for len(p) > 0 {
		switch r.state {
		case atLineStart:
			p = r.begin(p)
		case inJunk:
			p = r.readJunk(p)
		case toLineEnd, afterObject:
			n := bytes.IndexByte(p, '\n')
			if n < 0 {
				return
			}
			r.state, p = atLineStart, p[n+1:]
		case inString:
			if r.str != nil || r.isKey {
				p = r.readString(p)
			} else {
				p = r.skipString(p)
			}
		case inLiteral:
			p = r.readLiteral(p)
		case inSkipped:
			p = r.skipContainer(p)
		default:
			p = r.structural(p)
		}
	}
}

// close ends the last line, which may lack its line feed.
func (r *reader) close() {
	if r.state != atLineStart && r.state != toLineEnd && r.state != afterObject {
		r.torn(nil)
	}
}

func (r *reader) begin(p []byte) []byte {
	for len(p) > 0 && (p[0] == ' ' || p[0] == '\t' || p[0] == '\r' || p[0] == '\n') {
		p = p[1:]
	}
	if len(p) == 0 {
		return p
	}
	if p[0] != '{' {
		r.state, r.other = inJunk, r.other[:0]
		return p
	}
	r.values = 0
	r.stack = append(r.stack[:0], frame{v: r.value('{'), want: r.want})
	r.state = beforeKey
	return p[1:]
}

func (r *reader) readJunk(p []byte) []byte {
	line, rest, ended := bytes.Cut(p, []byte{'\n'})
	// A byte-order mark or a colour before the object is not part of it.
	if brace := bytes.IndexByte(line, '{'); brace >= 0 && brace+len(r.other) <= 16 {
		if before := append(r.other, line[:brace]...); invisible(before) {
			r.state = atLineStart
			return p[brace:]
		}
	}
	if room := 256 - len(r.other); room > 0 {
		r.other = append(r.other, line[:min(room, len(line))]...)
	}
	if !ended {
		return nil
	}
	r.junk(r.other)
	r.state = atLineStart
	return rest
}

// invisible reports whether nothing of it shows on a terminal.
func invisible(b []byte) bool {
	b = bytes.TrimPrefix(b, []byte("\uFEFF"))
	for len(b) > 0 {
		if len(b) < 3 || b[0] != 0x1b || b[1] != '[' {
			return false
		}
		n := 2
		for n < len(b) && (b[n] < 0x40 || b[n] > 0x7e) {
			n++
		}
		if n == len(b) {
			return false
		}
		b = bytes.TrimLeft(b[n+1:], " ")
	}
	return true
}

// torn gives up on a line that is no JSON after all.
func (r *reader) torn(rest []byte) []byte {
	r.junk(nil)
	r.str, r.esc, r.isKey, r.depth, r.inStr = nil, r.esc[:0], false, 0, false
	r.state = toLineEnd
	return rest
}

// structural reads one byte between keys and values.
func (r *reader) structural(p []byte) []byte {
	c := p[0]
	switch {
	case c == '\n':
		r.torn(nil)
		r.state = atLineStart
		return p[1:]
	case c == ' ' || c == '\t' || c == '\r':
		return p[1:]
	}
	top := &r.stack[len(r.stack)-1]
	switch r.state {
	case beforeKey:
		switch c {
		case '"':
			r.isKey, r.key = true, r.key[:0]
			r.state = inString
			return p[1:]
		case ',':
			return p[1:]
		case '}':
			return r.pop(p[1:])
		}
	case afterKey:
		if c == ':' {
			r.state = beforeValue
			return p[1:]
		}
	case beforeValue:
		return r.startValue(p, top)
	case afterValue:
		switch {
		case c == ',' && top.v.kind == '{':
			r.state = beforeKey
			return p[1:]
		case c == ',':
			r.state, r.next, r.wanted = beforeValue, top.want, true
			return p[1:]
		case c == '}' && top.v.kind == '{', c == ']' && top.v.kind == '[':
			return r.pop(p[1:])
		}
	}
	return r.torn(p)
}

func (r *reader) startValue(p []byte, top *frame) []byte {
	c := p[0]
	wanted := r.wanted && r.values < maxValues
	switch {
	case c == ']' && top.v.kind == '[' && len(top.v.list) == 0:
		return r.pop(p[1:])
	case c == '"':
		r.state, r.str, r.odd, r.isKey = inString, nil, false, false
		if wanted {
			r.str = r.add('s')
		}
		return p[1:]
	case c == '{' || c == '[':
		if !wanted || r.next == nil || len(r.stack) >= maxDepth {
			r.state, r.depth, r.inStr, r.odd = inSkipped, 1, false, false
			return p[1:]
		}
		r.stack = append(r.stack, frame{v: r.add(c), want: r.next})
		r.state = beforeKey
		if c == '[' {
			r.state, r.wanted = beforeValue, true
		}
		return p[1:]
	case c == '-' || c >= '0' && c <= '9' || c == 't' || c == 'f' || c == 'n' || c == 'N' || c == 'I':
		r.state, r.lit, r.num = inLiteral, r.lit[:0], nil
		if wanted {
			r.num = r.add('n')
		}
		return p
	}
	return r.torn(p)
}

// value returns a value to be filled.
func (r *reader) value(kind byte) *value {
	if r.values == len(r.slab) {
		r.slab = append(r.slab, new(value))
	}
	v := r.slab[r.values]
	r.values++
	*v = value{kind: kind, short: v.short[:0], list: v.list[:0], keys: v.keys[:0]}
	return v
}

// add puts a new value where it belongs. Of a key that is there twice, the last
// counts.
func (r *reader) add(kind byte) *value {
	v := r.value(kind)
	top := &r.stack[len(r.stack)-1]
	if top.v.kind == '{' {
		if n := slices.Index(top.v.keys, top.key); n >= 0 {
			top.v.list[n] = v
			return v
		}
		top.v.keys = append(top.v.keys, top.key)
	}
	top.v.list = append(top.v.list, v)
	return v
}

// pop closes a container; the last one completes the line.
func (r *reader) pop(p []byte) []byte {
	v := r.stack[len(r.stack)-1].v
	r.stack = r.stack[:len(r.stack)-1]
	r.state = afterValue
	if len(r.stack) == 0 {
		r.state = afterObject
		r.line(v)
	}
	return p
}

// ended goes on after a value. The line's type may make the rest useless.
func (r *reader) ended() {
	r.state = afterValue
	if len(r.stack) == 1 && r.stack[0].key == "type" && r.wanted && r.drop != nil && r.drop(r.stack[0].v.str("type")) {
		r.state = toLineEnd
	}
}

func (r *reader) readLiteral(p []byte) []byte {
	n := bytes.IndexAny(p, ",}] \t\r\n")
	if n < 0 {
		n = len(p)
	}
	if len(r.lit)+n > maxLit {
		return r.torn(p[n:])
	}
	r.lit = append(r.lit, p[:n]...)
	if n == len(p) {
		return nil
	}
	if r.num != nil {
		r.num.short = append(r.num.short, r.lit...)
	}
	r.ended()
	return p[n:]
}

// skipString passes a string that is not wanted.
func (r *reader) skipString(p []byte) []byte {
	rest, end, torn := r.toQuote(p)
	switch {
	case torn:
		r.torn(nil)
		r.state = atLineStart
	case end:
		r.ended()
	}
	return rest
}

// toQuote finds the quotation mark that ends a string.
func (r *reader) toQuote(p []byte) (rest []byte, end, torn bool) {
	for at := 0; ; {
		n := bytes.IndexByte(p[at:], '"')
		stop := len(p)
		if n >= 0 {
			stop = at + n
		}
		if lf := bytes.IndexByte(p[at:stop], '\n'); lf >= 0 {
			return p[at+lf+1:], false, true
		}
		slashes := 0
		for slashes < stop-at && p[stop-1-slashes] == '\\' {
			slashes++
		}
		odd := slashes%2 == 1
		if slashes == stop-at && r.odd { // the run began before
			odd = !odd
		}
		if n < 0 {
			r.odd = odd
			return nil, false, false
		}
		r.odd = false
		if !odd {
			return p[stop+1:], true, false
		}
		at = stop + 1
	}
}

// skipContainer passes an object or array that is not wanted.
func (r *reader) skipContainer(p []byte) []byte {
	for len(p) > 0 {
		if r.inStr {
			rest, end, torn := r.toQuote(p)
			if torn {
				r.torn(nil)
				r.state = atLineStart
				return rest
			}
			r.inStr = !end
			p = rest
			continue
		}
		switch c := p[0]; c {
		case '"':
			r.inStr, r.odd = true, false
		case '{', '[':
			r.depth++
		case '}', ']':
			if r.depth--; r.depth == 0 {
				r.state = afterValue
				return p[1:]
			}
		case '\n':
			r.torn(nil)
			r.state = atLineStart
			return p[1:]
		}
		p = p[1:]
	}
	return p
}

// readString decodes a string that is wanted.
func (r *reader) readString(p []byte) []byte {
	for len(p) > 0 {
		if len(r.esc) > 0 {
			p = r.readEscape(p)
			continue
		}
		n := bytes.IndexByte(p, '"')
		stop := len(p)
		if n >= 0 {
			stop = n
		}
		if s := bytes.IndexByte(p[:stop], '\\'); s >= 0 {
			stop = s
		}
		if lf := bytes.IndexByte(p[:stop], '\n'); lf >= 0 {
			r.torn(nil)
			r.state = atLineStart
			return p[lf+1:]
		}
		r.put(p[:stop])
		p = p[stop:]
		if len(p) == 0 {
			return p
		}
		if p[0] == '"' {
			r.endString()
			return p[1:]
		}
		r.esc = append(r.esc[:0], '\\')
		p = p[1:]
	}
	return p
}

func (r *reader) put(b []byte) {
	if !r.isKey {
		r.str.write(b)
	} else if room := maxKey - len(r.key); room > 0 {
		r.key = append(r.key, b[:min(room, len(b))]...)
	}
}

func (v *value) write(b []byte) {
	if v.text == nil && len(v.short)+len(b) <= maxShort {
		v.short = append(v.short, b...)
		return
	}
	if v.text == nil {
		v.text = new(text)
		v.text.Write(v.short)
	}
	v.text.Write(b)
}

func (r *reader) endString() {
	if !r.isKey {
		r.str = nil
		r.ended()
		return
	}
	r.isKey = false
	top := &r.stack[len(r.stack)-1]
	r.state = afterKey
	if r.next, r.wanted = top.want[string(r.key)]; !r.wanted {
		top.key = ""
		return
	}
	name, ok := r.names[string(r.key)]
	if !ok {
		if r.names == nil {
			r.names = map[string]string{}
		}
		name = string(r.key)
		r.names[name] = name
	}
	top.key = name
}

// readEscape reads an escape sequence, of which the beginning is in r.esc: a
// surrogate pair is two of them.
func (r *reader) readEscape(p []byte) []byte {
	for len(p) > 0 {
		if p[0] == '\n' || len(r.esc) == 6 && p[0] != '\\' || len(r.esc) == 7 && p[0] != 'u' {
			// Half a pair, and then something else: p, and the backslash before it.
			pending := len(r.esc) == 7
			r.putRune(utf8.RuneError)
			r.esc = r.esc[:0]
			if pending {
				r.esc = append(r.esc, '\\')
			}
			return p
		}
		r.esc = append(r.esc, p[0])
		p = p[1:]
		switch n := len(r.esc); {
		case n == 2 && r.esc[1] != 'u':
			r.put(unescaped(r.esc[1]))
			r.esc = r.esc[:0]
			return p
		case n == 6:
			u := hex4(r.esc[2:6])
			if utf16.IsSurrogate(u) && u < 0xdc00 {
				continue // the other half follows
			}
			r.putRune(u)
			r.esc = r.esc[:0]
			return p
		case n == 12:
			first, second := hex4(r.esc[2:6]), hex4(r.esc[8:12])
			if c := utf16.DecodeRune(first, second); c != utf8.RuneError {
				r.putRune(c)
			} else {
				r.putRune(utf8.RuneError)
				r.putRune(second)
			}
			r.esc = r.esc[:0]
			return p
		}
	}
	return p
}

func (r *reader) putRune(c rune) { r.put(utf8.AppendRune(nil, c)) }

func unescaped(c byte) []byte {
	switch c {
	case 'n':
		c = '\n'
	case 't':
		c = '\t'
	case 'r':
		c = '\r'
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	}
	return []byte{c}
}

func hex4(b []byte) rune {
	u, err := strconv.ParseUint(string(b), 16, 32)
	if err != nil {
		return utf8.RuneError
	}
	return rune(u)
}
