package process

import (
	"crypto/rand"
	"errors"
	"strconv"
	"strings"
)

// A mark is what the processes of a run are known by, wherever they are: a name
// in their environment and, on Linux, a hard limit that is the run's own.
//
// The limit is that of file locks, which the kernel keeps and hands down to
// children, and otherwise has not looked at since 2.4: no value of it changes
// what a program can do. Any process may lower its hard limit, and only a
// privileged one can raise it. It is unlimited, or it is of the form
//
//	7 aaaaaaaaa 999999999    of a run
//	7 aaaaaaaaa bbbbb 9999   of a run inside that one
//	7 aaaaaaaaa bbbbb cccc   of a run inside that one, the last that has a limit
//
// so that a run inside another only lowers what it has, two of them differ, and
// the outer one knows all that is inside it by how the limit begins.
type mark struct {
	id    string // 16 letters and digits, in the environment as RALPH_RUN_<id>=1
	limit uint64 // 0 = none
}

// marker is what the environment names of runs begin with.
const marker = "RALPH_RUN_"

// What limits are made of.
const (
	lowest  = 7_000_000_000_000_000_000
	above   = 8_000_000_000_000_000_000 // from here on there is room for any mark
	outer   = 1_000_000_000             // as many values are inside a run
	inner   = 10_000                    // and inside a run in a run
	idSize  = 16
	idRunes = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

// NewMark makes a mark for one run, see [Cmd]. Nobody can guess it.
func NewMark() string { return newMark().String() }

func newMark() mark {
	return mark{id: rand.Text()[:idSize], limit: allot(ownLimit(), host.number())}
}

// allot returns the limit of the n-th run of a program that has itself the hard
// limit own; 0 = there is no room below it.
func allot(own, n uint64) uint64 {
	switch {
	case own >= above:
		return lowest + n%outer*outer + outer - 1
	case own < lowest:
		return 0
	}
	switch size := span(own); size {
	case outer:
		return own/outer*outer + n%(outer/inner-1)*inner + inner - 1
	case inner:
		return own/inner*inner + n%(inner-1)
	}
	return 0
}

// span is how many values are a run's own, and those of the runs inside it.
func span(limit uint64) uint64 {
	switch {
	case limit%outer == outer-1:
		return outer
	case limit%inner == inner-1:
		return inner
	}
	return 1
}

// holds reports whether a process with this hard limit is of the run.
func (m mark) holds(limit uint64) bool {
	return m.limit > 0 && limit/span(m.limit) == m.limit/span(m.limit)
}

// fits reports whether a program with the hard limit own may hand down the mark's.
func (m mark) fits(own uint64) bool {
	return own >= above || own > m.limit && mark{limit: own}.holds(m.limit)
}

// begins is what the limits of a run's processes begin with, in digits; they have
// 19 in all. "-" = there are none.
func (m mark) begins() string {
	if m.limit == 0 {
		return "-"
	}
	return strconv.FormatUint(m.limit/span(m.limit), 10)
}

// variable is what is in the run's environment.
func (m mark) variable() string { return marker + m.id + "=1" }

// Under is what is in the environment of a program that is not of a run and is to be
// found by its mark all the same, by [Left] and [End]; "" if it is no mark.
func Under(text string) string {
	m, err := parseMark(text)
	if err != nil {
		return ""
	}
	return m.variable()
}

func (m mark) String() string {
	if m.limit == 0 {
		return m.id
	}
	return m.id + "-" + strconv.FormatUint(m.limit, 10)
}

var errMark = errors.New("this is no mark of a run: 16 of A-Z and 2-7, a hyphen and a number of 19 digits that begins with 7")

// parseMark takes what NewMark makes, and nothing else: a mark says which
// processes are ended.
func parseMark(text string) (mark, error) {
	id, digits, limited := strings.Cut(text, "-")
	m := mark{id: id}
	if !isID(id) {
		return mark{}, errMark
	}
	if limited {
		var err error
		m.limit, err = strconv.ParseUint(digits, 10, 64)
		if err != nil || m.limit < lowest || m.limit >= above || m.String() != text {
			return mark{}, errMark
		}
	}
	return m, nil
}

// ValidMark reports whether text is of the form that [NewMark] makes.
func ValidMark(text string) bool {
	_, err := parseMark(text)
	return err == nil
}

func isID(text string) bool { return len(text) == idSize && strings.Trim(text, idRunes) == "" }
