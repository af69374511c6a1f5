package redact

import (
	"bytes"
	"strings"
)

const (
	keyBegin = "-----BEGIN "
	keyEnd   = "-----END "
	dashes   = "-----"
)

// keyBegins finds the beginning of a private key in PEM, if a key follows it.
func (f *filter) keyBegins(at, from int) finding {
	to := from + min(f.run(from, label), 48)
	name := string(f.buf[from:to])
	private := strings.HasSuffix(name, "PRIVATE KEY") || strings.HasSuffix(name, "PRIVATE KEY BLOCK")
	if f.short || !private || !f.is(to, dashes) {
		return finding{}
	}
	to += len(dashes)
	if n, _ := f.keyPart(to); n == 0 {
		return finding{}
	}
	return finding{from: at, to: to, kind: "private-key", key: true}
}

// keyPart is the length of the next part of a private key: up to the end of a long run
// of base64, or of the last line. Before that may stand what is found between the lines
// of keys: headers, line feeds, also written \n, quotation marks and plus signs of
// source code, the marks of diffs and quotations, line numbers. 0 = the text does not go
// on with the key. It is decided by the next 256 bytes.
func (f *filter) keyPart(at int) (n int, last bool) {
	const long, seen = 24, 256
	b := f.buf[min(at, len(f.buf)):]
	if f.short = len(b) < seen && !f.end; f.short {
		return 0, false
	}
	b = b[:keyish.run(b, seen)]
	end := bytes.Index(b, []byte(keyEnd))
	for i := 0; i < len(b) && (end < 0 || i < end); i++ {
		n := base64s.run(b[i:], len(b))
		if i += n; n >= long {
			return i, false
		}
	}
	if end < 0 {
		return 0, false
	}
	end += len(keyEnd)
	end += label.run(b[end:], 48)
	if bytes.HasPrefix(b[end:], []byte(dashes)) {
		end += len(dashes)
	}
	return end, true
}
