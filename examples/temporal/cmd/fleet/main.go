// Command fleet runs many loops on Temporal, on worker processes of its own, and shows how
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
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/temporal"
	"github.com/ralph-loop/ralph/examples/temporal/dev"
)

// atOnce is how many loops run at the same time: a development server is one process.
const atOnce = 250

type fleet struct {
	loops, workers, iterations int
	server, dir                string // dir has the evidence; the task queue is named after it
	client                     client.Client
}

func main() {
	var f fleet
	flag.IntVar(&f.loops, "loops", 200, "how many loops")
	flag.IntVar(&f.workers, "workers", 4, "how many worker processes")
	flag.IntVar(&f.iterations, "iterations", 5, "how many iterations each loop takes")
	flag.StringVar(&f.server, "server", "", "the Temporal service at `HOST:PORT`, not one of its own")
	flag.StringVar(&f.dir, "work", "", "be one of the workers, of the fleet in this `folder`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second time it ends at once
	do := f.run
	if f.dir != "" {
		do = f.work
	}
	log.SetFlags(0)
	if err := do(ctx); err != nil {
		log.Fatal("fleet: ", err)
	}
}

// work is a worker process, until its standard input ends.
func (f fleet) work(context.Context) error {
	agent := func(_ context.Context, r ralph.Request) (out ralph.Response, err error) {
		if out.Output = "Not yet."; r.Iteration >= f.iterations-1 {
			out.Output = "<promise>COMPLETE</promise>"
		}
		return out, os.WriteFile(filepath.Join(r.Dir, r.Task), []byte(strconv.Itoa(r.Iteration)), 0o600)
	}
	check := func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
		if done, err := os.ReadFile(filepath.Join(c.Task.Dir, c.Task.ID)); err != nil || string(done) != strconv.Itoa(f.iterations) {
			return ralph.Reject(fmt.Sprintf("%s of %d steps are done", done, f.iterations)), err
		}
		return ralph.Pass(), nil
	}
	c, err := client.Dial(client.Options{HostPort: f.server, Logger: dev.Quiet()})
	if err != nil {
		return err
	}
	w := worker.New(c, filepath.Base(f.dir), worker.Options{WorkerStopTimeout: 5 * time.Second})
	if err = errors.Join(temporal.Register(w, &ralph.Local{Runner: ralph.RunnerFunc(agent), Verifier: ralph.VerifierFunc(check)}), w.Start()); err == nil {
		_, err = io.Copy(io.Discard, os.Stdin)
		w.Stop()
	}
	status, _ := os.ReadFile("/proc/self/status") // of Linux
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	fmt.Printf("worker %d: peak memory %s kB\n", os.Getpid(), strings.Fields(peak + " ?")[0])
	return err
}

// run starts what is needed, has the loops run, and ends what it has started.
func (f fleet) run(ctx context.Context) (err error) {
	if flag.NArg() > 0 || min(f.loops, f.workers, f.iterations) < 1 {
		return errors.New("there are flags alone, and --loops, --workers and --iterations begin at 1")
	}
	if f.dir, err = os.MkdirTemp("", "fleet-"); err != nil {
		return err
	}
	defer os.RemoveAll(f.dir)
	queue, hint := filepath.Base(f.dir), "nothing is left"
	if f.server != "" {
		hint = fmt.Sprintf(`its loops wait for workers; end them: temporal workflow terminate --address %s --reason over --query "TaskQueue = '%s'"`, f.server, queue)
		f.client, err = client.DialContext(ctx, client.Options{HostPort: f.server, Logger: dev.Quiet()})
	} else if srv, failed := dev.Server(ctx, "", os.Stderr); failed == nil {
		defer srv.Stop()
		f.client, f.server = srv.Client(), srv.FrontendHostPort()
	} else {
		err = failed
	}
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var workers sync.WaitGroup
	defer workers.Wait()
	for range f.workers {
		w := exec.CommandContext(ctx, os.Args[0], "--server", f.server, "--work", f.dir, "--iterations", strconv.Itoa(f.iterations))
		w.Env, w.Stdout, w.Stderr = append(os.Environ(), "XDG_STATE_HOME="+f.dir), os.Stdout, os.Stderr
		in, err := w.StdinPipe()
		if err = errors.Join(err, w.Start()); err != nil {
			return err
		}
		defer in.Close()
		workers.Go(func() { _ = w.Wait() })
	}
	go func() { workers.Wait(); stop(errors.New("all its workers have ended")) }()
	states := make([]ralph.State, f.loops)
	for i := range states {
		states[i] = ralph.Start(ralph.Task{ID: fmt.Sprintf("%s-%05d", queue, i+1), Agent: "script", Prompt: "Do the steps.", Dir: f.dir, Limits: ralph.Limits{Iterations: f.iterations}})
	}
	began, iterations, ended := time.Now(), 0, make(chan error)
	go func() {
		var failed error
		for s, err := range ralph.RunAll(ctx, &temporal.Loop{Client: f.client, Queue: queue}, atOnce, states...) {
			iterations += s.Iteration
			failed = cmp.Or(failed, err)
		}
		ended <- failed
	}()
	for tick, took := time.Tick(time.Second), 0.; ; {
		select {
		case err = <-ended:
			took, ended = time.Since(began).Seconds(), nil
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), hint)
		case <-tick:
		}
		running, events, bytes := f.show(ctx)
		if n := float64(f.loops); ended == nil && running == 0 {
			fmt.Printf("\n%d loops, %d iterations in %.1f s: %.1f loops/s, %.1f iterations/s; history of a loop: %.0f events, %.0f bytes\n",
				f.loops, iterations, took, n/took, float64(iterations)/took, float64(events)/n, float64(bytes)/n)
			return err
		}
	}
}

// show shows how the loops stand: how many run, and why the others have stopped.
func (f fleet) show(ctx context.Context) (running int, events, bytes int64) {
	n, req := map[string]int{}, workflowservice.ListWorkflowExecutionsRequest{PageSize: 1000, Query: "TaskQueue = '" + filepath.Base(f.dir) + "'"}
	for more := true; more; more = len(req.NextPageToken) > 0 {
		page, err := f.client.ListWorkflow(ctx, &req)
		if err != nil {
			return 1, 0, 0 // it is asked again
		}
		for _, e := range page.Executions {
			how := e.Status.String()
			_ = converter.GetDefaultDataConverter().FromPayload(e.SearchAttributes.GetIndexedFields()[temporal.StopKey.GetName()], &how)
			n[how], events, bytes = n[how]+1, events+e.HistoryLength, bytes+e.HistorySizeBytes
		}
		req.NextPageToken = page.NextPageToken
	}
	line := "%s\n"
	if out, err := os.Stdout.Stat(); err == nil && out.Mode()&os.ModeCharDevice != 0 {
		line = "\r\x1b[K%s"
	}
	fmt.Printf(line, strings.Trim(fmt.Sprint(n), "map[]"))
	return n["Running"], events, bytes
}
