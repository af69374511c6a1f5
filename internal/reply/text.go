// Package reply knows an agent's answer as text: it keeps one of any length
// within bounds ([Text]), tells what stands in a code fence ([Fence]) or may be a
// promise's tag ([HasTag]), and takes out what only repeats the prompt ([Echo]).
package reply

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/internal/term"
)

// MaxText is the most a [Text] keeps, in bytes, the marks for what was left out
// included.
const MaxText = headSize + tailSize + (keptLines+8)*keptSize

// Bounds of the parts of a text that is kept, in bytes.
const (
	headSize  = 64 << 10
	tailSize  = 192 << 10
	keptLines = 64
	keptSize  = 1 << 10 // of one line
)

// A Text keeps the first 64 KiB and the last 192 KiB of what is written to it, at
// the borders of lines where there are any, and of what is between them up to 64
// lines that hold a promise's tag, for a claim may stand there. The zero value is
// empty. It is for one goroutine.
type Text struct {
	buf  []byte // all of it, or head and tail
	head int    // size of the head; 0 = nothing is left out yet
	gone int64  // bytes left out between head and tail
	lost int64  // bytes left out of what was added

	blocks  Blocks // up to the tail, as a person sees the lines
	midLine bool   // the tail begins in the middle of a line
	hidden  bool   // what was before the tail conceals it
	atHead  string
	hides   string // what ends that the head conceals what follows
	kept    []kept
}

// kept is a line with what it stands in, by its mark.
type kept struct{ line, in string }

// Write adds to the text. It never fails.
func (t *Text) Write(p []byte) (int, error) {
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

// Of returns a text of a few bytes.
func Of(b []byte) *Text { return &Text{buf: bytes.Clone(b)} }

// Add appends another text, with what was left out of it.
func (t *Text) Add(o *Text) {
	t.Write([]byte(o.String()))
	t.lost += o.Omitted()
}

// TrimSuffix removes a suffix and the white space after it.
func (t *Text) TrimSuffix(s string) {
	if b := bytes.TrimRight(t.buf, " \r\n"); bytes.HasSuffix(b, []byte(s)) {
		t.buf = b[:len(b)-len(s)]
	}
}

// Drop drops the text and counts its bytes as left out.
func (t *Text) Drop() {
	n := t.Omitted() + int64(len(t.buf))
	*t = Text{lost: n, buf: fmt.Appendf(nil, "[%d bytes are left out here]\n", n)}
}

// Omitted is how many bytes were left out.
func (t *Text) Omitted() int64 { return t.gone + t.lost }

// Blank reports whether there was nothing but white space and [Mark].
func (t *Text) Blank() bool {
	return t.Omitted() == 0 && len(bytes.TrimFunc(t.buf, func(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' })) == 0
}

// cut leaves out what lies between the head and the last tailSize bytes, at the
// borders of lines if there are any.
func (t *Text) cut() {
	if t.head == 0 {
		t.head = border(t.buf[:headSize])
		var seen string
		seen, t.hidden = term.VisibleIn(strings.TrimPrefix(string(t.buf[:t.head]), Mark), false)
		t.blocks.Lines(strings.TrimSuffix(seen, "\n"))
		t.atHead = t.blocks.Open()
		if t.hidden {
			t.hides = "\x1b[28m"
		}
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
	return len(b) - term.Begun(b)
}

// leave looks for fences and the like, and for tags, in lines that are left out, as a
// person sees them: a colour before a fence hides it from nobody. Most hold neither.
// The first line may lack its beginning, the last one its end: such a piece is kept
// as one, and is no fence.
func (t *Text) leave(b []byte, cutLine bool) {
	if !term.MayEscape(b) && (t.hidden || !HasTag(b) && !marks(b)) {
		return
	}
	var seen string
	seen, t.hidden = term.VisibleIn(string(b), t.hidden)
	tagged := HasTag(seen)
	first := t.midLine || t.gone == 0 && t.buf[t.head-1] != '\n'
	for seen != "" {
		line, rest, ended := strings.Cut(seen, "\n")
		last := !ended && cutLine
		if tagged && len(t.kept) < keptLines && HasTag(line) {
			t.kept = append(t.kept, kept{around(line, first, last), t.blocks.Open()})
		}
		if !first && !last {
			t.blocks.Line(line)
		}
		first, seen = false, rest
	}
}

// marks reports whether a text may hold the marks of what [Blocks] knows that goes
// on for lines.
func marks(b []byte) bool {
	for _, mark := range []string{"```", "~~~", "<!--", "-->", "<pre", "</pre", "<PRE", "</PRE"} {
		if bytes.Contains(b, []byte(mark)) {
			return true
		}
	}
	return false
}

// around is the line, or what stands around its last tag.
func around(line string, lacksBegin, lacksEnd bool) string {
	if len(line) > keptSize {
		at := strings.LastIndexByte(line, '<')
		for at > 0 && !tagAt(line[at:]) {
			at = strings.LastIndexByte(line[:at], '<')
		}
		from, to := max(at-keptSize/2, 0), min(at+keptSize/2, len(line))
		lacksBegin, lacksEnd = lacksBegin || from > 0, lacksEnd || to < len(line)
		line = line[from:to]
	}
	s := strings.ToValidUTF8(line, "")
	if lacksBegin {
		s = "… " + s
	}
	if lacksEnd {
		s += " …"
	}
	return s
}

// String returns what was kept as valid UTF-8. A code fence, <pre> or comment that
// was open where something was left out is closed there and opened again, so that
// what stood in one still does.
func (t *Text) String() string {
	if len(t.buf) > max(t.head, headSize)+tailSize {
		t.cut()
	}
	if t.head == 0 {
		return strings.ToValidUTF8(string(t.buf), "\uFFFD")
	}
	var b strings.Builder
	line := func(s string) {
		if s != "" {
			b.WriteString(s + "\n")
		}
	}
	b.Write(t.buf[:t.head])
	b.WriteString(t.hides)
	if t.buf[t.head-1] != '\n' {
		b.WriteByte('\n')
	}
	line(closing(t.atHead))
	fmt.Fprintf(&b, "\n[%d bytes are left out here]\n\n", t.gone)
	for _, k := range t.kept {
		line(k.in)
		line(k.line)
		var in Blocks
		in.Lines(k.in + "\n" + k.line) // which may be what begins or ends a fence
		line(closing(in.Open()))
	}
	line(t.blocks.Open())
	if t.midLine {
		b.WriteString("… ")
	}
	if t.hidden { // a line that was kept was not the last one that was seen
		b.WriteString("…\n\x1b[8m")
	}
	b.Write(t.buf[t.head:])
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}
