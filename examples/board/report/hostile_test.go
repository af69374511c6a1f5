package report_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/board"
	"github.com/ralph-loop/ralph/examples/board/report"
	"github.com/ralph-loop/ralph/internal/term/termtest"
	"github.com/ralph-loop/ralph/progress"
)

// scripts are texts that would be more than text in a page.
func scripts() []string {
	return []string{
		`<script>alert("EVIL")</script>`, `</script><script>EVIL`, `</style><style>*{display:none}EVIL`, `</title><h1>EVIL`, `</svg></pre></details><h1>EVIL`,
		`"><img src=x onerror=EVIL>`, `' onclick='EVIL`, `javascript:EVIL`, `<a href="javascript:EVIL">`, `<!-- EVIL`, `]]>EVIL<![CDATA[`, `{{EVIL}}`, `&lt;script&gt;EVIL`, `<base href=//EVIL>`,
		`<meta http-equiv=refresh content="0;url=//EVIL">`, "<scr\x00ipt>EVIL", "<scr\u202eipt>EVIL",
	}
}

// dirty is a report in which every text is hostile: all strings that can be reached from it
// are set, but for those that are no text of tasks and agents.
func dirty(hostile string) report.Report {
	rep := longLoop(4, "a word ")
	run := &rep.Run
	run.Kind = progress.KindPipeline
	run.State.Task.Title = hostile
	for i := range run.Cards {
		c := &run.Cards[i]
		c.Lane, c.Why, c.After = board.Failed, hostile, []string{hostile}
		st := c.Loops[0]
		st.State.Obstacle = hostile
		st.State.Task.Acceptance, st.Left = []string{hostile}, []string{hostile}
		c.Loops[0] = st
	}
	h := rep.Histories["T1.coder"]
	for i := range h.Attempts {
		a := &h.Attempts[i]
		exit := 1
		a.Files, a.Learnings, a.Iteration.Ended = []string{hostile}, []string{hostile}, []string{hostile}
		a.Verdict.Checks = []ralph.Check{{ExitCode: &exit}}
		a.Blocked = i == 2
	}
	h.Attempts[0].Verdict.Feedback, h.Attempts[1].Fault = hostile, ralph.FaultError
	h.Attempts[3].NearMiss, h.Attempts[3].Verdict = hostile, ralph.Verdict{}
	h.Asked = []board.Asked{{Time: began, Kind: ralph.EventGuided, Text: hostile}}
	rep.Unread = []board.Unread{{Name: hostile, Err: errors.New(hostile)}}
	soil(reflect.ValueOf(&rep.Run.Cards).Elem(), hostile)
	soil(reflect.ValueOf(&h).Elem(), hostile)
	soil(reflect.ValueOf(&run.State.Task).Elem(), hostile)
	run.Loop, run.Status = hostile, progress.Status(hostile)
	rep.Histories = map[string]board.History{hostile: h}
	return rep
}

// soil sets all strings that can be reached.
func soil(v reflect.Value, hostile string) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		if v.Type() != reflect.TypeFor[ralph.EventKind]() && v.CanSet() {
			v.SetString(hostile)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			soil(v.Field(i), hostile)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			soil(v.Index(i), hostile)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			soil(v.Elem(), hostile)
		}
	}
}

// TestHostile: whatever tasks and agents say stands in the page as text, and changes
// nothing of it: its elements are those of a page in which they say something harmless.
func TestHostile(t *testing.T) {
	t.Parallel()
	oneLine, lines := elements(t, page(t, dirty("EVIL"))), elements(t, page(t, dirty("EVIL\nEVIL")))
	if n := strings.Count(oneLine.text, "EVIL"); n < 70 {
		t.Fatalf("%d texts are shown", n)
	}
	for _, hostile := range append(scripts(), termtest.Sequences()...) {
		got := page(t, dirty(hostile))
		if bad := termtest.Unsafe(got); bad != "" {
			t.Errorf("%q: %s", hostile, bad)
		}
		e, want := elements(t, got), oneLine
		if strings.Contains(strings.TrimSpace(progress.Printable(hostile)), "\n") { // a return is the end of a line
			want = lines
		}
		if e.shape != want.shape {
			t.Errorf("%q changes the page:\n%s\nwant\n%s", hostile, e.shape, want.shape)
		}
		// Among what is no text, a name may be in an address only behind a #.
		for _, href := range e.addresses {
			if !strings.HasPrefix(href, "#") {
				t.Errorf("%q: an address %q", hostile, href)
			}
		}
	}
	for hostile, shown := range map[string]string{
		`<script>alert("EVIL")</script>`: `<script>alert("EVIL")</script>`,
		"a\u202eEVIL\u2066b":             "a⟨U+202E⟩EVIL⟨U+2066⟩b",
		"\x1b[31mEVIL\x1b[0m":            "EVIL",
	} {
		if got := elements(t, page(t, dirty(hostile))).text; !strings.Contains(got, shown) {
			t.Errorf("%q is not shown as %q", hostile, shown)
		}
	}
}

// parsed is what a browser makes of a page.
type parsed struct {
	shape     string // its elements with their attributes' names, nested
	text      string
	addresses []string
}

// elements parses a page.
func elements(t *testing.T, source string) (all parsed) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(source))
	if err != nil {
		t.Fatal(err)
	}
	var shape, text strings.Builder
	var walk func(n *html.Node, depth int)
	walk = func(n *html.Node, depth int) {
		switch n.Type {
		case html.ElementNode:
			fmt.Fprintf(&shape, "%s%s", strings.Repeat(" ", depth), n.Data)
			for _, a := range n.Attr {
				shape.WriteString(" " + a.Key)
				if a.Key == "href" || a.Key == "src" {
					all.addresses = append(all.addresses, a.Val)
				}
			}
			shape.WriteString("\n")
		case html.TextNode:
			text.WriteString(n.Data + "\n")
		case html.CommentNode:
			t.Errorf("a comment: %q", n.Data)
		}
		for c := range n.ChildNodes() {
			walk(c, depth+1)
		}
	}
	walk(doc, 0)
	all.shape, all.text = shape.String(), text.String()
	return all
}

// wellFormed: elements are closed in the order in which they were opened, names of
// places are there once, and what is referred to is there.
func wellFormed(t *testing.T, name, source string) {
	t.Helper()
	var open []string
	ids, refers := map[string]int{}, map[string]bool{}
	z := html.NewTokenizer(strings.NewReader(source))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		tok := z.Token()
		for _, a := range tok.Attr {
			switch a.Key {
			case "id":
				ids[a.Val]++
			case "href", "aria-labelledby":
				refers[strings.TrimPrefix(a.Val, "#")] = true
			}
		}
		void := tok.Data == "meta" || tok.Data == "br" || tok.Data == "img" || tok.Data == "link"
		switch {
		case kind == html.StartTagToken && !void:
			open = append(open, tok.Data)
		case kind == html.EndTagToken && (len(open) == 0 || open[len(open)-1] != tok.Data):
			t.Fatalf("%s: </%s> closes %v", name, tok.Data, open)
		case kind == html.EndTagToken:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("%s: %v are not closed", name, open)
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("%s: %d elements are %s", name, n, id)
		}
	}
	for id := range refers {
		if ids[id] == 0 {
			t.Errorf("%s: nothing is %s", name, id)
		}
	}
}
