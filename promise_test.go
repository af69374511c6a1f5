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
	if a == b || !strings.HasPrefix(a, "DONE-") {
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

func BenchmarkFindPromise(b *testing.B) {
	text := strings.Repeat("The quick agent rewrote the parser, ran go test ./... and saw 3 tests fail.\n", 64<<20/76)
	b.Run("floor", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if strings.Count(text, "\n") == 0 {
				b.Fatal("no lines")
			}
		}
	})
	b.Run("find", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if ralph.FindPromise(text, "COMPLETE", ralph.MatchLastLine).Found {
				b.Fatal("found")
			}
		}
	})
}
