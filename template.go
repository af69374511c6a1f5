package ralph

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Template fills {NAME}, {{NAME}} and ${NAME} with values, for the names it is
// given. Any other text stays as it is: $HOME, {x} in code, $&. Only a {{NAME}}
// that looks like a name and is not among values is an error, which lists the
// names that are. Text that was filled in is not looked at again. The time it takes
// grows with the text, whatever is in it.
func Template(text string, values map[string]string) (string, error) {
	var b strings.Builder
	done := 0 // what was written so far
	for at := 0; at < len(text); at++ {
		if text[at] != '{' && text[at] != '$' {
			continue
		}
		name, size := placeholder(text[at:])
		if size == 0 {
			continue
		}
		value, known := values[name]
		switch {
		case known:
			b.WriteString(text[done:at])
			b.WriteString(value)
			done = at + size
			at = done - 1
		case strings.HasPrefix(text[at:], "{{") && isName(name):
			return "", fmt.Errorf("ralph: template, line %d: nothing is known of {{%s}}; the known names are %s",
				1+strings.Count(text[:at], "\n"), name, strings.Join(slices.Sorted(maps.Keys(values)), ", "))
		}
	}
	b.WriteString(text[done:])
	return b.String(), nil
}

// placeholder returns the name in the braces that text begins with, and the size of
// the whole; 0 if it does not begin with any. Of three braces only the inner two
// are a placeholder's.
func placeholder(text string) (name string, size int) {
	open, end := "{", "}"
	switch {
	case strings.HasPrefix(text, "{{{"):
	case strings.HasPrefix(text, "{{"):
		open, end = "{{", "}}"
	case text[0] == '$':
		open = "${"
		if !strings.HasPrefix(text, open) {
			return "", 0
		}
	}
	inner := text[len(open):]
	n := 0
	for n < len(inner) && inner[n] != '{' && inner[n] != '}' && inner[n] != '\n' {
		n++
	}
	if n == 0 || !strings.HasPrefix(inner[n:], end) {
		return "", 0
	}
	return inner[:n], len(open) + n + len(end)
}

func isName(s string) bool {
	return s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == "" && (s[0] < '0' || s[0] > '9')
}
