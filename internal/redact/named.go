package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// knownRules are the rules of values that are known, in all their forms, the longest first.
func knownRules(secrets []string) (rules []rule) {
	var all []string
	for _, s := range secrets {
		if s = strings.TrimSpace(s); len(s) >= MinSecret {
			all = append(all, forms(s)...)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	for _, form := range slices.Compact(all) {
		rules = append(rules, rule{literal: form, named: true, find: func(_ *filter, at, from int) finding {
			return finding{from: at, to: from, kind: "named"}
		}})
	}
	return rules
}

// forms lists the ways in which a value is written.
func forms(s string) []string {
	query, path := url.QueryEscape(s), url.PathEscape(s)
	plain, html := jsonEscaped(s)
	twice, _ := jsonEscaped(plain) // JSON in JSON
	list := []string{
		s, strings.ReplaceAll(s, "\n", "\r\n"), query, path, lowerHex(query), lowerHex(path), plain, html, twice,
	}
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		raw := enc.WithPadding(base64.NoPadding)
		list = append(list, enc.EncodeToString([]byte(s)), raw.EncodeToString([]byte(s)))
		// Within something longer it may begin at any of three places in a group;
		// the characters that it shares with its neighbours are left out.
		for before, shared := range []int{0, 2, 3} {
			inner := raw.EncodeToString(append(make([]byte, before), s...))[shared:]
			if (before+len(s))%3 != 0 {
				inner = inner[:len(inner)-1]
			}
			if len(inner) >= 8 {
				list = append(list, inner)
			}
		}
	}
	return list
}

// jsonEscaped is the value as it stands between the quotes of a JSON string, also with
// the escapes for HTML.
func jsonEscaped(s string) (plain, html string) {
	text, _ := json.Marshal(s) // any string can be encoded
	html = string(text[1 : len(text)-1])
	return strings.NewReplacer(`\\`, `\\`, `\u0026`, "&", `\u003c`, "<", `\u003e`, ">").Replace(html), html
}

// lowerHex writes %2f where escaping wrote %2F.
func lowerHex(escaped string) string {
	b := []byte(escaped)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}

const (
	markBegin = "[redacted"
	stars     = "***" // the kind of a mark that is short, for people are to read the rest
)

// isMarked reports whether something in b was hidden before. What stands around a mark is
// left alone, so that redacting twice is the same as redacting once.
func isMarked(b []byte) bool { return bytes.Contains(b, []byte(markBegin)) }

// marked leaves what was hidden before as it is: [redacted], also with a kind.
func (f *filter) marked(at, i int) finding {
	if i = f.skip(i, ":abcdefghijklmnopqrstuvwxyz0123456789-", 32); f.at(i) != ']' {
		return finding{}
	}
	return finding{from: at, to: i + 1}
}
