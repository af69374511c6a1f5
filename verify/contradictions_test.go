package verify_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// A judged is a line of a corpus: an answer, and whether the mark before it is
// its right one.
type judged struct {
	line int
	mark string
	text string
}

// corpus reads lines of a mark and a text, in which \n is a line break.
func corpus(t *testing.T, name string) []judged {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var all []judged
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		mark, text, found := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if mark == "#" || mark == "" {
			continue
		}
		if !found {
			t.Fatalf("%s:%d: no text", name, n)
		}
		all = append(all, judged{n, mark, strings.ReplaceAll(text, `\n`, "\n")})
	}
	return all
}

// ends are what stands below the answers that measure the rule: the promise, and a
// sentence before it that claims success, as agents write it.
var ends = []string{"\n\n<promise>COMPLETE</promise>", "\n\nAll done.\n\n<promise>COMPLETE</promise>"}

// TestContradictionsHeldOut measures the rule on answers that were written apart
// from all others, testdata/contradictions_heldout.txt. It does not tell which ones
// are judged wrong: who changes the rule does not look. The bounds are what was
// measured; they may be lowered when the rule gets better, and not raised.
func TestContradictionsHeldOut(t *testing.T) {
	t.Parallel()
	all := corpus(t, "testdata/contradictions_heldout.txt")
	for _, end := range ends {
		total, wrong := map[string]int{}, map[string]int{}
		for _, j := range all {
			v, err := verify.Contradictions{}.Verify(t.Context(), ralph.Claim{Promised: true, Output: j.text + end})
			if err != nil {
				t.Fatal(err)
			}
			if total[j.mark]++; v.Passed != (j.mark == "-") {
				wrong[j.mark]++
			}
		}
		t.Logf("ending in %q: of %v wrong are %v", end, total, wrong)
		if wrong["+"] > 18 || wrong["-"] > 0 {
			t.Errorf("ending in %q: %d let through and %d rejected; at most 18 and 0 were before", end, wrong["+"], wrong["-"])
		}
		if total["+"] < 60 || total["-"] < 60 {
			t.Errorf("too few to measure by: %v", total)
		}
	}
}

// TestContradictionsPlain: what everybody takes for a contradiction is one, stated
// plainly, and what denies it is none.
func TestContradictionsPlain(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"TODO: add the tests", "TODO: handle errors in the parser.", "FIXME: the lock is released twice",
		"The parser is not yet implemented.", "Sorting is not yet implemented.", "I still need to migrate the tests.",
		"We still need to update the docs.", "Remaining work: the docs.", "There is remaining work in the scheduler.",
		"The work is blocked by the missing key.", "I am blocked by a permission error.", "I cannot complete the migration.",
		"I cannot complete this task.", "The tests fail.", "Two tests fail.", "3 tests failed.", "The build failed.", "The build fails.",
		"Tests failed: 2", "- [ ] write the docs",
	} {
		for _, end := range append(ends, "") {
			if v, err := (verify.Contradictions{}).Verify(t.Context(), ralph.Claim{Promised: true, Output: text + end}); err != nil || v.Passed {
				t.Errorf("%q: %+v, %v", text+end, v, err)
			}
		}
	}
	for _, text := range []string{
		"Removed every TODO.", "0 tests failed.", "There are no TODOs left.", "I fixed the bug that made tests fail.",
		"The script exits with 1 if a test fails.", "I am not blocked by anything.", "All tests pass.", "The rest was implemented.",
		"`TODO: x` is what the linter finds.", "```\nTwo tests fail.\n```", "> TODO: docs", "- [x] write the docs",
	} {
		for _, end := range append(ends, "") {
			if v, err := (verify.Contradictions{}).Verify(t.Context(), ralph.Claim{Promised: true, Output: text + end}); err != nil || !v.Passed {
				t.Errorf("%q: %+v, %v", text+end, v, err)
			}
		}
	}
}

func TestContradictions(t *testing.T) {
	t.Parallel()
	const echo = "Read the list and work on it:\n- [ ] write the docs"
	for _, tt := range []struct {
		name   string
		v      verify.Contradictions
		claim  ralph.Claim
		status []ralph.CheckStatus
		says   string
	}{
		{"nothing found", verify.Contradictions{}, ralph.Claim{Promised: true, Output: "All is done."}, []ralph.CheckStatus{ralph.CheckPassed}, ""},
		{"an empty answer", verify.Contradictions{}, ralph.Claim{Promised: true}, []ralph.CheckStatus{ralph.CheckPassed}, ""},
		{"the sentence is quoted", verify.Contradictions{}, ralph.Claim{Promised: true, Output: "I am done. I still need to migrate the tests. Bye."}, []ralph.CheckStatus{ralph.CheckFailed}, `"I still need to migrate the tests."`},
		{"a long sentence is quoted by its ends", verify.Contradictions{}, ralph.Claim{Promised: true, Output: "Two tests fail, " + strings.Repeat("and that is sad ", 100) + "indeed."}, []ralph.CheckStatus{ralph.CheckFailed}, "…"},
		{"one check for each kind", verify.Contradictions{Patterns: []string{"half-baked"}},
			ralph.Claim{Promised: true, Output: "TODO: docs\n\nTwo tests fail. Two more tests fail.\n\n- [ ] changelog\n\nI am blocked by the missing key. The rest is half-baked."},
			[]ralph.CheckStatus{ralph.CheckFailed, ralph.CheckFailed, ralph.CheckFailed, ralph.CheckFailed, ralph.CheckFailed}, "half-baked"},
		{"a pattern, in another case", verify.Contradictions{Patterns: []string{"Soft  Spots:"}}, ralph.Claim{Promised: true, Output: "There are SOFT SPOTS in the parser."}, []ralph.CheckStatus{ralph.CheckFailed}, "SOFT SPOTS"},
		{"a pattern that is denied", verify.Contradictions{Patterns: []string{"soft spots"}}, ralph.Claim{Promised: true, Output: "There are no soft spots. I removed all soft spots. Rough edges: none. `soft spots`"}, []ralph.CheckStatus{ralph.CheckPassed}, ""},
		{"a part of a word is no pattern", verify.Contradictions{Patterns: []string{"edge"}}, ralph.Claim{Promised: true, Output: "There are edges."}, []ralph.CheckStatus{ralph.CheckPassed}, ""},
		{"left out", verify.Contradictions{}, ralph.Claim{Promised: true, Output: "All is done.", Omitted: 12}, []ralph.CheckStatus{ralph.CheckUnable}, "12 bytes"},
		{"left out, and found", verify.Contradictions{}, ralph.Claim{Promised: true, Output: "Two tests fail.", Omitted: 12}, []ralph.CheckStatus{ralph.CheckFailed}, "Two tests fail."},
		{"not promised", verify.Contradictions{}, ralph.Claim{Output: "All is done."}, []ralph.CheckStatus{ralph.CheckPassed}, ""},
		{"not promised, and found", verify.Contradictions{}, ralph.Claim{Output: "Two tests fail."}, []ralph.CheckStatus{ralph.CheckFailed}, "Two tests fail."},
		{"the task is repeated", verify.Contradictions{}, ralph.Claim{Promised: true, Output: "My task:\n" + echo + "\n\nIt is done.", Task: ralph.Task{Prompt: echo + "\n"}}, []ralph.CheckStatus{ralph.CheckPassed}, ""},
		{"of the task, a part is repeated", verify.Contradictions{}, ralph.Claim{Promised: true, Output: "- [ ] write the docs", Task: ralph.Task{Prompt: echo + "\n"}}, []ralph.CheckStatus{ralph.CheckFailed}, "write the docs"},
		{"the promise takes nothing back", verify.Contradictions{}, ralph.Claim{Promised: true, Output: "Two tests failed.\n\n<promise>ALL TESTS PASS</promise>", Task: ralph.Task{Promise: "ALL TESTS PASS"}}, []ralph.CheckStatus{ralph.CheckFailed}, "Two tests failed."},
		{"a fence", verify.Contradictions{}, ralph.Claim{Promised: true, Output: "```\n// TODO: docs\nTwo tests fail.\n```\nAll is done."}, []ralph.CheckStatus{ralph.CheckPassed}, ""},
	} {
		v, err := tt.v.Verify(t.Context(), tt.claim)
		var status []ralph.CheckStatus
		for _, c := range v.Checks {
			status = append(status, c.Status)
		}
		if err != nil || !slices.Equal(status, tt.status) || v.Passed != (status[0] == ralph.CheckPassed) || !strings.Contains(v.Feedback, tt.says) || (v.Feedback == "") != v.Passed || len(v.Feedback) > 2000 {
			t.Errorf("%s: %+v, %v", tt.name, v, err)
		}
	}
	for _, blank := range []string{"", " \t", "…", ":"} {
		if v, err := (verify.Contradictions{Patterns: []string{"soft spots", blank}}).Verify(t.Context(), ralph.Claim{Promised: true}); err == nil || v.Passed || !strings.Contains(err.Error(), "pattern 2") {
			t.Errorf("pattern %q: %+v, %v", blank, v, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v, err := (verify.Contradictions{}).Verify(ctx, ralph.Claim{Promised: true}); err == nil || v.Passed {
		t.Errorf("cancelled: %+v, %v", v, err)
	}
}

// TestContradictionsPrompt has an agent repeat its prompt, which says nothing
// about the agent's work.
func TestContradictionsPrompt(t *testing.T) {
	t.Parallel()
	for _, task := range []ralph.Task{
		{Prompt: "Migrate the tests. TODO: the docs still need to be written.", Agent: "coder", Outcome: "All is migrated", Acceptance: []string{"no test fails", "docs are written"}, Success: "tests pass", Blocked: "STUCK"},
		{Title: "Migrate", Always: true, Acceptance: []string{"docs"}},
	} {
		prompt := ralph.Start(task).Prompt()
		v, err := verify.Contradictions{}.Verify(t.Context(), ralph.Claim{Task: task, Output: prompt + "\n\nAll is done."})
		if err != nil || !v.Passed {
			t.Errorf("%q: %+v, %v", prompt, v, err)
		}
	}
}

// FuzzContradictions reads anything without a panic; blank lines at the end change
// nothing.
func FuzzContradictions(f *testing.F) {
	data, err := os.ReadFile("../internal/english/english.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if text, found := strings.CutPrefix(line, "+ "); found && len(text)%4 == 0 {
			f.Add(strings.ReplaceAll(strings.TrimSpace(text), `\n`, "\n"))
		}
	}
	f.Add("`` ` ```\n\"“'… TODO(: [ ]|")
	f.Add("that which that who " + strings.Repeat("fails that ", 80))
	f.Fuzz(func(t *testing.T, text string) {
		v, err := verify.Contradictions{}.Verify(t.Context(), ralph.Claim{Promised: true, Output: text})
		if err != nil || v.Passed != (v.Feedback == "") || len(v.Checks) == 0 || len(v.Feedback) > 8<<10 || !utf8.ValidString(v.Feedback) {
			t.Fatalf("%q: %+v, %v", text, v, err)
		}
		blank, err := verify.Contradictions{}.Verify(t.Context(), ralph.Claim{Promised: true, Output: text + "\n\n  \n"})
		if diff := cmp.Diff(v, blank); diff != "" || err != nil {
			t.Fatalf("%q: blank lines change the verdict (-without +with): %s, %v", text, diff, err)
		}
		for _, stage := range []string{"coder", "tester", "reviewer"} {
			if _, err := verify.Agent(stage).Verify(t.Context(), ralph.Claim{Promised: true, Output: text}); err != nil {
				t.Fatalf("%q: %s: %v", text, stage, err)
			}
		}
	})
}

// BenchmarkContradictions reads 1 MiB of texts that invite quadratic work: a
// sentence, a quotation, a list or a word without end. Its floor is a look at each
// byte of the first one.
func BenchmarkContradictions(b *testing.B) {
	b.Run("floor", func(b *testing.B) {
		text := strings.Repeat("I fixed the parser, and all tests pass now. ", 1<<20/44)
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if len(strings.Fields(text)) == 0 {
				b.Fatal()
			}
		}
	})
	for _, bm := range []struct{ name, unit string }{
		{"prose", "I fixed the parser, and all tests pass now. "},
		{"no sentence ends", "the tests that fail when it is blocked "},
		{"commas", "no, test, "},
		{"quotes", "\"a "},
		{"ticks", "`"},
		{"one word", "a"},
		{"lines", "a\n"},
		{"boxes", "- [ ] a\n"},
		{"failures", "2 tests failed. "},
	} {
		b.Run(bm.name, func(b *testing.B) {
			text := strings.Repeat(bm.unit, 1<<20/len(bm.unit))
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := (verify.Contradictions{}).Verify(b.Context(), ralph.Claim{Promised: true, Output: text}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestContradictionsLinear counts allocations, for time is not to be relied upon:
// four times the text takes about four times as many.
func TestContradictionsLinear(t *testing.T) {
	for _, unit := range []string{"the tests that fail when it is blocked ", "no, test, ", "\"a ", "`", "a", "a\n", "- [ ] a\n", "Remaining:\n", "2 tests failed. "} {
		count := func(size int) float64 {
			claim := ralph.Claim{Promised: true, Output: strings.Repeat(unit, size/len(unit))}
			return testing.AllocsPerRun(1, func() {
				if _, err := (verify.Contradictions{}).Verify(t.Context(), claim); err != nil {
					t.Error(err)
				}
			})
		}
		if short, long := count(8<<10), count(32<<10); long > 5*short+100 {
			t.Errorf("%q: %v allocations for 8 KiB, %v for 32 KiB", unit, short, long)
		}
	}
}
