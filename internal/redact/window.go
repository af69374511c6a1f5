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
	raw     []byte // the text as it came
	buf     []byte // without control sequences, and with room for a load behind it
	pos     int    // what is before it in buf is decided, and there to look back at
	read    int    // what is before it in raw is in buf; a control sequence may begin there
	passed  int    // what is before it in raw is passed on or dropped
	later   int    // how much later in raw stands what is in buf, before the escapes
	row     int    // how many control sequences came without text between them
	escapes []escape
	out     []byte
}

// An escape is a control sequence: what is in buf from at on stands later in raw, by
// what was left out.
type escape struct{ at, later int }

// room is behind the text, so that loads need not look where it ends.
const room = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// take appends p. It forgets what is too far back, and says how much.
func (w *window) take(p []byte, end bool) (drop int) {
	const most = 8 // control sequences in a row
	drop = max(w.pos-lookBack, 0)
	cut := w.passed
	for len(w.escapes) > 0 && w.escapes[0].at+w.escapes[0].later <= cut {
		w.later, w.escapes = w.escapes[0].later, w.escapes[1:]
	}
	w.raw, w.buf = w.raw[:copy(w.raw, w.raw[cut:])], w.buf[:copy(w.buf, w.buf[drop:])]
	w.pos, w.read, w.passed, w.later = w.pos-drop, w.read-cut, 0, w.later+drop-cut
	for i := range w.escapes {
		w.escapes[i].at -= drop
		w.escapes[i].later += drop - cut
	}
	w.raw = append(w.raw, p...)
	for w.read < len(w.raw) {
		at, n := sequence(w.raw[w.read:], end)
		w.buf = append(w.buf, w.raw[w.read:w.read+at]...)
		if at > 0 {
			w.row = 0
		}
		if w.read += at; n == 0 {
			break
		}
		w.read += n
		if w.row++; w.row > most { // no secret is parted by so many, and they would be held back without bound
			w.buf = append(w.buf, w.raw[w.read-n:w.read]...)
			continue
		}
		w.escapes = append(w.escapes, escape{len(w.buf), w.read - len(w.buf)})
	}
	w.buf = append(w.buf, room...)[:len(w.buf)]
	return drop
}

// rawly is where a place of buf is in raw, behind the control sequences there or before
// them.
func (w *window) rawly(at int, behind bool) int {
	n, _ := slices.BinarySearchFunc(w.escapes, at, func(e escape, at int) int {
		if e.at < at || behind && e.at == at {
			return -1
		}
		return 1
	})
	if n == 0 {
		return at + w.later
	}
	return at + w.escapes[n-1].later
}

// pass passes on what is before a place.
func (w *window) pass(at int) {
	if to := w.rawly(at, true); to > w.passed {
		w.out = append(w.out, w.raw[w.passed:to]...)
		w.passed = to
	}
}

// drop decides what is before a place, and does not pass it on.
func (w *window) drop(at int) { w.pos, w.passed = at, max(w.passed, w.rawly(at, false)) }

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
	for from := 0; ; {
		i := bytes.IndexByte(p[from:], '[')
		if i < 0 {
			break
		}
		from += i + 1
		begin := introduced(p[:from-1])
		if begin < 0 {
			continue
		}
		last := from + parameters.run(p[from:], longest)
		switch {
		case last == len(p) && !end:
			return begin, 0
		case last < len(p) && (lower | upper).has(p[last]):
			return begin, last + 1 - begin
		}
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
