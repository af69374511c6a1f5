package redact

import (
	"bytes"
	"slices"
	"strings"
)

// A naming says which names are those of secrets. Names are compared by their last
// letters and digits, in lower case and without what separates words: api_key, apiKey
// and X-Api-Key end alike. To add one, add a line, and a word to keywords if none of
// them is in it.
type naming struct {
	end  string
	kind string
}

const (
	password      = "password"
	secret        = "secret"
	authorization = "authorization"
	cookie        = "cookie"
)

var namings = []naming{
	{"password", password}, {"passwd", password}, {"passphrase", password}, {"passcode", password}, {"passwort", password},
	{"_pass", password}, {"_pwd", password}, {"_psw", password}, // as a word of its own, see named
	{"token", secret}, {"secret", secret}, {"credential", secret}, {"credentials", secret}, {"_auth", secret}, {"_pat", secret},
	{"accountkey", secret}, {"accesskey", secret}, {"apikey", secret}, {"appkey", secret}, {"applicationkey", secret}, {"authkey", secret},
	{"clientkey", secret}, {"clientkeydata", secret}, {"deploykey", secret}, {"encryptionkey", secret}, {"functionskey", secret}, {"hmackey", secret},
	{"integrationkey", secret}, {"licensekey", secret}, {"masterkey", secret}, {"privatekey", secret}, {"secretkey", secret}, {"secretkeybase", secret},
	{"securitykey", secret}, {"servicekey", secret}, {"servicerolekey", secret}, {"sessionkey", secret}, {"sharedkey", secret}, {"signingkey", secret},
	{"storagekey", secret}, {"subscriptionkey", secret}, {"webhookkey", secret}, {"writekey", secret},
	{"authorization", authorization}, {"cookie", cookie},
}

// namingsBy are the namings by their last letter.
var namingsBy = func() (by [256][]naming) {
	for _, n := range namings {
		last := n.end[len(n.end)-1]
		by[last] = append(by[last], n)
	}
	return by
}()

// endings are the last two letters of namings, so that most names are no name of a
// secret at once.
var endings = func() (all [1 << 10]bool) {
	for _, n := range namings {
		all[ending(n.end[len(n.end)-2], n.end[len(n.end)-1])] = true
	}
	for _, end := range queries {
		all[ending(end[len(end)-2], end[len(end)-1])] = true
	}
	return all
}()

func ending(a, b byte) int { return int(a&31)<<5 | int(b&31) }

// harmless are names that end as those of secrets do.
var harmless = []string{"nexttoken", "pagetoken", "continuationtoken", "cancellationtoken", "publickey", "synctoken"}

// keywords are what names of secrets are found by: one is in each. Those of three
// letters are followed by what may follow a name.
var keywords = []string{"pass", "toke", "secr", "cred", "auth", "okie", "_pat", "natu", "pwd", "psw", "key", "sig"}

// queries are names that hold secrets in the query of a URL, besides.
var queries = []string{"sig", "signature", "key", "code", "xamzsignature", "xgoogsignature"}

// after are last words of names that speak of a secret and hold none.
var about = []string{"id", "name", "file", "path", "url", "uri", "type", "len", "length", "size", "count", "ttl", "expiry", "expires", "version", "limit", "hash", "dir", "env", "ref"}

// A name is what is known of the name before a value.
type name struct {
	kind  string // "" = it is not that of a secret
	env   bool   // it is written like the name of an environment variable
	weak  bool   // it may be the key of a cache or a table as well
	query bool   // it stands in the query of a URL
	basic bool   // its value may be user:password in base64
	short bool   // it is a single word, which may be one of prose: PASS
}

// SecretName reports whether an environment variable of the name holds a secret.
func SecretName(env string) bool {
	n := nameOf([]byte(strings.ToUpper(env)), false)
	return n.kind != "" || ends(env, "_dsn") || ends(env, "connection_string")
}

// nameOf reads a name. query says that it stands where a URL has its query.
func nameOf(text []byte, query bool) name {
	var room [20]byte
	letters := lastLetters(&room, text)
	if len(letters) == 0 {
		return name{}
	}
	if query && slices.ContainsFunc(queries, func(s string) bool { return s == string(letters) }) {
		return name{kind: secret, query: true}
	}
	env := !bytes.ContainsFunc(text, func(r rune) bool { return 'a' <= r && r <= 'z' })
	for _, known := range namingsBy[letters[len(letters)-1]] {
		if end, apart := strings.CutPrefix(known.end, "_"); apart && endsApart(text, end) || !apart && endsIn(letters, end) {
			if slices.ContainsFunc(harmless, func(s string) bool { return endsIn(letters, s) }) {
				break
			}
			return name{kind: known.kind, env: env, basic: end == "auth", short: apart && len(end) == len(text)}
		}
	}
	switch last := bytes.LastIndexByte(text, '_'); {
	case !env || last <= 0:
		return name{}
	case ends(text, "_key") && !ends(text, "public_key"):
		return name{kind: secret, env: true, weak: true}
	case !slices.Contains(about, strings.ToLower(string(text[last+1:]))): // TOKEN_PROD
		n := nameOf(text[:last], false)
		n.weak = true
		return n
	}
	return name{}
}

// lastLetters are the last letters and digits of a name, in lower case and without
// what separates words. Numbers at its end do not count: password2.
func lastLetters(letters *[20]byte, name []byte) []byte {
	i := len(letters)
	for at := len(name) - 1; at >= 0 && i > 0; at-- {
		switch c := name[at]; {
		case upper.has(c):
			i--
			letters[i] = c - 'A' + 'a'
		case lower.has(c), digit.has(c) && i < len(letters):
			i--
			letters[i] = c
		}
	}
	return letters[i:]
}

func endsIn(b []byte, text string) bool {
	return len(b) >= len(text) && string(b[len(b)-len(text):]) == text
}

// endsApart reports whether a name ends in a word of its own: dbPass, DB_PASS, pass and
// PGPASS, and not compass.
func endsApart(name []byte, word string) bool {
	if !ends(name, word) {
		return false
	}
	at := len(name) - len(word)
	switch {
	case word == "pwd" && (at == 0 && name[at] == 'P' || ends(name, "oldpwd")), word == "auth" && upper.has(name[0]):
		return false // the folders of a shell; AUTH=basic
	case at == 0, !alnum.has(name[at-1]):
		return true
	}
	return upper.has(name[at]) && (lower | digit).has(name[at-1])
}

// ends reports whether a text ends in one in lower case, upper and lower case alike.
func ends[T string | []byte](b T, text string) bool {
	return len(b) >= len(text) && strings.EqualFold(string(b[len(b)-len(text):]), text)
}

// assigned finds a value that is assigned to the name in which a keyword stands.
func (f *filter) assigned(at int) finding {
	const longest = 64
	to := at + f.run(at, dotted)
	if last := f.buf[to-2 : to]; lower.has(last[1]) && !endings[ending(last[0], last[1])] || !f.among(to, "=:\"'`]\\ \t>,\r\n") {
		return finding{}
	}
	from := f.back(at, dotted, longest)
	if to-from > 2*longest || from > 0 && f.buf[from-1] == '\\' && from < at && strings.IndexByte("nrt", f.buf[from]) >= 0 {
		from++
	}
	sign := f.sign(from, to)
	if sign.at == 0 || to-from > 2*longest {
		return finding{}
	}
	query := from > 0 && (strings.IndexByte("?&;", f.buf[from-1]) >= 0 || bytes.HasSuffix(f.before(from), []byte("u0026")))
	n := nameOf(f.buf[from:to], query)
	if n.kind == "" {
		return finding{}
	}
	return f.value(n, sign)
}

// A sign is what stands between a name and its value.
type sign struct {
	at    int  // where the value may begin; 0 = no value follows
	tight bool // it is no more than an equals sign, or what follows a flag
	flag  bool // it is the blank behind a flag
	tag   bool // the value stands between <name> and another tag
}

// sign reads what is behind a name: =, :, := and => with quotation marks, brackets and
// blanks before it, the end of <password>, "value:" where the name is a value itself,
// and a blank after --token, ENV TOKEN and the like.
func (f *filter) sign(from, to int) sign {
	i := to
	for i-to < 6 && f.among(i, "\"'`\\]") {
		i++
	}
	closed := i
	for i-closed < 8 && (f.at(i) == ' ' || f.at(i) == '\t') {
		i++
	}
	switch c := f.at(i); {
	case c == ':' && f.among(i+1, "-+?:/"): // ${NAME:-value}, Name::value, scheme://
		return sign{}
	case c == '=' || c == ':':
		at := i + 1
		for at-i < 3 && (f.at(at) == '=' || f.at(at) == '>') {
			at++
		}
		return sign{at: at, tight: c == '=' && closed == to && i == closed}
	case c == '>' && from > 0 && f.buf[from-1] == '<':
		return sign{at: i + 1, tight: true, tag: true}
	}
	if i > closed && f.flag(from) {
		return sign{at: closed, flag: true}
	}
	if f.among(closed, ",\r\n\\") || closed > to && f.at(i) == 'v' { // name: TOKEN, value:
		if before := trimmed(f.buf[max(0, from-12):from]); ends(before, ":") || ends(before, "=") {
			if before = trimmed(before[:len(before)-1]); ends(before, "name") || ends(before, "key") {
				return f.valueSign(closed)
			}
		}
	}
	return sign{}
}

// trimmed is a text without the blanks, quotation marks and backslashes at its end.
func trimmed(b []byte) []byte { return bytes.TrimRight(b, " \"'\\") }

// flag reports whether a value follows the name after a blank.
func (f *filter) flag(from int) bool {
	before := f.before(from)
	if f.buf[from] == '-' {
		return len(before) == 0 || strings.IndexByte(" \t\n\"'`[,(", before[len(before)-1]) >= 0
	}
	for _, word := range []string{"ENV ", "setx ", "config set ", "set -x ", "set -gx ", "set -Ux "} {
		if bytes.HasSuffix(before, []byte(word)) {
			return true
		}
	}
	return false
}

// valueSign reads what stands between name: TOKEN and the value: a comma or the end
// of a line, and value: or value=.
func (f *filter) valueSign(at int) sign {
	i := at
	for i-at < 40 && f.among(i, " ,\"'\\\r\n\tn") {
		i++
	}
	for _, word := range []string{"value", "Value"} {
		if !f.begins(i, word) {
			continue
		}
		i += len(word)
		for n := i; i-n < 4 && f.among(i, "\"'\\ "); {
			i++
		}
		if c := f.at(i); c == ':' || c == '=' {
			return sign{at: i + 1, tight: true}
		}
	}
	return sign{}
}

// value finds the value after a name and a sign.
func (f *filter) value(n name, s sign) finding {
	at := s.at
	for at-s.at < 8 && (f.at(at) == ' ' || f.at(at) == '\t') {
		at++
	}
	blanks := at > s.at
	for i := at; at-i < 8 && f.at(at) == '\\'; {
		at++
	}
	inQuotes := f.at(at) == '"' || f.at(at) == '\'' || f.at(at) == '`'
	if inQuotes {
		at++
	}
	switch n.kind {
	case cookie:
		return f.cookies(at)
	case authorization:
		at += f.scheme(at)
	}
	if strings.IndexByte("[$<{*%(\x00", f.at(at)) >= 0 { // a variable, a placeholder, what was hidden before
		return finding{}
	}
	if found := f.format(at); found.to > 0 || f.short {
		return found
	}
	letters := bare
	if inQuotes {
		letters = quoted
	}
	size := f.run(at, letters)
	found := finding{from: at, to: at + size, kind: f.kind(n.kind)}
	v := value{text: f.buf[at : at+size], name: n, brief: f.brief, tight: s.tight && !blanks || s.flag, plain: blanks && !inQuotes && !s.flag}
	switch {
	case size == decided:
		found.tail = letters
	case inQuotes && f.at(found.to) == ' ', !inQuotes && (f.at(found.to) == '(' || f.at(found.to) == '['):
		return finding{} // several words, or code
	case !inQuotes:
		v.text = bytes.TrimRight(v.text, ".:!?")
		found.to = at + len(v.text)
	}
	if n.short && v.plain || s.tag && f.at(found.to) != '<' || !v.secret() {
		return finding{}
	}
	return found
}

// kind is that of a secret which nothing but its place tells; stars in a command line,
// of which people are to read the rest.
func (f *filter) kind(kind string) string {
	if f.brief {
		return stars
	}
	return kind
}

// format finds a key that has a format of its own.
func (f *filter) format(at int) finding {
	if f.at(at+2) == 0 {
		return finding{}
	}
	text := load(padded(f.buf[at:]))
	for n := f.first(text, 0); n > 0; n = f.following(f.list[n-1].next, text) {
		if r := &f.rules[f.list[n-1].rule]; r.format {
			if found := f.ask(r, at); found.to > 0 || f.short {
				return found
			}
		}
	}
	return finding{}
}

// scheme is the length of the word before credentials, and of the space after it.
func (f *filter) scheme(at int) int {
	n := 0
	for n < 16 && (lower | upper).has(f.at(at+n)) {
		n++
	}
	if n == 0 || n == 16 || f.at(at+n) != ' ' {
		return 0
	}
	return n + 1
}

// cookies finds the values in a header of cookies, from the first on, if one of them
// looks like a secret.
func (f *filter) cookies(at int) finding {
	n := f.run(at, rest)
	line := f.buf[at : at+n]
	first := bytes.IndexByte(line, '=')
	if line = line[:min(n, 96)]; first < 0 || isMarked(line) {
		return finding{}
	}
	for pair := range bytes.SplitSeq(line, []byte(";")) {
		_, text, _ := bytes.Cut(pair, []byte("="))
		if l := lookAt(text); l.random(false) || l.longest >= 24 {
			return finding{from: at + first + 1, to: at + n, kind: cookie}
		}
	}
	return finding{}
}
