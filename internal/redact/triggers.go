package redact

import (
	"encoding/binary"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
)

// A rule says what is a secret where a text goes on with its literal.
type rule struct {
	literal string                                // what it begins with
	then    alphabet                              // what may follow one of three bytes
	apart   bool                                  // it does not stand within a word
	names   bool                                  // it is no part of the secret
	format  bool                                  // what it finds has a kind of its own
	find    func(f *filter, at, from int) finding // it stands at, and what follows it begins from
}

// triggers find the places where a rule's literal may begin. They know the first
// four bytes of each literal by their two runs of three, so that it is enough to look
// at every second byte: one of the two stands there. That is several times as fast
// as an automaton that looks at each, and few of the places it finds are none.
type triggers struct {
	bits   [1 << 17 / 64]uint64 // by hash: some run of three may be known
	heads  [2][1 << 12]int32    // of the first and the second runs, by the first bits of the hash; as next
	list   []gram
	rules  []rule
	begins map[string]begun // the first one to three bytes of the literals
}

// A gram is a run of three bytes in a literal.
type gram struct {
	head uint32 // the literal's first four bytes
	mask uint32 // those that it has
	rule int32
	next int32 // of those with the same bits, its place in list and 1; 0 = none
}

// begun says of what a text may be the beginning: of a secret anywhere, or of one
// that does not stand within a word. The zero value is that of a name.
type begun struct{ anywhere, apart bool }

// known are the triggers of all that looks like a secret. They are not changed.
var known = sync.OnceValue(func() *triggers { return (&triggers{}).with(allRules()) })

// with returns triggers that also find other rules. Of those that begin at one place
// the first is asked first, and before all that were known.
func (t *triggers) with(rules []rule) *triggers {
	all := *t
	all.list, all.rules, all.begins = slices.Clip(t.list), append(slices.Clip(t.rules), rules...), map[string]begun{}
	maps.Copy(all.begins, t.begins)
	for i := len(all.rules) - 1; i >= len(t.rules); i-- {
		r := all.rules[i]
		for n := range 3 {
			b := all.begins[r.literal[:n+1]]
			all.begins[r.literal[:n+1]] = begun{b.anywhere || !r.names && !r.apart, b.apart || !r.names}
		}
		all.put(r.literal[:3], 0, i)
		for c := range 256 {
			if b := byte(c); len(r.literal) > 3 && r.literal[3] == b || len(r.literal) == 3 && r.then.has(b) {
				all.put(string(append([]byte(r.literal[1:3]), b)), 1, i)
			}
		}
	}
	return &all
}

func (t *triggers) put(text string, run, rule int) {
	h, literal := hash(load([]byte(text+room))), t.rules[rule].literal
	t.bits[h/64] |= 1 << (h % 64)
	head, mask := binary.LittleEndian.Uint32([]byte(literal+room)), uint32(0xffffffff)
	if len(literal) == 3 {
		mask >>= 8
	}
	t.list = append(t.list, gram{head & mask, mask, int32(rule), t.heads[run][h>>5]})
	t.heads[run][h>>5] = int32(len(t.list))
}

// load is a run of three bytes; there must be four.
func load(b []byte) uint32 { return binary.LittleEndian.Uint32(b) << 8 }

func hash(g uint32) uint32 { return g * 0x9e3779b1 >> 15 }

func (t *triggers) may(g uint32) uint64 {
	h := hash(g)
	return t.bits[h/64] >> (h % 64) & 1
}

// next is the first place from i on, by steps of two, where a run that is known may
// stand; more than size-3 if there is none. b goes on behind its size.
func (t *triggers) next(b []byte, i, size int) int {
	for ; i+3 <= size; i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		grams := [4]uint32{uint32(x) << 8, uint32(x>>16) << 8, uint32(x>>32) << 8, load(b[i+6:])}
		if t.may(grams[0])|t.may(grams[1])|t.may(grams[2])|t.may(grams[3]) == 0 {
			continue
		}
		for n, g := range grams {
			if t.may(g) != 0 {
				return i + 2*n
			}
		}
	}
	return i
}

// asked are the rules whose literal may begin where b does, by their first or second
// run. b goes on behind what is looked at.
func (t *triggers) asked(b []byte, run int) iter.Seq[*rule] {
	return func(yield func(*rule) bool) {
		head := binary.LittleEndian.Uint32(b)
		for n := t.heads[run][hash(load(b[run:]))>>5]; n > 0; n = t.list[n-1].next {
			if g := &t.list[n-1]; head&g.mask == g.head && !yield(&t.rules[g.rule]) {
				return
			}
		}
	}
}

// cases are the ways in which names write a literal: token, Token and TOKEN.
func cases(literal string) []string {
	return slices.Compact([]string{literal, strings.ToUpper(literal[:1]) + literal[1:], strings.ToUpper(literal)})
}
