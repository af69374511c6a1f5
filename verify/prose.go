package verify

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/internal/reply"
)

// Bounds that keep the work linear in the length of a text: no sentence, quotation
// or wrapped line is longer than a person would write it.
const (
	maxSentence  = 200 // words
	maxClause    = 60  // words
	maxQuotation = 300 // bytes
	maxParagraph = 4 << 10
)

// A block is a piece of an answer that is read on its own: a heading, a list
// item, a cell of a table, a paragraph.
type block struct {
	text  string
	level int  // of a heading, 1 to 6; 7 for a line in bold; 0 = no heading
	item  bool // a list item or a cell
	open  bool // an empty check box, or a mark that says "no"
	done  bool // a ticked box, a mark that says "yes", text that is struck out
	other bool // a quotation: not the agent's statement, but it is there
}

// blocks cuts an answer in Markdown into what the agent says itself. Code fences
// and block quotations are marked as such, and their text is left out. Lines that
// continue a paragraph are joined to it.
func blocks(text string) []block {
	var (
		out   []block
		fence reply.Fence
		wraps bool // the last block is text that the next line may continue
		parts []string
		size  int
	)
	flush := func() {
		if len(parts) > 1 {
			out[len(out)-1].text = strings.Join(parts, " ")
		}
		parts, size = nil, 0
	}
	for line := range strings.SplitSeq(text, "\n") {
		was := fence.Open()
		fence.Line(line)
		line = strings.TrimSpace(line)
		if was != "" || fence.Open() != "" || strings.HasPrefix(line, ">") {
			flush()
			wraps = false
			out = append(out, block{other: true})
			continue
		}
		if line == "" {
			wraps = false
			continue
		}
		first, _ := utf8.DecodeRuneInString(line)
		if wraps && unicode.IsLower(first) && !strings.ContainsRune(".:!?;", rune(parts[len(parts)-1][len(parts[len(parts)-1])-1])) && size < maxParagraph {
			parts = append(parts, line)
			size += len(line)
			continue
		}
		flush()
		wraps = false
		if strings.HasPrefix(line, "|") {
			for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
				if cell = strings.TrimSpace(cell); strings.Trim(cell, "-: ") != "" {
					out = append(out, blockOf("- "+cell))
				}
			}
			continue
		}
		b := blockOf(line)
		if b.text == "" && !b.open {
			continue
		}
		out = append(out, b)
		if wraps = b.level == 0 && b.text != ""; wraps {
			parts, size = append(parts, b.text), len(b.text)
		}
	}
	flush()
	return out
}

// blockOf reads the marks a line begins with.
func blockOf(line string) block {
	var b block
	if n := len(line) - len(strings.TrimLeft(line, "#")); n > 0 && n <= 6 && strings.HasPrefix(line[n:], " ") {
		b.level, b.text = n, strings.Trim(line[n:], "# *")
		return b
	}
	rest, item := listItem(line)
	b.item = item
	rest, boxed := b.box(rest)
	b.item = b.item || boxed
	if strings.HasPrefix(rest, "~~") && strings.HasSuffix(rest, "~~") && len(rest) > 4 {
		b.done = true
	}
	if bold := strings.TrimSuffix(rest, ":"); !b.item && len(bold) > 4 && strings.HasPrefix(bold, "**") && strings.HasSuffix(bold, "**") && !strings.Contains(bold[2:len(bold)-2], "**") && !strings.HasSuffix(bold, ".**") {
		b.level = 7
	}
	b.text = strings.TrimSpace(strings.NewReplacer("**", "", "__", "", "~~", "").Replace(rest))
	return b
}

// listItem takes off a bullet or a number.
func listItem(line string) (string, bool) {
	for _, mark := range []string{"- ", "* ", "+ ", "• ", "– "} {
		if rest, ok := strings.CutPrefix(line, mark); ok {
			return strings.TrimSpace(rest), true
		}
	}
	n := len(line) - len(strings.TrimLeft(line, "0123456789"))
	if n > 0 && n < 4 && len(line) > n+1 && (line[n] == '.' || line[n] == ')') && line[n+1] == ' ' {
		return strings.TrimSpace(line[n+1:]), true
	}
	return line, false
}

// box takes off a check box or a sign that is used as one.
func (b *block) box(text string) (string, bool) {
	for _, mark := range []string{"[ ]", "[]", "☐", "❌", "✗", "✘", "⏳", "🚧", "⬜"} {
		if rest, ok := strings.CutPrefix(text, mark); ok && (rest == "" || rest[0] != '(') {
			b.open = !strings.Contains(rest, "✅")
			return strings.TrimLeft(rest, " \uFE0F"), true
		}
	}
	for _, mark := range []string{"[x]", "[X]", "☑", "☒", "✅", "✔", "✓"} {
		if rest, ok := strings.CutPrefix(text, mark); ok {
			b.done = true
			return strings.TrimLeft(rest, " \uFE0F"), true
		}
	}
	for _, mark := range []string{"❌", "✗", "✘", "⏳", "🚧"} {
		if rest, ok := strings.CutSuffix(text, mark); ok {
			b.open = !strings.Contains(rest, "✅")
			return strings.TrimSpace(rest), true
		}
	}
	return text, false
}
