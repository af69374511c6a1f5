package redact

import (
	"bytes"
	"slices"
	"strings"
)

// ways are the ways in which secrets are written that have neither a format nor a name.
var ways = []rule{
	{literal: "://", then: info, leads: true, find: (*filter).url},
	{literal: `:\/\/`, leads: true, find: (*filter).url},
	{literal: "bearer ", leads: true, apart: true, find: after("bearer", false)},
	{literal: "basic ", leads: true, apart: true, find: after("basic", false)},
	{literal: "sshpass -p", leads: true, find: after(password, true)},
	{literal: "cargo login ", leads: true, find: after(secret, false)}, // its keys begin with cio, as words do
	{literal: "client-key-data: ", leads: true, find: after(secret, false)},
	{literal: "identified by ", leads: true, find: after(password, false)},
	{literal: " -b ", leads: true, find: after(cookie, false)},
	{literal: "signature=", leads: true, find: after(secret, false)}, // of a URL
	{literal: "?key=", leads: true, find: after(secret, false)},
	{literal: "&key=", leads: true, find: after(secret, false)},
	{literal: " -u ", leads: true, find: (*filter).user},
	{literal: " --user ", leads: true, find: (*filter).user},
	{literal: "--user=", leads: true, find: (*filter).user},
}

// allRules are the rules of all that looks like a secret.
func allRules() []rule {
	rules := []rule{{literal: markBegin, find: (*filter).marked}, {literal: "-----BEGIN ", find: (*filter).privateKey}}
	for _, k := range formats {
		rules = append(rules, k.rules()...)
	}
	leads, ends := slices.Clone(ways), ""
	for _, n := range namings {
		ends += strings.Join(n.ends, " ") + " "
	}
	for _, end := range slices.Compact(slices.Sorted(strings.FieldsSeq(strings.ReplaceAll(ends, "_", "")))) {
		leads = append(leads, rule{literal: end, then: behind, leads: true, find: (*filter).assigned})
	}
	for _, r := range leads {
		for _, literal := range cases(r.literal) {
			r.literal = literal
			rules = append(rules, r)
		}
	}
	return rules
}

// after finds the value behind a literal that is as good as a name.
func after(kind string, env bool) func(f *filter, at, from int) finding {
	return func(f *filter, _, from int) finding {
		return f.value(value{kind: kind, env: env, at: from, lead: true})
	}
}

// url finds the password in a URL, and a token that stands before the @ as if it were
// a user.
func (f *filter) url(_, at int) finding {
	text := f.run(at, info)
	if f.short {
		if user, _, two := bytes.Cut(text, []byte(":")); two && f.key(at).to == 0 {
			at += len(user)
		}
		return finding{from: at}
	}
	user, word, two := bytes.Cut(text[:max(bytes.LastIndexByte(text, '@'), 0)], []byte(":"))
	found := finding{from: at + len(user) + 1, to: at + len(user) + 1 + len(word), kind: password}
	if len(word) == 0 || strings.IndexByte(variables, word[0]) >= 0 || standsFor(word) {
		found = finding{}
	}
	switch key := f.key(at); {
	case isMarked(text):
		return finding{}
	case len(user) > 0 && key.to == at+len(user):
		key.password = found.to
		return key
	case !two && lookAt(user).random(false):
		return finding{from: at, to: at + len(user), kind: secret}
	}
	return found
}

// user finds the password of user:password after -u and --user, as curl has it.
func (f *filter) user(_, at int) finding {
	curl := bytes.Contains(f.before(at), []byte("curl"))
	at = f.skip(at, "\"'", 1)
	user, _, two := bytes.Cut(f.run(at, info), []byte(":"))
	if !two {
		return finding{}
	}
	found := f.value(value{kind: password, env: curl, at: at + len(user) + 1, lead: true})
	if f.brief && found.to > 0 {
		found.from = at
	}
	return found
}
