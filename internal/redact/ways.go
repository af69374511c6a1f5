package redact

import (
	"bytes"
	"slices"
	"strings"
)

// ways are the ways in which secrets are written that have neither a format nor a name.
var ways = []rule{
	{literal: keyBegin, find: (*filter).keyBegins},
	{literal: "://", then: info, names: true, find: (*filter).url},
	{literal: `:\/\/`, names: true, find: (*filter).url},
	{literal: "bearer ", names: true, apart: true, find: after(name{kind: bearer})},
	{literal: "basic ", names: true, apart: true, find: after(name{kind: basic})},
	{literal: "sshpass -p", names: true, find: after(name{kind: password, env: true})},
	{literal: "cargo login ", names: true, find: after(name{kind: secret})}, // its keys begin with cio, as words do
	{literal: "identified by ", names: true, find: after(name{kind: password})},
	{literal: " -b ", names: true, find: after(name{kind: cookie})},
	{literal: " -u ", names: true, find: (*filter).user},
	{literal: " --user ", names: true, find: (*filter).user},
	{literal: "--user=", names: true, find: (*filter).user},
}

// allRules are the rules of all that looks like a secret.
func allRules() []rule {
	rules := []rule{{literal: markBegin, find: (*filter).marked}}
	for _, k := range formats {
		rules = append(rules, k.rules()...)
	}
	all := slices.Clone(ways)
	for _, word := range keywords {
		all = append(all, rule{literal: word, then: behind, names: true, find: (*filter).assigned})
	}
	for _, r := range all {
		for _, literal := range cases(r.literal) {
			r.literal = literal
			rules = append(rules, r)
		}
	}
	return rules
}

// after finds the value behind a literal that is as good as a name.
func after(n name) func(f *filter, at, from int) finding {
	return func(f *filter, _, from int) finding { return f.value(n, assignment{at: from, flag: true}) }
}

// url finds the password in a URL, and a token that stands before the @ as if it were
// a user.
func (f *filter) url(_, at int) finding {
	text := f.buf[at : at+f.run(at, info)]
	if user, _, two := bytes.Cut(text, []byte(":")); f.short {
		if two && f.format(at).to == 0 {
			at += len(user)
		}
		return finding{from: at}
	}
	user, word, two := bytes.Cut(text[:max(bytes.LastIndexByte(text, '@'), 0)], []byte(":"))
	from := at + len(user) + 1
	found := finding{from: from, to: from + len(word), kind: password}
	if len(word) == 0 || strings.IndexByte(variables, word[0]) >= 0 || standIn(word) {
		found = finding{}
	}
	switch token := f.format(at); {
	case isMarked(text):
		return finding{}
	case len(user) > 0 && token.to == at+len(user):
		token.password = span{found.from, found.to}
		return token
	case !two && lookAt(user).random(false):
		return finding{from: at, to: at + len(user), kind: secret}
	}
	return found
}

// user finds the password of user:password after -u and --user, as curl has it.
func (f *filter) user(_, at int) finding {
	curl := bytes.Contains(f.before(at), []byte("curl"))
	at = f.skip(at, "\"'", 1)
	text := f.buf[at : at+f.run(at, info)]
	colon := bytes.IndexByte(text, ':')
	if colon < 1 || f.short || bytes.Equal(text[:colon], text[colon+1:]) {
		return finding{}
	}
	found := f.value(name{kind: password, env: curl}, assignment{at: at + colon + 1, flag: true})
	if f.brief && found.to > 0 {
		found.from = at
	}
	return found
}
