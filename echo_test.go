package ralph_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

var allModes = []ralph.Match{ralph.MatchLastLine, ralph.MatchOwnLine, ralph.MatchAnywhere, ralph.MatchFold}

// answered is the iteration in which an agent that was told prompt answers so.
func answered(t *testing.T, prompt string, m ralph.Match, agent ralph.Runner) ralph.Iteration {
	t.Helper()
	l := &ralph.Local{
		Runner:   agent,
		Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) { return ralph.Pass(), nil }),
		Prompt:   func(context.Context, ralph.State) (string, error) { return prompt, nil },
	}
	it, err := l.Iterate(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it.", Dir: t.TempDir(), Match: m}))
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// TestRemovingEchoSplicesNothing: what is left around a copy of the prompt is not
// one tag, in no mode and wherever the copy is removed.
func TestRemovingEchoSplicesNothing(t *testing.T) {
	t.Parallel()
	const tag = "<promise>COMPLETE</promise>"
	for _, prompt := range []string{"Do it, then say " + tag + ".", "Do it.\nThen say:\n" + tag + "\nand nothing more."} {
		for _, at := range []int{1, 3, 9, 13, 17, 18, 25} {
			said := tag[:at] + prompt + tag[at:]
			for _, m := range allModes {
				for name, agent := range map[string]ralph.Runner{
					"text": sh("text", says(said)), "claude": sh("claude", says(fmt.Sprintf(`{"type":"result","is_error":false,"result":%s}`, asJSON(t, said)))),
					"another": ralph.Replay(said),
				} {
					if it := answered(t, prompt, m, agent); it.Claimed {
						t.Errorf("%s, %q, split at %d: claimed", name, m, at)
					}
				}
			}
		}
	}
}

// TestEchoThatIsNotVerbatim: copies of the prompt that came through something are
// no claim either, and claims after them are.
func TestEchoThatIsNotVerbatim(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("The parser must accept every file in the corpus.\n", 8<<10)
	latin1 := func(s string) string {
		var b []byte
		for _, r := range s {
			b = append(b, byte(r))
		}
		return string(b)
	}
	twice := func(s string) string { // read as Latin-1 and written as UTF-8
		var b strings.Builder
		for _, c := range []byte(s) {
			b.WriteRune(rune(c))
		}
		return b.String()
	}
	const says = "Präzise: prüfe die Höhe, führe alle Tests aus. "
	for name, tt := range map[string]struct {
		prompt string
		echo   func(string) string
	}{
		"256 KiB and more":  {filler + "Then say:\n" + done, func(s string) string { return s }},
		"invalid UTF-8":     {"Read \xff\xfe and \xc3.\nWhen all is done, say:\n" + done, func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }},
		"a run of it":       {"Read " + strings.Repeat("\xff", 9) + ".\nWhen all is done, say:\n" + done, func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }},
		"Latin-1":           {says + "Sage dann:\n" + done, latin1},
		"Latin-1, replaced": {says + "Sage dann:\n" + done, func(s string) string { return strings.ToValidUTF8(latin1(s), "\uFFFD") }},
		"encoded twice":     {says + "Sage dann:\n" + done, twice},
		"CRLF":              {"Do it.\nAll of it.\nThen say:\n" + done, func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }},
		"wrapped":           {"Do all of the work that is described here. When everything is done, say " + done, func(s string) string { return strings.ReplaceAll(s, " ", "\n") }},
		"unwrapped":         {"Do all of\nthe work.\nSay:\n" + done, func(s string) string { return strings.Replace(s, "\n", " ", 2) }},
		"the end of it":     {filler + "Then say:\n" + done, func(s string) string { return s[len(s)-4000:] }},
		"cut after the tag": {filler + "Then say:\n" + done + "\nand stop.\n", func(s string) string { return strings.TrimSuffix(s, "\nand stop.\n") }},
		"indented":          {"Do all of\nthe work.\nSay:\n" + done, func(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") }},
		"invalid, dropped":  {"Read \xe9\xff.\nThen, when all is done, say:\r\n" + done, func(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\r", "") }},
		"with tabs":         {"Do all of\n    the work.\nSay:\n" + done, func(s string) string { return strings.ReplaceAll(s, "    ", "\t") }},
	} {
		said := tt.echo(tt.prompt)
		for rest, claims := range map[string]bool{"": false, "\n\nNot yet.": false, "\n\nDone.\n" + done: true, "\n" + done: true} {
			for _, m := range allModes {
				for agent, r := range map[string]ralph.Runner{
					"claude":  prints(t, fmt.Sprintf(`{"type":"result","is_error":false,"result":%s}`, asJSON(t, said+rest))),
					"another": ralph.Replay(said + rest),
				} {
					if it := answered(t, tt.prompt, m, r); it.Claimed != claims {
						t.Errorf("%s, %s, %q, then %q: claimed is %v", name, agent, m, rest, it.Claimed)
					}
				}
			}
		}
	}
}

// TestQuotedEcho: a prompt that is repeated as a quotation is one in every mode.
func TestQuotedEcho(t *testing.T) {
	t.Parallel()
	for _, prompt := range []string{"Do all of\nthe work.\nSay:\n" + done + "\nat the end.", "Do all of the work that is described here, then say " + done} {
		for _, quote := range []*strings.Replacer{strings.NewReplacer("\n", "\n> "), strings.NewReplacer("\n", "\n>> > "), strings.NewReplacer(" ", "\n> ")} {
			for _, m := range allModes {
				said := "> " + quote.Replace(prompt)
				for rest, claims := range map[string]bool{"": false, "\n\nNot yet.": false, "\n\n" + done: true} {
					if it := answered(t, prompt, m, ralph.Replay(said+rest)); it.Claimed != claims {
						t.Errorf("%q, %q: claimed is %v", m, said+rest, it.Claimed)
					}
				}
			}
		}
	}
}

// TestHonestClaimIsNoEcho: what an answer has in common with the prompt does not
// make it one.
func TestHonestClaimIsNoEcho(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ prompt, answer string }{
		{"Update README.md, then say " + done, "I have updated README.md.\n" + done},
		{"请更新 README.md 文件，完成后输出 " + done, "我已经更新了 README.md。\n" + done}, // of ASCII it is the same
		{"Обнови README.md и скажи " + done, "Готово: README.md.\n" + done},
		{"Mettez à jour README.md, puis dites " + done, "J'ai mis à jour README.md.\n" + done},
		{"Say: " + done, "I say:\n" + done},
		{"1. " + done, "1. Done.\n\n" + done},
		{done + "\nis what you say when\n- all tests pass\n- the docs are right", "- all tests pass\n- the docs are right\n\n" + done},
		{"The last answer was:\n\n    All tests pass.\n    " + done + "\n\nIt was not true.", "All tests pass.\n" + done},
		{"Criteria:\n- all tests pass\n- the docs are right\n" + done, "All is done:\n- all tests pass\n- the docs are right\n" + done},
	} {
		for _, m := range allModes {
			if it := answered(t, tt.prompt, m, ralph.Replay(tt.answer)); !it.Claimed {
				t.Errorf("%q to %q, %q: no claim, %s", tt.answer, tt.prompt, m, it.NearMiss)
			}
		}
	}
}

// TestEchoIsLinear: many tags in prompt and answer, and what is between them.
func TestEchoIsLinear(t *testing.T) {
	t.Parallel()
	size := 1 << 20
	if race {
		size = 256 << 10
	}
	of := func(s string) string { return strings.Repeat(s, size/len(s)) }
	for _, prompt := range []string{of(done), "Say " + of(done+" "), of(done + "é"), "x" + of(" ") + done, of("é") + done} {
		for _, answer := range []string{of(done + "\n"), of(done + "      \n"), of("é" + done + "\n"), of("\xff" + done + "\n"), of("\n") + done} {
			for _, m := range []ralph.Match{ralph.MatchOwnLine, ralph.MatchFold} {
				answered(t, prompt, m, ralph.Replay(answer))
			}
		}
	}
}

// prints is an agent that prints a stream of any size.
func prints(t *testing.T, stream string) ralph.Runner {
	t.Helper()
	file := filepath.Join(t.TempDir(), "stream")
	if err := os.WriteFile(file, []byte(stream+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &ralph.Command{Args: []string{"cat", file}, Format: ralph.FormatClaude}
}
