package progress

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph/internal/term"
)

// A voice is what one agent says in an attempt, or the caller in Write.
// Each attempt has one of its own, with filters of its own: what one agent has left half
// done (an escape sequence, a secret, a line) must not swallow what another says.
type voice struct {
	d *Display
	l *displayed // nil = the caller

	mu    sync.Mutex // one write at a time; is taken before the locks of d
	in    io.Writer  // the filters before lines
	flush io.Closer  // of the one that hides secrets; nil = none
	ended bool

	rest    []byte // a line that has no end yet; guarded by d.mu
	columns int    // of the terminal, of the caller's own; guarded by d.mu

	begun string // what the one that hides secrets holds back of it, and may be seen; guarded by d.mu
}

// maxVoiced bounds a line without an end: it is in memory until it is shown. A cut at 64
// KiB is not seen, since it is far more than a screen.
const maxVoiced = 64 << 10

// newVoice makes one. Secrets are looked for before control sequences are removed,
// because the Redactor finds those that a sequence parts.
func (d *Display) newVoice(l *displayed) *voice {
	v := &voice{d: d, l: l}
	v.in = term.Strip(voiced{v})
	if d.Redact != nil && l != nil {
		hidden := d.Redact(v.in)
		v.in, v.flush = hidden, hidden
	}
	return v
}

// Write never fails: an agent is not ended because nobody can watch it.
// After the end nothing is taken: a runner that has left a goroutine behind would print
// into the next attempt.
//
// Without a terminal it waits until the line is written, and so the agent waits, too. A
// file or a pipe is read later as what was said, so nothing may be missing; and to keep
// what a slow reader has not taken would need memory without a bound.
func (v *voice) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ended {
		return len(p), nil
	}
	v.in.Write(p) // what fails is told by Display.Close
	if hides, ok := v.flush.(*redactWriter); ok && v.d.Terminal {
		begun := term.Clean(hides.begun())
		if strings.Contains(begun, "\n") {
			begun = "" // it would be of two lines
		}
		v.d.mu.Lock()
		v.begun = begun
		v.d.awake()
		v.d.mu.Unlock()
	}
	return len(p), nil
}

// Overwrites says that of a line whose beginning is written over, as progress bars are,
// only the last is shown.
func (v *voice) Overwrites() bool { return true }

// end shows what is held back. A nil voice has said nothing.
func (v *voice) end() {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ended {
		return
	}
	v.ended = true
	if v.flush != nil {
		v.flush.Close() // what it holds back comes through voiced
	}
	v.d.update(func() {
		if len(v.rest) > 0 {
			v.d.say(v, []byte("\n"))
		}
	})
}

// voiced takes what has passed the filters.
type voiced struct{ *voice }

func (v voiced) Write(p []byte) (int, error) {
	v.d.update(func() {
		v.begun = "" // p may have it
		v.d.say(v.voice, p)
	})
	return len(p), nil
}

// say shows the lines that are whole, and keeps the rest.
// A line is the smallest thing that is shown for good, because lines of several agents,
// and ours, come between.
// What is written over is not kept: a progress bar moves in the unfinished line, and
// stays as one line.
// Half a line counts as a sign of life, too: an agent that prints dots is not silent.
func (d *Display) say(v *voice, p []byte) {
	if v.l != nil {
		v.l.heard = time.Now()
	}
	at := bytes.LastIndexByte(p, '\n') + 1
	if at > 0 {
		whole := p[:at]
		if len(v.rest) > 0 {
			whole = append(v.rest, whole...)
		}
		d.lines(v, term.LastFrames(whole))
		v.rest = v.rest[:0]
	}
	if v.rest = append(v.rest, p[at:]...); bytes.IndexByte(p[at:], '\r') >= 0 {
		v.rest = append(v.rest[:0], term.LastFrames(v.rest)...)
	}
	if len(v.rest) > maxVoiced {
		d.lines(v, append(v.rest, '\n'))
		v.rest = nil // not the large one for ever
	}
}

// lines shows lines, each with its name and colour. On a terminal they get these when they
// are written, for most of what comes fast is never written: that is what makes a hundred
// megabytes cheap.
func (d *Display) lines(v *voice, text []byte) {
	if v.l == nil {
		if d.Terminal {
			text = wrapped(text, v.columns-1)
		}
		d.put(text, true)
		return
	}
	v.l.does(text, d.Terse)
	if d.Terse {
		return
	}
	d.stamp(v.l)
	name := d.named(v.l)
	if name != "" {
		name += " | "
	}
	if d.Terminal || name == "" {
		d.said(name, text)
		return
	}
	if d.scratch = named(d.scratch[:0], name, text, 0, nil); len(d.scratch) > 0 {
		d.put(d.scratch, false) // which copies it
	}
	if cap(d.scratch) > 4*maxVoiced {
		d.scratch = nil // not the large one for ever
	}
}

// stamp tells how a loop stands before what its agent says in a file, if no line with a
// time was there for a minute: who reads it later sees when it was said. A time before
// each line was not taken, because it would be a part of what was said.
func (d *Display) stamp(l *displayed) {
	if !d.Terminal && l.phase != phaseOver && time.Since(d.timed) >= silentAfter {
		d.stand(l.status(d, plainWidth))
	}
}

// stand shows how a loop stands, with the time.
func (d *Display) stand(status string) {
	d.timed = time.Now()
	d.put([]byte(d.timed.In(d.zone()).Format(time.TimeOnly)+" "+status+"\n"), true)
}

// named adds lines, each with a name before it, in rows of so many columns, 0 = as it is,
// and as paint makes them, nil = as they are.
// Where names stand before lines, blank ones are left out: they part the paragraphs of one
// agent, and between those of several they part nothing.
func named(out []byte, name string, text []byte, columns int, paint func(style, string) string) []byte {
	for line := range bytes.Lines(text) {
		if name != "" && len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		style := styleOf(line)
		if columns > 0 && roomy(line)+len(name) > columns { // names are of few columns, and mostly of as many bytes
			for _, row := range spoken(string(bytes.TrimSuffix(line, []byte{'\n'})), columns-term.Width(name)) {
				out = append(append(append(out, name...), paint(style, row)...), '\n')
			}
			continue
		}
		out = append(out, name...)
		if paint != nil && style != styleNone {
			out = append(append(out, paint(style, string(line[:len(line)-1]))...), '\n')
			continue
		}
		out = append(out, line...)
	}
	return out
}

// written adds a piece as it is written to a terminal of so many columns. Most text has
// neither a name nor a line to be coloured or broken, and is passed on as it is.
// Lines are broken here and not when they are said, since most of what comes fast is never
// written.
func (d *Display) written(out []byte, p piece, columns int) []byte {
	coloured := d.Colours && (bytes.Contains(p.text, []byte(toolMark)) || bytes.Contains(p.text, []byte(failureMark)))
	if p.own || p.name == "" && !coloured && !wider(p.text, columns) {
		return append(out, p.text...)
	}
	return named(out, p.name, p.text, columns, d.paint)
}

// roomy is how many columns a line may take at most.
func roomy(line []byte) int { return len(line) - 1 + 7*bytes.Count(line, []byte{'\t'}) }

// wider reports whether one of the lines may be wider than so many columns.
func wider(text []byte, columns int) bool {
	for line := range bytes.Lines(text) {
		if roomy(line) > columns {
			return true
		}
	}
	return false
}

// Lines by which an agent's stream tells of its tools begin with these: that one is
// used, and that it has failed. An agent may write the same, and is welcome to the
// colour.
const (
	toolMark    = "→ "
	failureMark = "✗ "
)

// styleOf is how a line of an agent is shown.
// It is told by the text alone. A second way beside the output, by which a stream could
// say what a line is, would have to pass all filters and stay in step with them.
func styleOf(line []byte) style {
	line = bytes.TrimLeft(line, " \t")
	switch {
	case bytes.HasPrefix(line, []byte(toolMark)):
		return styleTool
	case bytes.HasPrefix(line, []byte(failureMark)):
		return styleFailure
	}
	return styleNone
}

// does notes what the agent does at the moment, by the last line that is not blank: a
// tool that it uses, as long as nothing else was said since. Where nobody sees what it
// says, that will do too.
func (l *displayed) does(text []byte, any bool) {
	text = bytes.TrimRight(text, " \t\n")
	last := text[bytes.LastIndexByte(text, '\n')+1:]
	if len(last) == 0 {
		return
	}
	told := term.Line(string(last[:min(len(last), 600)]))
	if !any && !strings.HasPrefix(told, toolMark) {
		told = ""
	}
	l.activity = told
}

// put has text written: lines with their ends, our own or an agent's.
func (d *Display) put(text []byte, own bool) { d.add(piece{text: text, own: own}) }

// said has an agent's lines written, each with a name before it.
func (d *Display) said(name string, text []byte) { d.add(piece{text: text, name: name}) }

// add has a piece written.
// After an error of W nothing is kept, or a terminal that is gone would fill the memory.
// On a terminal it is a copy that is queued, so that the caller's buffer is free at once.
func (d *Display) add(p piece) {
	d.shown = true
	switch {
	case d.err != nil: // it could not be written
	case d.Terminal:
		d.queue.add(p)
	default:
		d.plain = append(d.plain, p.text...)
	}
}

// A queue is what waits for a terminal.
// A channel was not taken: one that is full stops who sends, which is what must not happen
// to an agent, and nothing can be taken out of its middle. Neither was a ring of bytes: it
// cannot keep our own lines while it lets go of the agent's around them.
// The zero value is empty. It is guarded by the Display's lock.
type queue struct {
	pieces []piece
	agents int    // bytes in those that are not our own, with their names
	spare  []byte // of a piece that was left out, for the next
}

// A piece is some lines, or the place of lines that were left out.
// Pieces are large, because a queue of single short lines would have thousands to look
// through each time that one is left out.
type piece struct {
	text    []byte
	name    string // before each line
	own     bool
	size    int   // bytes, with the names
	dropped int64 // bytes
}

const (
	// maxQueued is what of an agent's text is kept for a terminal: some thousand lines,
	// more than anybody reads that pass by. Since it is written each drawEvery, what is
	// said faster than at 4 MB a second is not all shown, however fast the terminal is:
	// to draw it would cost more than all the rest.
	maxQueued = 256 << 10
	// pieceSize is what is left out at once.
	pieceSize = 32 << 10
)

// add adds a copy of a piece.
//
// The oldest is left out, not what comes: a person who looks again wants to see where
// the agent is, and not where it was when the terminal stopped.
func (q *queue) add(p piece) {
	for text := p.text; len(text) > 0; text = text[len(p.text):] {
		p.text = text
		if len(text) > pieceSize {
			p.text = text[:cutLines(text, pieceSize)]
		}
		q.push(p)
	}
	for q.agents > maxQueued {
		q.drop(slices.IndexFunc(q.pieces, func(p piece) bool { return !p.own && p.dropped == 0 }))
	}
}

// cutLines is the size of the lines that fit into about so many bytes.
// A line is never cut in two here: if one half of it was left out, the other would read as
// a line that nobody has said.
func cutLines(text []byte, size int) int {
	if at := bytes.LastIndexByte(text[:size], '\n'); at >= 0 {
		return at + 1
	}
	return size + bytes.IndexByte(text[size:], '\n') + 1 // text ends with one
}

// Small texts become one piece. Ours are never joined with an agent's, for they are never
// left out.
func (q *queue) push(p piece) {
	p.size = len(p.text)
	if p.name != "" {
		p.size += len(p.name) * bytes.Count(p.text, []byte{'\n'})
	}
	if !p.own {
		q.agents += p.size
	}
	if n := len(q.pieces); n > 0 {
		last := &q.pieces[n-1]
		if last.own == p.own && last.name == p.name && last.dropped == 0 && len(last.text)+len(p.text) <= pieceSize {
			last.text, last.size = append(last.text, p.text...), last.size+p.size
			return
		}
	}
	kept := q.spare[:0]
	if q.spare = nil; kept == nil && !p.own {
		kept = make([]byte, 0, pieceSize)
	}
	p.text = append(kept, p.text...)
	q.pieces = append(q.pieces, p)
}

// drop leaves out a piece. Two places without anything between them become one, so that
// an agent that goes on for days beside a stopped terminal costs nothing.
func (q *queue) drop(at int) {
	p := &q.pieces[at]
	q.agents -= p.size
	q.spare = p.text
	*p = piece{dropped: int64(len(p.text))}
	if at > 0 && q.pieces[at-1].dropped > 0 {
		q.pieces[at-1].dropped += p.dropped
		q.pieces = slices.Delete(q.pieces, at, at+1)
	}
}

// take empties the queue.
// The pieces are the caller's then, so that they are written without the lock.
func (q *queue) take() []piece {
	pieces := q.pieces
	*q = queue{}
	return pieces
}
