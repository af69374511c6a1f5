package redact

import (
	"slices"
	"strings"
)

// CommandLine returns a command line without its secrets, for one goes into
// prompts, and prompts are kept and sent. Beside what looks like a secret, the word
// before one says so here, however short it is: the value of a name like TOKEN or
// --password, and what follows -u, Bearer or Basic.
func CommandLine(line string) string {
	words := strings.Split(line, " ")
	next := false // the next word is a secret
	for i, word := range words {
		bare := strings.Trim(word, `'"`)
		name, value := bare, ""
		if at := strings.IndexAny(bare, "=:"); at > 0 {
			name, value = bare[:at], strings.Trim(bare[at+1:], `'"`)
		}
		named := isSecretName(name) && (name != bare || strings.HasPrefix(bare, "-"))
		switch {
		case isScheme(bare): // "Authorization: Bearer x" has its secret one word later
			next = true
		case next:
			next, words[i] = false, stars(word, bare)
		case named && value != "":
			words[i] = stars(word, value)
		default:
			next = named || bare == "-u" || bare == "--user"
		}
	}
	return New(nil).Text(strings.Join(words, " "))
}

// stars hides the end of a word, but for the quotes behind it.
func stars(word, secret string) string {
	if i := strings.LastIndex(word, secret); secret != "" && i >= 0 {
		return word[:i] + "***" + word[i+len(secret):]
	}
	return word
}

func isScheme(word string) bool {
	return slices.Contains([]string{"bearer", "basic", "token"}, strings.ToLower(word))
}

func isSecretName(name string) bool {
	parts := []string{"token", "secret", "passw", "passphrase", "apikey", "api_key", "api-key", "access_key", "access-key", "private_key", "private-key", "authorization", "credential"}
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(strings.ToLower(name), part) })
}
