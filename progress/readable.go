package progress

import (
	"bytes"
	"io"
	"slices"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/stream"
	"github.com/ralph-loop/ralph/internal/term"
)

// Readable returns a writer that takes the raw output of one attempt, in any pieces, see
// [Raw.Tail], and writes to w what a person reads of it: what the agent says and the
// tools that it uses, as a [Display] shows them, without control sequences. Paths below
// dir, the workspace, are shown relative to it; "" = as they are.
//
// The format is that of the client, see [ralph.Command]. "", or one that is not known =
// it is found out from the stream, which may take one client for another whose events are
// the same; what none of the known ones would print is shown as it is, in its order. Until
// a client is known, a line of JSON with a type or a role may be an event of one that shows
// nothing. It is kept back, at most 256 KiB of such lines, until the next line of another
// kind, which shows that it was none.
//
// Close writes what is left, and does not close w. Errors of w are ignored. It is for one
// goroutine.
func Readable(w io.Writer, format ralph.Format, dir string) io.WriteCloser {
	r := &readable{plain: term.Strip(w), to: w}
	formats := []string{string(format)}
	if !slices.Contains(stream.Formats(), formats[0]) {
		formats = guessed(stream.Formats())
	}
	for _, name := range formats {
		t := &trial{}
		notes := &stream.Notes{To: &t.shown, Verbose: true} // whether the run will fail is not known yet
		if name != string(ralph.FormatText) {
			t.decoder, _ = stream.New(name, stream.Options{Display: &t.shown, Notes: notes, Dir: dir})
			r.trials = append(r.trials, t)
		}
	}
	return r
}

// guessed are formats in the order in which they are believed. Amp and cursor print
// what claude does and more, and to kimi all messages that have a role are its own.
func guessed(formats []string) []string {
	rank := func(name string) int {
		return slices.Index([]string{string(ralph.FormatAmp), string(ralph.FormatCursor), string(ralph.FormatKimi)}, name)
	}
	slices.SortStableFunc(formats, func(a, b string) int { return rank(a) - rank(b) })
	return formats
}

// maxUnknown bounds what is kept of events while no dialect makes anything of them.
// Clients begin with events that show nothing, such as the list of their tools.
const maxUnknown = 256 << 10

// maxPiece bounds what is handed on at once, of which those who take it make a copy.
const maxPiece = 32 << 10

// A readable tells lines that may be events from those that are none: a client's
// warnings stand between its events, for the raw output has both streams.
type readable struct {
	to, plain io.Writer

	inLine bool     // the next byte is not the first of its line
	event  bool     // the line may be an event
	trials []*trial // the dialects that it may be; none = it is plain text
	known  bool     // it is the only one
	held   []byte   // the events so far, until it is known
}

// A trial is one dialect, and what it would show.
type trial struct {
	decoder *stream.Decoder
	shown   bytes.Buffer
}

// Write implements [io.Writer]. It takes all it is given.
func (r *readable) Write(p []byte) (int, error) {
	size := len(p)
	for len(p) > 0 {
		if !r.inLine {
			r.event = p[0] == '{' && len(r.trials) > 0
		}
		end := bytes.IndexByte(p, '\n') + 1
		if r.inLine = end == 0 || end > maxPiece; r.inLine {
			end = min(len(p), maxPiece)
		}
		if r.event {
			r.try(p[:end], !r.inLine)
		} else {
			if p[0] != '\n' {
				r.flush()
			}
			r.plain.Write(p[:end])
		}
		p = p[end:]
	}
	return size, nil
}

// try gives a part of an event, which may be its last, to the dialects. The first of them
// that shows anything is taken.
func (r *readable) try(p []byte, last bool) {
	for _, t := range r.trials {
		t.decoder.Write(p)
	}
	first := slices.IndexFunc(r.trials, func(t *trial) bool { return t.shown.Len() > 0 })
	switch {
	case first >= 0:
		t := r.trials[first]
		t.shown.WriteTo(r.to)
		r.trials, r.held, r.known = []*trial{t}, nil, true
	case r.known:
	case len(r.held)+len(p) > maxUnknown:
		r.flush()
		r.trials, r.event = nil, false
		r.plain.Write(p)
	default:
		r.held = append(r.held, p...)
		if last && !mayBeEvent(r.held[bytes.LastIndexByte(r.held[:len(r.held)-1], '\n')+1:]) {
			r.flush()
		}
	}
}

// mayBeEvent reports whether a line may be a client's: each of them names the type of its
// events, or whose words they are. A program's log does neither.
func mayBeEvent(line []byte) bool {
	return bytes.Contains(line, []byte(`"type"`)) || bytes.Contains(line, []byte(`"role"`))
}

// flush shows what was kept back as it is.
func (r *readable) flush() {
	r.plain.Write(r.held)
	r.held = nil
}

// Close implements [io.Closer].
func (r *readable) Close() error {
	for _, t := range r.trials {
		t.decoder.Result() // which shows what has come of a message
	}
	r.try(nil, false)
	r.flush()
	return nil
}
