package redact

import (
	"bytes"
	"slices"
	"strings"
)

// allRules are the rules of all that looks like a secret.
func allRules() []rule {
	rules := []rule{{literal: markBegin, find: (*filter).marked}}
	for i := range formats {
		k := &formats[i]
		rules = append(rules, rule{literal: k.prefix, then: k.body, format: true, find: k.find})
	}
	for _, word := range keywords {
		for _, literal := range cases(word) {
			rules = append(rules, rule{literal: literal, then: behind, names: true, find: (*filter).assigned})
		}
	}
	for _, r := range phrases {
		for _, literal := range cases(r.literal) {
			r.literal, r.names = literal, literal[0] != '-'
			rules = append(rules, r)
		}
	}
	return rules
}

// phrases are the other ways in which secrets are written.
var phrases = []rule{
	{literal: "-----BEGIN ", find: (*filter).keyBegins},
	{literal: "://", then: info, find: func(f *filter, at int) finding { return f.url(at + len("://")) }},
	{literal: `:\/\/`, find: func(f *filter, at int) finding { return f.url(at + len(`:\/\/`)) }},
	{literal: "bearer ", find: (*filter).bearer},
	{literal: "basic ", find: (*filter).basic},
	{literal: " -u ", find: func(f *filter, at int) finding { return f.user(at + len(" -u ")) }},
	{literal: " --user ", find: func(f *filter, at int) finding { return f.user(at + len(" --user ")) }},
	{literal: "--user=", find: func(f *filter, at int) finding { return f.user(at + len("--user=")) }},
	{literal: " -b ", find: func(f *filter, at int) finding {
		if at += len(" -b "); f.among(at, "\"'") {
			at++
		}
		return f.cookies(at)
	}},
	{literal: "login ", find: (*filter).netrc},
	{literal: "login\n", find: (*filter).netrc},
	{literal: "sshpass -p", find: (*filter).sshpass},
	{literal: "identified by ", find: func(f *filter, at int) finding {
		return f.value(name{kind: password}, sign{at: at + len("identified by"), flag: true})
	}},
}

// url finds the password in a URL, and a token that stands before the @ as if it were
// a user. at is behind the slashes.
func (f *filter) url(at int) finding {
	n := f.run(at, info)
	text := f.buf[at : at+n]
	host := bytes.LastIndexByte(text, '@')
	user, _, two := bytes.Cut(text[:max(host, 0)], []byte(":"))
	after := func(f *filter, from int) finding { return f.password(from, host-len(user)) }
	if !two {
		after = nil
	}
	if len(user) > 0 {
		if found := f.format(at); found.to == at+len(user) {
			found.after = after
			return found
		}
	}
	if host < 1 {
		if user, _, two = bytes.Cut(text, []byte(":")); two && f.format(at).to == 0 {
			at += len(user)
		}
		return finding{from: at}
	}
	if !two {
		if lookAt(user).random(false) && !isMarked(user) {
			return finding{from: at, to: at + len(user), kind: secret}
		}
		return finding{}
	}
	return f.password(at+len(user), host-len(user))
}

// password finds the password in a URL, of size bytes with the colon before it.
func (f *filter) password(at, size int) finding {
	text := f.buf[at+1 : at+size]
	low := strings.ToLower(string(text))
	if len(text) == 0 || strings.IndexByte("[$<{*%", text[0]) >= 0 || slices.Contains(standIns, low) || strings.HasPrefix(low, "xxx") || isMarked(f.buf[f.back(at, info, lookBack):at+size]) {
		return finding{}
	}
	return finding{from: at + 1, to: at + size, kind: password}
}

// bearer finds a token after the word Bearer.
func (f *filter) bearer(at int) finding {
	if !f.apart(at) {
		return finding{}
	}
	from := at + len("bearer ")
	for n := 0; n < 3 && f.at(from) == ' '; n++ {
		from++
	}
	if found := f.format(from); found.to > 0 || f.short {
		return found
	}
	n := f.run(from, tokens)
	found := finding{from: from, to: from + n, kind: f.kind("bearer")}
	text := f.buf[from:found.to]
	if n == decided {
		found.tail = tokens
	} else {
		text = bytes.TrimRight(text, ".")
		found.to = from + len(text)
	}
	if l := lookAt(text); !(f.brief && n > 0) && (len(text) < 12 || placeholder(text) || l.longest < 20 && !l.random(false)) {
		return finding{}
	}
	return found
}

// basic finds user:password in base64 after the word Basic.
func (f *filter) basic(at int) finding {
	from := at + len("basic ")
	n := f.run(from, base64s)
	if n == decided || !f.apart(at) || !isBasic(f.buf[from:from+n]) && !(f.brief && n > 0) {
		return finding{}
	}
	return finding{from: from, to: from + n, kind: f.kind("basic")}
}

// user finds the password of user:password after -u and --user, as curl has it.
func (f *filter) user(at int) finding {
	letters := bare
	if c := f.at(at); c == '"' || c == '\'' {
		at, letters = at+1, quoted
	}
	n := f.run(at, letters)
	user, text, ok := bytes.Cut(f.buf[at:at+n], []byte(":"))
	found := finding{from: at + len(user) + 1, to: at + n, kind: f.kind(password)}
	if f.brief {
		found.from = at
	}
	v := value{text: text, name: name{kind: password, env: true}, brief: f.brief}
	l := lookAt(text)
	switch {
	case !ok, n == decided, bytes.Equal(user, text), len(text) > 0 && strings.IndexByte("[$<{*%", text[0]) >= 0, l.letters() == 0 && len(text) < 8, bytes.Contains(text, []byte("/")) && l.digits == 0:
		return finding{}
	case !bytes.Contains(f.before(at), []byte("curl")):
		v.name.env = false
	}
	if !v.secret() {
		return finding{}
	}
	return found
}

// netrc finds the password in "machine host login user password …", in one line or
// several.
func (f *filter) netrc(at int) finding {
	before := bytes.Fields(f.before(at))
	if n := len(before); n == 0 || string(before[n-1]) != "default" && (n < 2 || string(before[n-2]) != "machine" || !bytes.ContainsAny(before[n-1], ".-0123456789") && string(before[n-1]) != "localhost") {
		return finding{}
	}
	at += len("login")
	for _, letters := range []alphabet{blank, bare, blank} {
		n := f.run(at, letters)
		if at += n; n == 0 || n > 64 {
			return finding{}
		}
	}
	if !f.begins(at, "password") {
		return finding{}
	}
	at += len("password")
	gap := f.run(at, blank)
	at += gap
	n := f.run(at, quoted)
	if gap == 0 || n == 0 || n == decided || strings.IndexByte("[$<{*", f.at(at)) >= 0 || placeholder(f.buf[at:at+n]) {
		return finding{}
	}
	return finding{from: at, to: at + n, kind: password}
}

// sshpass finds the password after sshpass -p.
func (f *filter) sshpass(at int) finding {
	at += len("sshpass -p")
	return f.value(name{kind: password, env: true}, sign{at: at, flag: true})
}
