package progress

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/term"
)

// A Display shows people what loops do while they run: a heading for each iteration,
// what the agent says, what came of it and why, waits, and how things stand at the
// moment. On a terminal that is a last line for each loop that runs, drawn again in its
// place; elsewhere, as in a pipe or a file, it is a line in each minute in which nothing
// else was shown, and one before what an agent says if none with a time was for a minute.
// [DisplayOn] makes one that knows what it writes to.
//
//	d := progress.DisplayOn(os.Stderr, os.Getenv)
//	defer d.Close()
//	loop := &ralph.Local{Runner: agent, Verifier: tests, Log: d, Live: d.Live,
//		Output: func(req ralph.Request) (display, raw io.Writer) { return d.Output(req), nil }}
//
// With another log it is an argument of [Multi], after that log. The zero value but for
// W shows plain lines. The fields must not be changed once it is used; its methods may
// be called concurrently, and by any number of loops, which are told apart by their
// names ([ralph.Event.Loop]).
//
// A terminal that is slow, or was stopped by its user, does not slow a loop: what agents
// say waits in a queue of 256 KiB, of which the oldest is left out if it is full, and a
// line says how much was; so is some of what comes faster than at 4 MB a second. The
// Display's own lines are never left out. Elsewhere nothing is, and who writes waits.
//
// On a terminal lines that are wider are broken between words; one word that is wider, as
// an address, is left to the terminal, so that it can be copied.
//
// Everything that others have written (what agents say, titles, reasons, names) is shown
// as [Printable] makes it, so that no terminal takes it for a command. Secrets are the
// caller's concern: give [Redactor.Writer] as Redact, for what agents say, and the log
// that [Redactor.Log] makes of the Display in its place, for what events tell.
type Display struct {
	// W is where it is shown, required. After its first error nothing more is written.
	W io.Writer
	// Terminal says that W understands control sequences. False = plain lines.
	Terminal bool
	// Colours says that it shows the usual 16 colours, of which none is used that cannot
	// be read on a light or a dark ground. Without Terminal it has no effect.
	Colours bool
	// Size is how many columns and rows the terminal has. It is asked before each drawing,
	// since people resize their windows, and must return at once. Nil, or a size of less
	// than 2 columns and 1 row, which is none = 80 columns, 24 rows.
	Size func() (columns, rows int)
	// Zone is where clock times are told. Nil = [time.Local].
	Zone *time.Location

	// Agent is the name of the agent's client, as "claude". "" = it is not shown.
	Agent string
	// Place is where the loop of an event stands among others, as "task 3 of 5 T004". It is
	// asked as a loop and as an iteration starts, and must return at once. The titles of
	// tasks are told where it says something, and what came of each. Nil = nothing.
	Place func(ralph.Event) string
	// Verifying is what verifies a claim, as "go test ./...". It is asked as a
	// verification begins, and must return at once. Nil = [ralph.Task.HowVerified].
	Verifying func(ralph.Task) string
	// Redact makes a writer of another one that hides secrets, see [Redactor.Writer]; what
	// an agent says in one attempt goes through one. Nil = nothing is hidden.
	Redact func(io.Writer) io.WriteCloser
	// Named says that lines begin with the names of their loops from the start, "task.agent";
	// it is for callers who will run several at once. False = from when a second loop runs
	// beside another.
	Named bool
	// Terse leaves out what agents say; what they do at the moment is still a part of the
	// last line. False = all that they say is shown.
	Terse bool

	// There are two locks, because a write to a pipe may last as long as its reader likes.
	// Lines must not overtake each other in it, but Live and drawing need only the state.
	order   sync.Mutex // is taken before mu, and held until what is plain is written
	mu      sync.Mutex // guards the rest
	loops   []*displayed
	other   *voice // of Write
	many    bool   // several loops have run at once
	shown   bool   // something was
	columns int    // when an event was shown last
	wrote   time.Time
	timed   time.Time // when a line with a time was shown; elsewhere than on a terminal
	err     error     // the first of W

	plain   []byte // to be written, where there is no terminal
	queue   queue  // to be written, where there is one
	scratch []byte // lines while they get their names
	drawn   []int  // the widths of the lines that are drawn; only the goroutine uses it
	last    string // what is drawn
	wake    chan struct{}
	aside   chan func() // for which nothing is drawn
	quit    chan struct{}
	done    chan struct{} // nil = the goroutine was not started
	closed  bool
}

var (
	_ ralph.ProgressLog = (*Display)(nil)
	_ io.WriteCloser    = (*Display)(nil)
)

// Append shows an event. The error is always nil: that nobody can watch is no reason to
// end a loop. Close tells what could not be written.
//
// Size, Place and Verifying are asked before a lock is taken: they are the caller's, and
// may themselves write to the Display.
func (d *Display) Append(_ context.Context, ev ralph.Event) error {
	place, how := "", ""
	columns, _ := d.size()
	// Nothing of an attempt whose verification was interrupted follows here, so it is
	// shown as one that has ended.
	if ev.Kind == ralph.EventAnswered && ev.Text != "" {
		ev.Kind = ralph.EventIterationEnded
		ev.Iteration.Claimed, ev.Iteration.Fault, ev.Iteration.Error = false, ralph.FaultInterrupted, "while it was verified: "+ev.Text
	}
	switch ev.Kind {
	case ralph.EventLoopStarted, ralph.EventIterationStarted:
		if d.Place != nil {
			place = d.Place(ev)
		}
	case ralph.EventAnswered:
		// The attempt is over: what its agent has not ended with a line feed ends here.
		d.hangUp(ev.Loop)
		how = d.verifying(ev.Loop)
	case ralph.EventIterationEnded, ralph.EventLoopStopped:
		d.hangUp(ev.Loop)
	}
	d.update(func() {
		d.columns = columns
		l := d.loop(ev.Loop, ev.Task, ev.Agent)
		l.take(ev, term.Line(place), term.Line(how))
		d.count()
		d.show(l, ev)
		// A session may run thousands of loops, one after another: what has stopped is
		// forgotten, and a later loop of the same name begins anew.
		if ev.Kind == ralph.EventLoopStopped {
			d.loops = slices.DeleteFunc(d.loops, func(o *displayed) bool { return o == l })
		}
	})
	return nil
}

// verifying asks what verifies, without the lock: the caller's function may call us.
func (d *Display) verifying(loop string) string {
	d.mu.Lock()
	var t ralph.Task
	if at := d.find(loop); at >= 0 {
		t = d.loops[at].s.Task
	}
	d.mu.Unlock()
	if d.Verifying != nil {
		return d.Verifying(t)
	}
	return t.HowVerified
}

// Output returns where the agent's output of an attempt is shown, for
// [ralph.Local.Output]. It is for one attempt, and ends with the event [ralph.EventAnswered];
// what comes later is left out. Writes always succeed. A line is shown when it has its
// end, or is longer than 64 KiB; of one loop on a terminal what there is of it is
// seen before, in the line above the last.
func (d *Display) Output(req ralph.Request) io.Writer {
	d.hangUp(req.Loop)
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.loop(req.Loop, req.Task, req.Agent)
	l.voice = d.newVoice(l)
	return l.voice
}

// Live shows what an attempt has used so far, for [ralph.Local.Live]. It waits for
// nobody.
// What comes when the attempt is over is left out: the event of its answer has it too,
// and it would count twice.
func (d *Display) Live(req ralph.Request, u ralph.Usage) {
	u = ralph.Usage{}.Add(u) // a copy, without what is no amount
	d.mu.Lock()
	defer d.mu.Unlock()
	if at := d.find(req.Loop); at >= 0 && d.loops[at].phase == phaseRunning {
		d.loops[at].live = &u
		d.awake()
	}
}

// Write shows lines of the caller's own among the others, above the last line; one that
// has no end yet is shown when it has. On a terminal one that is too wide is broken
// between words, and goes on with three blanks before it. Control sequences are removed from them too. The
// error is the first of W, which on a terminal may be that of an earlier Write, and of
// one that is closed it is [io.ErrClosedPipe].
func (d *Display) Write(p []byte) (int, error) {
	columns, _ := d.size()
	d.mu.Lock()
	if d.other == nil {
		d.other = d.newVoice(nil)
	}
	other, closed := d.other, d.closed
	other.columns = columns
	d.mu.Unlock()
	if closed {
		return 0, io.ErrClosedPipe
	}
	other.Write(p)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return 0, d.err
	}
	return len(p), nil
}

// Close shows what is left, removes the last line and ends the Display's goroutine. It
// waits for W, does not close it, and returns its first error. Call it once all loops
// have returned; what is given to the Display later is left out.
func (d *Display) Close() error {
	d.mu.Lock()
	voices := []*voice{d.other}
	for _, l := range d.loops {
		voices = append(voices, l.voice)
	}
	d.mu.Unlock()
	for _, v := range voices {
		v.end()
	}
	// What is closed takes no changes, and this is one: so quit is closed once, however
	// often Close is called.
	d.update(func() { d.closed = true; close(d.quit) })
	d.mu.Lock()
	done := d.done
	d.mu.Unlock()
	if done != nil {
		<-done
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// update changes what there is to show, and has it written.
//
// Without a terminal it is written here, so that it is there when the call returns and
// nothing waits in memory. The lock of the state is not held then: Live must return at
// once, whoever is slow to read.
//
// The array of the plain text is used again. That is safe since order is held until the
// text is written: nobody else can add to it meanwhile.
func (d *Display) update(change func()) {
	d.order.Lock()
	defer d.order.Unlock()
	d.mu.Lock()
	d.start()
	if !d.closed {
		change()
	}
	text, failed := d.plain, d.err != nil
	d.plain = d.plain[:0]
	d.awake()
	if len(text) > 0 {
		d.wrote = time.Now()
	}
	d.mu.Unlock()
	if len(text) > 0 && !failed {
		d.write(text)
	}
}

// write writes to W, and keeps its first error.
func (d *Display) write(text []byte) {
	if _, err := d.W.Write(text); err != nil {
		d.mu.Lock()
		d.err = cmp.Or(d.err, err)
		d.mu.Unlock()
	}
}

// size is that of the terminal, or what is taken for it.
// One column would be none, for the last one is always left free. 80 by 24 is what
// programs have always taken for a terminal that does not tell its size.
func (d *Display) size() (columns, rows int) {
	columns, rows = 80, 24
	if d.Terminal && d.Size != nil {
		if c, r := d.Size(); c >= 2 && r >= 1 {
			columns, rows = c, r
		}
	}
	return columns, rows
}

// find returns where a loop stands in the list; -1 = it is not there.
func (d *Display) find(name string) int {
	return slices.IndexFunc(d.loops, func(l *displayed) bool { return l.loop == name })
}

// loop returns what is known of a loop.
// It may be a loop whose start was not seen, as when a Display is put on one that runs
// already. Its phase is zero then, and so it is not drawn before an event says what it
// does. People know a loop by its task and agent: its own name is shown if it has neither.
func (d *Display) loop(name, task, agent string) *displayed {
	if at := d.find(name); at >= 0 {
		return d.loops[at]
	}
	called := cmp.Or(strings.Trim(task+"."+agent, "."), name)
	l := &displayed{loop: name, name: term.Cut(term.Line(called), 40)}
	d.loops = append(d.loops, l)
	return l
}

// count notices when a second loop runs beside another.
// It does not take that back when the other has ended: a reader who has seen names would
// take the lines without one for somebody else's. Loops that run one after another need
// no names.
func (d *Display) count() {
	running := 0
	for _, l := range d.loops {
		if l.phase != phaseOver {
			running++
		}
	}
	d.many = d.many || running > 1
}

// named is what a loop's lines begin with; "" = nothing.
func (d *Display) named(l *displayed) string {
	if l == nil || !d.many && !d.Named {
		return ""
	}
	return l.name
}

// hangUp ends what is shown of a loop's attempt.
// The voice is ended without the lock, which it takes itself, after its own.
func (d *Display) hangUp(loop string) {
	d.mu.Lock()
	var v *voice
	if at := d.find(loop); at >= 0 {
		v, d.loops[at].voice = d.loops[at].voice, nil
	}
	d.mu.Unlock()
	v.end()
}
