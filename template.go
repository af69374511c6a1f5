package ralph

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Template replaces {NAME}, {{NAME}} and ${NAME} by the values of the names that it is
// given. Any other text stays as it is: $HOME, {x} in code, $&. Only a {{NAME}} that
// looks like a name and is not among values is an error, which lists the names that
// are. Text that was filled in is not looked at again. The time it takes grows with the
// text, whatever is in it.
//
// Package text/template was not taken: prompts are full of braces that mean nothing,
// and people who write them should not have to quote those. Only the double braces say
// clearly that a name was meant, so a misspelt one is an error there and text
// elsewhere.
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

// placeholder returns the name in the braces that text begins with, and the size of the
// whole; 0 if it does not begin with any. Of three braces only the inner two are a
// placeholder's. A name ends at the first brace or line end, so an open brace costs
// only its own line and not the rest of the text.
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

// isName reports whether what stands in the braces is meant as a name: letters, digits
// and underscores, and no digit in front, as in most languages.
func isName(s string) bool {
	return s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == "" && (s[0] < '0' || s[0] > '9')
}
