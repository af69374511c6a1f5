package stream

import (
	"encoding/json"
	"strings"
)

// Reason is the sentence of a client's standard error that says why it failed; "" if
// it says nothing. What is indented (stack frames, dumps) and what is no sentence of
// its own (see [noise]) are left out, and a help text ends it. Of the last three lines
// it is the last that tells what the failure is about; else, of the last ten, the
// first that speaks of an error; else the last. One that ends with a colon takes the
// next.
func Reason(stderr string) string {
	lines, help := sentences(stderr)
	lines = lines[max(len(lines)-10, 0):]
	best := len(lines) - 1
	for i := len(lines) - 1; i >= 0; i-- {
		if i >= len(lines)-3 && KindOf(lines[i]) != Unknown {
			best = i
			break
		}
		if erring(lines[i]) {
			best = i
		}
	}
	switch {
	case help && (best < 0 || !erring(lines[best]) && KindOf(lines[best]) == Unknown):
		return "it printed its usage, as if it did not know an argument"
	case best < 0:
		return ""
	}
	reason := Unwrap(lines[best])
	if strings.HasSuffix(reason, ":") && best+1 < len(lines) {
		reason += " " + lines[best+1]
	}
	return oneLine(reason)
}

// sentences are the lines that may say why, up to a help text.
func sentences(stderr string) (lines []string, help bool) {
	for line := range strings.SplitSeq(stderr, "\n") {
		line = strings.TrimRight(line, " \r\t")
		if strings.HasPrefix(line, "Usage:") || line == "Options:" || line == "Positionals:" || line == "Commands:" {
			return lines, true
		}
		if line != "" && line[0] != ' ' && line[0] != '\t' && !noise(line) {
			lines = append(lines, line)
		}
	}
	return lines, false
}

// erring reports whether a line speaks of an error.
func erring(line string) bool {
	m := plain(line)
	return strings.Contains(m, "error") || strings.Contains(m, "fatal") || strings.Contains(m, "failed") || strings.Contains(m, "panic:") || strings.Contains(m, "cannot")
}

// noise reports whether a line is none that says why something failed.
func noise(line string) bool {
	m := plain(line)
	for _, begins := range []string{"warn", "(node:", "(use `node", "npm ", "yolo mode", "approval mode", "ripgrep is not", "attempt ", "package extraction", "loaded cached", "for more information", "note: run with", "node.js v", "please fix", "please check the", "update your environment", "---"} {
		if strings.HasPrefix(m, begins) {
			return true
		}
	}
	return strings.Contains(m, "deprecationwarning") || strings.HasPrefix(m, "at ") && strings.HasSuffix(m, ")") ||
		strings.IndexFunc(m, func(r rune) bool { return r >= 'a' && r <= 'z' || r > 0x7f }) < 0
}

// Unwrap takes the message out of the JSON object that some clients wrap it in, and
// puts it where the object stood.
func Unwrap(message string) string {
	for range 3 {
		at := strings.IndexByte(message, '{')
		if at < 0 {
			return message
		}
		var object struct {
			Message string
			Error   json.RawMessage
		}
		if json.NewDecoder(strings.NewReader(message[at:])).Decode(&object) != nil {
			return message
		}
		var inner struct{ Message string }
		if json.Unmarshal(object.Error, &inner) == nil && inner.Message != "" {
			object.Message = inner.Message
		}
		if object.Message == "" {
			return message
		}
		before := strings.TrimPrefix(message[:at], "[")
		if strings.Contains(before, "Full report available at: ") {
			before = ""
		}
		message = strings.TrimSpace(before + object.Message)
	}
	return message
}
