package progress

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/environ"
	"github.com/ralph-loop/ralph/internal/process"
)

const attemptEnd = ".attempt"

// HoldAttempt notes on this machine that this process makes an attempt with the given
// mark, see [ralph.NewMark], until Close is called or this process ends. It is for
// drivers whose record is on another machine: if this process is killed, the next one
// calls [EndAttempts], which finds what is left of the attempt. The error is a
// [*HeldError] if another process holds the mark.
//
// Marks are kept for this user and this machine in ralph/attempts in $XDG_STATE_HOME, or
// in ~/.local/state if that is not set: where no agent may write, for they say what is
// killed.
func HoldAttempt(mark string) (*Hold, error) {
	dir, err := attempts()
	if err == nil && !process.ValidMark(mark) {
		err = fmt.Errorf("progress: %q is no mark of an attempt: ralph.NewMark makes them", mark)
	}
	if err != nil {
		return nil, err
	}
	if err := dir.Make(); err != nil {
		return nil, err
	}
	return hold(filepath.Join(dir.Path, mark+attemptEnd), "the attempt "+mark, "an attempt")
}

// EndAttempts ends what is left on this machine of attempts whose process has gone
// without closing its [HoldAttempt], and returns the command lines of what it ended.
// Attempts of processes that live are left alone. A driver calls it when it starts.
// Where a system does not tell what is left of an attempt nothing is ended, which is no
// error. An attempt whose processes could not be ended stays noted, for the next call.
func EndAttempts(ctx context.Context) (ended []string, err error) {
	dir, err := attempts()
	if err != nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(dir.Path, "*"+attemptEnd))
	for _, name := range names {
		if ctx.Err() != nil {
			return ended, context.Cause(ctx)
		}
		h, held := tryHold(name)
		if held != nil {
			continue // its process lives, or another one looks after it now
		}
		lines, failed := ralph.EndLeft(strings.TrimSuffix(filepath.Base(name), attemptEnd))
		ended = append(ended, lines...)
		if failed != nil && !errors.Is(failed, errors.ErrUnsupported) {
			err = errors.Join(err, failed, h.lock.Close()) // it stays written down
			continue
		}
		err = errors.Join(err, h.Close())
	}
	return ended, err
}

// attempts is the folder of marks. It is the same for all workspaces, since a driver
// that starts again may be given work of another one.
func attempts() (*Dir, error) {
	home, err := environ.StateHome()
	if err != nil {
		return nil, fmt.Errorf("progress: no folder for marks: %w", err)
	}
	return &Dir{Path: filepath.Join(home, "ralph", "attempts")}, nil
}
