package stream

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

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
