package ralph

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/ralph-loop/ralph/internal/process"
)

// StartApart starts a program that outlives this one and its terminal, as a server in
// the background does. It blocks until the program closes its standard output, or has
// written 64 KiB to it, and returns what was written: where it can be reached, say.
// There is no time-out.
//
// If the program writes nothing to its standard output, StartApart waits for its end.
// The error is then what the program has written to standard error, or else why it
// ended. The fields Stdout, Stderr and SysProcAttr of cmd must not be set. After a
// success the caller may call cmd.Wait, and need not.
func StartApart(cmd *exec.Cmd) (said string, err error) {
	stderr := &firstBytes{}
	cmd.Stderr, cmd.SysProcAttr = stderr, process.Apart()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", fmt.Errorf("ralph: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(out, maxFirst))
	if err == nil && len(text) > 0 {
		return string(text), nil
	}
	err = errors.Join(err, cmd.Wait())
	if why := strings.TrimSpace(string(stderr.text)); why != "" {
		return "", errors.New(why)
	}
	return "", cmp.Or(err, fmt.Errorf("ralph: %s has said nothing", cmd.Args[0]))
}

// maxFirst is in bytes: a program says where it can be reached, or why it cannot start.
const maxFirst = 64 << 10

// firstBytes keeps the first of what is written. A plain buffer would grow for as long
// as the program lives.
type firstBytes struct{ text []byte }

func (f *firstBytes) Write(p []byte) (int, error) {
	f.text = append(f.text, p[:min(len(p), maxFirst-len(f.text))]...)
	return len(p), nil
}
