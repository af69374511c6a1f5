package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// flags are a command's flags: its handles and its own. They may stand before,
// between and after its arguments.
type flags struct {
	*flag.FlagSet
	cmd     command
	do      action
	handles []handle
	help    bool
}

// A list is a flag that may be given several times.
type list []string

func (l *list) String() string     { return strings.Join(*l, ", ") }
func (l *list) Set(v string) error { *l = append(*l, v); return nil }

// An optional is a flag that is given alone or with one word: on, or require.
type optional string

func (o *optional) String() string   { return string(*o) }
func (o *optional) IsBoolFlag() bool { return true }
func (o *optional) Set(v string) error {
	switch v {
	case "true", "on":
		*o = "on"
	case "false", "off":
		*o = ""
	case "require":
		*o = "require"
	default:
		return errors.New("not known")
	}
	return nil
}

func newFlags(c command) *flags {
	f := &flags{FlagSet: flag.NewFlagSet(c.name, flag.ContinueOnError), cmd: c, do: c.action()}
	f.SetOutput(io.Discard)
	f.BoolVar(&f.help, "help", false, "")
	f.BoolVar(&f.help, "h", false, "")
	f.handles = slices.DeleteFunc(f.do.common().handles(), func(h handle) bool { return !slices.Contains(h.on, c.name) })
	for _, h := range f.handles {
		f.add(h)
	}
	if own, ok := f.do.(interface{ own(*flag.FlagSet) }); ok {
		own.own(f.FlagSet)
	}
	return f
}

func (f *flags) add(h handle) {
	switch to := h.to.(type) {
	case *string:
		f.StringVar(to, h.name, *to, h.help)
	case *bool:
		f.BoolVar(to, h.name, *to, h.help)
	case *int:
		f.IntVar(to, h.name, *to, h.help)
	case *int64:
		f.Int64Var(to, h.name, *to, h.help)
	case *float64:
		f.Float64Var(to, h.name, *to, h.help)
	case *time.Duration:
		f.DurationVar(to, h.name, *to, h.help)
	case *list:
		f.Var(to, h.name, h.help)
	case *optional:
		f.Var(to, h.name, h.help)
	default:
		panic("a handle of an unknown kind: " + h.name)
	}
}

// parse returns the arguments that are no flags. "--" ends the flags, or what is ours
// where another program's command line may follow; -5 is no flag but a number that is too
// small, nor is the item of a list, with which a prompt may begin.
func (f *flags) parse(args []string) (rest []string, err error) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			if own, ok := f.do.(interface{ after([]string) }); ok {
				own.after(args)
			} else {
				rest = append(rest, args...)
			}
			break
		}
		if _, err := strconv.ParseFloat(arg, 64); err == nil || arg == "-" || strings.HasPrefix(arg, "- ") || !strings.HasPrefix(arg, "-") {
			rest = append(rest, arg)
			continue
		}
		if args, err = f.one(arg, args); err != nil {
			return nil, err
		}
	}
	if f.help {
		return rest, nil
	}
	s := f.do.common()
	s.given = map[string]bool{}
	f.Visit(func(fl *flag.Flag) { s.given[fl.Name] = true })
	for _, h := range f.handles {
		if err := s.checked(h); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// one takes a flag, and its value from what follows. The flag package would take
// all flags that follow, and the "--" after them.
func (f *flags) one(arg string, args []string) ([]string, error) {
	name, value, has := cutFlag(arg)
	fl := f.Lookup(name)
	if fl == nil {
		return nil, fail(exitUsage, "unknown flag --%s%s; 'ralph help %s' lists them", name, didYouMean(name, "--", f.names()), f.cmd.name)
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
			if _, ok := fl.Value.(*optional); ok {
				kind = "on, off or require"
			}
		}
		return nil, fail(exitUsage, "--%s: %q is no %s: %s", name, value, kind, text)
	}
	return args, nil
}

func cutFlag(arg string) (name, value string, has bool) {
	return strings.Cut(strings.TrimLeft(arg, "-"), "=")
}

func takesValue(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return !ok || !b.IsBoolFlag()
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
	name, _, _ := cutFlag(arg)
	return strings.HasPrefix(arg, "--") && f.Lookup(name) != nil
}

// didYouMean is a word of the known ones that was probably meant, as a question.
func didYouMean(word, sign string, known []string) string {
	if near := spec.Nearest(word, known...); near != "" {
		return fmt.Sprintf(" (did you mean %s%s?)", sign, near)
	}
	return ""
}

// usage is the help of a command.
func (f *flags) usage(w io.Writer) {
	begin := strings.TrimSpace("ralph "+f.cmd.name+" "+f.cmd.args) + f.cmd.then
	fmt.Fprintf(w, "%s\n\nFlags:\n", wrap(begin+": "+f.cmd.short, 0))
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
	fmt.Fprintf(w, "\nExamples:\n  %s\n", strings.ReplaceAll(strings.ReplaceAll(f.cmd.examples, "\n\n", "\n"), "\n", "\n  "))
}

// width is that of a terminal that nobody has made wider, in columns.
const width = 80

// wrap breaks text into lines. It begins in the given column, and all of its
// lines do.
func wrap(text string, indent int) string {
	begin := strings.Repeat(" ", indent)
	return progress.PrintableWrap(begin+line(text), begin, width)[indent:]
}
