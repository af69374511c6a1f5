// Command ralph runs a coding agent in a loop until its work is verified. It is
// a thin example of what package ralph does.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// An env is what a command may touch.
type env struct {
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer
	args           []string // the command line
	verb           string   // what it runs
	again          *string  // the command that goes on with what was interrupted, "" = this one
	resumes        bool     // what has stopped goes on too
	end            *ending  // of the run
}

func (e env) say(format string, args ...any) {
	fmt.Fprintln(e.stderr, progress.PrintableWrap(fmt.Sprintf("ralph: "+format, safe(args)...), "   ", columnsOf(e.stderr)-1))
}

// aloud has what is said shown, also with --quiet and --json, until it is called again.
func (e env) aloud() (quiet func()) {
	was := e.stderr.(*outlet).quiet.Swap(false)
	return func() { e.stderr.(*outlet).quiet.Store(was) }
}

// once is say, but each text once; it may be called concurrently.
func (e env) once() func(format string, args ...any) {
	var said sync.Map
	return func(format string, args ...any) {
		if _, before := said.LoadOrStore(fmt.Sprintf(format, args...), true); !before {
			e.say(format, args...)
		}
	}
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	stdout, stderr = &outlet{Writer: stdout, cancel: cancel, colours: progress.DisplayOn(stdout, os.Getenv).Colours}, &outlet{Writer: stderr, cancel: cancel}
	stdin = inlet{ctx, stdin}
	ctx, stop := withSignals(ctx, cancel)
	defer stop()
	e := env{ctx: ctx, stdin: stdin, stdout: stdout, stderr: stderr, args: args, again: new(string), end: new(ending)}
	err := dispatch(e, args)
	code := exitCode(ctx, err)
	e.aloud()
	signal, interrupted := errors.AsType[signalError](context.Cause(ctx))
	switch {
	case err == nil || err.Error() == "" || e.end.told && (interrupted && e.end.Next != "" || (code == exitNotVerified || code == exitAgent)):
	case interrupted && signal.Signal == syscall.SIGPIPE && *e.again == "": // nothing was begun, and nobody reads on
	case interrupted:
		e.say("interrupted; what was done is in the files: %s", cmp.Or(*e.again, "run it again to go on"))
	default:
		e.say("%s", ours{err})
	}
	return code
}

// withSignals makes a context end with the first signal that ends
// programs. With the second, what still runs is killed at once, so that also
// the impatient, and a terminal that hangs up more than once, leave no agent
// behind; the third ends this process.
func withSignals(ctx context.Context, cancel context.CancelCauseFunc) (context.Context, func()) {
	hurry := make(chan struct{})
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // it shall not end us, see outlet
	go func() {
		n := 0
		for sig := range signals {
			cancel(signalError{sig.(syscall.Signal)})
			if n++; n == 2 {
				close(hurry)
				signal.Stop(signals)
			}
		}
	}()
	return ralph.Hurry(ctx, hurry), func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}

// An inlet is standard input. Nobody waits for what is not written when the run
// has ended.
type inlet struct {
	ctx  context.Context
	from io.Reader
}

func (i inlet) Read(p []byte) (int, error) {
	buf := make([]byte, len(p))
	var n int
	var err error
	done := make(chan struct{})
	go func() {
		n, err = i.from.Read(buf)
		close(done)
	}()
	select {
	case <-done:
		return copy(p, buf[:n]), err
	case <-i.ctx.Done():
		return 0, context.Cause(i.ctx)
	}
}

// An outlet is standard output or error. All that is shown goes through it, and
// what a terminal should not be given stays in it: each write is made safe by
// itself, so that what one text leaves open hides nothing of the next. When nobody
// reads it any more the run ends, as other programs do, but in good order: with the
// Ctrl-C that reaches us, a tee behind us has gone before we are done.
type outlet struct {
	io.Writer
	cancel  context.CancelCauseFunc
	colours bool
	quiet   atomic.Bool                      // nothing is shown
	through atomic.Pointer[progress.Display] // that shows it meanwhile; nil = none
	mu      sync.Mutex                       // of what is written: loops that run at once do so
}

func (o *outlet) Write(p []byte) (int, error) {
	text := progress.Printable(string(p))
	if text == "" || o.quiet.Load() {
		return len(p), nil
	}
	if d := o.through.Load(); d != nil {
		_, err := d.Write([]byte(text))
		return len(p), err
	}
	if err := o.raw(text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// raw passes on what is ours.
func (o *outlet) raw(text string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, err := io.WriteString(o.Writer, text)
	if errors.Is(err, syscall.EPIPE) {
		o.cancel(signalError{syscall.SIGPIPE})
	}
	return err
}
