package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// A config is what a config file sets, by name; names without a meaning here are
// variables for prompts.
type config map[string]string

const maxConfig = 1 << 20

// readConfig reads a file of assignments as a shell would, but runs nothing:
// NAME=value, quotes, comments, $NAME, ${NAME}, ${NAME:-default} and
// ${NAME:=default} from the file and the environment, and ~/ for the home folder.
// A file that does not exist is an empty one, unless it was asked for. Names that
// nearly are known ones are warned of.
func readConfig(file string, asked bool, lookup func(string) (string, bool), warn func(format string, args ...any)) (config, error) {
	info, err := os.Stat(file)
	if !asked && (errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir()) {
		return config{}, nil // none, or a folder of the project's own
	}
	data, err := ralph.ReadFile(file, maxConfig)
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
	known := []string{"SPECS_DIR", "MAX_RETRIES", "AGENT_TYPE", "AGENT_CLI", "AGENT_ARGS", "AGENT_OUTPUT_FORMAT", "AGENT_RESPONSE_FILTER", "AGENT_DISPLAY_FILTER"}
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if near := spec.Nearest(strings.ToUpper(name), known...); near != "" && near != name {
			warn("config %s: %s is a variable for prompts; did you mean %s?", file, name, near)
		}
	}
	return c, nil
}

// assignments reads shell assignments. They may span lines within quotes.
type assignments struct {
	text  string
	line  int
	plain bool // nothing is expanded
	get   func(name string) (string, bool)
	set   func(name, value string)
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
func blankAt(text string) bool { return text == "" || strings.IndexByte(blanks, text[0]) >= 0 }

// skipBlank skips white space, semicolons and comments.
func (p *assignments) skipBlank() {
	for p.text != "" && (blankAt(p.text) || p.text[0] == '#') {
		skipped, _, _ := strings.Cut(p.text, "\n")
		if skipped == "" || skipped[0] != '#' {
			skipped = p.text[:1]
		}
		p.line += strings.Count(skipped, "\n")
		p.text = p.text[len(skipped):]
	}
}

// blanks end a value, and so does what a shell would run something for.
const blanks, operators = " \t\r\n;", "|&<>()"

// What a backslash has a meaning for: in double quotes, and in a default in them.
const inQuotes, inBraces = "\"\\$`", "\"\\$`}"

// value reads a word with its quotes and expansions.
func (p *assignments) value() (string, error) {
	value, err := p.until(blanks+operators, "")
	if err == nil && !blankAt(p.text) {
		err = fmt.Errorf("%q: a config holds assignments and runs nothing; quote the value", p.text[:1])
	}
	return value, err
}

// until reads up to one of the bytes, which stays. Where escapes are named, it is
// in double quotes.
func (p *assignments) until(end, escapes string) (string, error) {
	var b strings.Builder
	colon := escapes == "" // a path may begin here
	for {
		if colon {
			p.tilde(&b)
		}
		if p.text == "" || strings.IndexByte(end, p.text[0]) >= 0 {
			return b.String(), nil
		}
		colon = p.text[0] == ':' && strings.HasPrefix(end, blanks)
		if err := p.piece(&b, escapes); err != nil {
			return "", err
		}
	}
}

// closed is until, for what must be closed.
func (p *assignments) closed(end, escapes, what string) (string, error) {
	text, err := p.until(end, escapes)
	switch {
	case err != nil:
	case p.text == "":
		err = fmt.Errorf("a %s is not closed", what)
	default:
		p.text = p.text[1:]
	}
	return text, err
}

// tilde expands ~ and ~/ to the home folder; other users' are left alone.
func (p *assignments) tilde(b *strings.Builder) {
	rest, ok := strings.CutPrefix(p.text, "~")
	if p.plain || !ok {
		return
	}
	if home, known := p.get("HOME"); known && (blankAt(rest) || rest[0] == '/' || rest[0] == ':' || rest[0] == '}') {
		b.WriteString(home)
		p.text = rest
	}
}

// piece reads a quoted text or one character, escape or expansion. In double
// quotes single ones are text, as in a shell.
func (p *assignments) piece(b *strings.Builder, escapes string) error {
	switch c := p.text[0]; {
	case c == '\'' && escapes == "":
		inner, rest, ok := strings.Cut(p.text[1:], "'")
		if !ok {
			return errors.New("a quote is not closed")
		}
		p.line += strings.Count(inner, "\n")
		b.WriteString(inner)
		p.text = rest
	case c == '"':
		p.text = p.text[1:]
		inner, err := p.closed(`"`, inQuotes, "double quote")
		b.WriteString(inner)
		return err
	case !p.plain && (c == '`' || strings.HasPrefix(p.text, "$(")):
		return errors.New("command substitution is not done: a config runs nothing")
	case p.plain && p.text == `\`:
		return errors.New("a backslash at the end escapes nothing")
	case c == '\\' && strings.HasPrefix(p.text[1:], "\n"):
		p.line++
		p.text = p.text[2:]
	case c == '\\' && len(p.text) > 1:
		if escapes != "" && strings.IndexByte(escapes, p.text[1]) < 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(p.text[1])
		p.text = p.text[2:]
	case !p.plain && c == '$':
		return p.expand(b, escapes != "")
	default:
		p.line += strings.Count(p.text[:1], "\n")
		b.WriteByte(c)
		p.text = p.text[1:]
	}
	return nil
}

func (p *assignments) expand(b *strings.Builder, quoted bool) error {
	rest := p.text[1:]
	if name := nameAt(rest); name != "" {
		value, _ := p.get(name)
		b.WriteString(value)
		p.text = rest[len(name):]
		return nil
	}
	if !quoted && (strings.HasPrefix(rest, "'") || strings.HasPrefix(rest, `"`)) {
		return errors.New("$'…' and $\"…\" are not known; use plain quotes")
	}
	if !strings.HasPrefix(rest, "{") {
		b.WriteByte('$')
		p.text = rest
		return nil
	}
	name := nameAt(rest[1:])
	p.text = rest[1+len(name):]
	operators := []string{":=", ":-", "=", "-", "}", ""}
	op := operators[slices.IndexFunc(operators, func(op string) bool { return strings.HasPrefix(p.text, op) })]
	if name == "" || op == "" {
		return errors.New("only ${NAME}, ${NAME:-default} and ${NAME:=default} are known")
	}
	p.text = p.text[len(op):]
	value, set := p.get(name)
	if op == "}" {
		b.WriteString(value)
		return nil
	}
	escapes := ""
	if quoted {
		escapes = inBraces
	}
	def, err := p.closed("}", escapes, "brace")
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
