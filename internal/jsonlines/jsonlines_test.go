package jsonlines_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph/internal/jsonlines"
)

// read reads text in pieces of some bytes and returns what show makes of each line,
// with what is junk in brackets.
func read(r *jsonlines.Reader, text string, size int, show func(v *jsonlines.Value) string) []string {
	var got []string
	r.Line = func(v *jsonlines.Value) { got = append(got, show(v)) }
	r.Junk = func(line []byte) { got = append(got, "["+string(line)+"]") }
	for p := []byte(text); len(p) > 0; p = p[min(size, len(p)):] {
		r.Write(p[:min(size, len(p))])
	}
	r.Close()
	return got
}

func TestReader(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"blank lines", "\n \t\r\n\n", nil},
		{"an object", `{"a":"1"}`, []string{"1"}},
		{"lines", "{\"a\":\"1\"}\r\n  {\"a\":\"2\"}\n", []string{"1", "2"}},
		{"rest of the line", `{"a":"1"} and more` + "\n" + `{"a":"2"}`, []string{"1", "2"}},
		{"before the object", "\uFEFF{\"a\":\"1\"}\n\x1b[32m {\"a\":\"2\"}\n\x1b[1m\x1b[2m{\"a\":\"3\"}", []string{"1", "2", "3"}},
		{"a colour that is none", "\x1b[32{\"a\":\"1\"}\nx{\"a\":\"2\"}", []string{"[\x1b[32{\"a\":\"1\"}]", "[x{\"a\":\"2\"}]"}},
		{"no object", "[1]\nnpm\n}\n" + long, []string{"[[1]]", "[npm]", "[}]", "[" + long[:256] + "]"}},
		{"torn in a string", "{\"a\":\"1\n{\"a\":\"2\"}", []string{"[{\"a\":\"1]", "2"}},
		{"torn in a key", "{\"a\n{\"a\":\"2\"}", []string{"[{\"a]", "2"}},
		{"torn behind a key", "{\"a\"\n{\"a\":\"2\"}\n{\"a\":\n", []string{"[{\"a\"]", "2", "[{\"a\":]"}},
		{"torn in what is skipped", "{\"x\":{\"y\":[\"\\\n{\"x\":{\n{\"x\":\"y\\\n{\"a\":\"2\"}", []string{"[{\"x\":{\"y\":[\"\\]", "[{\"x\":{]", "[{\"x\":\"y\\]", "2"}},
		{"torn at the end", `{"a":"1"`, []string{`[{"a":"1"]`}},
		{"bad between", `{"a" 1}` + "\n" + `{"a":x}` + "\n" + `{"a":"1"]` + "\n" + `{a}`, []string{`[{"a" 1}]`, `[{"a":x}]`, `[{"a":"1"]]`, "[{a}]"}},
		{"commas", `{,"a":"1",,}`, []string{"1"}},
		{"escapes", `{"a":"\u0041\n\t\r\b\f\"\\\/\x","\u0061b":1}`, []string{"A\n\t\r\b\f\"\\/x"}},
		{"pairs", `{"a":"\ud83d\ude00 \ud83d \ude00 \ud83d\ud83d\ude00 \ud83d\n \ud83d\u0041 \uzzzz"}`, []string{"😀 \uFFFD \uFFFD \uFFFD😀 \uFFFD\n \uFFFDA \uFFFD"}},
		{"a key twice", `{"a":"1","a":"2"}`, []string{"2"}},
		{"not a string", `{"a":1}` + "\n" + `{"a":null}` + "\n" + `{"a":["1"]}` + "\n{}", []string{"", "", "", ""}},
		{"a literal that is too long", `{"b":1` + strings.Repeat("0", 64) + `,"a":"1"}` + "\n" + `{"b":1` + strings.Repeat("0", 63) + `,"a":"2"}`,
			[]string{`[{"b":1` + strings.Repeat("0", 64) + `,"a":"1"}]`, "2"}},
		{"dropped", `{"type":"no","a":"1"` + "\n" + `{"a":"2","type":"no"` + "\n" + `{"type":"yes","a":"3"}` + "\n" + `{"x":{"type":"no"},"a":"4"}`, []string{"3", "4"}},
	} {
		for _, size := range []int{1, 2, 3, 1 << 20} {
			r := &jsonlines.Reader{
				Want: jsonlines.Keys("a", "b", "type").With("x", jsonlines.Keys("type")),
				Drop: func(kind []byte) bool { return string(kind) == "no" },
			}
			got := read(r, tt.text, size, func(v *jsonlines.Value) string { return v.Str("a") })
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s, in pieces of %d (-want +got):\n%s", tt.name, size, diff)
			}
		}
	}
}

func TestValue(t *testing.T) {
	t.Parallel()
	const text = `{"s":"text","n":1.5,"big":2e18,"neg":-1,"inf":1e999,"yes":true,"no":false,"list":["a",{"s":"b"},null,[1]],"map":{"k":{"s":"c"},"l":{"s":"d"}},"skip":{"s":"e"},"empty":""}`
	want := jsonlines.Keys("s", "n", "big", "neg", "inf", "yes", "no", "empty").With("list", jsonlines.Keys("s")).With("map", jsonlines.Filter{"*": jsonlines.Keys("s")})
	got := read(&jsonlines.Reader{Want: want}, text, 7, func(v *jsonlines.Value) string {
		var b strings.Builder
		f, ok := v.Number("n")
		_, inf := v.Number("inf")
		_, none := v.Number("s")
		fmt.Fprintln(&b, v.Str("s"), f, ok, inf, none)
		fmt.Fprintln(&b, v.Int("n"), v.Int("big"), v.Int("neg"), v.Int("s"))
		fmt.Fprintln(&b, v.True("yes"), v.True("no"), v.True("s"), v.True("none"))
		list := v.Get("list")
		fmt.Fprintln(&b, list.IsArray(), list.IsObject(), v.IsObject(), len(list.Items()), list.Items()[0].Str(), list.Items()[1].Str("s"), list.Items()[3].IsArray())
		fmt.Fprintln(&b, v.Str("map", "k", "s"), v.Str("map", "l", "s"), len(v.Get("map").Items()), v.Get("skip") == nil, v.Get("s", "s") == nil)
		fmt.Fprintln(&b, v.FirstOf("none", "empty", "s", "n"), v.Get("s").Long(), v.Get("n").Long() == nil)
		var none2 *jsonlines.Value
		fmt.Fprint(&b, none2.Str("a"), none2.Get("a") == nil, len(none2.Items()), none2.IsArray(), none2.IsObject(), none2.Long() == nil, none2.FirstOf("a"))
		return b.String()
	})
	if diff := cmp.Diff([]string{"text 1.5 true false false\n1 0 0 0\ntrue false false false\ntrue false true 4 a b true\nc d 2 true true\ntext text true\ntrue 0 false false true"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestBounds: whatever a line holds, little of it is kept, and the line is not lost.
func TestBounds(t *testing.T) {
	t.Parallel()
	any := jsonlines.Filter{}
	any["*"] = any // wants everything, at any depth
	deep := strings.Repeat(`{"k":`, 100) + `"bottom"` + strings.Repeat(`}`, 100)
	many := `{"list":[` + strings.Repeat(`1,`, 10000) + `1],"a":"late"}`
	longs := `{"a":"` + strings.Repeat("x", 2<<10) + `"` + strings.Repeat(`,"t":{"u":"`+strings.Repeat("y", 2<<10)+`"}`, 8) + `}`
	depth := func(v *jsonlines.Value) string {
		n := 0
		for ; v != nil; v = v.Get("k") {
			n++
		}
		return strconv.Itoa(n)
	}
	for _, tt := range []struct {
		name, text string
		show       func(v *jsonlines.Value) string
		want       string
	}{
		{"levels", deep, depth, "32"},
		{"values", many, func(v *jsonlines.Value) string { return strconv.Itoa(len(v.Get("list").Items())) + v.Str("a") }, "4094"},
		{"long strings", longs, func(v *jsonlines.Value) string { return v.Str("a") }, "[2048 bytes are left out here]\n"},
		{"a long key", `{"` + strings.Repeat("k", 200) + `":{"s":"1"}}`, func(v *jsonlines.Value) string { return v.Str(strings.Repeat("k", 128), "s") }, "1"},
	} {
		got := read(&jsonlines.Reader{Want: any}, tt.text+"\n", 1<<10, tt.show)
		if diff := cmp.Diff([]string{tt.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// FuzzString compares a Reader's strings with those of encoding/json, which
// does not have to do it in pieces.
func FuzzString(f *testing.F) {
	for _, s := range []string{`plain`, `\u003cpromise\u003e`, `\ud83d\ude00`, `\ud83d\ud83d\ude00`, `\ud83d\n`, `\ud83dx`, `\ude00\ud83d`, `\"\\\/\b\f\n\r\t`, `é\u00e9`, "\xff\xc3", `\ud83d\\u`, `\u0000`} {
		f.Add([]byte(s), uint8(1))
	}
	f.Fuzz(func(t *testing.T, s []byte, size uint8) {
		line := append(append([]byte(`{"s":"`), s...), `"}`...)
		var want struct{ S *string }
		if json.Unmarshal(line, &want) != nil || want.S == nil || bytes.Contains(s, []byte("\n")) {
			return
		}
		got := ""
		r := jsonlines.Reader{Want: jsonlines.Keys("s"), Line: func(v *jsonlines.Value) { got = v.Str("s") }, Junk: func(b []byte) { t.Errorf("no JSON: %q", b) }}
		for p := line; len(p) > 0; {
			n := min(int(size)%8+1, len(p))
			r.Write(p[:n])
			p = p[n:]
		}
		r.Close()
		// A run of bad bytes is one mark for encoding/json, or several.
		if squeeze(got) != squeeze(*want.S) {
			t.Errorf("%q: %q, want %q", s, got, *want.S)
		}
	})
}

func squeeze(s string) string {
	for strings.Contains(s, "\uFFFD\uFFFD") {
		s = strings.ReplaceAll(s, "\uFFFD\uFFFD", "\uFFFD")
	}
	return s
}

// toolResults are lines as most agents print them: nearly all of it is the output of
// tools, which holds source code with all its line ends and quotation marks.
func toolResults(size int) []byte {
	code := strconv.Quote(strings.Repeat("\tif err := run(ctx, \"name\"); err != nil {\n\t\treturn fmt.Errorf(\"run: %w\", err)\n\t}\n", 60))
	var b bytes.Buffer
	for n := 0; b.Len() < size; n++ {
		fmt.Fprintf(&b, `{"type":"assistant","message":{"id":"msg_%d","content":[{"type":"text","text":"Reading the next file."}]}}`+"\n", n)
		fmt.Fprintf(&b, `{"type":"user","message":{"content":[{"tool_use_id":"toolu_%d","type":"tool_result","content":%s}]},"tool_use_result":{"stdout":%[2]s}}`+"\n", n, code)
	}
	return b.Bytes()
}

// BenchmarkReader reads 16 MB in pieces of 64 KB and wants the assistant's texts.
// The floors are a search for each line feed, and what encoding/json has: its reader
// of tokens, which needs no whole line, and its reading of whole lines into a struct
// of what is wanted.
func BenchmarkReader(b *testing.B) {
	const piece = 64 << 10
	data := toolResults(16 << 20)
	b.Run("floor-lines", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			for p := data; len(p) > 0; p = p[bytes.IndexByte(p, '\n')+1:] {
			}
		}
	})
	b.Run("floor-json-tokens", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			for d := json.NewDecoder(bytes.NewReader(data)); ; {
				if _, err := d.Token(); err == io.EOF {
					break
				} else if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("floor-json-lines", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			for line := range bytes.Lines(data) {
				var v struct {
					Type    string
					Message struct {
						ID      string
						Content []struct{ Type, Text string }
					}
				}
				if err := json.Unmarshal(line, &v); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			texts := 0
			r := jsonlines.Reader{
				Want: jsonlines.Keys("type").With("message", jsonlines.Keys("id").With("content", jsonlines.Keys("type", "text"))),
				Line: func(v *jsonlines.Value) { texts += len(v.Get("message", "content").Items()) },
				Junk: func(line []byte) { b.Fatalf("%q", line) },
			}
			for p := data; len(p) > 0; p = p[min(piece, len(p)):] {
				r.Write(p[:min(piece, len(p))])
			}
			r.Close()
			if texts < 1000 {
				b.Fatal(texts)
			}
		}
	})
}

// TestBeginning: of some strings only the beginning is read, as of one that is cut
// anywhere, and what is read of them takes no room from the others.
func TestBeginning(t *testing.T) {
	t.Parallel()
	head := strings.Repeat("x", 190)
	want := jsonlines.Keys("a").With("b", jsonlines.Beginning()).With("o", jsonlines.Beginning().With("*", jsonlines.Beginning()))
	for _, tt := range []struct{ name, text, want string }{
		{"short", `{"b":"one\ttwo \"é\" \ud83d\ude00","a":"1"}`, "one\ttwo \"é\" 😀|1"},
		{"to the last byte", `{"b":"` + head + `xx","a":"1"}`, head + "xx|1"},
		{"a byte more", `{"b":"` + head + `xxx","a":"1"}`, head + "xx…|1"},
		{"cut in a character", `{"b":"` + head + `xé","a":"1"}`, head + "x…|1"},
		{"cut in an escape sequence", `{"b":"` + head + `\u00e9x","a":"1"}`, head + "…|1"},
		{"cut in a pair", `{"b":"` + head[:185] + `\ud83d\ude00","a":"1"}`, head[:185] + "…|1"},
		{"cut behind a backslash", `{"b":"` + head + `x\\\"","a":"1"}`, head + "x…|1"},
		{"megabytes", `{"b":"` + strings.Repeat(`\"y`, 1<<20) + `","a":"1"}`, strings.Repeat(`"y`, 64) + "…|1"},
		{"bad UTF-8", "{\"b\":\"\xff\",\"a\":\"1\"}", "\uFFFD|1"},
		{"a list", `{"b":["one",2,{"a":"no"},["deep"]],"a":"1"}`, "[one 2   deep]|1"},
		{"an object", `{"o":{"k":"one","l":["two"]},"a":"1"}`, "[one  two]|1"},
		{"too many", `{"o":{` + strings.Repeat(`"k":[1],`, 5000) + `"l":2},"a":"1"}`, "[ 1 ]|1"},
		{"torn", `{"b":"one` + "\n" + `{"b":"two"}`, "two|"},
	} {
		var show func(v *jsonlines.Value) []string
		show = func(v *jsonlines.Value) (all []string) {
			for _, item := range v.Items() {
				all = append(append(all, item.Scalar()), show(item)...)
			}
			return all
		}
		for _, size := range []int{1, 3, 200, 1 << 22} {
			got := ""
			r := jsonlines.Reader{Want: want, Junk: func([]byte) {}, Line: func(v *jsonlines.Value) {
				got = v.Str("b") + "|" + v.Str("a")
				for _, key := range []string{"b", "o"} {
					if list := v.Get(key); len(list.Items()) > 0 {
						got = fmt.Sprint(show(list)) + "|" + v.Str("a")
					}
				}
			}}
			for p := []byte(tt.text + "\n"); len(p) > 0; p = p[min(size, len(p)):] {
				r.Write(p[:min(size, len(p))])
			}
			if got != tt.want && tt.name != "too many" || tt.name == "too many" && (!strings.HasSuffix(got, "|1") || len(got) > 2000) {
				t.Errorf("%s, in pieces of %d: %.300q, want %.300q", tt.name, size, got, tt.want)
			}
		}
	}
}

// TestMinor: lines of which few are of use are passed by, and not missed if they are torn.
func TestMinor(t *testing.T) {
	t.Parallel()
	const text = "{\"type\":\"minor\",\"a\":\"no\"}\n{\"type\":\"minor\",\"a\":\"yes\"}\n{\"type\":\"minor\",\"a\":\"yes\n{\"type\":\"other\",\"a\":\"no\"}\n{\"type\":\"other\",\"a\n" +
		"{\"a\":\"no\",\"type\":\"minor\"}\nnone"
	for size, want := range map[int][]string{
		1:       {"no", "yes", "no", `[{"type":"other","a]`, "no", "[none]"},
		1 << 10: {"yes", "no", `[{"type":"other","a]`, "[none]"},
	} {
		r := &jsonlines.Reader{
			Want:  jsonlines.Keys("a", "type"),
			Minor: func(kind []byte) bool { return string(kind) == "minor" },
			Probe: func(rest []byte) bool { return bytes.Contains(rest, []byte("yes")) },
		}
		if diff := cmp.Diff(want, read(r, text, size, func(v *jsonlines.Value) string { return v.Str("a") })); diff != "" {
			t.Errorf("in pieces of %d (-want +got):\n%s", size, diff)
		}
	}
}
