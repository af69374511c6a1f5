package reply

import (
	"bytes"
	"strings"
)

// HasTag reports whether text may hold a tag of a promise, <promise or </promise,
// in any case. It does not see one that control sequences split.
func HasTag[T string | []byte](text T) bool {
	for at := 0; ; at++ {
		n := indexByte(text[at:], '<')
		if n < 0 {
			return false
		}
		at += n
		if tagAt(text[at:]) {
			return true
		}
	}
}

// tagAt reports whether a tag begins at the < that text begins with.
func tagAt[T string | []byte](text T) bool {
	const name = "promise"
	at := 1
	if len(text) > 1 && text[1] == '/' {
		at++
	}
	if len(text) < at+len(name) {
		return false
	}
	for i := range len(name) {
		if text[at+i]|0x20 != name[i] {
			return false
		}
	}
	return true
}

func indexByte[T string | []byte](text T, c byte) int {
	switch text := any(text).(type) {
	case string:
		return strings.IndexByte(text, c)
	case []byte:
		return bytes.IndexByte(text, c)
	}
	panic("unreachable")
}
