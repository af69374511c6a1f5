package ralph

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/ralph-loop/ralph/internal/process"
	"github.com/ralph-loop/ralph/internal/stream"
	"github.com/ralph-loop/ralph/internal/term"
)

// A Filter pipes what a client prints through other commands while it runs: for
// a client whose dialect no [Format] decodes, or whose work is to be shown in
// another way. The commands get every byte as it comes, run in the request's
// folder with this process's environment, and nothing of them is left when
// [Command.Run] returns. The zero value filters nothing.
//
// The client's Format still decides how its run ended and what it cost.
type Filter struct {
	// Response is a program with its arguments. What it makes of the client's standard
	// output is taken for the agent's answer, read as plain text; what the Format finds
	// there is then not. If it cannot be started, the run fails for good; if it ends
	// with another exit status than 0 or Skipped, or takes longer than a minute to read
	// or, after the end of its input, to end, that is the run's error, unless the
	// client failed too.
	Response []string
	// Skipped is an exit status with which Response says that it could make
	// nothing of some lines. jq's is 5. It matters only if there is no answer.
	// 0 = none.
	Skipped int

	// Display is a program with its arguments. What it makes of both of the
	// client's streams goes to [Request.Display], without control sequences, in
	// place of the client's text. Without a Request.Display it is not started.
	// If it cannot be started, fails and says why, or does not read or end within
	// five seconds, that is told there, and is not the run's failure.
	Display []string

	// ResponseName and DisplayName are what messages call the two: the names of
	// the settings they come from, for example. "" = "response filter" and
	// "display filter".
	ResponseName, DisplayName string
}

// How long a filter may not read what it is given, and may go on after the end
// of it. One that hangs must not hold the agent up, and one that only shows
// things least of all.
const (
	responsePatience = time.Minute
	displayPatience  = 5 * time.Second
	lastPatience     = time.Second // once the run is to end
)

// filters are the commands of a Filter in one run. Each is a process that reads from a
// pipe: one that does not read holds the client up, but no longer than its patience.
type filters struct {
	response, display *filter // nil = none
	answer            *stream.Decoder
	skipped           int
	to                io.Writer // where display prints
}

// start starts the commands before the client runs: one that is not installed must cost
// no call of a model. What was started is ended again if another cannot be.
func (f Filter) start(ctx context.Context, req Request) (*filters, error) {
	fs := &filters{skipped: f.Skipped}
	if len(f.Response) > 0 {
		var err error
		if fs.answer, err = stream.New(string(FormatText), stream.Options{Echo: req.Prompt}); err != nil {
			return nil, err
		}
		fs.response = &filter{name: cmp.Or(f.ResponseName, "response filter"), args: f.Response, out: fs.answer, patience: responsePatience}
		if err := fs.response.start(ctx, req.Dir); err != nil {
			return nil, err
		}
	}
	if len(f.Display) > 0 && req.Display != nil {
		fs.to = term.Strip(req.Display)
		fs.display = &filter{name: cmp.Or(f.DisplayName, "display filter"), args: f.Display, out: fs.to, patience: displayPatience}
		if err := fs.display.start(ctx, req.Dir); err != nil {
			if fs.response != nil {
				fs.response.wait()
			}
			return nil, err
		}
	}
	return fs, nil
}

// stdout hands on what the client prints. Both filters get it whole: each is for
// another purpose.
func (fs *filters) stdout(p []byte) {
	fs.response.write(p)
	fs.display.write(p)
}

// stderr is for people only: a response filter that got it would mix complaints into
// the answer.
func (fs *filters) stderr(p []byte) { fs.display.write(p) }

// end ends the filters and makes their answer the run's.
//
// The client's own error goes first, for a filter whose input broke off fails as a
// consequence. An empty answer is told with what the filter said on standard error:
// usually that its expression matched nothing.
func (fs *filters) end(resp Response, err error) (Response, error) {
	err = cmp.Or(err, fs.endDisplay())
	if fs.response == nil {
		return resp, err
	}
	err = cmp.Or(err, fs.endResponse())
	result := fs.answer.Result()
	resp.Output, resp.Omitted = result.Text, result.Omitted
	if err == nil && blank(resp.Output) {
		err = ErrEmpty
		if words := term.Line(fs.response.said.String()); words != "" {
			err = fmt.Errorf("%w (%s: %s)", err, fs.response.name, words)
		}
	}
	return resp, err
}

// endDisplay ends that filter. That it failed is told where it displays; its error is
// that of the caller's writer.
func (fs *filters) endDisplay() error {
	f := fs.display
	if f == nil {
		return nil
	}
	err := f.wait()
	if _, ok := errors.AsType[*process.OutputError](err); ok {
		return err
	}
	if err != nil && (f.err != nil || f.hung || f.said.Len() > 0) {
		fmt.Fprintf(fs.to, "ralph: %s\n", err)
	}
	return nil
}

// endResponse ends that filter. That it skipped lines is no error.
func (fs *filters) endResponse() error {
	f := fs.response
	err := f.wait()
	switch {
	case errors.Is(f.err, process.ErrStart):
		return Permanent(err)
	case f.err == nil && !f.hung && fs.skipped > 0 && f.exit.Code == fs.skipped:
		return nil
	}
	return err
}

// A filter is a command that a stream is piped through.
type filter struct {
	name     string
	args     []string
	out      io.Writer
	patience time.Duration

	ctx   context.Context // the run's; a filter outlives it for the agent's last words
	stdin *os.File
	mu    sync.Mutex // guards stdin's deadline
	stop  context.CancelFunc
	done  chan struct{}
	exit  process.Exit
	err   error
	said  bytes.Buffer // the beginning of its standard error
	gone  bool         // it reads no more
	hung  bool
}

// start starts the command on a pipe whose writes can be given a deadline. Its context
// is not the run's: when the run is ended, the filter still has the agent's last words
// to print, and gets lastPatience for that.
func (f *filter) start(ctx context.Context, dir string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	f.ctx, f.stdin, f.done = ctx, w, make(chan struct{})
	ctx, f.stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(f.done)
		f.exit, f.err = process.Run(ctx, process.Cmd{
			Args: f.args, Dir: dir, StdinFile: r, Grace: lastPatience,
			Stdout: f.out, Stderr: &atMost{to: &f.said, left: 4 << 10},
		})
	}()
	return nil
}

// write never fails: a filter that has gone must not stop the agent, and one that is
// nil gets nothing. A small piece at a time, so that a slow one is not taken for one that hangs.
func (f *filter) write(p []byte) {
	if f == nil {
		return
	}
	defer context.AfterFunc(f.ctx, f.extend)()
	for piece := range slices.Chunk(p, 4<<10) {
		if f.gone {
			break
		}
		f.extend()
		if _, err := f.stdin.Write(piece); err != nil {
			f.gone, f.hung = true, errors.Is(err, os.ErrDeadlineExceeded)
		}
	}
	if f.hung {
		f.stop()
	}
}

// extend puts the deadline of the next write off. It is also called when the run is to
// end, from another goroutine, to shorten the patience of a write that waits.
func (f *filter) extend() {
	f.mu.Lock()
	defer f.mu.Unlock()
	patience := f.patience
	if f.ctx.Err() != nil {
		patience = min(patience, lastPatience)
	}
	f.stdin.SetWriteDeadline(time.Now().Add(patience))
}

// wait ends the filter's input, and the filter if it does not end itself. None of its
// processes is left then. It waits for the process itself and not for its output alone:
// a child that holds the output open is ended with it.
func (f *filter) wait() error {
	f.stdin.Close()
	late := time.NewTimer(f.patience)
	defer late.Stop()
	defer context.AfterFunc(f.ctx, func() { late.Reset(min(f.patience, lastPatience)) })()
	select {
	case <-f.done:
	case <-late.C:
		f.hung = true
	}
	f.stop()
	<-f.done
	switch {
	case f.hung:
		return fmt.Errorf("%s: it hung, and was ended", f.name)
	case f.err != nil:
		return fmt.Errorf("%s: %w", f.name, f.err)
	case f.exit.Code != 0:
		return fmt.Errorf("%s: %s: %s", f.name, f.exit, term.Line(f.said.String()))
	}
	return nil
}

// atMost passes on the first bytes only, and takes the rest.
type atMost struct {
	to   io.Writer
	left int
}

func (a *atMost) Write(p []byte) (int, error) {
	n := min(len(p), a.left)
	a.left -= n
	a.to.Write(p[:n])
	return len(p), nil
}
