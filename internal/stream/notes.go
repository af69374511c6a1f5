package stream

import (
	"bytes"
	"io"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph/internal/term"
)

// maxNotes bounds what is kept of a client's own lines, in bytes.
const maxNotes = 16 << 10

// Notes are lines of a client's own: warnings and notices, on standard error and between
// the events of its stream, that say nothing about the work. Of a run that ends well one
// line tells how many there were, and so of one that fails for a reason that its stream
// tells; after one that fails without, they are shown, the last 16 KiB of them. A single
// line is always shown. Notes are for one goroutine, and nil takes and shows nothing.
type Notes struct {
	To      io.Writer // where they are shown, without control sequences
	Name    string    // the client's
	Verbose bool      // they are shown as they come

	explained bool   // the stream tells why the run failed
	begin     func() // ends what is shown of a line; nil = there is none

	part  []byte // of a line that has not ended
	lines []string
	size  int // of lines
	count int
	strip io.Writer
}

// Write takes standard error, in any pieces. It never fails.
func (n *Notes) Write(p []byte) (int, error) {
	size := len(p)
	if n == nil {
		return size, nil
	}
	if n.Verbose {
		if n.strip == nil {
			n.strip = term.Strip(n.To)
		}
		n.strip.Write(p)
		return size, nil
	}
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte{'\n'})
		n.part = append(n.part, line[:min(len(line), max(0, 1<<10-len(n.part)))]...)
		if ended {
			n.keep()
		}
		p = rest
	}
	return size, nil
}

// keep takes over a whole line.
func (n *Notes) keep() {
	line := oneLine(string(n.part))
	n.part = n.part[:0]
	if line == "" {
		return
	}
	if what, ok := again(line); ok {
		if n.begin != nil {
			n.begin()
		}
		io.WriteString(n.To, "→ "+what+"\n")
	}
	n.count++
	n.lines = append(n.lines, line)
	for n.size += len(line); n.size > maxNotes; n.lines = n.lines[1:] {
		n.size -= len(n.lines[0])
	}
}

// again reads the line by which Gemini's client tells, in no other way, that it asks the
// model again: "Attempt 1 failed with status 429. Retrying with backoff...". It does so for
// minutes, in which nothing else is to be seen.
func again(line string) (string, bool) {
	what, _, _ := strings.Cut(line, ". Retrying with backoff")
	number, status, ok := strings.Cut(strings.TrimPrefix(what, "Attempt "), " failed with status ")
	_, err := strconv.Atoi(number)
	_, bad := strconv.Atoi(status)
	return what, ok && what != line && err == nil && bad == nil
}

// line takes a line that came between events. What has come of another one, of standard
// error, goes on after it.
func (n *Notes) line(text string) {
	if n.Verbose {
		io.WriteString(n, text+"\n")
		return
	}
	part := n.part
	n.part = []byte(text)
	n.keep()
	n.part = part
}

// Close shows what there was, after a run that failed, or did not.
func (n *Notes) Close(failed bool) {
	if n == nil || n.Verbose {
		return
	}
	n.keep()
	if n.count == 0 {
		return
	}
	text, all := "", n.Name+": "+strconv.Itoa(n.count)+" lines of its own"
	switch {
	case n.count == 1:
		text = n.Name + ": " + n.lines[0] + "\n"
	case !failed || n.explained:
		text = all + "; --verbose shows them\n"
	case len(n.lines) < n.count:
		text = all + ", the last " + strconv.Itoa(len(n.lines)) + ":\n"
		fallthrough
	default:
		text += strings.Join(folded(n.lines), "\n") + "\n"
	}
	io.WriteString(n.To, text)
	*n = Notes{To: n.To, Name: n.Name}
}

// folded is lines without those of stack traces, which say where in the client it happened:
// a mark stands for them.
func folded(lines []string) []string {
	var kept []string
	frames := 0
	flush := func() {
		if frames > 0 {
			kept = append(kept, "… "+strconv.Itoa(frames)+" lines of a stack trace")
		}
		frames = 0
	}
	for _, line := range lines {
		if isFrame(line) {
			frames++
			continue
		}
		flush()
		kept = append(kept, line)
	}
	flush()
	return kept
}

// isFrame reports whether a line is of a stack trace, as Node.js prints it: it begins with
// "at" and names a place, as "(file:///a.js:267:24)".
func isFrame(line string) bool {
	place := strings.TrimRight(line, " {)")
	digits := strings.TrimRight(place, "0123456789")
	return strings.HasPrefix(line, "at ") && digits != place && strings.HasSuffix(digits, ":")
}

// note takes over words of the client's own that came between events.
func (d *Decoder) note(text string) {
	if d.notes == nil || text == "" {
		return
	}
	if d.notes.Verbose {
		d.newline()
	}
	d.notes.line(text)
}
