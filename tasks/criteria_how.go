package tasks

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// howVerified is one line that tells the agent how its claim will be checked.
// "" = it is not said here.
func howVerified(method string, config json.RawMessage) string {
	if method == "" {
		return ""
	}
	n := &node{kind: nodeMap, offset: -1}
	if config != nil {
		var err error
		if n, err = readJSON(method, config); err != nil {
			return method
		}
	}
	return shorten(strings.Join(strings.Fields(method+describeMethod(method, n)), " "), 400)
}

// describeMethod is what a method does with a configuration.
func describeMethod(method string, n *node) string {
	r := reader{doc: &document{}}
	switch method {
	case methodString:
		c := r.stringConfig(n, "")
		return sentence(": the promise", clause("your answer must contain", c.contains), clause("your answer must not contain", c.excludes))
	case methodSemantic:
		c := r.semanticConfig(n, "")
		return sentence(": a judge reads your work", clause("it checks", c.checkFor), clause("your answer must not contain", c.negative))
	case methodExternal:
		return describeExternal(r.externalConfig(n, ""))
	case methodMultiStage:
		return describeStages(r.stagesConfig(n, ""))
	case methodContradictions:
		return ": your answer must not say that work is left"
	case methodGuard:
		c := r.guardConfig(n, "")
		text := ": " + strings.Join(c.files, ", ") + " must not change"
		if c.method != "" && c.config != nil {
			text += "; " + c.method + describeMethod(c.method, c.config)
		}
		return text
	case methodTemplate:
		return ": " + r.templateConfig(n, "").name
	}
	return ""
}

func describeExternal(c externalConfig) string {
	line := c.shell
	if line == "" {
		line = strings.Join(c.args, " ")
	}
	line = hideSecrets(strings.Join(strings.Fields(line), " ")) // before anything is cut
	return sentence(fmt.Sprintf(": the command `%s` must end with exit code %d", shorten(line, 200), c.exitCode),
		clause("must print", c.contains), clause("must not print", c.excludes))
}

func describeStages(c stagesConfig) string {
	stages := make([]string, len(c.stages))
	for i, s := range c.stages {
		if stages[i] = s.name; s.name == "" {
			stages[i] = "unnamed"
		}
		stages[i] += " (" + s.method
		if s.advisory {
			stages[i] += ", advisory"
		}
		stages[i] += ")"
	}
	which := "all"
	if c.anyOne {
		which = "one"
	}
	return ": " + which + " of " + strings.Join(stages, ", ") + " must pass"
}

func sentence(start string, clauses ...string) string {
	for _, c := range clauses {
		if c != "" {
			start += "; " + c
		}
	}
	return start
}

func clause(verb string, texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return verb + " " + shorten(strings.Join(texts, "; "), 200)
}

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

// hideSecrets puts stars in place of what looks like a password or a key in a
// command line: it goes into prompts, and prompts are kept and sent. It hides
// the value of a name like TOKEN or --password, what follows Bearer or Basic, a
// password in a URL, and words that begin like the keys of well-known services.
func hideSecrets(line string) string {
	words := strings.Split(line, " ")
	next := false // the next word is a secret
	for i, word := range words {
		bare := strings.Trim(word, `'"`)
		switch {
		case next:
			// "Authorization: Bearer x" has its secret one word later.
			if next = isScheme(bare); !next {
				words[i] = stars(word)
			}
			continue
		}
		at := strings.IndexAny(word, "=:")
		switch {
		case at > 0 && isSecretName(word[:at]):
			if next = strings.Trim(word[at+1:], `'"`) == ""; !next {
				words[i] = word[:at+1] + stars(word[at+1:])
			}
		case isScheme(bare), at < 0 && strings.HasPrefix(bare, "-") && isSecretName(bare), bare == "-u" || bare == "--user":
			next = true
		case hasKeyPrefix(bare):
			words[i] = stars(word)
		default:
			words[i] = hideUserinfo(word)
		}
	}
	return strings.Join(words, " ")
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

func hasKeyPrefix(word string) bool {
	for _, prefix := range []string{"sk-", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "AIza"} {
		if strings.HasPrefix(word, prefix) && len(word) >= len(prefix)+12 {
			return true
		}
	}
	return false
}

// hideUserinfo hides the password of a URL.
func hideUserinfo(word string) string {
	scheme, rest, ok := strings.Cut(word, "://")
	if !ok {
		return word
	}
	host, path, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(host, '@')
	colon := strings.IndexByte(host, ':')
	if at < 0 || colon < 0 || colon > at {
		return word
	}
	word = scheme + "://" + host[:colon+1] + "***" + host[at:]
	if path != "" || strings.HasSuffix(rest, "/") {
		word += "/" + path
	}
	return word
}
