package jsonlines

import (
	"bytes"
	"slices"
)

func (r *Reader) startValue(p []byte, top *frame) []byte {
	c := p[0]
	brief := r.next != nil && r.next.brief
	wanted := r.wanted && r.room(brief)
	switch {
	case c == ']' && top.v.kind == '[' && len(top.v.list) == 0:
		return r.pop(p[1:])
	case c == '"':
		r.state, r.str, r.brief, r.odd, r.isKey = inString, nil, nil, false, false
		switch {
		case wanted && brief:
			r.brief = r.add('b')
		case wanted:
			r.str = r.add('s')
		}
		return p[1:]
	case c == '{' || c == '[':
		return r.startContainer(p, wanted)
	case bytes.IndexByte([]byte("-0123456789tfnNI"), c) >= 0:
		r.state, r.lit, r.num = inLiteral, r.lit[:0], nil
		if wanted {
			r.num = r.add('n')
		}
		return p
	}
	return r.torn(p)
}

// room reports whether a value more may be kept, and counts it if it is brief.
func (r *Reader) room(brief bool) bool {
	if !brief {
		return r.values-r.briefs < maxValues
	}
	if r.briefs == maxBrief {
		return false
	}
	r.briefs++
	return true
}

func (r *Reader) startContainer(p []byte, wanted bool) []byte {
	if !wanted || r.next == nil || len(r.stack) >= maxDepth {
		r.state, r.depth, r.inStr, r.odd = inSkipped, 1, false, false
		return p[1:]
	}
	r.stack = append(r.stack, frame{v: r.add(p[0]), want: r.next})
	r.state = beforeKey
	if p[0] == '[' {
		r.state, r.wanted = beforeValue, true
	}
	return p[1:]
}

// value returns a value to be filled.
func (r *Reader) value(kind byte) *Value {
	if r.values == len(r.slab) {
		r.slab = append(r.slab, new(Value))
	}
	v := r.slab[r.values]
	r.values++
	*v = Value{kind: kind, short: v.short[:0], list: v.list[:0], keys: v.keys[:0]}
	return v
}

// add puts a new value where it belongs. Of a key that is there twice, the last
// counts.
func (r *Reader) add(kind byte) *Value {
	v := r.value(kind)
	top := &r.stack[len(r.stack)-1]
	if top.v.kind == '{' {
		if n := slices.Index(top.v.keys, top.key); n >= 0 {
			top.v.list[n] = v
			return v
		}
		top.v.keys = append(top.v.keys, top.key)
	}
	top.v.list = append(top.v.list, v)
	return v
}
