package ralph_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

// A promiseCase is a row of testdata/promise.jsonl: what a careful person says
// (expect) and, where that is open to debate, what the default rule says.
type promiseCase struct {
	ID, Category, Format, Text, Promise, Why string
	Expect                                   bool
	Strict                                   *bool
}

func (c promiseCase) want() bool {
	if c.Strict != nil {
		return *c.Strict
	}
	return c.Expect
}

func promiseCases(t testing.TB) []promiseCase {
	t.Helper()
	f, err := os.Open("testdata/promise.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []promiseCase
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var c promiseCase
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if len(cases) < 170 {
		t.Fatalf("only %d cases", len(cases))
	}
	return cases
}

func TestFindPromiseCorpus(t *testing.T) {
	t.Parallel()
	for _, c := range promiseCases(t) {
		if c.Format != "" {
			continue // whole streams: TestCommandCorpus
		}
		got := ralph.FindPromise(c.Text, c.Promise, ralph.MatchLastLine)
		if got.Found != c.want() {
			t.Errorf("%s: Found = %v (%+v), want %v: %s\n%q", c.ID, got.Found, got, c.want(), c.Why, c.Text)
		}
		if got.Found == (got.Why != "") {
			t.Errorf("%s: Found = %v with Why %q", c.ID, got.Found, got.Why)
		}
		if got.Found && got.Line < 1 {
			t.Errorf("%s: found on line %d", c.ID, got.Line)
		}
	}
}

func TestFindPromiseWhy(t *testing.T) {
	t.Parallel()
	const tag = "<promise>COMPLETE</promise>"
	for _, tt := range []struct{ name, text, why string }{
		{"empty", "", ralph.WhyNone},
		{"prose", "The work is COMPLETE, I promise.", ralph.WhyNone},
		{"unclosed", "<promise>COMPLETE", ralph.WhyMalformed},
		{"only closed", "COMPLETE</promise>", ralph.WhyMalformed},
		{"attribute", `<promise id="1">COMPLETE</promise>`, ralph.WhyMalformed},
		{"escaped", "&lt;promise&gt;COMPLETE&lt;/promise&gt;", ralph.WhyMalformed},
		{"brackets", "(promise) COMPLETE (/promise)", ralph.WhyMalformed},
		{"case of the text", "<promise>Complete</promise>", ralph.WhyWrongCase},
		{"case of the tag", "<Promise>COMPLETE</Promise>", ralph.WhyWrongCase},
		{"wrong case before wrong text", "<promise>complete</promise>\n<promise>DONE</promise>", ralph.WhyWrongCase},
		{"text", "<promise>DONE</promise>", ralph.WhyWrongText},
		{"empty tag", "<promise></promise>", ralph.WhyWrongText},
		{"fence", "Done.\n```\n" + tag + "\n```", ralph.WhyFenced},
		{"tilde fence with info", "~~~ xml\n" + tag + "\n~~~\n", ralph.WhyFenced},
		{"fence never closed", "```\ncode\n" + tag, ralph.WhyFenced},
		{"longer fence around a shorter one", "````\n```\n```\n" + tag + "\n````", ralph.WhyFenced},
		{"fence in a list", "- ```\n  " + tag + "\n  ```", ralph.WhyFenced},
		{"block quotation", "> " + tag, ralph.WhyQuoted},
		{"code span", "`" + tag + "`", ralph.WhyQuoted},
		{"quotation marks", "I will say “" + tag + "” later", ralph.WhyQuoted},
		{"list item", "- " + tag, ralph.WhyNotAlone},
		{"in a sentence", "I say " + tag, ralph.WhyNotAlone},
		{"full stop", tag + ".", ralph.WhyNotAlone},
		{"text after", tag + "\nBut wait.", ralph.WhyNotLast},
		{"another promise after", tag + "\n<promise>RETRY</promise>", ralph.WhyNotLast},
		{"nearest wins", "```\n" + tag + "\n```\n" + tag + "\nmore", ralph.WhyNotLast},
		{"found after a fence", "```\ncode\n```\n" + tag, ""},
		{"found after a fence in a list", "- ```go\n  x\n  ```\n" + tag, ""},
		{"found after a fence in a quotation", "> ```\n> x\n" + tag, ""},
		{"found over lines", "<promise>\n  COMPLETE\n</promise>\n", ""},
		{"found with a no-break space", tag + "\u00a0\n", ""},
	} {
		if got := ralph.FindPromise(tt.text, "COMPLETE", ralph.MatchLastLine); got.Why != tt.why || got.Found != (tt.why == "") {
			t.Errorf("%s: %+v, want Why %q\n%s", tt.name, got, tt.why, tt.text)
		}
	}
}

func TestFindPromiseModes(t *testing.T) {
	t.Parallel()
	const tag = "<promise>ALL DONE</promise>"
	modes := []ralph.Match{ralph.MatchLastLine, ralph.MatchOwnLine, ralph.MatchAnywhere, ralph.MatchFold}
	for _, tt := range []struct {
		text string
		want [4]bool
	}{
		{"x\n" + tag, [4]bool{true, true, true, true}},
		{tag + "\nmore", [4]bool{false, true, true, true}},
		{"say " + tag + " now", [4]bool{false, false, true, true}},
		{"```\n" + tag + "\n```", [4]bool{false, false, true, true}},
		{"<PROMISE> all done </PROMISE>", [4]bool{false, false, false, true}},
		{"<promise> ALL  DONE </promise>", [4]bool{true, true, false, true}},
		{"<promise>NOT ALL DONE</promise>", [4]bool{false, false, false, false}},
		{"ALL DONE", [4]bool{false, false, false, false}},
	} {
		for i, m := range modes {
			if got := ralph.FindPromise(tt.text, "ALL DONE", m); got.Found != tt.want[i] {
				t.Errorf("%q, mode %q: %+v, want %v", tt.text, m, got, tt.want[i])
			}
		}
	}
	for _, m := range modes {
		for _, empty := range []string{"", " \t"} {
			if got := ralph.FindPromise("<promise></promise>", empty, m); got.Found {
				t.Errorf("an empty promise is found in mode %q", m)
			}
		}
	}
}

// TestFindPromiseBorders pins each rule of the default at its border: what just
// breaks it, and what just does not.
func TestFindPromiseBorders(t *testing.T) {
	t.Parallel()
	const tag = "<promise>A B</promise>"
	for _, tt := range []struct {
		text string
		why  string
		line int
	}{
		// none, malformed: what is like a tag, and only at the end of an answer
		{"promise", ralph.WhyNone, 0},
		{"<promise", ralph.WhyMalformed, 0},
		{"</promise", ralph.WhyMalformed, 0},
		{"<promis", ralph.WhyNone, 0},
		{"<PROMISE", ralph.WhyMalformed, 0},
		{"&lt;promise&gt;", ralph.WhyMalformed, 0}, {"&lt;/promise&gt;", ralph.WhyMalformed, 0}, {"&lt;promise>", ralph.WhyNone, 0},
		{"(promise)", ralph.WhyMalformed, 0}, {"[promise]", ralph.WhyMalformed, 0}, {"{promise}", ralph.WhyMalformed, 0}, {"[/PROMISES]", ralph.WhyMalformed, 0},
		{"(promise]", ralph.WhyNone, 0}, {"(promise", ralph.WhyNone, 0}, {"promise)", ralph.WhyNone, 0}, {"(a promise)", ralph.WhyNone, 0},
		{"<completion-promise>", ralph.WhyMalformed, 0}, {"<completion-promises>", ralph.WhyMalformed, 0}, {"completion-promise", ralph.WhyNone, 0},
		{`\u003cpromise\u003e`, ralph.WhyMalformed, 0}, {`\u003c/promise\u003e`, ralph.WhyMalformed, 0},
		{"a promise, a promise, (promise)", ralph.WhyMalformed, 0}, {"promise (promise)", ralph.WhyMalformed, 0},
		{"<pro\x1b[1mmise>A B</prom\u009b0mise>", "", 1}, {"\x1b[1m<\x1b[0mpromise>A B</promise>", "", 1},
		{"(promise)" + strings.Repeat(".", 1<<10-9), ralph.WhyMalformed, 0},
		{"(promise)" + strings.Repeat(".", 1<<10-8), ralph.WhyNone, 0},
		{"\x1b[1mbold\x1b[0m", ralph.WhyNone, 0}, // a colour is not like a tag
		{"\x1b[1m(promise)\x1b[0m", ralph.WhyMalformed, 0},
		{"<promise>A B</promise>\rnever mind", ralph.WhyMalformed, 0}, // overwritten
		{"</promise><promise>A B", ralph.WhyMalformed, 0},
		{"</promise><promise>A B</promise>", ralph.WhyNotAlone, 1},
		{"<promise>A B</promise></promise>", ralph.WhyNotAlone, 1},
		{"<promise></promise>A B</promise>", ralph.WhyWrongText, 0},
		{"<promise>A B<promise>A B</promise>", ralph.WhyNotAlone, 1},
		{"<promise>no\n" + tag, "", 2}, // the nearest opening tag
		// wrong_text, wrong_case
		{"<promise>A</promise>", ralph.WhyWrongText, 0}, {"<promise>A B C</promise>", ralph.WhyWrongText, 0}, {"<promise>AB</promise>", ralph.WhyWrongText, 0},
		{"<promise>B A</promise>", ralph.WhyWrongText, 0}, {"<promise>A\u200bB</promise>", ralph.WhyWrongText, 0}, {"<promise> </promise>", ralph.WhyWrongText, 0},
		{"<promise>\tA\u00a0\n B\r\n</promise>", "", 1},
		{"<promise>a B</promise>", ralph.WhyWrongCase, 1}, {"<promise>A b</promise>", ralph.WhyWrongCase, 1},
		{"<Promise>A B</promise>", ralph.WhyWrongCase, 1}, {"<promise>A B</promisE>", ralph.WhyWrongCase, 1},
		{"<promises>A B</promise>", ralph.WhyMalformed, 0}, {"<promise >A B</promise>", ralph.WhyMalformed, 0}, {"<promise>A B</promise >", ralph.WhyMalformed, 0},
		// fenced; a fence is looked for where the tag's line begins
		{"```\n" + tag, ralph.WhyFenced, 2}, {"```\n```\n" + tag, "", 3}, {"``\n" + tag, "", 2}, {"```\nx\n\n> " + tag, ralph.WhyFenced, 4},
		{"``` " + tag, ralph.WhyQuoted, 1}, {"~~~ " + tag, ralph.WhyNotAlone, 1}, {"x\n~~~\nx\n~~~\n~~~\n" + tag + "\n~~~", ralph.WhyFenced, 6},
		{"\x1b[1m```\x1b[0m\n" + tag, ralph.WhyFenced, 2},
		// quoted
		{">" + tag, ralph.WhyQuoted, 1}, {" \t> x " + tag, ralph.WhyQuoted, 1}, {"x > " + tag, ralph.WhyNotAlone, 1}, {"> x\n\n" + tag, "", 3},
		{"> <promise>C</promise> " + tag, ralph.WhyQuoted, 1}, {"x <promise>C</promise> > " + tag, ralph.WhyNotAlone, 1},
		{"<promise>C</promise> > " + tag, ralph.WhyNotAlone, 1}, // what the line begins with is the tag
		{"`" + tag, ralph.WhyQuoted, 1}, {"`x` " + tag, ralph.WhyNotAlone, 1}, {"`a `b` " + tag, ralph.WhyQuoted, 1}, {"``" + tag, ralph.WhyNotAlone, 1},
		{"`\n" + tag, "", 2}, {"` <promise>C</promise>` " + tag, ralph.WhyNotAlone, 1}, {"` <promise>C</promise> " + tag, ralph.WhyQuoted, 1},
		{"`\n` " + tag, ralph.WhyQuoted, 2},
		{`"` + tag + `"`, ralph.WhyQuoted, 1}, {"'" + tag + "'", ralph.WhyQuoted, 1}, {"“" + tag + "”", ralph.WhyQuoted, 1}, {"„" + tag + "“", ralph.WhyQuoted, 1},
		{"‘" + tag + "’", ralph.WhyQuoted, 1}, {"«" + tag + "»", ralph.WhyQuoted, 1}, {"”" + tag + "“", ralph.WhyQuoted, 1},
		{`say " ` + tag + " \u00a0\" now", ralph.WhyQuoted, 1}, {`"` + tag, ralph.WhyNotAlone, 1}, {tag + `"`, ralph.WhyNotAlone, 1}, {`"` + tag + "'", ralph.WhyNotAlone, 1},
		{"»" + tag + "«", ralph.WhyNotAlone, 1}, {`"x` + tag + `"`, ralph.WhyNotAlone, 1}, {"\"\n" + tag + "\n\"", ralph.WhyNotLast, 2}, {`"` + tag + "\n\"", ralph.WhyNotAlone, 1}, {"x\"\n" + tag + `" x`, ralph.WhyNotAlone, 2},
		// not_alone; white space and zero-width characters are nothing
		{"x" + tag, ralph.WhyNotAlone, 1}, {tag + "x", ralph.WhyNotAlone, 1}, {"x\n" + tag + "x", ralph.WhyNotAlone, 2}, {"x\n\n x\t" + tag, ralph.WhyNotAlone, 3},
		{" \t\u00a0\u200b\u2060\uFEFF\x00" + tag + "\x00\u200b\u2060\uFEFF\u3000 \n", "", 1}, {"\u200d" + tag, ralph.WhyNotAlone, 1}, {tag + "\u200d", ralph.WhyNotAlone, 1},
		{"\uFEFF" + tag, "", 1}, {"\uFEFF\uFEFF" + tag, "", 1}, {"\x1b[32m" + tag + "\x1b[0m", "", 1}, {"x\r" + tag + "\r\n", "", 1},
		{"\u200b\n" + tag, "", 2}, {tag + " \t" + tag, ralph.WhyNotAlone, 1},
		// not_last
		{tag + "\nx", ralph.WhyNotLast, 1}, {tag + "\n\n\n.", ralph.WhyNotLast, 1}, {tag + "\n \u200b\n\x00\n", "", 1}, {"x\n" + tag + "\n```", ralph.WhyNotLast, 2},
		{tag + "\n<", ralph.WhyNotLast, 1}, {tag + "\n</promise", ralph.WhyNotLast, 1}, {"<<promise>A B</promise>", ralph.WhyNotAlone, 1}, {"<\n" + tag, "", 2},
		{tag + "\n" + tag, "", 2}, {tag + "\n" + tag + "\nx", ralph.WhyNotLast, 2},
		// the nearest counts, the last of equals
		{"<promise>C</promise>\n<promise>a b</promise>\n<promise>C</promise>", ralph.WhyWrongCase, 2},
		{"<promise>a b</promise>\n\n<promise>a b</promise>\nx", ralph.WhyWrongCase, 3},
		{"x " + tag + "\n> " + tag, ralph.WhyNotAlone, 1}, {"> " + tag + "\n\nx " + tag, ralph.WhyNotAlone, 3},
		{"```\n" + tag + "\n```\n<promise>a b</promise>", ralph.WhyFenced, 2},
	} {
		got := ralph.FindPromise(tt.text, "A B", ralph.MatchLastLine)
		if want := (ralph.Promise{Found: tt.why == "", Why: tt.why, Line: tt.line}); got != want {
			t.Errorf("%q: %+v, want %+v", tt.text, got, want)
		}
		if byName := ralph.FindPromise(tt.text, " A\tB\n", "last_line"); byName != got {
			t.Errorf("%q: %+v by the rule's name, and with white space in the promise", tt.text, byName)
		}
	}
}

// TestFindPromiseModeBorders does the same for the other modes.
func TestFindPromiseModeBorders(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mode          ralph.Match
		text, promise string
		why           string
		line          int
	}{
		{ralph.MatchOwnLine, "x\n<promise>A</promise>\nmore", "A", "", 2},
		{ralph.MatchOwnLine, "<promise>A</promise>\n<promise>A</promise>\nmore", "A", "", 2},
		{ralph.MatchOwnLine, "x <promise>A</promise>\nmore", "A", ralph.WhyNotAlone, 1},
		{ralph.MatchOwnLine, "<promise>A</promise> more", "A", ralph.WhyNotAlone, 1},
		{ralph.MatchOwnLine, "```\n<promise>A</promise>\n```", "A", ralph.WhyFenced, 2},
		{ralph.MatchOwnLine, "> <promise>A</promise>", "A", ralph.WhyQuoted, 1},
		{ralph.MatchOwnLine, "<promise>\nA</promise>", "A", "", 1},
		{ralph.MatchAnywhere, "> say <promise>A</promise> now", "A", "", 1},
		{ralph.MatchAnywhere, "```\n`<promise>A</promise>`", "A", "", 2},
		{ralph.MatchAnywhere, "<promise>A</promise>", " A\n", "", 1},
		{ralph.MatchAnywhere, "<promise> A\n</promise>", " A\n", "", 1},
		{ralph.MatchAnywhere, "<promise> A</promise>", " A\n", ralph.WhyWrongText, 0},
		{ralph.MatchAnywhere, "<promise> A</promise>", "A", ralph.WhyWrongText, 0},
		{ralph.MatchAnywhere, "<promise>a</promise>", "A", ralph.WhyWrongCase, 1},
		{ralph.MatchAnywhere, "<PROMISE>A</promise>", "A", ralph.WhyWrongCase, 1},
		{ralph.MatchAnywhere, "<promise>B</promise>", "A", ralph.WhyWrongText, 0},
		{ralph.MatchFold, "x <PROMISE>\ta  B </Promise> y", "A b", "", 1},
		{ralph.MatchFold, "\n<promise>stra\u017fe \u212a</promise>", "STRASE k", "", 2}, // simple folding
		{ralph.MatchFold, "<promise>a b c</promise>", "A B", ralph.WhyWrongText, 0},
		{ralph.MatchFold, "<promise>A", "A", ralph.WhyMalformed, 0},
		{ralph.MatchFold, "A", "A", ralph.WhyNone, 0},
		{ralph.MatchFold, "<promise></promise>", " ", ralph.WhyWrongText, 0},
	} {
		got := ralph.FindPromise(tt.text, tt.promise, tt.mode)
		if want := (ralph.Promise{Found: tt.why == "", Why: tt.why, Line: tt.line}); got != want {
			t.Errorf("%s, %q for %q: %+v, want %+v", tt.mode, tt.text, tt.promise, got, want)
		}
	}
	for mode, valid := range map[ralph.Match]bool{"": true, "last_line": true, "own_line": true, "anywhere": true, "fold": true, "Fold": false, "none": false} {
		if err := (ralph.Task{Match: mode}).Validate(); (err == nil) != valid {
			t.Errorf("mode %q: %v", mode, err)
		} else if err != nil && !strings.Contains(err.Error(), "last_line, own_line, anywhere, fold") {
			t.Errorf("mode %q: %v", mode, err)
		}
	}
}

// hostile is output that holds much of what has to be looked at.
func hostile(size int) []struct{ Name, Text string } {
	of := func(s string) string { return strings.Repeat(s, size/len(s)) }
	const tag = "<promise>X</promise>"
	return []struct{ Name, Text string }{
		{"coloured log", of("\x1b[32mok\x1b[0m  \tpkg/some/thing\t0.012s and \x1b[1;31ma bit\x1b[0m of what tools print\n")},
		{"ESC", of("\x1b")}, {"ESC [", of("\x1b[")}, {"ESC ]", of("\x1b]")}, {"C1 CSI", of("\u009b")}, {"C1 OSC", of("\u009d") + tag}, {"C2", of("\u00ab")}, {"ESC and C1", of("\x1b[m\u009bm")},
		{"CR", of("\r")}, {"erased lines", of("x\r\x1b[K\n")}, {"lines erased from their beginning", of("\x1b[G\x1b[K\n")}, {"CR and text", of("x\r") + tag}, {"LF", of("\n")}, {"CRLF", of("x\r\n")},
		{"opening tags", of("<promise>")}, {"closing tags", of("</promise>")}, {"closed by one", of("<promise>") + "</promise>"}, {"opened by one", "<promise>" + of("</promise>")},
		{"tags on a line", of(tag)}, {"tags and blanks on a line", of("  " + tag + "  ")}, {"tags between quotation marks", of("“" + tag + "”")}, {"quoted tags", ">" + of(tag)}, {"tags behind blanks", of(" ") + strings.Repeat(tag, 1000)},
		{"tags on lines", of(tag + "\n")}, {"tags and blank lines", of(tag + "\n\n\n\n")}, {"a tag and blank lines", tag + of("\n")}, {"other tags", of("<promise>Y</promise>\n")}, {"tags of another case", of("<Promise>x</PROMISE> ")},
		{"words in a tag", "<promise>" + of("X ") + "</promise>"}, {"blanks in a tag", "<promise>" + of(" ") + "X</promise>"}, {"a word in a tag", "<promise>" + of("X") + "</promise>"},
		{"<", of("<") + tag}, {"</", of("</") + tag}, {"<p", of("<p") + tag}, {"<promis", of("<promis") + tag},
		{"backquotes", of("`") + tag}, {"backquoted tags", of("`" + tag + "`")}, {"fences", of("```\n") + tag}, {"tags in fences", of("```\n" + tag + "\n```\n")}, {"a fence without end", of("~") + "\n" + tag},
		{"list marks", of("- ") + "\n" + tag}, {"list marks on lines", of("1. \n") + tag}, {"NUL", of("\x00") + tag}, {"no UTF-8", of("\xff") + tag}, {"promises", of("promise>")},
		{"quotations", of("> x\ny\n") + tag}, {"comments", of("<!---->") + tag}, {"comments on lines", of("<!--\n-->\n") + tag}, {"open comments", of("x <!-- ") + "\n" + tag}, {"pre", of("<pre>\n</pre>\n") + tag},
		{"blanks before tags", of(strings.Repeat(" ", 60) + tag + "\n\n")}, {"lists in lists", of(" - \n  - x\n") + tag}, {"concealed", of("\x1b[8mx\x1b[m") + tag}, {"written over", of("x\x1b[G") + tag},
	}
}

// TestFindPromiseIsLinear looks at texts on which a detector that goes back, were it
// only to the beginning of the line, would not come to an end within a test's time.
func TestFindPromiseIsLinear(t *testing.T) {
	t.Parallel()
	size := 16 << 20
	if race {
		size = 4 << 20
	}
	for _, c := range hostile(size) {
		if p := ralph.FindPromise(c.Text, "X", ralph.MatchLastLine); p.Found == (p.Why != "") {
			t.Errorf("%s: %+v", c.Name, p)
		}
	}
}

// TestFindPromiseAllocatesLittle: what it keeps does not grow with what it looks at.
func TestFindPromiseAllocatesLittle(t *testing.T) {
	for _, c := range hostile(1 << 20) {
		if n := testing.AllocsPerRun(1, func() { ralph.FindPromise(c.Text, "X", ralph.MatchLastLine) }); n > 20 {
			t.Errorf("%s: %v allocations", c.Name, n)
		}
	}
}

// TestFindPromiseBordersOfBlocks finds a tag at any place of a long text, which is looked at
// in blocks.
func TestFindPromiseBordersOfBlocks(t *testing.T) {
	t.Parallel()
	const tag = "<promise>X</promise>"
	for n := 32<<10 - 25; n < 32<<10+5; n++ {
		for _, text := range []string{strings.Repeat("x", n-1) + "\n" + tag, strings.Repeat("x", n-1) + "\n\x1b[m" + tag, strings.Repeat("x", n) + "</promise"} {
			p := ralph.FindPromise(text, "X", ralph.MatchLastLine)
			if strings.HasSuffix(text, ">") && (!p.Found || p.Line != 2) || !p.Found && p.Why == ralph.WhyNone {
				t.Fatalf("after %d bytes: %+v", n, p)
			}
		}
	}
}

func TestFindPromiseLine(t *testing.T) {
	t.Parallel()
	got := ralph.FindPromise("one\r\ntwo\rthree\r\n\x1b[1m<promise>X</promise>\x1b[0m\r\n", "X", ralph.MatchLastLine)
	if !got.Found || got.Line != 3 {
		t.Errorf("got %+v, want line 3", got)
	}
}

func TestNoncePromise(t *testing.T) {
	t.Parallel()
	a, b := ralph.NoncePromise("DONE"), ralph.NoncePromise("DONE")
	if a == b || !strings.HasPrefix(a, "DONE-") || len(a) != len("DONE-")+10 {
		t.Errorf("got %q and %q", a, b)
	}
	if err := (ralph.Task{Promise: a}).Validate(); err != nil {
		t.Error(err)
	}
	if !ralph.FindPromise("<promise>"+a+"</promise>", a, ralph.MatchLastLine).Found {
		t.Errorf("%q is not found", a)
	}
}

func FuzzFindPromise(f *testing.F) {
	for _, c := range promiseCases(f) {
		f.Add(c.Text, c.Promise)
	}
	f.Fuzz(func(t *testing.T, text, promise string) {
		for _, m := range []ralph.Match{ralph.MatchLastLine, ralph.MatchOwnLine, ralph.MatchAnywhere, ralph.MatchFold} {
			p := ralph.FindPromise(text, promise, m)
			if p.Found == (p.Why != "") || p.Found && p.Line == 0 {
				t.Fatalf("%q in %q: %+v", promise, text, p)
			}
			if p.Found && m != ralph.MatchFold && !ralph.FindPromise(text, promise, ralph.MatchFold).Found {
				t.Fatalf("%q in %q: found in mode %q but not in the laxest", promise, text, m)
			}
			if p.Found && m == ralph.MatchLastLine {
				if ralph.FindPromise(text+"\nbut not yet", promise, m).Found {
					t.Fatalf("%q in %q: found although text follows", promise, text)
				}
			}
		}
	})
}

// BenchmarkFindPromise looks at 64 MB of many kinds. The floor is what any program
// must spend that looks at each byte of the same text.
func BenchmarkFindPromise(b *testing.B) {
	const size = 64 << 20
	log := strings.Repeat("The quick agent rewrote the parser, ran go test ./... and saw 3 tests fail.\n", size/76)
	for _, c := range append(hostile(size), struct{ Name, Text string }{"log", log}) {
		b.Run("floor/"+c.Name, func(b *testing.B) {
			b.SetBytes(int64(len(c.Text)))
			for b.Loop() {
				n := 0
				for i := range len(c.Text) {
					if c.Text[i] == '\n' {
						n++
					}
				}
				if n > len(c.Text) {
					b.Fatal(n)
				}
			}
		})
		b.Run("find/"+c.Name, func(b *testing.B) {
			b.SetBytes(int64(len(c.Text)))
			for b.Loop() {
				if p := ralph.FindPromise(c.Text, "X", ralph.MatchLastLine); p.Found == (p.Why != "") {
					b.Fatalf("%+v", p)
				}
			}
		})
	}
}
