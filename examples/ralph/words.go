package main

import (
	"errors"
	"fmt"
	"strings"
)

// splitWords splits a command as a shell would, with quotes and backslashes, and
// expands nothing. What a shell would give a meaning to is an error.
func splitWords(text string) ([]string, error) {
	all, err := words(text, ";|&<>()$`")
	if err == nil && len(all) == 0 {
		err = errBlank
	}
	return all, err
}

var errBlank = errors.New("the command is blank")

// configWords splits a value of the config. A shell would have split it after
// expanding it, and then gives a meaning to nothing in it: Bash(git:*) is a word.
// Quotes are ours.
func configWords(text string) ([]string, error) { return words(text, "") }

func words(text, refused string) ([]string, error) {
	const blanks = " \t\n"
	var all []string
	p := &assignments{plain: true}
	for p.text = strings.TrimLeft(text, blanks); p.text != ""; p.text = strings.TrimLeft(p.text, blanks) {
		word, err := p.until(blanks+refused, "")
		switch {
		case err != nil:
			return nil, fmt.Errorf("%q: %w", text, err)
		case p.text != "" && strings.Contains(refused, p.text[:1]):
			return nil, fmt.Errorf("%q holds %q: a command is words, not a shell line; use sh -c '…' for one", text, p.text[:1])
		}
		all = append(all, word)
	}
	return all, nil
}
