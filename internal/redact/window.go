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
	buf     []byte // with room for a load behind it
	pos     int    // what is before it is decided, and there to look back at
	written int    // what is before it is passed on; pos or more
	out     []byte

	escapes []escape
	texts   []byte // of the escapes
	partial []byte // what may be the beginning of a control sequence
}

// An escape is a control sequence that stood before a place in the window.
type escape struct{ at, size int }

// room is behind the text, so that loads need not look where it ends.
const room = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// take appends p. It forgets what is too far back, and says how much.
func (w *window) take(p []byte, end bool) (drop int) {
	if drop = max(w.pos-lookBack, 0); drop > 0 {
		w.buf = w.buf[:copy(w.buf, w.buf[drop:])]
		w.pos, w.written = w.pos-drop, w.written-drop
		for i := range w.escapes {
			w.escapes[i].at -= drop
		}
	}
	if len(w.partial) > 0 {
		p = slices.Concat(w.partial, p)
		w.partial = w.partial[:0]
	}
	for len(p) > 0 {
		at, n := sequence(p, end)
		w.buf = append(w.buf, p[:at]...)
		if p = p[at:]; n == 0 {
			w.partial = append(w.partial, p...)
			break
		}
		w.escapes, w.texts = append(w.escapes, escape{len(w.buf), n}), append(w.texts, p[:n]...)
		p = p[n:]
	}
	w.buf = append(w.buf, room...)[:len(w.buf)]
	return drop
}

// pass passes on what is before a place.
func (w *window) pass(at int) {
	for n, size := 0, 0; ; n++ {
		if n == len(w.escapes) || w.escapes[n].at > at {
			w.forget(n, size)
			break
		}
		e := w.escapes[n]
		if e.at > w.written {
			w.out = append(w.out, w.buf[w.written:e.at]...)
			w.written = e.at
		}
		w.out = append(w.out, w.texts[size:size+e.size]...)
		size += e.size
	}
	if at > w.written {
		w.out = append(w.out, w.buf[w.written:at]...)
		w.written = at
	}
}

// drop decides what is before a place, and does not pass it on.
func (w *window) drop(at int) {
	n, size := 0, 0
	for ; n < len(w.escapes) && w.escapes[n].at < at; n++ {
		size += w.escapes[n].size
	}
	w.forget(n, size)
	w.pos, w.written = at, max(w.written, at)
}

// forget forgets the first escapes, of a size.
func (w *window) forget(n, size int) {
	if w.escapes, w.texts = w.escapes[n:], w.texts[size:]; len(w.escapes) == 0 {
		w.escapes, w.texts = w.escapes[:0], w.texts[:0]
	}
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
	if n := len(p); n == 0 || strings.IndexByte("\x1bbB3e", p[n-1]) < 0 {
		return -1
	}
	at := -1
	for _, s := range introducers {
		if bytes.HasSuffix(p, []byte(s)) {
			at = len(p) - len(s) // the longest stand last
		}
	}
	return at
}
