package stream

import (
	"strings"
)

// unwrapped is a command without the shell that runs it.
func unwrapped(command string) string {
	shell, script, ok := strings.Cut(command, " -lc ")
	if !ok || strings.ContainsAny(shell, " '\"") {
		return command
	}
	if word, ok := shellWord(script); ok {
		return word
	}
	return script
}

// shellWord is what a shell makes of a text that is one word, of which the end may be
// missing; not ok = there are several. Clients quote as they need to, also within a word:
// "cd /repo && echo "'$HOME'.
func shellWord(text string) (string, bool) {
	var word strings.Builder
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(text) && (quote == 0 || strings.IndexByte("\\\"$`\n", text[i+1]) >= 0):
			i++
			if text[i] != '\n' {
				word.WriteByte(text[i])
			}
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote = c
		case strings.IndexByte(" \t\n;&|<>()$`", c) >= 0:
			return "", false
		default:
			word.WriteByte(c)
		}
	}
	return word.String(), true
}

// command is a command as people know it: many agents begin each with the step into the
// workspace, where it is run anyway, and a narrow line has room for nothing else then.
func (d *Decoder) command(text string) string {
	step, ok := strings.CutPrefix(strings.TrimLeft(text, " \t\n"), "cd ")
	end := strings.IndexAny(step, ";&|\n")
	if !ok || end < 0 || len(d.dirs) == 0 {
		return text
	}
	dir, isWord := shellWord(strings.TrimSpace(step[:end]))
	rest := step[end:]
	for _, then := range []string{"&&", ";", "\n"} {
		if after, ok := strings.CutPrefix(rest, then); ok && isWord && d.place(dir) == "." && strings.TrimSpace(after) != "" {
			return strings.TrimSpace(after)
		}
	}
	return text
}

// near is a text with the paths of the workspace as people know them.
func (d *Decoder) near(text string) string {
	for _, dir := range d.dirs {
		dir += "/"
		var out strings.Builder
		rest, last := text, byte(' ')
		for {
			at := strings.Index(rest, dir)
			if at < 0 {
				break
			}
			if at > 0 {
				last = rest[at-1]
			}
			out.WriteString(rest[:at])
			if inPath(last) {
				out.WriteString(dir)
			}
			rest, last = rest[at+len(dir):], '/'
		}
		text = out.String() + rest
	}
	return text
}

// inPath reports whether a path may go on after a character.
func inPath(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._-~/", c) >= 0 || c >= 0x80
}
