package progress

import (
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/term"
)

const (
	// drawEvery is how often is drawn at most: faster is not read, and costs a terminal
	// on the other side of a network.
	drawEvery = 60 * time.Millisecond
	// silentAfter is how long nothing may be shown where there is no terminal, before a
	// line says how things stand.
	silentAfter = time.Minute
	// maxDrawn bounds the lines of loops where no screen does.
	maxDrawn = 50
)

// start starts the goroutine that writes to a terminal, or breaks the silence.
// It is started by the first use, and not by DisplayOn: a Display that the caller has
// made as a struct must work the same, and one that nobody uses leaves nothing behind.
func (d *Display) start() {
	if d.done != nil {
		return
	}
	d.wake, d.aside = make(chan struct{}, 1), make(chan func())
	d.quit, d.done = make(chan struct{}), make(chan struct{})
	d.wrote = time.Now()
	go d.run()
}

// Suspend removes the last line, calls stop, and draws the line again once it has
// returned. It is for programs that are stopped by their terminal (Ctrl-Z): at SIGTSTP let
// stop send the process SIGSTOP, which returns when it goes on. Until then nothing is
// written to the terminal, and no loop waits for that. Where there is no terminal, or
// nothing was shown yet, it only calls stop. stop must not call the Display's methods
// Suspend and Close.
func (d *Display) Suspend(stop func()) {
	d.mu.Lock()
	aside, done := d.aside, d.done
	d.mu.Unlock()
	if done == nil || !d.Terminal {
		stop()
		return
	}
	over := make(chan struct{})
	select {
	case aside <- func() { defer close(over); stop() }:
		<-over
	case <-done:
		stop()
	}
}

// awake says that there is something to draw.
// The channel has one place, as a doorbell: to ring twice tells no more than to ring once,
// and who rings never waits. A condition variable was not taken, because it cannot be
// waited for together with the clock and the end.
func (d *Display) awake() {
	select {
	case d.wake <- struct{}{}:
	default: // it knows, or there is nobody yet
	}
}

// run writes until Close. Each second something is to be drawn, for time passes.
// One goroutine writes, so that drawing and text cannot mix, and nobody but it waits for
// the terminal. What comes within drawEvery goes out together: an agent that prints a
// word at a time costs a terminal some writes a second, not a thousand.
//
// Elsewhere it has only the silence to look after: what is plain was written by whoever
// had it to say, so that a line is in the file once Append has returned.
func (d *Display) run() {
	defer close(d.done)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for last := (time.Time{}); ; {
		wake := d.wake
		if !d.Terminal {
			wake = nil // it was written
		}
		select {
		case <-d.quit:
			d.flush(false)
			return
		case do := <-d.aside:
			d.flush(false)
			do()
		case <-wake:
		case <-tick.C:
		}
		if !d.Terminal {
			d.breakSilence()
			continue
		}
		select {
		case <-time.After(drawEvery - time.Since(last)):
			d.flush(true)
			last = time.Now()
		case <-d.quit:
		}
	}
}

// flush writes what is queued, and draws the last lines below or leaves them out. All of
// it is one write, so that nobody sees them missing in between.
// What is drawn already is not drawn again: a terminal on which nothing changes is left
// alone, so that text can be marked and copied there.
//
// The lock is not held while it is written. A terminal that its user has stopped (Ctrl-S)
// may take nothing for hours: that holds this goroutine, and no loop. After an error the
// queue is emptied all the same, since nobody will ever take what is in it.
func (d *Display) flush(draw bool) {
	columns, rows := d.size()
	d.mu.Lock()
	pieces, failed := d.queue.take(), d.err != nil
	var lines []drawnLine
	if draw {
		lines = d.area(columns-1, max(rows/2, 1))
	}
	d.mu.Unlock()
	area := d.painted(lines)
	if failed || len(pieces) == 0 && area == d.last {
		return
	}
	out := d.erased(columns)
	for _, p := range pieces {
		if p.dropped > 0 {
			out = append(out, d.paint(styleNote, fmt.Sprintf("… %s of output not shown", size(p.dropped)))...)
			out = append(out, '\n')
		}
		out = d.written(out, p, columns)
	}
	d.last, d.drawn = area, nil
	for _, line := range lines {
		d.drawn = append(d.drawn, term.Width(line.text))
	}
	d.write(append(out, area...))
}

// painted is the area as it is written. The cursor stays behind its last line: a line
// feed there would take a row for nothing, and scroll.
func (d *Display) painted(lines []drawnLine) string {
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(d.paint(line.style, line.text))
	}
	return b.String()
}

// erased removes what was drawn. In a window that has become narrower since, a line
// takes several rows: terminals wrap what is there anew, and keep the cursor where it
// was in the text.
// A terminal that does not wrap anew, as xterm, may lose a line of text to that; the
// other way round, garbage would stay on all others.
//
// Two other ways were not taken. A cursor that the terminal saves and restores remembers a
// place on the screen, where another line stands once text has scrolled. A scrolling
// region keeps the last lines apart, but a program that is killed leaves it behind, and
// the shell after it has half a screen.
func (d *Display) erased(columns int) []byte {
	rows := 0
	for _, width := range d.drawn {
		rows += max((width+columns-1)/columns, 1)
	}
	switch {
	case rows == 0:
		return nil
	case rows == 1:
		return []byte("\r\x1b[J")
	}
	return fmt.Appendf(nil, "\r\x1b[%dA\x1b[J", rows-1)
}

// A drawnLine is one below all else.
type drawnLine struct {
	text  string
	style style
}

// area is what is drawn below all else: of a loop that runs alone the line that its
// agent has not ended yet, of which the end is shown; then how each loop stands.
// Several agents' unfinished lines are not shown: they would push each other about, and
// what each does stands in its own line. Half of the screen at most is ours. Where there is
// no terminal it is left out: it would stay, and the line be there twice.
// The alternate screen, as editors use it, was not taken: what a loop has said must still
// be there to scroll back to when the program is gone.
func (d *Display) area(width, most int) []drawnLine {
	var lines []drawnLine
	for _, l := range d.loops {
		if l.phase == phaseOver {
			continue
		}
		if v := l.voice; v != nil && len(v.rest)+len(v.begun) > 0 && d.Terminal && !d.many && !d.Named && !d.Terse && most > 1 {
			rest := string(v.rest[max(0, len(v.rest)-8*width):]) + v.begun // no character takes more bytes that are seen
			lines = append(lines, drawnLine{term.CutLeft(term.FoldTabs(strings.ToValidUTF8(rest, "")), width), styleNone})
		}
		lines = append(lines, drawnLine{l.status(d, width), styleStatus})
	}
	if len(lines) > most && most > 1 {
		more := len(lines) - most + 1
		lines = append(lines[:most-1], drawnLine{term.Cut(fmt.Sprintf("… %d more", more), width), styleStatus})
	}
	lines = lines[:min(len(lines), most)]
	return lines
}

// breakSilence tells how things stand, where nothing was shown for a minute.
// A build server ends what is silent for some minutes, and a person who reads its log
// wants to know where the time went.
// It is once a minute and not each second: an hour of silence is a page of a log, and not
// all of it. The minute begins anew also where no loop runs and nothing is told, or that
// would be looked for each second.
func (d *Display) breakSilence() {
	d.mu.Lock()
	silent := time.Since(d.wrote) >= silentAfter
	d.mu.Unlock()
	if !silent {
		return
	}
	d.update(func() {
		for _, line := range d.area(plainWidth, maxDrawn) {
			d.stand(line.text)
		}
		d.wrote = time.Now()
	})
}

// plainWidth is how wide a status is where there are no columns.
// One of 80 would leave out what a file has room for; without a bound the longest command
// would decide how wide a log is.
const plainWidth = 200

// zone is where clock times are told.
func (d *Display) zone() *time.Location {
	if d.Zone != nil {
		return d.Zone
	}
	return time.Local
}

// A style is a colour, as the parameters of its control sequence (SGR). Neither yellow
// nor blue, cyan, white or black, which on some ground cannot be read; and nothing is
// dim.
// Those of 256 colours and more were not taken: people choose what their 16 look like, by
// their ground and their eyes, and the others stay what they are.
type style string

const (
	styleNote    style = "1"
	styleStatus  style = "1"
	styleGood    style = "1;32"
	styleBad     style = "1;31"
	styleWaiting style = "1;35"
	styleTool    style = "35"
	styleFailure style = "31"
	styleNone    style = ""
)

// paint colours text, where there are colours.
// Each line has its own end of colour, so that a line of somebody else between two of
// ours never takes ours.
func (d *Display) paint(s style, text string) string {
	if !d.Terminal || !d.Colours || s == styleNone || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// size is an amount of bytes for people.
// A kB is 1000 bytes, as for disks and networks. It is rounded down: so much is
// missing for certain.
func size(n int64) string {
	switch {
	case n < 1000:
		return plural(int(n), "byte")
	case n < 1_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	}
	return fmt.Sprintf("%d MB", n/1_000_000)
}

// plural counts things whose plural ends with s.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
