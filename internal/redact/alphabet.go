package redact

import "strings"

// An alphabet is the set of the bytes that a token consists of.
type alphabet *[256]bool

// The alphabets are spelled as bytes and ranges of them; ^ = all that can be seen, but
// these.
var (
	digit      = spelled("0-9")
	lower      = spelled("a-z")
	upper      = spelled("A-Z")
	letter     = spelled("a-zA-Z")
	upcase     = spelled("0-9A-Z")
	hex        = spelled("0-9a-fA-F")
	alnum      = spelled("0-9a-zA-Z")
	word       = spelled("0-9a-zA-Z_")
	urlish     = spelled("0-9a-zA-Z_-")
	dotted     = spelled("0-9a-zA-Z_.-")
	base64s    = spelled("0-9a-zA-Z+/=")
	slashed    = spelled("0-9a-zA-Z_/@$-")
	tokens     = spelled("0-9a-zA-Z_.+/=~%-")                      // what credentials consist of after their scheme
	bare       = spelled("^ \"'`\\,;()[]{}<>|&\x80-\xff")          // a value without quotation marks
	quoted     = spelled("^ \"'`\\")                               // one with them
	rest       = spelled("^\"'`\\")                                // of a line, or of a text in quotation marks
	info       = spelled("^ \"'`\\/?#<>|(),")                      // user, password and host of a URL
	keyish     = spelled("0-9a-zA-Z+/= \t\r\n\"',>|\\:\x80-\xff-") // the body of a key in PEM, and between its lines
	parameters = spelled("0-?")                                    // of a control sequence
	behind     = spelled("=:\"'`]\\ \t>_0-9")                      // what may stand behind a name's last word
)

func spelled(bytes string) *[256]bool {
	bytes, others := strings.CutPrefix(bytes, "^")
	var set [256]bool
	for c := range set {
		set[c] = others && c >= ' ' && c != 0x7f
	}
	for ; bytes != ""; bytes = bytes[1:] {
		first, last := bytes[0], bytes[0]
		if len(bytes) > 2 && bytes[1] == '-' {
			bytes = bytes[2:]
			last = bytes[0]
		}
		for c := int(first); c <= int(last); c++ {
			set[c] = !others
		}
	}
	return &set
}

// span is the length of the token that b begins with.
func span(letters alphabet, b []byte) int {
	n := 0
	for n < len(b) && letters[b[n]] {
		n++
	}
	return n
}
