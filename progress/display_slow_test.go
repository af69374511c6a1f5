package progress_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/term"
	"github.com/ralph-loop/ralph/progress"
)

// begin starts a loop and an attempt of it on a display.
func begin(d *progress.Display, loop string) io.Writer {
	s := ralph.Start(ralph.Task{ID: loop, Prompt: "Do it."})
	d.Append(context.Background(), ralph.Event{Kind: ralph.EventLoopStarted, Loop: loop, Task: loop, State: &s})
	d.Append(context.Background(), ralph.Event{Kind: ralph.EventIterationStarted, Loop: loop, Task: loop, Iteration: ralph.Iteration{Number: 1, Attempt: 1}})
	return d.Output(ralph.Request{Loop: loop, Task: loop, Iteration: 1, Attempt: 1})
}

// ended ends the attempt.
func ended(d *progress.Display, loop string) {
	it := ralph.Iteration{Number: 1, Attempt: 1}
	d.Append(context.Background(), ralph.Event{Kind: ralph.EventAnswered, Loop: loop, Iteration: it})
	d.Append(context.Background(), ralph.Event{Kind: ralph.EventIterationEnded, Loop: loop, Iteration: it})
}

// TestDisplayStoppedTerminal: a terminal that takes nothing stops no agent, costs no
// memory, and shows in the end all lines of our own, the last of the agent's, and how
// much is left out.
func TestDisplayStoppedTerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		screen := newScreen(80, 24)
		screen.stopped = make(chan struct{})
		d := &progress.Display{W: screen, Terminal: true, Zone: time.UTC}
		out := begin(d, "T1")
		time.Sleep(time.Second) // the display writes, and is stopped in it
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		block := []byte(strings.Repeat("A line of an agent that says a lot, of seventy bytes or so in length\n", 1000))
		said := 0
		for i := range 120 {
			out.Write(block)
			if said += len(block); i%20 == 0 {
				fmt.Fprintf(d, "note %d\n", i)
			}
		}
		fmt.Fprint(out, "the last words\n")
		runtime.GC()
		runtime.ReadMemStats(&after)
		if more := int64(after.HeapAlloc) - int64(before.HeapAlloc); more > 16<<20 {
			t.Errorf("%d MB are held in memory", more>>20)
		}
		ended(d, "T1")
		close(screen.stopped)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		got := screen.text()
		for i := range 6 {
			if !strings.Contains(got, fmt.Sprintf("\nnote %d\n", i*20)) {
				t.Errorf("note %d is missing", i*20)
			}
		}
		if shown := strings.Count(got, "A line of an agent"); shown < 3_000 || shown > 5_000 {
			t.Errorf("%d lines of %d are shown", shown, said/70)
		}
		if !strings.Contains(got, "MB of output not shown\n") || !strings.HasSuffix(got, "the last words\n── 00:00:01 iteration 1/10: no claim\n") {
			t.Errorf("the end is %q", got[max(0, len(got)-200):])
		}
	})
}

// TestDisplaySlowPipe: in a pipe nothing is left out, however slow its reader; only who
// writes waits, and not who tells the usage.
func TestDisplaySlowPipe(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	d := &progress.Display{W: w, Zone: time.UTC}
	told := make(chan struct{})
	var got bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		<-told
		io.Copy(&got, r)
	}()
	wrote := make(chan struct{})
	var out io.Writer
	go func() { // waits until the reader reads
		defer close(wrote)
		out = begin(d, "T1")
		fmt.Fprint(out, strings.Repeat("a line\n", 500_000))
	}()
	d.Live(ralph.Request{Loop: "T1"}, ralph.Usage{OutputTokens: 1})
	close(told)
	<-wrote
	ended(d, "T1")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	<-read
	if n := strings.Count(got.String(), "a line\n"); n != 500_000 {
		t.Errorf("%d lines", n)
	}
}

// TestDisplayGone: a terminal that is gone ends no loop, and is told by Write and Close.
func TestDisplayGone(t *testing.T) {
	t.Parallel()
	gone := errors.New("the terminal is gone")
	for _, terminal := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			screen := newScreen(80, 24)
			screen.err = gone
			d := &progress.Display{W: screen, Terminal: terminal}
			out := begin(d, "T1")
			if _, err := fmt.Fprint(out, "words\n"); err != nil {
				t.Error("Output:", err)
			}
			ended(d, "T1")
			time.Sleep(time.Second)
			if _, err := fmt.Fprint(d, "more\n"); !errors.Is(err, gone) {
				t.Error("Write:", err)
			}
			for range 2 {
				if err := d.Close(); !errors.Is(err, gone) {
					t.Error("Close:", err)
				}
			}
			if err := d.Append(t.Context(), ralph.Event{Kind: ralph.EventPaused}); err != nil {
				t.Error("Append:", err)
			}
			if _, err := fmt.Fprint(d, "more\n"); !errors.Is(err, io.ErrClosedPipe) {
				t.Error("Write after Close:", err)
			}
		})
	}
	if err := (&progress.Display{W: io.Discard}).Close(); err != nil {
		t.Error("of one that was not used:", err)
	}
}

// TestDisplayDrawsSeldom: not more than 20 times a second, and once a second in silence.
func TestDisplayDrawsSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		screen := newScreen(80, 24)
		d := &progress.Display{W: screen, Terminal: true}
		out := begin(d, "T1")
		for i := range 1000 {
			fmt.Fprint(out, i)
			time.Sleep(2 * time.Millisecond)
		}
		synctest.Wait()
		before, _, _ := screen.drawn()
		if before > 40 || before < 10 {
			t.Errorf("%d writes in 2 seconds", before)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		after, _, _ := screen.drawn()
		if n := after - before; n < 9 || n > 11 {
			t.Errorf("%d writes in 10 seconds of silence", n)
		}
		ended(d, "T1")
		d.Append(t.Context(), ralph.Event{Kind: ralph.EventLoopStopped, Loop: "T1"})
		time.Sleep(time.Second)
		synctest.Wait()
		before, _, _ = screen.drawn()
		time.Sleep(time.Minute)
		synctest.Wait()
		after, _, _ = screen.drawn()
		if n := after - before; n != 0 {
			t.Errorf("%d writes although no loop runs", n)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestDisplayWidths: from 20 to 300 columns what is drawn is one row, and leaves the
// last column free.
func TestDisplayWidths(t *testing.T) {
	t.Parallel()
	for columns := 20; columns <= 300; columns += 7 {
		synctest.Test(t, func(t *testing.T) {
			screen := newScreen(columns, 24)
			d := &progress.Display{W: screen, Terminal: true, Size: func() (int, int) { return columns, 24 }, Agent: "claude",
				Place: func(ralph.Event) string { return "task 3 of 5 日本語 T004" }, Zone: time.UTC}
			out := begin(d, "任務")
			fmt.Fprint(out, "→ 日本語e\u0301\n"+strings.Repeat("日本語 e\u0301\t", 100)+"x")
			d.Live(ralph.Request{Loop: "任務"}, ralph.Usage{InputTokens: 41000, CostUSD: new(0.37)})
			time.Sleep(time.Minute)
			synctest.Wait()
			_, last, _ := screen.drawn()
			lines := strings.Split(strings.TrimSuffix(screen.text(), "\n"), "\n")
			if len(lines) != 4 || last > 0 || !strings.Contains(lines[3], "iteration 1/10") {
				t.Errorf("%d columns, %d characters in the last one: %q", columns, last, lines)
			}
			for i, least := range []int{min(columns, 100) - 4, 0, columns - 4, 0} {
				if w := term.Width(lines[i]); w < least {
					t.Errorf("%d columns: line %d has only %d: %q", columns, i, w, lines[i])
				}
			}
			d.Close()
		})
	}
}

// TestDisplayConcurrent: any number of loops at once, for the race detector, and lines
// stay whole.
func TestDisplayConcurrent(t *testing.T) {
	t.Parallel()
	for _, terminal := range []bool{false, true} {
		screen := newScreen(200, 50)
		d := &progress.Display{W: screen, Terminal: terminal, Named: true, Redact: progress.Redactor{}.Writer}
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				loop := fmt.Sprintf("T%d", i)
				out := begin(d, loop)
				for n := range 100 {
					fmt.Fprintf(out, "line %d", n)
					fmt.Fprintf(out, " of %s\n", loop)
					d.Live(ralph.Request{Loop: loop}, ralph.Usage{OutputTokens: int64(n)})
					fmt.Fprintf(d, "note %d of %s\n", n, loop)
				}
				ended(d, loop)
				d.Append(context.Background(), ralph.Event{Kind: ralph.EventLoopStopped, Loop: loop})
			})
		}
		all.Wait()
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		got := screen.text()
		for i := range 8 {
			for n := range 100 {
				if line := fmt.Sprintf("T%d | line %d of T%[1]d\n", i, n); strings.Count(got, line) != 1 {
					t.Fatalf("terminal %t: %q is there %d times", terminal, line, strings.Count(got, line))
				}
			}
		}
	}
}

// TestDisplayOfALoop: what a loop says of itself, with all parts in their places.
func TestDisplayOfALoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		screen := newScreen(80, 24)
		d := &progress.Display{W: screen, Terminal: true, Zone: time.UTC}
		var during string
		loop := &ralph.Local{
			Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
				fmt.Fprint(req.Display, "Done, I th")
				req.Live(ralph.Usage{OutputTokens: 1200, CostUSD: new(0.5)})
				time.Sleep(5 * time.Second)
				synctest.Wait()
				during = screen.text()
				fmt.Fprint(req.Display, "ink.\n")
				return ralph.Response{Output: "<promise>COMPLETE</promise>", Usage: ralph.Usage{OutputTokens: 1300, CostUSD: new(0.5)}}, nil
			}),
			Verifier: ralph.VerifierFunc(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
				time.Sleep(time.Second)
				return ralph.Verdict{Passed: c.Iteration == 2, Feedback: "not yet"}, nil
			}),
			Log: d, Live: d.Live,
			Output:    func(req ralph.Request) (display, raw io.Writer) { return d.Output(req), nil },
			Workspace: func(context.Context, string) (string, []string, error) { return "", nil, nil },
		}
		if _, err := loop.Run(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it."})); err != nil {
			t.Error(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if !strings.HasSuffix(during, "\nDone, I th\niteration 2/10 · 00:05 · $1.00 · 3k tokens\n") {
			t.Errorf("while it ran: %s", during)
		}
		want := `── 00:00:00 iteration 1/10 ────────────────────────────────────────────────────
Done, I think.
── 00:00:06 iteration 1/10: claims to be done, rejected · took 6s · $0.50 · 1k
   tokens
   | not yet

── 00:00:06 iteration 2/10 ────────────────────────────────────────────────────
Done, I think.
── 00:00:12 iteration 2/10: verified · took 6s · $0.50 · 1k tokens
   | not yet
`
		if got := screen.text(); got != want {
			t.Errorf("got %s", got)
		}
	})
}

// TestDisplaySuspend: nothing of ours stands on a terminal whose program is stopped, and
// all is there again when it goes on; what was said meanwhile is, too.
func TestDisplaySuspend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		screen := newScreen(60, 24)
		d := &progress.Display{W: screen, Terminal: true, Zone: time.UTC}
		d.Size = screen.size
		called := 0
		d.Suspend(func() { called++ }) // before the first use
		out := begin(d, "T1")
		fmt.Fprint(out, "a line\nhalf a l")
		time.Sleep(time.Second)
		const kept = "── 00:00:00 iteration 1/10 ────────────────────────────────\na line\n"
		d.Suspend(func() {
			called++
			fmt.Fprint(out, "ine\n")
			time.Sleep(time.Minute)
			if diff := cmp.Diff(kept, screen.text()); diff != "" {
				t.Error("stopped:", diff)
			}
		})
		time.Sleep(1500 * time.Millisecond)
		if diff := cmp.Diff(kept+"half a line\niteration 1/10 · 01:02 · silent for 01:01\n", screen.text()); diff != "" {
			t.Error("it goes on:", diff)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		d.Suspend(func() { called++ })
		if called != 3 {
			t.Errorf("called %d times", called)
		}
	})
}
