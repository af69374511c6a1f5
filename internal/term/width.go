package term

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Width is how many columns of a terminal a line of [Clean] text takes. Wide characters
// take two, combining marks and what [Invisible] names none, tabs and all others one:
// replace tabs first. Characters of ambiguous width, such as "…" and "·", count as one,
// as they do on all terminals that are not set up for CJK.
func Width(text string) int {
	n := 0
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf { // most text
			n++
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		n += runeWidth(r)
		i += size
	}
	return n
}

// Cut returns text if it is no wider than so many columns, else as much of its
// beginning as fits with "…" behind it. A combining mark stays with its letter.
func Cut(text string, columns int) string {
	if Width(text) <= columns {
		return text
	}
	if columns < 1 {
		return ""
	}
	n := 0
	for at, r := range text {
		if n += runeWidth(r); n > columns-1 {
			return text[:at] + "…"
		}
	}
	return text // the width says that this is not reached
}

// CutLeft is [Cut] at the other end: "…" stands before as much of the end as fits.
func CutLeft(text string, columns int) string {
	if Width(text) <= columns {
		return text
	}
	if columns < 1 {
		return ""
	}
	n, from := 0, len(text)
	for at := len(text); at > 0; {
		r, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
		w := runeWidth(r)
		if n += w; n > columns-1 {
			break
		}
		if w > 0 { // a mark without its letter would stand on the "…"
			from = at
		}
	}
	return "…" + text[from:]
}

// Stays reports whether a character must not begin a line, behind what ends with before:
// a mark or a modifier of the character there, a sign that closes, one that ends a
// sentence, a small kana; or any behind a sign that opens. It is for scripts that are
// written without blanks, which are broken between any other two characters.
func Stays(before string, r rune) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	switch {
	case runeWidth(r) == 0, r >= 0x1f3fb && r <= 0x1f3ff, unicode.In(r, unicode.Pe, unicode.Pf):
		return true
	case unicode.In(last, unicode.Ps, unicode.Pi):
		return true
	}
	return strings.ContainsRune("、。，．：；！？％・ー々〜…,.:;!?%\"'ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ", r)
}

// FoldTabs replaces tabs by four blanks, for what has to have a known width.
func FoldTabs(text string) string { return strings.ReplaceAll(text, "\t", "    ") }

func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		if r == 0xad {
			return 0
		}
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me), Invisible(r):
		return 0
	case r < wide[0][0]:
		return 1
	}
	at := sort.Search(len(wide), func(i int) bool { return wide[i][1] >= r })
	if at < len(wide) && wide[at][0] <= r {
		return 2
	}
	return 1
}

// wide are the characters that take two columns: those whose East_Asian_Width is W or F
// in EastAsianWidth.txt of Unicode 15.0, the version that package unicode has too. The
// planes 2 and 3 are wide as a whole, with what is not assigned in them yet. It is
// sorted, and only read.
//
// Later versions add a few characters: a line for each will do. One that is missing is
// counted one column too few, so that a line of many of them may wrap.
var wide = [...][2]rune{
	{0x1100, 0x115f}, {0x231a, 0x231b}, {0x2329, 0x232a}, {0x23e9, 0x23ec}, {0x23f0, 0x23f0}, {0x23f3, 0x23f3},
	{0x25fd, 0x25fe}, {0x2614, 0x2615}, {0x2648, 0x2653}, {0x267f, 0x267f}, {0x2693, 0x2693}, {0x26a1, 0x26a1},
	{0x26aa, 0x26ab}, {0x26bd, 0x26be}, {0x26c4, 0x26c5}, {0x26ce, 0x26ce}, {0x26d4, 0x26d4}, {0x26ea, 0x26ea},
	{0x26f2, 0x26f3}, {0x26f5, 0x26f5}, {0x26fa, 0x26fa}, {0x26fd, 0x26fd}, {0x2705, 0x2705}, {0x270a, 0x270b},
	{0x2728, 0x2728}, {0x274c, 0x274c}, {0x274e, 0x274e}, {0x2753, 0x2755}, {0x2757, 0x2757}, {0x2795, 0x2797},
	{0x27b0, 0x27b0}, {0x27bf, 0x27bf}, {0x2b1b, 0x2b1c}, {0x2b50, 0x2b50}, {0x2b55, 0x2b55}, {0x2e80, 0x2e99},
	{0x2e9b, 0x2ef3}, {0x2f00, 0x2fd5}, {0x2ff0, 0x2ffb}, {0x3000, 0x303e}, {0x3041, 0x3096}, {0x3099, 0x30ff},
	{0x3105, 0x312f}, {0x3131, 0x318e}, {0x3190, 0x31e3}, {0x31f0, 0x321e}, {0x3220, 0x3247}, {0x3250, 0x4dbf},
	{0x4e00, 0xa48c}, {0xa490, 0xa4c6}, {0xa960, 0xa97c}, {0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe10, 0xfe19},
	{0xfe30, 0xfe52}, {0xfe54, 0xfe66}, {0xfe68, 0xfe6b}, {0xff01, 0xff60}, {0xffe0, 0xffe6}, {0x16fe0, 0x16fe4},
	{0x16ff0, 0x16ff1}, {0x17000, 0x187f7}, {0x18800, 0x18cd5}, {0x18d00, 0x18d08}, {0x1aff0, 0x1aff3}, {0x1aff5, 0x1affb},
	{0x1affd, 0x1affe}, {0x1b000, 0x1b122}, {0x1b132, 0x1b132}, {0x1b150, 0x1b152}, {0x1b155, 0x1b155}, {0x1b164, 0x1b167},
	{0x1b170, 0x1b2fb}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a}, {0x1f200, 0x1f202},
	{0x1f210, 0x1f23b}, {0x1f240, 0x1f248}, {0x1f250, 0x1f251}, {0x1f260, 0x1f265}, {0x1f300, 0x1f320}, {0x1f32d, 0x1f335},
	{0x1f337, 0x1f37c}, {0x1f37e, 0x1f393}, {0x1f3a0, 0x1f3ca}, {0x1f3cf, 0x1f3d3}, {0x1f3e0, 0x1f3f0}, {0x1f3f4, 0x1f3f4},
	{0x1f3f8, 0x1f43e}, {0x1f440, 0x1f440}, {0x1f442, 0x1f4fc}, {0x1f4ff, 0x1f53d}, {0x1f54b, 0x1f54e}, {0x1f550, 0x1f567},
	{0x1f57a, 0x1f57a}, {0x1f595, 0x1f596}, {0x1f5a4, 0x1f5a4}, {0x1f5fb, 0x1f64f}, {0x1f680, 0x1f6c5}, {0x1f6cc, 0x1f6cc},
	{0x1f6d0, 0x1f6d2}, {0x1f6d5, 0x1f6d7}, {0x1f6dc, 0x1f6df}, {0x1f6eb, 0x1f6ec}, {0x1f6f4, 0x1f6fc}, {0x1f7e0, 0x1f7eb},
	{0x1f7f0, 0x1f7f0}, {0x1f90c, 0x1f93a}, {0x1f93c, 0x1f945}, {0x1f947, 0x1f9ff}, {0x1fa70, 0x1fa7c}, {0x1fa80, 0x1fa88},
	{0x1fa90, 0x1fabd}, {0x1fabf, 0x1fac5}, {0x1face, 0x1fadb}, {0x1fae0, 0x1fae8}, {0x1faf0, 0x1faf8}, {0x20000, 0x3ffff},
}
