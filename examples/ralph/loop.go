package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// verifier is what --verify asks for, and how the agent is told of it.
func (f *shared) verifier() (ralph.Verifier, string) {
	if f.verify == "" {
		return verify.String{}, ""
	}
	return verify.External{Shell: f.verify}, "the command `" + f.verify + "` must succeed"
}

// drive runs a loop, shows it on stderr and the result on stdout.
func drive(e env, l *ralph.Local, s ralph.State, log ralph.ProgressLog) (ralph.State, error) {
	if l.Output == nil {
		l.Output = func(ralph.Request) (io.Writer, io.Writer) { return e.stderr, nil }
	}
	l.Log = ralph.ProgressLogFunc(func(ctx context.Context, ev ralph.Event) error {
		show(e.stderr, s.Task, ev)
		if log == nil {
			return nil
		}
		return log.Append(ctx, ev)
	})
	s, err := l.Run(e.ctx, s)
	report(e.stdout, s, e.ctx.Err() != nil)
	return s, err
}

// A printer is the agent of --dry-run: it prints what the real one would be told
// and how it would be started, and ends the run.
type printer struct {
	agent ralph.Runner
	out   io.Writer
	done  bool
}

func (p *printer) Run(_ context.Context, req ralph.Request) (ralph.Response, error) {
	text := req.Prompt
	if cmd, ok := p.agent.(interface{ CommandLine() ([]string, error) }); ok {
		args, err := cmd.CommandLine()
		if err != nil {
			return ralph.Response{}, ralph.Permanent(err)
		}
		text = strings.TrimRight(text, "\n") + "\n\n$ " + strings.Join(args, " ")
	}
	fmt.Fprintln(p.out, text)
	p.done = true
	return ralph.Response{}, ralph.Permanent(errors.New("this is a dry run"))
}

// end is how the command ends: the run itself fails in any case.
func (p *printer) end(err error) error {
	if p.done {
		return nil
	}
	return err
}
