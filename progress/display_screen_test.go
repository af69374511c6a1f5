package progress_test

import (
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/internal/term"
)

// A screen is a terminal as far as a Display uses one. It wraps what is too wide, also
// anew when it gets another size, as terminals do; nothing scrolls away for good.
type screen struct {
	mu            sync.Mutex
	columns, rows int
	lines         []screenLine
	row, column   int // of the cursor; column may be columns: the next character wraps
	written       strings.Builder
	writes        int
	lastColumn    int // characters in it
	unknown       []string
	err           error         // of each Write
	stopped       chan struct{} // nil = it runs
}

type screenLine struct {
	cells   []string // a wide character is followed by an empty one
	wrapped bool     // the next line goes on with it
}

func newScreen(columns, rows int) *screen {
	return &screen{columns: columns, rows: rows, lines: make([]screenLine, 1)}
}

func (s *screen) Write(p []byte) (int, error) {
	if s.stopped != nil {
		<-s.stopped
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	s.writes++
	s.written.Write(p)
	for text := string(p); text != ""; {
		if strings.HasPrefix(text, "\x1b[") {
			end := strings.IndexFunc(text[2:], func(r rune) bool { return r >= 0x40 }) + 2
			s.control(text[2:end], text[end])
			text = text[end+1:]
			continue
		}
		_, size := utf8.DecodeRuneInString(text)
		s.char(text[:size])
		text = text[size:]
	}
	return len(p), nil
}

func (s *screen) control(params string, final byte) {
	n, _ := strconv.Atoi(params)
	switch final {
	case 'm':
	case 'A':
		s.row = max(s.row-max(n, 1), len(s.lines)-s.rows, 0)
		s.column = min(s.column, s.columns-1)
	case 'J':
		s.lines = s.lines[:s.row+1]
		line := &s.lines[s.row]
		line.cells, line.wrapped = line.cells[:min(s.column, len(line.cells))], false
	default:
		s.unknown = append(s.unknown, params+string(final))
	}
}

func (s *screen) char(c string) {
	switch c {
	case "\r":
		s.column = 0
		return
	case "\n": // the terminal's driver makes it a carriage return and a line feed
		s.down(false)
		return
	case "\t":
		c = " "
	}
	width := term.Width(c)
	if width == 0 && s.column > 0 {
		s.lines[s.row].cells[s.column-1] += c
		return
	}
	if s.column+width > s.columns {
		s.down(true)
	}
	line := &s.lines[s.row]
	line.cells = append(line.cells[:min(s.column, len(line.cells))], c)
	for range width - 1 {
		line.cells = append(line.cells, "")
	}
	if s.column += width; s.column == s.columns {
		s.lastColumn++
	}
}

func (s *screen) down(wrapped bool) {
	s.lines[s.row].wrapped = wrapped
	if s.row++; s.row == len(s.lines) {
		s.lines = append(s.lines, screenLine{})
	}
	s.column = 0
}

// resize wraps all lines anew. The cursor stays where it is in the text.
func (s *screen) resize(columns, rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var whole [][]string
	at, offset := 0, 0
	for i, line := range s.lines {
		if i == 0 || !s.lines[i-1].wrapped {
			whole = append(whole, nil)
		}
		if i == s.row {
			at, offset = len(whole)-1, len(whole[len(whole)-1])+s.column
		}
		whole[len(whole)-1] = append(whole[len(whole)-1], line.cells...)
	}
	s.columns, s.rows, s.lines = columns, rows, nil
	row, column := 0, 0
	for i, cells := range whole {
		s.lines = append(s.lines, screenLine{})
		s.row, s.column = len(s.lines)-1, 0
		for n, c := range cells {
			if i == at && n == offset {
				row, column = s.row, s.column
			}
			if c != "" {
				s.char(c)
			}
		}
		if i == at && offset >= len(cells) {
			row, column = s.row, s.column
		}
	}
	s.row, s.column, s.lastColumn = row, column, 0
}

func (s *screen) size() (columns, rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.columns, s.rows
}

// drawn is how often was written, how many characters are in the last column, and all
// that was written.
func (s *screen) drawn() (writes, last int, written string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes, s.lastColumn, s.written.String()
}

// text is what a person sees.
func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, line := range s.lines {
		b.WriteString(strings.TrimRight(strings.Join(line.cells, ""), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
