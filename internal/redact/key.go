package redact

import "bytes"

const (
	keyEnd = "-----END "
	dashes = "-----"
)

// privateKeys are the kinds of private keys in PEM.
var privateKeys = []string{
	"PRIVATE KEY-----", "RSA PRIVATE KEY-----", "EC PRIVATE KEY-----", "DSA PRIVATE KEY-----", "OPENSSH PRIVATE KEY-----",
	"ENCRYPTED PRIVATE KEY-----", "ANY PRIVATE KEY-----", "SSH2 ENCRYPTED PRIVATE KEY-----", "PGP PRIVATE KEY BLOCK-----",
}

// privateKey finds the beginning of a private key, if its body follows.
func (f *filter) privateKey(at, from int) finding {
	for _, kind := range privateKeys {
		if f.is(from, kind) {
			from += len(kind)
			if n, _ := f.keyPart(from); n > 0 {
				return finding{from: at, to: from, kind: "private-key", key: true}
			}
			break
		}
	}
	return finding{}
}

// keyPart is the length of the next part of a private key: up to the end of a long run
// of base64, or of the last line. Before that may stand what is found between the lines
// of keys: headers, line feeds, also written \n, quotation marks and plus signs of
// source code, the marks of diffs and quotations, line numbers. 0 = the text does not go
// on with the key. It is decided by the next 256 bytes.
func (f *filter) keyPart(at int) (n int, last bool) {
	const long, seen = 24, 256
	b := f.buf[at:]
	if f.short = len(b) < seen && !f.end; f.short {
		return 0, false
	}
	b = b[:span(keyish, b[:min(len(b), seen)])]
	body, ending, last := bytes.Cut(b, []byte(keyEnd))
	for n < len(body) {
		line := span(base64s, body[n:])
		if n += line; line >= long {
			return n, false
		}
		n++
	}
	if !last {
		return 0, false
	}
	name, _, _ := bytes.Cut(ending, []byte(dashes))
	return min(len(body)+len(keyEnd)+len(name)+len(dashes), len(b)), true
}
