package main

import (
	"bytes"
	"encoding/xml"
	"flag"
	"fmt"
	"html"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph/internal/term/termtest"
)

var updateRecording = flag.Bool("update-recording", false, "record docs/session.svg anew")

const (
	recording        = "docs/session.svg"
	recordingColumns = 100
	recordingRows    = 45 // more than the session has: nothing scrolls
)

// TestRecording runs the demo on a terminal, and compares what is left on the screen with
// the picture of such a session that is on record. Times and the temporary folder differ
// each time. With -update-recording it makes the picture anew, of what was shown and when;
// pauses are stretched so that people can read along.
func TestRecording(t *testing.T) {
	t.Parallel()
	temp := "/tmp"
	if !*updateRecording {
		var err error
		if temp, err = os.MkdirTemp("", "r"); err != nil { // short: it is shown
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(temp) })
	}
	r := &recorder{begun: time.Now(), screen: drawnScreen{columns: recordingColumns}}
	r.screen.write("$ ralph demo\r\n") // as it is typed
	r.keep(0)
	cmd := exec.Command("ralph", "demo")
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name != "CI" && name != "NO_COLOR" && name != "TERM" && name != "TMPDIR" {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "TMPDIR="+temp)
	if err := termtest.Show(cmd, recordingColumns, recordingRows, "", r); err != nil {
		t.Fatal(err)
	}
	r.keep(time.Since(r.begun))
	if r.screen.unknown != "" {
		t.Errorf("what the screen does not know: %q", r.screen.unknown)
	}
	if n := len(r.screen.lines); n > recordingRows {
		t.Errorf("%d lines do not fit on the screen", n)
	}
	if *updateRecording {
		if folder := demoProject.FindString(r.screen.text()); folder != "" {
			_ = os.RemoveAll(filepath.Join(temp, folder))
		}
		if err := os.WriteFile(recording, r.svg(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	picture, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	if len(picture) > 100_000 {
		t.Errorf("%s has %d bytes", recording, len(picture))
	}
	want, err := lastFrame(picture)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(blanked(want, "/tmp"), blanked(r.screen.text(), temp)); diff != "" {
		t.Errorf("%s does not show what the demo shows; `go test -run TestRecording ./examples/ralph -update-recording` records it anew:\n%s", recording, diff)
	}
}

var (
	demoProject = regexp.MustCompile(`ralph-demo-\d+`)
	clockTime   = regexp.MustCompile(`\d\d:\d\d:\d\d`)
	howLong     = regexp.MustCompile(`\b\d+(\.\d+)?(ms|s|m\d+s)\b`)
)

// blanked is a text without what differs each time, and without white space: where the
// screen breaks a line depends on the name of the folder.
func blanked(text, temp string) string {
	text = clockTime.ReplaceAllString(howLong.ReplaceAllString(text, "…"), "…")
	text = strings.Join(strings.Fields(strings.ReplaceAll(text, "─", "")), "")
	return demoProject.ReplaceAllString(strings.ReplaceAll(text, temp+"/", "TEMP/"), "…")
}

// lastFrame is the text of a picture that is there when nothing moves.
func lastFrame(picture []byte) (string, error) {
	var b strings.Builder
	d := xml.NewDecoder(bytes.NewReader(picture))
	for in := ""; ; {
		switch token, err := d.Token(); token := token.(type) {
		case nil:
			if err == io.EOF {
				return b.String(), nil
			}
			return "", err
		case xml.StartElement:
			if token.Name.Local == "text" {
				in = token.Attr[0].Value
			}
		case xml.CharData:
			if strings.HasPrefix(in, "a") {
				b.Write(token)
			}
		case xml.EndElement:
			if token.Name.Local == "text" {
				b.WriteString("\n")
				in = ""
			}
		}
	}
}

// A frame is what the screen showed from a moment on.
type frame struct {
	at    time.Duration
	lines []string // as in the picture
}

// A recorder keeps what a screen shows, one frame for what comes at about the same time.
type recorder struct {
	begun, last time.Time
	screen      drawnScreen
	frames      []frame
}

func (r *recorder) Write(p []byte) (int, error) {
	if now := time.Now(); now.Sub(r.last) > 60*time.Millisecond {
		if !r.last.IsZero() {
			r.keep(r.last.Sub(r.begun))
		}
		r.last = now
	}
	r.screen.write(string(p))
	return len(p), nil
}

// keep takes what the screen shows now as a frame.
func (r *recorder) keep(at time.Duration) {
	lines := r.screen.drawn()
	if n := len(r.frames); n == 0 || !cmp.Equal(r.frames[n-1].lines, lines) {
		r.frames = append(r.frames, frame{at, lines})
	}
}

// svg is the picture. Each line is there once, with the moment from which it is seen;
// those that are not there at the end are seen only while something moves. Where nothing
// is to move (prefers-reduced-motion) it shows the last frame.
func (r *recorder) svg() []byte {
	const width, height, margin = 8.4, 19, 16
	starts := make([]float64, len(r.frames)) // seconds in the picture
	last := len(r.frames) - 1
	for i := range last {
		shown := 0.6 // as long as it takes to read what is new
		if i > 0 {
			shown += 0.3 * float64(len(r.frames[i].lines)-len(r.frames[i-1].lines))
		}
		starts[i+1] = starts[i] + min(max(shown, (r.frames[i+1].at-r.frames[i].at).Seconds(), 0.6), 3)
	}
	rows := len(r.frames[last].lines)
	for _, f := range r.frames {
		rows = max(rows, len(f.lines))
	}
	var css, body strings.Builder
	for i := range r.frames {
		fmt.Fprintf(&css, ".a%d{animation:on 1ms step-end %.2fs backwards}\n", i, starts[i])
	}
	line := func(i, row int) string {
		if row < len(r.frames[i].lines) {
			return r.frames[i].lines[row]
		}
		return ""
	}
	passing := 0
	for row := range rows {
		for from := 0; from <= last; {
			to := from + 1
			for to <= last && line(to, row) == line(from, row) {
				to++
			}
			if text := line(from, row); text != "" {
				class := fmt.Sprintf("a%d", from)
				if to <= last {
					class = fmt.Sprintf("p p%d", passing)
					fmt.Fprintf(&css, ".p%d{animation:while %.2fs step-end %.2fs}\n", passing, starts[to]-starts[from], starts[from])
					passing++
				}
				n := utf8.RuneCountInString(html.UnescapeString(tag.ReplaceAllString(text, "")))
				fmt.Fprintf(&body, "<text class=%q x=\"%d\" y=\"%d\" textLength=\"%.1f\">%s</text>\n", class, margin, margin+height*(row+1)-5, width*float64(n), text)
			}
			from = to
		}
	}
	w, h := int(width*recordingColumns)+2*margin, height*rows+2*margin
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d">
<title>ralph demo: a claim is rejected by the check, a later one is verified</title>
<style>
text{white-space:pre;font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#e6e6e6}
.b{font-weight:bold}.bad{fill:#ff8a80}.good{fill:#7ee787}.waits,.tool{fill:#d2a8ff}
.p{opacity:0}
@keyframes on{from{opacity:0}}
@keyframes while{from,to{opacity:1}}
@media (prefers-reduced-motion:no-preference){
%[3]s}
</style>
<rect width="%[1]d" height="%[2]d" rx="8" fill="#16181d"/>
%[4]s</svg>
`, w, h, css.String(), body.String())
}

var tag = regexp.MustCompile(`<[^>]*>`)

// A drawnScreen is a terminal as far as the display uses one, with what its characters
// look like. It does not scroll.
type drawnScreen struct {
	columns  int
	lines    [][]cell
	row, col int
	class    string // of what is written now
	rest     string // a sequence, or a letter, that is not whole yet
	unknown  string
}

type cell struct {
	r     rune
	class string
}

func (s *drawnScreen) write(text string) {
	text, s.rest = s.rest+text, ""
	for text != "" {
		if m := sequence.FindStringSubmatch(text); m != nil {
			s.control(m[1], m[2])
			text = text[len(m[0]):]
			continue
		}
		r, n := rune(text[0]), 1
		if r >= 0x80 {
			r, n = []rune(text)[0], len(string([]rune(text)[:1]))
		}
		if r == '\x1b' || r == unicode.ReplacementChar && len(text) < 4 {
			s.rest = text
			return
		}
		s.put(r)
		text = text[n:]
	}
}

// looks are the colours that a display uses, and their classes in the picture.
var looks = map[string]string{"0": "", "": "", "1": "b", "1;31": "b bad", "1;32": "b good", "1;35": "b waits", "31": "bad", "35": "tool"}

var sequence = regexp.MustCompile(`^\x1b\[([0-9;?]*)([A-Za-z])`)

func (s *drawnScreen) put(r rune) {
	switch {
	case r == '\r':
		s.col = 0
	case r == '\n':
		s.row++
	case unicode.IsPrint(r):
		if s.col == s.columns {
			s.row, s.col = s.row+1, 0
		}
		for len(s.lines) <= s.row {
			s.lines = append(s.lines, nil)
		}
		for len(s.lines[s.row]) <= s.col {
			s.lines[s.row] = append(s.lines[s.row], cell{r: ' '})
		}
		s.lines[s.row][s.col] = cell{r, s.class}
		s.col++
	default:
		s.unknown += string(r)
	}
}

func (s *drawnScreen) control(params, final string) {
	switch {
	case final == "m":
		class, known := looks[params]
		if s.class = class; !known {
			s.unknown += "ESC[" + params + final
		}
	case final == "J" && params == "":
		if s.row < len(s.lines) {
			s.lines = s.lines[:s.row+1]
			s.lines[s.row] = s.lines[s.row][:min(s.col, len(s.lines[s.row]))]
		}
	case final == "A":
		n := 1
		_, _ = fmt.Sscan(params, &n)
		s.row = max(s.row-n, 0)
	default:
		s.unknown += "ESC[" + params + final
	}
}

// text is what the screen shows.
func (s *drawnScreen) text() string {
	var b strings.Builder
	for _, line := range s.lines {
		for _, c := range line {
			b.WriteRune(c.r)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// drawn are the lines as they stand in the picture.
func (s *drawnScreen) drawn() []string {
	var lines []string
	for _, line := range s.lines {
		var b strings.Builder
		for from := 0; from < len(line); {
			to := from
			var run []rune
			for ; to < len(line) && line[to].class == line[from].class; to++ {
				run = append(run, line[to].r)
			}
			var text strings.Builder
			_ = xml.EscapeText(&text, []byte(string(run)))
			escaped := strings.NewReplacer("&#34;", `"`, "&#39;", "'").Replace(text.String())
			if class := line[from].class; class != "" {
				escaped = fmt.Sprintf("<tspan class=%q>%s</tspan>", class, escaped)
			}
			b.WriteString(escaped)
			from = to
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}
