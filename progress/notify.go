package progress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ralph-loop/ralph/internal/process"
)

// A Notifier is a program that is told something, such as the end of a run, in its
// environment. No shell is involved. It may be used concurrently.
type Notifier struct {
	// Args are the program and its arguments, required.
	Args []string
	// Timeout is how long it may take: who waits for the end of a run shall not wait for it
	// for ever. 0 = 30 seconds.
	Timeout time.Duration
	// Output gets what it prints, maybe from two goroutines at once. Nil = nobody does.
	Output io.Writer
}

// Tell starts the program with that environment, each as "NAME=value", and waits until it
// has ended. None of its processes is left running, also if it takes too long, or ctx is
// done. It is an error if the program cannot be started, takes too long or ends with
// another exit code than 0.
func (n Notifier) Tell(ctx context.Context, env []string) error {
	limit := cmp.Or(n.Timeout, 30*time.Second)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("took longer than %s, and was ended", lasted(limit)))
	defer cancel()
	exit, err := process.Run(ctx, process.Cmd{Args: n.Args, Env: env, Stdout: n.Output, Stderr: n.Output, Grace: time.Second})
	if err == nil && (exit.Code != 0 || exit.Signal != "") {
		err = errors.New(exit.String())
	}
	return err
}
