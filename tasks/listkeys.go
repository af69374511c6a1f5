package tasks

import (
	"hash/maphash"
	"strconv"
)

// setKeys makes the keys unique, the tasks' before the others', so that a
// criterion never takes a task's name.
func setKeys(l List) {
	set := newKeySet(len(l.Items) + len(l.Others))
	for _, items := range [2][]Item{l.Items, l.Others} {
		for i := range items {
			set.name(&items[i].Key)
		}
	}
}

// less compares IDs so that T2 comes before T10. IDs mostly rise through a file,
// which shows that none is repeated without looking any of them up.
func less(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

// A keySet is a hash table of strings that are stored elsewhere. A map would do,
// but takes most of the time of parsing a list.
type keySet struct {
	seed  maphash.Seed
	slots []keySlot
	keys  []*string
	next  map[string]int // number to try next for a repeated key
}

type keySlot struct {
	hash uint32
	key  uint32 // index into keys + 1; 0 = free
}

func newKeySet(n int) *keySet {
	size := 8
	for size < 2*n {
		size *= 2
	}
	return &keySet{seed: maphash.MakeSeed(), slots: make([]keySlot, size), keys: make([]*string, 0, n)}
}

// name adds a key, with a number if it is in the set already.
func (s *keySet) name(key *string) {
	if s.add(key) {
		return
	}
	if s.next == nil {
		s.next = make(map[string]int)
	}
	base := *key
	for n := max(s.next[base], 2); ; n++ {
		*key = base + "#" + strconv.Itoa(n)
		if s.add(key) {
			s.next[base] = n + 1
			return
		}
	}
}

func (s *keySet) add(key *string) bool {
	sum := maphash.String(s.seed, *key)
	hash, mask := uint32(sum>>32), uint64(len(s.slots)-1)
	for i := sum & mask; ; i = (i + 1) & mask {
		slot := &s.slots[i]
		if slot.key == 0 {
			s.keys = append(s.keys, key)
			*slot = keySlot{hash, uint32(len(s.keys))}
			return true
		}
		if slot.hash == hash && *s.keys[slot.key-1] == *key {
			return false
		}
	}
}
