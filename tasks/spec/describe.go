package spec

import (
	"strings"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/progress"
)

// shorten cuts a text to a number of bytes, at a rune border.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return strings.TrimSpace(text[:cut]) + "…"
}

// hideSecrets hides what looks like a password or a key in a command line: it
// goes into prompts, and prompts are kept and sent. What a secret looks like is
// for [progress.Redactor] to say; but in a command line the word before it says
// so too, however short it is: the value of a name like TOKEN or --password, and
// what follows -u, Bearer or Basic.
func hideSecrets(line string) string {
	words := strings.Split(line, " ")
	next := false // the next word is a secret
	for i, word := range words {
		bare := strings.Trim(word, `'"`)
		at := strings.IndexAny(word, "=:")
		switch {
		case isScheme(bare): // "Authorization: Bearer x" has its secret one word later
			next = true
		case next:
			next, words[i] = false, stars(word)
		case at > 0 && isSecretName(word[:at]):
			if next = strings.Trim(word[at+1:], `'"`) == ""; !next {
				words[i] = word[:at+1] + stars(word[at+1:])
			}
		default:
			next = at < 0 && strings.HasPrefix(bare, "-") && isSecretName(bare) || bare == "-u" || bare == "--user"
		}
	}
	return progress.Redactor{}.String(strings.Join(words, " "))
}

// stars keeps the quotes around what it hides.
func stars(word string) string {
	left := word[:len(word)-len(strings.TrimLeft(word, `'"`))]
	right := word[len(strings.TrimRight(word, `'"`)):]
	if len(left) == len(word) {
		return word
	}
	return left + "***" + right
}

func isScheme(word string) bool {
	return strings.EqualFold(word, "bearer") || strings.EqualFold(word, "basic") || strings.EqualFold(word, "token")
}

func isSecretName(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"token", "secret", "passw", "passphrase", "apikey", "api_key", "api-key", "access_key", "access-key", "private_key", "private-key", "authorization", "credential"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
