package tasks

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Problem is one thing that is wrong with a definition or a configuration,
// and where. The errors of [Parse], [Load], [File.Validate] and [ParseConfig]
// are joined Problems, one for each mistake.
type Problem struct {
	File         string // as it was named; "" = not from a file
	Line, Column int    // from 1, in characters; 0 = not known
	Task         string // the task's ID; "" = not known
	Text         string
}

// Error returns "file:line:column: task: text".
func (p *Problem) Error() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File + ":")
	}
	if p.Line > 0 {
		fmt.Fprintf(&b, "%d:%d:", p.Line, p.Column)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	if p.Task != "" {
		b.WriteString(p.Task + ": ")
	}
	b.WriteString(p.Text)
	return b.String()
}

// maxProblems bounds how many problems of one text are reported.
const maxProblems = 100

// problems collects what is wrong.
type problems []error

func (p problems) full() bool { return len(p) > maxProblems }

func (p *problems) add(err error) {
	switch {
	case len(*p) < maxProblems:
		*p = append(*p, err)
	case len(*p) == maxProblems:
		*p = append(*p, errors.New("and more"))
	}
}

// join returns all problems as one error, in the order of the text.
func (p problems) join() error {
	sorted := slices.Clone(p)
	slices.SortStableFunc(sorted, func(a, b error) int {
		pa, pb := placeOf(a), placeOf(b)
		return cmp.Or(cmp.Compare(pa.Line, pb.Line), cmp.Compare(pa.Column, pb.Column))
	})
	return errors.Join(sorted...)
}

// placeOf puts what has no place behind what has one.
func placeOf(err error) Problem {
	if p, ok := errors.AsType[*Problem](err); ok && p.Line > 0 {
		return *p
	}
	return Problem{Line: math.MaxInt}
}

// nearest returns the name that somebody who wrote word most likely meant, or "".
func nearest(word string, names []string) string {
	best, least := "", max(1, utf8.RuneCountInString(word)/3)+1
	plain := plainName(word)
	for _, name := range names {
		if d := distance(plain, plainName(name)); d < least {
			best, least = name, d
		}
	}
	return best
}

// plainName folds what people mix up: case, and the sign between words.
func plainName(s string) []rune {
	plain := make([]rune, 0, len(s))
	for _, c := range s {
		if c != '-' && c != '_' && c != ' ' {
			plain = append(plain, unicode.ToLower(c))
		}
	}
	return plain
}

// distance is the number of letters to insert, remove, replace or swap with
// their neighbour to make b of a. Long words are not compared.
func distance(a, b []rune) int {
	const far = 1 << 10
	if len(a) > 64 || len(b) > 64 {
		return far
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// meant is the end of a message about an unknown name.
func meant(word string, names []string) string {
	name := nearest(word, names)
	for _, n := range names {
		// method for verification_method, and the other way round.
		if name == "" && (strings.HasSuffix(n, "_"+word) || strings.HasSuffix(word, "_"+n)) {
			name = n
		}
	}
	if name != "" {
		return "; did you mean " + strconv.Quote(name) + "?"
	}
	return "; known are " + strings.Join(names, ", ")
}

// quoteShort quotes text, cut to a length that fits into a message.
func quoteShort(text string) string {
	const most = 60
	if utf8.RuneCountInString(text) > most {
		return strconv.Quote(string([]rune(text)[:most])) + "…"
	}
	return strconv.Quote(text)
}
