package redact

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"
)

// A value is what is assigned to a name.
type value struct {
	text []byte
	name name

	plain bool // it has blanks before it and no quotation mark, as in prose and in code
	tight bool // it follows = at once
	brief bool // it is secret however it looks
}

// standIns are what stands where no secret is told; in lower case.
var standIns = []string{
	"required", "optional", "string", "missing", "invalid", "incorrect", "prompt", "hidden", "masked", "password", "passwd", "pass", "secret", "token",
	"argon2", "argon2id", "base64", "bcrypt", "sha256", "sha512", "scrypt", "changeme", "change-me", "change_me", "changeit", "undefined", "disabled", "enabled",
}

// placeholders are parts of what stands for a secret.
var placeholders = []string{"xxxx", "your-", "your_", "yourapi", "yourpass", "yourtoken", "yoursecret", "placeholder", "replace-", "replace_", "changeme", "change-me", "change_me", "example-", "example_", "dummy", "redacted", "insert-", "insert_", "-here", "_here", "..."}

// placeholder reports whether a text stands for a secret, or is hidden already.
func placeholder(text []byte) bool {
	low := strings.ToLower(string(text[:min(len(text), 64)]))
	return slices.ContainsFunc(placeholders, func(s string) bool { return strings.Contains(low, s) }) || isMarked(text)
}

// standsFor reports whether a value is none, but stands for one or tells its kind.
func standsFor(text []byte) bool {
	low := strings.ToLower(string(text[:min(len(text), 24)]))
	if l := lookAt(text[:min(len(text), judged)]); l.digits+l.signs == 0 && (ends(text, "password") || ends(text, "token") || ends(text, "secret") || ends(text, "key")) {
		return true // it names one
	}
	return slices.Contains(standIns, low) || strings.HasPrefix(low, "your") || strings.HasPrefix(low, "sha256:") || strings.HasPrefix(low, "required|") || placeholder(text)
}

// secret reports whether a value looks like what its name says.
func (v value) secret() bool {
	n := len(v.text)
	if v.brief {
		return n > 0
	}
	l := lookAt(v.text[:min(n, judged)])
	return !l.path && v.looks(l) && !standsFor(v.text)
}

// judged is how many bytes of a value are looked at.
const judged = 40

// looks reports whether a value has the look that its name asks for.
func (v value) looks(l look) bool {
	switch n := len(v.text); {
	case v.name.basic && isBasic(v.text):
		return true
	case v.name.kind == authorization:
		return n >= 8 && (!v.plain || l.digits > 0 || l.dots == 0) && (l.digits > 0 || l.upper > 1 && l.lower > 0 || l.longest >= 20)
	case v.name.kind == password:
		return v.likePassword(l)
	case v.name.query:
		return n >= 16 && l.random(false)
	}
	return v.name.env && v.tight && !v.name.weak && l.likeKey(len(v.text)) || l.random(v.plain)
}

// likePassword reports whether the value looks like a password and not like a name:
// with letters, and digits or, where no words are likely, signs.
func (v value) likePassword(l look) bool {
	n := len(v.text)
	switch {
	case n < MinSecret, v.plain && l.dots > 0:
		return false
	case v.name.env && !v.name.weak, !v.plain && l.letters() >= 16:
		return true
	}
	return l.letters() > 0 && (l.digits > 0 || !v.plain && l.signs > 0)
}

// isBasic reports whether a text is user:password in base64.
func isBasic(text []byte) bool {
	text = bytes.TrimRight(text, "=")
	all := make([]byte, base64.RawStdEncoding.DecodedLen(len(text)))
	n, err := base64.RawStdEncoding.Decode(all, text)
	user, rest, ok := bytes.Cut(all[:n], []byte(":"))
	return err == nil && ok && len(user) > 0 && len(rest) > 2 && utf8.Valid(all[:n]) && bytes.IndexFunc(all[:n], func(r rune) bool { return r < ' ' }) < 0
}

// A look is what can be seen of a value.
type look struct {
	digits, lower, upper, dots, signs int

	longest   int  // run of letters and digits
	mixed     int  // longest run that has both
	turns     int  // places where a letter stands beside a digit
	turnsCase int  // and where a small letter stands beside a capital one
	path      bool // it is the path of a file
}

func lookAt(value []byte) look {
	var l look
	var kinds [8]int // by alphabet
	var last, both alphabet
	length, slashes := 0, 0
	for _, c := range value {
		k := members[c] & (digit | lower | upper)
		kinds[k&7]++
		if k == 0 {
			l.longest = max(l.longest, length)
			length, both, last = 0, 0, 0
			switch c {
			case '/':
				slashes++
			case '.':
				l.dots++
			case '!', '@', '#', '$', '%', '^', '&', '*', '+', '?', '~':
				l.signs++
			}
			continue
		}
		length, both = length+1, both|k
		if k != last && last != 0 {
			if k|last == lower|upper {
				l.turnsCase++
			} else {
				l.turns++
			}
		}
		last = k
		if both > digit && both&digit != 0 && length > l.mixed {
			l.mixed = length
		}
	}
	l.longest = max(l.longest, length)
	l.digits, l.lower, l.upper = kinds[digit], kinds[lower], kinds[upper]
	rooted := len(value) > 1 && strings.IndexByte("/.~", value[0]) >= 0
	l.path = (rooted && slashes > 1 || bytes.Contains(value, []byte("://"))) &&
		(l.mixed < 16 || l.turnsCase < 3) // some keys hold slashes
	return l
}

func (l look) letters() int { return l.lower + l.upper }

// likeKey reports whether the value, of n bytes, may be what an environment variable
// with the name of a secret holds.
func (l look) likeKey(n int) bool {
	return l.longest >= 12 || n >= 8 && l.letters() > 0 && l.digits > 0 && l.longest >= 6
}

// random reports whether the value looks as if nobody had thought of it: digits
// and letters in turns. strict asks for more of it, where words are likely.
func (l look) random(strict bool) bool {
	n := l.digits + l.letters()
	if l.digits == 0 || l.letters() == 0 || l.path {
		return false
	}
	if strict {
		return n >= 16 && (l.turns >= 4 || l.turns >= 3 && l.mixed >= 20)
	}
	return n >= 12 && (l.turns >= 4 || l.mixed >= 10)
}
