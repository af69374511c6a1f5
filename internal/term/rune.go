package term

import "unicode/utf8"

// Begun is the number of bytes at the end of b that begin a rune and do not end
// it. A rune that is cut in two would show as a sign for what is broken, and
// would make an honest text look damaged.
func Begun(b []byte) int {
	for n := 1; n <= min(utf8.UTFMax-1, len(b)); n++ {
		if rest := b[len(b)-n:]; utf8.RuneStart(rest[0]) {
			if utf8.FullRune(rest) {
				return 0
			}
			return n
		}
	}
	return 0
}
