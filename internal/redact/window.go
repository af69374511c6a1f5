package redact

import (
	"bytes"
	"slices"
	"strings"
)

// lookBack is how many bytes before a place may decide about it.
const lookBack = 128

// A window is the text in hand, without the control sequences of terminals, which
// part secrets for programs and not for people. They are passed on where they stood;
// those within a secret go with it.
type window struct {
	buf    []byte // the text without control sequences, and with room for a load behind it
	pos    int    // what is before it is decided, and there to look back at
	passed int    // what is before it is passed on or dropped

	escapes []escape // the control sequences that are neither passed on nor dropped
	hidden  []byte   // their bytes
	row     int      // how many came without text between them
	rest    []byte   // what came, but may be the beginning of one
	out     []byte
}

// An escape is a control sequence of some bytes that stood before a place in buf.
type escape struct{ at, size int }

// room is behind the text, so that loads need not look where it ends.
const room = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// take appends p. It forgets what is too far back, and says how much.
func (w *window) take(p []byte, end bool) (drop int) {
	const most = 8 // control sequences in a row
	drop = max(w.pos-lookBack, 0)
	w.buf = w.buf[:copy(w.buf, w.buf[drop:])]
	w.pos, w.passed = w.pos-drop, w.passed-drop
	for i := range w.escapes {
		w.escapes[i].at -= drop
	}
	if len(w.rest) > 0 {
		p = append(w.rest, p...)
	}
	for at, n := sequence(p, end); at+n > 0; at, n = sequence(p, end) {
		if at > 0 {
			w.row = 0
		}
		if n > 0 {
			w.row++
		}
		if w.row > most { // no secret is parted by so many, and they would be held back without bound
			at, n = at+n, 0
		}
		w.buf, w.hidden = append(w.buf, p[:at]...), append(w.hidden, p[at:at+n]...)
		if n > 0 {
			w.escapes = append(w.escapes, escape{len(w.buf), n})
		}
		p = p[at+n:]
	}
	w.rest = append(w.rest[:0], p...)
	w.buf = append(w.buf, room...)[:len(w.buf)]
	return drop
}

// pass passes on what is before a place, and the control sequences there.
func (w *window) pass(to int) {
	for len(w.escapes) > 0 && w.escapes[0].at <= to {
		e := w.escapes[0]
		w.out = append(append(w.out, w.buf[w.passed:e.at]...), w.hidden[:e.size]...)
		w.passed = e.at
		w.escapes, w.hidden = w.escapes[1:], w.hidden[e.size:]
	}
	if to > w.passed {
		w.out = append(w.out, w.buf[w.passed:to]...)
		w.passed = to
	}
}

// drop decides what is before a place, and does not pass it on.
func (w *window) drop(to int) {
	for len(w.escapes) > 0 && w.escapes[0].at < to {
		w.escapes, w.hidden = w.escapes[1:], w.hidden[w.escapes[0].size:]
	}
	w.pos, w.passed = to, max(w.passed, to)
}

// introducers are the ways in which output and JSON write the beginning of a control
// sequence, but for the bracket.
var introducers = []string{
	"\x1b", `\u001b`, `\u001B`, `\x1b`, `\x1B`, `\033`, `\e`, `\\u001b`, `\\u001B`, `\\x1b`, `\\x1B`, `\\033`, `\\e`,
}

// sequence finds the first control sequence that moves or colours what is shown, as
// it comes or as source code writes it. n is its length; 0 with at < len(p) says that
// one may begin there.
func sequence(p []byte, end bool) (at, n int) {
	const longest = 24 // parameters
	for from := bytes.IndexByte(p, '[') + 1; from > 0; {
		if begin := introduced(p[:from-1]); begin >= 0 {
			last := from + span(parameters, p[from:min(len(p), from+longest)])
			switch {
			case last == len(p) && !end:
				return begin, 0
			case last < len(p) && letter[p[last]]:
				return begin, last + 1 - begin
			}
		}
		next := bytes.IndexByte(p[from:], '[') + 1
		if next == 0 {
			break
		}
		from += next
	}
	for at = max(len(p)-len(`\\u001b`), 0); at < len(p) && !end; at++ {
		begins := func(s string) bool { return strings.HasPrefix(s, string(p[at:])) }
		if (p[at] == '\\' || p[at] == '\x1b') && slices.ContainsFunc(introducers, begins) {
			return at, 0
		}
	}
	return len(p), 0
}

// introduced is where the introducer begins that p ends with, -1 if there is none.
func introduced(p []byte) int {
	at := -1
	for _, s := range introducers { // the longest stand last
		if len(p) > 0 && p[len(p)-1] == s[len(s)-1] && bytes.HasSuffix(p, []byte(s)) {
			at = len(p) - len(s)
		}
	}
	return at
}
