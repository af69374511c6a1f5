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
	bearer        = "bearer"
	basic         = "basic"
)

// A naming says how names of secrets of a kind end, in lower case and without what
// separates words: api_key, apiKey and X-Api-Key end alike. _ is where a word begins.
// To add one, add it here, and a word to keywords if none of them is in it.
type naming struct {
	kind string
	ends []string
}

var namings = []naming{
	{secret, []string{
		"token", "secret", "credential", "credentials", "_auth", "_pat",
		"accountkey", "accesskey", "apikey", "appkey", "applicationkey", "authkey", "clientkey", "clientkeydata",
		"deploykey", "encryptionkey", "functionskey", "hmackey", "integrationkey", "licensekey", "masterkey",
		"privatekey", "secretkey", "secretkeybase", "securitykey", "servicekey", "servicerolekey", "sessionkey",
		"sharedkey", "signingkey", "storagekey", "subscriptionkey", "webhookkey", "writekey",
	}},
	{password, []string{"password", "passwd", "passphrase", "passcode", "passwort", "_pass", "_pwd", "_psw"}},
	{authorization, []string{"authorization"}},
	{cookie, []string{"cookie"}},
}

// harmless are names that end as those of secrets do.
var harmless = []string{"nexttoken", "pagetoken", "continuationtoken", "cancellationtoken", "publickey", "synctoken"}

// queries are names that hold secrets in the query of a URL, besides.
var queries = []string{"_sig", "signature", "_key", "_code"}

// keywords are what names of secrets are found by: one is in each, and in value, see
// entry. Those of three letters are followed by what may follow a name.
var keywords = []string{
	"pass", "toke", "secr", "cred", "auth", "okie", "_pat", "natu", "pwd", "psw", "key", "sig", "alue",
}

// about are last words of names that speak of a secret and hold none.
var about = []string{
	"id", "name", "file", "path", "url", "uri", "type", "len", "length", "size", "count", "ttl", "expiry", "expires",
	"version", "limit", "hash", "dir", "env", "ref",
}

// commands are what names are written behind that have their value after a blank.
var commands = []string{"ENV ", "setx ", "config set ", "set -x ", "set -gx ", "set -Ux "}

// A name is what is known of the name before a value. Without a kind it is not that of
// a secret.
type name struct {
	kind  string
	env   bool // it is written like the name of an environment variable
	short bool // it is a single word, which may be one of prose: PASS
}

// SecretName reports whether an environment variable of the name holds a secret.
func SecretName(env string) bool {
	text := []byte(strings.ToUpper(env))
	return nameOf(text, false).kind != "" || endsIn(text, "_dsn", "connectionstring")
}

// nameOf reads a name. query says that it stands where a URL has its query.
func nameOf(text []byte, query bool) name {
	text = trimmed(text, "0123456789") // password2
	env := !slices.ContainsFunc(text, lower.has)
	switch {
	case query && endsIn(text, queries...):
		return name{kind: secret}
	case endsIn(text, harmless...):
		return name{}
	}
	for _, known := range namings {
		for _, end := range known.ends {
			if endsIn(text, end) {
				short := end[0] == '_' && len(end) == len(text)+1
				return name{kind: known.kind, env: env, short: short}
			}
		}
	}
	if last := bytes.LastIndexByte(text, '_'); env && last > 0 {
		if endsIn(text, "_key") {
			return name{kind: secret} // it may be that of a cache or a table as well
		}
		if !slices.Contains(about, strings.ToLower(string(text[last+1:]))) { // TOKEN_PROD
			n := nameOf(text[:last], false)
			n.env = false
			return n
		}
	}
	return name{}
}

// endsIn reports whether a name ends in one of some, which are written as in namings.
func endsIn(name []byte, some ...string) bool {
	if len(name) == 0 {
		return false
	}
	last := name[len(name)-1] | 0x20
	for _, end := range some {
		if end[len(end)-1] == last && endsAs(name, end) {
			return true
		}
	}
	return false
}

func endsAs(name []byte, end string) bool {
	i := len(name) - 1
	for at := len(end) - 2; at >= 0; at-- {
		if end[at] == '_' { // dbPass, DB_PASS and pass, not compass
			return i == 0 || !alnum.has(name[i-1]) || upper.has(name[i]) && !upper.has(name[i-1])
		}
		for i > 0 && !alnum.has(name[i-1]) {
			i--
		}
		if i--; i < 0 || name[i]|0x20 != end[at] {
			return false
		}
	}
	return true
}

// lastTwo are the last two letters of namings, so that most names are no name of a
// secret at once.
var lastTwo = func() (all [1 << 10]bool) {
	lists := [][]string{queries, {"value"}}
	for _, n := range namings {
		lists = append(lists, n.ends)
	}
	for _, end := range slices.Concat(lists...) {
		all[two([]byte(end))] = true
	}
	return all
}()

func two(b []byte) int { return int(b[len(b)-2]&31)<<5 | int(b[len(b)-1]&31) }

// An assignment is what stands between a name and its value.
type assignment struct {
	at    int  // where the value may begin; 0 = no value follows
	tight bool // it is no more than an equals sign
	flag  bool // it is the blank behind a flag
	tag   bool // the value stands between <name> and another tag
}

// assigned finds a value that is assigned to the name in which a keyword stands.
func (f *filter) assigned(at, _ int) finding {
	to := at + f.run(at, dotted)
	if lower.has(f.buf[to-1]) && !lastTwo[two(f.buf[:to])] || !f.among(to, "=:\"'`]\\ \t>") {
		return finding{}
	}
	from := f.nameBegins(at)
	text, before := f.buf[from:to], f.buf[max(0, at-lookBack):from]
	sign := f.sign(text, to, before)
	if sign.at == 0 || len(text) > 128 {
		return finding{}
	}
	if endsIn(text, "_value") {
		text = entry(before)
	}
	query := bytes.HasSuffix(before, []byte("u0026")) || bytes.ContainsAny(before[max(0, len(before)-1):], "?&;")
	n := nameOf(text, query)
	if n.kind == "" {
		return finding{}
	}
	n.env = n.env || sign.flag && text[0] != '-'
	return f.value(n, sign)
}

// nameBegins is where the name begins in which a keyword stands.
func (f *filter) nameBegins(at int) int {
	from := at
	for from > 0 && at-from < 64 && dotted.has(f.buf[from-1]) {
		from--
	}
	if from > 0 && from < at && f.buf[from-1] == '\\' && strings.IndexByte("nrt", f.buf[from]) >= 0 {
		from++ // \nTOKEN
	}
	return from
}

// entry is the name before value in name: TOKEN, value: …
func entry(before []byte) []byte {
	b := trimmed(before, " \t\r\n\"',-\\")
	begin := len(b)
	for begin > 0 && dotted.has(b[begin-1]) {
		begin--
	}
	if !endsIn(trimmed(b[:begin], " \"'\\:="), "name", "key") {
		return nil
	}
	return b[begin:]
}

// sign reads what is behind a name: =, :, := and => with quotation marks, brackets and
// blanks before it, the end of <password>, and a blank after --token, ENV TOKEN and the
// like.
func (f *filter) sign(name []byte, to int, before []byte) assignment {
	closed := f.skip(to, "\"'`\\]", 6)
	i := f.skip(closed, " \t", 8)
	switch c := f.at(i); {
	case c == ':' && f.among(i+1, "-+?:/"): // ${NAME:-value}, Name::value, scheme://
		return assignment{}
	case c == '=' || c == ':':
		return assignment{at: f.skip(i+1, "=>", 2), tight: c == '=' && i == to}
	case c == '>' && bytes.HasSuffix(before, []byte("<")):
		return assignment{at: i + 1, tag: true}
	case i > closed && isFlag(name, before):
		return assignment{at: closed, flag: true}
	}
	return assignment{}
}

// isFlag reports whether a value follows a name after a blank.
func isFlag(name, before []byte) bool {
	if name[0] == '-' {
		return len(before) == 0 || strings.IndexByte(" \t\n\"'`[,(", before[len(before)-1]) >= 0
	}
	if string(name) == "password" { // netrc: machine … login … password …
		words := bytes.Fields(before)
		n := len(words)
		netrc := n > 3 && string(words[n-2]) == "login" && string(words[n-4]) == "machine"
		return netrc && bytes.ContainsAny(words[n-3], ".-:")
	}
	return slices.ContainsFunc(commands, func(s string) bool { return bytes.HasSuffix(before, []byte(s)) })
}
