package stream

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// A value is what was wanted of a line. It lives until the next line.
type value struct {
	kind  byte   // 's' string, 'n' number or literal, '{', '['
	short []byte // a string, a number or a literal
	text  *text  // a string that is longer
	list  []*value
	keys  []string // of an object: those of list
}

// maxShort is the length from which a string is a text.
const maxShort = 1 << 10

// get returns what is at a path of keys, nil if it is not there.
func (v *value) get(path ...string) *value {
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

// items returns the values of an array or of an object.
func (v *value) items() []*value {
	if v == nil {
		return nil
	}
	return v.list
}

// firstOf returns the first of the named strings that is not empty.
func (v *value) firstOf(names ...string) string {
	for _, n := range names {
		if s := v.str(n); s != "" {
			return s
		}
	}
	return ""
}

// asText returns a string to keep, nil if the value is none.
func (v *value) asText() *text {
	if v == nil || v.kind != 's' {
		return nil
	}
	if v.text == nil {
		v.text = &text{buf: bytes.Clone(v.short)}
	}
	return v.text
}

// str returns the string at a path, "" if there is none.
func (v *value) str(path ...string) string {
	if v = v.get(path...); v == nil || v.kind != 's' {
		return ""
	}
	if v.text != nil {
		return v.text.String()
	}
	return strings.ToValidUTF8(string(v.short), "\uFFFD")
}

func (v *value) num(path ...string) (float64, bool) {
	if v = v.get(path...); v == nil || v.kind != 'n' {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v.short), 64)
	return f, err == nil && f-f == 0 // not NaN, not infinite
}

func (v *value) int(path ...string) int64 {
	f, ok := v.num(path...)
	if !ok || f < 0 || f > 1<<60 {
		return 0
	}
	return int64(f)
}

func (v *value) is(path ...string) bool {
	v = v.get(path...)
	return v != nil && v.kind == 'n' && string(v.short) == "true"
}
