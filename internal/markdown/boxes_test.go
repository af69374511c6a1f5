package markdown_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"github.com/ralph-loop/ralph/tasks"
)

// theirs are the offsets of the marks of the boxes in a text: what stands first in a list
// item, in no block quote, as goldmark has it, and begins with a mark in brackets, white
// space and text.
func theirs(source []byte) []int {
	boxes := []int{}
	root := goldmark.DefaultParser().Parse(text.NewReader(source))
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch first := n.FirstChild(); {
		case !entering:
		case n.Kind() == ast.KindBlockquote:
			return ast.WalkSkipChildren, nil
		case n.Kind() != ast.KindListItem || first == nil:
		case first.Kind() == ast.KindParagraph || first.Kind() == ast.KindTextBlock || first.Kind() == ast.KindHeading:
			if first.Lines().Len() > 0 && isBox(source, first.Lines().At(0)) {
				boxes = append(boxes, first.Lines().At(0).Start+1)
			}
		}
		return ast.WalkContinue, nil
	})
	return boxes
}

// isBox reports whether a line of a list item begins behind the item's marker, and with a
// box.
func isBox(source []byte, line text.Segment) bool {
	before := bytes.TrimRight(source[:line.Start], " \t")
	if len(before) == 0 || bytes.IndexByte([]byte("-*+.)"), before[len(before)-1]) < 0 {
		return false // a link's definition comes before it in the item
	}
	t := string(source[line.Start:line.Stop])
	if len(t) < 5 || t[0] != '[' || !strings.Contains(" xX-~/", t[1:2]) || t[2] != ']' {
		return false
	}
	t = strings.TrimPrefix(t[3:], `\`)
	t = strings.TrimPrefix(t, "*")
	return t != "" && strings.Contains(" \t", t[:1]) && strings.Trim(t, " \t\n") != ""
}

func ours(t *testing.T, source []byte) []int {
	t.Helper()
	list, err := tasks.ParseList(source)
	if err != nil {
		t.Fatal(err)
	}
	boxes := []int{}
	for _, it := range list.All() {
		boxes = append(boxes, it.Offset)
	}
	return boxes
}

// What lists are generated from: what a line begins with, and what may stand in it.
var (
	indents = []string{"", "", "", "  ", "  ", "    ", "   ", "      ", "\t", "\t\t", " ", "     "}
	begins  = []string{
		"- a ", "- ", "* ", "1. ", "2. ", "1) ", "- - ", "-   ", "-     ", "- [ ] ", "- [x] ", "* [ ] ", "+ [X] ", "1. [ ] ", "10. [ ] ", "- [-] ", "- [ ]* ", "-[ ] ", "- []", "- [ ]",
		"# ", "## ", "---", "===", "***", "```", "~~~", "````", "```go", "<!-- ", "-->", "<!-- comment -->", "> ", "> - [ ] ", "[ ] ", "", "", "", "",
	}
	texts = []string{"T001 Do it", "text", "", "[ ] text", "- [ ] text", "`code`", "```", "-->", "<!-- text", "---", "#", "[a]: b"}
)

func generate(random *rand.Rand) []byte {
	var b bytes.Buffer
	for range 1 + random.IntN(20) {
		for _, of := range [][]string{indents, begins, texts} {
			b.WriteString(of[random.IntN(len(of))])
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// TestBoxes: thousands of generated lists have the same boxes for goldmark and for us.
func TestBoxes(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 20_000 {
		source := generate(random)
		if !comparable(source) {
			continue
		}
		want := theirs(source)
		found += len(want)
		if diff := cmp.Diff(want, ours(t, source)); diff != "" {
			t.Fatalf("%s\n%q\n%s", diff, source, source)
		}
	}
	if found < 10_000 {
		t.Errorf("%d boxes in all are too few to show anything", found)
	}
}

// comparable leaves out texts that goldmark reads otherwise than CommonMark's reference, or
// we on purpose: tabs behind anything but tabs, list items with nothing in their first
// line, elements of HTML, a return without a newline.
func comparable(source []byte) bool {
	if !utf8.Valid(source) || bytes.ContainsAny(source, "\r\f\v\x00") {
		return false
	}
	for rest := source; ; rest = rest[1:] {
		n := bytes.IndexByte(rest, '<')
		if n < 0 {
			break
		}
		if rest = rest[n:]; !bytes.HasPrefix(rest, []byte("<!--")) {
			return false
		}
	}
	for line := range bytes.Lines(source) {
		inner := bytes.TrimLeft(line, "\t")
		if bytes.Contains(inner, []byte("\t")) || len(bytes.Trim(inner, "-*+1234567890.) \n")) == 0 && bytes.ContainsAny(inner, "-*+.)") {
			return false
		}
	}
	return true
}

// FuzzBoxes: the same of any text.
func FuzzBoxes(f *testing.F) {
	for i := range uint64(20) {
		f.Add(generate(rand.New(rand.NewPCG(i, i))))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		if !comparable(source) {
			t.Skip()
		}
		if diff := cmp.Diff(theirs(source), ours(t, source)); diff != "" {
			t.Fatalf("%s\n%s", diff, source)
		}
	})
}
