package term

import "strings"

// Visible returns [Plain] text without what a terminal hides from a person: what is
// concealed (SGR 8), what was erased, and the lines that the cursor has moved back
// to, for they may say something else now. The number of lines stays what it was,
// and U+FEFF, which nobody sees, stands for what is left out.
//
// It follows the cursor by lines. It does not know how wide the screen is, hence not
// which line is wrapped, nor what has scrolled away, nor colours: text in the colour
// of its background is visible here.
func Visible(text string) string {
	seen, _ := VisibleIn(strings.TrimPrefix(text, "\uFEFF"), false)
	return seen
}

// VisibleIn is that for a part of a text. It takes whether what was before conceals
// what follows, and returns whether the part does.
func VisibleIn(text string, concealed bool) (seen string, conceals bool) {
	f := finder{text: text, esc: -1, c1: -1}
	if !concealed && f.next(0) == len(text) {
		return overwritten(text), false
	}
	s := screen{concealed: concealed}
	s.out.Grow(len(text))
	for at := 0; at < len(text); {
		next := f.next(at)
		s.write(text[at:next])
		at = next
		for size := -1; size != 0; at += size {
			size = hidden(text[at:])
			s.control(text[at : at+size])
		}
	}
	return overwritten(s.text()), s.concealed
}

// A screen is what was written to a terminal, and what of it was written over.
type screen struct {
	out       strings.Builder
	line      int  // written so far
	row       int  // of the cursor, if nothing scrolls
	moved     int  // what line is more than row, since the cursor moves up
	saved     int  // row
	back      bool // the cursor has moved back on its line
	returned  bool // by a carriage return
	concealed bool
	gone      []erased
}

// erased is what is no longer seen: what was written before an offset, from a line
// on. Of several, a later one reaches less far up: those that do not are dropped.
type erased struct{ before, line, row, moved int }

const leftOut = "\uFEFF"

func (s *screen) write(text string) {
	if text == "" {
		return
	}
	if s.back && text[0] != '\n' {
		s.out.WriteString("\r" + leftOut)
	}
	s.back, s.returned = false, text[len(text)-1] == '\r'
	lines := strings.Count(text, "\n")
	s.line += lines
	s.row += lines
	if !s.concealed {
		s.out.WriteString(text)
		return
	}
	s.out.WriteString(leftOut)
	for range lines {
		s.out.WriteByte('\n')
	}
}

// control does what a sequence says.
func (s *screen) control(seq string) {
	seq = seq[max(strings.LastIndexByte(seq, 0x1b), 0):] // a string may be broken off by another
	params, ok := strings.CutPrefix(seq, "\x1b[")
	if !ok {
		params, ok = strings.CutPrefix(seq, "\u009b")
	}
	last := len(params) - 1
	switch {
	case !ok:
		s.escape(seq)
	case last == 0 || last > 0 && params[0] <= ';': // others are private
		s.csi(params[:last], params[last])
	}
}

// escape does what a sequence of two bytes says.
func (s *screen) escape(seq string) {
	switch seq {
	case "\x1b7":
		s.saved = s.row
	case "\x1b8":
		s.erase(s.saved)
	case "\x1bM":
		s.erase(s.row - 1)
	case "\x1bc":
		s.erase(0)
		s.concealed = false
	}
}

// csi does what a sequence with parameters says.
func (s *screen) csi(params string, final byte) {
	n := number(params)
	switch final {
	case 'm':
		s.colours(params)
	case 'A', 'F':
		s.erase(s.row - max(n, 1))
	case 'B', 'E':
		s.row += max(n, 1)
		s.moved -= max(n, 1)
	case 'D', 'G', '`':
		s.back = true // what follows is written over the line
	case 'H', 'f', 'd':
		s.erase(0)
	case 'J', 'K', 'P', 'X':
		s.eraseText(final, n)
	case 'M':
		s.eraseLine()
	case 's':
		s.saved = s.row
	case 'u':
		s.erase(s.saved)
	}
}

// eraseText erases, by what, all, or the line, or what comes after the cursor. That is
// something only if it has moved back, and then is taken for the line.
func (s *screen) eraseText(what byte, how int) {
	switch {
	case what == 'J' && how > 0:
		s.erase(0)
	case what == 'K' && how > 0, s.back || s.returned:
		s.eraseLine()
	}
}

// eraseLine erases the line of the cursor.
func (s *screen) eraseLine() {
	if n := len(s.gone); n > 0 && s.gone[n-1].row >= s.row {
		s.erase(s.row)
	} else if text := s.out.String(); text != "" && text[len(text)-1] != '\n' {
		s.out.WriteString("\r" + leftOut)
	}
}

// erase moves the cursor up to a row, from which on nothing is seen any more.
func (s *screen) erase(row int) {
	row = min(max(row, 0), s.row)
	moved := s.moved
	for n := len(s.gone) - 1; n >= 0 && s.gone[n].row >= row; n-- {
		moved = s.gone[n].moved
		s.gone = s.gone[:n]
	}
	s.gone = append(s.gone, erased{s.out.Len(), max(row+moved, 0), row, moved})
	s.row, s.moved = row, s.line-row
}

// text is what is left.
func (s *screen) text() string {
	text := s.out.String()
	if len(s.gone) == 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for line, at, n := 0, 0, 0; at < len(text); line++ {
		for n < len(s.gone) && s.gone[n].line <= line {
			n++
		}
		end := at + 1 + strings.IndexByte(text[at:], '\n')
		if end == at {
			end = len(text)
		}
		from := at
		if n > 0 {
			from = min(max(s.gone[n-1].before, at), end)
		}
		if from == end && text[end-1] == '\n' {
			from--
		}
		if from > at {
			b.WriteString(leftOut)
		}
		b.WriteString(text[from:end])
		at = end
	}
	return b.String()
}

// colours looks for what conceals and what shows again. 38, 48 and 58 are followed by
// a colour, in which an 8 is none.
func (s *screen) colours(params string) {
	for {
		param, rest, more := strings.Cut(params, ";")
		switch param, _, _ := strings.Cut(param, ":"); param {
		case "8", "08":
			s.concealed = true
		case "", "0", "00", "28":
			s.concealed = false
		case "38", "48", "58":
			skip := 0
			switch kind, _, _ := strings.Cut(rest, ";"); kind {
			case "5":
				skip = 2
			case "2":
				skip = 4
			}
			for range skip {
				_, rest, more = strings.Cut(rest, ";")
			}
		}
		if !more {
			return
		}
		params = rest
	}
}

// number is the first parameter, 0 if there is none.
func number(params string) int {
	n := 0
	for i := 0; i < len(params) && params[i] >= '0' && params[i] <= '9' && n < 1<<20; i++ {
		n = n*10 + int(params[i]-'0')
	}
	return n
}
