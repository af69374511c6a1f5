package redact

import "strings"

// decided is how many bytes a token is judged by; it goes on to its end.
const decided = 512

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

	end   bool     // no more comes
	short bool     // a rule must see more
	tail  alphabet // what still belongs to the last secret
	inKey bool     // in the body of a private key
}

// A span is a part of the text.
type span struct{ from, to int }

// A finding is what a rule found: the secret is from..to, and of a kind. The zero
// value is nothing; without an end, what is before from may be passed on, even if
// more must be seen. A finding without kind is left as it is.
type finding struct {
	from, to int
	kind     string
	tail     alphabet // the token may go on so
	key      bool     // a private key begins
	password span     // stands behind it
}

// add takes a piece of the text and appends to out what can be passed on.
func (f *filter) add(out, p []byte, end bool) []byte {
	f.out, f.end = out, end
	drop := f.take(p, end)
	for i := range f.runs {
		f.runs[i].from -= drop
		f.runs[i].to -= drop
	}
	for more := true; f.pos < len(f.buf) && more; {
		switch f.short = false; {
		case f.tail != 0:
			f.drop(f.pos + f.tail.run(f.buf[f.pos:], len(f.buf)))
			if f.pos < len(f.buf) {
				f.tail = 0
			}
		case f.inKey:
			n, last := f.keyPart(f.pos)
			f.drop(f.pos + n)
			if more = !f.short; more && (n == 0 || last) {
				f.inKey = false
			} else if more {
				f.tail = base64s
			}
		default:
			more = f.find()
		}
	}
	if end {
		f.pass(len(f.buf))
	} else if f.tail == 0 && !f.inKey {
		f.pass(f.pos) // the control sequences there
	}
	out, f.out = f.out, nil
	return out
}

// find goes on to the next secret and hides it, and says whether there was one.
func (f *filter) find() bool {
	wide := f.buf[:len(f.buf)+len(room)]
	for i := f.next(wide, f.pos, len(f.buf)); i+3 <= len(f.buf); i = f.next(wide, i+2, len(f.buf)) {
		for run := 1; run >= 0; run-- {
			at := i - run
			if at < f.pos || f.may(load(wide[at:]))&f.may(load(wide[at+1:])) == 0 {
				continue
			}
			for r := range f.asked(wide[at:], run) {
				f.short = false
				found := f.ask(r, at)
				switch {
				case f.short:
					f.pass(max(at, found.from))
					f.pos = at
					return false
				case found.to > 0:
					f.hide(found)
					return true
				}
			}
		}
	}
	literal, secret := len(f.buf), len(f.buf)
	for at := literal - 1; at >= max(f.pos, len(f.buf)-3) && !f.end; at-- {
		if b, known := f.begins[string(f.buf[at:])]; known {
			literal = at
			if b.anywhere || b.apart && f.apart(at) {
				secret = at
			}
		}
	}
	f.pass(secret)
	f.pos = literal
	return false
}

// ask asks a rule, if its literal is there.
func (f *filter) ask(r *rule, at int) finding {
	from := at + len(r.literal)
	if !f.is(at, r.literal) || r.apart && !f.apart(at) || len(r.literal) == 3 && !r.then.has(f.at(from)) {
		return finding{}
	}
	found := r.find(f, at, from)
	if found.kind != "" {
		found.to = f.reach(found.from, found.to)
		found.password.to = f.reach(found.password.from, found.password.to)
	}
	return found
}

// hide puts a mark in the place of a secret.
func (f *filter) hide(found finding) {
	f.pass(max(found.from, f.pos))
	if found.kind == "" {
		f.pass(found.to)
		f.pos = found.to
		return
	}
	f.out = mark(f.out, found.kind)
	f.drop(found.to)
	f.tail, f.inKey = found.tail, found.key
	if next := found.password; next.to > f.pos {
		f.hide(finding{from: next.from, to: next.to, kind: password})
	}
}

// at is a byte of the text, 0 beyond its end.
func (f *filter) at(i int) byte {
	if i >= len(f.buf) {
		f.short = !f.end
		return 0
	}
	return f.buf[i]
}

// is reports whether the text goes on with another.
func (f *filter) is(at int, text string) bool {
	if at+len(text) <= len(f.buf) {
		return string(f.buf[at:at+len(text)]) == text
	}
	if !f.end && strings.HasPrefix(text, string(f.buf[min(at, len(f.buf)):])) {
		f.short = true
	}
	return false
}

// among reports whether the byte at a place is one of some.
func (f *filter) among(at int, some string) bool {
	c := f.at(at)
	return at < len(f.buf) && strings.IndexByte(some, c) >= 0
}

// skip is the first place from at on without one of some bytes, at most most behind it.
func (f *filter) skip(at int, some string, most int) int {
	i := at
	for i-at < most && f.among(i, some) {
		i++
	}
	return i
}

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
	if s.to == len(f.buf) && s.to-at < decided && !f.end {
		f.short = true
	}
	return min(s.to-at, decided)
}

// before is what stands before a place.
func (f *filter) before(at int) []byte { return f.buf[max(0, at-lookBack):at] }

// apart reports whether a token may begin at a place: at the beginning, after
// what is no letter, digit or underscore, and after what only looks like a
// letter, since output is full of it: \n and \u003d of JSON, %3D of URLs.
func (f *filter) apart(at int) bool {
	b := f.before(at)
	n := len(b)
	switch {
	case n == 0:
		return true
	case !word.has(b[n-1]): // a-b and a.b are one word
		return n < 2 || b[n-1] != '-' && b[n-1] != '.' || !word.has(b[n-2])
	case n >= 2 && b[n-2] == '\\':
		return strings.IndexByte("nrtbf", b[n-1]) >= 0
	}
	hexed := n >= 3 && hexes.has(b[n-1]) && hexes.has(b[n-2])
	return hexed && (b[n-3] == '%' || n >= 6 && b[n-6] == '\\' && b[n-5] == 'u')
}
