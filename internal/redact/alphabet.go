package redact

import "math/bits"

// An alphabet is a set of the bytes that a token consists of, or of several such sets.
type alphabet uint32

const (
	digit alphabet = 1 << iota
	lower
	upper
	upcase  // capital letters and digits
	hex     // 0-9 a-f
	hexes   // and A-F
	alnum   // letters and digits
	word    // and _
	urlish  // and -
	dotted  // and .
	base64s // letters, digits, + / =
	slashed // urlish, / @ $
	tokens  // what credentials consist of after their scheme: urlish, . + / = ~ %
	bare    // a value without quotation marks
	quoted  // one with them
	rest    // of a line, or of a text in quotation marks
	info    // user, password and host of a URL
	blank   // blanks and line ends
	behind  // what may stand behind a name's last word, or begin the next

	alphabets = iota
)

// members says for each byte in which alphabets it is.
var members = func() (m [256]alphabet) {
	letters := func(a alphabet, s string) {
		for i := range len(s) {
			m[s[i]] |= a
		}
	}
	for c := range 256 {
		b := byte(c)
		switch {
		case '0' <= b && b <= '9':
			m[c] |= digit | hex | hexes
		case 'a' <= b && b <= 'z':
			m[c] |= lower
		case 'A' <= b && b <= 'Z':
			m[c] |= upper
		}
		if m[c]&(digit|upper) != 0 {
			m[c] |= upcase
		}
		if m[c] != 0 {
			m[c] |= alnum | word | urlish | dotted | base64s | slashed | tokens
		}
		if b >= ' ' && b != 0x7f {
			m[c] |= quoted | bare | info | rest
		}
	}
	letters(hex|hexes, "abcdef")
	letters(hexes, "ABCDEF")
	letters(word|urlish|dotted|slashed|tokens, "_")
	letters(urlish|dotted|slashed|tokens, "-")
	letters(dotted|tokens, ".")
	letters(base64s|tokens, "+/=")
	letters(slashed, "/@$")
	letters(tokens, "~%")
	letters(blank, " \t\r\n")
	letters(behind, "=:\"'`]\\ \t>,_-0123456789D\r\n")
	without := func(a alphabet, s string) {
		for i := range len(s) {
			m[s[i]] &^= a
		}
	}
	without(quoted|bare|info, " ")
	without(quoted|bare|info|rest, "\"'`\\")
	without(bare, ",;()[]{}<>|&")
	without(info, "/?#<>|(),")
	for c := 0x80; c < 0x100; c++ {
		m[c] &^= bare
	}
	return m
}()

func (a alphabet) has(c byte) bool { return members[c]&a != 0 }

// index numbers the alphabets.
func (a alphabet) index() int { return bits.TrailingZeros32(uint32(a)) }
