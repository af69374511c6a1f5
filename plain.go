package ralph

import "strings"

// plain returns text as a person sees it on a terminal: without escape
// sequences, without a byte-order mark, with lines that a carriage return has
// overwritten showing their last state, and with CRLF read as LF. The number of
// lines stays what it was.
func plain(text string) string {
	text = strings.TrimPrefix(text, "\uFEFF")
	if strings.IndexByte(text, 0x1b) >= 0 || strings.Contains(text, "\u009b") {
		text = withoutEscapes(text)
	}
	if strings.IndexByte(text, '\r') >= 0 {
		text = withoutOverwritten(text)
	}
	return text
}

func withoutOverwritten(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for line := range strings.SplitAfterSeq(text, "\n") {
		body := strings.TrimRight(line, "\r\n")
		b.WriteString(body[strings.LastIndexByte(body, '\r')+1:])
		if strings.HasSuffix(line, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// withoutEscapes removes ECMA-48 escape sequences: CSI (colours, cursor), OSC
// and the other strings (titles, links), and two- and three-byte ones. A string
// that is not ended on its line ends with it, so that a lone ESC cannot swallow
// the rest of an answer.
func withoutEscapes(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for text != "" {
		esc, csi := strings.IndexByte(text, 0x1b), strings.Index(text, "\u009b")
		switch {
		case esc < 0 && csi < 0:
			b.WriteString(text)
			return b.String()
		case esc < 0 || csi >= 0 && csi < esc:
			b.WriteString(text[:csi])
			text = text[csi+len("\u009b"):]
			text = text[csiLen(text):]
		default:
			b.WriteString(text[:esc])
			text = text[esc+1:]
			text = text[escapeLen(text):]
		}
	}
	return b.String()
}

// escapeLen is the length of the escape sequence whose ESC stood before text.
func escapeLen(text string) int {
	if text == "" {
		return 0
	}
	switch c := text[0]; {
	case c == '[':
		return 1 + csiLen(text[1:])
	case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
		return 1 + stringLen(text[1:])
	}
	n := 0
	for n < len(text) && text[n] >= 0x20 && text[n] <= 0x2f { // intermediate bytes
		n++
	}
	if n < len(text) && text[n] >= 0x30 && text[n] <= 0x7e {
		n++
	}
	return n
}

// csiLen is the length of the parameters, intermediates and final byte.
func csiLen(text string) int {
	for n := range len(text) {
		switch c := text[n]; {
		case c >= 0x40 && c <= 0x7e:
			return n + 1
		case c < 0x20 || c > 0x7e:
			return n
		}
	}
	return len(text)
}

// stringLen is the length of a control string up to its terminator, BEL or ST.
func stringLen(text string) int {
	for n := range len(text) {
		switch text[n] {
		case 0x07:
			return n + 1
		case 0x1b:
			if strings.HasPrefix(text[n:], "\x1b\\") {
				return n + 2
			}
			return n
		case '\n':
			return n
		}
	}
	return len(text)
}
