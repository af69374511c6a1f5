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
	s.out = s.out[:0]
	for _, c := range p {
		s.next(c)
	}
	if len(s.out) > 0 {
		if _, err := s.to.Write(s.out); err != nil {
			return 0, err
		}
	}
	return len(p), nil
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
	case r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
		// C1 controls, and the marks that turn text around
	default:
		s.out = utf8.AppendRune(s.out, r)
	}
	for _, c := range held[size:] {
		s.next(c)
	}
}

func (s *stripper) escape(c byte) {
	if c == '\n' { // no sequence goes over lines
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
