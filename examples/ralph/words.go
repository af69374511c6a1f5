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

func words(line, refused string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	quote := rune(0)
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			if quote == '"' && !strings.ContainsRune("\"\\$`", r) {
				word.WriteByte('\\') // between double quotes it escapes only these
			}
			word.WriteRune(r)
			escaped = false
		case quote == '\'':
			if r == '\'' {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\\':
			escaped, inWord = true, true
		case quote == '"':
			if r == '"' {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		case strings.ContainsRune(refused, r):
			return nil, fmt.Errorf("%q holds %q: a command is words, not a shell line; use sh -c '…' for one", line, r)
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	switch {
	case quote != 0:
		return nil, fmt.Errorf("%q: a quote is not closed", line)
	case escaped:
		return nil, fmt.Errorf("%q ends with a backslash", line)
	}
	if inWord {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("the command is blank")
	}
	return words, nil
}
