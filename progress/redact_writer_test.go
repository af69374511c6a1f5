package progress_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph/progress"
)

var encodings = []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding}

func TestRedactWriterAtChunkBorders(t *testing.T) {
	t.Parallel()
	r := progress.Redactor{Secrets: []string{"hidden value", "first\nsecond\nthird"}}
	var all strings.Builder
	all.WriteString("first\nsecond\nthird, first\nsecond\nfirst\nsecond\nthird hidden hidden value\n")
	for _, c := range redactCases() {
		text, _ := parts(c)
		all.WriteString(text + "\n")
		want := r.String(text)
		for cut := range len(text) {
			var out bytes.Buffer
			w := r.Writer(&out)
			io.WriteString(w, text[:cut])
			io.WriteString(w, text[cut:])
			w.Close()
			if out.String() != want {
				t.Fatalf("cut at %d: %s", cut, cmp.Diff(want, out.String()))
			}
		}
	}
	want := r.String(all.String())
	for _, size := range []int{1, 2, 3, 5, 7, 11, 61, 64, 500, 4096} {
		if _, got := pour(t, r, all.String(), size); got != want {
			t.Errorf("in pieces of %d: %s", size, cmp.Diff(want, got))
		}
	}
}

// TestRedactWriterHoldsLittle: what cannot be the beginning of a secret is passed on at
// once.
func TestRedactWriterHoldsLittle(t *testing.T) {
	t.Parallel()
	r := progress.Redactor{Secrets: []string{"hidden value"}}
	for text, held := range map[string]string{
		"Working":                          "g", // of ghp_
		"Working on it …":                  "",
		"a whole line\n":                   "",
		"it hid":                           "hid",
		"it hidd\n":                        "",
		"gh":                               "gh",
		"token: x1\n":                      "",
		"password: hunter2\n":              "",
		"see https://a.b/c":                "",
		"see https://user:pas":             ":pas",
		"key ghp_" + key(40):               "[redacted:github]",
		"the sk-" + key(4) + "\nnext line": "",
		"-----BEGIN CERTIFICATE-----\n":    "",
		"=====\n-----\n":                   "",
		"Bearer of news ":                  "",
	} {
		before, all := pour(t, r, text, len(text))
		if got := strings.TrimPrefix(all, before); got != held {
			t.Errorf("%q: held back %q, want %q", text, got, held)
		}
	}
}

// TestRedactWriterIsBounded: no input makes it hold much.
func TestRedactWriterIsBounded(t *testing.T) {
	t.Parallel()
	named := strings.Repeat("ab", 1000) + "c"
	for name, piece := range map[string]string{
		"letters": key(4000), "dashes": strings.Repeat("-", 4000), "assignments": strings.Repeat("TOKEN=", 1000),
		"urls": strings.Repeat("a://b:", 1000), "nearly the named": strings.Repeat("ab", 2000),
		"keys that begin": strings.Repeat("-----BEGIN PRIVATE KEY-----\n", 200), "spaces": strings.Repeat(" ", 4000),
		"control sequences": strings.Repeat("\x1b[1m", 1000),
	} {
		for _, begin := range []string{"", "ghp_", "TOKEN=", "eyJ", "Bearer ", "https://u:", "-----BEGIN PRIVATE KEY-----\n", "password: \""} {
			w := progress.Redactor{Secrets: []string{named}}.Writer(io.Discard)
			io.WriteString(w, begin)
			for i := range 12 {
				io.WriteString(w, piece)
				if held := progress.Held(w); held > 32<<10 {
					t.Errorf("%s after %q: after %d pieces it holds %d bytes", name, begin, i+1, held)
					break
				}
			}
			w.Close()
		}
	}
}

// TestRedactGiganticToken: the whole of a token is hidden, however long.
func TestRedactGiganticToken(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(key(1000), 300)
	for begin, kind := range map[string]string{"ghp_": "github", "eyJ" + key(20) + ".eyJ": "jwt", "-----BEGIN PRIVATE KEY-----\n": "private-key"} {
		if _, got := pour(t, progress.Redactor{}, "a "+begin+long+" b", 999); got != "a [redacted:"+kind+"] b" {
			t.Errorf("%s: %.200s", begin, got)
		}
	}
	if _, got := pour(t, progress.Redactor{}, `"api_key": "`+long+`", b`, 999); got != `"api_key": "[redacted:secret]", b` {
		t.Errorf("%.200s", got)
	}
}

func TestRedactWriterErrors(t *testing.T) {
	t.Parallel()
	w := progress.Redactor{}.Writer(full{})
	if _, err := io.WriteString(w, "ghp"); err != nil {
		t.Error("nothing was passed on yet:", err)
	}
	if n, err := io.WriteString(w, " x"); n != 0 || !errors.Is(err, io.ErrShortWrite) {
		t.Error(n, err)
	}
	if err := w.Close(); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
	w = progress.Redactor{}.Writer(full{})
	io.WriteString(w, "ghp")
	for range 2 {
		if err := w.Close(); !errors.Is(err, io.ErrShortWrite) {
			t.Error("what was held back could not be written:", err)
		}
	}
	var out bytes.Buffer
	w = progress.Redactor{}.Writer(&out)
	io.WriteString(w, "ghp")
	if err := errors.Join(w.Close(), w.Close()); err != nil || out.String() != "ghp" {
		t.Error(err, out.String())
	}
	if _, err := io.WriteString(w, "x"); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

func TestRedactWriterConcurrently(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := progress.Redactor{}.Writer(&out)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				fmt.Fprintf(w, "DB_PASSWORD=hunter2 \n")
			}
		})
	}
	wg.Wait()
	w.Close()
	if got := strings.Count(out.String(), "DB_PASSWORD=[redacted:password] \n"); got != 400 {
		t.Error(got)
	}
}

// TestRedactMixtures: texts put together at random from what the formats are made
// of come out the same however they are cut, and the same a second time.
func TestRedactMixtures(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"TOKEN", "password", "api_key", "Authorization", "Bearer", "x_KEY", "=", ":", ": ", " = ", ":=", "\"", "\\\"", "'", " ", "  ", "\n", "\\n", "/", "//", "://", `:\/\/`, "@", ".", "-", "_", "[", "]", ",", "&", "(", "$",
		"ghp_", "sk-", "sk-ant-", "AKIA", "AIza", "eyJ", ".eyJ", "xoxb-", "glpat-", "npm_", "[redacted:", "[redacted:github]", "[redacted]",
		"-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "-----END PRIVATE KEY-----", "-----", "Proc-Type: 4\n", "12→", "Basic ", "https://u:", "user", "hidden", "hidden value", "\x1b[1m", "%3D", "\\u003d", "é", "\xff",
		key(4), key(16), strings.ToUpper(key(16)), key(20), key(35), key(36), key(64), key(300), key(511), key(512), key(513), key(1100), strings.Repeat(" ", 90), strings.Repeat("-", 40),
	}
	random := rand.New(rand.NewPCG(1, 2))
	r := progress.Redactor{Secrets: []string{"hidden value", "user=u\nline two", key(30)}}
	for range 1000 {
		var b strings.Builder
		for range 1 + random.IntN(14) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		text := b.String()
		want := r.String(text)
		if _, got := pour(t, r, text, 1+random.IntN(80)); got != want {
			t.Fatalf("%q in pieces: %s", text, cmp.Diff(want, got))
		}
		if twice := r.String(want); twice != want {
			t.Fatalf("%q a second time: %s", text, cmp.Diff(want, twice))
		}
	}
}

// FuzzRedact: however a text is cut, the same comes out, and nothing more is
// hidden in it a second time.
func FuzzRedact(f *testing.F) {
	for _, c := range redactCases() {
		text, _ := parts(c)
		f.Add(text, "hidden value", uint16(3))
	}
	f.Fuzz(func(t *testing.T, text, secret string, size uint16) {
		r := progress.Redactor{Secrets: []string{secret, "hidden value"}}
		want := r.String(text)
		if _, got := pour(t, r, text, int(size)+1); got != want {
			t.Errorf("in pieces of %d: %s", int(size)+1, cmp.Diff(want, got))
		}
		formats := progress.Redactor{}
		once := formats.String(text)
		if twice := formats.String(once); twice != once {
			t.Errorf("a second time: %s", cmp.Diff(once, twice))
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	prose := strings.Repeat("The agent ran go test ./... and edited a.go: 3 tests pass, see https://example.com/a for more. ", 700)
	stream := strings.Repeat(`{"type":"assistant","message":{"content":[{"type":"text","text":"I read the file.\nNext: token = 5"}],"usage":{"input_tokens":12}}}`+"\n", 500)
	for name, text := range map[string]string{"prose": prose, "stream": stream, "base64": key(64 << 10), "letters a": strings.Repeat("a", 64<<10)} {
		for _, r := range []progress.Redactor{{}, {Secrets: []string{"correct horse battery", "aaaaaaaaaaaaaaaaaaaaaaaab"}}} {
			b.Run(fmt.Sprintf("%s/named=%d", name, len(r.Secrets)), func(b *testing.B) {
				w := r.Writer(io.Discard)
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					io.WriteString(w, text)
				}
			})
		}
	}
}
