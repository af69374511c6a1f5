package stream

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// Strip returns a writer that passes on text a terminal can be shown: without
// escape sequences and control characters but line feed and tab, in valid
// UTF-8. A carriage return becomes a line feed. It passes on only whole runes,
// so the last bytes of a text may be kept back for ever if they are none.
func Strip(w io.Writer) io.Writer { return &stripper{to: w} }

type stripper struct {
	to   io.Writer
	mode byte // 0 text, 'e' after ESC, '[' in CSI, ']' in a control string, '\\' after ESC in one
	cr   bool // a carriage return was the last byte
	part []byte
	out  []byte
}

func (s *stripper) Write(p []byte) (int, error) {
	n := len(p)
	s.out = s.out[:0]
	for len(p) > 0 {
		if s.mode == 0 && len(s.part) == 0 && !s.cr {
			run := harmless(p)
			s.out = append(s.out, p[:run]...)
			if p = p[run:]; len(p) == 0 {
				break
			}
		}
		s.next(p[0])
		p = p[1:]
	}
	if len(s.out) > 0 {
		if _, err := s.to.Write(s.out); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// harmless is how many bytes at the beginning of p may pass as they are.
func harmless(p []byte) int {
	n := 0
	for n < len(p) {
		c := p[n]
		switch {
		case c >= 0x20 && c < 0x7f, c == '\n', c == '\t':
			n++
			continue
		case c < utf8.RuneSelf:
			return n
		}
		r, size := utf8.DecodeRune(p[n:])
		if r == utf8.RuneError || control(r) {
			return n
		}
		n += size
	}
	return n
}

// control reports whether a rune of several bytes is a C1 control, or turns the
// direction of text around.
func control(r rune) bool {
	return r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

func (s *stripper) next(c byte) {
	if s.mode != 0 {
		s.escape(c)
		return
	}
	if len(s.part) > 0 || c >= utf8.RuneSelf {
		s.multi(c)
		return
	}
	if s.cr {
		s.cr = false
		s.out = append(s.out, '\n')
		if c == '\n' {
			return
		}
	}
	switch {
	case c == 0x1b:
		s.mode = 'e'
	case c == '\r':
		s.cr = true
	case c == '\n' || c == '\t' || c >= 0x20 && c != 0x7f:
		s.out = append(s.out, c)
	}
}

// multi collects a rune of several bytes.
func (s *stripper) multi(c byte) {
	if s.cr {
		s.cr = false
		s.out = append(s.out, '\n')
	}
	s.part = append(s.part, c)
	if !utf8.FullRune(s.part) {
		return
	}
	held := bytes.Clone(s.part)
	s.part = s.part[:0]
	r, size := utf8.DecodeRune(held)
	switch {
	case r == 0x9b: // CSI in one
		s.mode = '['
	case r == 0x90 || r == 0x98 || r == 0x9d || r == 0x9e || r == 0x9f:
		s.mode = ']'
	case control(r):
	default:
		s.out = utf8.AppendRune(s.out, r)
	}
	for _, c := range held[size:] {
		s.next(c)
	}
}

func (s *stripper) escape(c byte) {
	text := s.mode == ']' || s.mode == '\\'
	if c == '\n' || !text && c >= utf8.RuneSelf { // none goes over lines, and only strings hold other runes
		s.mode = 0
		s.next(c)
		return
	}
	switch s.mode {
	case 'e':
		switch {
		case c == '[':
			s.mode = '['
		case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
			s.mode = ']'
		case c >= 0x20 && c <= 0x2f || c == 0x1b: // goes on
		default:
			s.mode = 0
		}
	case '[':
		if c >= 0x40 && c <= 0x7e || c < 0x20 || c >= 0x7f {
			s.mode = 0
		}
	case ']':
		switch c {
		case 0x07:
			s.mode = 0
		case 0x1b:
			s.mode = '\\'
		}
	case '\\':
		s.mode = 0
		if c != '\\' {
			s.mode = 'e'
			s.escape(c)
		}
	}
}
