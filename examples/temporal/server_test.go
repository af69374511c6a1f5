package temporal_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/temporal"
	"github.com/ralph-loop/ralph/examples/temporal/dev"
	"github.com/ralph-loop/ralph/verify"
)

// serve starts a development server on a database, and returns its process.
func serve(t *testing.T, db, address string, more ...string) *exec.Cmd {
	t.Helper()
	path, err := dev.Program(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(address)
	cmd := exec.Command(path, append([]string{"server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", port, "--db-filename", db, "--log-level", "never",
		"--search-attribute", "RalphTask=Keyword", "--search-attribute", "RalphAgent=Keyword", "--search-attribute", "RalphStop=Keyword", "--search-attribute", "RalphCost=Double", "--search-attribute", "RalphSum=Keyword"}, more...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	until(t, "the server", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return cmd
}

// free is an address on which nobody listens.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// parkAt makes a park on a server of its own.
func parkAt(t *testing.T, address string) *park {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: address, Logger: dev.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &park{T: t, address: address, queue: "q", loop: &temporal.Loop{Client: c, Queue: "q", Heartbeat: 30 * time.Second}}
}

// TestContinued: a loop whose history grows too long goes on in another one. It is the same
// loop to those who wait for it, steer it, or look for it.
func TestContinued(t *testing.T) {
	t.Parallel()
	address := free(t)
	serve(t, filepath.Join(t.TempDir(), "temporal.db"), address, "--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=20")
	p, g := parkAt(t, address), newGate()
	p.work(on(script{"1", "2", "3", "4", "5", g, claim}))
	start := p.start("loop", ralph.Task{})
	r := p.run(start)
	begun, err := p.loop.Client.DescribeWorkflowExecution(within(t), start.Loop, "")
	for err != nil {
		begun, err = p.loop.Client.DescribeWorkflowExecution(within(t), start.Loop, "")
	}
	g.wait(t)
	again := p.run(start) // attaches
	r.signal(temporal.SignalGuide, "look at the parser")
	r.at("the advice", func(s ralph.State) bool { return len(s.Guidance) == 1 })
	close(g.goOn)
	r.verified(7, 1)
	again.verified(7, 1)
	p.run(start).verified(7, 1)
	first := begun.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	if kinds := fmt.Sprint(onRecord(r.recorded(first, "continued"))); !strings.Contains(kinds, "{anew ") {
		t.Errorf("it does not go on in another history: %s", kinds)
	}
	r.recorded("", "continued-last")
	desc, err := p.loop.Client.DescribeWorkflow(within(t), start.Loop, "")
	if err != nil {
		t.Fatal(err)
	}
	if agent, _ := desc.TypedSearchAttributes.GetKeyword(temporal.TaskKey); agent != "loop" {
		t.Errorf("it is found by the task %q", agent)
	}
}

// TestServerKilled: the server is killed while 50 loops run, and comes back: each comes to
// its end, and no attempt that is on record is made twice.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	db, address := filepath.Join(t.TempDir(), "temporal.db"), free(t)
	first := serve(t, db, address)
	const loops = 50
	ran, holds := make(chan string, 100*loops), make(chan struct{})
	p := parkAt(t, address)
	stop := p.work(temporal.Worker{Host: "a", Local: &ralph.Local{
		Verifier: verify.String{},
		Runner: ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
			ran <- fmt.Sprintf("%s %d.%d", req.Loop, req.Iteration, req.Attempt)
			if req.Iteration == 2 {
				select {
				case <-holds:
				case <-ctx.Done():
					return ralph.Response{}, context.Cause(ctx)
				}
			}
			if req.Iteration == 3 {
				return ralph.Response{Output: claim}, nil
			}
			return ralph.Response{Output: "not yet"}, nil
		}),
	}})
	var all []*running
	for i := range loops {
		all = append(all, p.run(p.start(fmt.Sprintf("loop%02d", i), ralph.Task{Dir: t.TempDir()})))
	}
	until(t, "the second attempt of all", func() bool { return len(ran) >= 2*loops })
	first.Process.Kill()
	first.Wait()
	close(holds) // what they answer now has nobody to be told to
	serve(t, db, address)
	for _, r := range all {
		if r.end(); r.err != nil { // the connection was lost: it is waited for again
			again := p.run(ralph.Start(ralph.Task{ID: strings.TrimPrefix(r.name, "q."), Prompt: "Do it.", Dir: r.state.Task.Dir}))
			again.end()
			t.Logf("%s: %v, and then %q, %v", r.name, r.err, again.state.Stop, again.err)
			r.state, r.err = again.state, again.err
		}
		if r.err != nil || r.state.Stop != ralph.StopVerified || r.state.Iteration != 3 {
			t.Errorf("%s ended %q at %d.%d: %v", r.name, r.state.Stop, r.state.Iteration, r.state.Attempt, r.err)
		}
	}
	stop()
	close(ran)
	times := map[string]int{}
	for attempt := range ran {
		times[attempt]++
	}
	for attempt, n := range times {
		if n > 1 {
			t.Errorf("%s was made %d times", attempt, n)
		}
	}
}
