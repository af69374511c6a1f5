package progress_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

// crowdLoops is how many loops a crowd of processes works on. One in four is cancelled at last.
const crowdLoops = 24

func crowdLoop(n int) string { return fmt.Sprintf("L%d", n) }

// crowdProgram starts, goes on with, steers, cancels and looks at loops that many others have
// their hands on too: its arguments are the folder and a number. It begins
// when its input ends. It prints what it has done, a line each, and what is wrong.
func crowdProgram(args []string) error {
	p, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	c := &crowd{folder: args[0], p: p, d: &progress.Dir{Path: filepath.Join(args[0], "journals"), NoSync: true}}
	r := rand.New(rand.NewPCG(uint64(p), 1))
	var errs []error
	for range 8 {
		loop := crowdLoop(r.IntN(crowdLoops))
		switch r.IntN(4) {
		case 0, 1:
			err = c.hold(loop)
		case 2:
			err = c.guide(loop)
		default:
			err = c.query()
		}
		errs = append(errs, err)
	}
	n := r.IntN(crowdLoops/4) * 4
	errs = append(errs, c.cancel(crowdLoop(n)))
	return errors.Join(errs...)
}

// A crowd is one of the processes.
type crowd struct {
	folder string
	p, n   int
	d      *progress.Dir
}

// hold starts a loop, or goes on with it, for two iterations.
func (c *crowd) hold(loop string) error {
	j, err := c.d.Open(loop)
	if errors.Is(err, fs.ErrNotExist) {
		j, err = c.d.Create(ralph.Start(ralph.Task{ID: loop, Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1e6}}), progress.KindLoop)
	}
	if held, ok := errors.AsType[*progress.HeldError](err); ok {
		if pid := held.Holder.PID; pid <= 0 || pid == os.Getpid() || held.Holder.Since.IsZero() {
			return fmt.Errorf("%s: wrong holder: %+v", loop, held)
		}
		fmt.Println("held", loop)
		return nil
	}
	if errors.Is(err, fs.ErrExist) { // somebody was faster, and has let go of it
		return nil
	}
	if err != nil {
		return err
	}
	alone := filepath.Join(c.folder, loop)
	if err := os.Mkdir(alone, 0o700); err != nil {
		return fmt.Errorf("%s: two hold it: %w", loop, err)
	}
	ctx, enough := context.WithCancel(context.Background())
	defer enough()
	ran := 0
	_, err = j.Run(ctx, &ralph.Local{
		Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			return ralph.Response{Output: "I have worked."}, nil
		}),
		Verifier: verify.String{}, Workspace: noWorkspace,
		Log: ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error {
			if ev.Kind == ralph.EventIterationEnded && ev.Iteration.Fault == "" {
				fmt.Println("ran", loop, ev.Iteration.Number)
				if ran++; ran == 2 {
					enough()
				}
			}
			return nil
		}),
	})
	if errors.Is(err, ralph.ErrCancelled) || errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, os.Remove(alone), j.Close())
}

func (c *crowd) guide(loop string) error {
	c.n++
	text := fmt.Sprintf("advice-%d-%d.", c.p, c.n)
	_, err := c.d.Guide(loop, text)
	if errors.Is(err, progress.ErrOver) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		fmt.Println("guided", loop, text)
	}
	return err
}

func (c *crowd) cancel(loop string) error {
	_, err := c.d.Cancel(loop, fmt.Sprintf("by %d", c.p))
	if errors.Is(err, progress.ErrOver) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		fmt.Println("cancelled", loop)
	}
	return err
}

func (c *crowd) query() error {
	for e, err := range c.d.Loops(context.Background()) {
		switch {
		case err != nil:
			return err
		case e.State.Loop != e.Loop || e.Status == progress.StatusFailed || e.Status == progress.StatusCompleted:
			return fmt.Errorf("listed: %+v", e)
		case e.Holder != nil && e.Holder.PID <= 0:
			return fmt.Errorf("%s: wrong holder: %+v", e.Loop, e.Holder)
		}
	}
	return nil
}

// TestCrowd: two hundred processes start, go on with, steer, cancel and look at loops
// in one folder at once. No two hold one loop, nothing that was answered for is
// lost, nobody waits for ever.
func TestCrowd(t *testing.T) {
	t.Parallel()
	size := 200
	if testing.Short() {
		size = 30
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	folder := t.TempDir()
	go1, goes, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer goes.Close()
	d := &progress.Dir{Path: filepath.Join(folder, "journals")}
	for n := 0; n < crowdLoops; n += 4 { // a new one may take the place of a cancelled one, which is not meant here
		j := create(t, d, ralph.Start(ralph.Task{ID: crowdLoop(n), Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1e6}}))
		s := j.State
		if _, err := j.Record(t.Context(), ralph.Event{Kind: ralph.EventLoopStarted, State: &s}); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	outs := make([]bytes.Buffer, size)
	var all sync.WaitGroup
	for p := range size {
		cmd := withContext(ctx, program("crowd", folder, strconv.Itoa(p)))
		cmd.Stdin, cmd.Stdout, cmd.Stderr = go1, &outs[p], &outs[p]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if err := cmd.Wait(); err != nil {
				t.Errorf("%d: %v: %s", p, err, &outs[p])
			}
		})
	}
	go1.Close()
	goes.Close() // they begin
	all.Wait()
	if ctx.Err() != nil {
		t.Fatal("they wait for each other")
	}
	did := map[string][]string{} // by what and loop
	for i := range outs {
		for line := range strings.Lines(outs[i].String()) {
			what, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			loop, arg, _ := strings.Cut(rest, " ")
			did[what+" "+loop] = append(did[what+" "+loop], arg)
		}
	}
	counts := map[string]int{}
	for n := range crowdLoops {
		checkCrowd(t, d, crowdLoop(n), did, counts)
	}
	t.Log(counts)
}

func withContext(ctx context.Context, cmd *exec.Cmd) *exec.Cmd {
	with := exec.CommandContext(ctx, cmd.Path)
	with.Env = cmd.Env
	return with
}

// checkCrowd compares what is on record of a loop with what they say they did.
func checkCrowd(t *testing.T, d *progress.Dir, loop string, did map[string][]string, counts map[string]int) {
	f, err := os.Open(d.File(loop))
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	var ran, guided []string
	cancelled := 0
	for rec, err := range progress.ReadJSONL(f) {
		switch ev := rec.Event; {
		case err != nil:
			t.Error(err)
		case ev.Kind == ralph.EventIterationEnded && ev.Iteration.Fault == "":
			ran = append(ran, strconv.Itoa(ev.Iteration.Number))
		case ev.Kind == ralph.EventRequested:
			guided = append(guided, ev.Text)
		case ev.Kind == ralph.EventCancelled:
			cancelled++
		}
	}
	j, err := d.Open(loop)
	if err != nil {
		t.Error(err)
		return
	}
	defer j.Close()
	for i, n := range ran {
		if n != strconv.Itoa(i+1) {
			t.Errorf("%s: iterations on record: %v", loop, ran)
			break
		}
	}
	if said := did["ran "+loop]; len(said) != len(ran) {
		t.Errorf("%s: %d iterations ran, %d are on record", loop, len(said), len(ran))
	}
	for _, text := range did["guided "+loop] {
		if !slices.Contains(guided, text) {
			t.Errorf("%s: %q is lost", loop, text)
		}
	}
	if said := len(did["cancelled "+loop]); said > 1 || (said == 1) != (cancelled > 0) || (said == 1) != (j.State.Stop == ralph.StopCancelled) { // who runs it may record it too
		t.Errorf("%s: cancelled by %d, %d times on record, state %q", loop, said, cancelled, j.State.Stop)
	}
	counts["iterations"] += len(ran)
	counts["pieces of advice"] += len(guided)
	counts["cancels"] += cancelled
	counts["refused, for it was held"] += len(did["held "+loop])
}
