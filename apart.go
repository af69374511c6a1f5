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
	var stderr strings.Builder
	cmd.Stderr, cmd.SysProcAttr = &atMost{to: &stderr, left: maxFirst}, process.Apart()
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
	if why := strings.TrimSpace(stderr.String()); why != "" {
		return "", errors.New(why)
	}
	return "", cmp.Or(err, fmt.Errorf("ralph: %s has said nothing", cmd.Args[0]))
}

// maxFirst is in bytes: a program says where it can be reached, or why it cannot start.
const maxFirst = 64 << 10
