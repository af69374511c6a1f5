package progress

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
	var letters [16]byte // the last ones, without what separates words
	i := len(letters)
	for j := n - 1; j >= 0 && i > 0 && (urlish | dot).has(before[j]); j-- {
		if alnum.has(before[j]) {
			i--
			letters[i] = before[j]
		}
	}
	name := strings.ToLower(string(letters[i:]))
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

// ends reports whether b ends in the lower-case text, upper and lower case alike.
func ends(b []byte, text string) bool {
	return len(b) >= len(text) && strings.EqualFold(string(b[len(b)-len(text):]), text)
}

// value finds the value after a name. b begins with the sign between them.
func (f *filter) value(name naming, b []byte, end bool) finding {
	i := 1
	for ; i < len(b) && i < 3 && (b[i] == '=' || b[i] == '>'); i++ {
	}
	spaces := i
	for ; i < len(b) && i < spaces+8 && (b[i] == ' ' || b[i] == '\t'); i++ {
	}
	spaced := i > spaces
	quotes := i
	for ; i < len(b) && i < quotes+8 && b[i] == '\\'; i++ {
	}
	quoted := i < len(b) && isQuote(b[i])
	if quoted {
		i++
	}
	if i < len(b) && name.kind == authorization {
		n, more := scheme(b[i:], end)
		if more {
			return finding{more: true}
		}
		i += n
	}
	switch {
	case i >= len(b):
		return finding{more: !end}
	case bytes.IndexByte([]byte("[$<{*%("), b[i]) >= 0: // a variable, a placeholder, what was hidden before
		return finding{}
	}
	if found := f.ownKind(b[i:], end); found.hide > 0 || found.more {
		return finding{more: found.more}
	}
	part := isBare
	if quoted {
		part = isQuotable
	}
	n, more := run(b[i:], part, decided, end)
	if more {
		return finding{more: true}
	}
	found := finding{keep: i, hide: n, kind: name.kind}
	if n == decided {
		found.tail = part
	} else if rest := b[i+n:]; len(rest) > 0 && (quoted && rest[0] == ' ' || !quoted && (rest[0] == '(' || rest[0] == '[')) {
		return finding{} // words, or code
	}
	value := b[i : i+n]
	if !quoted && n < decided {
		value = bytes.TrimRight(value, ".:!?")
		found.hide = len(value)
	}
	if !secretive(name, value, spaced && !quoted, b[0] == '=' && !spaced) {
		return finding{}
	}
	return found
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
	letters := l.lower + l.upper
	n := len(value)
	text := strings.ToLower(string(value[:min(n, 24)]))
	switch {
	case strings.Contains(text, "xxxx"), strings.HasPrefix(text, "your"), strings.HasPrefix(text, "sha256:"), l.path, isMarked(value):
		return false // it stands for a value, or names one, or is hidden already
	case name.kind == authorization:
		return n >= 8 && (l.digits > 0 || l.upper > 1 && l.lower > 0 || l.longest >= 20)
	case name.kind == password:
		return n >= minSecret && !isWord(text) &&
			(name.env || letters > 0 && (l.digits > 0 || !plain && l.signs > 0)) && (!plain || l.dots == 0)
	case name.env && tight && !name.weak && (l.longest >= 12 || n >= 8 && letters > 0 && l.digits > 0 && l.longest >= 6):
		return true
	}
	return l.random(plain)
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
	var last class
	length, both := 0, class(0)
	slashes := 0
	for _, c := range value {
		k := classOf(c)
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
		if k&alnum == 0 {
			switch c {
			case '/':
				slashes++
			case '!', '@', '#', '$', '%', '^', '&', '*', '+', '?', '~':
				l.signs++
			}
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
	l.path = len(value) > 1 && (value[0] == '/' || value[0] == '.' || value[0] == '~') && slashes > 1 ||
		bytes.Contains(value, []byte("://"))
	if l.mixed >= 16 && l.turnsCase >= 3 {
		l.path = false // some keys hold slashes
	}
	return l
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
