//go:build linux || darwin

package progress_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file/filetest"
	"github.com/ralph-loop/ralph/progress"
)

// A world is what outlives the processes that run a loop: its journal, and what they
// did before they died. The loop has five iterations:
//  1. a claim is rejected,
//  2. the agent fails, and is run again,
//  3. another process gives advice,
//  4. which is the last one, until another process raises the limit,
//  5. a claim is accepted.
type world struct {
	path   string
	disk   *filetest.Disk
	nosync bool
	last   string // the journal of the loop of that name that was there before

	began    map[[2]int]bool // attempts that an agent was run for
	ended    map[[2]int]bool // attempts whose end is on record: Append has returned from it
	closed   map[int]bool    // iterations that are not to be run again
	told     map[[2]int]ralph.Usage
	started  bool // the loop's start is on record
	guided   bool // the advice is on record
	raised   bool // so is the limit
	faulted  bool // so is the fault of iteration 2
	advised  bool // an agent has read the advice
	verified int
	wrong    []string
}

func newWorld(path string, disk *filetest.Disk) *world {
	return &world{path: path, disk: disk, began: map[[2]int]bool{}, ended: map[[2]int]bool{}, closed: map[int]bool{}, told: map[[2]int]ralph.Usage{}}
}

func (w *world) bad(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

// dir is the journals as a new process sees them.
func (w *world) dir() *progress.Dir {
	return (&progress.Dir{Path: w.path, NoSync: w.nosync}).On(w.disk)
}

var perRun, perCheck = usage(4, 0.25), usage(1, 0.125)

// earlier is what the loop of the same name did that was there before.
const earlier = "Do something else."

// begin runs it.
func (w *world) begin(t *testing.T) {
	d := &progress.Dir{Path: w.path}
	runLoop(t, create(t, d, ralph.Start(ralph.Task{ID: "T", Prompt: earlier})), answers(done))
	w.last = read(t, d.File("T"))
}

// Run is the agent.
func (w *world) Run(ctx context.Context, req ralph.Request) (ralph.Response, error) {
	if w.disk.Stopped() {
		return ralph.Response{}, context.Cause(ctx)
	}
	at := [2]int{req.Iteration, req.Attempt}
	switch {
	case w.closed[req.Iteration]:
		w.bad("iteration %d is on record as done, and runs again as attempt %d", req.Iteration, req.Attempt)
	case w.ended[at], w.began[at]:
		w.bad("attempt %v ran before", at)
	case req.Iteration > 1 && !w.closed[req.Iteration-1]:
		w.bad("attempt %v runs, and the iteration before is not on record", at)
	case req.Iteration > 4 && !w.raised:
		w.bad("attempt %v exceeds the limit", at)
	}
	w.began[at] = true
	w.advised = w.advised || strings.Contains(req.Prompt, advice)
	req.Live(usage(perRun.Requests/2, *perRun.CostUSD/2))
	err := w.steer(req.Iteration)
	if err != nil {
		err = w.steer(req.Iteration) // as a person would, who is told that the disk is full
	}
	if err != nil && !w.disk.Stopped() && !w.disk.Ever {
		w.bad("%v", err)
	}
	select {
	case <-ctx.Done():
		return ralph.Response{Usage: perRun}, context.Cause(ctx)
	case <-time.After(1200 * time.Millisecond):
	}
	resp := ralph.Response{Usage: perRun, Output: "I have worked."}
	switch {
	case req.Iteration == 1, req.Iteration == 5:
		resp.Output = done
	case req.Iteration == 2 && !w.faulted:
		return resp, errors.New("it broke")
	}
	return resp, nil
}

// steer is what another process does while an iteration runs.
func (w *world) steer(iteration int) error {
	var err error
	switch {
	case iteration == 3 && !w.guided:
		_, err = w.dir().Guide("T", advice)
		w.guided = err == nil
	case iteration == 4 && !w.raised:
		_, err = w.dir().Limit("T", ralph.Limits{Iterations: 6})
		w.raised = err == nil
	}
	return err
}

// Verify is the check.
func (w *world) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	v := ralph.Reject("a test fails")
	if c.Iteration == 5 {
		v = ralph.Pass()
	}
	v.Usage = perCheck
	w.verified++
	return v, nil
}

// recorded notes what Append has returned from, which no crash may undo.
func (w *world) recorded(ev ralph.Event) {
	at := [2]int{ev.Iteration.Number, ev.Iteration.Attempt}
	switch ev.Kind {
	case ralph.EventLoopStarted:
		w.started = true
	case ralph.EventRunning:
		w.told[at] = ev.Iteration.Usage
	case ralph.EventIterationEnded:
		w.ended[at] = true
		w.closed[at[0]] = w.closed[at[0]] || ev.Iteration.Fault == ""
		w.faulted = w.faulted || ev.Iteration.Fault == ralph.FaultError
	}
}

// look notes what a process finds when it opens the journal: more may be on record
// than Append has returned from.
func (w *world) look(j *progress.Journal) {
	closed := map[int]bool{}
	for i := 1; i < j.State.Iteration; i++ {
		closed[i] = true
	}
	for i := range w.closed {
		if !closed[i] && w.closed[i] && (i != j.State.Iteration || !j.State.Done() && j.Pending == nil) {
			w.bad("iteration %d was on record as done, and the loop stands at %d.%d", i, j.State.Iteration, j.State.Attempt)
		}
	}
	maps.Copy(w.closed, closed)
	w.raised = w.raised || j.State.Task.Limits.Iterations == 6
	w.faulted = w.faulted || j.State.Retries > 0 || j.Pending != nil && j.Pending.Iteration.Fault == ralph.FaultError
}

// live runs the loop in a process, until it dies, or has an error.
func (w *world) live(d *progress.Dir) (err error) {
	ctx, died := context.WithCancelCause(context.Background())
	defer died(nil)
	w.disk.OnStop = func() { died(filetest.ErrStopped) }
	j, err := d.Open("T")
	if earlier := err == nil && j.State.Task.Prompt == earlier; earlier || errors.Is(err, fs.ErrNotExist) {
		if w.started {
			w.bad("the journal is lost: %v", err)
		}
		if earlier {
			err = j.Close()
		}
		j, err = d.Create(ralph.Start(ralph.Task{ID: "T", Prompt: "Do it.", Limits: ralph.Limits{Iterations: 4}}), progress.KindLoop)
	}
	if err != nil {
		if w.disk.Mode == filetest.Stop && !w.disk.Stopped() {
			w.bad("the journal does not open: %v", err)
		}
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	w.look(j)
	log := ralph.ProgressLogFunc(func(ctx context.Context, ev ralph.Event) error {
		err := d.Append(ctx, ev)
		if err == nil {
			w.recorded(ev)
		}
		return err
	})
	local := &ralph.Local{Runner: w, Verifier: w, Log: log, Control: d.Control, Pending: d.Pending, Workspace: noWorkspace}
	_, err = local.Run(ctx, j.State)
	return err
}

// final is the loop when it is over, and the usage of attempts that were interrupted.
func (w *world) final() (s ralph.State, lost ralph.Usage) {
	d := &progress.Dir{Path: w.path}
	e, err := d.Look("T")
	if err != nil {
		w.bad("at the end: %v", err)
		return e.State, lost
	}
	f, err := os.Open(d.File("T"))
	if err != nil {
		w.bad("at the end: %v", err)
		return e.State, lost
	}
	defer f.Close()
	last := map[[2]int]ralph.Iteration{}
	for rec, err := range progress.ReadJSONL(f) {
		if it := rec.Event.Iteration; err != nil {
			w.bad("at the end: %v", err)
		} else if rec.Event.Kind == ralph.EventIterationEnded {
			at := [2]int{it.Number, it.Attempt}
			if was, again := last[at]; again && !was.Verdict.Passed {
				w.bad("attempt %v has two ends", at)
			}
			last[at] = it
		}
	}
	all := ralph.Usage{}
	whole := map[int]int{}
	for at, it := range last {
		all = all.Add(it.Usage).Add(it.Verdict.Usage)
		if it.Fault == ralph.FaultInterrupted {
			lost = lost.Add(it.Usage).Add(it.Verdict.Usage)
			if least, told := w.told[at]; told && it.Usage.Requests < least.Requests {
				w.bad("attempt %v has told %+v, and is recorded with %+v", at, least, it.Usage)
			}
		} else if it.Fault == "" {
			whole[at[0]]++
		}
		if checks := it.Verdict.Usage.Requests; it.Verdict.Passed && checks > perCheck.Requests {
			lost = lost.Add(usage(checks-perCheck.Requests, *it.Verdict.Usage.CostUSD-*perCheck.CostUSD))
		}
	}
	for i := 1; i <= e.State.Iteration; i++ {
		if whole[i] != 1 && w.disk.Mode == filetest.Stop { // else it may be in the end alone
			w.bad("iteration %d is on record %d times", i, whole[i])
		}
	}
	if diff := cmp.Diff(all, e.State.Usage); diff != "" && w.disk.Mode == filetest.Stop {
		w.bad("the usage is not that of the attempts (-attempts +state):\n%s", diff)
	}
	j, err := d.Open("T")
	if err == nil {
		err = j.Close()
	}
	if err != nil {
		w.bad("at the end: %v", err)
	} else if diff := cmp.Diff(e.State, j.State, cmpopts.EquateEmpty()); diff != "" {
		w.bad("Look and Open differ (-Look +Open):\n%s", diff)
	}
	return e.State, lost
}

// life runs a loop that fails at operations in turn, and by a process that lives
// on, or another one if it died, until it is over.
func (w *world) life(d *progress.Dir, stops ...int) {
	for range 12 {
		err := w.live(d)
		stopped := w.disk.Stopped()
		if err == nil {
			return
		}
		at := 0
		if len(stops) > 0 {
			at, stops = stops[0], stops[1:]
		}
		if !stopped {
			if w.disk.At == 0 {
				w.bad("%v", err)
				return
			}
			if w.disk.Mode == filetest.Stop {
				continue // it did not get that far
			}
			w.disk.Restart(at, w.disk.Mode)
			continue
		}
		if at == 0 && !w.nosync {
			if err := w.disk.Crash(); err != nil {
				w.bad("%v", err)
			}
		}
		w.disk.Restart(at, filetest.Stop)
		d = w.dir()
	}
	w.bad("it does not come to an end")
}

// check compares a life with the one in which nothing went wrong.
func (w *world) check(want ralph.State) {
	s, lost := w.final()
	if diff := cmp.Diff(want, s, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(ralph.State{}, "Attempt", "Usage", "Verifying", "Elapsed", "Updated", "LastCost", "Unpriced"), cmpopts.IgnoreFields(ralph.Verdict{}, "Usage")); diff != "" {
		w.bad("the end is another one (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Usage.Add(lost), s.Usage); diff != "" {
		w.bad("the usage is another one (-want +got):\n%s", diff)
	}
	last, err := os.ReadFile(strings.TrimSuffix(w.dir().File("T"), "jsonl") + "last.jsonl")
	if errors.Is(err, fs.ErrNotExist) && w.last == "" {
		err = nil
	}
	if err != nil || string(last) != w.last {
		w.bad("the journal before is lost: %v\n%s", err, last)
	}
	if !w.advised {
		w.bad("the advice is lost")
	}
}

// TestCrash: a process dies, or the machine loses power, at every write, sync, rename and making of
// a file in turn, or that fails; then the loop goes on. Nothing that is on record
// as done runs again, nothing is lost, and the end is that of a loop in which nothing went wrong.
func TestCrash(t *testing.T) {
	t.Parallel()
	var want ralph.State
	ops := 0
	n := 0
	// try runs a loop in a world.
	try := func(name string, nosync bool, disk *filetest.Disk, stops ...int) {
		n++
		path := filepath.Join(t.TempDir(), "state", "loops")
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(path, disk)
			w.nosync = nosync
			if disk.Seed%2 == 0 {
				w.begin(t)
			}
			w.life(w.dir(), stops...)
			if !nosync && !(disk.Ever && disk.Mode == filetest.Broken) {
				if err := disk.Crash(); err != nil { // what it has come to survives as well
					t.Error(err)
				}
			}
			if want.Stop == "" {
				want, _ = w.final()
				ops = disk.Ops()
			}
			if w.check(want); len(w.wrong) > 0 {
				t.Errorf("%s:\n%s", name, strings.Join(w.wrong, "\n"))
			}
		})
	}
	try("nothing goes wrong", false, &filetest.Disk{})
	if t.Failed() || want.Stop != ralph.StopVerified || want.Iteration != 5 || want.Task.Limits.Iterations != 6 || ops < 40 {
		t.Fatalf("%d operations: %+v", ops, want)
	}
	step := 1
	if testing.Short() {
		step = 5
	}
	for k := 1; k <= ops+4 && !t.Failed(); k += step {
		for _, seed := range []uint64{0, 1, 2, 5, 8} {
			try(fmt.Sprintf("power lost at %d of %d, seed %d", k, ops, seed), false, &filetest.Disk{At: k, Seed: seed})
		}
		try(fmt.Sprintf("killed at %d of %d", k, ops), true, &filetest.Disk{At: k, Seed: uint64(k)})
		for seed := range uint64(2) {
			again := 1 + (k*7+int(seed)*13)%ops
			try(fmt.Sprintf("killed at %d, power lost at %d after it, seed %d", k, again, seed), false, &filetest.Disk{At: k, Seed: seed}, again)
		}
		for _, mode := range []filetest.Mode{filetest.NoRoom, filetest.Broken} {
			try(fmt.Sprintf("mode %d at %d of %d", mode, k, ops), false, &filetest.Disk{At: k, Mode: mode, Seed: uint64(k)})
			try(fmt.Sprintf("mode %d from %d on of %d", mode, k, ops), false, &filetest.Disk{At: k, Mode: mode, Ever: true, Seed: uint64(k)})
		}
	}
	t.Logf("%d lives, %d operations each", n, ops)
}

// TestTornIsDurable: whenever the power is lost while a torn line is taken out, its bytes
// are in one of both places.
func TestTornIsDurable(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir()}
	runLoop(t, create(t, dir, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."})), answers(done))
	const torn = `{"kind":"loop_st`
	whole := read(t, dir.File("T"))
	for at := 1; ; at++ {
		if err := os.WriteFile(dir.File("T"), []byte(whole+torn), 0o600); err != nil {
			t.Fatal(err)
		}
		disk := &filetest.Disk{At: at} // seed 0: what was not synced is lost
		j, err := (&progress.Dir{Path: dir.Path}).On(disk).Open("T")
		if err == nil {
			j.Close()
		}
		if err := disk.Crash(); err != nil {
			t.Fatal(err)
		}
		aside, _ := filepath.Glob(filepath.Join(dir.Path, "*.torn"))
		kept := len(aside) == 1 && strings.HasSuffix(read(t, aside[0]), torn)
		if is := read(t, dir.File("T")); is != whole+torn && (is != whole || !kept) {
			t.Errorf("stopped at %d: %q, %q", at, aside, is)
		}
		for _, path := range aside {
			os.Remove(path)
		}
		if err == nil {
			return
		}
	}
}
