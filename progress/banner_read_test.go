package progress_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// written is a session log of three attempts, in which the agent prints text.
func written(t *testing.T, text string, ended bool) string {
	t.Helper()
	var b bytes.Buffer
	log := &progress.Banner{W: &b, Mode: "build"}
	begin := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for i, it := range []ralph.Iteration{
		{Number: 1, Attempt: 1, Outcome: ralph.OutcomeFailure, Fault: "error", Error: "exit code 1"},
		{Number: 1, Attempt: 2, Outcome: ralph.OutcomeSuccess, Usage: ralph.Usage{Requests: 2, CostUSD: new(0.37)}, Model: "large"},
		{Number: 2, Attempt: 1, Outcome: ralph.OutcomeSuccess, Claimed: true, Verdict: ralph.Pass()},
	} {
		it.Start = begin.Add(time.Duration(i) * time.Hour)
		it.End, it.Elapsed = it.Start.Add(90*time.Second), 90*time.Second
		if err := log.Append(t.Context(), ralph.Event{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: it.Number, Start: it.Start}}); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(log, text)
		if err := log.Append(t.Context(), ralph.Event{Kind: ralph.EventIterationEnded, Iteration: it}); err != nil {
			t.Fatal(err)
		}
	}
	if ended {
		if err := log.Close(begin.Add(3*time.Hour), "verified\nExit Code: 0"); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// TestReadBanner: what a Banner wrote is read, whatever the agent has printed in between;
// what was cut off by a crash is read as far as it goes.
func TestReadBanner(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	at := func(i int) (start, end time.Time) {
		start = begin.Add(time.Duration(i) * time.Hour)
		return start, start.Add(90 * time.Second)
	}
	all := make([]progress.SessionIteration, 3)
	for i, it := range []progress.SessionIteration{
		{Number: 1, Status: "failure (error: exit code 1)"},
		{Number: 1, Status: "success", Model: "large", Cost: "$0.3700"},
		{Number: 2, Status: "success (claimed, verified)"},
	} {
		it.Mode, it.Duration = "build", 90*time.Second
		it.Start, it.End = at(i)
		all[i] = it
	}
	double, single := strings.Repeat("=", 80)+"\n", strings.Repeat("-", 80)+"\n"
	for name, text := range map[string]string{
		"nothing": "", "a line": "Done.\n", "no line end": "Done.",
		"rules":            double + single + double,
		"a rule, a title":  double + "Results\n" + double + "Mode: mine\n",
		"fields":           "Status: fine\nExit Reason: verified\n",
		"a header":         double + "ITERATION 7\n" + double + "no fields\n" + single,
		"another's footer": single + "ITERATION 9 COMPLETE\nStatus: success (claimed, verified)\n" + double,
		"its own footer":   single + "ITERATION 1 COMPLETE\nStatus: success (claimed, verified)\n" + double,
	} {
		got, err := progress.ReadBanner(strings.NewReader(written(t, text, true)))
		if diff := cmp.Diff(progress.SessionLog{Iterations: all, Result: "verified"}, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	cut := written(t, "Done.\n", false)
	cut = cut[:strings.LastIndex(cut, "ITERATION 2 COMPLETE")]
	last := progress.SessionIteration{Number: 2, Mode: "build", Start: all[2].Start}
	got, err := progress.ReadBanner(strings.NewReader(cut))
	if diff := cmp.Diff(progress.SessionLog{Iterations: append(all[:2:2], last)}, got); err != nil || diff != "" {
		t.Errorf("cut off: %v\n%s", err, diff)
	}
	for _, foreign := range []string{"", "ITERATION 1\n", double + "ITERATION x\n" + double + "Start Time: 2026-05-04T12:00:00Z\n" + single, `{"kind":"loop_started"}`} {
		if got, err := progress.ReadBanner(strings.NewReader(foreign)); err != nil || got.Iterations != nil || got.Result != "" {
			t.Errorf("%q: %+v, %v", foreign, got, err)
		}
	}
}
