package ralph_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite golden files")

// A step is a line of a transcript: an iteration, whose number and attempt are
// the expected ones unless it says otherwise, or a word from outside.
type step struct {
	ralph.Iteration
	Begin  bool
	Told   bool // of the attempt that runs: what it has used so far
	Reopen bool
	Finish bool
	Guide  string
	Learn  *ralph.Lesson
	Limit  *ralph.Limits
	Pause  *bool
	Cancel *string
}

func (st step) apply(s ralph.State) ralph.State {
	switch {
	case st.Begin:
		return s.Apply(ralph.Event{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: s.Iteration, Attempt: s.Attempt}})
	case st.Told:
		it := st.Iteration
		it.Number, it.Attempt = s.Iteration, s.Attempt
		return s.Apply(ralph.Event{Kind: ralph.EventRunning, Iteration: it})
	case st.Reopen:
		return s.Reopen()
	case st.Finish:
		return s.Finish()
	case st.Guide != "":
		return s.Guide(st.Guide)
	case st.Learn != nil:
		return s.Apply(st.Learn.Event(s))
	case st.Limit != nil:
		return s.Limit(*st.Limit)
	case st.Pause != nil:
		return s.Pause(*st.Pause)
	case st.Cancel != nil:
		return s.Cancel(*st.Cancel)
	}
	it := st.Iteration
	if it.Number == 0 {
		it.Number, it.Attempt = s.Iteration, s.Attempt
	}
	return s.Next(it)
}

// describe is a line that a person can review: where the loop stands, and what
// it remembers.
func describe(s ralph.State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d.%d", s.Iteration, s.Attempt)
	word := func(on bool, format string, args ...any) {
		if on {
			fmt.Fprintf(&b, " "+format, args...)
		}
	}
	word(s.Stop != "", "STOP %s", s.Stop)
	word(s.Detail != "", "(%s)", s.Detail)
	word(s.Running, "running")
	word(s.Paused, "paused")
	word(s.Retries > 0, "retries=%d", s.Retries)
	word(s.Failures > 0, "failures=%d", s.Failures)
	word(s.Stalled > 0, "stalled=%d", s.Stalled)
	word(s.RateLimits > 0, "rate_limits=%d", s.RateLimits)
	word(s.Wait > 0, "wait=%v", s.Wait.Round(time.Millisecond))
	word(s.Waited > 0, "waited=%v", s.Waited.Round(time.Millisecond))
	word(s.Elapsed > 0, "elapsed=%v", s.Elapsed.Round(time.Millisecond))
	word(s.Usage.CostUSD != nil, "cost=%s", cost(s.Usage.CostUSD))
	word(s.Settled != nil, "settled=%s", cost(settled(s).CostUSD))
	word(s.Ran > 0, "ran=%v", s.Ran)
	word(s.Unpriced > 0, "unpriced=%d", s.Unpriced)
	word(s.Usage.InputTokens+s.Usage.OutputTokens > 0, "tokens=%d", s.Usage.InputTokens+s.Usage.OutputTokens)
	word(s.NearMiss != "", "near_miss=%s", s.NearMiss)
	word(s.Feedback != "", "feedback=%q", s.Feedback)
	word(len(s.Guidance) > 0, "guidance=%q", s.Guidance)
	word(s.Blocked > 0 && s.Stop == "", "blocked=%d", s.Blocked)
	word(s.Obstacle != "", "obstacle=%q", s.Obstacle)
	word(s.Repeated > 1, "repeated=%d", s.Repeated)
	word(len(s.Lessons) > 0, "lessons=%q", s.Lessons)
	word(s.Unseen != "", "unseen=%q", s.Unseen)
	word(s.Spent != nil && s.Stop == "", "spent=%s", cost(s.Spent))
	word(s.Late > 0, "late=%d", s.Late)
	word(len(s.Ended) > 0, "ended=%q", s.Ended)
	return b.String()
}

// settled is what was used before the attempt that runs.
func settled(s ralph.State) ralph.Usage {
	if s.Settled != nil {
		return *s.Settled
	}
	return s.Usage
}

func cost(c *float64) string {
	if c == nil {
		return "unknown"
	}
	return fmt.Sprintf("$%.2f", *c)
}

// TestNextTranscripts plays the stories in testdata/next. They are only added
// to: an engine that replays old histories must decide as it did then.
func TestNextTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/next/*.txtar")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d stories, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			part := func(name string) *txtar.File {
				for i := range archive.Files {
					if archive.Files[i].Name == name {
						return &archive.Files[i]
					}
				}
				archive.Files = append(archive.Files, txtar.File{Name: name})
				return &archive.Files[len(archive.Files)-1]
			}
			var task ralph.Task
			strictJSON(t, part("task").Data, &task)
			var states bytes.Buffer
			s := ralph.Start(task)
			fmt.Fprintln(&states, describe(s))
			for line := range strings.SplitSeq(strings.TrimSpace(string(part("steps").Data)), "\n") {
				var st step
				strictJSON(t, []byte(line), &st)
				s = st.apply(s)
				fmt.Fprintln(&states, describe(s))
			}
			want := part("states")
			if *update {
				want.Data = states.Bytes()
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(want.Data), states.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func strictJSON(t *testing.T, data []byte, to any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
}
