package redact

import (
	"bytes"
	"strings"
)

// A naming is what the name before a value says about it.
type naming struct {
	kind string // "" = nothing
	env  bool   // it is written like the name of an environment variable
	weak bool   // it may be the key of a cache or a table as well
}

const (
	password      = "password"
	secret        = "secret"
	authorization = "authorization"
)

// assigned finds a value that is assigned to a name which says that it is secret,
// and the password in a URL. b begins with = or a colon.
func (f *filter) assigned(before, b []byte, end bool) finding {
	if b[0] == ':' {
		n, more := slashes(b, end)
		if more {
			return finding{more: true}
		}
		if n > 0 {
			return f.user(b, n, end)
		}
		if found := userPassword(before, b, end); found.hide > 0 || found.more {
			return found
		}
	}
	name := nameOf(before)
	if name.kind == "" {
		return finding{}
	}
	return f.value(name, b, end)
}

// slashes is the length of :// or, in some JSON, :\/\/.
func slashes(b []byte, end bool) (n int, more bool) {
	for _, text := range []string{"://", `:\/\/`} {
		switch yes, more := begins(b, text, end); {
		case more:
			return 0, true
		case yes:
			return len(text), false
		}
	}
	return 0, false
}

// user finds a token that stands before the @ of a URL as if it were a user. n is
// the length of what comes before it.
func (f *filter) user(b []byte, n int, end bool) finding {
	size, more := run(b[n:], func(c byte) bool { return isUserinfo(c) && c != ':' && c != '@' }, decided, end)
	if more {
		return finding{more: true}
	}
	user := b[n : n+size]
	if n+size < len(b) && b[n+size] == '@' && lookAt(user).random(false) && f.token(nil, user, true).hide == 0 {
		return finding{keep: n, hide: size, kind: secret}
	}
	return finding{keep: n} // what has a kind of its own is found in its place
}

// userPassword finds the password between the user and the @ of a URL. b begins
// with the colon before it.
func userPassword(before, b []byte, end bool) finding {
	i := bytes.LastIndexByte(before, '/')
	if i < 1 || !bytes.HasSuffix(before[:i], []byte(":/")) && !bytes.HasSuffix(before[:i], []byte(`:\/\`)) ||
		bytes.ContainsFunc(before[i+1:], func(r rune) bool { return r < 0x80 && !isUserinfo(byte(r)) }) {
		return finding{}
	}
	n, more := run(b[1:], isUserinfo, decided, end)
	if more {
		return finding{more: true}
	}
	n = bytes.LastIndexByte(b[:1+n], '@') - 1
	if n < 1 || bytes.IndexByte([]byte("[$<{*"), b[1]) >= 0 || isMarked(before[i+1:]) || isMarked(b[:1+n]) {
		return finding{}
	}
	return finding{keep: 1, hide: n, kind: password}
}

// isUserinfo says what user and password of a URL, and the host after them, consist of.
func isUserinfo(c byte) bool {
	switch c {
	case '/', '?', '#', '"', '\'', '`', '<', '>', '\\', '|', '(', ')', ',':
		return false
	}
	return c > ' '
}

// nameOf reads the name that ends before a value. Only how it ends counts, so it
// does not matter where it begins.
func nameOf(before []byte) naming {
	const quotes = "\"'\\`"
	before = bytes.TrimRight(before, " ")
	before = bytes.TrimRight(before, quotes)
	if key, ok := bytes.CutSuffix(before, []byte("]")); ok { // m["api_key"] =
		before = bytes.TrimRight(key, quotes)
		if len(before) == len(key) {
			return naming{} // the mark of something hidden, or an index that is no text
		}
	}
	n := len(before)
	if n == 0 || !word.has(before[n-1]) {
		return naming{}
	}
	env := upper.has(before[n-1])
	if ends(before, "_pass") || ends(before, "_pwd") {
		return naming{kind: password, env: env}
	}
	name := lastLetters(before)
	for _, known := range []struct{ end, kind string }{
		{"password", password}, {"passwd", password}, {"passphrase", password},
		{"token", secret}, {"secret", secret}, {"apikey", secret}, {"secretkey", secret}, {"accesskey", secret},
		{"privatekey", secret}, {"encryptionkey", secret}, {"signingkey", secret}, {"authkey", secret}, {"accountkey", secret},
		{"masterkey", secret}, {"credential", secret}, {"credentials", secret}, {"authorization", authorization},
	} {
		if strings.HasSuffix(name, known.end) {
			return naming{kind: known.kind, env: env}
		}
	}
	if env && ends(before, "_key") && !ends(before, "public_key") {
		return naming{kind: secret, env: true, weak: true}
	}
	return naming{}
}

// lastLetters are the last letters and digits of a name, in lower case and without
// what separates words.
func lastLetters(name []byte) string {
	var letters [16]byte
	i := len(letters)
	for j := len(name) - 1; j >= 0 && i > 0 && (urlish | dot).has(name[j]); j-- {
		if alnum.has(name[j]) {
			i--
			letters[i] = name[j]
		}
	}
	return strings.ToLower(string(letters[i:]))
}

// ends reports whether b ends in the lower-case text, upper and lower case alike.
func ends(b []byte, text string) bool {
	return len(b) >= len(text) && strings.EqualFold(string(b[len(b)-len(text):]), text)
}

// An opening is what stands between a name and its value.
type opening struct {
	size   int
	quoted bool // it ends in a quotation mark
	plain  bool // it has blanks and no quotation mark, as in prose and in code
	tight  bool // it is no more than an equals sign
}

// openingOf reads the opening that b begins with: the sign, what may follow it, and
// blanks, backslashes and a quotation mark.
func openingOf(b []byte) opening {
	n := 1 + lead(b[1:], 2, "=>")
	blanks := lead(b[n:], 8, " \t")
	n += blanks
	n += lead(b[n:], 8, `\`)
	o := opening{size: n, quoted: n < len(b) && isQuote(b[n])}
	if o.quoted {
		o.size++
	}
	o.plain, o.tight = blanks > 0 && !o.quoted, b[0] == '=' && blanks == 0
	return o
}

// lead is how many bytes at the beginning of b are among chars, limit at most.
func lead(b []byte, limit int, chars string) int {
	n := 0
	for n < min(len(b), limit) && strings.IndexByte(chars, b[n]) >= 0 {
		n++
	}
	return n
}

// value finds the value after a name. b begins with the sign between them.
func (f *filter) value(name naming, b []byte, end bool) finding {
	o := openingOf(b)
	at := o.size
	if at < len(b) && name.kind == authorization {
		n, more := scheme(b[at:], end)
		if more {
			return finding{more: true}
		}
		at += n
	}
	switch {
	case at >= len(b):
		return finding{more: !end}
	case strings.IndexByte("[$<{*%(", b[at]) >= 0: // a variable, a placeholder, what was hidden before
		return finding{}
	}
	if found := f.ownKind(b[at:], end); found.hide > 0 || found.more {
		return finding{more: found.more}
	}
	part := isBare
	if o.quoted {
		part = isQuotable
	}
	n, more := run(b[at:], part, decided, end)
	if more {
		return finding{more: true}
	}
	found := finding{keep: at, hide: n, kind: name.kind}
	value := b[at : at+n]
	switch {
	case n == decided:
		found.tail = part
	case phrase(b[at+n:], o.quoted):
		return finding{}
	case !o.quoted:
		value = bytes.TrimRight(value, ".:!?")
		found.hide = len(value)
	}
	if !secretive(name, value, o.plain, o.tight) {
		return finding{}
	}
	return found
}

// phrase reports whether what follows a value shows that it is one of several
// words, or code.
func phrase(rest []byte, quoted bool) bool {
	switch {
	case len(rest) == 0:
		return false
	case quoted:
		return rest[0] == ' '
	}
	return rest[0] == '(' || rest[0] == '['
}

// ownKind finds a token that has a kind of its own at the beginning of a value.
func (f *filter) ownKind(b []byte, end bool) finding {
	if b[0] != 'e' && f.formats.byFirst[b[0]] == nil {
		return finding{}
	}
	return f.token(nil, b, end)
}

// scheme is the length of the word before the credentials, and of the space after it.
func scheme(b []byte, end bool) (n int, more bool) {
	n, more = run(b, (lower | upper).has, 16, end)
	if more {
		return 0, true
	}
	if n == 0 || n == 16 || n == len(b) || b[n] != ' ' {
		return 0, false
	}
	return n + 1, false
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// isBare and isQuotable are what a value consists of, without and with quotation
// marks around it.
func isBare(c byte) bool {
	switch c {
	case ',', ';', '(', ')', '[', ']', '{', '}', '<', '>', '|', '&':
		return false
	}
	return isQuotable(c) && c < 0x80
}

func isQuotable(c byte) bool { return c > ' ' && c != 0x7f && !isQuote(c) && c != '\\' }

// secretive reports whether a value looks like what its name says. plain says
// that there are spaces before it and no quotation marks around it, as in prose
// and in code; tight that it follows = at once.
func secretive(name naming, value []byte, plain, tight bool) bool {
	l := lookAt(value)
	n := len(value)
	text := strings.ToLower(string(value[:min(n, 24)]))
	switch {
	case l.path || standsFor(value, text):
		return false
	case name.kind == authorization:
		return n >= 8 && l.likeCredentials()
	case name.kind == password:
		return n >= MinSecret && !isWord(text) && (name.env || l.likePassword(plain)) && (!plain || l.dots == 0)
	}
	return name.env && tight && !name.weak && l.likeKey(n) || l.random(plain)
}

// standsFor reports whether a value stands for one, names one, or is hidden already.
// text is its beginning in lower case.
func standsFor(value []byte, text string) bool {
	return strings.Contains(text, "xxxx") || strings.HasPrefix(text, "your") || strings.HasPrefix(text, "sha256:") || isMarked(value)
}

// isWord reports whether text is one of those that stand after "password" where
// none is told.
func isWord(text string) bool {
	switch text {
	case "required", "optional", "string", "missing", "invalid", "incorrect", "prompt", "hidden", "masked",
		"argon2", "argon2id", "base64", "bcrypt", "sha256", "sha512", "scrypt":
		return true
	}
	return false
}

// bearer finds a token after the word Bearer.
func (f *filter) bearer(before, b []byte, end bool) finding {
	const name = "bearer"
	if !apart(before) {
		return finding{}
	}
	if n := min(len(b), len(name)); !strings.EqualFold(string(b[:n]), name[:n]) {
		return finding{}
	}
	i := len(name)
	for ; i < len(b) && i < len(name)+4 && b[i] == ' '; i++ {
	}
	if i >= len(b) {
		return finding{more: !end}
	}
	if i == len(name) {
		return finding{}
	}
	if found := f.ownKind(b[i:], end); found.hide > 0 || found.more {
		return finding{more: found.more}
	}
	part := (urlish | dot | other).has
	n, more := run(b[i:], part, decided, end)
	if more {
		return finding{more: true}
	}
	found := finding{keep: i, hide: n, kind: name}
	if n == decided {
		found.tail = part
	} else {
		found.hide = len(bytes.TrimRight(b[i:i+n], "."))
	}
	if l := lookAt(b[i : i+found.hide]); found.hide < 12 || l.longest < 20 && !l.random(false) {
		return finding{}
	}
	return found
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
	var last, both class
	length, slashes := 0, 0
	for _, c := range value {
		k := classOf(c)
		l.count(c, k)
		if c == '/' {
			slashes++
		}
		if k&alnum == 0 {
			length, both, last = 0, 0, 0
			continue
		}
		if last != 0 && (k == digit) != (last == digit) {
			l.turns++
		}
		if last|k == lower|upper {
			l.turnsCase++
		}
		length, both, last = length+1, both|k, k
		l.longest = max(l.longest, length)
		if both&digit != 0 && both != digit {
			l.mixed = max(l.mixed, length)
		}
	}
	l.path = (rooted(value) && slashes > 1 || bytes.Contains(value, []byte("://"))) &&
		(l.mixed < 16 || l.turnsCase < 3) // some keys hold slashes
	return l
}

// rooted reports whether value begins as the path of a file does.
func rooted(value []byte) bool {
	return len(value) > 1 && strings.IndexByte("/.~", value[0]) >= 0
}

// count counts a byte of the class k.
func (l *look) count(c byte, k class) {
	switch k {
	case digit:
		l.digits++
	case lower:
		l.lower++
	case upper:
		l.upper++
	case dot:
		l.dots++
	}
	if strings.IndexByte("!@#$%^&*+?~", c) >= 0 {
		l.signs++
	}
}

// likeCredentials reports whether the value may stand after Authorization.
func (l look) likeCredentials() bool {
	return l.digits > 0 || l.upper > 1 && l.lower > 0 || l.longest >= 20
}

// likeKey reports whether the value, of n bytes, may be what an environment variable
// with the name of a secret holds.
func (l look) likeKey(n int) bool {
	return l.longest >= 12 || n >= 8 && l.letters() > 0 && l.digits > 0 && l.longest >= 6
}

func (l look) letters() int { return l.lower + l.upper }

// likePassword reports whether the value looks like a password that is not like a
// name: with letters, and digits or, where no words are likely, signs.
func (l look) likePassword(plain bool) bool {
	return l.letters() > 0 && (l.digits > 0 || !plain && l.signs > 0)
}

// random reports whether the value looks as if nobody had thought of it: digits
// and letters in turns. strict asks for more of it, where words are likely.
func (l look) random(strict bool) bool {
	n := l.digits + l.lower + l.upper
	if l.digits == 0 || l.lower+l.upper == 0 || l.path {
		return false
	}
	if strict {
		return n >= 16 && (l.turns >= 4 || l.mixed >= 20)
	}
	return n >= 12 && (l.turns >= 4 || l.mixed >= 10)
}
