package reply

import (
	"bytes"
	"strings"
)

// HasTag reports whether text may hold a tag of a promise, <promise or </promise,
// in any case. It does not see one that control sequences split.
func HasTag[T string | []byte](text T) bool {
	switch text := any(text).(type) {
	case string:
		for at := 0; at < len(text); at++ {
			if text[at] != '<' {
				n := strings.IndexByte(text[at:], '<')
				if n < 0 {
					return false
				}
				at += n
			}
			if tagAt(text[at:]) {
				return true
			}
		}
		return false
	case []byte:
		for {
			n := bytes.IndexByte(text, '<')
			if n < 0 || tagAt(string(text[n:min(n+len("</promise"), len(text))])) {
				return n >= 0
			}
			text = text[n+1:]
		}
	}
	panic("unreachable")
}

// tagAt reports whether a tag begins at the < that text begins with.
func tagAt(text string) bool {
	if len(text) < 2 || text[1] != '/' && text[1]|0x20 != 'p' {
		return false
	}
	return tagName(text[1:])
}

func tagName(text string) bool {
	const name = "promise"
	text = strings.TrimPrefix(text, "/")
	return len(text) >= len(name) && strings.EqualFold(text[:len(name)], name)
}
