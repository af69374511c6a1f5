package verify

import "bytes"

// Which lines of an output name what fails: they are quoted to the agent even if
// they stand in the middle of much else. This chooses what is shown. What is
// decided does not depend on it.

const (
	failingBytes = 3 << 10 // of such lines are kept, the first
	contextLines = 8       // indented lines beside one of them, on either side
	lineBytes    = 400     // of a line
)

var (
	failingStarts = lines("--- FAIL", "FAIL", "panic:", "fatal error:", "FAILED", "E   ", "ERROR", "error:", "error[", "Error:", "[ERROR]",
		"AssertionError", "AssertionError:", "Traceback", "not ok", "●", "✕", "✗", "×", "---- ", "thread '", "FAILURE")
	failingEnds = lines(" FAILED", " FAIL", " ... FAILED", " failed")
)

func lines(texts ...string) [][]byte {
	var list [][]byte
	for _, text := range texts {
		list = append(list, []byte(text))
	}
	return list
}

// A highlighter keeps the lines that name what fails, of one stream.
type highlighter struct {
	line   []byte   // begun, at most lineBytes of it
	before [][]byte // the indented lines just before
	after  int      // how many indented lines are still taken
}

// A passage is a piece of an output.
type passage struct {
	from int64 // its offset
	text []byte
}

// read takes what a stream prints, from an offset of the output on, and hands
// what is worth showing to keep until keep has enough.
func (f *highlighter) read(p []byte, offset int64, keep func(from int64, line []byte) bool) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		part, ended := p, end >= 0
		if ended {
			part = p[:end]
		}
		f.line = append(f.line, part[:min(len(part), lineBytes-len(f.line))]...)
		if !ended {
			return
		}
		offset += int64(end + 1)
		p = p[end+1:]
		if !f.take(offset-int64(len(f.line))-1, keep) {
			return
		}
		f.line = f.line[:0]
	}
}

// take looks at a whole line. It reports false when enough is kept.
func (f *highlighter) take(from int64, keep func(from int64, line []byte) bool) bool {
	switch indented := len(f.line) > 0 && (f.line[0] == ' ' || f.line[0] == '\t'); {
	case namesFailure(f.line):
		for _, line := range f.before {
			if !keep(from, line) {
				return false
			}
		}
		f.before, f.after = f.before[:0], contextLines
		return keep(from, f.line)
	case indented && f.after > 0:
		f.after--
		return keep(from, f.line)
	case indented:
		if len(f.before) == contextLines {
			f.before = f.before[:copy(f.before, f.before[1:])]
		}
		f.before = append(f.before, bytes.Clone(f.line))
	default:
		f.before, f.after = f.before[:0], 0
	}
	return true
}

// namesFailure reports whether a line looks like the name of a failing test, an
// error of a compiler or an assertion.
func namesFailure(line []byte) bool {
	if bytes.IndexByte(line, 0x1b) >= 0 {
		line = []byte(readable(line)) // without its colours
	}
	text := bytes.TrimSpace(line)
	for _, start := range failingStarts {
		if bytes.HasPrefix(text, start) {
			return true
		}
	}
	for _, end := range failingEnds {
		if bytes.HasSuffix(text, end) {
			return true
		}
	}
	return len(line) > 0 && line[0] != ' ' && line[0] != '\t' && placed(text)
}

// placed reports whether a line begins with a place: "file.go:12:" or
// "file.c:12:5:".
func placed(line []byte) bool {
	path, rest, ok := bytes.Cut(line[:min(len(line), 200)], []byte(":"))
	if !ok || len(path) == 0 || bytes.ContainsAny(path, " \t") || !bytes.Contains(path, []byte(".")) {
		return false
	}
	digits := 0
	for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
		digits++
	}
	return digits > 0 && digits < len(rest) && rest[digits] == ':'
}

// keepFailing keeps a line that names what fails, if there is room.
func (o *output) keepFailing(from int64, line []byte) bool {
	if o.failingSize+len(line) > failingBytes {
		o.failingFull = true
		return false
	}
	o.failing = append(o.failing, passage{from, bytes.Clone(line)})
	o.failingSize += len(line) + 1
	return true
}

// middle is what was kept of the lines between two offsets, as readable text.
func (o *output) middle(from, to int64) string {
	var text []byte
	for _, p := range o.failing {
		if p.from >= from && p.from < to {
			text = append(append(text, p.text...), '\n')
		}
	}
	if len(text) == 0 {
		return ""
	}
	_, shown := beginning(text, failingBytes)
	return "Of these, the lines that name what fails:\n" + shown
}
