package reply

import "strings"

// A Fence tells whether lines stand in a code fence, by CommonMark's rules but
// for indentation: a fence in a list item is indented. The zero value is outside.
type Fence struct{ open string }

// Open is the mark of the fence that is open, "" = none.
func (f *Fence) Open() string { return f.open }

// Lines reads lines of text.
func (f *Fence) Lines(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		f.Line(line)
	}
}

// Line reads one line.
func (f *Fence) Line(line string) {
	line = strings.TrimSpace(line)
	if f.open == "" {
		line = withoutListMark(line)
	}
	mark := fenceMark(line)
	switch {
	case mark == "":
	case f.open == "":
		if mark[0] != '`' || !strings.Contains(line[len(mark):], "`") {
			f.open = mark
		}
	case mark[0] == f.open[0] && len(mark) >= len(f.open) && len(mark) == len(line):
		f.open = ""
	}
}

// fenceMark is the run of at least three backticks or tildes a line begins with.
func fenceMark(line string) string {
	if line == "" || line[0] != '`' && line[0] != '~' {
		return ""
	}
	n := len(line) - len(strings.TrimLeft(line, line[:1]))
	if n < 3 {
		return ""
	}
	return line[:n]
}

// withoutListMark removes "- ", "* ", "+ ", "1. " and "1) ".
func withoutListMark(line string) string {
	mark, rest, ok := strings.Cut(line, " ")
	if !ok {
		return line
	}
	digits := strings.TrimRight(mark, ".)")
	if mark == "-" || mark == "*" || mark == "+" ||
		digits != "" && len(digits) == len(mark)-1 && strings.Trim(digits, "0123456789") == "" {
		return strings.TrimSpace(rest)
	}
	return line
}
