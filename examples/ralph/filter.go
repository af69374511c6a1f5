package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/stream"
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
// standard error among them, are skipped and do not end it.
func jqFilter(expression string) string { return "fromjson? | (" + expression + ")" }

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
		filters = append(filters, &filter{name: "AGENT_RESPONSE_FILTER", args: []string{"jq", "-Rr", "--unbuffered", jqFilter(r.response)}, out: answer})
	}
	if r.display != "" && r.to != nil {
		filters = append(filters, &filter{name: "AGENT_DISPLAY_FILTER", args: []string{"/bin/sh", "-c", r.display}, out: stream.Strip(r.to), careless: true})
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
		if ferr := f.wait(); ferr != nil && err == nil && !f.careless {
			err = ferr
		}
	}
	if answer != nil {
		result := answer.Result()
		resp.Output, resp.Omitted = result.Text, result.Omitted
		if err == nil && strings.TrimSpace(resp.Output) == "" {
			err = ralph.ErrEmpty
		}
	}
	return resp, err
}

// A filter is a command that a stream is piped through.
type filter struct {
	name     string
	args     []string
	out      io.Writer
	careless bool // what it fails at is not the run's failure

	cmd   *exec.Cmd
	stdin io.WriteCloser
	tail  strings.Builder
	gone  bool
}

func (f *filter) start(ctx context.Context, dir string) error {
	f.cmd = exec.CommandContext(ctx, f.args[0], f.args[1:]...)
	f.cmd.Dir, f.cmd.WaitDelay = dir, 2*time.Second
	f.cmd.Stdout, f.cmd.Stderr = f.out, &limited{to: &f.tail, left: 4 << 10}
	var err error
	if f.stdin, err = f.cmd.StdinPipe(); err == nil {
		err = f.cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	return nil
}

// Write never fails: a filter that has gone must not stop the agent.
func (f *filter) Write(p []byte) (int, error) {
	if !f.gone {
		_, err := f.stdin.Write(p)
		f.gone = err != nil
	}
	return len(p), nil
}

func (f *filter) wait() error {
	f.stdin.Close()
	if err := f.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w: %s", f.name, err, clean(f.tail.String()))
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
