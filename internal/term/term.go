// Package term knows what text does to a terminal and to the person in front of
// it: control sequences, control characters, characters that show nothing or turn
// the direction of text around, letters that look like others.
//
// [Plain] and [Visible] are for reading (what would a person see?), [Strip], [Clean] and [Line]
// are for showing (what may a terminal be given?), [Skeleton] is for comparing
// (does this read as that?). All follow control sequences with one state machine.
package term

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Plain returns text as a person sees it on a terminal: without control
// sequences, without a byte-order mark at its beginning, with lines that a
// carriage return has overwritten showing their last state, and with CRLF read as
// LF. The number of lines stays what it was. Other characters, also invisible
// ones and bytes that are not UTF-8, stay.
func Plain(text string) string {
	return overwritten(withoutSequences(strings.TrimPrefix(text, "\uFEFF")))
}

// overwritten returns what carriage returns leave of each line.
func overwritten(text string) string {
	if strings.IndexByte(text, '\r') < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for line := range strings.SplitAfterSeq(text, "\n") {
		body := strings.TrimRight(line, "\r\n")
		b.WriteString(body[strings.LastIndexByte(body, '\r')+1:])
		if strings.HasSuffix(line, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Clean makes text that nobody vouches for safe to show: without control
// sequences, control characters but line feed and tab, and what [Invisible]
// names. CRLF and a carriage return become a line feed, but at the very end
// nothing; each byte that is not UTF-8 becomes U+FFFD.
func Clean(text string) string {
	if harmless(text) == len(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	s := stripper{to: &b}
	io.WriteString(&s, text) // a Builder does not fail
	for range s.part {
		b.WriteRune(utf8.RuneError)
	}
	return b.String()
}

// EscapeJSON escapes in JSON what [Clean] would remove, so that its value stays.
// The text must be as encoding/json writes it, in which only strings hold other
// characters than those of ASCII.
func EscapeJSON(text []byte) []byte {
	at := harmless(text)
	if at == len(text) {
		return text
	}
	out := append(make([]byte, 0, len(text)+64), text[:at]...)
	for _, r := range string(text[at:]) {
		switch {
		case r < 0x20 || shown(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// Line makes one line of [Clean] text, each run of white space one blank.
func Line(text string) string { return strings.Join(strings.Fields(Clean(text)), " ") }

// Invisible reports whether a character shows nothing by itself but may change
// what stands beside it: zero-width ones, joiners, soft hyphens, variation
// selectors, tags, fillers, and those that turn the direction of text around.
// White space and control characters are not among them.
func Invisible(r rune) bool {
	switch {
	case r < 0xad || r >= 0x3165 && r <= 0xfdff: // most text, told quickly
		return false
	case r >= 0x600 && r <= 0x605 || r == 0x6dd || r == 0x70f || r == 0x890 || r == 0x891 || r == 0x8e2 || r == 0x110bd || r == 0x110cd:
		return false // signs that stand around numbers, and are seen
	case r >= 0x13430 && r <= 0x1343f:
		return false // these arrange hieroglyphs
	}
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// shown reports whether a terminal may be given the character.
func shown(r rune) bool {
	return r == '\n' || r == '\t' || r >= 0x20 && r < 0x7f || r >= 0xa0 && !Invisible(r)
}

// harmless is how many bytes at the beginning of p may be shown as they are.
func harmless[T string | []byte](p T) int {
	n := 0
	for n < len(p) {
		if c := p[n]; c >= 0x20 && c < 0x7f || c == '\n' || c == '\t' {
			n++
			continue
		}
		r, size := utf8.DecodeRuneInString(string(p[n:min(n+utf8.UTFMax, len(p))]))
		if r == utf8.RuneError && size <= 1 || !shown(r) {
			return n
		}
		n += size
	}
	return n
}

// Strip returns a writer that passes on what [Clean] makes of a text that comes
// in pieces: whole characters only, so that the last bytes of a text are kept
// back for ever if they are none. To a w that [Overwrites] a carriage return before
// other text goes as it is, and not as a line feed.
func Strip(w io.Writer) io.Writer { return &stripper{to: w, overwrites: Overwrites(w)} }

// Overwrites reports whether a writer knows what a carriage return does: a progress bar is
// one line for it, whose beginning is written over, and not a line for each of its steps.
// It says so by a method of this name. To all others a carriage return would be a command.
func Overwrites(w io.Writer) bool {
	o, ok := w.(interface{ Overwrites() bool })
	return ok && o.Overwrites()
}

// LastFrames is a text in which nothing is left of what a carriage return has written
// over, see [Overwrites]. Line ends stay.
func LastFrames(text []byte) []byte {
	if bytes.IndexByte(text, '\r') < 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	for line := range bytes.Lines(text) {
		body := bytes.TrimRight(line, "\r\n")
		out = append(out, body[bytes.LastIndexByte(body, '\r')+1:]...)
		if line[len(line)-1] == '\n' {
			out = append(out, '\n')
		}
	}
	return out
}

type stripper struct {
	to   io.Writer
	seq  sequence
	cr   bool   // a carriage return was the last character
	part []byte // of a character of several bytes
	out  []byte

	overwrites bool // carriage returns are passed on
}

func (s *stripper) Overwrites() bool { return s.overwrites }

func (s *stripper) Write(p []byte) (int, error) {
	n := len(p)
	s.out = s.out[:0]
	for len(p) > 0 {
		if s.seq == outside && len(s.part) == 0 && !s.cr {
			run := harmless(p)
			s.out = append(s.out, p[:run]...)
			if p = p[run:]; len(p) == 0 {
				break
			}
		}
		s.part = append(s.part, p[0])
		p = p[1:]
		for len(s.part) > 0 && utf8.FullRune(s.part) { // a byte that is no character may have others behind it
			r, size := utf8.DecodeRune(s.part)
			s.part = append(s.part[:0], s.part[size:]...)
			s.next(r)
		}
	}
	if len(s.out) > 0 {
		if _, err := s.to.Write(s.out); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func (s *stripper) next(r rune) {
	if s.seq.hides(r) {
		return
	}
	if s.cr {
		s.cr = false
		if r == '\n' || !s.overwrites {
			s.out = append(s.out, '\n')
		} else if len(s.out) == 0 || s.out[len(s.out)-1] != '\r' {
			s.out = append(s.out, '\r')
		}
		if r == '\n' {
			return
		}
	}
	switch {
	case r == '\r':
		s.cr = true
	case shown(r):
		s.out = utf8.AppendRune(s.out, r)
	}
}
