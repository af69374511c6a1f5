package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"

	"github.com/ralph-loop/ralph/internal/term/termtest"
)

// onTerminal is a program for scripts: "terminal COLUMNS COMMAND…" runs a command on a
// terminal, where its own input is typed, prints what was shown, and ends as the
// command does. testscript's ttyout may miss what a command wrote last.
func onTerminal() {
	fault := func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(125)
	}
	columns, err := strconv.Atoi(os.Args[1])
	if err != nil {
		fault(err)
	}
	typed, err := io.ReadAll(os.Stdin)
	if err != nil {
		fault(err)
	}
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	shown, err := termtest.OnTerminal(cmd, columns, 30, string(typed))
	fmt.Print(shown)
	if cmd.ProcessState == nil {
		fault(err)
	}
	os.Exit(cmd.ProcessState.ExitCode())
}
