package progress_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

func noWorkspace(context.Context, string) (string, []string, error) { return "", nil, nil }

// answers is a loop that gets these answers, and takes the agent's word.
func answers(outputs ...string) *ralph.Local {
	return &ralph.Local{Runner: ralph.Replay(outputs...), Verifier: verify.String{}, Workspace: noWorkspace}
}

const done = "<promise>COMPLETE</promise>"

func usage(requests int64, usd float64) ralph.Usage {
	return ralph.Usage{Requests: requests, InputTokens: 100 * requests, OutputTokens: 10 * requests, CostUSD: &usd}
}

// runLoop runs a loop by its journal.
func runLoop(t *testing.T, j *progress.Journal, l *ralph.Local) ralph.State {
	t.Helper()
	s, err := j.Run(t.Context(), l)
	if err = errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
	return s
}

func create(t *testing.T, d *progress.Dir, s ralph.State) *progress.Journal {
	t.Helper()
	j, err := d.Create(s, progress.KindLoop)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func open(t *testing.T, d *progress.Dir, loop string) *progress.Journal {
	t.Helper()
	j, err := d.Open(loop)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestDir(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: filepath.Join(t.TempDir(), "a", "b")}
	if _, err := dir.Open("T"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a journal: %v", err)
	}
	task := ralph.Task{ID: "T", Prompt: "Do it.", Guarded: map[string]string{"x": "1"}, Limits: ralph.Limits{Iterations: 5}}
	l := answers("not yet", done)
	l.Meta = map[string]string{"verify": "true"}
	final := runLoop(t, create(t, dir, ralph.Start(task)), l)
	j := open(t, dir, "T")
	if diff := cmp.Diff(final, j.State); diff != "" || j.Meta["verify"] != "true" || j.Pending != nil || j.Kind != progress.KindLoop {
		t.Errorf("%v (-want +got):\n%s", j, diff)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}

	// Names that are no names of files, and names that differ little.
	names := []string{"../../T", "t", "CON", ".", strings.Repeat("T", 1000), "a/b", "a\\b", "\x00", "T"}
	for _, name := range names[:len(names)-1] {
		s := ralph.Start(task)
		s.Loop = name
		runLoop(t, create(t, dir, s), answers(done))
		if e, err := dir.Look(name); err != nil || e.Loop != name || e.State.Loop != name || e.Status != progress.StatusCompleted {
			t.Errorf("%q: %q, %v", name, e.State.Loop, err)
		}
	}
	found := map[string]bool{}
	for e, err := range dir.Loops(t.Context()) {
		if err != nil || e.Status != progress.StatusCompleted || e.Holder != nil {
			t.Error(e, err)
		}
		found[e.Loop] = true
	}
	for _, name := range names {
		if !found[name] {
			t.Errorf("%q is not listed", name)
		}
	}
	err := filepath.WalkDir(dir.Path, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if mode := info.Mode().Perm(); err != nil || mode != 0o600 && !e.IsDir() || mode != 0o700 && e.IsDir() {
			t.Errorf("%s: %v, %v", path, mode, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}

	// A loop that starts anew has a journal of its own; the last one is kept.
	before := read(t, dir.File("T"))
	runLoop(t, create(t, dir, ralph.Start(task)), answers(done))
	if len(read(t, dir.File("T"))) > len(before) || read(t, strings.TrimSuffix(dir.File("T"), "jsonl")+"last.jsonl") != before {
		t.Errorf("the journal of a new loop holds the old one's, or that is lost")
	}
	for _, name := range []string{"T", "CON"} {
		if ended, err := dir.Remove(name); err != nil || ended != nil {
			t.Error(ended, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir.Path, "T-*")); len(left) > 2*3 { // of T, and of the two that end so
		t.Error(left)
	}
	if _, err := dir.Look("T"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestDirEndWithoutIts: a line that says that a verdict passed is no evidence. The
// answer is verified again, and no agent is run for it.
func TestDirPassWithoutEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := &progress.Dir{Path: t.TempDir()}
		final := runLoop(t, create(t, dir, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."})), answers("not yet", done))
		lines := strings.SplitAfter(read(t, dir.File("T")), "\n")
		for cut := 2; cut <= 3; cut++ { // without loop_stopped, and without iteration_ended
			if err := os.WriteFile(dir.File("T"), []byte(strings.Join(lines[:len(lines)-cut], "")), 0o600); err != nil {
				t.Fatal(err)
			}
			j := open(t, dir, "T")
			if s := j.State; s.Done() || !s.Running || s.Iteration != final.Iteration || j.Pending == nil || j.Pending.Answer.Output != done {
				t.Fatalf("%+v", j)
			}
			if s := runLoop(t, j, answers()); s.Stop != ralph.StopVerified || s.Attempt != 1 || s.Usage.Requests != final.Usage.Requests {
				t.Errorf("%+v", s)
			}
		}
		if e, err := dir.Look("T"); err != nil || e.Status != progress.StatusCompleted {
			t.Error(e, err)
		}
	})
}

// TestDirHeld: a loop has one holder, and who is second is told who that is.
func TestDirHeld(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir()}
	other := &progress.Dir{Path: dir.Path}
	j := create(t, dir, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."}))
	l := answers("not yet", done)
	l.Control = func(_ context.Context, s ralph.State) (ralph.State, error) {
		if s.Iteration < 2 || s.Running {
			return s, nil
		}
		e, err := other.Look("T")
		if err != nil || e.Status != progress.StatusRunning || e.Holder == nil || e.Holder.PID != os.Getpid() || e.State.Iteration != 2 {
			t.Error(e, err)
		}
		for name, try := range map[string]func() error{
			"Open":     func() error { _, err := other.Open("T"); return err },
			"Create":   func() error { _, err := other.Create(ralph.Start(s.Task), progress.KindLoop); return err },
			"Remove":   func() error { _, err := other.Remove("T"); return err },
			"SetAside": func() error { _, _, err := other.SetAside("T"); return err },
			"Append": func() error {
				s := ralph.Start(s.Task)
				return other.Append(t.Context(), ralph.Event{Kind: ralph.EventLoopStarted, Loop: "T", State: &s})
			},
			"Open by the same": func() error { _, err := dir.Open("T"); return err },
		} {
			if held, ok := errors.AsType[*progress.HeldError](try()); !ok || held.Holder.PID != os.Getpid() || !strings.Contains(held.Error(), `loop "T" is held by process`) {
				t.Errorf("%s: %v", name, held)
			}
		}
		return s, nil
	}
	runLoop(t, j, l)
	if e, err := other.Look("T"); err != nil || e.Status != progress.StatusCompleted || e.Holder != nil {
		t.Error(e, err)
	}
	runLoop(t, open(t, other, "T"), answers()) // nothing runs
}

// TestDirSteer: what other processes ask for reaches the loop, is on record, and
// counts for a loop that nobody runs.
func TestDirSteer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := &progress.Dir{Path: t.TempDir()}
		other := &progress.Dir{Path: dir.Path}
		var prompts []string
		l := &ralph.Local{Verifier: verify.String{}, Workspace: noWorkspace, Runner: ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
			prompts = append(prompts, req.Prompt)
			var err error
			switch req.Iteration {
			case 1:
				_, err = other.Guide("T", "use the blue one")
			case 2:
				_, err = other.Stop("T")
			case 4:
				_, err = other.Cancel("T", "enough")
			}
			return ralph.Response{Output: "not yet"}, err
		})}
		s, err := create(t, dir, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."})).Run(t.Context(), l)
		if stop, ok := errors.AsType[*ralph.StopError](err); !ok || stop.Reason != ralph.StopIterations || s.Iteration != 2 {
			t.Fatalf("%+v, %v", s, err)
		}
		if len(prompts) != 2 || strings.Contains(prompts[0], "blue") || !strings.Contains(prompts[1], "use the blue one") {
			t.Error(prompts)
		}
		dir.Close()

		limits := ralph.Limits{Iterations: 9}
		if e, err := other.Limit("T", limits); err != nil || e.State.Done() || e.State.Iteration != 3 {
			t.Errorf("%+v, %v", e, err)
		}
		if e, err := other.Guide("T", "and the red one"); err != nil || len(e.State.Guidance) != 1 {
			t.Errorf("%+v, %v", e, err)
		}
		j := open(t, dir, "T")
		if j.State.Task.Limits != limits || j.State.Iteration != 3 || len(j.State.Guidance) != 1 {
			t.Fatalf("%+v", j.State)
		}
		s, err = j.Run(t.Context(), l)
		if stop, ok := errors.AsType[*ralph.StopError](err); !ok || stop.Reason != ralph.StopCancelled || s.Iteration != 4 || s.Detail != "enough" {
			t.Fatalf("%+v, %v", s, err)
		}
		if !strings.Contains(prompts[2], "and the red one") || strings.Contains(prompts[3], "red") {
			t.Error(prompts[2:])
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		for range 2 {
			if e, err := other.Cancel("T", "again"); !errors.Is(err, progress.ErrOver) || e.State.Detail != "enough" {
				t.Errorf("%+v, %v", e, err)
			}
		}
		if j := open(t, dir, "T"); cmp.Diff(j.State, s, cmpopts.EquateEmpty()) != "" {
			t.Error(cmp.Diff(j.State, s))
		}
	})
}

func TestWorkspaceDir(t *testing.T) {
	home, ws := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "relative")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(ws, link); err != nil {
		t.Fatal(err)
	}
	a, err := progress.WorkspaceDir(ws)
	b, err2 := progress.WorkspaceDir(link)
	if err != nil || err2 != nil || a.Path != b.Path || filepath.Dir(a.Path) != filepath.Join(home, ".local", "state", "ralph") {
		t.Errorf("%v %v, %v %v", a, b, err, err2)
	}
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "s"))
	if c, err := progress.WorkspaceDir(home); err != nil || filepath.Dir(c.Path) != filepath.Join(home, "s", "ralph") || filepath.Base(c.Path) == filepath.Base(a.Path) {
		t.Errorf("%v, %v", c, err)
	}
	if _, err := progress.WorkspaceDir(filepath.Join(ws, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no workspace: %v", err)
	}

	// One run at a time has it.
	first, err := progress.HoldWorkspace(ws, "ralph build")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := progress.HoldWorkspace(link, "ralph plan"); err == nil || !strings.Contains(err.Error(), "(ralph build) since 2") {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if second, err := progress.HoldWorkspace(link, "ralph plan"); err != nil || second.Close() != nil {
		t.Error(err)
	}
}

// TestDirParent: who pauses or cancels a session does so to all of its loops, also to
// several at once.
func TestDirParent(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir()}
	session, err := dir.Create(ralph.Start(ralph.Task{ID: "S", Prompt: "All."}), progress.KindSession)
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.Record(t.Context(), ralph.Event{Kind: ralph.EventLoopStarted, State: &session.State})
	if err != nil {
		t.Fatal(err)
	}
	loops, other := dir.Under(s.Loop), &progress.Dir{Path: dir.Path}
	children := map[string]ralph.State{}
	ask := func(want func(ralph.State) bool) {
		t.Helper()
		for name := range children {
			s, err := loops.Control(t.Context(), children[name])
			if err != nil || !want(s) {
				t.Errorf("%s: %+v, %v", name, s, err)
			}
			children[name] = s
		}
	}
	for _, name := range []string{"A", "B"} {
		s := ralph.Start(ralph.Task{ID: name, Prompt: "Do it."})
		if err := loops.Append(t.Context(), ralph.Event{Kind: ralph.EventLoopStarted, Loop: name, State: &s}); err != nil {
			t.Fatal(err)
		}
		children[name] = s
	}
	for _, pause := range []bool{true, false, true} {
		if _, err := other.Pause("S", pause); err != nil {
			t.Error(err)
		}
		ask(func(s ralph.State) bool { return s.Paused == pause })
		ask(func(s ralph.State) bool { return s.Paused == pause })
	}
	if _, err := other.Guide("S", advice); err != nil {
		t.Error(err)
	}
	ask(func(s ralph.State) bool { return len(s.Guidance) == 1 })
	ask(func(s ralph.State) bool { return len(s.Guidance) == 1 })
	for e, err := range other.Loops(t.Context()) {
		if err != nil || e.Holder == nil || e.Status == progress.StatusInterrupted || e.Parent != "" && e.Parent != "S" {
			t.Errorf("%+v, %v", e, err)
		}
	}
	if _, err := other.Cancel("S", "enough"); err != nil {
		t.Error(err)
	}
	ask(func(s ralph.State) bool { return s.Stop == ralph.StopCancelled && s.Detail == "enough" })
	if err := errors.Join(session.Close(), loops.Close()); err != nil {
		t.Error(err)
	}
}

// TestDirCancelDead: a loop whose process has died is settled by who cancels it.
func TestDirCancelDead(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir()}
	s := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."})
	at := ralph.Iteration{Number: 1, Attempt: 1, Usage: ralph.Usage{Requests: 3}}
	for _, ev := range []ralph.Event{
		{Kind: ralph.EventLoopStarted, State: &s},
		{Kind: ralph.EventIterationStarted, Iteration: at, Meta: map[string]string{"mark": ralph.NewMark()}},
		{Kind: ralph.EventRunning, Iteration: at},
	} {
		ev.Loop = "T"
		if err := dir.Append(t.Context(), ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := dir.Close(); err != nil { // it has died
		t.Fatal(err)
	}
	if e, err := dir.Cancel("T", "enough"); err != nil || e.Status != progress.StatusCancelled {
		t.Errorf("%+v, %v", e, err)
	}
	e, err := dir.Look("T")
	if err != nil || e.State.Running || e.State.Mark != "" || e.State.Usage.Requests != 3 || e.State.Stop != ralph.StopCancelled {
		t.Errorf("%+v, %v", e.State, err)
	}
}

// TestJournalAsALog: the journal of a loop whose events are watched, and are broken off,
// says where the loop stands, and goes on from there.
func TestJournalAsALog(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir()}
	j := create(t, dir, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."}))
	watched := answers("not yet", "not yet", done)
	watched.Log, watched.Control, watched.Pending = j, dir.Control, dir.Pending
	for ev, err := range watched.Events(t.Context(), j.State) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == ralph.EventIterationEnded && ev.Iteration.Number == 2 {
			break
		}
	}
	e, err := dir.Look("T")
	if diff := cmp.Diff(e.State, j.State); err != nil || diff != "" || j.State.Iteration != 3 {
		t.Errorf("%v (-on record +journal):\n%s", err, diff)
	}
	if s := runLoop(t, j, answers("not yet", "not yet", done)); s.Stop != ralph.StopVerified || s.Iteration != 3 {
		t.Errorf("%+v", s)
	}
	if e, err = dir.Look("T"); err != nil || e.State.Iteration != 3 {
		t.Errorf("%+v, %v", e, err)
	}
	if aside, err := filepath.Glob(filepath.Join(dir.Path, "*.last.*")); err != nil || len(aside) != 0 {
		t.Errorf("it was begun anew: %q, %v", aside, err)
	}
}

// TestJournalBegin: a loop that is promised before it runs is on record from then on, and
// runs by that record.
func TestJournalBegin(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir()}
	other := &progress.Dir{Path: dir.Path}
	j := create(t, dir, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."}))
	if _, err := other.Look("T"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	j.Meta = map[string]string{"agent": "blue"}
	if err := j.Begin(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if e, err := other.Guide("T", advice); err != nil || e.Meta["agent"] != "blue" || e.State.Begun() {
		t.Errorf("%+v, %v", e, err)
	}
	l := answers("not yet", done)
	var prompts []string
	l.Prompt = func(_ context.Context, s ralph.State) (string, error) {
		prompts = append(prompts, s.Prompt())
		return s.Prompt(), nil
	}
	if s := runLoop(t, j, l); s.Iteration != 2 || !strings.Contains(prompts[0], advice) || strings.Contains(prompts[1], advice) {
		t.Errorf("%+v, %q", s, prompts)
	}
	if e, err := other.Look("T"); err != nil || e.Status != progress.StatusCompleted || e.Meta["agent"] != "blue" {
		t.Errorf("%+v, %v", e, err)
	}
	if last, _ := filepath.Glob(filepath.Join(dir.Path, "*.last.jsonl")); last != nil {
		t.Error(last)
	}
}

// TestJournalWatch: the attempt of a driver of its own ends when another process cancels
// the loop, or the session that it belongs to.
func TestJournalWatch(t *testing.T) {
	t.Parallel()
	for _, cancelled := range []string{"T", "S"} {
		synctest.Test(t, func(t *testing.T) {
			dir := &progress.Dir{Path: t.TempDir()}
			session := create(t, dir, ralph.Start(ralph.Task{ID: "S", Prompt: "All."}))
			if err := session.Begin(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			j := create(t, dir.Under("S"), ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."}))
			if err := j.Begin(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			watched, stop := j.Watch(t.Context())
			defer stop()
			<-time.After(time.Minute)
			if err := context.Cause(watched); err != nil {
				t.Error(err)
			}
			if _, err := (&progress.Dir{Path: dir.Path}).Cancel(cancelled, "enough"); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			<-watched.Done()
			if err := context.Cause(watched); !errors.Is(err, ralph.ErrCancelled) || !strings.Contains(err.Error(), "enough") || time.Since(start) > time.Second {
				t.Errorf("%v after %v", err, time.Since(start))
			}
			stop()
			if err := errors.Join(j.Close(), session.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDirUnfinished: a loop that can go on is not begun anew, by whatever way, unless
// it belongs to a session, which knows.
func TestDirUnfinished(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir()}
	start := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."})
	for _, ev := range []ralph.Event{
		{Kind: ralph.EventLoopStarted, State: &start},
		{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: 1, Attempt: 1}},
	} {
		ev.Loop = "T"
		if err := dir.Append(t.Context(), ev); err != nil {
			t.Fatal(err)
		}
	}
	dir.Close()
	before := read(t, dir.File("T"))
	l := answers(done)
	l.Log = dir
	if _, err := l.Run(t.Context(), start); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	dir.Close()
	if _, err := dir.Create(start, progress.KindLoop); !errors.Is(err, fs.ErrExist) || read(t, dir.File("T")) != before {
		t.Error(err)
	}
	l.Log = dir.Under("S")
	if _, err := l.Run(t.Context(), start); err != nil {
		t.Error(err)
	}
}
