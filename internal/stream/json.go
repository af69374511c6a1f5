package stream

import (
	"bytes"
	"slices"
)

// Limits of what one line may make the reader keep.
const (
	maxDepth  = 32
	maxValues = 4096
	maxTexts  = 8 // long strings; of more, the last ones are kept
	maxKey    = 128
	maxLit    = 64
	maxNames  = 1024 // of keys, over all lines
	maxJunk   = 256  // bytes of a line that is no JSON
)

// A reader reads lines of JSON as they come, in any pieces, and keeps of each
// only what its filter wants: strings that are not wanted are passed by at the
// speed of a search for their end. A raw line feed always ends the line, so one
// that is torn costs only itself.
type reader struct {
	want filter
	drop func(kind []byte) bool // by the top-level "type": the line is of no use
	line func(*value)
	junk func(line []byte) // the beginning of a line that is no JSON object

	state  state
	stack  []frame
	slab   []*value          // given to lines in turn
	names  map[string]string // the keys that were wanted, to be shared
	values int
	texts  []*value // those of the line that are long
	key    []byte   // being read
	str    *value   // being read; nil = not wanted
	num    *value   // the literal being read; nil = not wanted
	lit    []byte   // being read
	buf    []byte   // of the string being read, not put into str yet
	esc    []byte   // an escape sequence that is not complete
	odd    bool     // in a string that is not wanted: an odd run of backslashes ends here
	depth  int      // of containers that are not wanted
	inStr  bool     // in a string in them
	other  []byte   // the beginning of the line, which may turn out to be no JSON
	isKey  bool     // the string being read is a key
	next   filter   // of the value that follows
	wanted bool     // it is wanted at all
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
	inTorn    // the line is no JSON after all
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
	if r.state.inLine() && r.state != inJunk && len(r.other) < maxJunk && bytes.IndexByte(r.other, '\n') < 0 {
		r.remember(p)
	}
	for len(p) > 0 {
		switch r.state {
		case atLineStart:
			p = r.begin(p)
		case inJunk:
			p = r.readJunk(p)
		case inTorn:
			n := bytes.IndexByte(p, '\n')
			if n < 0 {
				return
			}
			r.dismiss()
			r.state, p = atLineStart, p[n+1:]
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

// inLine reports whether a line is being read of which more is needed.
func (s state) inLine() bool { return s != atLineStart && s != toLineEnd && s != afterObject }

// remember keeps the beginning of a line, for those who want to know what it was
// that could not be read.
func (r *reader) remember(p []byte) {
	r.other = append(r.other, p[:min(maxJunk-len(r.other), len(p))]...)
}

// close ends the last line, which may lack its line feed.
func (r *reader) close() {
	if r.state.inLine() {
		r.dismiss()
	}
}

// dismiss reports a line that is no JSON.
func (r *reader) dismiss() {
	line, _, _ := bytes.Cut(r.other, []byte{'\n'})
	r.junk(line)
}

func (r *reader) begin(p []byte) []byte {
	for len(p) > 0 && (p[0] == ' ' || p[0] == '\t' || p[0] == '\r' || p[0] == '\n') {
		p = p[1:]
	}
	if len(p) == 0 {
		return p
	}
	r.other = r.other[:0]
	if p[0] != '{' {
		r.state = inJunk
		return p
	}
	r.remember(p)
	r.values, r.texts = 0, r.texts[:0]
	r.stack = append(r.stack[:0], frame{v: r.value('{'), want: r.want})
	r.state = beforeKey
	return p[1:]
}

func (r *reader) readJunk(p []byte) []byte {
	line, rest, ended := bytes.Cut(p, []byte{'\n'})
	// A byte-order mark or a colour before the object is not part of it.
	for at := 0; at+len(r.other) <= 16; at++ {
		n := bytes.IndexByte(line[at:], '{')
		if n < 0 {
			break
		}
		at += n
		if at+len(r.other) <= 16 && invisible(append(r.other, line[:at]...)) {
			r.state = atLineStart
			return p[at:]
		}
	}
	if room := maxJunk - len(r.other); room > 0 {
		r.other = append(r.other, line[:min(room, len(line))]...)
	}
	if !ended {
		return nil
	}
	r.dismiss()
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
	r.str, r.buf, r.esc, r.isKey = nil, r.buf[:0], r.esc[:0], false
	r.state = inTorn
	return rest
}

// structural reads one byte between keys and values.
func (r *reader) structural(p []byte) []byte {
	c := p[0]
	switch {
	case c == '\n':
		return r.torn(p)
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
	if len(r.stack) == 1 && r.stack[0].key == "type" && r.wanted && r.drop != nil && r.drop(r.stack[0].v.get("type").short) {
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
