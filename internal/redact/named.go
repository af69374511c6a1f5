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

// named finds values that the caller has named, in all their forms: by first
// byte, the longest first. It is not changed once it is made, and nil if there
// is nothing to find.
type named struct {
	forms [256][][]byte
}

func newNamed(secrets []string) *named {
	n := &named{}
	seen := map[string]bool{}
	for _, s := range secrets {
		s = strings.TrimSpace(s)
		if len(s) < MinSecret {
			continue
		}
		for _, form := range forms(s) {
			if !seen[form] {
				seen[form] = true
				n.forms[form[0]] = append(n.forms[form[0]], []byte(form))
			}
		}
	}
	if len(seen) == 0 {
		return nil
	}
	for _, list := range n.forms {
		slices.SortFunc(list, func(a, b []byte) int { return cmp.Or(cmp.Compare(len(b), len(a)), bytes.Compare(a, b)) })
	}
	return n
}

// forms lists the ways in which a value is written.
func forms(s string) []string {
	query, path := url.QueryEscape(s), url.PathEscape(s)
	once := jsonEscaped(s, false)
	list := []string{
		s, query, path, lowerHex(query), lowerHex(path),
		once, jsonEscaped(s, true), jsonEscaped(once, false), // the last is JSON in JSON
	}
	if strings.Contains(s, "\n") {
		list = append(list, strings.ReplaceAll(s, "\n", "\r\n"))
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

// jsonEscaped is the value as it stands between the quotes of a JSON string.
func jsonEscaped(s string, html bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if enc.Encode(s) != nil {
		return s // cannot be: any string can be encoded
	}
	text := strings.TrimSuffix(b.String(), "\n")
	return text[1 : len(text)-1]
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

// hideNamed is the first stage of a filter: it hides the values that were named.
func (f *filter) hideNamed(out []byte, end bool) []byte {
	w := &f.first
	from := w.pos
	for w.pos < len(w.buf) {
		b := w.buf[w.pos:]
		if b[0] != '[' && f.named.forms[b[0]] == nil {
			w.pos++
			continue
		}
		n, kind, more := f.named.at(b, end)
		if more {
			break
		}
		if n == 0 {
			w.pos++
			continue
		}
		if kind != "" {
			out = append(out, w.buf[from:w.pos]...)
			out = mark(out, kind)
			from = w.pos + n
		}
		w.pos += n
	}
	return append(out, w.buf[from:w.pos]...)
}

// at finds the longest form that b begins with, or, with no kind, the mark of
// something hidden before, in which nothing is looked for.
func (n *named) at(b []byte, end bool) (length int, kind string, more bool) {
	if b[0] == '[' {
		if length, more = marked(b, end); length > 0 || more {
			return length, "", more
		}
	}
	for _, form := range n.forms[b[0]] {
		switch {
		case bytes.HasPrefix(b, form):
			return len(form), "named", false
		case !end && len(b) < len(form) && bytes.HasPrefix(form, b):
			return 0, "", true
		}
	}
	return 0, "", false
}

const markBegin = "[redacted"

func mark(out []byte, kind string) []byte {
	out = append(out, markBegin...)
	out = append(out, ':')
	out = append(out, kind...)
	return append(out, ']')
}

// isMarked reports whether something in b was hidden before. What stands around a mark is
// left alone, so that redacting twice is the same as redacting once.
func isMarked(b []byte) bool { return bytes.Contains(b, []byte(markBegin)) }

// marked returns the length of the mark that b begins with: [redacted], or with
// a kind.
func marked(b []byte, end bool) (length int, more bool) {
	if short, partly := begins(b, markBegin, end); !short {
		return 0, partly
	}
	for i := len(markBegin); i < len(markBegin)+24; i++ {
		switch {
		case i >= len(b):
			return 0, !end
		case b[i] == ']':
			return i + 1, false
		case i == len(markBegin) && b[i] != ':', i > len(markBegin) && classOf(b[i])&(lower|dash) == 0:
			return 0, false
		}
	}
	return 0, false
}

// begins reports whether b begins with prefix; more says that b is too short to
// know.
func begins(b []byte, prefix string, end bool) (yes, more bool) {
	if len(b) >= len(prefix) {
		return string(b[:len(prefix)]) == prefix, false
	}
	return false, !end && strings.HasPrefix(prefix, string(b))
}
