package temporal_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/temporal"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// TestPipelineCancelled: all agents are ended, what they have used counts, and nothing
// more begins.
func TestPipelineCancelled(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cancel func(y *yard, c *course) error
	}{
		{"by a signal", func(y *yard, _ *course) error {
			return y.run.Client.SignalWorkflow(y.Context(), y.run.Name, "", temporal.SignalCancel, "no more")
		}},
		{"the workflow", func(y *yard, _ *course) error { return y.run.Client.CancelWorkflow(y.Context(), y.run.Name, "") }},
		{"by who waits", func(_ *yard, c *course) error { c.cancel(ralph.ErrCancelled); return nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			y := newYard(t, 3*time.Second, "A B C", `works; setsid sleep 301 >/dev/null 2>&1 </dev/null & log pid $$; log pid $!; log works $task; sleep 302`)
			y.worker("a")
			c := y.begin()
			for _, task := range []string{"A", "B"} {
				y.logged("works " + task)
				y.used(task+".coder", 100)
			}
			pids := y.pids(4)
			if err := tt.cancel(y, c); err != nil {
				t.Fatal(err)
			}
			if got := c.end(); got != "cancelled A=failed B=failed C=" || c.state.Used().InputTokens != 200 {
				t.Errorf("it ended %s (%s), used %+v: %v", got, c.state.Detail, c.state.Used(), c.err)
			}
			y.gone(pids)
			y.ran("A coder 1.1", "B coder 1.1")
			for id, status := range y.statuses() {
				if status == spec.StatusRunning {
					t.Errorf("in the file %s is %s", id, status)
				}
			}
		})
	}
}

// TestPipelineAttached: who does not wait any more leaves it running, and may come back;
// something else of the same name is refused.
func TestPipelineAttached(t *testing.T) {
	y := newYard(t, 10*time.Second, "A", `log works; until [ -e "$MARKS/go" ]; do sleep 0.1; done; echo 1 >one; claims`)
	y.worker("a")
	c := y.begin()
	y.logged("works")
	c.cancel(nil)
	if got := c.end(); got != " A=running" || !errors.Is(c.err, context.Canceled) {
		t.Errorf("it was left %s: %v", got, c.err)
	}
	was, err := os.ReadFile(y.file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, y.file, string(was)+"  - id: B\n    title: Do B\n")
	if c := y.begin(); !strings.Contains(c.end(), "A=") || c.err == nil || !strings.Contains(c.err.Error(), "another name") {
		t.Errorf("another one: %s: %v", standing(c.state), c.err)
	}
	write(t, y.file, string(was))
	c = y.begin()
	y.signal(temporal.SignalPause, true)
	y.stands("the pause", func(s pipeline.State) bool { return s.Paused })
	write(t, filepath.Join(y.log, "..", "go"), "")
	y.stands("the end of the coder", func(s pipeline.State) bool { return s.Stands[0].Verified == 1 })
	y.signal(temporal.SignalPause, false)
	c.verified()
	write(t, y.file, string(was)) // nobody was there when it ended: its source knows nothing of it
	y.begin().verified()
	if log := lines(y.log); !slices.Equal(y.wrote("agent "), []string{"A coder 1.1", "A reviewer 1.1"}) {
		t.Errorf("it ran %q", log)
	}
}

// TestPipelineServerKilled: the server is killed while agents work, and comes back: what
// they have made is verified and merged, once.
func TestPipelineServerKilled(t *testing.T) {
	t.Parallel()
	db, address := filepath.Join(t.TempDir(), "temporal.db"), free(t)
	first := serve(t, db, address)
	y := parkAt(t, address).yard("A B C:A,B", `log works $task; until [ -e "$MARKS/go" ]; do sleep 0.1; done; `+makes)
	y.worker("a")
	y.worker("b")
	c := y.begin()
	y.logged("works A")
	y.logged("works B")
	first.Process.Kill()
	first.Wait()
	write(t, filepath.Join(y.log, "..", "go"), "")
	serve(t, db, address)
	if c.end(); c.err != nil && c.state.Stop == "" { // the connection was lost: it is waited for again
		t.Log(c.err)
		c = y.begin()
	}
	c.verified()
	y.ran("A coder 1.1", "A reviewer 1.1", "B coder 1.1", "B reviewer 1.1", "C coder 1.1", "C reviewer 1.1")
	c.recorded("", "")
}

// TestPipelineCancelledMerge: a merge that is cancelled is waited for, and main is as it
// was.
func TestPipelineCancelledMerge(t *testing.T) {
	y := newYard(t, 3*time.Second, "A B", `touch $task; log works $task; until [ -e $MARKS/log ] && [ "$(grep -c works $MARKS/log)" = 2 ]; do sleep 0.1; done; touch $task.part; claims`)
	y.tasks.Stages = []string{"coder"}
	y.Check = `[ "$(ls *.part | wc -l)" = 1 ] || { echo pid $$ >>$LOG; echo verifying >>$LOG; sleep 303; }`
	y.worker("a")
	c := y.begin()
	y.logged("verifying")
	pids := y.pids(1)
	if err := y.run.Client.CancelWorkflow(t.Context(), y.run.Name, ""); err != nil {
		t.Fatal(err)
	}
	if got := c.end(); got != "cancelled A=done B=unmerged" && got != "cancelled A=unmerged B=done" {
		t.Errorf("it ended %s (%s): %v", got, c.state.Detail, c.err)
	}
	if y.lives(pids[0]) {
		t.Error("the merge is still being verified")
	}
	c.merged()
	c.recorded("", "")
}
