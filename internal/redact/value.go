package redact

import (
	"bytes"
	"slices"
	"strings"
)

// standIns are what stands where no secret is told; in lower case.
var standIns = words(`required optional string missing invalid incorrect prompt hidden masked
	password passwd pass secret token argon2 argon2id base64 bcrypt sha256 sha512 scrypt
	changeme change-me change_me changeit undefined disabled enabled`)

// placeholders are parts of what stands for a secret.
var placeholders = words(`xxxx your- your_ yourapi yourpass yourtoken yoursecret placeholder replace- replace_
	changeme change-me change_me example- example_ dummy redacted insert- insert_ -here _here ... sha256: required|`)

// variables are what begins a variable, a placeholder, or what was hidden before.
const variables = "[$<{*%("

// A value is what is assigned to a name, or stands behind what leads to a secret.
type value struct {
	kind  string // of secret that its name or lead says it is; empty = none
	env   bool   // the name is written like that of an environment variable
	short bool   // the name is a single word, which may be one of prose: PASS

	at    int  // where it may begin; 0 = no value follows
	tight bool // there is no more than an equals sign before it
	lead  bool // there is no sign before it, but a flag or what is as good
	tag   bool // it stands between <name> and another tag
	plain bool // there are blanks before it and no quotation mark, as in prose and in code
}

// value finds a value, if it looks like a secret.
func (f *filter) value(v value) finding {
	at := f.skip(v.at, " \t", 8)
	v.plain, v.tight = at > v.at && !v.lead, v.tight && at == v.at || v.lead
	at = f.skip(at, `\`, 8)
	letters, stop := bare, "([" // code, or
	if f.among(at, "\"'`") {
		letters, stop = quoted, " " // several words
		at, v.plain = at+1, false
	}
	switch v.kind {
	case cookie: // all from the first on
		line := f.run(at, rest)
		letters, stop = rest, ""
		at += bytes.IndexByte(line[:min(len(line), 64)], '=') + 1
	case authorization:
		if scheme := f.run(at, letter); len(scheme) > 0 && f.at(at+len(scheme)) == ' ' {
			at += len(scheme) + 1
		}
	}
	if f.among(at, variables) {
		return finding{}
	}
	if found := f.key(at); found.to > 0 || f.short {
		return found
	}
	text := f.run(at, letters)
	found := finding{from: at, to: at + len(text), kind: v.kind}
	switch {
	case len(text) == decided:
		found.tail = letters
	case f.among(found.to, stop):
		return finding{}
	case letters == bare:
		text = bytes.TrimRight(text, ".:!?")
		found.to = at + len(text)
	}
	switch {
	case v.short && v.plain, v.tag && f.at(found.to) != '<':
		return finding{}
	case f.brief && len(text) > 0:
		found.kind = stars // whatever it looks like, and people are to read the rest
	case !v.looks(text), standsFor(text):
		return finding{}
	}
	return found
}

// key finds a key that has a format of its own.
func (f *filter) key(at int) (found finding) {
	for _, r := range f.asked(at) {
		if r.format && found.to == 0 {
			found = f.ask(r, at)
		}
	}
	return found
}

// standsFor reports whether a text stands for a secret, names it or tells its kind.
func standsFor(text []byte) bool {
	low := strings.ToLower(string(text[:min(len(text), 64)]))
	named := !strings.ContainsAny(low, "0123456789") && endsIn(low, "password", "token", "secret", "key")
	begins := strings.HasPrefix(low, "your") || strings.HasPrefix(low, "xxx")
	return named || begins || slices.Contains(standIns, low) || placeholder(text)
}

// placeholder reports whether a part of a text says that it stands for a secret, or is
// hidden already.
func placeholder(text []byte) bool {
	low := strings.ToLower(string(text[:min(len(text), 64)]))
	holds := func(s string) bool { return strings.Contains(low, s) }
	return slices.ContainsFunc(placeholders, holds) || isMarked(text)
}

// looks reports whether a value has the look that its name asks for.
func (v value) looks(text []byte) bool {
	l := lookAt(text)
	switch {
	case l.path:
		return false
	case v.kind == password && (len(text) < MinSecret || v.plain && bytes.Contains(text, []byte("."))):
		return false
	case v.kind == password: // digits or, where no words are likely, many letters
		return v.env || l.letters > 0 && l.digits > 0 || !v.plain && l.letters >= 16
	case v.kind == authorization && l.longest >= 12:
		return true
	case v.env && v.tight: // it need not look random
		return l.longest >= 12 || l.letters > 0 && l.digits > 0 && l.longest >= 6 && len(text) >= 8
	}
	return l.random(v.plain)
}

// A look is what can be seen of a value.
type look struct {
	digits, letters int

	longest int  // run of letters and digits
	mixed   int  // longest run that has both
	turns   int  // places where a letter stands beside a digit
	path    bool // it is the path of a file, or a URL
}

// lookAt looks at the beginning of a value.
func lookAt(text []byte) (l look) {
	text = text[:min(len(text), 40)]
	run, digits := 0, 0 // of letters and digits, and how many of these are digits
	for i, c := range text {
		switch {
		case digit[c]:
			l.digits, digits = l.digits+1, digits+1
		case letter[c]:
			l.letters++
		default:
			run, digits = 0, 0
			continue
		}
		if run++; run > 1 && digit[c] != digit[text[i-1]] {
			l.turns++
		}
		l.longest = max(l.longest, run)
		if 0 < digits && digits < run {
			l.mixed = max(l.mixed, run)
		}
	}
	rooted := len(text) > 1 && strings.IndexByte("/.~", text[0]) >= 0 && bytes.Count(text, []byte("/")) > 1
	l.path = (rooted || bytes.Contains(text, []byte("://"))) && l.mixed < 16 // some keys hold slashes
	return l
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
