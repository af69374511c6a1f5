// Command ralph runs a coding agent in a loop until its work is verified. It is
// a thin example of what package ralph does.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/ralph-loop/ralph"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// An env is what a command may touch.
type env struct {
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer
}

func (e env) say(format string, args ...any) { fmt.Fprintf(e.stderr, "ralph: "+format+"\n", args...) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	stdout, stderr = &outlet{Writer: stdout, cancel: cancel}, &outlet{Writer: stderr, cancel: cancel}
	ctx, stop := withSignals(ctx, cancel)
	defer stop()
	e := env{ctx, stdin, stdout, stderr}
	err := dispatch(e, args)
	if _, interrupted := errors.AsType[signalError](context.Cause(ctx)); err != nil && interrupted {
		e.say("interrupted; what was done is in the files: run it again to go on")
	} else if err != nil && err.Error() != "" {
		e.say("%s", ours{err})
	}
	return exitCode(ctx, err)
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

// An outlet is standard output or error. When nobody reads it any more the run
// ends, as other programs do, but in good order: with the Ctrl-C that reaches us,
// a tee behind us has gone before we are done.
type outlet struct {
	io.Writer
	cancel  context.CancelCauseFunc
	midLine bool
}

func (o *outlet) Write(p []byte) (int, error) {
	if len(p) > 0 {
		o.midLine = p[len(p)-1] != '\n'
	}
	n, err := o.Writer.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		o.cancel(signalError{syscall.SIGPIPE})
	}
	return n, err
}
