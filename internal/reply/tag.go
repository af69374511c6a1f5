package reply

import (
	"bytes"
	"strings"
)

// HasTag reports whether text may hold a tag of a promise, <promise or </promise,
// in any case. It does not see one that control sequences split.
func HasTag[T string | []byte](text T) bool {
	for {
		n := 0
		switch text := any(text).(type) {
		case string:
			n = strings.IndexByte(text, '<')
		case []byte:
			n = bytes.IndexByte(text, '<')
		}
		if n < 0 || tagAt(string(text[n:min(n+len("</promise"), len(text))])) {
			return n >= 0
		}
		text = text[n+1:]
	}
}

// tagAt reports whether a tag begins at the < that text begins with.
func tagAt(text string) bool {
	return hasPrefixFold(strings.TrimPrefix(text[1:], "/"), "promise")
}
