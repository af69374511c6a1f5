package temporal_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/temporal"
	"github.com/ralph-loop/ralph/examples/temporal/dev"
)

// workerMode makes this test binary a worker, of which it tells.
const workerMode = "RALPH_TEST_WORKER"

// agentName is in the environment of a worker's agents, and all they start.
const agentName = "RALPH_TEST_PARK"

// A machine is a worker in a process of its own.
type machine struct {
	Address, Queue string
	Host           string
	Agent          string   // a shell script
	Check          string   // a line of shell that verifies; "" = the agent's word is enough
	Guard          []string // what the verifier guards
	Hands          bool     // it makes attempts, one at a time, and runs no workflows
	Dir, Remote    string   // of a pipeline; "" = loops alone
}

// prelude is what each agent begins with: it reads which attempt it is, and writes down
// in the workspace that it runs.
const prelude = `read -r n
log() { echo "$*" >>"$LOG"; }
works() { echo '{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"I work."}],"usage":{"input_tokens":100,"output_tokens":20}},"parent_tool_use_id":null}'; }
says() { printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","total_cost_usd":0.5,"usage":{"input_tokens":200,"output_tokens":40}}\n' "$1"; }
claims() { says 'Done.\n<promise>COMPLETE</promise>'; }
log agent $n
`

// hands registers no workflows.
type hands struct{ worker.Registry }

func (hands) RegisterWorkflowWithOptions(any, workflow.RegisterOptions) {}

func workerProgram(text string) error {
	var m machine
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return err
	}
	c, err := client.Dial(client.Options{HostPort: m.Address, Logger: dev.Quiet(), Identity: "worker on " + m.Host})
	if err != nil {
		return err
	}
	defer c.Close()
	l := &ralph.Local{
		Runner:   &ralph.Command{Args: []string{"sh", "-c", prelude + m.Agent}, Format: ralph.FormatClaude, Grace: time.Second},
		Verifier: m.verifier(),
		Prompt: func(_ context.Context, s ralph.State) (string, error) {
			return fmt.Sprintf("%d.%d\n%s\n", s.Iteration, s.Attempt, s.Prompt()), nil
		},
	}
	options := worker.Options{WorkerStopTimeout: 20 * time.Second, StickyScheduleToStartTimeout: time.Second, EnableSessionWorker: m.Dir != "", DisableWorkflowWorker: m.Hands}
	if m.Hands {
		options.MaxConcurrentActivityTaskPollers = 1
	}
	w := worker.New(c, m.Queue, options)
	own := &temporal.Worker{Local: l, Host: m.Host}
	if m.Dir != "" {
		if err := m.site(own); err != nil {
			return err
		}
	}
	var r worker.Registry = w
	if m.Hands {
		r = hands{w}
	}
	if err := own.Register(r); err != nil {
		return err
	}
	if err := w.Start(); err != nil {
		return err
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin) // until the test is over
	w.Stop()
	return nil
}

// A program is a worker's process.
type program struct {
	*exec.Cmd
	stdin io.Closer
	ended chan struct{}
}

// starts a worker in a process of its own, and waits until it works.
func (m machine) starts(t *testing.T, env ...string) *program {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	p := &program{Cmd: exec.Command(os.Args[0]), ended: make(chan struct{})}
	p.Env = append(append(os.Environ(), workerMode+"="+string(text), agentName+"="+t.Name()), env...)
	p.Stderr = t.Output()
	p.WaitDelay = time.Minute
	if p.stdin, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	go func() { p.Wait(); close(p.ended) }()
	t.Cleanup(p.stop)
	if line != "ready\n" {
		t.Fatalf("the worker said %q", line)
	}
	return p
}

// stop has it stop in good order.
func (p *program) stop() {
	p.stdin.Close()
	<-p.ended
}

// kill kills it.
func (p *program) kill() {
	p.Process.Kill()
	<-p.ended
}
