package redact

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"sync"
)

// A rule says what is a secret where a text goes on with its literal.
type rule struct {
	literal string                                // what it begins with, in three bytes or more
	then    alphabet                              // what may follow one of three bytes
	apart   bool                                  // it does not stand within a word
	leads   bool                                  // it is no part of the secret, but leads to it
	format  bool                                  // what it finds has a kind of its own
	named   bool                                  // it is a value that is known
	find    func(f *filter, at, from int) finding // it stands at, and what follows it begins from
}

// triggers find the places where a rule's literal may begin. They know the first
// four bytes of each literal by their two runs of three, so that it is enough to look
// at every second byte: one of the two stands there. That is several times as fast
// as an automaton that looks at each, and few of the places it finds are none.
type triggers struct {
	bits   [1 << 17 / 64]uint64 // by hash: some run of three may be known
	rules  [1 << 12][]*rule     // by the first bits of the hash of the literal's first run
	begins map[string][]*rule   // by the first one to three bytes
}

// known are the triggers of all that looks like a secret. They are not changed.
var known = sync.OnceValue(func() *triggers { return (&triggers{begins: map[string][]*rule{}}).with(allRules()) })

// with returns triggers that also find other rules. Of those that begin at one place
// the first is asked first, and before all that were known.
func (t *triggers) with(rules []rule) *triggers {
	all := *t
	all.begins = maps.Clone(t.begins)
	for _, r := range slices.Backward(rules) {
		for n := range 3 {
			all.begins[r.literal[:n+1]] = append([]*rule{&r}, all.begins[r.literal[:n+1]]...)
		}
		first := all.put(r.literal[:3])
		all.rules[first] = append([]*rule{&r}, all.rules[first]...)
		for c := range 256 {
			if b := byte(c); len(r.literal) > 3 && r.literal[3] == b || len(r.literal) == 3 && r.then[b] {
				all.put(r.literal[1:3] + string([]byte{b}))
			}
		}
	}
	return &all
}

// put says that a run of three bytes is known, and where its rules are.
func (t *triggers) put(run string) int {
	h := hash(load([]byte(run + room)))
	t.bits[h/64] |= 1 << (h % 64)
	return int(h >> 5)
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

// cases are the ways in which names write a literal: token, Token and TOKEN.
func cases(literal string) []string {
	return slices.Compact([]string{literal, strings.ToUpper(literal[:1]) + literal[1:], strings.ToUpper(literal)})
}
