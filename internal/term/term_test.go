package term_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph/internal/term"
)

// stripped writes text to Strip in pieces of some bytes.
func stripped(text string, size int) string {
	var out bytes.Buffer
	w := term.Strip(&out)
	for p := []byte(text); len(p) > 0; p = p[min(size, len(p)):] {
		w.Write(p[:min(size, len(p))])
	}
	return out.String()
}

func TestStrip(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"plain é 😀\n\ttext", "plain é 😀\n\ttext"},
		{"\x1b[1;31mred\x1b[0m \x1b]0;title\x07x \x1b]8;;u\x1b\\link", "red x link"},
		{"\x1bP q\x1b\\x\x1b(By\u009b31mz\u009dtitle\x07!", "xyz!"},
		{"a\x00b\x08c\x7fd\u0085e\u202ef", "abcdef"},
		{"10%\r20%\r\nend", "10%\n20%\nend"},
		{"\x1b]never ended\nnext", "\nnext"},
		{"bad \xff\xc3 bytes", "bad \uFFFD\uFFFD bytes"},
	} {
		for _, size := range []int{1, 2, 100} {
			if diff := cmp.Diff(tt.want, stripped(tt.in, size)); diff != "" {
				t.Errorf("%q in pieces of %d (-want +got):\n%s", tt.in, size, diff)
			}
		}
		if diff := cmp.Diff(tt.want, term.Clean(tt.in)); diff != "" {
			t.Errorf("%q at once (-want +got):\n%s", tt.in, diff)
		}
	}
}

// overwritten is a buffer that knows what a carriage return does.
type overwritten struct{ bytes.Buffer }

func (*overwritten) Overwrites() bool { return true }

// TestStripFrames: a writer that overwrites gets carriage returns before other text, also
// through a second Strip, and no other gets one.
func TestStripFrames(t *testing.T) {
	t.Parallel()
	const in, want = "10%\r\r\x1b[K20%\r\nend\r\r\n\ra\r", "10%\r20%\nend\n\ra"
	for _, size := range []int{1, 2, 100} {
		var out overwritten
		w := term.Strip(term.Strip(&out))
		for p := []byte(in); len(p) > 0; p = p[min(size, len(p)):] {
			w.Write(p[:min(size, len(p))])
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("in pieces of %d (-want +got):\n%s", size, diff)
		}
	}
	if diff := cmp.Diff("20%\nend\na", string(term.LastFrames([]byte(want)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// sequences are control sequences with what is left of them, for Plain and Clean
// alike.
func sequences() [][2]string {
	return [][2]string{
		{"", ""}, {"x", "x"},
		// CSI: parameters, intermediates, a final byte
		{"a\x1b[mb", "ab"}, {"a\x1b[38;5;1mb", "ab"}, {"a\x1b[?25lb", "ab"}, {"a\x1b[1 qb", "ab"}, {"a\u009b31mb", "ab"},
		{"a\x1b[@b", "ab"}, {"a\x1b[~b", "ab"}, {"a\x1b[?b", "a"}, {"a\x1b[31", "a"}, {"a\x1b[", "a"},
		{"a\x1b[31\nb", "a\nb"}, {"a\x1b[3é", "aé"}, {"a\x1b[3\x1b[4mb", "ab"}, {"a\x1b[3\u009b4mb", "ab"},
		// strings: OSC, DCS, SOS, PM, APC, up to BEL or ST or the line's end
		{"a\x1b]0;t\x07b", "ab"}, {"a\x1b]0;t\x1b\\b", "ab"}, {"a\x1b]0;t\u009cb", "ab"}, {"a\u009d0;t\x07b", "ab"}, {"a\u009d0;é\u009cb", "ab"},
		{"a\x1bPt\x1b\\b", "ab"}, {"a\x1bXt\x1b\\b", "ab"}, {"a\x1b^t\x1b\\b", "ab"}, {"a\x1b_t\x1b\\b", "ab"},
		{"a\u0090t\x07b\u0098t\x07c\u009et\x07d\u009ft\x07e", "abcde"},
		{"a\x1b]t\nb", "a\nb"}, {"a\x1b]t", "a"}, {"a\x1b]t\x1b", "a"}, {"a\x1b]t\x1b[1mb", "ab"}, {"a\x1b]t\x1b\nb", "a\nb"}, {"a\x1b]t\x1b\x1b\\b", "ab"},
		// of two and three bytes
		{"a\x1bcb", "ab"}, {"a\x1b7b", "ab"}, {"a\x1b~b", "ab"}, {"a\x1b(Bb", "ab"}, {"a\x1b #8b", "ab"}, {"a\x1b([b", "ab"},
		{"a\x1b", "a"}, {"a\x1b\x1b\x1b[mb", "ab"}, {"a\x1b\nb", "a\nb"}, {"a\x1b(\nb", "a\nb"}, {"a\x1bé", "aé"}, {"a\x1b(é", "aé"},
		// characters that begin with the same byte as a C1 one
		{"«a» \u00a0b", "«a» \u00a0b"}, {"«\x1b[ma»\u009bmb·", "«a»b·"},
	}
}

func TestSequences(t *testing.T) {
	t.Parallel()
	for _, tt := range sequences() {
		if got := term.Plain(tt[0]); got != tt[1] {
			t.Errorf("Plain(%q) = %q, want %q", tt[0], got, tt[1])
		}
		if got := term.Clean(tt[0]); got != tt[1] {
			t.Errorf("Clean(%q) = %q, want %q", tt[0], got, tt[1])
		}
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"\uFEFFtext\uFEFF", "text\uFEFF"},
		{"one\r\ntwo\r\n", "one\ntwo\n"},
		{"10%\r20%\rdone\nnext\rover", "done\nover"},
		{"10%\r\x1b[Kdone\r\r\n", "done\n"},
		{"\r", ""}, {"\r\n", "\n"}, {"a\r", "a"}, {"\n\r\n", "\n\n"},
		{"\x1b]title\rgone\x07seen", "seen"},
		{"zero\u200bwidth\x00\x08\xff", "zero\u200bwidth\x00\x08\xff"}, // stays
	} {
		if got := term.Plain(tt.in); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestCleanAndLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, clean, line string }{
		{"a\u202eb\u2066c\u2069d\u200be\u00adf\u2060g\ufeffh\u200di", "abcdefghi", "abcdefghi"},
		{"tag\U000E0041\ufe0f s\u034f", "tag s", "tag s"},
		{" two\r\n\tlines\v\f  of\u00a0text\u2028and more \n", " two\n\tlines  of\u00a0text\u2028and more \n", "two lines of text and more"},
		{"cut \xe2\x80", "cut \uFFFD\uFFFD", "cut \uFFFD\uFFFD"},
		{"\xff\xfe", "\uFFFD\uFFFD", "\uFFFD\uFFFD"},
		{"real \uFFFD one", "real \uFFFD one", "real \uFFFD one"},
		{"\x1b[2J\x1b[Hclear", "clear", "clear"},
		{"مرحبا שלום 你好 🎉", "مرحبا שלום 你好 🎉", "مرحبا שלום 你好 🎉"},
	} {
		if got := term.Clean(tt.in); got != tt.clean {
			t.Errorf("Clean(%q) = %q, want %q", tt.in, got, tt.clean)
		}
		if got := term.Line(tt.in); got != tt.line {
			t.Errorf("Line(%q) = %q, want %q", tt.in, got, tt.line)
		}
	}
}

func TestInvisible(t *testing.T) {
	t.Parallel()
	for _, r := range "\u00ad\u034f\u061c\u115f\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202e\u2060\u2064\u2066\u206f\u3164\ufe00\ufe0f\ufeff\uffa0\ufff9\U000e0001\U000e0041\U000e0100" {
		if !term.Invisible(r) {
			t.Errorf("%U is visible", r)
		}
	}
	for _, r := range "aZ é中\u00a0\u2028\u0600\u06dd\u110bd\t\n\x00\x1b\u3165\ufdfe\uFFFD😀" {
		if term.Invisible(r) {
			t.Errorf("%U is invisible", r)
		}
	}
}

func TestSkeleton(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"Mock 2\n\tx", "mock 2\n\tx"},
		{"mосk МОСК", "mock mock"}, // Cyrillic о, с
		{"μοck τοdο", "μock todo"}, // Greek; μ is no m
		{"ｍｏｃｋ ＭＯＣＫ！", "mock mock!"},
		{"𝐦𝗼𝒄𝓴 𝕄𝖔𝙘𝚔 𝟙𝟚 𝚳𝛂", "mock mock 12 ma"},
		{"ⓜⓞⓒⓚ ⒨⒪ 🄼🅾 ᵐᵒᶜᵏ ᴍᴏᴄᴋ ①", "mock mo mo mock mock 1"},
		{"ﬁx oﬀ eﬃcient æon", "fix off efficient aeon"},
		{"mo\u200bc\u00adk m\u0336o\u0336c\u0336k\u0336 \x1b[1mm\x1b[0mock", "mock mock mock"},
		{"“don’t”—do…", `"don't"-do...`},
		{"a\u00a0b\u3000c", "a b c"},
		{"É Ä Жук 中", "é ä жyk 中"},
	} {
		if got := term.Skeleton(tt.in); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
	for r := range unicode.MaxRune { // what a character becomes stays what it is
		if s := term.Skeleton(string(r)); term.Skeleton(s) != s {
			t.Errorf("%U: %q, and of that %q", r, s, term.Skeleton(s))
		}
	}
	for _, r := range "0O1lI|" { // these stay apart
		if got := term.Skeleton(string(r)); got != strings.ToLower(string(r)) {
			t.Errorf("%c: %q", r, got)
		}
	}
}

// FuzzTerm checks what must hold for any text: that it does not matter in which
// pieces it comes, that what is shown is harmless, and that whoever removes
// control sequences finds the same ones.
func FuzzTerm(f *testing.F) {
	for i, s := range sequences() {
		f.Add(s[0]+"\r\n"+s[0]+"é", uint8(i))
	}
	for _, s := range []string{"10%\r20%\x1b[K\n", "\r\x1b[m\n", "\xc2\x1b[m\x9b", "e\xe2\x80\x1b]\xff\x07", "\uFEFF\uFEFF", "\xc2", "\x1b\xc2\x1b[m\xc2", "ΑЅﬁ𝚳ℎ№\u0130ẞ"} {
		f.Add(s, uint8(2))
	}
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		once, plain := term.Clean(text), term.Plain(text)
		// What a stream may still become is kept back.
		if got := stripped(text, int(size)%8+1); got != once[:min(len(got), len(once))] || strings.Trim(once[len(got):], "\uFFFD") != "" {
			t.Fatalf("%q in pieces of %d: %q, at once %q", text, int(size)%8+1, got, once)
		}
		if term.Clean(once) != once || !utf8.ValidString(once) {
			t.Fatalf("%q: %q is not clean", text, once)
		}
		for _, r := range once {
			if term.Invisible(r) || unicode.IsControl(r) && r != '\n' && r != '\t' {
				t.Fatalf("%q: %U is shown", text, r)
			}
		}
		if n := strings.Count(text, "\n"); strings.Count(plain, "\n") != n {
			t.Fatalf("%q: %d lines became %q", text, n, plain)
		}
		visible := term.Visible(text)
		if strings.Count(visible, "\n") != strings.Count(plain, "\n") || !term.MayEscape(text) && visible != plain {
			t.Fatalf("%q: %q by Visible, %q by Plain", text, visible, plain)
		}
		if strings.ContainsAny(plain, "\x1b\u0090\u0098\u009b\u009d\u009e\u009f") && utf8.ValidString(text) {
			t.Fatalf("%q: a control sequence is left in %q", text, plain)
		}
		if utf8.ValidString(text) && !strings.Contains(text, "\r") && term.Clean(plain) != once {
			t.Fatalf("%q: %q by Plain, %q by Clean", text, term.Clean(plain), once)
		}
		if s := term.Skeleton(text); term.Skeleton(s) != s {
			t.Fatalf("%q: the skeleton of %q is %q", text, s, term.Skeleton(s))
		}
	})
}
