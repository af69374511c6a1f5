package stream

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of a text that is kept, in bytes.
const (
	headSize  = 64 << 10
	tailSize  = 192 << 10
	keptLines = 64
	keptSize  = 1 << 10 // of one line
)

// A text keeps the beginning and the end of what is written to it, and of what
// is between them the lines that hold a tag, for a promise may stand there.
// The zero value is empty.
type text struct {
	buf  []byte // all of it, or head and tail
	head int    // size of the head; 0 = nothing is left out yet
	gone int64  // bytes left out between head and tail
	lost int64  // bytes left out of what was added

	fence   Fence // at the beginning of the tail
	midLine bool  // the tail begins in the middle of a line
	atHead  string
	kept    []kept
}

type kept struct{ line, fence string }

func (t *text) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		take := min(len(p), headSize+2*tailSize-len(t.buf))
		t.buf = append(t.buf, p[:take]...)
		p = p[take:]
		if len(t.buf) == headSize+2*tailSize { // seldom, for it moves the tail
			t.cut()
		}
	}
	return n, nil
}

// settle brings the text within its bounds.
func (t *text) settle() {
	if len(t.buf) > max(t.head, headSize)+tailSize {
		t.cut()
	}
}

// add appends another text, with what was left out of it.
func (t *text) add(o *text) {
	words := o.String()
	t.Write([]byte(words))
	t.lost += o.omitted()
}

// shed leaves all of it out.
func (t *text) shed() {
	n := t.omitted() + int64(len(t.buf))
	*t = text{lost: n, buf: fmt.Appendf(nil, "[%d bytes are left out here]\n", n)}
}

func (t *text) omitted() int64 { return t.gone + t.lost }

func (t *text) blank() bool { return t.omitted() == 0 && len(bytes.TrimSpace(t.buf)) == 0 }

// cut leaves out what lies between the head and the last tailSize bytes, at the
// borders of lines if there are any.
func (t *text) cut() {
	if t.head == 0 {
		t.head = border(t.buf[:headSize])
		t.fence.Lines(string(t.buf[:t.head]))
		t.atHead = t.fence.Open()
	}
	end := len(t.buf) - tailSize
	if n := bytes.IndexByte(t.buf[end:], '\n'); n >= 0 && n < tailSize/2 {
		end += n + 1
	} else {
		for end < len(t.buf) && !utf8.RuneStart(t.buf[end]) {
			end++
		}
	}
	cutLine := t.buf[end-1] != '\n'
	t.leave(t.buf[t.head:end], cutLine)
	t.midLine = cutLine
	t.gone += int64(end - t.head)
	t.buf = append(t.buf[:t.head], t.buf[end:]...)
}

// border is where the last whole line of b ends, or the last whole rune.
func border(b []byte) int {
	if n := bytes.LastIndexByte(b, '\n'); n > len(b)/2 {
		return n + 1
	}
	n := len(b)
	for n > 0 && !utf8.RuneStart(b[n-1]) {
		n--
	}
	if n > 0 && utf8.FullRune(b[n-1:]) {
		return len(b)
	}
	return max(n-1, 0)
}

// leave looks for fences and tags in lines that are left out. Most hold neither.
// The first line may lack its beginning, the last one its end: such a piece is
// kept as one, and is no fence.
func (t *text) leave(b []byte, cutLine bool) {
	tagged := hasTag(b)
	if !tagged && !bytes.Contains(b, []byte("```")) && !bytes.Contains(b, []byte("~~~")) {
		return
	}
	first := t.midLine || t.gone == 0 && t.buf[t.head-1] != '\n'
	for len(b) > 0 {
		line, rest, ended := bytes.Cut(b, []byte{'\n'})
		last := !ended && cutLine
		if tagged && len(t.kept) < keptLines && hasTag(line) {
			t.kept = append(t.kept, kept{around(line, first, last), t.fence.Open()})
		}
		if !first && !last {
			t.fence.Line(string(line[:min(len(line), keptSize)]))
		}
		first, b = false, rest
	}
}

// around is the line, or what stands around its last tag.
func around(line []byte, lacksBegin, lacksEnd bool) string {
	if len(line) > keptSize {
		at := bytes.LastIndexByte(line, '<')
		for at > 0 && !tagAt(line[at:]) {
			at = bytes.LastIndexByte(line[:at], '<')
		}
		from, to := max(at-keptSize/2, 0), min(at+keptSize/2, len(line))
		lacksBegin, lacksEnd = lacksBegin || from > 0, lacksEnd || to < len(line)
		line = line[from:to]
	}
	s := strings.ToValidUTF8(string(line), "")
	if lacksBegin {
		s = "… " + s
	}
	if lacksEnd {
		s += " …"
	}
	return s
}

// String returns what was kept as valid UTF-8. A code fence that was open where
// something was left out is closed there and opened again, so that what stood
// in a fence still does.
func (t *text) String() string {
	t.settle()
	if t.head == 0 {
		return strings.ToValidUTF8(string(t.buf), "\uFFFD")
	}
	var b strings.Builder
	b.Write(t.buf[:t.head])
	if t.buf[t.head-1] != '\n' {
		b.WriteByte('\n')
	}
	closeFence := func(mark string) {
		if mark != "" {
			b.WriteString(mark + "\n")
		}
	}
	closeFence(t.atHead)
	fmt.Fprintf(&b, "\n[%d bytes are left out here]\n\n", t.gone)
	for _, k := range t.kept {
		closeFence(k.fence)
		b.WriteString(k.line + "\n")
		closeFence(k.fence)
	}
	closeFence(t.fence.Open())
	if t.midLine {
		b.WriteString("… ")
	}
	b.Write(t.buf[t.head:])
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// hasTag reports whether b may hold a promise's tag, in any case.
func hasTag(b []byte) bool {
	for at := 0; ; at++ {
		n := bytes.IndexByte(b[at:], '<')
		if n < 0 {
			return false
		}
		at += n
		if tagAt(b[at:]) {
			return true
		}
	}
}

// tagAt reports whether a tag begins at the < that b begins with.
func tagAt(b []byte) bool {
	if len(b) < 2 || b[1] != '/' && b[1]|0x20 != 'p' {
		return false
	}
	b = bytes.TrimPrefix(b[1:], []byte("/"))
	return len(b) >= 7 && bytes.EqualFold(b[:7], []byte("promise"))
}

// A Fence tells whether lines stand in a code fence, by CommonMark's rules but
// for indentation: a fence in a list item is indented. The zero value is outside.
type Fence struct{ open string }

// Open is the mark of the fence that is open, "" = none.
func (f *Fence) Open() string { return f.open }

// Lines reads lines of text.
func (f *Fence) Lines(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		f.Line(line)
	}
}

// Line reads one line.
func (f *Fence) Line(line string) {
	line = strings.TrimSpace(line)
	if f.open == "" {
		line = withoutListMark(line)
	}
	mark := fenceMark(line)
	switch {
	case mark == "":
	case f.open == "":
		if mark[0] != '`' || !strings.Contains(line[len(mark):], "`") {
			f.open = mark
		}
	case mark[0] == f.open[0] && len(mark) >= len(f.open) && len(mark) == len(line):
		f.open = ""
	}
}

// fenceMark is the run of at least three backticks or tildes a line begins with.
func fenceMark(line string) string {
	if line == "" || line[0] != '`' && line[0] != '~' {
		return ""
	}
	n := len(line) - len(strings.TrimLeft(line, line[:1]))
	if n < 3 {
		return ""
	}
	return line[:n]
}

// withoutListMark removes "- ", "* ", "+ ", "1. " and "1) ".
func withoutListMark(line string) string {
	mark, rest, ok := strings.Cut(line, " ")
	if !ok {
		return line
	}
	digits := strings.TrimRight(mark, ".)")
	if mark == "-" || mark == "*" || mark == "+" ||
		digits != "" && len(digits) == len(mark)-1 && strings.Trim(digits, "0123456789") == "" {
		return strings.TrimSpace(rest)
	}
	return line
}
