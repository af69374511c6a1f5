package main

import (
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
)

// flags are a command's flags. They may stand before, between and after its
// arguments.
type flags struct {
	*flag.FlagSet
	cmd  command
	help bool

	agent, agentCmd, format, model  string
	timeout, idleTimeout            time.Duration
	maxCost                         float64
	verify, promise, match, blocked string
	always, strict, dryRun          bool
	dir, config                     string

	// of run, verify, task and log
	max                              int
	template, progress, log          string
	allBoxes, json, templates        bool
	stage, judge, judgeModel, output string
	file, outcome, description       string
	priority                         int
	acceptance, depends              list
	agents                           map[string]*criteriaFlags
}

// A list is a flag that may be given several times.
type list []string

func (l *list) String() string     { return strings.Join(*l, ", ") }
func (l *list) Set(v string) error { *l = append(*l, v); return nil }

func newFlags(c command) *flags {
	f := &flags{FlagSet: flag.NewFlagSet(c.name, flag.ContinueOnError), cmd: c}
	f.SetOutput(io.Discard)
	f.BoolVar(&f.help, "help", false, "")
	f.BoolVar(&f.help, "h", false, "")
	if c.flags != nil {
		c.flags(f)
	}
	return f
}

// parse returns the arguments that are no flags. "--" ends the flags.
func (f *flags) parse(args []string) ([]string, error) {
	var rest []string
	for len(args) > 0 {
		arg := args[0]
		if arg == "--" {
			return append(rest, args[1:]...), nil
		}
		if arg == "-" || !strings.HasPrefix(arg, "-") {
			rest, args = append(rest, arg), args[1:]
			continue
		}
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if f.Lookup(name) == nil {
			var names []string
			f.VisitAll(func(fl *flag.Flag) {
				if fl.Usage != "" {
					names = append(names, fl.Name)
				}
			})
			return nil, fail(exitUsage, "unknown flag --%s%s; 'ralph help %s' lists them", name, didYouMeanFlag(name, names), f.cmd.name)
		}
		if err := f.FlagSet.Parse(args); err != nil {
			return nil, fail(exitUsage, "%s", err)
		}
		args = f.FlagSet.Args()
	}
	return rest, nil
}

func (f *flags) usage(w io.Writer) {
	line := strings.TrimSpace("ralph " + f.cmd.name + " " + f.cmd.args)
	fmt.Fprintf(w, "%s: %s\n\nFlags:\n", line, f.cmd.short)
	none := true
	f.VisitAll(func(fl *flag.Flag) {
		if fl.Usage == "" {
			return
		}
		none = false
		kind, text := flag.UnquoteUsage(fl)
		fmt.Fprintf(w, "  --%-22s %s\n", strings.TrimSpace(fl.Name+" "+kind), text)
	})
	if none {
		fmt.Fprintln(w, "  none")
	}
	fmt.Fprintf(w, "\nExample: %s\n", f.cmd.example)
}

func didYouMeanFlag(name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf(" (did you mean --%s?)", near)
	}
	return ""
}

func didYouMean(name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}

// nearest returns the known word that takes the fewest edits, "" if there is
// none.
func nearest(word string, known []string) string {
	best, near := len(word)+1, ""
	for _, k := range known {
		if d := edits(word, k); d < best {
			best, near = d, k
		}
	}
	return near
}

func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// splitWords splits a command as a shell would, with quotes and backslashes, and
// expands nothing.
func splitWords(line string) ([]string, error) {
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
		case strings.ContainsRune(";|&<>()$`", r):
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
