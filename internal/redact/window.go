package redact

import (
	"bytes"
	"slices"
	"strings"
)

// A window is the text in hand, without the control sequences of terminals, which
// part secrets for programs and not for people. They are passed on where they stood;
// those within a secret go with it.
type window struct {
	buf     []byte
	pos     int // what is before it is decided, and there to look back at
	written int // what is before it is passed on; pos or more
	out     []byte

	escapes []escape
	texts   []byte // of the escapes
	partial []byte // what may be the beginning of a control sequence
}

// An escape is a control sequence that stood before a place in the window.
type escape struct {
	at, size int
}

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
	return drop
}

// pass passes on what is before a place, which is decided then.
func (w *window) pass(at int) {
	w.passed(at)
	w.pos = at
}

// passed passes on what is before a place.
func (w *window) passed(at int) {
	n, size := 0, 0
	for n < len(w.escapes) && w.escapes[n].at <= at {
		e := w.escapes[n]
		if e.at > w.written {
			w.out = append(w.out, w.buf[w.written:e.at]...)
			w.written = e.at
		}
		w.out = append(w.out, w.texts[size:size+e.size]...)
		n, size = n+1, size+e.size
	}
	w.forget(n, size)
	if at > w.written {
		w.out = append(w.out, w.buf[w.written:at]...)
		w.written = at
	}
}

// drop decides what is before a place, and does not pass it on.
func (w *window) drop(at int) {
	n, size := 0, 0
	for n < len(w.escapes) && w.escapes[n].at < at {
		n, size = n+1, size+w.escapes[n].size
	}
	w.forget(n, size)
	w.pos, w.written = at, max(w.written, at)
}

// forget forgets the first escapes.
func (w *window) forget(n, size int) {
	if n == len(w.escapes) {
		w.escapes, w.texts = w.escapes[:0], w.texts[:0]
		return
	}
	w.escapes, w.texts = w.escapes[n:], w.texts[size:]
}

// introducers are the ways in which output and JSON write the beginning of a control
// sequence, but for the bracket.
var introducers = []string{"\x1b", `\u001b`, `\u001B`, `\x1b`, `\x1B`, `\033`, `\e`, `\\u001b`, `\\u001B`, `\\x1b`, `\\x1B`, `\\033`, `\\e`}

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
		i += from
		from = i + 1
		begin := introduced(p[:i])
		if begin == i {
			continue
		}
		last := i + 1
		for last < len(p) && last-i < longest && '0' <= p[last] && p[last] <= '?' { // digits and ; : ? =
			last++
		}
		switch {
		case last == len(p) && !end:
			return begin, 0
		case last < len(p) && (lower | upper).has(p[last]):
			return begin, last + 1 - begin
		}
	}
	if end {
		return len(p), 0
	}
	for at = max(len(p)-len(`\\u001b`), 0); at < len(p); at++ {
		if (p[at] == '\\' || p[at] == '\x1b') && slices.ContainsFunc(introducers, func(s string) bool { return strings.HasPrefix(s, string(p[at:])) }) {
			break
		}
	}
	return at, 0
}

// introduced is where the introducer begins that p ends with, len(p) if there is none.
func introduced(p []byte) int {
	n := len(p)
	switch {
	case n > 0 && p[n-1] == '\x1b':
		return n - 1
	case n == 0 || strings.IndexByte("bB3e", p[n-1]) < 0:
		return n
	}
	for _, s := range introducers[1:] {
		if bytes.HasSuffix(p, []byte(s)) {
			n = min(n, len(p)-len(s))
		}
	}
	return n
}
