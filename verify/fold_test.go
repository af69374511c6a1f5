package verify_test

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// TestExcludesFolded: what a person reads as the excluded text is found, and what
// only has its letters is not.
func TestExcludesFolded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, excludes string }{
		{"plain", "It uses a Mock.", "mock"},
		{"inside a word", "It is unmocked.", "mock"},
		{"zero width", "It uses a mo\u200bck.", "mock"},
		{"word joiner", "It uses a m\u2060o\ufeffck.", "mock"},
		{"soft hyphen", "It uses a mo\u00adck.", "mock"},
		{"variation selectors", "It uses a m\ufe0fock.", "mock"},
		{"tag characters", "It uses a m\U000e0061ock.", "mock"},
		{"bidi isolate", "It uses a mo\u2066ck\u2069.", "mock"},
		{"turned around", "It uses a \u202ekcom\u202c.", "mock"},
		{"turned around to the end", "It uses a \u202e.kcom", "mock"},
		{"Cyrillic", "It uses a m\u043e\u0441k.", "mock"},
		{"Greek", "It uses a mοck.", "mock"},
		{"full width", "It uses a ｍｏｃｋ.", "mock"},
		{"mathematical", "It uses a 𝐦𝐨𝐜𝐤.", "mock"},
		{"small capitals", "It uses a ᴍᴏᴄᴋ.", "mock"},
		{"combining marks", "It uses a m\u0336o\u0336c\u0336k\u0336.", "mock"},
		{"bold", "It uses a **m**ock.", "mock"},
		{"bold inside", "It uses a mo**ck**.", "mock"},
		{"code", "It uses a `mo``ck`.", "mock"},
		{"struck through", "It uses a m~~o~~ck.", "mock"},
		{"a link", "It uses a [mo](https://example.com)ck.", "mock"},
		{"escaped", "It uses a m\\ock.", "mock"},
		{"tags", "It uses a <b>m</b>ock.", "mock"},
		{"a comment", "It uses a mo<!-- x -->ck.", "mock"},
		{"an empty tag", "It uses a mo<wbr/>ck.", "mock"},
		{"entities", "It uses a &#109;o&#x63;k.", "mock"},
		{"named entities", "It uses a mo&shy;ck, mo&ZeroWidthSpace;ck.", "mock"},
		{"entities of entities", "It uses a &amp;#109;ock.", "mock"},
		{"colours", "It uses a m\x1b[31mock\x1b[0m.", "mock"},
		{"a control character", "It uses a mo\x0bck.", "mock"},
		{"a line break", "It uses a mo\nck.", "mock"},
		{"a hyphen and a line break", "It uses a mo-\nck.", "mock"},
		{"a carriage return", "It uses a mo\rck.", "mock"},
		{"a quoted line", "> It uses a mo\n> ck.", "mock"},
		{"a line separator", "It uses a mo\u2028ck.", "mock"},
		{"a hair space", "It uses a mo\u200ack.", "mock"},
		{"blanks", "It is not \t\u00a0implemented.", "not implemented"},
		{"a break for a blank", "It is not\r\nimplemented.", "not implemented"},
		{"at once", "It uses a &#x200b;**ｍ**\u200b\u043e<i>c</i>\nk.", "mock"},
		{"the entry too", "It uses a mock.", "ｍock"},
	} {
		for name, v := range map[string]ralph.Verifier{
			"String": verify.String{Excludes: []string{tt.excludes}}, "Semantic": verify.Semantic{Excludes: []string{tt.excludes}},
		} {
			if got, err := v.Verify(t.Context(), ralph.Claim{Promised: true, Output: tt.text}); err != nil || got.Passed || got.Undecided() {
				t.Errorf("%s, %s: %+v, %v", tt.name, name, got, err)
			}
		}
	}
	for _, tt := range []struct{ text, excludes string }{
		{"There is nothing we have to\ndo any more.", "TODO"},
		{"It shows the bytes into\ndoubles.", "todo"},
		{"The table now shows the\nIP address; show_ip works.", "wip"},
		{"Added a < b and c > d, a[i](x) and x<y>z.", "mock"},
		{"Ham\nmocha", "mock"},
		{"Fixed the block\nand the lock.", "mock"},
		{"The clock, m or o, c, k.", "mock"},
		{strings.Repeat("All of the 12 tests pass. ", 5000), "mock"},
	} {
		if got, err := (verify.String{Excludes: []string{tt.excludes}}).Verify(t.Context(), ralph.Claim{Promised: true, Output: tt.text}); err != nil || !got.Passed {
			t.Errorf("%.60q: %+v, %v", tt.text, got, err)
		}
	}
	// What must be in the answer must be there as it is written.
	if got, err := (verify.String{Contains: []string{"mock"}}).Verify(t.Context(), ralph.Claim{Promised: true, Output: "mo\u200bck"}); err != nil || got.Passed {
		t.Errorf("%+v, %v", got, err)
	}
}
