package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/process"
	"github.com/ralph-loop/ralph/internal/stream"
	"github.com/ralph-loop/ralph/internal/term"
)

// A filtered agent's stream goes through commands of the user's (S3): response,
// a jq expression, makes the answer of it, and display, a shell line, what is
// shown.
type filtered struct {
	*ralph.Command
	response, display string
	to                io.Writer // what display prints
}

// jqFilter applies an expression to each line that is JSON; others, notices and
// standard error among them, are skipped and do not end it. The brackets keep the
// question mark, in jq 1.6, from hiding the expression's own errors.
func jqFilter(expression string) string { return "[fromjson?][] | (" + expression + ")" }

// Run runs the agent with its stream going to the filters as it comes.
func (r *filtered) Run(ctx context.Context, req ralph.Request) (ralph.Response, error) {
	var sinks []io.Writer
	if req.Raw != nil {
		sinks = append(sinks, req.Raw)
	}
	var answer *stream.Decoder
	var filters []*filter
	if r.response != "" {
		var err error
		if answer, err = stream.New("text", stream.Options{Echo: req.Prompt}); err != nil {
			return ralph.Response{}, err
		}
		filters = append(filters, &filter{name: "AGENT_RESPONSE_FILTER", args: []string{"jq", "-Rr", "--unbuffered", jqFilter(r.response)}, out: answer, patience: responsePatience})
	}
	if r.display != "" && r.to != nil {
		filters = append(filters, &filter{name: "AGENT_DISPLAY_FILTER", args: []string{"/bin/sh", "-c", r.display}, out: term.Strip(r.to), careless: true, patience: displayPatience})
	}
	for i, f := range filters {
		if err := f.start(ctx, req.Dir); err != nil {
			for _, g := range filters[:i] {
				g.wait()
			}
			return ralph.Response{}, ralph.Permanent(err)
		}
		sinks = append(sinks, f)
	}
	req.Raw = io.MultiWriter(sinks...)
	resp, err := r.Command.Run(ctx, req)
	for _, f := range filters {
		ferr := f.wait()
		switch {
		case ferr == nil:
		case f.careless:
			if f.hung || f.tail.Len() > 0 {
				fmt.Fprintf(r.to, "ralph: %s\n", clean(ferr.Error()))
			}
		case err == nil && f.exit.Code != jqLineFailed:
			err = ferr
		}
	}
	if answer != nil {
		result := answer.Result()
		resp.Output, resp.Omitted = result.Text, result.Omitted
		if err == nil && strings.TrimSpace(resp.Output) == "" {
			err = ralph.ErrEmpty
			if words := clean(filters[0].tail.String()); words != "" {
				err = fmt.Errorf("%w (AGENT_RESPONSE_FILTER: %s)", err, words)
			}
		}
	}
	return resp, err
}

// jqLineFailed is jq's exit code when the expression could not be applied to some
// line, a number among objects for one. It says something only if there is no
// answer.
const jqLineFailed = 5

// How long a filter may not read what it is given, and may go on after the end
// of it. One that hangs must not hold the agent up, and one that only shows
// things least of all.
const (
	responsePatience = time.Minute
	displayPatience  = 5 * time.Second
	lastWords        = time.Second // once the run is to end
)

// A filter is a command that a stream is piped through.
type filter struct {
	name     string
	args     []string
	out      io.Writer
	careless bool // what it fails at is not the run's failure
	patience time.Duration

	ctx   context.Context // the run's; a filter outlives it for the agent's last words
	stdin *os.File
	mu    sync.Mutex // guards stdin's deadline
	stop  context.CancelFunc
	done  chan struct{}
	exit  process.Exit
	err   error
	tail  strings.Builder
	gone  bool // it reads no more
	hung  bool
}

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
			Args: f.args, Dir: dir, StdinFile: r, Grace: lastWords,
			Stdout: f.out, Stderr: &limited{to: &f.tail, left: 4 << 10},
		})
	}()
	return nil
}

// Write never fails: a filter that has gone must not stop the agent.
func (f *filter) Write(p []byte) (int, error) {
	defer context.AfterFunc(f.ctx, f.extend)()
	for piece := range slices.Chunk(p, 4<<10) { // a slow one is not one that hangs
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
	return len(p), nil
}

func (f *filter) extend() {
	f.mu.Lock()
	defer f.mu.Unlock()
	patience := f.patience
	if f.ctx.Err() != nil {
		patience = min(patience, lastWords)
	}
	f.stdin.SetWriteDeadline(time.Now().Add(patience))
}

// wait ends the filter's input, and the filter if it does not end itself. None of
// its processes is left then.
func (f *filter) wait() error {
	f.stdin.Close()
	late := time.NewTimer(f.patience)
	defer context.AfterFunc(f.ctx, func() { late.Reset(min(f.patience, lastWords)) })()
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
		return fmt.Errorf("%s: %s: %s", f.name, f.exit, clean(f.tail.String()))
	}
	return nil
}

// limited passes on the first bytes only.
type limited struct {
	to   io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	l.to.Write(p[:n])
	return len(p), nil
}
