package reply

import (
	"bytes"
	"strings"
)

// Mark is left where a copy was taken out, so that what stood around it does not
// become one word, or one tag. Nobody sees it.
const Mark = "\uFEFF"

// An Echo takes verbatim copies of a text out of a stream: the promise stands in
// the prompt, and an agent that repeats it promises nothing. The time it takes
// grows with the stream, whatever is in it.
type Echo struct {
	text    []byte
	lead    []byte // its beginning, searched for
	borders []int  // for each beginning of text, how long the beginning is that it also ends with
	matched int    // bytes of text that the stream's end holds; not passed on yet
	left    []byte // what is left of a copy
	to      func([]byte)
}

// NewEcho returns an Echo that takes text, without the white space around it, out
// of what is written to it, and passes on the rest, with a [Mark] for each copy. If
// text is blank it passes on everything.
func NewEcho(text string, to func([]byte)) *Echo {
	e := &Echo{text: []byte(strings.TrimSpace(text)), left: []byte(Mark), to: to}
	e.lead = e.text[:min(len(e.text), 32)]
	return e
}

// Remove takes copies of text out of an answer, and leaves a [Mark] and their line
// feeds, so that what follows stays on its line.
func Remove(answer, text string) string {
	var b strings.Builder
	e := NewEcho(text, func(p []byte) { b.Write(p) })
	e.left = append(e.left, bytes.Repeat([]byte{'\n'}, bytes.Count(e.text, []byte{'\n'}))...)
	b.Grow(len(answer))
	e.Write([]byte(answer))
	e.Close()
	return b.String()
}

// Write takes a piece of the stream. It never fails.
func (e *Echo) Write(p []byte) (int, error) {
	size := len(p)
	if len(e.text) == 0 {
		e.to(p)
		return size, nil
	}
	for len(p) > 0 {
		if e.matched == 0 {
			n := bytes.Index(p, e.lead)
			if n < 0 {
				n = len(p) - e.begun(p)
			}
			if n > 0 {
				e.to(p[:n])
			}
			p = p[n:]
		}
		n := common(p, e.text[e.matched:])
		e.matched += n
		p = p[n:]
		switch {
		case e.matched == len(e.text):
			e.matched = 0
			e.to(e.left)
		case len(p) > 0:
			e.mismatch()
		}
	}
	return size, nil
}

// begun is how many bytes at the end of p may be the beginning of the text.
func (e *Echo) begun(p []byte) int {
	for n := min(len(e.lead)-1, len(p)); n > 0; n-- {
		if bytes.HasPrefix(e.lead, p[len(p)-n:]) {
			return n
		}
	}
	return 0
}

// mismatch passes on what turned out not to be a copy, but for an end of it that
// may be the beginning of one.
func (e *Echo) mismatch() {
	keep := e.border(e.matched)
	e.to(e.text[:e.matched-keep])
	e.matched = keep
}

// border is the length of the longest beginning of the text with which its first n
// bytes end, but for these themselves. They are computed as far as they are needed
// (Knuth, Morris, Pratt).
func (e *Echo) border(n int) int {
	if len(e.borders) == 0 {
		e.borders = []int{0, 0} // of no byte, and of one
	}
	for at := len(e.borders) - 1; at < n; at++ { // at bytes are known
		b := e.borders[at]
		for b > 0 && e.text[b] != e.text[at] {
			b = e.borders[b]
		}
		if e.text[b] == e.text[at] {
			b++
		}
		e.borders = append(e.borders, b)
	}
	return e.borders[n]
}

// Close passes on a copy that was not completed.
func (e *Echo) Close() error {
	if e.matched > 0 {
		e.to(e.text[:e.matched])
		e.matched = 0
	}
	return nil
}

// common is how many bytes a and b have in common at their beginnings.
func common(a, b []byte) int {
	const block = 256 // a difference is seldom far off
	n, most := 0, min(len(a), len(b))
	for n+block <= most && bytes.Equal(a[n:n+block], b[n:n+block]) {
		n += block
	}
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}
