package verify

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestTextsAcrossWrites cuts each output into two and three writes in every
// possible way, and into single bytes.
func TestTextsAcrossWrites(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ printed, text string }{
		{"a FAILED b", "FAILED"},
		{"FAILED", "FAILED"},
		{"FAFAILED", "FAILED"},
		{"FAILE FAILE D", "FAILED"},
		{"failed", "FAILED"},
		{"F\x00AILED\xff\xfe", "D\xff"},
		{"F\x00AILED", "\x00A"},
		{"F\x00AILED", "FAILED"},
		{"tests: 3 \u00fcbrig", "\u00fcb"},
		{"aaaaab", "aaab"},
		{"x", "xx"},
		{"y", "y"},
		{"", "y"},
	} {
		want := strings.Contains(tt.printed, tt.text)
		var cuts [][]string
		for i := range len(tt.printed) + 1 {
			for j := i; j <= len(tt.printed); j++ {
				cuts = append(cuts, []string{tt.printed[:i], tt.printed[i:j], tt.printed[j:]})
			}
		}
		var single []string
		for i := range len(tt.printed) {
			single = append(single, tt.printed[i:i+1])
		}
		for _, writes := range append(cuts, single) {
			o := newOutput([]string{tt.text, "a longer text than that one"}, []string{tt.text}, nil)
			s := o.stream()
			for _, w := range writes {
				s.Write([]byte(w))
			}
			if missing := slices.Contains(o.missing(), tt.text); missing == want {
				t.Errorf("%q in %q: missing %v", tt.text, writes, missing)
			}
			if forbidden := slices.Contains(o.forbidden(), tt.text); forbidden != want {
				t.Errorf("%q in %q: forbidden %v", tt.text, writes, forbidden)
			}
		}
	}
}

// TestTextsAcrossStreams: what one stream ends with and the other begins with is
// not a text that anybody printed.
func TestTextsAcrossStreams(t *testing.T) {
	t.Parallel()
	o := newOutput(nil, []string{"FAILED"}, nil)
	a, b := o.stream(), o.stream()
	a.Write([]byte("FAI"))
	b.Write([]byte("LED"))
	if diff := cmp.Diff([]string(nil), o.forbidden()); diff != "" {
		t.Error(diff)
	}
	a.Write([]byte("LED"))
	if diff := cmp.Diff([]string{"FAILED"}, o.forbidden()); diff != "" {
		t.Error(diff)
	}
}

// TestExplain: whatever is printed and however it is cut, the feedback is valid,
// bounded, and right about what it leaves out.
func TestExplain(t *testing.T) {
	t.Parallel()
	const kept = headBytes + tailBytes
	for _, tt := range []struct {
		name    string
		unit    string // printed again and again
		size    int
		leftOut int // bytes; -1 = some
	}{
		{"fits", "x", kept, 0},
		{"one too many", "x", kept + 1, 1},
		{"runes", "\u20ac", 3 * kept, 3*kept - kept/3*3 + 3}, // 2048 and 5120 bytes are 682 and 1706 runes
		{"no UTF-8, fits", "\xff", kept / 3, 0},
		{"no UTF-8, would fit but grows", "\xff", kept, -1},
		{"no UTF-8", "\xff", 100000, -1},
		{"half of it is none", "\xffa", 100000, -1},
		{"only continuations", "\x80", 100000, -1},
		{"NULs", "\x00", 100000, -1},
		{"colours", "\x1b[31mred\x1b[0m", 100000, -1},
		{"begun runes", "\xe2\x82", 100000, -1},
	} {
		for _, chunk := range []int{1, 1000, tt.size} {
			o := newOutput(nil, nil, nil)
			s := o.stream()
			all := []byte(strings.Repeat(tt.unit, tt.size/len(tt.unit)+1))[:tt.size]
			for c := range slices.Chunk(all, chunk) {
				s.Write(c)
			}
			got := o.explain(strings.Repeat("d", detailBytes))
			if !utf8.ValidString(got) || len(got) > 8<<10 || strings.ContainsAny(got, "\x00\x1b") {
				t.Errorf("%s: %d bytes of feedback: %q…", tt.name, len(got), got[:min(len(got), 1000)])
			}
			left := 0
			if _, after, ok := strings.Cut(got, "\n… "); ok {
				fmt.Sscanf(after, "%d bytes left out", &left)
			}
			if tt.leftOut >= 0 && left != tt.leftOut || tt.leftOut < 0 && (left <= 0 || left >= tt.size) {
				t.Errorf("%s in writes of %d: %d bytes left out, want %d", tt.name, chunk, left, tt.leftOut)
			}
		}
	}
}

// TestEndsKept: the parts that are quoted and the number between them make up
// the whole, wherever the cuts come to be.
func TestEndsKept(t *testing.T) {
	t.Parallel()
	for shift := range 6 {
		all := []byte(strings.Repeat("x", shift) + strings.Repeat("\u20ac", 5000) + strings.Repeat("y", shift/3))
		o := newOutput(nil, nil, nil)
		o.stream().Write(all)
		first, rest, _ := strings.Cut(o.excerpt(), "\n… ")
		_, last, _ := strings.Cut(rest, " …\n")
		var left int
		fmt.Sscanf(rest, "%d", &left)
		if !bytes.HasPrefix(all, []byte(first)) || !bytes.HasSuffix(all, []byte(last)) || len(first)+left+len(last) != len(all) {
			t.Errorf("%d: %d + %d + %d bytes of %d", shift, len(first), left, len(last), len(all))
		}
		if len(first) < headBytes-3 || len(last) < tailBytes-3 {
			t.Errorf("%d: only %d and %d bytes are kept", shift, len(first), len(last))
		}
		// Bytes that are not shown leave room for a broken rune to be shown.
		o.stream().Write(make([]byte, 30))
		if text := o.excerpt(); strings.ContainsRune(text, utf8.RuneError) {
			t.Errorf("%d: a rune is cut: %q", shift, text)
		}
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want string
	}{
		{"", ""},
		{"short", "short"},
		{"0123456789abcdef", "0123…def"},
		{"\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac", "\u20ac…\u20ac"},
		{strings.Repeat("\x80", 20), "…"},
	} {
		if diff := cmp.Diff(tt.want, ends(tt.text, 4, 3)); diff != "" {
			t.Errorf("%q: %s", tt.text, diff)
		}
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		e    External
		want string
	}{
		{External{Args: []string{"go", "test", "./..."}}, "go test ./..."},
		{External{Args: []string{"grep", "a b", "", "it's", "x\ny"}}, `grep "a b" "" "it's" "x\ny"`},
		{External{Shell: "make \\\n\t\x1b[31mtest\n"}, `make \ test`},
		{External{Shell: strings.Repeat("\u20ac", 100)}, strings.Repeat("\u20ac", 50) + "…" + strings.Repeat("\u20ac", 16)},
	} {
		if diff := cmp.Diff(tt.want, tt.e.name()); diff != "" {
			t.Error(diff)
		}
	}
}
