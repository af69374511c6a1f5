package main

import (
	"fmt"
	"strings"
)

// splitWords splits a command as a shell would, with quotes and backslashes, and
// expands nothing. What a shell would give a meaning to is an error.
func splitWords(line string) ([]string, error) { return words(line, ";|&<>()$`") }

// configWords splits a value of the config. S3 has the shell split it, which then
// gives a meaning to nothing in it: Bash(git:*) is a word. Quotes are ours.
func configWords(line string) ([]string, error) { return words(line, "") }

func words(text, refused string) ([]string, error) {
	var all []string
	word, begun := "", false
	end := func() {
		if begun {
			all = append(all, word)
		}
		word, begun = "", false
	}
	for rest := []rune(text); len(rest) > 0; {
		r := rest[0]
		rest = rest[1:]
		switch {
		case r == ' ' || r == '\t' || r == '\n':
			end()
			continue
		case r == '\\' && len(rest) == 0:
			return nil, fmt.Errorf("%q ends with a backslash", text)
		case r == '\\':
			word, rest = word+string(rest[0]), rest[1:]
		case r == '\'' || r == '"':
			inner, after, closed := quoted(r, rest)
			if !closed {
				return nil, fmt.Errorf("%q: a quote is not closed", text)
			}
			word, rest = word+inner, after
		case strings.ContainsRune(refused, r):
			return nil, fmt.Errorf("%q holds %q: a command is words, not a shell line; use sh -c '…' for one", text, r)
		default:
			word += string(r)
		}
		begun = true
	}
	end()
	if len(all) == 0 {
		return nil, fmt.Errorf("the command is blank")
	}
	return all, nil
}

// quoted returns what stands before the closing quote, and what comes after it. In
// double quotes a backslash escapes what has a meaning there.
func quoted(quote rune, text []rune) (inner string, rest []rune, closed bool) {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == quote:
			return inner, text[i+1:], true
		case quote == '"' && text[i] == '\\' && i+1 < len(text) && strings.ContainsRune("\"\\$`", text[i+1]):
			i++
		}
		inner += string(text[i])
	}
	return "", nil, false
}
