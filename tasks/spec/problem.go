package spec

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph/internal/doc"
	"github.com/ralph-loop/ralph/internal/nearest"
)

// A Problem is one thing that is wrong with a definition or a configuration, and where.
// The errors of [Parse], [Load], [File.Validate] and [ParseConfig] are joined Problems,
// one for each mistake, so that a person mends a file once and not once for each
// mistake. [errors.AsType] finds the first of them.
type Problem struct {
	// File as it was named; "" = not from a file.
	File string
	// Line and Column begin at 1 and are counted in characters; 0 = not known.
	Line, Column int
	// Task is the task's ID; "" = not known.
	Task string
	// Text says what is wrong and, where it is known, what would be right. It may quote
	// the file, cut to a length that fits into a message.
	Text string
}

// Error returns "file:line:column: task: text", without what is not known: the form
// that editors and terminals turn into a link.
func (p *Problem) Error() string {
	text := p.Text
	if p.Task != "" {
		text = p.Task + ": " + text
	}
	switch {
	case p.File == "" && p.Line == 0:
		return text
	case p.Line == 0:
		return p.File + ": " + text
	}
	return strings.TrimPrefix(fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, text), ":")
}

// unlocated is an error of this package that is not about a place in a file. The
// package's name is added where an error leaves the package, and nowhere else, so it
// stands there once however many functions the error passed.
type unlocated struct{ err error }

func (e unlocated) Error() string { return "spec: " + e.err.Error() }
func (e unlocated) Unwrap() error { return e.err }

// leaving is err as it leaves the package: with the package's name, unless it
// begins with the place in a file.
func leaving(err error) error {
	if p, ok := errors.AsType[*Problem](err); err == nil || ok && p.File != "" {
		return err
	}
	return unlocated{bare(err)}
}

// bare takes the package's name off an error that came back, from a caller's [Method]
// say, which has called [Env.Verifier].
func bare(err error) error {
	if e, ok := err.(unlocated); ok {
		return e.err
	}
	return err
}

// maxProblems bounds how many problems of one text are reported. Nobody reads more, and
// a generated file can have one in every line.
const maxProblems = 100

// problems collects what is wrong.
type problems []*Problem

// full is true from the first problem beyond those that are reported, which is kept to
// say "and more".
func (p problems) full() bool { return len(p) > maxProblems }

// join returns all problems as one error, in the order of the text, those
// without a place last.
func (p problems) join() error {
	first := slices.Clone(p[:min(len(p), maxProblems)])
	slices.SortStableFunc(first, func(a, b *Problem) int {
		return cmp.Or(cmp.Compare(uint(a.Line)-1, uint(b.Line)-1), cmp.Compare(a.Column, b.Column))
	})
	var all []error
	for _, one := range first {
		all = append(all, one)
	}
	if p.full() {
		all = append(all, errors.New("and more"))
	}
	return errors.Join(all...)
}

// unread makes problems of what kept a text from being read; what, which may be "",
// names the text. Other errors stay as they are.
func unread(what string, err error) error {
	var all problems
	found, ok := errors.AsType[doc.Problems](err)
	if !ok {
		return err
	}
	if what != "" {
		what += ": "
	}
	for _, p := range found {
		all = append(all, &Problem{File: p.File, Line: p.Line, Column: p.Column, Text: what + p.Text})
	}
	return all.join()
}

// Nearest returns the known word that somebody who wrote word most likely meant, "" if
// none is near enough. It is for programs that take names of methods, stages and the
// like from people, so that their messages guess as those of this package do. A guess
// is for a message only: a program that acts on it does something nobody wrote.
func Nearest(word string, known ...string) string { return nearest.Of(word, known) }

// meant is the end of a message about an unknown name: what was probably meant, or else
// all names there are.
func meant(word string, names []string) string {
	name := Nearest(word, names...)
	// method for verification_method, and the other way round.
	i := slices.IndexFunc(names, func(n string) bool { return strings.HasSuffix(n, "_"+word) || strings.HasSuffix(word, "_"+n) })
	if name == "" && i >= 0 {
		name = names[i]
	}
	if name != "" {
		return "; did you mean " + strconv.Quote(name) + "?"
	}
	return "; known are " + strings.Join(names, ", ")
}
