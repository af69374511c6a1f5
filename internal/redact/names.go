package redact

import (
	"bytes"
	"slices"
	"strings"
)

const (
	password      = "password"
	secret        = "secret"
	authorization = "authorization"
	cookie        = "cookie"
)

// A naming says how names of secrets of a kind end, in a line of the table below. To add
// one, add it here. The first line that fits counts.
type naming struct {
	kind   string   // empty = they are no secrets
	ends   []string // last words; _ before one says that it is no end of a longer word
	before []string // one of these stands before the last word; none = anything does
}

var namings = []naming{
	{"", words("token key"), words("next page continuation cancellation sync public")},
	{secret, words("token secret credential credentials _auth _pat _sig"), nil},
	{password, words("password passwd passphrase passcode passwort _pass _pwd _psw"), nil},
	{secret, words("key"), words(`account access api app application auth client deploy encryption
		functions hmac integration license master private secret security service servicerole session shared
		signing storage subscription webhook write`)},
	{secret, words("base"), words("secretkey")},
	{authorization, words("authorization"), nil},
	{cookie, words("cookie"), nil},
	{"", words("_value"), nil}, // see entry
}

func words(list string) []string { return strings.Fields(list) }

// about are last words of names that speak of a secret and hold none.
var about = words(`id name file path url uri type len length size count ttl expiry expires version limit
	hash dir env ref`)

// commands are what names are written behind that have their value after a blank.
var commands = []string{"ENV ", "setx ", "config set ", "set -x ", "set -gx ", "set -Ux "}

// SecretName reports whether an environment variable of the name holds a secret.
func SecretName(env string) bool {
	v := read([]byte(strings.ToUpper(env)))
	return v.kind != "" || endsIn(strings.ToLower(env), "_dsn", "connectionstring", "connection_string")
}

// read returns what is known of a value by its name: kind, env and short.
func read(name []byte) (v value) {
	capital := !slices.ContainsFunc(name, func(c byte) bool { return lower[c] })
	parted := parts(name)
	joined := strings.ReplaceAll(parted[1:], "_", "")
	for _, n := range namings {
		for _, end := range n.ends {
			rest, ok := strings.CutSuffix(joined, end)
			if ok && endsIn(rest, n.before...) || end[0] == '_' && strings.HasSuffix(parted, end) {
				return value{kind: n.kind, env: capital, short: parted == end}
			}
		}
	}
	last := bytes.LastIndexByte(name, '_')
	switch {
	case !capital || last < 1 || last == len(name)-1:
	case string(name[last:]) == "_KEY": // it may be that of a cache or a table as well
		v.kind = secret
	case !slices.Contains(about, strings.ToLower(string(name[last+1:]))): // TOKEN_PROD
		v = read(name[:last])
		v.env = false
	}
	return v
}

// parts are the words of a name in lower case with _ before each, so that api_key, apiKey
// and X-Api-Key end alike, without a number at the end: password2.
func parts(name []byte) string {
	parted := append(make([]byte, 0, 64), '_')
	for i, c := range bytes.TrimRight(name, "0123456789") {
		switch {
		case !alnum[c]:
			c = '_'
		case upper[c] && i > 0 && lower[name[i-1]]:
			parted = append(parted, '_')
		}
		if upper[c] {
			c |= 0x20
		}
		parted = append(parted, c)
	}
	return string(parted)
}

// endsIn reports whether a text ends in one of some, or there are none.
func endsIn(text string, some ...string) bool {
	return some == nil || slices.ContainsFunc(some, func(s string) bool { return strings.HasSuffix(text, s) })
}

// assigned finds a value that is assigned to the name in which a last word stands.
func (f *filter) assigned(at, from int) finding {
	if letter[f.at(from)] {
		return finding{}
	}
	to := at + len(f.run(at, dotted))
	for at > 0 && from-at < 64 && dotted[f.buf[at-1]] {
		at--
	}
	if at > 0 && f.buf[at-1] == '\\' && strings.IndexByte("nrt", f.buf[at]) >= 0 {
		at++ // \nTOKEN
	}
	name, before := f.buf[at:to], f.before(at)
	v := f.sign(name, to, before)
	if v.at == 0 || len(name) > 128 {
		return finding{}
	}
	n := read(entry(name, before))
	if n.kind == "" {
		return finding{}
	}
	v.kind, v.env, v.short = n.kind, n.env || v.lead && name[0] != '-', n.short
	return f.value(v)
}

// entry is the name before value in name: TOKEN, value: …, or else the name itself.
func entry(name, before []byte) []byte {
	if !bytes.EqualFold(name, []byte("value")) {
		return name
	}
	b := bytes.TrimRight(before, " \t\r\n\"',-\\")
	begin := len(b)
	for begin > 0 && dotted[b[begin-1]] {
		begin--
	}
	if said := bytes.TrimRight(b[:begin], " \"'\\:="); !endsIn(string(said), "name", "Name", "key") {
		return name
	}
	return b[begin:]
}

// sign reads what is behind a name: =, :, := and => with quotation marks, brackets and
// blanks before it, the end of <password>, and a blank after --token, ENV TOKEN and the
// like.
func (f *filter) sign(name []byte, to int, before []byte) value {
	closed := f.skip(to, "\"'`\\]", 6)
	i := f.skip(closed, " \t", 8)
	switch c := f.at(i); {
	case c == ':' && f.among(i+1, "-+?:/"): // ${NAME:-value}, Name::value, scheme://
		return value{}
	case c == '=' || c == ':':
		return value{at: f.skip(i+1, "=>", 2), tight: c == '=' && i == to}
	case c == '>' && bytes.HasSuffix(before, []byte("<")):
		return value{at: i + 1, tag: true}
	case i > closed && isFlag(name, before):
		return value{at: closed, lead: true}
	}
	return value{}
}

// isFlag reports whether a value follows a name after a blank: that of a flag, behind a
// command, in a netrc file.
func isFlag(name, before []byte) bool {
	if name[0] == '-' {
		return len(before) == 0 || strings.IndexByte(" \t\n\"'`[,(", before[len(before)-1]) >= 0
	}
	if string(name) == password && bytes.Contains(before, []byte("machine ")) && bytes.Contains(before, []byte("login ")) {
		return true
	}
	return slices.ContainsFunc(commands, func(s string) bool { return bytes.HasSuffix(before, []byte(s)) })
}
