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

// StartApart starts a program that goes on when this one, and its terminal, have gone.
// It returns what the program says first: all until it closes its standard output, at
// most 64 KiB. If that is nothing, the error is what it said on standard error, or why
// it ended. It blocks until then, however long that takes. The fields Stdout, Stderr
// and SysProcAttr of cmd must not be set.
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
