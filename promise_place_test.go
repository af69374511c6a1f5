package ralph_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/reply"
)

// TestFindPromisePlaces: what a reader of the answer, as Markdown or on a terminal,
// does not take for the agent's own words is no claim; what looks like it, is.
func TestFindPromisePlaces(t *testing.T) {
	t.Parallel()
	const tag = "<promise>X</promise>"
	const fenced, quoted, malformed = ralph.WhyFenced, ralph.WhyQuoted, ralph.WhyMalformed
	for _, tt := range []struct{ name, text, why string }{
		{"indented code", "The check said:\n\n    ok\n    " + tag, fenced},
		{"with a tab", "The check said:\n\n\t" + tag, fenced},
		{"with blanks and a tab", "x\n\n  \t" + tag, fenced},
		{"with a colour", "x\n\n\x1b[2m    " + tag + "\x1b[0m", fenced},
		{"after a heading", "# What it said\n    " + tag, fenced},
		{"after a fence", "```\nx\n```\n    " + tag, fenced},
		{"code from the first line", "    ok\n    " + tag, fenced},
		{"code in a list", "- It said:\n\n      " + tag, fenced},
		{"code after a list", "- a\n\nIt said:\n\n    " + tag, fenced},
		{"code in a list, second line", "- It said:\n\n      ok\n      " + tag, fenced},
		{"code after a nested list", "- a\n  - b\n\n  It said:\n\n      " + tag, fenced},
		{"code after a rule", "* * *\n    " + tag, fenced},
		{"code after a heading that ends a list", "- a\n# It said\n\n    " + tag, fenced},
		{"code after a fence that ends a list", "- a\n```\nx\n```\n    " + tag, fenced},
		{"code after an underlined heading", "It said\n=======\n    " + tag, fenced},
		{"three blanks", "x\n\n   " + tag, ""},
		{"a paragraph that goes on", "Work finished.\n\t" + tag, ""},
		{"nothing but an indented tag", "\n\n    " + tag, ""},
		{"a list item that goes on", "- All done.\n\n  " + tag, ""},
		{"indented by four in a list", "- All done.\n\n    " + tag, ""},
		{"in a numbered list", "1. One.\n2. Two.\n\n    " + tag, ""},
		{"in a numbered list of two digits", "10) All done.\n\n     " + tag, ""},
		{"in a nested list", "- a\n  - b\n\n    " + tag, ""},
		{"at once in a list", "- a\n- b\n      " + tag, ""},
		{"after a list", "- a\n- b\n\n" + tag, ""},
		{"after code", "x\n\n    code\n\n" + tag, ""},

		{"lazy quotation", "> You said:\n" + tag, quoted},
		{"lazy for lines", "> You said:\nand then\n" + tag, quoted},
		{"lazy, nested", ">> You said:\n" + tag, quoted},
		{"lazy in a list", "- > You said:\n" + tag, quoted},
		{"lazy and indented", "> You said:\n      " + tag, quoted},
		{"lazy list in a quotation", "> - You said:\n" + tag, quoted},
		{"lazy over what looks like a list", "> You said, in\n2. line\n" + tag, quoted},
		{"lazy over what looks underlined", "> You said:\n===\n" + tag, quoted},
		{"after a quotation", "> You said:\n\n" + tag, ""},
		{"after its blank line", "> You said:\n>\n" + tag, ""},
		{"after a heading in it", "> # You said\n" + tag, ""},
		{"after code in it", "> ```\n> x\n> ```\n" + tag, ""},
		{"after a list behind it", "> You said:\n- x\n" + tag, ""}, {"after a numbered one", "> You said:\n1. x\n" + tag, ""},
		{"after a rule behind it", "> You said:\n---\n" + tag, ""},
		{"after a heading behind it", "> You said:\n## Done\n" + tag, ""},

		{"pre", "<pre>\n" + tag, fenced}, {"pre with a class", "<PRE class=x>\n\n" + tag, fenced}, {"pre in a list", "- <pre>\n" + tag, fenced},
		{"pre, closed", "<pre>\nx\n</PRE>\n" + tag, ""}, {"pre on a line", "<pre>x</pre>\n" + tag, ""}, {"pre in a sentence", "I removed the <pre> here.\n" + tag, ""},
		{"another element", "<preface>\n" + tag, ""}, {"pre in a fence", "```\n<pre>\n```\n" + tag, ""}, {"pre in code", "x\n\n    <pre>\n\n" + tag, ""},

		{"comment", "<!--\n" + tag, quoted}, {"comment with text and blank lines", "<!-- note\n\n\n" + tag, quoted}, {"second comment", "<!-- a -->\nx <!-- b -->\n<!--\n" + tag, quoted},
		{"in a sentence", "Done. <!-- for you\n" + tag, quoted},
		{"comment, closed", "<!-- x -->\n" + tag, ""}, {"closed later", "<!--\nx\n-->\n" + tag, ""}, {"closed in the next line", "Done. <!-- x\ny --> z\n" + tag, ""}, {"the shortest", "<!-->\n" + tag, ""},
		{"in a sentence before", "It has a <!-- that is not closed.\n\n" + tag, ""}, {"in a code span", "I kept `<!--` as it is.\n" + tag, ""}, {"in a fence", "```\n<!--\n```\n" + tag, ""},

		{"concealed", "Done.\n\x1b[8m" + tag + "\x1b[0m", malformed}, {"concealed with a colour", "\x1b[1;8;31m" + tag, malformed}, {"concealed before", "\x1b[8mx\x1b[28m\n" + tag, ""},
		{"in a fence on a line that was erased", "1%\x1b[2K```\n" + tag, fenced}, {"in one that was written over", "1%\r\x1b[K> You said:\n" + tag, quoted},
		{"its line erased after a return", tag + "\r\x1b[K\n", malformed}, {"and its rest of the screen", tag + "\x1b[G\x1b[J", malformed},
		{"its letters erased", tag + "\x1b[20D\x1b[20X", malformed}, {"its letters removed", tag + "\x1b[20D\x1b[20P", malformed},
		{"after what was erased", "1%\r\x1b[K" + tag + "\x1b[20X", ""}, {"concealed until the reset", "\x1b[8mx\x1bc" + tag, ""},
		{"gray", "\x1b[38;5;8m" + tag + "\x1b[0m", ""}, {"bold", "\x1b[1m" + tag + "\x1b[22m", ""},
		{"erased from below", tag + "\n\x1b[1A\x1b[2K", malformed}, {"written over from below", tag + "\n\x1b[AI am not done.", ralph.WhyMalformed},
		{"screen cleared", tag + "\n\x1b[2J\x1b[H", malformed}, {"its line erased", tag + "\x1b[2K", malformed}, {"its line written over", tag + "\x1b[GNo.", malformed},
		{"spliced by what is hidden", "<promise>\x1b[8mnot \x1b[0mX</promise>", ralph.WhyWrongText}, {"spliced by what is erased", "<promise>not\x1b[2K\nX</promise>", malformed},
		{"after what shows progress", "1%\n\x1b[1A\x1b[2K2%\n\x1b[1A\x1b[2KDone.\n" + tag, ""}, {"cursor shown again", tag + "\x1b[?25h\x1b[0m\x1b[K\n\x1b[J", ""},
	} {
		for _, m := range []ralph.Match{ralph.MatchLastLine, ralph.MatchOwnLine} {
			if got := ralph.FindPromise(tt.text, "X", m); got.Why != tt.why || got.Found != (tt.why == "") {
				t.Errorf("%s, %q: %+v, want Why %q\n%q", tt.name, m, got, tt.why, tt.text)
			}
		}
	}
}

// TestFindPromiseInBounded: a promise is found in an answer of which the middle is
// left out if it is found in the whole of it, whatever stands where. What moves the
// cursor is not followed across what is left out, and not tried.
func TestFindPromiseInBounded(t *testing.T) {
	t.Parallel()
	const tag = "<promise>X</promise>"
	pieces := []string{"```", "~~~", "```go", "````", "<pre>", "</pre>", "<!--", "-->", "> q", "- a", "    ", "  ", "\n", "\n", "\n\n", "x", "\uFEFF", "# h", "===", "---",
		"1. a", "2. b", tag, tag + "\n", "`", "\t", "  - c", `"`, ">", "\x1b[8m", "\x1b[0m", "\x1b[32m"}
	rnd := rand.New(rand.NewPCG(1, 2))
	some := func() string {
		var b strings.Builder
		for range rnd.IntN(8) {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		return b.String()
	}
	head, tail := strings.Repeat("All is well in this line.\n\n", 3<<10), strings.Repeat("All is well in this line.\n\n", 8<<10)
	found := 0
	for range 200 {
		a, b, c := some(), some(), some()+"\n"+tag
		whole := a + "\n" + head + b + "\n" + tail + c
		var text reply.Text
		text.Write([]byte(whole))
		kept := text.String()
		if kept == whole {
			t.Fatal("nothing is left out")
		}
		for _, m := range []ralph.Match{ralph.MatchLastLine, ralph.MatchOwnLine} {
			got, want := ralph.FindPromise(kept, "X", m), ralph.FindPromise(whole, "X", m)
			hides := strings.Contains(whole, "\x1b[8m") // which may leave a tag in the middle as the last thing seen
			if got.Found != want.Found && (got.Found || !hides) {
				t.Errorf("%q: %q, %q, %q: %+v in what is kept, %+v in the whole", m, a, b, c, got, want)
			}
			if want.Found {
				found++
			}
		}
	}
	if found < 50 || found > 350 {
		t.Errorf("%d of 400 are found, which tests little", found)
	}
}
