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

// headers are the names of what stands before the body of a key.
var headers = []string{"Proc-Type: ", "DEK-Info: ", "Version: ", "Comment: ", "Hash: ", "Charset: "}

// keyPart is the length of the next part of a private key: the white space and
// the like before it, then a header, some base64 or the last line. 0 = the text does
// not go on with the key. It is decided by the next 512 bytes.
func (f *filter) keyPart(at int) (n int, last bool) {
	const gap, short = 96, 24
	b := f.buf[min(at, len(f.buf)):]
	if f.short = len(b) < decided && !f.end; f.short {
		return 0, false
	}
	b = b[:min(len(b), decided)]
	from := keyGap(b, gap)
	if n := endOfKey(b[from:]); n > 0 {
		return from + n, true
	}
	n = base64s.run(b[from:], decided)
	if n >= short {
		return from + n, false
	}
	for i, size := from, n; size > 0; size = base64s.run(b[i:], decided) {
		i += size
		i += keyGap(b[i:], gap)
		if endOfKey(b[i:]) > 0 {
			return from + n, false // the lines are short, but they end as a key does
		}
	}
	for _, name := range headers {
		if bytes.HasPrefix(b[from:], []byte(name)) {
			return from + header.run(b[from:], 200), false
		}
	}
	return 0, false
}

// endOfKey is the length of the line that ends a key, 0 if b does not begin with it.
func endOfKey(b []byte) int {
	if !bytes.HasPrefix(b, []byte(keyEnd)) {
		return 0
	}
	n := len(keyEnd) + label.run(b[len(keyEnd):], 48)
	if bytes.HasPrefix(b[n:], []byte(dashes)) {
		n += len(dashes)
	}
	return n
}

// keyGap is the length of what stands between the lines of a key: line feeds, also
// written \n, quotation marks and plus signs of source code, the marks of diffs and
// quotations, line numbers. It looks no further than limit.
func keyGap(b []byte, limit int) int {
	i := 0
	for i < min(len(b), limit) {
		switch c := b[i]; {
		case strings.IndexByte(" \t\r\n\"',>|\\", c) >= 0, i > 0 && b[i-1] == '\\' && strings.IndexByte("nrt", c) >= 0:
			i++
		case c == '-' && !bytes.HasPrefix(b[i:], []byte("-----E")) && (!bytes.HasPrefix(b[i:], []byte("--")) || bytes.HasPrefix(b[i:], []byte(dashes))):
			i++
		default:
			n := lineNumber(b[i:])
			if n == 0 {
				return i
			}
			i += n
		}
	}
	return i
}

// lineNumber is the length of a line number as tools print it before a line.
func lineNumber(b []byte) int {
	n := digit.run(b, 7)
	for _, after := range []string{"→", "\t", "\\t", ":", "|", " |"} {
		if n > 0 && n < 7 && bytes.HasPrefix(b[n:], []byte(after)) {
			return n + len(after)
		}
	}
	return 0
}
