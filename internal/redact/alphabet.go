package redact

import (
	"math/bits"
	"strings"
)

// An alphabet is a set of the bytes that a token consists of, or of several such sets.
type alphabet uint32

const (
	digit alphabet = 1 << iota
	lower
	upper
	upcase
	hex
	hexes
	alnum
	word
	urlish
	dotted
	base64s
	slashed
	tokens     // what credentials consist of after their scheme
	bare       // a value without quotation marks
	quoted     // one with them
	rest       // of a line, or of a text in quotation marks
	info       // user, password and host of a URL
	label      // of a key in PEM
	keyish     // its body, and what stands between its lines
	parameters // of a control sequence
	blank      // blanks and line ends
	sign       // what passwords have besides
	behind     // what may stand behind a name's last word, or begin the next

	alphabets = iota
)

// spelled are the alphabets in this order, as bytes and ranges of them; ^ = all that
// can be seen, but these.
var spelled = [alphabets]string{
	"0-9", "a-z", "A-Z", "0-9A-Z", "0-9a-f", "0-9a-fA-F", "0-9a-zA-Z", "0-9a-zA-Z_", "0-9a-zA-Z_-", "0-9a-zA-Z_.-",
	"0-9a-zA-Z+/=", "0-9a-zA-Z_/@$-", "0-9a-zA-Z_.+/=~%-",
	"^ \"'`\\,;()[]{}<>|&\x80-\xff", "^ \"'`\\", "^\"'`\\", "^ \"'`\\/?#<>|(),",
	" 0-9A-Z", "0-9a-zA-Z+/= \t\r\n\"',>|\\:\x80-\xff-", "0-?", " \t\r\n", "!@#$%^&*+?~", "=:\"'`]\\ \t\r\n>,_0-9Dd-",
}

// members says for each byte in which alphabets it is.
var members = func() (m [256]alphabet) {
	for i, bytes := range spelled {
		bytes, others := strings.CutPrefix(bytes, "^")
		for c := range 256 {
			if within(bytes, byte(c)) != others && !(others && (c < ' ' || c == 0x7f)) {
				m[c] |= 1 << i
			}
		}
	}
	return m
}()

func within(bytes string, c byte) bool {
	for ; len(bytes) > 2 && bytes[1] == '-'; bytes = bytes[3:] {
		if bytes[0] <= c && c <= bytes[2] {
			return true
		}
	}
	return bytes != "" && (bytes[0] == c || within(bytes[1:], c))
}

func (a alphabet) has(c byte) bool { return members[c]&a != 0 }

// index numbers the alphabets.
func (a alphabet) index() int { return bits.TrailingZeros32(uint32(a)) }

// run is the length of the token that b begins with, up to limit.
func (a alphabet) run(b []byte, limit int) int {
	n := 0
	for n < min(len(b), limit) && a.has(b[n]) {
		n++
	}
	return n
}

// trimmed is b without the bytes at its end that are among some.
func trimmed(b []byte, some string) []byte {
	for len(b) > 0 && strings.IndexByte(some, b[len(b)-1]) >= 0 {
		b = b[:len(b)-1]
	}
	return b
}
