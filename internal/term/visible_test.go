package term_test

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/term"
)

func TestVisible(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"plain", "plain"}, {"\uFEFFx\r\ny", "x\ny"}, {"", ""},
		{"a\x1b[1;31mb\x1b[0m\x1b]0;title\x07c", "abc"},
		// concealed; . is what nobody sees
		{"a\x1b[8mb\nc\x1b[28md", "a.\nd"}, {"a\x1b[8mb\x1b[0mc", "a.c"}, {"a\x1b[8mb\x1b[mc", "a.c"}, {"a\u009b1;8mb", "a."}, {"a\x1b[0;8;31mb", "a."},
		{"a\x1b[38;5;8mb", "ab"}, {"a\x1b[38;5;8;8mb", "a."}, {"a\x1b[48;2;8;8;8mb", "ab"}, {"a\x1b[38;2;8;8;8;8mb", "a."}, {"a\x1b[38:5:8mb", "ab"}, {"a\x1b[38mb", "ab"},
		{"a\x1b[8;28mb", "ab"}, {"a\x1b[18mb", "ab"}, {"a\x1b[?8mb", "ab"},
		// the line is erased, or written over
		{"a\x1b[2Kb", ".b"}, {"a\x1b[1Kb", ".b"}, {"a\x1b[Kb", "ab"}, {"a\n\x1b[2Kb\nc", "a\nb\nc"}, {"a\x1b[2K\nb", ".\nb"}, {"a\x1b[Gb", ".b"}, {"a\x1b[9Db", ".b"}, {"a\nb\x1b[Mc", "a\n.c"},
		{"a\x1b[G", "a"}, {"a\x1b[G\x1b[K", "."}, {"a\r\x1b[Kb", ".b"}, {"a\r\x1b[J\nb", ".\nb"}, {"a\x1b[9D\x1b[9Xb", ".b"}, {"a\x1b[9D\x1b[9P", "."}, {"a\x1b[9Xb\x1b[Pc", "abc"}, {"a\x1b[G\nb", "a\nb"},
		// the cursor goes up
		{"a\nb\x1b[Ac", ".\n.c"}, {"a\nb\nc\x1b[Ad", "a\n.\n.d"}, {"a\nb\nc\x1b[2Fd\ne", ".\n.\n.d\ne"}, {"a\n\x1b[A\x1b[2Kb", ".\nb"}, {"a\nb\x1b[0Ac", ".\n.c"}, {"a\nb\x1b[99999999999Ac", ".\n.c"},
		{"a\nb\x1b[A", ".\n."}, {"a\nb\x1bMc", ".\n.c"},
		{"claim\nfoo\n\x1b[Abar\x1b[A", ".\n.\n."},                                  // twice, to the first line
		{"a\n1\n2\n\x1b[2A3\n4\n\x1b[2A5\n6", "a\n.\n.\n.\n.\n5\n6"},                // what shows progress on two lines
		{"a\n1\n2\n\x1b[2A\x1b[2B\n3\n\x1b[1A4", "a\n.\n.\n\n.\n4"},                 // and down again
		{"a\nb\n\x1b[1Ac\nd\ne\n\x1b[1Af", "a\n.\nc\nd\n.\nf"},                      // what was written since is on the lines below
		{"a\nb\nc\n\x1b[Hd\ne\x1b[Af", ".\n.\n.\n.\n.f"}, {"a\nb\x1b[2Jc", ".\n.c"}, // the whole screen
		{"a\nb\x1b[Jc", "a\nbc"}, {"a\nb\x1b[3;1Hc", ".\n.c"}, {"a\nb\x1bcc", ".\n.c"}, {"a\nb\x1b[5dc", ".\n.c"},
		// saved and restored
		{"a\n\x1b7b\nc\x1b8d", "a\n.\n.d"}, {"a\n\x1b[sb\nc\x1b[ud", "a\n.\n.d"}, {"a\nb\x1b8c", ".\n.c"},
		// no moves
		{"a\nb\x1b[?25hc\x1b[?2004lc\x1b[Cd\x1b[1 qe", "a\nbccde"}, {"a\nb\x1b]0;\x1b[Ac", ".\n.c"}, {"a\nb\x1b]0;[A\x07c", "a\nbc"}, {"a\n\x1b[", "a\n"}, {"a\n\x1b", "a\n"},
	} {
		if got := strings.ReplaceAll(term.Visible(tt.in), "\uFEFF", "."); got != tt.want {
			t.Errorf("Visible(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// TestVisibleIsLinear: a cursor that always goes back erases no line twice.
func TestVisibleIsLinear(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"\x1b[9999A\n", "\n\n\x1b[A", "\n\x1b[999Ax\x1b[999B", "\x1b[8m\x1b[m", "x\x1b[2K", "x\x1b[2K\n", "x\r\x1b[K\n", "\x1b[G\r", "\x1b[H\n", "\x1b7\n\x1b8", "\x1b[8;", "\u009b1A"} {
		text := strings.Repeat(s, 4<<20/len(s))
		if got := term.Visible(text); strings.Count(got, "\n") != strings.Count(text, "\n") {
			t.Errorf("%q: lines are lost", s)
		}
	}
}
