package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/tasks/spec"
)

// knownSettings are the names that a config file gives a meaning; any other
// name is a variable for prompts.
func knownSettings() []string {
	return []string{"SPECS_DIR", "MAX_RETRIES", "AGENT_TYPE", "AGENT_CLI", "AGENT_ARGS", "AGENT_OUTPUT_FORMAT", "AGENT_RESPONSE_FILTER", "AGENT_DISPLAY_FILTER"}
}

// A config is what a config file sets, by name.
type config map[string]string

// readConfig reads a file of assignments as a shell would, but runs nothing:
// NAME=value, quotes, comments, $NAME, ${NAME}, ${NAME:-default} and
// ${NAME:=default} from the file and the environment, and ~/ for the home folder.
// A file that does not exist is an empty one, unless it was asked for. Names that
// nearly are known ones are warned of.
func readConfig(file string, asked bool, lookup func(string) (string, bool), warn func(format string, args ...any)) (config, error) {
	info, err := os.Stat(file)
	if !asked && (errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular()) {
		return config{}, nil // none, or a folder of the project's own
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fail(exitConfig, "config: %w", err)
	}
	c := config{}
	p := &assignments{text: strings.TrimPrefix(string(data), "\uFEFF"), line: 1, get: func(name string) (string, bool) {
		if v, ok := c[name]; ok {
			return v, true
		}
		return lookup(name)
	}, set: func(name, value string) { c[name] = value }}
	if err := p.read(); err != nil {
		return nil, fail(exitConfig, "config %s, line %d: %w", file, p.line, err)
	}
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if near := spec.Nearest(strings.ToUpper(name), knownSettings()...); near != "" && near != name {
			warn("config %s: %s is a variable for prompts; did you mean %s?", file, name, near)
		}
	}
	return c, nil
}

// assignments reads shell assignments. They may span lines within quotes.
type assignments struct {
	text string
	line int
	get  func(name string) (string, bool)
	set  func(name, value string)
}

func (p *assignments) read() error {
	for {
		p.skipBlank()
		if p.text == "" {
			return nil
		}
		if p.word(":") { // : "${NAME:=default}"
			if _, err := p.value(); err != nil {
				return err
			}
			continue
		}
		exported := p.word("export")
		name := nameAt(p.text)
		if name != "" && exported && blankAt(p.text[len(name):]) { // it changes nothing here
			p.text = p.text[len(name):]
			continue
		}
		if name == "" || !strings.HasPrefix(p.text[len(name):], "=") {
			line, _, _ := strings.Cut(p.text, "\n")
			return fmt.Errorf("%q is not an assignment, NAME=value", line)
		}
		p.text = p.text[len(name)+1:]
		if strings.HasPrefix(p.text, "(") {
			return fmt.Errorf("%s is an array; only plain values are taken", name)
		}
		value, err := p.value()
		if err != nil {
			return err
		}
		p.set(name, value)
	}
}

// word skips a word, with the blanks after it, if it is the next one.
func (p *assignments) word(word string) bool {
	rest, ok := strings.CutPrefix(p.text, word)
	if ok = ok && blankAt(rest); ok {
		p.text = strings.TrimLeft(rest, " \t")
	}
	return ok
}

// blankAt reports whether text begins where a word has ended.
func blankAt(text string) bool { return text == "" || strings.IndexByte(" \t\r\n;", text[0]) >= 0 }

// skipBlank skips white space, semicolons and comments.
func (p *assignments) skipBlank() {
	for p.text != "" {
		switch c := p.text[0]; {
		case c == '\n':
			p.line++
			p.text = p.text[1:]
		case c == ' ' || c == '\t' || c == '\r' || c == ';':
			p.text = p.text[1:]
		case c == '#':
			n := strings.IndexByte(p.text, '\n')
			if n < 0 {
				n = len(p.text)
			}
			p.text = p.text[n:]
		default:
			return
		}
	}
}

// value reads a word with its quotes and expansions.
func (p *assignments) value() (string, error) {
	var b strings.Builder
	p.tilde(&b)
	for !blankAt(p.text) {
		c := p.text[0]
		switch c {
		case '|', '&', '<', '>', '(', ')':
			return "", fmt.Errorf("%q: a config holds assignments and runs nothing; quote the value", string(c))
		}
		if err := p.piece(&b, false); err != nil {
			return "", err
		}
		if c == ':' {
			p.tilde(&b)
		}
	}
	return b.String(), nil
}

// tilde expands ~ and ~/ to the home folder; other users' are left alone.
func (p *assignments) tilde(b *strings.Builder) {
	rest, ok := strings.CutPrefix(p.text, "~")
	if home, known := p.get("HOME"); ok && known && (blankAt(rest) || rest[0] == '/' || rest[0] == ':' || rest[0] == '}') {
		b.WriteString(home)
		p.text = rest
	}
}

// piece reads a quoted text or one character, escape or expansion.
func (p *assignments) piece(b *strings.Builder, inQuotes bool) error {
	switch c := p.text[0]; {
	case c == '\'' && !inQuotes:
		inner, rest, ok := strings.Cut(p.text[1:], "'")
		if !ok {
			return errors.New("a quote is not closed")
		}
		p.line += strings.Count(inner, "\n")
		b.WriteString(inner)
		p.text = rest
		return nil
	case c == '"':
		p.text = p.text[1:]
		for p.text != "" && p.text[0] != '"' {
			if err := p.char(b, "\"\\$`"); err != nil {
				return err
			}
		}
		if p.text == "" {
			return errors.New("a double quote is not closed")
		}
		p.text = p.text[1:]
		return nil
	case inQuotes:
		return p.char(b, "\"\\$`}")
	}
	return p.char(b, "")
}

// fallback reads the default of an expansion, up to its brace. In double quotes
// single quotes are text, as in a shell.
func (p *assignments) fallback(inQuotes bool) (string, error) {
	var b strings.Builder
	if !inQuotes {
		p.tilde(&b)
	}
	for p.text != "" && p.text[0] != '}' {
		if err := p.piece(&b, inQuotes); err != nil {
			return "", err
		}
	}
	if p.text == "" {
		return "", errors.New("a brace is not closed")
	}
	p.text = p.text[1:]
	return b.String(), nil
}

// char reads one character, escape or expansion. Within double quotes, escapes
// are what a backslash has a meaning for.
func (p *assignments) char(b *strings.Builder, escapes string) error {
	c := p.text[0]
	switch {
	case c == '`' || strings.HasPrefix(p.text, "$("):
		return errors.New("command substitution is not done: a config runs nothing")
	case c == '\\' && len(p.text) > 1:
		next := p.text[1]
		p.text = p.text[2:]
		if next == '\n' {
			p.line++
			return nil
		}
		if escapes != "" && strings.IndexByte(escapes, next) < 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(next)
	case c == '$':
		return p.expand(b, escapes != "")
	default:
		if c == '\n' {
			p.line++
		}
		b.WriteByte(c)
		p.text = p.text[1:]
	}
	return nil
}

func (p *assignments) expand(b *strings.Builder, inQuotes bool) error {
	rest := p.text[1:]
	if name := nameAt(rest); name != "" {
		value, _ := p.get(name)
		b.WriteString(value)
		p.text = rest[len(name):]
		return nil
	}
	if !inQuotes && (strings.HasPrefix(rest, "'") || strings.HasPrefix(rest, `"`)) {
		return errors.New("$'…' and $\"…\" are not known; use plain quotes")
	}
	if !strings.HasPrefix(rest, "{") {
		b.WriteByte('$')
		p.text = rest
		return nil
	}
	name := nameAt(rest[1:])
	p.text = rest[1+len(name):]
	op := ""
	for _, o := range []string{":=", ":-", "=", "-", "}"} {
		if strings.HasPrefix(p.text, o) {
			op = o
			break
		}
	}
	if name == "" || op == "" {
		return errors.New("only ${NAME}, ${NAME:-default} and ${NAME:=default} are known")
	}
	p.text = p.text[len(op):]
	value, set := p.get(name)
	if op == "}" {
		b.WriteString(value)
		return nil
	}
	def, err := p.fallback(inQuotes)
	if err != nil {
		return err
	}
	if !set || value == "" && strings.HasPrefix(op, ":") {
		value = def
	}
	if strings.HasSuffix(op, "=") {
		p.set(name, value)
	}
	b.WriteString(value)
	return nil
}

// nameAt is the variable name that text begins with.
func nameAt(text string) string {
	n := 0
	for n < len(text) && (text[n] == '_' || text[n] >= 'A' && text[n] <= 'Z' || text[n] >= 'a' && text[n] <= 'z' || n > 0 && text[n] >= '0' && text[n] <= '9') {
		n++
	}
	return text[:n]
}

// substitute fills $NAME and ${NAME} for the names that are given, as GNU
// envsubst does with a list of names. Other text stays as it is.
func substitute(text string, values map[string]string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		text = after
		open := strings.HasPrefix(text, "{")
		name := nameAt(strings.TrimPrefix(text, "{"))
		size := len(name)
		if open {
			size += len("{}")
		}
		value, known := values[name]
		if !known || open && !strings.HasPrefix(text[1+len(name):], "}") {
			b.WriteByte('$')
			continue
		}
		b.WriteString(value)
		text = text[size:]
	}
}
