package redact

import (
	"bytes"
	"slices"
	"strings"
)

// standIns are what stands where no secret is told; in lower case.
var standIns = []string{
	"required", "optional", "string", "missing", "invalid", "incorrect", "prompt", "hidden", "masked",
	"password", "passwd", "pass", "secret", "token",
	"argon2", "argon2id", "base64", "bcrypt", "sha256", "sha512", "scrypt",
	"changeme", "change-me", "change_me", "changeit", "undefined", "disabled", "enabled",
}

// placeholders are parts of what stands for a secret.
var placeholders = []string{
	"xxxx", "your-", "your_", "yourapi", "yourpass", "yourtoken", "yoursecret", "placeholder", "replace-", "replace_",
	"changeme", "change-me", "change_me", "example-", "example_", "dummy", "redacted", "insert-", "insert_",
	"-here", "_here", "...", "sha256:", "required|",
}

// variables are what begins a variable, a placeholder, or what was hidden before.
const variables = "[$<{*%("

// A value is what is assigned to a name.
type value struct {
	name
	assignment
	text []byte

	plain bool // it has blanks before it and no quotation mark, as in prose and in code
	quote bool // it has one
}

// value finds the value after a name and a sign.
func (f *filter) value(n name, s assignment) finding {
	at := f.skip(s.at, " \t", 8)
	v := value{name: n, assignment: s, plain: at > s.at && !s.flag}
	v.tight = s.tight && at == s.at || s.flag
	at = f.skip(at, `\`, 8)
	if f.among(at, "\"'`") {
		at, v.quote, v.plain = at+1, true, false
	}
	switch n.kind {
	case cookie:
		return f.cookies(at)
	case authorization:
		at += f.scheme(at)
	}
	if f.among(at, variables) || f.short {
		return finding{}
	}
	if found := f.format(at); found.to > 0 || f.short {
		return found
	}
	return f.judge(v, at)
}

// judge finds a value that looks like a secret. In a command line any does, and only
// stars tell of it, for people are to read the rest.
func (f *filter) judge(v value, at int) finding {
	letters, stop := bare, "([" // code, or
	if v.quote {
		letters, stop = quoted, " " // several words
	}
	size := f.run(at, letters)
	v.text = f.buf[at : at+size]
	found := finding{from: at, to: at + size, kind: v.kind}
	switch {
	case size == decided:
		found.tail = letters
	case f.among(found.to, stop):
		return finding{}
	case !v.quote:
		v.text = trimmed(v.text, ".:!?")
		found.to = at + len(v.text)
	}
	l := lookAt(v.text)
	switch {
	case v.short && v.plain, v.tag && f.at(found.to) != '<':
		return finding{}
	case f.brief && len(v.text) > 0:
		found.kind = stars
	case l.path, !v.looks(l), v.standsFor(l):
		return finding{}
	}
	return found
}

// format finds a key that has a format of its own.
func (f *filter) format(at int) finding {
	if f.at(at+2) == 0 {
		return finding{}
	}
	for r := range f.asked(f.buf[at:len(f.buf)+len(room)], 0) {
		if !r.format {
			continue
		}
		if found := f.ask(r, at); found.to > 0 || f.short {
			return found
		}
	}
	return finding{}
}

// scheme is the length of the word before credentials, and of the space after it.
func (f *filter) scheme(at int) int {
	n := (lower | upper).run(f.buf[min(at, len(f.buf)):], 15)
	if f.at(at+n) != ' ' || n == 0 {
		return 0
	}
	return n + 1
}

// cookies finds the values in a header of cookies, from the first on, if one of them
// looks like a secret.
func (f *filter) cookies(at int) finding {
	n := f.run(at, rest)
	line := f.buf[at : at+min(n, 64)]
	first := bytes.IndexByte(line, '=')
	for pair := range bytes.SplitSeq(line, []byte(";")) {
		_, text, _ := bytes.Cut(pair, []byte("="))
		if len(text) < 12 {
			continue
		}
		if l := lookAt(text); (l.random(false) || l.longest >= 24) && first >= 0 && !isMarked(line) {
			return finding{from: at + first + 1, to: at + n, kind: cookie}
		}
	}
	return finding{}
}

// placeholder reports whether a text stands for a secret, or is hidden already.
func placeholder(text []byte) bool {
	low := bytes.ToLower(text[:min(len(text), 64)])
	holds := func(s string) bool { return bytes.Contains(low, []byte(s)) }
	return slices.ContainsFunc(placeholders, holds) || isMarked(text)
}

// standIn reports whether a text is what stands where no secret is told.
func standIn(text []byte) bool {
	low := strings.ToLower(string(text[:min(len(text), 24)]))
	return slices.Contains(standIns, low) || strings.HasPrefix(low, "your") || strings.HasPrefix(low, "xxx")
}

// standsFor reports whether a value is none, but stands for one, names it or tells its
// kind.
func (v value) standsFor(l look) bool {
	named := l.digits+l.signs == 0 && endsIn(v.text, "password", "token", "secret", "key")
	return named || standIn(v.text) || placeholder(v.text)
}

// looks reports whether a value has the look that its name asks for.
func (v value) looks(l look) bool {
	n := len(v.text)
	switch v.kind {
	case basic:
		return n >= 12 && l.random(false)
	case bearer:
		return n >= 12 && (l.longest >= 20 || l.random(false))
	case authorization:
		return n >= 8 && (l.digits > 0 || l.longest >= 12)
	case password:
		return n >= MinSecret && v.likePassword(l)
	}
	return l.random(v.plain) || v.env && v.tight && l.likeKey(n)
}

// likePassword asks for letters, and for digits or, where no words are likely, signs.
func (v value) likePassword(l look) bool {
	switch {
	case v.plain && bytes.Contains(v.text, []byte(".")), l.letters == 0 && !v.env:
		return false
	case v.env, l.digits > 0:
		return true
	}
	return !v.plain && (l.signs > 0 || l.letters >= 16)
}

// A look is what can be seen of a value.
type look struct {
	digits, letters, signs int

	longest int  // run of letters and digits
	mixed   int  // longest run that has both
	turns   int  // places where a letter stands beside a digit
	path    bool // it is the path of a file, or a URL
}

// lookAt looks at the beginning of a value.
func lookAt(text []byte) (l look) {
	text = text[:min(len(text), 40)]
	from, turned := 0, false // where the run of letters and digits began, and whether it has both
	var last alphabet
	for i, c := range text {
		k := members[c] & (alnum | digit | sign)
		switch {
		case k&alnum == 0:
			from, turned, last = i+1, false, 0
			if k == sign {
				l.signs++
			}
			continue
		case k&digit != 0:
			l.digits++
		default:
			l.letters++
		}
		if k != last && last != 0 {
			l.turns, turned = l.turns+1, true
		}
		last = k
		l.longest = max(l.longest, i+1-from)
		if turned {
			l.mixed = max(l.mixed, i+1-from)
		}
	}
	rooted := len(text) > 1 && strings.IndexByte("/.~", text[0]) >= 0 && bytes.Count(text, []byte("/")) > 1
	l.path = (rooted || bytes.Contains(text, []byte("://"))) && l.mixed < 16 // some keys hold slashes
	return l
}

// likeKey reports whether a value of n bytes may be what an environment variable holds;
// it need not look random.
func (l look) likeKey(n int) bool {
	return l.longest >= 12 || l.letters > 0 && l.digits > 0 && l.longest >= 6 && n >= 8
}

// random reports whether the value looks as if nobody had thought of it: digits
// and letters in turns. strict asks for more of it, where words are likely.
func (l look) random(strict bool) bool {
	n := l.digits + l.letters
	if strict {
		return n >= 16 && !l.path && (l.turns >= 4 || l.turns >= 3 && l.mixed >= 20)
	}
	return n >= 12 && !l.path && (l.turns >= 4 || l.mixed >= 10)
}
