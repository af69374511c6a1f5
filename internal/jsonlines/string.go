package jsonlines

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/internal/reply"
	"github.com/ralph-loop/ralph/internal/term"
)

// skipString passes a string that is not wanted.
func (r *Reader) skipString(p []byte) []byte {
	rest, end, torn := r.toQuote(p)
	if r.brief != nil {
		r.keepBrief(p[:len(p)-len(rest)], end)
	}
	switch {
	case torn:
		return r.torn(rest)
	case end:
		r.ended()
	}
	return rest
}

// toQuote finds the quotation mark that ends a string, or the line feed that
// tears it.
func (r *Reader) toQuote(p []byte) (rest []byte, end, torn bool) {
	for at, clear := 0, 0; ; { // p[:clear] holds no line feed
		n := bytes.IndexByte(p[at:], '"')
		stop := len(p)
		if n >= 0 {
			stop = at + n
		}
		if stop > clear {
			to := stop
			if at > 0 { // there are many quotation marks: look further ahead
				to = min(max(stop, clear+512), len(p))
			}
			lf := bytes.IndexByte(p[clear:to], '\n')
			switch {
			case lf < 0:
				clear = to
			case clear+lf < stop:
				return p[clear+lf:], false, true
			default:
				clear += lf
			}
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
func (r *Reader) skipContainer(p []byte) []byte {
	for len(p) > 0 {
		if r.inStr {
			rest, end, torn := r.toQuote(p)
			if torn {
				return r.torn(rest)
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
			return r.torn(p)
		}
		p = p[1:]
	}
	return p
}

// readString decodes a string that is wanted.
func (r *Reader) readString(p []byte) []byte {
	for stop := -1; len(p) > 0; {
		if len(r.esc) > 0 {
			rest := r.readEscape(p)
			stop -= len(p) - len(rest)
			p = rest
			continue
		}
		if stop < 0 {
			stop = stringStop(p)
		}
		n := bytes.IndexByte(p[:stop], '\\')
		if n < 0 {
			n = stop
		}
		r.put(p[:n])
		p, stop = p[n:], stop-n
		switch {
		case len(p) == 0:
		case p[0] == '"':
			r.endString()
			return p[1:]
		case p[0] == '\n':
			return r.torn(p)
		case len(p) > 1 && p[1] != 'u' && p[1] != '\n':
			r.putByte(unescaped(p[1]))
			p, stop = p[2:], stop-2
		default:
			r.esc = append(r.esc[:0], '\\')
			p, stop = p[1:], stop-1
		}
	}
	r.flush()
	return p
}

// keepBrief keeps the beginning of a string as it is written: most are never looked at.
func (r *Reader) keepBrief(p []byte, end bool) {
	v := r.brief
	if end {
		p = p[:len(p)-1]
		r.brief = nil
	}
	v.short = append(v.short, p[:min(briefSize+1-len(v.short), len(p))]...)
}

// brief decodes the beginning of a string.
func brief(raw []byte) string {
	cut := len(raw) > briefSize
	r := Reader{str: new(Value)}
	r.readString(raw[:min(len(raw), briefSize)]) // what is left in r.esc is not complete
	text := r.str.short
	if cut {
		text = append(text[:len(text)-term.Begun(text)], "…"...)
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// stringStop is where the next quotation mark or line feed stands. It is looked
// for once, not once for each escape sequence before it.
func stringStop(p []byte) int {
	stop := bytes.IndexByte(p, '"')
	if stop < 0 {
		stop = len(p)
	}
	if lf := bytes.IndexByte(p[:stop], '\n'); lf >= 0 {
		return lf
	}
	return stop
}

// put takes over decoded bytes. Between escape sequences there are few; they are
// gathered.
func (r *Reader) put(b []byte) {
	switch {
	case r.isKey:
		r.key = append(r.key, b[:min(maxKey-len(r.key), len(b))]...)
	case len(b) >= 256:
		r.flush()
		r.write1(b)
	default:
		r.buf = append(r.buf, b...)
		if len(r.buf) >= 4<<10 {
			r.flush()
		}
	}
}

func (r *Reader) putByte(c byte) {
	if r.isKey {
		r.put([]byte{c})
		return
	}
	r.buf = append(r.buf, c)
}

func (r *Reader) flush() {
	if len(r.buf) > 0 {
		r.write1(r.buf)
		r.buf = r.buf[:0]
	}
}

// write1 writes to the string being read, which becomes a text when it is long.
func (r *Reader) write1(b []byte) {
	v := r.str
	if v.text == nil && len(v.short)+len(b) <= maxShort {
		v.short = append(v.short, b...)
		return
	}
	if v.text == nil {
		v.text = new(reply.Text)
		v.text.Write(v.short)
		if r.texts = append(r.texts, v); len(r.texts) > maxTexts {
			r.texts[0].text.Drop()
			r.texts = append(r.texts[:0], r.texts[1:]...)
		}
	}
	v.text.Write(b)
}

func (r *Reader) endString() {
	if !r.isKey {
		r.flush()
		r.str = nil
		r.ended()
		return
	}
	r.isKey = false
	top := &r.stack[len(r.stack)-1]
	r.state = afterKey
	w := top.want.of(r.key)
	if r.wanted = w != nil; !r.wanted {
		r.next, top.key = nil, ""
		return
	}
	r.next, top.key = w.plan, w.name
	if w.name != "" || len(r.key) == 0 {
		return
	}
	name, ok := r.names[string(r.key)]
	if !ok {
		if r.names == nil {
			r.names = map[string]string{}
		}
		name = string(r.key)
		if len(r.names) < maxNames {
			r.names[name] = name
		}
	}
	top.key = name
}

// readEscape reads an escape sequence, of which the beginning is in r.esc: a
// surrogate pair is two of them.
func (r *Reader) readEscape(p []byte) []byte {
	for len(p) > 0 {
		n := len(r.esc)
		if p[0] == '\n' || n == 6 && p[0] != '\\' || n == 7 && p[0] != 'u' {
			// Half a pair, and then something else: p, and the backslash before it.
			r.putRune(utf8.RuneError)
			r.esc = r.esc[:0]
			if n == 7 {
				r.esc = append(r.esc, '\\')
			}
			return p
		}
		r.esc = append(r.esc, p[0])
		p = p[1:]
		if r.escaped() {
			return p
		}
	}
	return p
}

// escaped puts what the escape sequence in r.esc stands for, and reports whether it
// was complete.
func (r *Reader) escaped() bool {
	switch n := len(r.esc); {
	case n == 2 && r.esc[1] != 'u':
		r.putByte(unescaped(r.esc[1]))
	case n == 6:
		u := hex4(r.esc[2:6])
		if firstHalf(u) {
			return false
		}
		r.putRune(u)
	case n == 12:
		first, second := hex4(r.esc[2:6]), hex4(r.esc[8:12])
		c := utf16.DecodeRune(first, second)
		r.putRune(c)
		if c == utf8.RuneError && firstHalf(second) {
			r.esc = append(r.esc[:0], r.esc[6:]...) // of the next pair
			return false
		}
		if c == utf8.RuneError {
			r.putRune(second)
		}
	default:
		return false
	}
	r.esc = r.esc[:0]
	return true
}

// firstHalf reports whether another escape sequence must follow for a character.
func firstHalf(u rune) bool { return utf16.IsSurrogate(u) && u < 0xdc00 }

func (r *Reader) putRune(c rune) { r.put(utf8.AppendRune(nil, c)) }

func unescaped(c byte) byte {
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
	return c
}

func hex4(b []byte) rune {
	u, err := strconv.ParseUint(string(b), 16, 32)
	if err != nil {
		return utf8.RuneError
	}
	return rune(u)
}
