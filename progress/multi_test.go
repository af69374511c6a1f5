package progress_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

func TestMulti(t *testing.T) {
	t.Parallel()
	errA, errC := errors.New("a"), errors.New("c")
	var got []string
	log := func(name string, err error) ralph.ProgressLog {
		return ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error {
			got = append(got, name+" "+ev.Text)
			return err
		})
	}
	logs := []ralph.ProgressLog{log("a", errA), nil, log("b", nil), log("c", errC)}
	m := progress.Multi(logs...)
	clear(logs) // it has its own list
	err := m.Append(t.Context(), ralph.Event{Text: "1"})
	if !errors.Is(err, errA) || !errors.Is(err, errC) || err.Error() != "a\nc" {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"a 1", "b 1", "c 1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := progress.Multi(nil, log("d", nil)).Append(t.Context(), ralph.Event{}); err != nil {
		t.Error(err)
	}
	if err := progress.Multi().Append(t.Context(), ralph.Event{}); err != nil {
		t.Error(err)
	}
}

// TestMultiPanic: a log that panics keeps nothing from the ones after it.
func TestMultiPanic(t *testing.T) {
	t.Parallel()
	var after bytes.Buffer
	bad := ralph.ProgressLogFunc(func(context.Context, ralph.Event) error { panic("boom") })
	err := progress.Multi(bad, &progress.JSONL{W: &after}).Append(t.Context(), ralph.Event{Kind: ralph.EventPaused})
	if err == nil || !strings.HasPrefix(err.Error(), "progress: the log panicked: boom\n") || !strings.Contains(err.Error(), "TestMultiPanic") {
		t.Error(err)
	}
	if !strings.Contains(after.String(), `"kind":"paused"`) {
		t.Errorf("the log after it got %q", after.String())
	}
}
