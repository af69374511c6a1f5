package board_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/board"
	"github.com/ralph-loop/ralph/internal/term/termtest"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// cardsOf are the cards of a tree as text.
func cardsOf(tree board.Tree) (all []string) {
	for _, run := range tree.Runs {
		for _, c := range run.Cards {
			text := fmt.Sprintf("%s %s %s %q %s %d loops", run.Loop, c.Lane, c.ID, c.Title, c.Agent, len(c.Loops))
			if len(c.After) > 0 {
				text += " after " + strings.Join(c.After, ",")
			}
			all = append(all, text)
		}
	}
	return all
}

// TestLook: a pipeline is told with its tasks, also those that have not begun; a loop
// beside it is a run of its own; what cannot be read is named.
func TestLook(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	project := t.TempDir()
	const tasks = `tasks:
- {id: CART, title: A cart}
- {id: PAY, title: Payment, dependencies: [CART]}
- {id: OLD, title: The old shop, status: skipped}
- {id: BAD, title: Never right}
`
	if err := os.WriteFile(filepath.Join(project, "tasks.yaml"), []byte(tasks), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := &progress.Dir{Path: filepath.Join(t.TempDir(), "record")}
	t.Cleanup(func() { dir.Close() })
	r := board.Reader{Dir: &progress.Dir{Path: dir.Path}}
	if tree, err := r.Look(ctx); err != nil || len(tree.Runs) > 0 {
		t.Fatal(tree, err)
	}
	var looks [][]string
	p := pipeline.Pipeline{
		Name: "shop", Dir: project, Record: dir, Source: &pipeline.File{Path: filepath.Join(project, "tasks.yaml")}, Stages: []string{"coder"},
		Limits: ralph.Limits{Iterations: 1},
		Runner: func(pipeline.Place) (ralph.Runner, error) {
			return ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
				tree, err := r.Look(ctx)
				if err != nil {
					return ralph.Response{}, ralph.Permanent(err)
				}
				looks = append(looks, cardsOf(tree))
				return ralph.Response{Output: "Committed, and all tests pass.\n\n<promise>" + req.Promise + "</promise>"}, nil
			}), nil
		},
		Verifier: ralph.VerifierFunc(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
			if c.Task.ID == "BAD" {
				return ralph.Reject("no"), nil
			}
			return ralph.Pass(), nil
		}),
	}
	p.Run(ctx) // one task fails
	j, err := dir.Create(ralph.Start(ralph.Task{ID: "alone", Title: "A loop", Prompt: "x"}), progress.KindLoop)
	if err == nil {
		err = errors.Join(j.Begin(ctx, false), j.Close(), os.WriteFile(dir.File("broken"), []byte("{}\n"), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	tree, err := r.Look(ctx)
	if err != nil {
		t.Fatal(err)
	}
	looks = append(looks, cardsOf(tree))
	want := [][]string{
		{`shop running CART "A cart" coder 1 loops`, `shop todo PAY "Payment" coder 0 loops after CART`, `shop skipped OLD "The old shop" coder 0 loops`, `shop todo BAD "Never right" coder 0 loops`},
		{`shop done CART "A cart" coder 1 loops`, `shop running PAY "Payment" coder 1 loops`, `shop skipped OLD "The old shop" coder 0 loops`, `shop todo BAD "Never right" coder 0 loops`},
		{`shop done CART "A cart" coder 1 loops`, `shop done PAY "Payment" coder 1 loops`, `shop skipped OLD "The old shop" coder 0 loops`, `shop running BAD "Never right" coder 1 loops`},
		{`shop done CART "A cart" coder 1 loops`, `shop done PAY "Payment" coder 1 loops`, `shop skipped OLD "The old shop" coder 0 loops`, `shop failed BAD "Never right" coder 1 loops`, `alone todo alone "A loop"  1 loops`},
	}
	if diff := cmp.Diff(want, looks); diff != "" {
		t.Error(diff)
	}
	if len(tree.Unread) != 1 || !strings.HasPrefix(tree.Unread[0].Name, "broken") || !strings.HasPrefix(tree.Unread[0].Why(), "line 1: ") {
		t.Errorf("%+v", tree.Unread)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := r.Look(ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestUnread: whatever is in the place of a journal is named, the others are shown, and
// what can be read again is.
func TestUnread(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := &progress.Dir{Path: t.TempDir(), NoSync: true}
	s := ralph.Start(ralph.Task{ID: "T1", Prompt: "x"})
	if err := dir.Append(ctx, ralph.Event{V: ralph.Version, Kind: ralph.EventLoopStarted, Loop: "T1", Task: "T1", State: &s}); err != nil {
		t.Fatal(err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	r := board.Reader{Dir: dir}
	look := func() (all []string) {
		t.Helper()
		tree, err := r.Look(ctx)
		if err != nil || len(tree.Runs) != 1 {
			t.Errorf("%d runs, %v", len(tree.Runs), err)
		}
		for _, u := range tree.Unread {
			all = append(all, u.Name+" "+u.Why())
		}
		return all
	}
	there := func(name string) string { return filepath.Join(dir.Path, name) }
	if err := errors.Join(os.Mkdir(there("a-folder.jsonl"), 0o700), os.WriteFile(there("broken.jsonl"), []byte("{}\n"), 0o600),
		os.Symlink("loop.jsonl", there("loop.jsonl"))); err != nil {
		t.Fatal(err)
	}
	want := []string{"a-folder is a directory: give the path of the file in it", "broken line 1: it is no line of a journal", "loop too many levels of symbolic links"}
	for range 2 {
		if diff := cmp.Diff(want, look()); diff != "" {
			t.Error(diff)
		}
	}
	if err := errors.Join(os.Remove(there("a-folder.jsonl")), os.Remove(there("loop.jsonl"))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want[1:2], look()); diff != "" {
		t.Error(diff)
	}
	r.Dir = &progress.Dir{Path: there("broken.jsonl")}
	if tree, err := r.Look(ctx); err == nil {
		t.Errorf("a file has loops: %+v", tree)
	}
}

// TestHistory: attempts are told as they go on, a journal that another one has replaced is
// read anew, and a torn line has not happened.
func TestHistory(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := &progress.Dir{Path: t.TempDir(), NoSync: true}
	t.Cleanup(func() { dir.Close() })
	r := board.Reader{Dir: dir}
	if _, err := r.History("T1"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	s := ralph.Start(ralph.Task{ID: "T1", Prompt: "x"})
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	add := func(ev ralph.Event) {
		t.Helper()
		ev.V, ev.Loop, ev.Task, ev.Time = ralph.Version, "T1", "T1", at
		if err := dir.Append(ctx, ev); err != nil {
			t.Fatal(err)
		}
	}
	read := func() (all []string) {
		t.Helper()
		h, err := r.History("T1")
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range h.Attempts {
			all = append(all, fmt.Sprintf("%d.%d %v %s %q", a.Number, a.Attempt, a.Ended, a.Outcome, a.Words))
		}
		for _, a := range h.Asked {
			all = append(all, string(a.Kind)+" "+a.Text)
		}
		if h.Torn {
			all = append(all, "torn")
		}
		return all
	}
	is := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, read()); diff != "" {
			t.Error(diff)
		}
	}
	begin := func() {
		add(ralph.Event{Kind: ralph.EventLoopStarted, State: &s})
		add(ralph.Event{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: 1, Attempt: 1, Start: at}, Meta: map[string]string{"mark": "m"}})
	}
	begin()
	is(`1.1 false  ""`)
	early, err := r.History("T1")
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("é", 4<<10)
	add(ralph.Event{Kind: ralph.EventAnswered, Iteration: ralph.Iteration{Number: 1, Attempt: 1, Start: at}, Answer: &ralph.Response{Output: long}})
	is(fmt.Sprintf("1.1 false  %q", long[:4<<10]))
	add(ralph.Event{Kind: ralph.EventIterationEnded, Iteration: ralph.Iteration{Number: 1, Attempt: 1, Outcome: ralph.OutcomeFailure, Fault: ralph.FaultError}})
	add(ralph.Event{Kind: ralph.EventGuided, Text: "look again"})
	is(fmt.Sprintf("1.1 true failure %q", long[:4<<10]), "guided look again")
	if a := early.Attempts[0]; a.Ended || a.Words != "" { // another goroutine shows it
		t.Errorf("what was told has changed: %+v", a)
	}

	f, err := os.OpenFile(dir.File("T1"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"kind":"iteration_st`); err != nil {
		t.Fatal(err)
	}
	is(fmt.Sprintf("1.1 true failure %q", long[:4<<10]), "guided look again", "torn")
	if err := errors.Join(f.Close(), dir.Close()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := dir.SetAside("T1"); err != nil {
		t.Fatal(err)
	}
	begin()
	is(`1.1 false  ""`)

	// A file system may give a new file the number of the one that is gone.
	add(ralph.Event{Kind: ralph.EventGuided, Text: "look again"})
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(dir.File("T1"))
	if err != nil {
		t.Fatal(err)
	}
	at = at.Add(time.Hour)
	if _, _, err := dir.SetAside("T1"); err != nil {
		t.Fatal(err)
	}
	begin()
	add(ralph.Event{Kind: ralph.EventIterationEnded, Iteration: ralph.Iteration{Number: 1, Attempt: 1, Outcome: ralph.OutcomeFailure, Error: strings.Repeat("long ", 100)}}) // so that it is longer
	anew, err := os.ReadFile(dir.File("T1"))
	if err == nil {
		err = os.WriteFile(dir.File("T1"), old, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	is(`1.1 false  ""`, "guided look again")
	if err := os.WriteFile(dir.File("T1"), anew, 0o600); err != nil {
		t.Fatal(err)
	}
	is(`1.1 true failure ""`)
}

// TestTail: the output of an attempt is followed while it is written, known for what a
// client prints, bounded, and harmless.
func TestTail(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir(), NoSync: true}
	t.Cleanup(func() { dir.Close() })
	s := ralph.Start(ralph.Task{ID: "T1", Prompt: "x"})
	if err := dir.Append(context.Background(), ralph.Event{V: ralph.Version, Kind: ralph.EventLoopStarted, Loop: "T1", State: &s}); err != nil {
		t.Fatal(err)
	}
	var tail board.Tail
	defer tail.Close()
	read := func(attempt int) []string {
		t.Helper()
		lines, err := tail.Read(dir.Raw("T1", 1, attempt), "", "")
		if err != nil {
			t.Fatal(err)
		}
		return lines
	}
	if got := read(1); got != nil {
		t.Error(got)
	}
	raw := dir.Output(ralph.Request{Loop: "T1", Iteration: 1, Attempt: 1})
	for i, step := range []struct {
		text string
		want []string
	}{
		{"one\n", []string{"one"}},
		{`{"type":"system","subtype":"init"}` + "\n", []string{"one"}},
		{`{"type":"assistant","message":{"id":"1","content":[{"type":"text","text":"I look."}]}}` + "\n", []string{"one", "I look."}},
		{strings.Join(termtest.Sequences(), "\n") + "\n", nil},
	} {
		if _, err := fmt.Fprint(raw, step.text); err != nil {
			t.Fatal(err)
		}
		got := read(1)
		if diff := cmp.Diff(step.want, got); diff != "" && step.want != nil {
			t.Errorf("step %d:\n%s", i, diff)
		}
		if bad := termtest.Unsafe(strings.Join(got, "\n")); bad != "" {
			t.Errorf("step %d: %s", i, bad)
		}
	}
	// Another loop of the name has printed something.
	if err := errors.Join(os.Remove(dir.Raw("T1", 1, 1)), dir.Close()); err != nil {
		t.Fatal(err)
	}
	if got := read(1); got != nil {
		t.Errorf("of a file that is gone: %q", got)
	}
	raw = dir.Output(ralph.Request{Loop: "T1", Iteration: 1, Attempt: 1})
	for _, want := range []string{"anew", "and on"} {
		if _, err := fmt.Fprintln(raw, want); err != nil {
			t.Fatal(err)
		}
		if got := read(1); len(got) == 0 || got[0] != "anew" || got[len(got)-1] != want {
			t.Errorf("%q", got)
		}
	}
	for _, text := range []string{"of another", "of one more"} { // without a look in between
		if err := errors.Join(dir.Close(), os.Rename(dir.Raw("T1", 1, 1), dir.Raw("T1", 1, 1)+".last")); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintln(dir.Output(ralph.Request{Loop: "T1", Iteration: 1, Attempt: 1}), text); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{text}, read(1)); diff != "" {
			t.Error(diff)
		}
	}
	raw = dir.Output(ralph.Request{Loop: "T1", Iteration: 1, Attempt: 2})
	for i := range 400_000 { // more than the file keeps
		fmt.Fprintf(raw, "line %d\n", i)
	}
	got := read(2)
	if n := len(strings.Join(got, "\n")); got[len(got)-1] != "line 399999" || n > 64<<10 {
		t.Errorf("%d bytes, the last line is %q", n, got[len(got)-1])
	}
}

// TestThousandLoops: in a folder with a thousand loops a look reads those that have
// changed.
func TestThousandLoops(t *testing.T) { // alone, for it counts allocations
	ctx := context.Background()
	dir := &progress.Dir{Path: t.TempDir(), NoSync: true}
	for i := range 1000 {
		s := ralph.Start(ralph.Task{ID: fmt.Sprintf("T%04d", i), Prompt: "x"})
		if err := dir.Append(ctx, ralph.Event{V: ralph.Version, Kind: ralph.EventLoopStarted, Loop: s.Loop, Task: s.Task.ID, State: &s}); err != nil {
			t.Fatal(err)
		}
		if i%100 == 0 { // a file that is held is open
			if err := dir.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	r := board.Reader{Dir: dir}
	tree, err := r.Look(ctx)
	if err != nil || len(tree.Runs) != 1000 {
		t.Fatal(len(tree.Runs), err)
	}
	allocs := testing.AllocsPerRun(3, func() {
		if _, err := r.Look(ctx); err != nil {
			t.Error(err)
		}
	})
	whole := testing.AllocsPerRun(1, func() {
		if _, err := dir.Standings(ctx); err != nil {
			t.Error(err)
		}
	})
	if allocs > whole/2 {
		t.Errorf("a look that finds nothing new allocates %v times, and one that reads everything %v times", allocs, whole)
	}
	if _, err := dir.Guide("T0500", "look again"); err != nil {
		t.Fatal(err)
	}
	tree, err = r.Look(ctx)
	if err != nil || len(tree.Runs[500].State.Guidance) != 1 {
		t.Error(err, tree.Runs[500].State.Guidance)
	}
}
