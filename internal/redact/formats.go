package redact

import "strings"

// A format is one of keys that begin in a way of their own.
type format struct {
	prefix string
	kind   string
	body   class
	min    int
	max    int  // 0 = none
	apart  bool // the prefix could be the end, or a part, of an ordinary word
	random bool // the body must look random, since words may follow the prefix too
}

// formats are those that are known, and where they may begin.
type formats struct {
	byFirst [256][]format
	pairs   [256 * 256 / 64]uint64 // of the first two bytes, as bits
}

func newFormats() *formats {
	f := &formats{byFirst: knownFormats()}
	for first, list := range f.byFirst {
		for _, known := range list {
			f.add(byte(first), known.prefix[1])
		}
	}
	for _, pair := range []string{"[r", "--", "ey", "be", "bE", "Be", "BE"} {
		f.add(pair[0], pair[1])
	}
	for second := range 256 {
		f.add('=', byte(second))
		f.add(':', byte(second))
	}
	return f
}

func (f *formats) add(first, second byte) {
	i := int(first)<<8 | int(second)
	f.pairs[i/64] |= 1 << (i % 64)
}

// next is the first place in b where a secret, or what stands before one, may
// begin; len(b) if there is none. The last byte always may.
func (f *formats) next(b []byte) int {
	for i := 0; i+1 < len(b); i++ {
		pair := int(b[i])<<8 | int(b[i+1])
		if f.pairs[pair/64]&(1<<(pair%64)) != 0 {
			return i
		}
	}
	return max(len(b)-1, 0)
}

// knownFormats lists the formats, by first byte. Of those with the same beginning
// the most special one comes first. The lengths are those that the issuers
// document or use, with room below where these have changed.
func knownFormats() [256][]format {
	return [256][]format{
		'A': {
			{prefix: "AIza", kind: "google", body: urlish, min: 35, max: 35, apart: true},
			{prefix: "AKIA", kind: "aws", body: alnum, min: 16, max: 16, apart: true},
			{prefix: "ASIA", kind: "aws", body: alnum, min: 16, max: 16, apart: true},
			{prefix: "ABIA", kind: "aws", body: alnum, min: 16, max: 16, apart: true},
			{prefix: "AGE-SECRET-KEY-1", kind: "age", body: alnum, min: 50},
		},
		'G': {{prefix: "GOCSPX-", kind: "google", body: urlish, min: 20}},
		'S': {{prefix: "SG.", kind: "sendgrid", body: urlish | dot, min: 60, apart: true}},
		'd': {{prefix: "dckr_pat_", kind: "docker", body: urlish, min: 20}, {prefix: "dop_v1_", kind: "digitalocean", body: alnum, min: 60}},
		'g': {
			{prefix: "ghp_", kind: "github", body: word, min: 20},
			{prefix: "gho_", kind: "github", body: word, min: 20},
			{prefix: "ghu_", kind: "github", body: word, min: 20},
			{prefix: "ghs_", kind: "github", body: urlish | dot, min: 20},
			{prefix: "ghr_", kind: "github", body: word, min: 20},
			{prefix: "github_pat_", kind: "github", body: word, min: 22},
			{prefix: "glpat-", kind: "gitlab", body: urlish | dot, min: 20},
			{prefix: "gldt-", kind: "gitlab", body: urlish | dot, min: 20},
			{prefix: "glrt-", kind: "gitlab", body: urlish | dot, min: 20},
			{prefix: "glptt-", kind: "gitlab", body: urlish | dot, min: 20},
			{prefix: "glcbt-", kind: "gitlab", body: urlish | dot, min: 20},
			{prefix: "glsoat-", kind: "gitlab", body: urlish | dot, min: 20},
			{prefix: "gsk_", kind: "groq", body: alnum, min: 40},
		},
		'h': {{prefix: "hf_", kind: "huggingface", body: alnum, min: 24}, {prefix: "hvs.", kind: "vault", body: urlish, min: 24, apart: true}},
		'n': {{prefix: "npm_", kind: "npm", body: alnum, min: 30}},
		'p': {{prefix: "pypi-AgE", kind: "pypi", body: urlish, min: 16}, {prefix: "pplx-", kind: "perplexity", body: alnum, min: 32}},
		'r': {
			{prefix: "rk_live_", kind: "stripe", body: alnum, min: 16},
			{prefix: "rk_test_", kind: "stripe", body: alnum, min: 16},
			{prefix: "r8_", kind: "replicate", body: alnum, min: 36, apart: true},
		},
		's': {
			{prefix: "sk-ant-", kind: "anthropic", body: urlish, min: 10},
			{prefix: "sk-proj-", kind: "openai", body: urlish, min: 16, apart: true},
			{prefix: "sk-svcacct-", kind: "openai", body: urlish, min: 20, apart: true},
			{prefix: "sk-or-v1-", kind: "openrouter", body: alnum, min: 32, apart: true},
			{prefix: "sk-", kind: "openai", body: urlish, min: 16, apart: true, random: true},
			{prefix: "sk_live_", kind: "stripe", body: alnum, min: 16},
			{prefix: "sk_test_", kind: "stripe", body: alnum, min: 16},
		},
		'w': {{prefix: "whsec_", kind: "stripe", body: alnum | other, min: 20}},
		'x': {
			{prefix: "xoxa-", kind: "slack", body: urlish, min: 10},
			{prefix: "xoxb-", kind: "slack", body: urlish, min: 10},
			{prefix: "xoxc-", kind: "slack", body: urlish, min: 10},
			{prefix: "xoxd-", kind: "slack", body: urlish | other, min: 10},
			{prefix: "xoxe-", kind: "slack", body: urlish, min: 10},
			{prefix: "xoxe.xox", kind: "slack", body: urlish, min: 10},
			{prefix: "xoxo-", kind: "slack", body: urlish, min: 10},
			{prefix: "xoxp-", kind: "slack", body: urlish, min: 10},
			{prefix: "xoxr-", kind: "slack", body: urlish, min: 10},
			{prefix: "xoxs-", kind: "slack", body: urlish, min: 10},
			{prefix: "xapp-", kind: "slack", body: urlish, min: 20},
			{prefix: "xai-", kind: "xai", body: alnum, min: 40, apart: true},
		},
		'y': {{prefix: "ya29.", kind: "google", body: urlish, min: 20, apart: true}},
	}
}

// token finds a token that is known by its own look.
func (f *filter) token(before, b []byte, end bool) finding {
	if b[0] == 'e' {
		return jwt(before, b, end)
	}
	for i := range f.formats.byFirst[b[0]] {
		known := &f.formats.byFirst[b[0]][i]
		if known.apart && !apart(before) {
			continue
		}
		switch yes, more := begins(b, known.prefix, end); {
		case more:
			return finding{more: true}
		case yes:
			if found := known.at(b, end); found.hide > 0 || found.more {
				return found
			}
		}
	}
	return finding{}
}

func (k *format) at(b []byte, end bool) finding {
	body := b[len(k.prefix):]
	n, more := run(body, k.body.has, decided, end)
	if more {
		return finding{more: true}
	}
	found := finding{kind: k.kind}
	if n == decided {
		found.tail = k.body.has
	} else {
		n = len(strings.TrimRight(string(body[:n]), ".")) // of the sentence
	}
	looks := lookAt(body[:n])
	switch {
	case n < k.min, k.max > 0 && (n > k.max || n < len(body) && body[n] == '['): // it went on, before that was hidden
		return finding{}
	case k.body == alnum && k.max > 0 && looks.lower > 0: // AKIA and its like are upper case
		return finding{}
	case k.random && looks.longest < 32 && (looks.longest < 16 || looks.digits == 0):
		return finding{}
	}
	found.hide = len(k.prefix) + n
	return found
}

// jwt finds a JSON Web Token: two or more parts in base64 with dots between them,
// of which the first two begin like JSON objects.
func jwt(before, b []byte, end bool) finding {
	const object = "eyJ" // {"
	if !apart(before) {
		return finding{}
	}
	for at, part := 0, 0; ; part++ {
		if part < 2 {
			if yes, more := begins(b[at:], object, end); !yes {
				return finding{more: more}
			}
		}
		n, more := run(b[at:], urlish.has, decided, end)
		if more {
			return finding{more: true}
		}
		at += n
		switch {
		case part < 2 && n < 8, part == 0 && n == decided:
			return finding{}
		case n == decided:
			return finding{hide: at, kind: "jwt", tail: (urlish | dot).has}
		}
		another, more := dotted(b[at:], end)
		switch {
		case more:
			return finding{more: true}
		case !another && part == 0:
			return finding{}
		case !another || part == 4:
			return finding{hide: at, kind: "jwt"}
		}
		at++
	}
}

// dotted reports whether b begins with a dot and another part of a token.
func dotted(b []byte, end bool) (yes, more bool) {
	switch {
	case len(b) > 0 && b[0] != '.':
		return false, false
	case len(b) < 2:
		return false, !end
	}
	return urlish.has(b[1]), false
}
