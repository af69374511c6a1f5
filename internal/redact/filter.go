package redact

import "strings"

const (
	lookBack = 128 // bytes before a place that may decide about it
	decided  = 512 // a token is judged by this many bytes, and goes on to its end
)

// A filter hides secrets in a stream.
//
// It goes through the text once, from one place where a secret may begin to the
// next. At each, rules say "nothing", "these bytes" or "I need to see more", and
// they may say the first two only if nothing that follows could change them. That is
// why it does not matter how the text is cut. What they need to see is bounded; a
// token beyond the bound is decided by its beginning, and the rest is dropped as it
// comes.
type filter struct {
	*triggers
	named *named // nil = none
	brief bool   // what a name says is secret is one however it looks

	window
	runs [alphabets]span

	short bool // a rule looked beyond the end of what is there

	after func(f *filter, at int) finding // what is asked where the last secret ended
	tail  alphabet                        // what still belongs to it
	inKey bool                            // in the body of a private key
}

// A finding is what a rule found: the secret is from..to, and of a kind. The zero
// value is nothing; without an end, what is before from may be passed on, even if
// more must be seen. A finding without kind is left as it is.
type finding struct {
	from, to int
	kind     string
	tail     alphabet // the token may go on so
	key      bool     // a private key begins
	after    func(f *filter, at int) finding
}

// add takes a piece of the text and appends to out what can be passed on.
func (f *filter) add(out, p []byte, end bool) []byte {
	f.window.out = out
	if drop := f.take(p, end); drop > 0 {
		for i := range f.runs {
			f.runs[i].from -= drop
			f.runs[i].to -= drop
		}
	}
	for more := false; f.pos < len(f.buf) && !more; {
		if f.inKey || f.tail != 0 || f.after != nil {
			more = f.rest(end)
		} else {
			more = f.find(end)
		}
	}
	if end {
		f.pass(len(f.buf))
	}
	out, f.window.out = f.window.out, nil
	return out
}

// rest deals with what follows a secret that was hidden, and says whether more must
// be seen.
func (f *filter) rest(end bool) (more bool) {
	switch {
	case f.inKey:
		var n int
		var last bool
		n, last, more = keyPart(f.buf[f.pos:], end)
		f.inKey = n > 0 && !last || more
		f.drop(f.pos + n)
	case f.tail != 0:
		at := f.pos
		for at < len(f.buf) && f.tail.has(f.buf[at]) {
			at++
		}
		f.drop(at)
		if more = at == len(f.buf); !more {
			f.tail = 0
		}
	default:
		f.short = false
		found := f.after(f, f.pos)
		if more = f.short && !end; more {
			break
		}
		if f.after = nil; found.to > 0 {
			f.hide(found)
		}
	}
	return more
}

// find goes on to the next secret and hides it, and says whether more must be seen.
func (f *filter) find(end bool) (more bool) {
	for i := f.next(f.buf, f.pos); i+3 <= len(f.buf); i = f.next(f.buf, i+2) {
		text := load(padded(f.buf[i:]))
		for run := 1; run >= 0; run-- {
			at := i - run
			if at < f.pos {
				continue
			}
			for n := f.first(text, run); n > 0; n = f.following(f.list[n-1].next, text) {
				f.short = false
				found := f.ask(&f.rules[f.list[n-1].rule], at)
				switch {
				case f.short && !end:
					f.pass(at)
					f.passed(found.from)
					return true
				case found.to > 0:
					f.hide(found)
					return false
				}
			}
		}
	}
	at, secret := len(f.buf), len(f.buf)
	if !end {
		at, secret = f.begun(f.buf, f.pos)
	}
	f.pass(at)
	f.passed(secret)
	return true
}

// ask asks a rule, if its literal is there.
func (f *filter) ask(r *rule, at int) finding {
	if !f.begins(at, r.literal) {
		return finding{}
	}
	found := r.find(f, at)
	if found.kind != "" {
		found.to = f.reach(found.from, found.to)
	}
	return found
}

// hide puts a mark in the place of a secret.
func (f *filter) hide(found finding) {
	if found.kind == "" {
		f.pass(found.to)
		return
	}
	f.pass(max(found.from, f.pos))
	f.window.out = mark(f.window.out, found.kind)
	f.drop(found.to)
	f.tail, f.inKey, f.after = found.tail, found.key, found.after
}

// at is a byte of the text, 0 beyond its end.
func (f *filter) at(i int) byte {
	if i >= len(f.buf) {
		f.short = true
		return 0
	}
	return f.buf[i]
}

// begins reports whether the text goes on with another.
func (f *filter) begins(at int, text string) bool {
	if at+len(text) <= len(f.buf) {
		return string(f.buf[at:at+len(text)]) == text
	}
	if strings.HasPrefix(text, string(f.buf[min(at, len(f.buf)):])) {
		f.short = true
	}
	return false
}

// among reports whether the byte at a place is one of some.
func (f *filter) among(at int, some string) bool {
	if at >= len(f.buf) {
		f.short = true
		return false
	}
	return strings.IndexByte(some, f.buf[at]) >= 0
}

// A span is a part of the text.
type span struct{ from, to int }

// run is the length of the token that begins somewhere, at most the number of bytes
// that it is judged by. Each token is measured once, wherever its beginning is
// looked for.
func (f *filter) run(at int, letters alphabet) int {
	s := &f.runs[letters.index()]
	if at < s.from || at > s.to {
		s.from, s.to = at, at
	}
	for s.to < len(f.buf) && letters.has(f.buf[s.to]) {
		s.to++
	}
	n := s.to - at
	if s.to == len(f.buf) && n < decided {
		f.short = true
	}
	return min(n, decided)
}

// back is where what stands before a place begins, as far as it is of some letters.
func (f *filter) back(at int, letters alphabet, limit int) int {
	from := at
	for from > 0 && at-from < limit && letters.has(f.buf[from-1]) {
		from--
	}
	return from
}

// before is what stands before a place.
func (f *filter) before(at int) []byte { return f.buf[max(0, at-lookBack):at] }
