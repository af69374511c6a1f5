package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// line makes text that nobody vouches for safe to show on one line.
func line(text string) string { return progress.PrintableLine(text) }

// columns prints a table. Cells are made safe to show; an empty one is a dash.
func columns(out io.Writer, rows [][]string) error {
	text := strings.Join(new(progress.Table).Lines(rows...), "\n")
	_, err := fmt.Fprintln(out, progress.PrintableWrap(text, "   ", columnsOf(out)))
	return err
}

// columnsOf is how wide a terminal is at the moment; 0 = it is none.
func columnsOf(out io.Writer) (n int) {
	if o, ok := out.(*outlet); ok {
		if d := progress.DisplayOn(o.Writer, os.Getenv); d.Terminal {
			n, _ = d.Size()
		}
	}
	return n
}

// short cuts text for a table.
func short(text string, limit int) string { return progress.PrintableCut(text, limit) }

// cost is what was used in money, for a table: "" if nothing was told of it.
func cost(u ralph.Usage) string {
	if u == (ralph.Usage{}) {
		return ""
	}
	return u.Cost()
}

// measured is what a check measured, "" = nothing.
func measured(c ralph.Check) (exit, took string) {
	if c.ExitCode != nil {
		exit = fmt.Sprint(*c.ExitCode)
	}
	if c.Duration > 0 {
		took = c.Duration.Round(time.Millisecond).String()
	}
	return exit, took
}

// plural counts things; their plural is given where it is more than an s.
func plural(n int, what string, many ...string) string {
	switch {
	case n == 1:
		return "1 " + what
	case len(many) > 0:
		return fmt.Sprintf("%d %s", n, many[0])
	}
	return fmt.Sprintf("%d %ss", n, what)
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
