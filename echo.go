package ralph

import (
	"iter"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/internal/reply"
	"github.com/ralph-loop/ralph/internal/term"
)

// withoutPrompt removes verbatim copies of the prompt from the output, line
// numbers unchanged, and returns what the prompt says before its tags, for copies
// that are not verbatim. Only a prompt that holds a tag can do harm.
//
// Without it an agent that prints its prompt before it answers would finish the loop in
// the first iteration: the promise always stands in there.
func (m Match) withoutPrompt(output, prompt string) (string, []passage) {
	prompt = term.Plain(prompt)
	if tagged, escaped := scan(output); !tagged && !escaped || !reply.HasTag(prompt) {
		return output, nil
	}
	return reply.Remove(m.seen(output), prompt), passages(prompt)
}

// A passage is what a prompt says up to the end of a tag. An answer in which a tag
// comes after the same words repeats the prompt, however it came there: cut, with
// other white space or line ends, with characters that are not ASCII broken by
// another encoding.
//
// Exact comparison was not enough: clients wrap lines, Windows changes line ends, and
// terminals that decode Latin-1 turn one character into two.
type passage struct {
	words  []rune // from the end, without white space and what is no UTF-8
	coarse []rune // the same, but each run of characters that are not ASCII is one, other
}

const (
	// saidLetters is how much of a passage is compared, in letters of ASCII, the tag's own
	// included: enough that no answer says the same by chance, and little enough that a
	// prompt of which the client keeps only the end is still known.
	saidLetters = 256
	saidRunes   = 2048
	saidLeast   = 8  // with less before the tag nobody can tell
	saidTags    = 32 // of a prompt, the last ones
	other       = utf8.RuneError
)

// passages returns those of a prompt. Only the last tags are looked at, so that the
// time does not grow with their number.
func passages(prompt string) []passage {
	var last []tag
	for t := range tags(prompt) {
		if last = append(last, t); len(last) > saidTags {
			last = last[1:]
		}
	}
	var said []passage
	for _, t := range last {
		var p passage
		letters, own := 0, 0
		for r, at := range backwards(prompt[:t.after]) {
			if r != utf8.RuneError {
				p.words = append(p.words, r)
			}
			if r < utf8.RuneSelf {
				p.coarse = append(p.coarse, r)
				letters++
			} else if n := len(p.coarse); n == 0 || p.coarse[n-1] != other {
				p.coarse = append(p.coarse, other)
			}
			if at >= t.open {
				own = len(p.words)
			}
			if letters == saidLetters || len(p.words) == saidRunes {
				break
			}
		}
		known := slices.ContainsFunc(said, func(o passage) bool { return slices.Equal(o.words, p.words) })
		if !known && len(p.words) >= own+saidLeast {
			said = append(said, p)
		}
	}
	return said
}

// repeated reports whether a text ends with the passage: exactly, or but for
// characters that are not ASCII, if the text's look broken.
func (p passage) repeated(text string) bool {
	return ends(text, p.words, false) || ends(text, p.coarse, true)
}

// ends compares all characters that show: white space does not count, for clients wrap
// what they print. With coarse it compares ASCII alone, but only where the text shows the
// marks of a wrong decoding: otherwise two different words of another script would be the
// same.
func ends(text string, said []rune, coarse bool) bool {
	broken, last := !coarse, rune(0)
	for r := range backwards(text) {
		broken = broken || r >= utf8.RuneSelf && r <= '\u00ff' || r == utf8.RuneError
		if coarse && r >= utf8.RuneSelf {
			r = other
		}
		if r == other && (!coarse || last == other) {
			continue
		}
		if len(said) == 0 || r != said[0] {
			break
		}
		said, last = said[1:], r
	}
	return broken && len(said) == 0
}

// backwards yields the characters of a text that show, from its end, with their
// offsets, but for >, with which lines are quoted.
func backwards(text string) iter.Seq2[rune, int] {
	return func(yield func(rune, int) bool) {
		for at := len(text); at > 0; {
			r, size := utf8.DecodeLastRuneInString(text[:at])
			at -= size
			if r != '>' && !unicode.IsControl(r) && !ignorable(r) && !yield(r, at) {
				return
			}
		}
	}
}
