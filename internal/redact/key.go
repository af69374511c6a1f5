package redact

import (
	"bytes"
	"strings"
)

// keyBegins finds the beginning of a private key in PEM, if a key follows it.
func (f *filter) keyBegins(at int) finding {
	const label = 48
	n := len("-----BEGIN ")
	for from := n; n-from < label && isLabel(f.at(at+n)); {
		n++
	}
	if f.short {
		return finding{}
	}
	name := string(f.buf[at : at+n])
	if !strings.HasSuffix(name, "PRIVATE KEY") && !strings.HasSuffix(name, "PRIVATE KEY BLOCK") || !f.begins(at+n, "-----") {
		return finding{}
	}
	n += len("-----")
	part, _, more := keyPart(f.buf[min(at+n, len(f.buf)):], false)
	if more {
		f.short = true
		part, _, _ = keyPart(f.buf[min(at+n, len(f.buf)):], true)
	}
	if part == 0 {
		return finding{}
	}
	return finding{from: at, to: at + n, kind: "private-key", key: true}
}

// keyPart is the length of the next part of a private key: the white space and
// the like before it, then a header, some base64 or the last line. 0 = b does
// not go on with the key. It is decided by the next 512 bytes.
func keyPart(b []byte, end bool) (n int, last, more bool) {
	const gap, short, header = 96, 24, 200
	if len(b) < decided && !end {
		return 0, false, true
	}
	b = b[:min(len(b), decided)]
	at := keyGap(b, gap)
	if n := keyEnd(b[at:]); n > 0 {
		return at + n, true, false
	}
	n = run(b[at:], isBase64, decided)
	if n >= short {
		return at + n, false, false
	}
	for i, size := at, n; size > 0; size = run(b[i:], isBase64, decided) {
		i += size
		i += keyGap(b[i:], gap)
		if keyEnd(b[i:]) > 0 {
			return at + n, false, false // the lines are short, but they end as a key does
		}
	}
	for _, name := range []string{"Proc-Type: ", "DEK-Info: ", "Version: ", "Comment: ", "Hash: ", "Charset: "} {
		if bytes.HasPrefix(b[at:], []byte(name)) {
			n := run(b[at:], func(c byte) bool { return c != '\n' && c != '\\' }, header)
			return at + n, false, false
		}
	}
	return 0, false, false
}

// keyEnd is the length of the line that ends a key, 0 if b does not begin with it.
func keyEnd(b []byte) int {
	const begin, dashes = "-----END ", "-----"
	if !bytes.HasPrefix(b, []byte(begin)) {
		return 0
	}
	n := run(b[len(begin):], isLabel, 48)
	n += len(begin)
	if bytes.HasPrefix(b[n:], []byte(dashes)) {
		n += len(dashes)
	}
	return n
}

func isLabel(c byte) bool { return c == ' ' || upcase.has(c) }

func isBase64(c byte) bool { return base64s.has(c) }

// keyGap is the length of what stands between the lines of a key: line feeds, also
// written \n, quotation marks and plus signs of source code, the marks of diffs and
// quotations, line numbers. It looks no further than limit.
func keyGap(b []byte, limit int) int {
	i := 0
	for i < min(len(b), limit) {
		switch c := b[i]; {
		case bytes.IndexByte([]byte(" \t\r\n\"',>|\\"), c) >= 0:
			i++
		case (c == 'n' || c == 'r' || c == 't') && i > 0 && b[i-1] == '\\':
			i++
		case c == '-' && i+1 < len(b) && (b[i+1] != '-' || bytes.HasPrefix(b[i+1:], []byte("-----"))) && !bytes.HasPrefix(b[i:], []byte("-----E")):
			i++
		case digit.has(c):
			n := lineNumber(b[i:])
			if n == 0 {
				return i
			}
			i += n
		default:
			return i
		}
	}
	return i
}

// lineNumber is the length of a line number as tools print it before a line.
func lineNumber(b []byte) int {
	n := run(b, digit.has, 7)
	for _, after := range []string{"→", "\t", "\\t", ":", "|", " |"} {
		if n < 7 && bytes.HasPrefix(b[n:], []byte(after)) {
			return n + len(after)
		}
	}
	return 0
}

// run is the length of the text that b begins with, up to limit.
func run(b []byte, has func(byte) bool, limit int) int {
	n := 0
	for n < min(len(b), limit) && has(b[n]) {
		n++
	}
	return n
}
