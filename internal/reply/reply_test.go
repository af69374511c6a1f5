package reply_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/reply"
	"github.com/ralph-loop/ralph/internal/term"
)

const tag = "<promise>X</promise>"

// long is more than a Text keeps.
var long = strings.Repeat("All is well in this line.\n", 40<<10)

func kept(parts ...string) string {
	var t reply.Text
	for _, p := range parts {
		t.Write([]byte(p))
	}
	return t.String()
}

// TestTextFences: what stands in a fence, for a person who sees the whole text,
// still does when the middle is left out, be the fence coloured or overwritten.
func TestTextFences(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		text string
		in   bool // the tag at the end is in a fence
	}{
		{"none", "x\n" + long + long + tag, false},
		{"in what is left out", long + "```\n" + long + tag, true},
		{"closed in what is left out", "```\n" + long + "```\n" + long + tag, false},
		{"opened and closed there", long + "```\n```\n" + long + tag, false},
		{"with a colour before it", long + "\x1b[32m```\x1b[0m\n" + long + tag, true},
		{"with a colour in it", long + "`\x1b[1m``\x1b[0m\n" + long + tag, true},
		{"with a colour of one C1 character", long + "\u009b1m~~~\n" + long + tag, true},
		{"closed with a colour before it", "```\n" + long + "\x1b[32m```\x1b[0m\n" + long + tag, false},
		{"coloured in what is kept", "\x1b[32m```go\x1b[0m\n" + long + tag, true},
		{"behind a spinner", long + "10%\r```\n" + long + tag, true},
		{"overwritten", long + "```\rnothing\n" + long + tag, false},
		{"with CRLF", long + "```\r\n" + long + tag, true},
		{"with backquotes behind it", long + "```a`b\n" + long + tag, false},
		{"in a link", long + "\x1b]8;;file\n```\n" + long + tag, true},
		{"in a title", long + "\x1b]0;```\x07\n" + long + tag, false},
		{"after other characters of two bytes", long + "«\n\x1b[1m```»\n" + long + tag, true},
	} {
		got := kept(tt.text)
		if len(got) > reply.MaxText || !strings.HasSuffix(got, tag) {
			t.Fatalf("%s: %d bytes, %.99q", tt.name, len(got), got[len(got)-99:])
		}
		var f reply.Fence
		f.Lines(strings.TrimSuffix(strings.NewReplacer("\x1b[32m", "", "\x1b[0m", "").Replace(got), tag))
		if in := f.Open() != ""; in != tt.in {
			t.Errorf("%s: in a fence is %v, want %v", tt.name, in, tt.in)
		}
	}
}

// TestTextTags: lines with a tag are kept in what is left out, within bounds, and
// their fence with them.
func TestTextTags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, line, want string }{
		{"alone", tag, "\n" + tag + "\n"},
		{"half of one", "say </PROMISE", "\nsay </PROMISE\n"},
		{"split by a colour", "<pro\x1b[1mmise>X</promise>", "\n<promise>X</promise>\n"},
		{"in a fence", "```\n" + tag + "\n```", "\n```\n" + tag + "\n```\n"},
		{"in a coloured fence", "\x1b[2m```\x1b[0m\n" + tag + "\n\x1b[2m```\x1b[0m", "\n```\n" + tag + "\n```\n"},
		{"in a long line", strings.Repeat("a", 5000) + tag + strings.Repeat("b", 5000), "\n… " + strings.Repeat("a", 512-len("<promise>X")) + tag},
	} {
		if got := kept(long, tt.line+"\n", long); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q is lost", tt.name, tt.want)
		}
	}
	got := kept(long, strings.Repeat("say "+tag+"\n", 100), long)
	if n := strings.Count(got, tag); n != 64 {
		t.Errorf("%d tags are kept", n)
	}
	if got := kept(long, strings.Repeat("<b> & ~~ <p> promise ``\n", 1000), long); strings.Contains(got, "<b>") {
		t.Error("lines without a tag are kept")
	}
}

// TestTextBlocks: so does what stands in <pre> or in a comment.
func TestTextBlocks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		in         reply.Place
	}{
		{"pre in what is kept", "<pre>\n" + long + tag, reply.InCode},
		{"pre in what is left out", long + "<pre class=x>\n" + long + tag, reply.InCode},
		{"pre, closed there", "<pre>\n" + long + "</pre>\n" + long + tag, reply.InProse},
		{"comment in what is kept", "<!-- x\n" + long + tag, reply.InQuote},
		{"comment in what is left out", long + "<!--\n" + long + tag, reply.InQuote},
		{"comment, closed there", "<!--\n" + long + "x -->\n" + long + tag, reply.InProse},
		{"comment on a long line, closed", long + "<!-- " + strings.Repeat("x", 2000) + " -->\n" + long + tag, reply.InProse},
	} {
		got := kept(tt.text)
		var b reply.Blocks
		b.Lines(strings.TrimSuffix(got, "\n"+tag))
		if in := b.Place(tag); in != tt.in {
			t.Errorf("%s: %v, want %v", tt.name, in, tt.in)
		}
	}
	for _, fence := range []string{"```go ", "~~~", "<pre>", "<!-- "} { // with the tag on its line
		for _, more := range []string{"", "x " + tag + "\n"} {
			if !strings.Contains(kept(long, fence+tag+"\n"+more, long+tag), fence+tag) {
				t.Errorf("%q: its tag is lost", fence)
			}
			var b reply.Blocks
			b.Lines(strings.TrimSuffix(kept(long, fence+tag+"\n"+more, long+tag), "\n"+tag))
			if b.Place(tag) == reply.InProse {
				t.Errorf("%q, %q: what follows is outside of it", fence, more)
			}
		}
	}
	for in, text := range map[string]string{"<pre>\n%s\n</pre>\n": "<pre>\n" + tag + "\n</pre>\n", "<!--\n%s\n-->\n": "<!--\n" + tag + "\n-->\n"} {
		if got := kept(long, text, long); !strings.Contains(got, strings.Replace(in, "%s", tag, 1)) {
			t.Errorf("a tag in %q is kept outside of it", in)
		}
	}
	if got := kept(long, "\x1b[8m"+tag+"\x1b[0m\n", long); strings.Contains(got, tag) {
		t.Error("a tag is kept that is hidden")
	}
	for _, tt := range []struct {
		head, middle string
		seen         bool
	}{
		{"\x1b[8m", "", false}, {"", "\x1b[8mx\n", false}, {"\x1b[8m", "\x1b[0m\n", true}, {"\x1b[8m", "\x1b[m\x1b[8m\n", false}, {"", "\x1b[8mx\x1b[28m\n", true}, {"\x1b[8m", "```\n\x1b[0m\n", true},
	} {
		seen := term.Visible(kept(tt.head+long, long+tt.middle, long+tag))
		var b reply.Blocks
		b.Lines(strings.TrimSuffix(seen, tag))
		if strings.HasSuffix(seen, "\n"+tag) != tt.seen || b.Open() != "" {
			t.Errorf("%q, then %q: a tag after it is seen is %v, %q is open", tt.head, tt.middle, !tt.seen, b.Open())
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	var a reply.Text
	if !a.Blank() || a.String() != "" {
		t.Error("an empty text is not blank")
	}
	a.Write([]byte(" \n"))
	if !a.Blank() {
		t.Error("white space is not blank")
	}
	b := []byte("Done. \xff HAS_CHANGES \r\n")
	text := reply.Of(b)
	b[0] = 'X'
	text.TrimSuffix("OTHER")
	text.TrimSuffix("HAS_CHANGES")
	a.Add(text)
	if got := a.String(); got != " \nDone. \uFFFD " || a.Blank() || a.Omitted() != 0 {
		t.Errorf("%q, %d left out", got, a.Omitted())
	}
	a.Drop()
	if got := a.String(); a.Omitted() != 12 || got != "[12 bytes are left out here]\n" || a.Blank() {
		t.Errorf("dropped: %q, %d left out", got, a.Omitted())
	}
	a.Add(text)
	if got := a.String(); a.Omitted() != 12 || !strings.HasSuffix(got, "\nDone. \uFFFD ") {
		t.Errorf("%q, %d left out", got, a.Omitted())
	}
}

func TestFence(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, open string }{
		{"", ""}, {"text", ""}, {"``", ""}, {"~~", ""},
		{"```", "```"}, {"~~~", "~~~"}, {"````", "````"}, {"  ```go", "```"}, {"\t~~~ a`b", "~~~"}, {"```a`b", ""}, {"``` a b", "```"},
		{"```\n```", ""}, {"```\n``` x", "```"}, {"```\n````", ""}, {"````\n```", "````"}, {"```\n~~~", "```"}, {"```\n  ```  ", ""}, {"```\n- ```", "```"},
		{"- ```", "```"}, {"* ```", "```"}, {"+ ~~~", "~~~"}, {"1. ```", "```"}, {"12) ```", "```"}, {"1.) ```", ""}, {"a. ```", ""}, {". ```", ""}, {"-```", ""}, {"-  ```", "```"},
		{"> ```", ""}, {"```\nx\n```\n```", "```"},
	} {
		var f reply.Fence
		f.Lines(tt.text)
		if f.Open() != tt.open {
			t.Errorf("%q: %q is open, want %q", tt.text, f.Open(), tt.open)
		}
	}
}

func TestHasTag(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": false, "<": false, "<promise": true, "</promise": true, "<<promise>": true, "<PROMise x>": true, "a </Promise>": true,
		"<promis": false, "</promis": false, "<//promise": false, "< promise>": false, "promise>": false, "<prom\x00se>": false, "<0romise>": false,
	} {
		if reply.HasTag(text) != want || reply.HasTag([]byte(text)) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ reply, text, want string }{
		{"a b c", "b", "a . c"},
		{"one\nDo it.\nNow.\ntwo", " Do it.\nNow. \n", "one\n.\n\ntwo"}, // on the same line as before
		{"abab", "ab", ".."},
		{"aaaa", "aaa", ".a"},
		{"xaaab", "aab", "xa."},
		{"same", "", "same"}, {"same", " \n", "same"}, {"", "x", ""},
		{"half", "half of it", "half"},
	} {
		if got := strings.ReplaceAll(reply.Remove(tt.reply, tt.text), reply.Mark, "."); got != tt.want {
			t.Errorf("%q without %q: %q, want %q", tt.reply, tt.text, got, tt.want)
		}
	}
}

// FuzzEcho compares what is removed from a stream, in any pieces, with what
// strings.ReplaceAll does.
func FuzzEcho(f *testing.F) {
	f.Add("abaababaab", "abaab", uint8(1))
	f.Add(strings.Repeat("ab", 40)+"c"+strings.Repeat("ab", 41)+"c", strings.Repeat("ab", 40)+"c", uint8(3))
	f.Add(strings.Repeat("a", 50)+"b", strings.Repeat("a", 40)+"b", uint8(9))
	f.Fuzz(func(t *testing.T, text, echoed string, size uint8) {
		echoed = strings.TrimSpace(echoed)
		if echoed == "" {
			return
		}
		var got bytes.Buffer
		e := reply.NewEcho(echoed, func(p []byte) { got.Write(p) })
		for p := []byte(text); len(p) > 0; p = p[min(int(size)+1, len(p)):] {
			e.Write(p[:min(int(size)+1, len(p))])
		}
		e.Close()
		if want := strings.ReplaceAll(text, echoed, reply.Mark); got.String() != want {
			t.Fatalf("%q without %q: %q, want %q", text, echoed, got.String(), want)
		}
	})
}

// TestEchoIsLinear: a prompt that repeats itself, and a stream that always nearly
// holds it, would take minutes, or hours, if each near copy were compared from its beginning.
func TestEchoIsLinear(t *testing.T) {
	t.Parallel()
	prompt := strings.Repeat("a", 1<<20) + "<promise>X</promise>"
	n := 0
	e := reply.NewEcho(prompt, func(p []byte) { n += len(p) })
	e.Write(bytes.Repeat([]byte("a"), 8<<20))
	e.Write([]byte(strings.Repeat(strings.Repeat("a", 1<<10)+"b", 8<<10)))
	e.Close()
	if want := 8<<20 + 8<<10*(1<<10+1); n != want {
		t.Errorf("%d bytes came through, want %d", n, want)
	}
}
