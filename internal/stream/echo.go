package stream

import "bytes"

// An echo removes verbatim copies of the prompt from a stream: the promise
// stands in the prompt, and an agent that repeats it promises nothing.
type echo struct {
	prompt  []byte
	lead    []byte // its beginning, searched for
	matched int    // bytes of the prompt that the stream's end holds; not passed on yet
	to      func([]byte)
}

func newEcho(prompt string, to func([]byte)) *echo {
	e := &echo{to: to}
	if p := bytes.TrimSpace([]byte(prompt)); hasTag(p) {
		e.prompt, e.lead = p, p[:min(len(p), 32)]
	}
	return e
}

func (e *echo) write(p []byte) {
	if e.prompt == nil {
		e.to(p)
		return
	}
	for len(p) > 0 {
		if e.matched == 0 {
			n := bytes.Index(p, e.lead)
			if n < 0 {
				n = len(p) - e.started(p)
			}
			if n > 0 {
				e.to(p[:n])
			}
			p = p[n:]
		}
		n := common(p, e.prompt[e.matched:])
		e.matched += n
		p = p[n:]
		switch {
		case e.matched == len(e.prompt):
			e.matched = 0
		case len(p) > 0:
			e.mismatch()
		}
	}
}

// started is how many bytes at the end of p may be the beginning of the prompt.
func (e *echo) started(p []byte) int {
	for n := min(len(e.lead)-1, len(p)); n > 0; n-- {
		if bytes.HasPrefix(e.lead, p[len(p)-n:]) {
			return n
		}
	}
	return 0
}

// mismatch passes on what turned out not to be a copy, but for an end of it that
// may be the beginning of one.
func (e *echo) mismatch() {
	held := e.prompt[:e.matched]
	keep := 0
	for at := 1; at < len(held); at++ {
		n := bytes.IndexByte(held[at:], e.prompt[0])
		if n < 0 {
			break
		}
		at += n
		if bytes.HasPrefix(e.prompt, held[at:]) {
			keep = len(held) - at
			break
		}
	}
	e.to(held[:len(held)-keep])
	e.matched = keep
}

// close passes on a copy that was not completed.
func (e *echo) close() {
	if e.matched > 0 {
		e.to(e.prompt[:e.matched])
		e.matched = 0
	}
}

func common(a, b []byte) int {
	n := min(len(a), len(b))
	if bytes.Equal(a[:n], b[:n]) {
		return n
	}
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
