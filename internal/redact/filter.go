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
	Finder
	window
	runs  map[alphabet]*token // those that were measured last
	end   bool                // no more comes
	short bool                // more must be seen
	ahead bool                // all that is held back may be the beginning of a literal
	tail  alphabet            // what still belongs to the last secret
	inKey bool                // in the body of a private key
}

// A token is a part of the text.
type token struct{ from, to int }

// A finding is what a rule found: the secret is from..to, and of a kind. The zero
// value is nothing; without an end, what is before from may be passed on, even if
// more must be seen. A finding without kind is left as it is.
type finding struct {
	from, to int
	kind     string
	tail     alphabet // the token may go on so
	key      bool     // a private key begins
	password int      // the end of one that stands behind it and a colon; 0 = none does
}

// add takes a piece of the text and appends to out what can be passed on.
func (f *filter) add(out, p []byte, end bool) []byte {
	f.out, f.end, f.short, f.ahead = out, end, false, false
	drop := f.take(p, end)
	for _, t := range f.runs {
		t.from, t.to = t.from-drop, t.to-drop
	}
	for f.pos < len(f.buf) && !f.short {
		switch {
		case f.tail != nil:
			f.drop(f.pos + span(f.tail, f.buf[f.pos:]))
			if f.pos < len(f.buf) {
				f.tail = nil
			}
		case f.inKey:
			n, last := f.keyPart(f.pos)
			f.drop(f.pos + n)
			if f.inKey = f.short || n > 0 && !last; f.inKey && n > 0 {
				f.tail = base64s
			}
		default:
			f.find()
		}
	}
	if end {
		f.pass(len(f.buf))
	} else if f.tail == nil && !f.inKey {
		f.pass(f.pos) // the control sequences there
	}
	out, f.out = f.out, nil
	return out
}

// find goes on to the next secret and hides it, or to where more must be seen.
func (f *filter) find() {
	wide := f.buf[:len(f.buf)+len(room)]
	for i := f.next(wide, f.pos, len(f.buf)); i+3 <= len(f.buf); i = f.next(wide, i+2, len(f.buf)) {
		for at := max(i-1, f.pos); at <= min(i, len(f.buf)-4); at++ {
			for _, r := range f.asked(at) {
				found := f.ask(r, at)
				if f.short {
					f.pass(max(at, found.from))
					f.pos = at
					return
				}
				if found.to > 0 {
					f.hide(found)
					return
				}
			}
		}
	}
	literal, secret, named := len(f.buf), len(f.buf), false
	for at := literal - 1; at >= max(f.pos, len(f.buf)-3) && !f.end; at-- {
		for _, r := range f.begins[string(f.buf[at:])] {
			if literal = at; !r.leads && (!r.apart || f.apart(at)) {
				secret, named = at, named || r.named
			}
		}
	}
	f.pass(secret)
	f.pos, f.short, f.ahead = literal, true, !named
}

// ask asks a rule, if its literal is there.
func (f *filter) ask(r *rule, at int) finding {
	from := at + len(r.literal)
	if !f.is(at, r.literal) || r.apart && !f.apart(at) || len(r.literal) == 3 && !r.then[f.at(from)] {
		return finding{}
	}
	found := r.find(f, at, from)
	if f.named && found.kind != "" {
		found.to = f.reach(found.from, found.to)
		found.password = f.reach(found.to, found.password)
	}
	return found
}

// asked are the rules whose literal may begin at a place, and some others.
func (f *filter) asked(at int) []*rule {
	b := f.buf[at : len(f.buf)+len(room)]
	if g := load(b); f.may(g)&f.may(load(b[1:])) != 0 {
		return f.rules[hash(g)>>5]
	}
	if at+4 > len(f.buf) && f.begins[string(f.buf[at:])] != nil {
		f.short = !f.end
	}
	return nil
}

// reach is where the last of the values that are known ends that begin in a secret, so
// that none of them is left in part.
func (f *filter) reach(from, to int) int {
	for at := from; at < to; at++ {
		for _, r := range f.asked(at) {
			if r.named && at+len(r.literal) > to && f.is(at, r.literal) {
				to = at + len(r.literal)
			}
		}
	}
	return to
}

// hide puts a mark in the place of a secret.
func (f *filter) hide(found finding) {
	f.pass(max(found.from, f.pos))
	if found.kind == "" {
		f.pass(found.to)
		f.pos = found.to
		return
	}
	if found.kind == stars {
		f.out = append(f.out, stars...)
	} else {
		f.out = append(append(append(append(f.out, markBegin...), ':'), found.kind...), ']')
	}
	f.drop(found.to)
	f.tail, f.inKey = found.tail, found.key
	if found.password > found.to {
		f.hide(finding{from: found.to + 1, to: found.password, kind: password})
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

// run is the token that begins somewhere, at most the bytes that it is judged by. Each
// token is measured once, wherever its beginning is looked for.
func (f *filter) run(at int, letters alphabet) []byte {
	t := f.runs[letters]
	if t == nil {
		t = &token{}
		f.runs[letters] = t
	}
	if at < t.from || at > t.to {
		t.from, t.to = at, at
	}
	t.to += span(letters, f.buf[t.to:])
	if t.to == len(f.buf) && t.to-at < decided && !f.end {
		f.short = true
	}
	return f.buf[at:min(t.to, at+decided)]
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
	case !word[b[n-1]]: // a-b and a.b are one word
		return n < 2 || b[n-1] != '-' && b[n-1] != '.' || !word[b[n-2]]
	case n >= 2 && b[n-2] == '\\':
		return strings.IndexByte("nrtbf", b[n-1]) >= 0
	}
	hexed := n >= 3 && hex[b[n-1]] && hex[b[n-2]]
	return hexed && (b[n-3] == '%' || n >= 6 && b[n-6] == '\\' && b[n-5] == 'u')
}
