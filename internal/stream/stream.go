// Package stream decodes what agents' command-line clients print: one JSON
// object per line in a dialect of each client's own, or plain text. It streams:
// whatever an agent prints, little of it is held in memory.
package stream

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Options are what a Decoder needs besides the stream.
type Options struct {
	// Echo is the prompt. Verbatim copies of it in the stream are removed
	// before anything else, in every format, if it holds a promise's tag.
	Echo string
	// Display gets readable text as it comes, without control sequences.
	// nil = none. Its errors are ignored.
	Display io.Writer
	// Live is told the usage so far whenever the stream tells it. nil = none.
	Live func(Usage)
}

// Usage is what a run has used. InputTokens counts all input, that read from
// and written to a cache included. A nil CostUSD is unknown.
type Usage struct {
	Requests, Messages, InputTokens, OutputTokens int64
	CostUSD                                       *float64
}

// A Result is what a stream said.
type Result struct {
	Text           string // the agent's own final words, bounded
	Omitted        int64  // bytes of them left out
	Usage          Usage
	Model, Session string
	Files          []string // that the stream says were changed, at most 200

	Ended   bool   // the stream's end event came; in plain text, always
	Failed  bool   // the stream itself says that the run failed
	Message string // the provider's words about that, one line

	RateLimited bool          // the provider says so
	RetryAfter  time.Duration // 0 = not said
	ResetAt     time.Time     // zero = not said
	Denied      bool          // not logged in, key not accepted: retrying cannot help

	Skipped     int      // lines that are not of the dialect
	LastSkipped []string // the last few, for diagnosis
}

// A dialect is one client's way to print.
type dialect struct {
	want filter
	drop func(kind string) bool // types of lines that are of no use; nil = none
	line func(d *Decoder, v *value)
}

func dialects() map[string]dialect {
	claude := claudeDialect()
	return map[string]dialect{
		"text": {}, "claude": claude, "cursor": claude, "amp": claude, "codex": codexDialect(),
		"cline": clineDialect(), "gemini": geminiDialect(), "opencode": opencodeDialect(),
		"copilot": copilotDialect(), "kimi": kimiDialect(),
	}
}

// Formats returns the known formats, sorted.
func Formats() []string { return slices.Sorted(maps.Keys(dialects())) }

// A Decoder decodes one stream. Write and Result are for one goroutine.
type Decoder struct {
	dialect
	json  *reader // nil for plain text
	echo  *echo
	show  io.Writer
	live  func(Usage)
	ended atomic.Bool
	res   Result

	full    *text // the last message with text
	fullID  string
	delta   *text // what came of a message that is not complete
	deltaID string
	final   *text // of the end event
	plain   text  // of the plain format
	limit   limit // as told before the end
	shown   bool  // the message being read was shown as it came
	column  bool  // the display is not at the beginning of a line

	message usageOf // the message whose usage may still change
}

// A limit is what the stream said about a rate limit.
type limit struct {
	hit   bool
	reset time.Time
	after time.Duration
}

type usageOf struct {
	id    string
	usage Usage
}

// New returns a Decoder for a format.
func New(format string, o Options) (*Decoder, error) {
	dia, ok := dialects()[format]
	if !ok {
		return nil, fmt.Errorf("unknown format %q; the known ones are %s", format, strings.Join(Formats(), ", "))
	}
	d := &Decoder{dialect: dia, live: o.Live}
	if o.Display != nil {
		d.show = Strip(o.Display)
	}
	if dia.line != nil {
		d.json = &reader{want: dia.want, drop: dia.drop, line: d.decode, junk: d.skip}
	} else {
		d.ended.Store(true)
	}
	d.echo = newEcho(o.Echo, d.accept)
	return d, nil
}

// Write takes the stream, in any pieces. It never fails.
func (d *Decoder) Write(p []byte) (int, error) {
	d.echo.write(p)
	return len(p), nil
}

// Ended reports whether the end event has come. It may be called from any
// goroutine.
func (d *Decoder) Ended() bool { return d.json != nil && d.ended.Load() }

func (d *Decoder) accept(p []byte) {
	if d.json != nil {
		d.json.write(p)
		return
	}
	d.plain.Write(p)
	if d.show != nil && len(p) > 0 {
		d.show.Write(p)
		d.column = p[len(p)-1] != '\n'
	}
}

func (d *Decoder) decode(v *value) { d.line(d, v) }

func (d *Decoder) skip(line []byte) {
	d.res.Skipped++
	if s := oneLine(string(line)); s != "" {
		d.res.LastSkipped = append(d.res.LastSkipped, s)
		if len(d.res.LastSkipped) > 5 {
			d.res.LastSkipped = d.res.LastSkipped[1:]
		}
	}
}

// Result ends the stream and says what it said. Call it once, after the last
// Write.
func (d *Decoder) Result() Result {
	d.echo.close()
	r := &d.res
	if d.json == nil {
		r.Ended, r.Text, r.Omitted = true, d.plain.String(), d.plain.gone
		d.newline()
		return *r
	}
	d.json.close()
	d.newline()
	r.Ended = d.ended.Load()
	d.settleUsage()
	words := d.full
	if d.delta != nil && !d.delta.blank() {
		words = d.delta
	}
	if d.final != nil && !d.final.blank() && !r.Failed {
		words = d.final
	}
	if words != nil {
		r.Text, r.Omitted = words.String(), words.gone
	}
	if !r.Ended || r.Failed {
		d.classify()
	}
	return *r
}

// classify reads a failure's own words; an agent's words never come here.
func (d *Decoder) classify() {
	r := &d.res
	if d.limit.hit || !r.RateLimited && r.Failed && !r.Denied && LimitText(r.Message) {
		r.RateLimited = true
	}
	if r.RateLimited {
		r.ResetAt, r.RetryAfter = d.limit.reset, d.limit.after
		if r.ResetAt.IsZero() && r.RetryAfter == 0 {
			r.RetryAfter = RetryHint(r.Message)
		}
	}
	if r.Failed && !r.RateLimited && DeniedText(r.Message) {
		r.Denied = true
	}
}

// status takes over an HTTP status that a failure names.
func (d *Decoder) status(code int64) {
	switch code {
	case 429, 529:
		d.limit.hit = true
	case 401, 403:
		d.res.Denied = true
	}
}

func (d *Decoder) end() { d.ended.Store(true) }

// fail records that the run failed, in the provider's words.
func (d *Decoder) fail(message string) {
	d.res.Failed = true
	if m := oneLine(message); m != "" {
		d.res.Message = m
	}
}

// say takes over words of the agent. Blocks of one message, which have the same
// id, belong together; what came of it in pieces before is replaced.
func (d *Decoder) say(id string, t *text) {
	if t == nil {
		return
	}
	d.delta = nil
	if !d.shown {
		d.display(t.String())
		d.newline()
	}
	d.shown = false
	if t.blank() {
		return
	}
	if id != "" && id == d.fullID && d.full != nil {
		d.full.Write([]byte(t.String()))
		return
	}
	d.full, d.fullID = t, id
}

// piece takes over a piece of a message.
func (d *Decoder) piece(id string, t *text) {
	if t == nil {
		return
	}
	if d.delta == nil || id != d.deltaID {
		d.delta, d.deltaID = new(text), id
	}
	s := t.String()
	d.delta.Write([]byte(s))
	d.display(s)
	d.shown = true
}

// whole makes a message of the pieces so far.
func (d *Decoder) whole() {
	if d.delta != nil && !d.delta.blank() {
		d.full, d.fullID = d.delta, ""
	}
	d.delta, d.shown = nil, false
	d.newline()
}

func (d *Decoder) display(s string) {
	if d.show != nil && s != "" {
		io.WriteString(d.show, s)
		d.column = !strings.HasSuffix(s, "\n")
	}
}

func (d *Decoder) newline() {
	if d.column {
		d.display("\n")
	}
}

// tool shows that the agent uses a tool.
func (d *Decoder) tool(name, what string) {
	if d.show == nil || name == "" {
		return
	}
	d.newline()
	what = oneLine(what)
	if len(what) > 160 {
		what = strings.ToValidUTF8(what[:160], "") + "…"
	}
	d.display(strings.TrimRight("→ "+name+" "+what, " ") + "\n")
}

func (d *Decoder) file(name string) {
	if name != "" && len(name) < 4096 && len(d.res.Files) < 200 && !slices.Contains(d.res.Files, name) {
		d.res.Files = append(d.res.Files, name)
	}
}

// using takes over the usage of one message, which may be told again.
func (d *Decoder) using(id string, u Usage) {
	if id == "" || id != d.message.id {
		d.settleUsage()
		d.message.id = id
		d.res.Usage.Messages++
		d.res.Usage.Requests++
	}
	d.message.usage = u
	d.tell()
}

func (d *Decoder) settleUsage() {
	d.res.Usage.InputTokens += d.message.usage.InputTokens
	d.res.Usage.OutputTokens += d.message.usage.OutputTokens
	d.message = usageOf{}
}

// total replaces the usage so far, as far as it is told.
func (d *Decoder) total(in, out int64) {
	d.message = usageOf{}
	if in > 0 || out > 0 {
		d.res.Usage.InputTokens, d.res.Usage.OutputTokens = in, out
	}
}

func (d *Decoder) cost(v *value, path ...string) {
	if f, ok := v.num(path...); ok && f >= 0 && !math.IsInf(f, 0) {
		d.res.Usage.CostUSD = &f
	}
}

// tell reports the usage so far.
func (d *Decoder) tell() {
	if d.live == nil {
		return
	}
	u := d.res.Usage
	u.InputTokens += d.message.usage.InputTokens
	u.OutputTokens += d.message.usage.OutputTokens
	d.live(u)
}

// oneLine folds white space and bounds the length.
func oneLine(s string) string {
	if len(s) > 4<<10 {
		s = s[:4<<10]
	}
	var b bytes.Buffer
	Strip(&b).Write([]byte(s))
	s = strings.Join(strings.Fields(b.String()), " ")
	if len(s) > 500 {
		s = strings.ToValidUTF8(s[:500], "") + "…"
	}
	return s
}
