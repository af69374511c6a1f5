package tasks

import (
	"cmp"
	"slices"
	"strings"
)

// Schemes count what the IDs of a list are like. What begins like an ID is one only if
// others begin so: "H2 database" and "TLS-1.3" do too. A list of the words that are no
// IDs would never be complete.
type schemes struct {
	all []scheme // the first is that of boxes without an ID
	// by name; chunks count on their own, and their indexes differ
	index map[string]int32
	boxes [2]int // those that are no criteria: not nested below another box, and nested
}

// A scheme is the way in which some IDs are written.
type scheme struct {
	// the ID up to its first digit: "T", "TASK-"; "P" for P0 to P4; "A" for any other
	// single letter but T, since lists go from A1 to B1; "" for numbers
	name string
	// by boxes that are not nested below another box, and by nested ones: steps of
	// tasks often have numbers of their own, which say nothing about the tasks
	at   [2]usage
	mine [2]bool // it is the list's, there
}

// A usage is how often and how IDs of a scheme are used. IDs rise through a list
// because somebody has counted; words with a number in them do not.
type usage struct {
	n, sure, rises     int    // IDs; those that are surely meant so; those that are higher than the last
	first, last, least string // IDs
	anew               bool   // the least came again: so steps of tasks are numbered
}

// isCriterionScheme reports whether IDs are those of acceptance and success criteria,
// as requirements documents number them.
func isCriterionScheme(name string) bool { return name == "AC-" || name == "SC-" }

// maxSchemes bounds how many schemes are told apart, against texts that are made to
// have as many as boxes. All others are one.
const maxSchemes = 1000

// add notes the ID of a box, "" if it has none, and returns the index of its scheme.
// Criteria do not count, neither for the IDs nor for the boxes of which most must have
// one.
func (s *schemes) add(id string, sure, nested, criterion bool) int32 {
	where := 0
	if nested {
		where = 1
	}
	if !criterion {
		s.boxes[where]++
	}
	if id == "" {
		return 0
	}
	i := s.find(schemeOf(id))
	if criterion {
		return i
	}
	u := &s.all[i].at[where]
	u.n++
	if sure {
		u.sure++
	}
	if above(id, u.last) {
		u.rises++
	}
	u.low(id, false)
	if u.first == "" {
		u.first = id
	}
	u.last = id
	return i
}

// above reports whether an ID is higher than another one of its scheme, as each is than
// "". A longer one is: T10 comes behind T9. Numbers are not read, which would be slower
// and differ only for zeros.
func above(id, than string) bool { return len(id) > len(than) || len(id) == len(than) && id > than }

// low notes an ID that may be the least, and whether it came again among those of which it
// was.
func (u *usage) low(id string, anew bool) {
	switch {
	case u.least == "" || above(u.least, id):
		u.least, u.anew = id, anew
	case id == u.least:
		u.anew = true
	}
}

// schemeOf is the name of the scheme that an ID is of.
func schemeOf(id string) string {
	n := 0
	for n < len(id) && !isDigit(rune(id[n])) {
		n++
	}
	if n == 1 && len(id) == 2 && id[0] == 'P' && id[1] < '5' {
		return "P" // or a priority
	}
	if n == 1 && isLetter(rune(id[0])) && id[0]|0x20 != 't' {
		return "A"
	}
	return id[:n]
}

// find is the index of a scheme, which is new if none has the name.
func (s *schemes) find(name string) int32 {
	if n := len(s.all) - 1; n > 0 && s.all[n].name == name {
		return int32(n) // mostly
	}
	if i, ok := s.index[name]; ok {
		return i
	}
	if s.index == nil {
		s.index, s.all = map[string]int32{}, make([]scheme, 1, 4)
	}
	if len(s.all) > maxSchemes {
		return int32(len(s.all) - 1)
	}
	s.all = append(s.all, scheme{name: name})
	s.index[name] = int32(len(s.all) - 1)
	return s.index[name]
}

// join adds what was counted behind, and returns the indexes here of the schemes there.
// What comes of it is what one scan of both texts would count.
func (s *schemes) join(behind schemes) []int32 {
	now := make([]int32, max(1, len(behind.all)))
	for where := range s.boxes {
		s.boxes[where] += behind.boxes[where]
	}
	for i := 1; i < len(behind.all); i++ {
		now[i] = s.find(behind.all[i].name)
		for where, b := range behind.all[i].at {
			u := &s.all[now[i]].at[where]
			if b.n == 0 {
				continue
			}
			if !above(b.first, u.last) {
				b.rises-- // there it had none before it
			}
			u.n, u.sure, u.rises = u.n+b.n, u.sure+b.sure, u.rises+b.rises
			u.low(b.least, b.anew)
			u.first, u.last = cmp.Or(u.first, b.first), b.last
		}
	}
	return now
}

// choose decides which schemes are the list's.
//
// At the top those are that most boxes follow, that are surely meant, and that rise
// through the file. If those have not most boxes, but all schemes together have, as where
// each part of a system has its own, all are, unless they are single words.
//
// Among nested boxes it is those of the top too. Others, such as MODEL-1 below T001, name
// parts of a task, unless most nested boxes follow one and its numbers do not begin anew
// below each task; or unless there is none at the top.
func (s *schemes) choose() {
	mine, together := 0, 0
	// Once one ID is surely meant, the list has a way of writing them, and what only
	// looks like one needs more to be taken for one.
	sure := slices.ContainsFunc(s.all, func(f scheme) bool { return f.at[0].sure > 0 && !f.priority() })
	for i := range s.all {
		f := &s.all[i]
		f.mine[0] = f.top(s.boxes[0], sure)
		if together += f.at[0].rises; f.mine[0] {
			mine += f.at[0].n
		}
	}
	all := !sure && mine*2 < s.boxes[0] && together >= 2*(len(s.all)-1) && together*2 >= s.boxes[0]
	for i := range s.all {
		f, u := &s.all[i], s.all[i].at[1]
		if f.priority() {
			continue
		}
		f.mine[0] = f.mine[0] || all && f.at[0].n > 0
		f.mine[1] = f.mine[0] || u.n > 0 && u.most(s.boxes[1]) || mine == 0 && !all && u.clear()
	}
}

// top reports whether a scheme is the list's by itself, among so many boxes that are not
// nested. Where others are surely meant, V1, V2 and V3 are versions.
func (f *scheme) top(boxes int, sure bool) bool {
	u := f.at[0]
	known := f.name == "" || f.name == "T" || strings.HasSuffix(f.name, "-")
	most := u.rises*2 >= boxes && (u.rises > 1 || known)
	return !f.priority() && (u.n > 0 && most || u.sure > 0 || !sure && u.clear())
}

// priority reports whether the "IDs" are P0 to P4, of which one comes again.
func (f *scheme) priority() bool {
	return f.name == "P" && f.at[0].n+f.at[1].n > f.at[0].rises+f.at[1].rises
}

// most reports whether most of so many nested boxes have an ID of the scheme.
func (u usage) most(boxes int) bool { return u.n*2 >= boxes && u.rises*2 >= u.n && !u.anew }

// clear reports whether the IDs are meant as such, few or many.
func (u usage) clear() bool { return u.sure > 0 || u.rises > 2 }

// has reports whether a box has an ID. A criterion that is taken, see
// [ListFile.Criteria], keeps the ID that people call it by.
func (s *schemes) has(b *box) bool {
	if b.scheme == 0 {
		return false
	}
	f := &s.all[b.scheme]
	if b.why == isCriterion && isCriterionScheme(f.name) {
		return true
	}
	return b.parent < 0 && f.mine[0] || b.parent >= 0 && f.mine[1]
}
