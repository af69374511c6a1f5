package reply

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxParagraph bounds wrapped lines, so that the work stays linear: 4 KiB are more than
// a person writes.
const maxParagraph = 4 << 10

// A Block is a piece of an answer in Markdown that is read on its own: a heading, a
// list item, a row of a table, a paragraph.
type Block struct {
	Text  string
	Level int  // of a heading, 1 to 6; 7 for a line in bold; 0 = no heading
	Item  bool // a list item or a row
	Open  bool // an empty check box, or a mark that says "no"
	Done  bool // a ticked box, a mark that says "yes", text that is struck out
	Other bool // a quotation or a fence: not the writer's own words
}

// Title reports whether what follows the block is said under it.
func (b Block) Title() bool {
	return b.Level > 0 || strings.HasSuffix(b.Text, ":") && len(b.Text) < 100 && !strings.Contains(b.Text, ". ")
}

// A cutter cuts an answer in Markdown into blocks.
type cutter struct {
	out   func(Block)
	fence Fence
	last  Block    // text that the next line may continue, if there are parts
	parts []string // of last
	size  int
}

// EachBlock calls out with each block. The text of code fences and block quotations
// is left out. Lines that continue a paragraph are joined to it.
func EachBlock(text string, out func(Block)) {
	c := cutter{out: out}
	for line := range strings.SplitSeq(text, "\n") {
		c.line(line)
	}
	c.flush()
}

func (c *cutter) line(line string) {
	was := c.fence.Open()
	c.fence.Line(line)
	line = strings.TrimSpace(line)
	switch {
	case was != "" || c.fence.Open() != "" || strings.HasPrefix(line, ">"):
		c.flush()
		c.out(Block{Other: true})
	case line == "":
		c.flush()
	case c.continues(line):
		c.parts = append(c.parts, line)
		c.size += len(line)
	case line[0] == '|':
		c.flush()
		if row := strings.Trim(line, "| "); strings.Trim(row, "|-: ") != "" {
			b := blockOf(row)
			b.Item = true
			c.out(b)
		}
	default:
		c.flush()
		b := blockOf(line)
		switch {
		case b.Level == 0 && b.Text != "":
			c.last, c.size = b, len(b.Text)
			c.parts = append(c.parts, b.Text)
		case b.Text != "" || b.Open:
			c.out(b)
		}
	}
}

// continues reports whether a line goes on with the text before it.
func (c *cutter) continues(line string) bool {
	if len(c.parts) == 0 || c.size >= maxParagraph {
		return false
	}
	first, _ := utf8.DecodeRuneInString(line)
	before := c.parts[len(c.parts)-1]
	return unicode.IsLower(first) && !strings.ContainsRune(".:!?;", rune(before[len(before)-1]))
}

func (c *cutter) flush() {
	if len(c.parts) == 0 {
		return
	}
	c.last.Text = strings.Join(c.parts, " ")
	c.out(c.last)
	c.parts = c.parts[:0]
}

// blockOf reads the marks a line begins with.
func blockOf(line string) Block {
	var b Block
	if n := len(line) - len(strings.TrimLeft(line, "#")); n > 0 && n <= 6 && strings.HasPrefix(line[n:], " ") {
		b.Level, b.Text = n, strings.Trim(line[n:], "# *")
		return b
	}
	rest, item := listItem(line)
	rest, boxed := b.box(rest)
	b.Item = item || boxed
	b.Done = b.Done || len(rest) > 4 && strings.HasPrefix(rest, "~~") && strings.HasSuffix(rest, "~~")
	if bold := strings.TrimSuffix(rest, ":"); !b.Item && len(bold) > 4 && strings.HasPrefix(bold, "**") &&
		strings.HasSuffix(bold, "**") && !strings.Contains(bold[2:len(bold)-2], "**") && !strings.HasSuffix(bold, ".**") {
		b.Level = 7
	}
	if strings.Contains(rest, "**") || strings.Contains(rest, "__") || strings.Contains(rest, "~~") {
		rest = emphasis.Replace(rest)
	}
	b.Text = strings.TrimSpace(rest)
	return b
}

var emphasis = strings.NewReplacer("**", "", "__", "", "~~", "")

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

// Check boxes, and the signs that are used as such.
var (
	emptyBoxes  = []string{"[ ]", "[]", "☐", "❌", "✗", "✘", "⏳", "🚧", "⬜"}
	tickedBoxes = []string{"[x]", "[X]", "☑", "☒", "✅", "✔", "✓"}
	failedSigns = emptyBoxes[3:8]
)

// box takes off a check box or a sign that is used as one.
func (b *Block) box(text string) (string, bool) {
	if text == "" || text[0] != '[' && text[0] < utf8.RuneSelf && text[len(text)-1] < utf8.RuneSelf {
		return text, false
	}
	for _, mark := range emptyBoxes {
		if rest, ok := strings.CutPrefix(text, mark); ok && (rest == "" || rest[0] != '(') {
			b.Open = !strings.Contains(rest, "✅")
			return strings.TrimLeft(rest, " \uFE0F"), true
		}
	}
	for _, mark := range tickedBoxes {
		if rest, ok := strings.CutPrefix(text, mark); ok {
			b.Done = true
			return strings.TrimLeft(rest, " \uFE0F"), true
		}
	}
	for _, mark := range failedSigns {
		if rest, ok := strings.CutSuffix(text, mark); ok {
			b.Open = !strings.Contains(rest, "✅")
			return strings.TrimSpace(rest), true
		}
	}
	return text, false
}
