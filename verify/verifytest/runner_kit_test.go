package verifytest_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify/verifytest"
)

// TestLeftProcesses: a program that a runner leaves behind is found by where it works,
// and elsewhere by the request's mark.
func TestLeftProcesses(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		t.Skip("only /proc tells what is left running")
	}
	for _, tt := range []struct{ dir, mark string }{{"", ""}, {"/", "RALPH_RUN_"}} {
		left := make(chan *exec.Cmd, 1)
		err := verifytest.TestRunner(when("begin", with(func(_ context.Context, req ralph.Request, _ *ralph.Response, _ *error) {
			c := exec.Command("sleep", "300")
			c.Dir = cmp.Or(tt.dir, req.Dir)
			if tt.mark != "" {
				id, _, _ := strings.Cut(req.Mark, "-")
				c.Env = []string{tt.mark + id + "=1"}
			}
			if err := c.Start(); err != nil {
				t.Error(err)
			}
			left <- c
		})), runs())
		if brokenRules(err) != "processes" || !strings.Contains(err.Error(), "the long run has left running: sleep 300") {
			t.Error(err)
		}
		c := <-left
		c.Process.Kill() // if it is not dead by now
		c.Wait()
	}
}

// TestRunnerTraits: what a runner says of itself takes a rule away.
func TestRunnerTraits(t *testing.T) {
	t.Parallel()
	free := with(func(_ context.Context, _ ralph.Request, r *ralph.Response, _ *error) { r.Usage.CostUSD = new(0.0) })
	silent := func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
		req.Live = nil
		return free(ctx, req)
	}
	var busy atomic.Bool
	alone := with(func(_ context.Context, _ ralph.Request, _ *ralph.Response, err *error) {
		if busy.Swap(true) {
			*err = errors.New("one at a time")
			return
		}
		<-time.After(time.Millisecond)
		busy.Store(false)
	})
	for _, tt := range []struct {
		name string
		r    runnerAsWritten
		set  func(*verifytest.Runs)
	}{
		{"usage", silent, func(r *verifytest.Runs) { r.Free = true }},
		{"concurrent", alone, func(r *verifytest.Runs) { r.Alone = true }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := runs()
				if got := brokenRules(verifytest.TestRunner(tt.r, all)); got != tt.name {
					t.Errorf("broken are %q", got)
				}
				tt.set(&all)
				if err := verifytest.TestRunner(tt.r, all); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestRunnerMisuse(t *testing.T) {
	t.Parallel()
	for want, call := range map[string]func(*verifytest.Runs) ralph.Runner{
		"runner: it is nil":                 func(*verifytest.Runs) ralph.Runner { return ralph.RunnerFunc(nil) },
		"runs: one writes pump in a Dir of": func(r *verifytest.Runs) ralph.Runner { r.Good.Request.Dir = "."; return runnerAsWritten(soundRunner) },
		`runs: one of Faults ends in "budget"`: func(r *verifytest.Runs) ralph.Runner {
			r.Faults[0].Fault = ralph.FaultBudget
			return runnerAsWritten(soundRunner)
		},
		"runs: Good and Other must differ": func(r *verifytest.Runs) ralph.Runner { r.Other.Says = r.Good.Says; return runnerAsWritten(soundRunner) },
	} {
		all := runs()
		if err := verifytest.TestRunner(call(&all), all); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := verifytest.TestRunner(nil, runs()); err == nil || err.Error() != "runner: it is nil" {
		t.Error(err)
	}
}

// TestEveryReferenceInARequest: a runner cannot write to its caller's request, for
// there is nothing in it to write through but the writers. This fails when a
// request gets such a field: then TestRunner has to watch it.
func TestEveryReferenceInARequest(t *testing.T) {
	t.Parallel()
	var fields []string
	for f := range reflect.TypeFor[ralph.Request]().Fields() {
		if k := f.Type.Kind(); k != reflect.String && k != reflect.Int {
			fields = append(fields, f.Name)
		}
	}
	slices.Sort(fields)
	if diff := gocmp.Diff([]string{"Display", "Live", "Raw"}, fields); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
