// Command fleet runs many loops on Temporal, with worker processes of its own, and shows how
// they stand. Their agent is a script that claims once too early, and is rejected. It is a
// demonstration, and a load test.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/temporal"
	"github.com/ralph-loop/ralph/examples/temporal/internal/dev"
)

type fleet struct {
	loops, workers, iterations int
	server, dir                string // dir holds the evidence, and names the task queue
}

func main() {
	var f fleet
	flag.IntVar(&f.loops, "loops", 200, "")
	flag.IntVar(&f.workers, "workers", 4, "")
	flag.IntVar(&f.iterations, "iterations", 5, "")
	flag.StringVar(&f.server, "server", "", "")
	flag.StringVar(&f.dir, "work", "", "") // this is a worker
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: fleet [--loops 200] [--workers 4] [--iterations 5] [--server HOST:PORT]")
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second time it ends at once
	run := f.run
	if f.dir != "" {
		run = f.work
	}
	if flag.NArg() > 0 || min(f.loops, f.workers, f.iterations) < 1 {
		run = func(context.Context) error { return errors.New("it takes flags alone, and numbers from 1; -h tells which") }
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

// work is a worker process, until standard input ends.
func (f fleet) work(context.Context) error {
	agent := func(_ context.Context, r ralph.Request) (ralph.Response, error) {
		out := fmt.Sprintf("Step %d of %d is done.", r.Iteration, f.iterations)
		if r.Iteration >= f.iterations-1 {
			out += "\n<promise>COMPLETE</promise>"
		}
		return ralph.Response{Output: out}, os.WriteFile(filepath.Join(r.Dir, r.Task), []byte(strconv.Itoa(r.Iteration)), 0o600)
	}
	check := func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
		if steps, err := os.ReadFile(filepath.Join(c.Task.Dir, c.Task.ID)); err != nil || string(steps) != strconv.Itoa(f.iterations) {
			return ralph.Reject(fmt.Sprintf("%s of %d steps are done", steps, f.iterations)), err
		}
		return ralph.Pass(), nil
	}
	c, err := client.Dial(client.Options{HostPort: f.server, Logger: dev.Quiet()})
	if err != nil {
		return err
	}
	w := worker.New(c, filepath.Base(f.dir), worker.Options{WorkerStopTimeout: 5 * time.Second})
	if err = temporal.Register(w, &ralph.Local{Runner: ralph.RunnerFunc(agent), Verifier: ralph.VerifierFunc(check)}); err == nil {
		err = w.Start()
	}
	if err == nil {
		_, err = io.Copy(io.Discard, os.Stdin)
		w.Stop()
	}
	status, _ := os.ReadFile("/proc/self/status") // of Linux
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	fmt.Println("worker", os.Getpid(), "peak memory", strings.Fields(peak + " unknown")[0], "kB")
	return err
}

// run starts what is needed, has the loops run, and ends what it has started.
func (f fleet) run(ctx context.Context) (err error) {
	var c client.Client
	if own := f.server == ""; own {
		srv, err := dev.Server(ctx, "", os.Stderr)
		if err != nil {
			return err
		}
		defer srv.Stop()
		c, f.server = srv.Client(), srv.FrontendHostPort()
	} else if c, err = client.DialContext(ctx, client.Options{HostPort: f.server, Logger: dev.Quiet()}); err != nil {
		return err
	}
	if f.dir, err = os.MkdirTemp("", "fleet-"); err != nil {
		return err
	}
	defer os.RemoveAll(f.dir)

	workers, end := context.WithCancel(context.Background())
	var group sync.WaitGroup
	defer group.Wait()
	defer end()
	for range f.workers {
		w := exec.CommandContext(workers, os.Args[0], "--server", f.server, "--work", f.dir, "--iterations", strconv.Itoa(f.iterations))
		w.Env, w.Stdout, w.Stderr, w.WaitDelay = append(os.Environ(), "XDG_STATE_HOME="+f.dir), os.Stdout, os.Stderr, 10*time.Second
		in, err := w.StdinPipe()
		w.Cancel = func() error { return in.Close() }
		if err = errors.Join(err, w.Start()); err != nil {
			return err
		}
		group.Go(func() { _ = w.Wait() })
	}
	go func() { group.Wait(); end() }()

	states := make([]ralph.State, f.loops)
	for i := range states {
		states[i] = ralph.Start(ralph.Task{ID: fmt.Sprintf("T%05d", i+1), Agent: "script", Prompt: "Do the steps.", Dir: f.dir, Limits: ralph.Limits{Iterations: f.iterations}})
		states[i].Loop = filepath.Base(f.dir) + "-" + states[i].Task.ID
	}
	began, iterations, ends := time.Now(), 0, make(chan error)
	go func() {
		for s, err := range ralph.RunAll(ctx, again{&temporal.Loop{Client: c, Queue: filepath.Base(f.dir)}}, -1, states...) {
			iterations += s.Iteration
			ends <- err
		}
		close(ends)
	}()
	var failed error
	took := time.Duration(0)
	for tick, left := time.NewTicker(time.Second), ends; ; {
		select {
		case err, more := <-left:
			if failed = cmp.Or(failed, err); !more {
				left, took = nil, time.Since(began)
			}
			continue
		case <-tick.C:
		case <-ctx.Done():
			return errors.New("interrupted; nothing is left")
		case <-workers.Done():
			return errors.New("no worker is left")
		}
		n, events, bytes, err := f.stand(ctx, c)
		fmt.Println(strings.Trim(fmt.Sprint(n), "map[]"), err)
		if left == nil && n["Running"] == 0 && err == nil {
			loops := float64(f.loops)
			fmt.Printf("%d loops, %d iterations in %v: %.1f loops/s, %.1f iterations/s; history of a loop: %.0f events, %.0f bytes\n", f.loops, iterations, took.Round(time.Millisecond),
				loops/took.Seconds(), float64(iterations)/took.Seconds(), float64(events)/loops, float64(bytes)/loops)
			return failed
		}
	}
}

// again is a loop that is attached to once more when the service was too busy to answer.
type again struct{ *temporal.Loop }

func (a again) Run(ctx context.Context, s ralph.State) (ralph.State, error) {
	for {
		final, err := a.Loop.Run(ctx, s)
		if _, late := errors.AsType[*serviceerror.DeadlineExceeded](err); !late || ctx.Err() != nil {
			return final, err
		}
		fmt.Println("again", err)
	}
}

// stand tells how the loops stand: how many run, and why the others have stopped.
func (f fleet) stand(ctx context.Context, c client.Client) (n map[string]int, events, bytes int64, err error) {
	n = map[string]int{}
	for page, more := []byte(nil), true; more; more = len(page) > 0 {
		r, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{PageSize: 1000, NextPageToken: page, Query: "TaskQueue = '" + filepath.Base(f.dir) + "'"})
		if err != nil {
			return n, 0, 0, err
		}
		for _, e := range r.Executions {
			how := e.Status.String()
			_ = converter.GetDefaultDataConverter().FromPayload(e.SearchAttributes.GetIndexedFields()[temporal.StopKey.GetName()], &how)
			n[how]++
			events, bytes = events+e.HistoryLength, bytes+e.HistorySizeBytes
		}
		page = r.NextPageToken
	}
	return n, events, bytes, nil
}
