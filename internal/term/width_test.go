package term_test

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/term"
)

// TestWidth: samples of each kind, from EastAsianWidth.txt and from what terminals do.
func TestWidth(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want int
	}{
		{"", 0}, {"plain", 5}, {"é", 1}, {"e\u0301", 1}, {"a\u0308\u0323", 1}, {"\u20dd", 0},
		{"日本語", 6}, {"한국어", 6}, {"ひらがな", 8}, {"カタカナ", 8}, {"ｶﾀｶﾅ", 4}, {"Ａ１", 4}, {"　", 2}, {"か\u3099", 2}, {"￥", 2},
		{"😀", 2}, {"👍🏽", 4}, {"✅", 2}, {"❌", 2}, {"⌚", 2}, {"☃", 1}, {"❤", 1}, {"✓✗", 2}, {"🦀", 2}, {"\U00020000", 2}, {"\U0003fffd", 2},
		{"…·→─≈≥│", 7}, {"Ωж", 2}, {"שלום", 4}, {"नि", 2}, {"ท\u0e35", 1}, {"a\u200bb\u200d", 2}, {"x\ufe0f", 1}, {"a\u00adb", 2}, {"\ufffd", 1},
		{"\u10ff", 1}, {"\u1100", 2}, {"\u1161", 1}, {"\u1160", 0}, {"\u2e9a", 1}, {"\U00040000", 1},
	} {
		if got := term.Width(tt.text); got != tt.want {
			t.Errorf("Width(%q) = %d, want %d", tt.text, got, tt.want)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text        string
		columns     int
		right, left string
	}{
		{"plain", 5, "plain", "plain"}, {"plain", 4, "pla…", "…ain"}, {"plain", 1, "…", "…"}, {"plain", 0, "", ""}, {"plain", -1, "", ""}, {"", 0, "", ""},
		{"日本語", 6, "日本語", "日本語"}, {"日本語", 5, "日本…", "…本語"}, {"日本語", 4, "日…", "…語"}, {"日本語", 2, "…", "…"},
		{"ae\u0301io", 3, "ae\u0301…", "…io"}, {"aie\u0301", 2, "a…", "…e\u0301"}, {"ae\u0301iou", 4, "ae\u0301i…", "…iou"},
	} {
		if got := term.Cut(tt.text, tt.columns); got != tt.right {
			t.Errorf("Cut(%q, %d) = %q, want %q", tt.text, tt.columns, got, tt.right)
		}
		if got := term.CutLeft(tt.text, tt.columns); got != tt.left {
			t.Errorf("CutLeft(%q, %d) = %q, want %q", tt.text, tt.columns, got, tt.left)
		}
	}
	for n := range 40 {
		text := strings.Repeat("日e\u0301", 10)
		for _, got := range []string{term.Cut(text, n), term.CutLeft(text, n)} {
			if w := term.Width(got); w > n || w < min(n, 30)-2 {
				t.Errorf("%q is %d columns wide, not %d", got, w, n)
			}
		}
	}
}

// TestStays: signs that close, marks and modifiers stay with what is before them, and
// what follows a sign that opens stays with that.
func TestStays(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		before string
		r      rune
		want   bool
	}{
		{"日", '本', false}, {"語", 'a', false}, {"a", '日', false}, {"語", '。', true}, {"語", '、', true}, {"語", '」', true}, {"「", '日', true},
		{"(", '日', true}, {"日", ')', true}, {"日", '.', true}, {"キ", 'ャ', true}, {"か", '\u3099', true}, {"👍", '\U0001f3fd', true}, {"👍", '👍', false}, {"", '日', false},
	} {
		if got := term.Stays(tt.before, tt.r); got != tt.want {
			t.Errorf("%c behind %q: %t, want %t", tt.r, tt.before, got, tt.want)
		}
	}
}
