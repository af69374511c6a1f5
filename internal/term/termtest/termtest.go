// Package termtest has what a terminal must not be given, for tests of all that
// shows or writes text.
package termtest

import (
	"fmt"
	"strings"
	"testing"
)

// Sequences are texts that would do something to a terminal, or to the person who
// reads them. Each holds "EVIL" where a sequence does not swallow it.
func Sequences() []string {
	return []string{
		// CSI: colours, the cursor, erasing, modes, reports
		"\x1b[31mEVIL", "\x1b[2J\x1b[HEVIL", "\x1b[1AEVIL", "\x1b[2KEVIL", "\x1b[8mEVIL\x1b[0m", "\x1b[?1049hEVIL", "\x1b[?25lEVIL", "\x1b[6nEVIL", "\x1b[21tEVIL", "\x1b[200~EVIL\x1b[201~",
		// OSC: titles, links, the clipboard, notifications, working folder
		"\x1b]0;title\x07EVIL", "\x1b]8;;http://x\x1b\\EVIL\x1b]8;;\x1b\\", "\x1b]52;c;ZWNobw==\x07EVIL", "\x1b]9;note\x07EVIL", "\x1b]7;file://x\x07EVIL", "\x1b]1337;File=:AA==\x07EVIL", "EVIL\x1b]0;without an end",
		// DCS, APC, PM, SOS, character sets, reset
		"\x1bP$q\"p\x1b\\EVIL", "\x1b_G\x1b\\EVIL", "\x1b^x\x1b\\EVIL", "\x1bXx\x1b\\EVIL", "\x1b(0EVIL", "\x1bcEVIL", "EVIL\x1b",
		// the same in C1
		"\u009b31mEVIL", "\u009d0;title\u009cEVIL", "\u0090x\u009cEVIL", "EVIL\u0085EVIL",
		// C0
		"over\rEVIL", "a\bEVIL", "\x07EVIL", "a\x00EVIL\x7f", "\x0eEVIL\x0f", "\vEVIL\f",
		// direction, and what is invisible
		"\u202eEVIL\u202c", "\u2066EVIL\u2069", "\u200eEVIL\u061c", "EV\u200bIL\u200d", "EV\u00adIL\ufeff", "EVIL\ufe0f\U000e0100", "\U000e0045\U000e0056EVIL\U000e007f", "EVIL\u2062\u180e\u3164",
		// bytes that are no UTF-8
		"\xffEVIL\x9b31m", "EVIL\xc2",
	}
}

// Unsafe says what in a text should not be there, "" = nothing. It does not know
// how the text was made safe.
func Unsafe(text string) string {
	for at, r := range text {
		switch {
		case r == '\n' || r == '\t':
		case r < 0x20, r >= 0x7f && r <= 0x9f, // C0, DEL, C1
			r == 0xad, r == 0x61c, r == 0x180e, r == 0xfeff, r == 0x3164, // soft hyphen, marks, fillers
			r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f,
			r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0000 && r <= 0xe0fff:
			return fmt.Sprintf("%U at %d", r, at)
		case r == 0xfffd && !strings.HasPrefix(text[at:], "\uFFFD"):
			return fmt.Sprintf("no UTF-8 at %d", at)
		}
	}
	return ""
}

// Check checks that a text holds nothing that should not be there, but what was
// meant to be seen.
func Check(t *testing.T, name, text string) {
	t.Helper()
	if found := Unsafe(text); found != "" {
		t.Errorf("%s holds %s: %q", name, found, text)
	}
	if !strings.Contains(text, "EVIL") {
		t.Errorf("%s does not hold what was to be shown: %q", name, text)
	}
}
