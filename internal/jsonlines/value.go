package jsonlines

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph/internal/reply"
)

// A Filter says which keys of an object are wanted; "*" stands for all others. A
// nil Filter wants a scalar; the Filter of an array is that of its elements.
type Filter map[string]Filter

// Keys returns a Filter that wants the scalars under these keys.
func Keys(names ...string) Filter {
	f := Filter{}
	for _, n := range names {
		f[n] = nil
	}
	return f
}

// With adds to a Filter what is wanted under one more key, and returns it.
func (f Filter) With(name string, sub Filter) Filter {
	f[name] = sub
	return f
}

// beginning is the key that marks a Filter of [Beginning]; no client has such a key.
const beginning = "\x00"

// Beginning returns a Filter that wants of a string the first 192 bytes, as they are
// written, and of an array
// such strings. What follows is passed by; an ellipsis stands for it. With [Filter.With]
// it is that of an object. Of a line, at most 256 values are taken for such Filters, which
// take nothing away from the others.
func Beginning() Filter { return Filter{beginning: nil} }

// A plan is a Filter that is quick to ask: an object has few keys.
type plan struct {
	brief bool
	keys  []*planned
	other *planned // "*"; nil = none
}

type planned struct {
	name   string
	filter Filter
	plan   *plan // of the filter, made when it is needed, for a Filter may hold itself
}

// newPlan returns the plan of a Filter, nil for one that wants a scalar.
func newPlan(f Filter) *plan {
	if f == nil {
		return nil
	}
	p := new(plan)
	for name, sub := range f {
		switch name {
		case beginning:
			p.brief = true
		case "*":
			p.other = &planned{filter: sub}
		default:
			p.keys = append(p.keys, &planned{name: name, filter: sub})
		}
	}
	return p
}

// of returns what is wanted under a key, nil if nothing is.
func (p *plan) of(key []byte) *planned {
	if p == nil {
		return nil
	}
	w := p.other
	for _, k := range p.keys {
		if string(key) == k.name {
			w = k
			break
		}
	}
	if w != nil && w.plan == nil {
		w.plan = newPlan(w.filter)
	}
	return w
}

// A Value is what was wanted of a line. It lives until the next line is read; only
// what [Value.Long] returns may be kept. All methods take nil, for a value that is
// not there.
type Value struct {
	kind  byte        // 's' string, 'b' the beginning of one, 'n' number or literal, '{', '['
	short []byte      // a string, a number or a literal; of a beginning, as it is written
	text  *reply.Text // a string that is longer
	list  []*Value
	keys  []string // of an object: those of list
}

// maxShort is the length from which a string is a text.
const maxShort = 1 << 10

// Get returns what is at a path of keys, nil if it is not there.
func (v *Value) Get(path ...string) *Value {
	for _, k := range path {
		if v == nil {
			return nil
		}
		n := slices.Index(v.keys, k)
		if n < 0 {
			return nil
		}
		v = v.list[n]
	}
	return v
}

// Items returns the values of an array or of an object.
func (v *Value) Items() []*Value {
	if v == nil {
		return nil
	}
	return v.list
}

// Key returns the key of an object's nth value.
func (v *Value) Key(n int) string { return v.keys[n] }

// IsArray reports whether the value is an array.
func (v *Value) IsArray() bool { return v != nil && v.kind == '[' }

// IsObject reports whether the value is an object.
func (v *Value) IsObject() bool { return v != nil && v.kind == '{' }

// FirstOf returns the first of the named strings that is not empty.
func (v *Value) FirstOf(names ...string) string {
	for _, n := range names {
		if s := v.Str(n); s != "" {
			return s
		}
	}
	return ""
}

// Long returns a string to keep, of which the middle may be left out, nil if the
// value is none.
func (v *Value) Long() *reply.Text {
	if v == nil || v.kind != 's' {
		return nil
	}
	if v.text == nil {
		v.text = reply.Of(v.short)
	}
	return v.text
}

// Str returns the string at a path, "" if there is none.
func (v *Value) Str(path ...string) string {
	v = v.Get(path...)
	switch {
	case v == nil:
		return ""
	case v.kind == 'b':
		return brief(v.short)
	case v.kind != 's':
		return ""
	}
	if v.text != nil {
		return v.text.String()
	}
	return strings.ToValidUTF8(string(v.short), "\uFFFD")
}

// Scalar returns a string, or a number or literal as it is written, "" for others.
func (v *Value) Scalar() string {
	if v != nil && v.kind == 'n' {
		return string(v.short)
	}
	return v.Str()
}

// Number returns the number at a path, if there is one that is finite.
func (v *Value) Number(path ...string) (float64, bool) {
	if v = v.Get(path...); v == nil || v.kind != 'n' {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v.short), 64)
	return f, err == nil && f-f == 0 // not NaN, not infinite
}

// Int returns the number at a path without its fraction, 0 if there is none or it is
// negative or above 1<<60: it counts things.
func (v *Value) Int(path ...string) int64 {
	f, ok := v.Number(path...)
	if !ok || f < 0 || f > 1<<60 {
		return 0
	}
	return int64(f)
}

// True reports whether true stands at a path.
func (v *Value) True(path ...string) bool {
	v = v.Get(path...)
	return v != nil && v.kind == 'n' && string(v.short) == "true"
}
