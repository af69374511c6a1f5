package verify

import (
	"bytes"
	"slices"

	"github.com/ralph-loop/ralph/internal/term"
)

// Which lines of an output name what fails: they are quoted to the agent even if
// they stand in the middle of much else. This chooses what is shown. What is
// decided does not depend on it.

// The sizes of what is kept, all of them bounds: an output can consist of
// nothing but lines that look like failures.
const (
	failingBytes = 3 << 10 // of such lines are kept, the first
	contextLines = 8       // indented lines beside one of them, on either side
	lineBytes    = 400     // of a line
)

var (
	// The words by which go test, pytest, jest, mocha, cargo, tsc, eslint, bun,
	// rspec and the like mark a failure. A table, because each tool that is
	// added is one more word, and none needs code.
	failingStarts = lines("--- FAIL", "FAIL", "panic:", "fatal error:", "FAILED", "E   ", "ERROR", "error:", "error[", "Error:", "[ERROR]",
		"AssertionError", "AssertionError:", "Traceback", "not ok", "●", "✕", "✖", "✗", "×", "---- ", "thread '", "FAILURE",
		"(fail)", "Failed ", "Failure/Error:", "rspec ./")
	failingEnds   = lines(" FAILED", " FAIL", " ... FAILED", " failed")
	failingWithin = lines(": error ", "  error  ", `"Action":"fail"`, "--- FAIL")
)

// failingFirst are the bytes that failingStarts begin with. Most lines need no
// further look, which counts where an output has gigabytes.
var failingFirst = func() (first [256]bool) {
	for _, start := range failingStarts {
		first[start[0]] = true
	}
	return first
}()

func lines(texts ...string) [][]byte {
	var list [][]byte
	for _, text := range texts {
		list = append(list, []byte(text))
	}
	return list
}

// A highlighter keeps the lines that name what fails, of one stream. It
// remembers a few indented lines, and no more: whether they belong to a failure
// shows only on the line that follows them or came before.
type highlighter struct {
	line   []byte   // begun, at most lineBytes of it
	before [][]byte // the indented lines just before
	after  int      // how many indented lines are still taken
}

// A passage is a piece of an output. Its offset tells whether it is quoted
// already, with the beginning or the end.
type passage struct {
	from int64 // its offset
	text []byte
}

// read takes what a stream prints, from an offset of the output on, and hands
// what is worth showing to keep until keep has enough. Writes end anywhere, so
// a line that has begun is held, up to lineBytes of it.
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

// take looks at a whole line. It reports false when enough is kept. Indented
// lines are taken with the line that they belong to, since the reason of a
// failure mostly stands below its name, and in some tools above it.
func (f *highlighter) take(from int64, keep func(from int64, line []byte) bool) bool {
	// pytest marks the line that fails with ">".
	switch indented := len(f.line) > 0 && (f.line[0] == ' ' || f.line[0] == '\t' || f.line[0] == '>'); {
	case f.after > 0 && len(bytes.TrimSpace(f.line)) == 0: // between a test's name and what is wrong
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
// error of a compiler or an assertion. It may be wrong at times: what it
// chooses is only quoted, and the verdict is decided elsewhere.
func namesFailure(line []byte) bool {
	if bytes.IndexByte(line, 0x1b) >= 0 {
		line = []byte(term.Clean(string(line))) // without its colours
	}
	text := bytes.TrimSpace(line)
	if len(text) == 0 {
		return false
	}
	has := func(words [][]byte, in func(text, word []byte) bool) bool {
		return slices.ContainsFunc(words, func(word []byte) bool { return in(text, word) })
	}
	if failingFirst[text[0]] && has(failingStarts, bytes.HasPrefix) || has(failingEnds, bytes.HasSuffix) || has(failingWithin, bytes.Contains) {
		return true
	}
	if line[0] == ' ' || line[0] == '\t' {
		return numbered(text)
	}
	return placed(text) || bytes.HasPrefix(text, ruler) && bytes.HasSuffix(text, ruler) && bytes.Contains(text, []byte(" "))
}

// ruler is on both sides of the name of a test in pytest's report.
var ruler = []byte("____")

// numbered reports whether a line is one of a list of failures: "2) Cart", as
// mocha and rspec print it.
func numbered(text []byte) bool {
	number, _, ok := bytes.Cut(text[:min(len(text), 8)], []byte(") "))
	return ok && len(number) > 0 && len(bytes.Trim(number, "0123456789")) == 0
}

// placed reports whether a line begins with a place: "file.go:12:" or
// "file.c:12:5:". The name must have a dot and no blank, so that "at 10:15:
// done" is none.
func placed(line []byte) bool {
	path, rest, ok := bytes.Cut(line[:min(len(line), 200)], []byte(":"))
	if !ok || len(path) == 0 || bytes.ContainsAny(path, " \t") || !bytes.Contains(path, []byte(".")) {
		return false
	}
	after := bytes.TrimLeft(rest, "0123456789")
	return len(after) < len(rest) && bytes.HasPrefix(after, []byte(":"))
}

// keepFailing keeps a line that names what fails, if there is room. The first
// ones are kept and not the last, because later failures are often caused by
// the first.
func (o *output) keepFailing(from int64, line []byte) bool {
	if o.failingSize+len(line) > failingBytes {
		o.failingFull = true
		return false
	}
	o.failing = append(o.failing, passage{from, bytes.Clone(line)})
	o.failingSize += len(line) + 1
	return true
}

// middle is what was kept of the lines between two offsets, as readable text;
// "" = nothing. The caller asks for what it does not quote anyway.
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
