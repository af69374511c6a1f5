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
	literal string   // what it begins with
	then    alphabet // what may follow a literal of less than four bytes
	names   bool     // it is no part of the secret
	format  bool     // what it finds has a kind of its own
	find    func(f *filter, at int) finding
}

// triggers find the places where a rule's literal may begin. They know the first
// four bytes of each literal by their two runs of three, so that it is enough to look
// at every second byte: one of the two stands there. That is several times as fast
// as an automaton that looks at each, and few of the places it finds are none.
type triggers struct {
	bits   [1 << 17 / 64]uint64 // by hash: some run of three may be known
	heads  [2][1 << 12]int32    // of the first and the second runs, by the first bits of the hash: the place in list, and 1
	list   []gram
	rules  []rule
	begins map[string]bool // the first one to three bytes of the literals: they may be of a secret
}

// A gram is a run of three bytes in a literal.
type gram struct {
	text uint32 // as it is loaded, see load
	rule int32
	next int32 // as heads
}

// known are the triggers of all that looks like a secret. They are not changed.
var known = sync.OnceValue(func() *triggers {
	t := &triggers{begins: map[string]bool{}}
	t.add(allRules())
	return t
})

// with returns triggers that also find other rules, and these first.
func (t *triggers) with(rules []rule) *triggers {
	all := *t
	all.list, all.rules, all.begins = slices.Clone(t.list), slices.Clone(t.rules), map[string]bool{}
	maps.Copy(all.begins, t.begins)
	all.add(rules)
	return &all
}

// add adds rules. Of those that begin at one place the first is asked first, and
// before all that were added earlier.
func (t *triggers) add(rules []rule) {
	from := len(t.rules)
	t.rules = append(t.rules, rules...)
	for i := len(t.rules) - 1; i >= from; i-- {
		r := t.rules[i]
		for _, begin := range continued(r.literal, r.then, 3) {
			t.put(begin, 0, i)
			for n := 1; n <= 3; n++ {
				t.begins[begin[:n]] = t.begins[begin[:n]] || !r.names
			}
		}
		for _, second := range continued(r.literal[1:], r.then, 3) {
			t.put(second, 1, i)
		}
	}
}

// continued lists what a text of size bytes may be that begins with literal and goes
// on with letters.
func continued(literal string, letters alphabet, size int) []string {
	if len(literal) >= size {
		return []string{literal[:size]}
	}
	var all []string
	for c := range 256 {
		if letters.has(byte(c)) {
			all = append(all, continued(literal+string([]byte{byte(c)}), letters, size)...)
		}
	}
	return all
}

func (t *triggers) put(text string, run, rule int) {
	g := load([]byte(text + "\x00"))
	h := hash(g)
	t.bits[h/64] |= 1 << (h % 64)
	t.list = append(t.list, gram{g, int32(rule), t.heads[run][h>>5]})
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
// stand; more than len(b)-3 if there is none.
func (t *triggers) next(b []byte, i int) int {
	for ; i+16 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		g0, g1, g2, g3 := uint32(x)<<8, uint32(x>>16)<<8, uint32(x>>32)<<8, load(b[i+6:])
		if t.may(g0)|t.may(g1)|t.may(g2)|t.may(g3) == 0 {
			continue
		}
		for _, g := range [...]uint32{g0, g1, g2} {
			if t.may(g) != 0 {
				return i
			}
			i += 2
		}
		return i
	}
	for ; i+3 <= len(b) && t.may(load(padded(b[i:]))) == 0; i += 2 {
	}
	return i
}

// padded is a text that can be loaded.
func padded(b []byte) []byte {
	if len(b) < 4 {
		return append(make([]byte, 0, 4), b[0], b[1], b[2], 0)
	}
	return b
}

// first is the first rule whose literal may have its first or second run at i;
// following are the others. 0 = none.
func (t *triggers) first(text uint32, run int) int32 {
	return t.following(t.heads[run][hash(text)>>5], text)
}

func (t *triggers) following(at int32, text uint32) int32 {
	for at > 0 && t.list[at-1].text != text {
		at = t.list[at-1].next
	}
	return at
}

// begun is the place of the last bytes of b, from i on, that may be the beginning of
// a literal, and of those that may be of a secret; len(b) if there are none.
func (t *triggers) begun(b []byte, i int) (literal, secret int) {
	literal, secret = len(b), len(b)
	for at := len(b) - 1; at >= max(i, len(b)-3); at-- {
		if kept, known := t.begins[string(b[at:])]; known {
			literal = at
			if kept {
				secret = at
			}
		}
	}
	return literal, secret
}

// cases are the ways in which names write a literal: token, Token and TOKEN.
func cases(literal string) []string {
	return slices.Compact([]string{literal, strings.ToUpper(literal[:1]) + literal[1:], strings.ToUpper(literal)})
}
