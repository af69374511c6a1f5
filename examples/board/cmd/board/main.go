// Command board shows what loops do on a terminal, and lets a person steer them. It reads
// the folder in which they are on record, so it watches those of other processes, of this
// user on this machine, and ends none of them when it ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	tea "charm.land/bubbletea/v2"

	"github.com/ralph-loop/ralph/examples/board"
	"github.com/ralph-loop/ralph/progress"
)

func main() {
	// A terminal that is closed ends a demo, too, whose folder is then removed.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGHUP, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr, os.Getenv)
	stop()
	os.Exit(status)
}

const usage = `board shows the loops of a workspace, and lets you steer them.

usage: board [flags] [WORKSPACE]

WORKSPACE is the folder that the loops work in; the usual one is the git work tree that
the current folder is in. 'board --demo' shows a pipeline that it makes up.

`

// run shows the board until the user has seen enough. It returns the exit status: 2 = it
// was called in a wrong way, 1 = something failed.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, getenv func(string) string) int {
	flags := flag.NewFlagSet("board", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { io.WriteString(stderr, usage); flags.PrintDefaults() }
	state := flags.String("state", "", "the `FOLDER` with the records, as in 'ralph run --state'")
	showDemo := flags.Bool("demo", false, "show a pipeline of scripted agents, in a folder that is removed in the end")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil || flags.NArg() > 1 || *showDemo && (*state != "" || flags.NArg() > 0) {
		if err == nil {
			fmt.Fprintln(stderr, "board: it takes one WORKSPACE or --demo; board -h tells more")
		}
		return 2
	}
	if term := getenv("TERM"); term == "dumb" || !progress.DisplayOn(stdout, nil).Terminal {
		fmt.Fprintln(stderr, "board: it needs a terminal to draw on; 'ralph status --watch' prints lines")
		return 2
	}
	dir, end := &progress.Dir{Path: *state}, func() error { return nil }
	var err error
	switch {
	case *showDemo:
		dir, end, err = demo(ctx)
	case *state == "":
		dir, err = board.Records(flags.Arg(0))
	}
	if err == nil {
		dir.Redactor = progress.Redactor{Secrets: progress.SecretsIn(os.Environ())}
		// Signals end ctx, and that is as if the user quits. Bubble Tea's own handler of the
		// same ones may wait for ever for a program that has ended, and a program that its
		// context ends closes the terminal while it is still read.
		program := tea.NewProgram(newModel(ctx, dir), tea.WithOutput(stdout), tea.WithoutSignalHandler())
		release := context.AfterFunc(ctx, program.Quit)
		_, err = program.Run()
		release()
		err = errors.Join(err, dir.Close(), end())
	}
	if err != nil {
		fmt.Fprintln(stderr, "board: "+progress.PrintableLine(err.Error()))
		return 1
	}
	return 0
}
