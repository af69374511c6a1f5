package term

import (
	"bytes"
	"strings"
)

// A sequence follows text through ECMA-48 control sequences: CSI (colours, the
// cursor), OSC and the other strings (titles, links), and those of two and three
// bytes, introduced by ESC or by one C1 character. None goes on past its line,
// so that a lone ESC cannot swallow the rest of a text. The zero value is
// outside of any.
type sequence byte

const (
	outside       sequence = iota
	afterEscape            // after ESC
	intermediates          // after ESC and intermediate bytes
	inControl              // in a CSI
	inString               // in a control string, up to BEL or ST
	escInString            // after an ESC in one, which may be the first half of ST
)

// hides takes the next character and reports whether it belongs to a control
// sequence.
func (s *sequence) hides(r rune) bool {
	switch *s {
	case outside:
		return s.begin(r)
	case afterEscape:
		return s.afterEscape(r)
	case intermediates:
		switch {
		case r >= 0x20 && r <= 0x2f:
		case r >= 0x30 && r <= 0x7e:
			*s = outside
		default:
			return s.begin(r)
		}
		return true
	case inControl:
		switch {
		case r >= 0x20 && r < 0x40:
		case r >= 0x40 && r <= 0x7e:
			*s = outside
		default:
			return s.begin(r)
		}
		return true
	case inString:
		return s.inString(r)
	}
	if r == '\\' {
		*s = outside
		return true
	}
	return s.afterEscape(r)
}

// begin takes a character outside of any sequence, be it that the one before was
// broken off.
func (s *sequence) begin(r rune) bool {
	switch {
	case r == 0x1b:
		*s = afterEscape
	case r == 0x9b:
		*s = inControl
	case introduces(r):
		*s = inString
	default:
		*s = outside
		return false
	}
	return true
}

// introduces reports whether a C1 character begins a sequence: DCS, SOS, CSI, OSC, PM
// or APC. In UTF-8 they are its second byte, after 0xc2.
func introduces(r rune) bool {
	return r == 0x90 || r == 0x98 || r == 0x9b || r >= 0x9d && r <= 0x9f
}

func (s *sequence) afterEscape(r rune) bool {
	switch {
	case r == '[':
		*s = inControl
	case r == ']' || r == 'P' || r == 'X' || r == '^' || r == '_':
		*s = inString
	case r >= 0x20 && r <= 0x2f:
		*s = intermediates
	case r >= 0x30 && r <= 0x7e:
		*s = outside
	default:
		return s.begin(r)
	}
	return true
}

func (s *sequence) inString(r rune) bool {
	switch r {
	case '\n':
		return s.begin(r)
	case 0x07, 0x9c:
		*s = outside
	case 0x1b:
		*s = escInString
	}
	return true
}

// withoutSequences removes control sequences from a whole text.
func withoutSequences(text string) string {
	f := finder{text: text, esc: -1, c1: -1}
	if f.next(0) == len(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for at := 0; at < len(text); {
		next := f.next(at)
		b.WriteString(text[at:next])
		at = next
		for size := -1; size != 0; at += size {
			size = hidden(text[at:])
		}
	}
	return b.String()
}

// hidden is the size of the control sequence that text begins with, up to where
// another one begins; 0 = none.
func hidden(text string) int {
	s := outside
	for at, r := range text {
		if at > 0 && (s == outside || (r == 0x1b || r == 0x9b) && s != inString) {
			return at
		}
		if !s.hides(r) {
			return at
		}
	}
	return len(text)
}

// A finder finds the characters that begin sequences. It looks for each kind
// once, not once for each of the other.
type finder struct {
	text    string
	esc, c1 int // the next ones, unless they have been passed
}

// next returns where the next one at or after at stands, or the text's length.
func (f *finder) next(at int) int {
	if f.esc < at {
		f.esc = f.index(at, 0x1b)
	}
	if f.c1 < at {
		f.c1 = f.index(at, 0xc2)
		for f.c1 < len(f.text) && !(f.c1+1 < len(f.text) && introduces(rune(f.text[f.c1+1]))) {
			f.c1 = f.index(f.c1+1, 0xc2)
		}
	}
	return min(f.esc, f.c1)
}

func (f *finder) index(at int, c byte) int {
	if n := strings.IndexByte(f.text[at:], c); n >= 0 {
		return at + n
	}
	return len(f.text)
}

// MayEscape reports whether text may hold control sequences, quickly: it says yes
// to some text that holds none, but never no to text that does.
func MayEscape[T string | []byte](text T) bool {
	switch text := any(text).(type) {
	case string:
		return strings.IndexByte(text, 0x1b) >= 0 || strings.IndexByte(text, 0xc2) >= 0
	case []byte:
		return bytes.IndexByte(text, 0x1b) >= 0 || bytes.IndexByte(text, 0xc2) >= 0
	}
	panic("unreachable")
}
