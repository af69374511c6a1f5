package progress

import (
	"context"
	"errors"
	"slices"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/plugin"
)

// Multi returns a log that appends every event to all logs, one after the
// other. A log that fails keeps nothing from the ones after it: each gets every
// event, and the errors are joined; a panic is an error with its stack. Nil entries are
// skipped. It may be called concurrently if all of its logs may.
//
// The order is that of the arguments: put the log that a loop resumes from first, so that
// the others never tell of what is not on record. One after the other, and not all at
// once, also keeps their lines on a terminal in order.
func Multi(logs ...ralph.ProgressLog) ralph.ProgressLog {
	return multi(slices.DeleteFunc(slices.Clone(logs), func(l ralph.ProgressLog) bool { return l == nil }))
}

type multi []ralph.ProgressLog

func (m multi) Append(ctx context.Context, ev ralph.Event) error {
	var errs []error
	for _, l := range m {
		errs = append(errs, plugin.Call("progress: the log", func() error { return l.Append(ctx, ev) }))
	}
	return errors.Join(errs...)
}
