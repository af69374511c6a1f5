//go:build unix

package ralph_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ralph-loop/ralph"
)

// The first Ctrl-C asks the agent to end, and gives it the time to tell what it has used.
// The second one kills it.
func ExampleHurry() {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals, now := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, os.Interrupt)
	defer signal.Stop(signals)
	go func() {
		<-signals
		cancel(errors.New("interrupted"))
		<-signals
		close(now)
	}()

	// An agent that does not end when it is asked to. Without Hurry it would be killed
	// after an hour.
	agent := &ralph.Command{Args: []string{"sh", "-c", "trap '' INT TERM; echo begun; while :; do sleep 1; done"}, Grace: time.Hour}
	impatient := func() { signals <- os.Interrupt; signals <- os.Interrupt } // the user, once something is seen
	_, err := agent.Run(ralph.Hurry(ctx, now), ralph.Request{Prompt: "Do it.", Display: onFirst(impatient)})
	fmt.Println(err != nil, context.Cause(ctx))
	// Output: true interrupted
}

// onFirst is a writer that calls f at the first write.
func onFirst(f func()) *first { return &first{f: f} }

type first struct{ f func() }

func (w *first) Write(p []byte) (int, error) {
	if w.f != nil {
		w.f()
		w.f = nil
	}
	return len(p), nil
}

// A program puts its server into the background and tells its user where it is. The
// server says so by its standard output, which it then closes.
func ExampleStartApart() {
	server := exec.Command("sh", "-c", `echo "listening on 127.0.0.1:7777"; exec >&-; read -r line`)
	stop, err := server.StdinPipe()
	if err != nil {
		fmt.Println(err)
		return
	}
	said, err := ralph.StartApart(server)
	fmt.Printf("%q %v\n", said, err)
	stop.Close() // this server ends with its input

	_, err = ralph.StartApart(exec.Command("sh", "-c", `echo "port 7777 is taken" >&2; exit 1`))
	fmt.Println(err)
	// Output:
	// "listening on 127.0.0.1:7777\n" <nil>
	// port 7777 is taken
}

// An agent can put a pipe in the place of a file. To open that would wait for ever.
func ExampleOpenFile() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "prompt.md")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		fmt.Println(err)
		return
	}
	_, err = ralph.OpenFile(path)
	fmt.Println(strings.ReplaceAll(fmt.Sprint(err), dir, "DIR"))
	// Output: ralph: DIR/prompt.md is not a regular file but a named pipe: remove it, or give the path of a file
}
