package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
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

// parse returns the arguments that are no flags. "--" ends the flags, and -5 is
// no flag but a number that is too small.
func (f *flags) parse(args []string) ([]string, error) {
	var rest []string
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			return append(rest, args...), nil
		}
		if _, err := strconv.ParseFloat(arg, 64); err == nil || arg == "-" || !strings.HasPrefix(arg, "-") {
			rest = append(rest, arg)
			continue
		}
		var err error
		if args, err = f.one(arg, args); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

func takesValue(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return !ok || !b.IsBoolFlag()
}

// commandFirst moves the command's name before flags that stand before it, if
// they are flags of a mode.
func commandFirst(args []string) []string {
	f := &flags{FlagSet: flag.NewFlagSet("", flag.ContinueOnError)}
	modeFlags(f)
	at := 0
	for at < len(args) && strings.HasPrefix(args[at], "-") {
		name, _, valued := strings.Cut(strings.TrimLeft(args[at], "-"), "=")
		known := f.Lookup(name)
		if known == nil {
			return args
		}
		if at++; !valued && takesValue(known) {
			at++
		}
	}
	if at >= len(args) {
		return args
	}
	return slices.Concat(args[at:at+1], args[:at], args[at+1:])
}

// one takes a flag, and its value from what follows. The flag package would take
// all flags that follow, and the "--" after them.
func (f *flags) one(arg string, args []string) ([]string, error) {
	name, value, has := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	fl := f.Lookup(name)
	if fl == nil {
		return nil, fail(exitUsage, "unknown flag --%s%s; 'ralph help %s' lists them", name, didYouMeanFlag(name, f.names()), f.cmd.name)
	}
	isBool := !takesValue(fl)
	kind, text := flag.UnquoteUsage(fl)
	switch {
	case has:
	case isBool:
		value = "true"
	case len(args) == 0:
		return nil, fail(exitUsage, "--%s needs a value: %s", name, text)
	case f.isFlag(args[0]): // the value was forgotten
		return nil, fail(exitUsage, "--%s needs a value, and %s is a flag; --%s=%s would be one", name, args[0], name, args[0])
	default:
		value, args = args[0], args[1:]
	}
	if err := f.Set(name, value); err != nil {
		if isBool {
			kind = "true or false"
		}
		return nil, fail(exitUsage, "--%s: %q is no %s: %s", name, value, kind, text)
	}
	return args, nil
}

// names are the flags that are shown.
func (f *flags) names() []string {
	var names []string
	f.VisitAll(func(fl *flag.Flag) {
		if fl.Usage != "" {
			names = append(names, fl.Name)
		}
	})
	return names
}

// isFlag reports whether an argument is one of the flags, written with two signs.
func (f *flags) isFlag(arg string) bool {
	name, ok := strings.CutPrefix(arg, "--")
	name, _, _ = strings.Cut(name, "=")
	return ok && f.Lookup(name) != nil
}

// given reports whether a flag was given, whatever its value.
func (f *flags) given(name string) bool {
	given := false
	f.Visit(func(fl *flag.Flag) { given = given || fl.Name == name })
	return given
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
