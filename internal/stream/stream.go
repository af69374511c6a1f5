// Package stream decodes what agents' command-line clients print: one JSON
// object per line in a dialect of each client's own, or plain text. It streams:
// whatever an agent prints, little of it is held in memory.
package stream

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ralph-loop/ralph/internal/jsonlines"
	"github.com/ralph-loop/ralph/internal/reply"
	"github.com/ralph-loop/ralph/internal/term"
)

// A dialect is one client's way to print.
type dialect struct {
	want jsonlines.Filter
	drop func(kind []byte) bool // types of lines that are of no use; nil = none
	line func(d *Decoder, v *jsonlines.Value)
	rows []row // what is shown of tools
	// results is the type of lines that tell of tools' results alone, which only a display
	// wants, and probe reports, by the rest of such a line, that one may have failed.
	// "" = no type.
	results string
	probe   func(rest []byte) bool
	// ledger is of what the client writes elsewhere; zero = nothing.
	ledger ledger
}

func dialects() map[string]dialect {
	return map[string]dialect{
		"text": {}, "claude": claudeDialect(), "cursor": cursorDialect(), "amp": ampDialect(), "codex": codexDialect(),
		"cline": clineDialect(), "gemini": geminiDialect(), "opencode": opencodeDialect(),
		"copilot": copilotDialect(), "kimi": kimiDialect(),
	}
}

// Formats returns the known formats, sorted.
func Formats() []string { return slices.Sorted(maps.Keys(dialects())) }

// A Decoder decodes one stream. Write and Result are for one goroutine.
type Decoder struct {
	dialect
	json  *jsonlines.Reader // nil for plain text
	echo  *reply.Echo
	show  io.Writer
	notes *Notes
	tools map[string]gist
	dirs  []string // the workspace's names
	calls []call   // the last ones
	kept  []todo   // a list that is told in changes
	text  []byte   // of a line that is shown
	live  func(Usage)
	ended atomic.Bool
	res   Result

	full    *reply.Text // the last message with text
	fullID  string
	pieces  []message   // what came of messages that are not complete, as they began
	final   *reply.Text // of the end event
	plain   reply.Text  // of the plain format
	hint    hint        // of a failure, as told before the end
	shown   bool        // the message being read was shown as it came
	apart   bool        // something else has come since the last block of words
	sent    sent        // of sub-agents that the stream does not tell apart
	vague   bool        // that it failed was told, but not why
	midLine bool        // the display is not at the beginning of a line
	session string      // the run's; "" = not known yet
	named   string      // the session that the run began with; "" = not told
	turn    bool        // a model call is under way
	stream  string      // the id of the message that comes in pieces, if they do not say

	price   Pricing
	model   string // the run's, if the stream tells none
	zeros   bool
	since   time.Time
	told    counter           // of the stream
	beside  counter           // of the ledger
	early   []portion         // what the ledger has told of messages
	last    Usage             // as it was told last
	ledger  *jsonlines.Reader // nil = nothing came of it
	resumed bool              // it is of earlier runs too
	records bool              // it tells each response
	worked  bool              // the agent has said something or used a tool
}

// A message is known by its id, "" if its dialect has none.
type message struct {
	id   string
	text *reply.Text
}

// Of messages that are not complete, the last few are kept: few come at a time.
const (
	maxPieces = 4
	maxOpen   = 16
)

// What fields of the stream said about a failure.
type hint struct {
	kind  Kind
	reset time.Time
	after time.Duration
}

// New returns a Decoder for a format.
func New(format string, o Options) (*Decoder, error) {
	dia, ok := dialects()[format]
	if !ok {
		return nil, fmt.Errorf("unknown format %q; the known ones are %s", format, strings.Join(Formats(), ", "))
	}
	d := &Decoder{dialect: dia, live: o.Live, notes: o.Notes, price: o.Price, model: o.Model, zeros: o.Zeros, since: o.Since}
	if o.Display != nil {
		d.show, d.tools, d.dirs = term.Strip(o.Display), gists(dia.rows), workspace(o.Dir)
	}
	if d.notes != nil && d.show != nil {
		d.notes.begin = d.newline
	}
	if dia.line != nil {
		d.json = &jsonlines.Reader{Want: dia.want, Drop: d.dull, Minor: d.minor, Probe: dia.probe, Line: func(v *jsonlines.Value) { d.line(d, v) }, Junk: d.skip}
	} else {
		d.ended.Store(true)
	}
	if !reply.HasTag(o.Echo) {
		o.Echo = ""
	}
	d.echo = reply.NewEcho(o.Echo, d.accept)
	return d, nil
}

// Write takes the stream, in any pieces. It never fails.
func (d *Decoder) Write(p []byte) (int, error) {
	return d.echo.Write(p)
}

// Ended reports whether the end event has come. It may be called from any
// goroutine.
func (d *Decoder) Ended() bool { return d.json != nil && d.ended.Load() }

func (d *Decoder) accept(p []byte) {
	if d.json != nil {
		d.json.Write(p)
		return
	}
	d.plain.Write(p)
	if d.show != nil && len(p) > 0 {
		d.show.Write(p)
		d.midLine = p[len(p)-1] != '\n'
	}
}

// minor reports whether lines of a type are for a display alone.
func (d *Decoder) minor(kind []byte) bool { return d.results != "" && string(kind) == d.results }

// dull reports whether lines of a type are of no use.
func (d *Decoder) dull(kind []byte) bool {
	return d.show == nil && d.minor(kind) || d.drop != nil && d.drop(kind)
}

func (d *Decoder) skip(line []byte) {
	d.res.Skipped++
	if s := oneLine(string(line)); s != "" {
		if s[0] != '{' { // a torn event is nothing to read
			d.note(s)
		}
		d.res.LastSkipped = append(d.res.LastSkipped, s)
		if len(d.res.LastSkipped) > 5 {
			d.res.LastSkipped = d.res.LastSkipped[1:]
		}
	}
}

// Result ends the stream and says what it said. Call it once, after the last
// Write.
func (d *Decoder) Result() Result {
	d.echo.Close()
	r := &d.res
	if d.json == nil {
		r.Ended, r.Text = true, d.plain.String()
		r.Omitted = d.plain.Omitted()
		d.newline()
		return *r
	}
	d.json.Close()
	d.newline()
	r.Ended = d.ended.Load()
	r.Usage = d.usage()
	if words := d.words(); words != nil {
		r.Text = words.String()
		r.Omitted = words.Omitted()
	}
	if !r.Ended || r.Failed {
		d.classify()
	}
	if d.notes != nil && r.Failed && r.Message != "" && !d.vague {
		d.notes.explained = true
	}
	return *r
}

// words are the agent's last ones: those of a successful end event, else the
// last message's, be it complete or not. nil = none.
func (d *Decoder) words() *reply.Text {
	if d.final != nil && !d.final.Blank() && !d.res.Failed {
		return d.final
	}
	if n := len(d.pieces); n > 0 && !d.pieces[n-1].text.Blank() {
		return d.pieces[n-1].text
	}
	return d.full
}

// classify reads the words of a failure that was not overcome; an agent's words
// never come here. What a field tells decides, but the status of a rate limit also
// comes when there is nothing left to pay with, and that of a login that may not, 403,
// for limits, which words tell. How a run begins was right if the agent has worked: a
// conversation that has become too long is over, and the next one begins short.
func (d *Decoder) classify() {
	r := &d.res
	words := KindOf(r.Words)
	r.Kind = d.hint.kind
	if r.Kind == Unknown || words == Credit || r.Kind.Lasts() && words.Lasts() || r.Kind == Denied && words == Limit {
		r.Kind = words
	}
	if d.worked && (r.Kind == TooLong || r.Kind == NoModel || r.Kind == Setup) {
		r.Kind = Unknown
	}
	if r.Kind == Limit {
		r.ResetAt, r.RetryAfter = d.hint.reset, d.hint.after
	}
}

// status takes over an HTTP status that a failure names.
func (d *Decoder) status(code int64) { d.tells(statusKind(code)) }

// tells takes over what a field says of a failure.
func (d *Decoder) tells(kind Kind) {
	if kind != Unknown {
		d.hint.kind = kind
	}
}

func (d *Decoder) end() { d.ended.Store(true) }

// overcome forgets errors and limits: the run went on in spite of them.
func (d *Decoder) overcome() {
	d.res.Failed, d.res.Message, d.res.Words, d.hint = false, "", "", hint{}
}

// notice takes over the provider's words about something that may yet be
// overcome.
func (d *Decoder) notice(message string) {
	if m := oneLine(Unwrap(message)); m != "" {
		d.res.Message, d.res.Words = m, message[:min(len(message), 8<<10)]
	}
}

// fail records that the run failed, in the provider's words.
func (d *Decoder) fail(message string) {
	d.res.Failed = true
	d.notice(message)
}

// more adds to the words of a failure what only its reader wants to know.
func (d *Decoder) more(name, text string) {
	if text != "" && len(d.res.Words)+len(text) < 8<<10 {
		d.res.Words += "\n" + name + text
	}
}

// own reports whether words are the agent's, which say nothing about a failure.
func (d *Decoder) own(words string) bool {
	said := d.words()
	return said != nil && strings.TrimSpace(words) == strings.TrimSpace(said.String())
}

// say takes over words of the agent; nil = a message that has none. Blocks of one
// message, which have the same id, belong together. What came of it in pieces is
// replaced, and so is what an end event before it said.
func (d *Decoder) say(id string, t *reply.Text) {
	d.begin(id)
	if t == nil {
		return
	}
	if len(d.pieces) > 0 && d.pieces[0].id == id {
		d.pieces = slices.Delete(d.pieces, 0, 1)
	}
	if !d.shown && d.show != nil {
		d.newline()
		d.display(t.String())
	}
	d.newline()
	d.shown = false
	if t.Blank() {
		return
	}
	d.worked = true
	d.final = nil
	if !d.res.Failed {
		d.overcome()
	}
	if id != "" && id == d.fullID && d.full != nil {
		if d.apart {
			io.WriteString(d.full, "\n")
		}
		d.full.Add(t)
	} else {
		d.full, d.fullID = t, id
	}
	d.apart = false
}

// begin takes over that there is a message. One of which pieces came but never the
// whole is over once a later one is there: in pieces, only this one and what began
// after it stay.
func (d *Decoder) begin(id string) {
	n := slices.IndexFunc(d.pieces, func(m message) bool { return m.id == id })
	if n < 0 {
		n = len(d.pieces)
	}
	d.pieces = slices.Delete(d.pieces, 0, n)
}

// piece takes over a piece of a message.
func (d *Decoder) piece(id string, t *reply.Text) {
	if t == nil {
		return
	}
	d.worked = d.worked || !t.Blank()
	d.final = nil
	n := slices.IndexFunc(d.pieces, func(m message) bool { return m.id == id })
	if n < 0 {
		if len(d.pieces) == maxPieces {
			d.pieces = slices.Delete(d.pieces, 0, 1)
		}
		n = len(d.pieces)
		d.pieces = append(d.pieces, message{id, new(reply.Text)})
	}
	d.pieces[n].text.Add(t)
	if d.show != nil {
		d.display(t.String())
	}
	d.shown = true
}

// retry forgets what came of messages that are not complete: the model is asked
// again.
func (d *Decoder) retry() {
	d.pieces = nil
	d.newline()
	d.shown = false
}

// restart forgets what was said before a run, which is not the run's.
func (d *Decoder) restart() {
	d.retry()
	d.full, d.fullID, d.final, d.worked = nil, "", nil, false
	d.ended.Store(false)
}

// foreign reports whether a session is another than that of the run, whose words
// are not the agent's. The run's is the one it began with, or, while that says
// nothing, the first one that does.
func (d *Decoder) foreign(session string) bool {
	if session == "" || session == d.session {
		return false
	}
	if d.session == "" || session == d.named {
		if d.session != "" {
			d.restart()
		}
		d.session, d.res.Session = session, session
	}
	return session != d.session
}

// whole makes a message of the pieces so far.
func (d *Decoder) whole() {
	if n := len(d.pieces); n > 0 {
		d.shown = true
		d.say("", d.pieces[n-1].text)
	}
	d.shown = false
}

func (d *Decoder) file(name string) {
	if name != "" && len(name) < 4096 && len(d.res.Files) < 200 && !slices.Contains(d.res.Files, name) {
		d.res.Files = append(d.res.Files, name)
	}
}
