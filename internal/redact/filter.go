package redact

import "bytes"

const (
	lookBack = 128 // bytes before a place that may decide about it
	decided  = 512 // a token is judged by this many bytes, and goes on to its end
)

// A filter hides secrets in a stream. It has two stages, of which the second
// reads what the first writes: values that were named, then formats.
//
// Each stage goes through the text once. At each place it says "no secret begins
// here", "this many bytes are one" or "I need to see more", and it may say the
// first two only if nothing that follows could change them. That is why
// it does not matter how the text is cut. What it needs to see is bounded; a token
// beyond the bound is decided by its beginning, and the rest is dropped as it comes.
type filter struct {
	named   *named
	formats *formats

	first  window
	second window
	middle []byte // between the stages

	tail  func(byte) bool // what still belongs to the token that was hidden; nil = nothing
	inKey bool            // in the body of a private key
}

// A window is the text that a stage has in hand: buf[:pos] is decided and there to
// look back at.
type window struct {
	buf []byte
	pos int
}

// add appends p, and forgets what is too far back.
func (w *window) add(p []byte) {
	if len(w.buf) == 0 {
		w.buf = append(w.buf, p...)
		return
	}
	if drop := w.pos - lookBack; drop > 0 {
		w.buf = w.buf[:copy(w.buf, w.buf[drop:])]
		w.pos = lookBack
	}
	w.buf = append(w.buf, p...)
}

// before is what stands before the place that is looked at.
func (w *window) before() []byte { return w.buf[max(0, w.pos-lookBack):w.pos] }

// add takes a piece of the text and appends to out what can be passed on.
func (f *filter) add(out, p []byte, end bool) []byte {
	if f.named != nil {
		f.first.add(p)
		f.middle = f.hideNamed(f.middle[:0], end)
		p = f.middle
	}
	f.second.add(p)
	return f.hideFormats(out, end)
}

// A finding is what is to be done at one place: keep some bytes, hide some. The
// zero value is "nothing begins here".
type finding struct {
	keep, hide int
	kind       string
	tail       func(byte) bool
	key        bool // a private key begins
	more       bool // it cannot be known yet
}

// hideFormats is the second stage.
func (f *filter) hideFormats(out []byte, end bool) []byte {
	w := &f.second
	from := w.pos
	for w.pos < len(w.buf) {
		b := w.buf[w.pos:]
		if f.tail != nil || f.inKey {
			n, more := f.skip(b, end)
			w.pos += n
			from = w.pos
			if more {
				break
			}
			continue
		}
		if n := f.formats.next(b); n > 0 {
			w.pos += n
			continue
		}
		found := f.at(w.before(), b, end)
		if found.more {
			break
		}
		if found.hide == 0 {
			w.pos += max(found.keep, 1)
			continue
		}
		out = append(out, w.buf[from:w.pos+found.keep]...)
		out = mark(out, found.kind)
		w.pos += found.keep + found.hide
		from = w.pos
		f.tail, f.inKey = found.tail, found.key
	}
	return append(out, w.buf[from:w.pos]...)
}

// skip says how much of b still belongs to what was hidden.
func (f *filter) skip(b []byte, end bool) (n int, more bool) {
	if f.inKey {
		n, last, more := keyPart(b, end)
		f.inKey = n > 0 && !last || more
		return n, more
	}
	for n < len(b) && f.tail(b[n]) {
		n++
	}
	if n < len(b) {
		f.tail = nil
	}
	return n, false
}

func (f *filter) at(before, b []byte, end bool) finding {
	switch b[0] {
	case '[':
		n, more := marked(b, end)
		return finding{keep: n, more: more}
	case '=', ':':
		return f.assigned(before, b, end)
	case '-':
		return keyBegins(b, end)
	case 'B', 'b':
		if found := f.bearer(before, b, end); found.hide > 0 || found.more {
			return found
		}
	}
	return f.token(before, b, end)
}

// A class is a set of kinds of bytes.
type class uint8

const (
	digit class = 1 << iota
	lower
	upper
	under
	dash
	dot
	other // of base64 and of URLs: + / = ~ %

	alnum  = digit | lower | upper
	word   = alnum | under
	urlish = word | dash
)

func classOf(c byte) class {
	switch {
	case '0' <= c && c <= '9':
		return digit
	case 'a' <= c && c <= 'z':
		return lower
	case 'A' <= c && c <= 'Z':
		return upper
	}
	switch c {
	case '_':
		return under
	case '-':
		return dash
	case '.':
		return dot
	case '+', '/', '=', '~', '%':
		return other
	}
	return 0
}

func (k class) has(c byte) bool { return classOf(c)&k != 0 }

// run is the length of the token that b begins with, up to limit; more says that
// it may go on after b.
func run(b []byte, has func(byte) bool, limit int, end bool) (n int, more bool) {
	for n < len(b) && n < limit && has(b[n]) {
		n++
	}
	return n, n == len(b) && n < limit && !end
}

// apart reports whether a token may begin after before: at the beginning, after
// what is no letter, digit or underscore, and after what only looks like a
// letter, since output is full of it: \n and \u003d of JSON, %3D of URLs, the m
// of a terminal's colour.
func apart(before []byte) bool {
	n := len(before)
	if n == 0 || classOf(before[n-1])&word == 0 {
		return true
	}
	switch last := before[n-1]; {
	case n >= 2 && before[n-2] == '\\':
		return bytes.IndexByte([]byte("nrtbf"), last) >= 0
	case n >= 3 && before[n-3] == '%' && isHex(before[n-2]) && isHex(last):
		return true
	case n >= 6 && before[n-6] == '\\' && before[n-5] == 'u':
		return isHex(last)
	case last == 'm':
		colour := bytes.TrimRight(before[:n-1], "0123456789;")
		return len(colour) > 0 && colour[len(colour)-1] == '['
	}
	return false
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }
