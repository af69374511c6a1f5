//go:build linux || darwin

package progress_test

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/ralph-loop/ralph/verify"
)

// hookSteps are what becomes of a session, by this process and others.
func hookSteps() []func(d *progress.Dir) error {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	update := func(change func(ralph.HookState) ralph.HookState) func(d *progress.Dir) error {
		return func(d *progress.Dir) error {
			return d.Update(context.Background(), "s", func(x ralph.HookState) (ralph.HookState, error) { return change(x), nil })
		}
	}
	start := func(prompt string) func(d *progress.Dir) error {
		return update(func(ralph.HookState) ralph.HookState {
			s := ralph.Start(ralph.Task{Prompt: prompt})
			s.Loop, s.Running = "s", true
			return ralph.HookState{State: s, Asked: now}
		})
	}
	busy := update(func(x ralph.HookState) ralph.HookState {
		x.Busy, x.Until = x.Busy+"I", now
		return x
	})
	answer := func(passed bool) func(d *progress.Dir) error {
		return update(func(x ralph.HookState) ralph.HookState {
			it := ralph.Iteration{Number: x.State.Iteration, Attempt: 1, Claimed: true, End: now, Verdict: ralph.Verdict{Passed: passed, Feedback: "so"}}
			x.State, x.Last = x.State.Next(it), it
			return x
		})
	}
	runs := update(func(x ralph.HookState) ralph.HookState { x.State.Running = true; return x })
	guide := func(d *progress.Dir) error { return errOf(d.Guide("s", advice)) }
	cancel := func(d *progress.Dir) error { return errOf(d.Cancel("s", "enough")) }
	clear := update(func(ralph.HookState) ralph.HookState { return ralph.HookState{} })
	return []func(d *progress.Dir) error{start("One."), busy, busy, answer(false), runs, busy, guide, busy, answer(false), busy, answer(true),
		start("Two."), busy, answer(false), clear, start("Three."), busy, cancel}
}

// stands is what is on record of a session: its loop, and its last answer.
func stands(t *testing.T, path string) (x ralph.HookState) {
	t.Helper()
	d := &progress.Dir{Path: path}
	x = state(t, d, "s")
	e, err := d.Look("s")
	if err == nil {
		x.State = e.State
	}
	return ralph.HookState{State: x.State, Last: x.Last}
}

var loosely = cmpopts.EquateEmpty()

// TestHookCrash: a process dies, or the machine loses power, or the disk fails, at
// each operation in turn. Then a session is as it was or as it was to become, and it goes on.
func TestHookCrash(t *testing.T) {
	t.Parallel()
	steps := hookSteps()
	lives := 0
	// live does the steps, each again after it failed if it was not done, and returns what came of
	// each.
	live := func(t *testing.T, disk *filetest.Disk, nosync bool, want []ralph.HookState) (all []ralph.HookState) {
		lives++
		path := filepath.Join(t.TempDir(), "state")
		dir := func() *progress.Dir { return (&progress.Dir{Path: path, NoSync: nosync}).On(disk) }
		d := dir()
		var was ralph.HookState
		for n := 0; n < len(steps); n++ {
			err := steps[n](d)
			if err != nil && disk.At == 0 {
				t.Fatalf("step %d: %v", n, err)
			}
			if err != nil {
				if !nosync && (disk.Stopped() || disk.Seed%2 == 1) {
					if err := disk.Crash(); err != nil {
						t.Fatal(err)
					}
					d = dir()
				}
				disk.Restart(0, filetest.Stop)
			}
			is := stands(t, path)
			if want != nil {
				_, err2 := os.Stat(strings.TrimSuffix(d.File("s"), "jsonl") + "last.jsonl")
				old := cmp.Equal(was, is, loosely) || was.State.Done() && is.IsZero() && err2 == nil // out of the way
				done := cmp.Equal(want[n], is, loosely)
				if !old && !done || err == nil && !done {
					t.Fatalf("step %d, %v: neither the old nor the new state (-new +is):\n%s", n, err, cmp.Diff(want[n], is, loosely))
				}
				if !done {
					n--
					continue
				}
			}
			was, all = is, append(all, is)
		}
		if !nosync { // what it has come to survives as well
			if err := disk.Crash(); err != nil {
				t.Fatal(err)
			}
			if is := stands(t, path); !cmp.Equal(was, is, loosely) {
				t.Errorf("after all (-was +is):\n%s", cmp.Diff(was, is, loosely))
			}
		}
		return all
	}
	disk := &filetest.Disk{}
	want := live(t, disk, false, nil)
	ops := disk.Ops()
	if len(want) != len(steps) || want[10].State.Stop != ralph.StopVerified || want[14].State.Stop != ralph.StopCancelled || want[15].State.Task.Prompt != "Three." || want[17].State.Detail != "enough" || ops < 40 {
		t.Fatalf("%d operations: %+v", ops, want)
	}
	step := 1
	if testing.Short() {
		step = 5
	}
	for k := 1; k <= ops && !t.Failed(); k += step {
		for _, seed := range []uint64{0, 1, 2} {
			t.Run(fmt.Sprintf("power lost at %d of %d, seed %d", k, ops, seed), func(t *testing.T) {
				live(t, &filetest.Disk{At: k, Seed: seed}, false, want)
			})
		}
		t.Run(fmt.Sprintf("killed at %d of %d", k, ops), func(t *testing.T) {
			live(t, &filetest.Disk{At: k, Seed: uint64(k)}, true, want)
		})
		for _, disk := range []*filetest.Disk{{At: k, Mode: filetest.NoRoom}, {At: k, Mode: filetest.Broken}, {At: k, Mode: filetest.Broken, Seed: uint64(2*k + 1)}} {
			t.Run(fmt.Sprintf("mode %d at %d of %d, seed %d", disk.Mode, k, ops, disk.Seed), func(t *testing.T) {
				live(t, disk, false, want)
			})
		}
	}
	t.Logf("%d lives, %d operations each", lives, ops)
}

// A session is what outlives the processes of its host: its conversation, in which the
// agent claims to be done in the fourth iteration.
type session struct {
	disk     *filetest.Disk
	messages []ralph.Message
	prompts  []string
}

func (s *session) hook(d *progress.Dir) *ralph.Hook {
	return &ralph.Hook{Store: d, Verifier: verify.String{}, Workspace: noWorkspace,
		Inject: func(_ context.Context, _, prompt string) error {
			if s.disk.Stopped() {
				return filetest.ErrStopped
			}
			first, _, _ := strings.Cut(prompt, "\n")
			s.prompts = append(s.prompts, first)
			s.says("user", prompt)
			return nil
		},
		Messages: func(context.Context, string) ([]ralph.Message, error) { return s.messages, nil },
	}
}

func (s *session) says(role, text string) {
	s.messages = append(s.messages, ralph.Message{Role: role, Content: text})
}

// answer is the agent's, if there is something to answer.
func (s *session) answer() {
	if s.messages[len(s.messages)-1].Role != "user" {
		return
	}
	if len(s.prompts) < 3 {
		s.says("assistant", "I have worked.")
	} else {
		s.says("assistant", "<promise>DONE</promise>")
	}
}

// live runs the session to its loop's end, by a process that lives as long as it can and
// then by others. It returns what is on record then.
func (s *session) live(path string, nosync bool) (progress.Entry, error) {
	dir := func() *progress.Dir { return (&progress.Dir{Path: path, NoSync: nosync}).On(s.disk) }
	h := s.hook(dir())
	died := func() error {
		if !s.disk.Stopped() {
			return nil
		}
		var err error
		if !nosync {
			err = s.disk.Crash()
		}
		s.disk.Restart(0, filetest.Stop)
		h = s.hook(dir())
		return err
	}
	for {
		_, err := h.Start(context.Background(), "s", ralph.Task{Prompt: "Do it."})
		stopped := s.disk.Stopped()
		if err := died(); err != nil {
			return progress.Entry{}, err
		}
		if err == nil || errors.Is(err, ralph.ErrActive) {
			break
		}
		if !stopped {
			return progress.Entry{}, err
		}
	}
	s.says("user", "Do it.")
	for range 12 {
		s.answer()
		x, err := h.Idle(context.Background(), ralph.Turn{Session: "s"})
		stopped := s.disk.Stopped()
		if err := died(); err != nil {
			return progress.Entry{}, err
		}
		if err != nil && !stopped && !errors.Is(err, ralph.ErrNoMessage) {
			return progress.Entry{}, err
		}
		if !stopped && (x.State.Done() || x.IsZero()) {
			break
		}
	}
	return (&progress.Dir{Path: path}).Look("s")
}

// TestHookKilled: a host's process is killed, or the machine loses power, at each operation in
// turn, also between what was judged and the next prompt. The loop goes on: each prompt
// is injected once, and no iteration is spent for it.
func TestHookKilled(t *testing.T) {
	t.Parallel()
	want := "[[RALPH LOOP - ITERATION 2/100] [RALPH LOOP - ITERATION 3/100] [RALPH LOOP - ITERATION 4/100]]"
	try := func(name string, disk *filetest.Disk, nosync bool) {
		path := filepath.Join(t.TempDir(), "state")
		synctest.Test(t, func(t *testing.T) {
			s := &session{disk: disk}
			e, err := s.live(path, nosync)
			if got := fmt.Sprint(s.prompts); err != nil || e.Status != progress.StatusCompleted || e.State.Iteration != 4 || got != want {
				t.Errorf("%s: %+v, %v, %s", name, e, err, got)
			}
		})
	}
	disk := &filetest.Disk{}
	try("nothing goes wrong", disk, false)
	ops := disk.Ops()
	if ops < 25 {
		t.Fatalf("%d operations", ops)
	}
	for k := 1; k <= ops && !t.Failed(); k++ {
		for _, seed := range []uint64{0, 1, 2, 5} {
			try(fmt.Sprintf("power lost at %d of %d, seed %d", k, ops, seed), &filetest.Disk{At: k, Seed: seed}, false)
		}
		try(fmt.Sprintf("killed at %d of %d", k, ops), &filetest.Disk{At: k, Seed: uint64(k)}, true)
	}
}
