package progresstest_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/progress/progresstest"
)

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// A log that people read cannot be read back; it may still be shared, and has to
// say so when it fails.
func ExampleTestLog() {
	open := func() (ralph.ProgressLog, error) { return &progress.Banner{W: &bytes.Buffer{}}, nil }
	failing := func() (ralph.ProgressLog, error) { return &progress.Banner{W: fullDisk{}}, nil }
	if err := progresstest.TestLog(open, progresstest.Traits{Shared: true, Failing: failing}); err != nil {
		fmt.Println(err) // in a test: t.Error(err)
	}
	// Output:
}

func TestBanner(t *testing.T) {
	t.Parallel()
	err := progresstest.TestLog(
		func() (ralph.ProgressLog, error) { return &progress.Banner{W: &bytes.Buffer{}, Mode: "build"}, nil },
		progresstest.Traits{Shared: true, Failing: func() (ralph.ProgressLog, error) { return &progress.Banner{W: fullDisk{}}, nil }},
	)
	if err != nil {
		t.Error(err)
	}
}
