package main

import (
	"flag"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// usage lists the commands that begin so.
func usage(w io.Writer, begin string) {
	if begin == "" {
		fmt.Fprintln(w, wrap("ralph runs a coding agent in a loop until it claims that the task is done and a check agrees.", 0))
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "Usage: ralph %sCOMMAND [FLAGS]\n\nCommands:\n", begin)
	for _, c := range commands() {
		if strings.HasPrefix(c.name, begin) && !c.hidden {
			fmt.Fprintf(w, "  %-12s %s\n", c.name, wrap(c.short, 15))
		}
	}
	fmt.Fprintf(w, "\n'ralph help %sCOMMAND' tells more.\n", begin)
	if begin == "" {
		fmt.Fprintf(w, "\nExample: ralph demo\n\nExit codes: %s\n", wrap(exitCodes, 12))
	}
}

// usage is the help of a command.
func (f *flags) usage(w io.Writer) {
	line := strings.TrimSpace("ralph " + f.cmd.name + " " + f.cmd.args)
	fmt.Fprintf(w, "%s\n\nFlags:\n", wrap(line+": "+f.cmd.short, 0))
	if len(f.names()) == 0 {
		fmt.Fprintln(w, "  none")
	}
	f.VisitAll(func(fl *flag.Flag) {
		if fl.Usage == "" {
			return
		}
		const indent = 26
		kind, text := flag.UnquoteUsage(fl)
		name := strings.TrimSpace(fl.Name + " " + kind)
		if len(name) > indent-5 {
			name += "\n" + strings.Repeat(" ", indent-1)
		}
		fmt.Fprintf(w, "  --%-*s %s\n", indent-5, name, wrap(text, indent))
	})
	fmt.Fprintf(w, "\nExample: %s\n", f.cmd.example)
}

// width is that of a terminal that nobody has made wider, in columns.
const width = 80

// wrap breaks text into lines. It begins in the given column, and all of its
// lines do.
func wrap(text string, indent int) string {
	var b strings.Builder
	column := indent
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}
