package temporal_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/temporal"
	"github.com/ralph-loop/ralph/examples/temporal/dev"
)

// patience is how long a test waits for what must come, however busy the machine is.
const patience = 90 * time.Second

// The development server that tests share, which is started for the first of them.
var shared struct {
	sync.Mutex
	*testsuite.DevServer
}

func TestMain(m *testing.M) {
	if text := os.Getenv(workerMode); text != "" {
		os.Unsetenv(workerMode)
		if err := workerProgram(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	home, err := os.MkdirTemp("", "temporal-test-")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_STATE_HOME", home)
	code := m.Run()
	if shared.DevServer != nil {
		shared.Stop()
	}
	os.RemoveAll(home)
	os.Exit(code)
}

// server returns a client of the shared server, and its address.
func server(t *testing.T) (client.Client, string) {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.DevServer == nil {
		s, err := dev.Server(context.Background(), "", os.Stderr)
		if err != nil {
			t.Fatal(err)
		}
		shared.DevServer = s
	}
	return shared.Client(), shared.FrontendHostPort()
}

// within is a context for what must come.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// until waits for something that no event tells of.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, tick := within(t), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("it did not come: %s", what)
		}
	}
}

// A park is what a test of loops has: a queue of its own, and clients.
type park struct {
	*testing.T
	loop           *temporal.Loop
	address, queue string
}

// newPark makes one on the shared server.
func newPark(t *testing.T, heartbeat time.Duration) *park {
	t.Helper()
	c, address := server(t)
	queue := strings.ReplaceAll(t.Name(), "/", "-")
	return &park{T: t, address: address, queue: queue, loop: &temporal.Loop{Client: c, Queue: queue, Heartbeat: heartbeat}}
}

// work has a worker in this process make attempts until the test is over, or it is told to
// stop.
func (p *park) work(w temporal.Worker) (stop func()) {
	p.Helper()
	return p.workAs(w, worker.Options{WorkerStopTimeout: 20 * time.Second, StickyScheduleToStartTimeout: time.Second, EnableSessionWorker: w.Trees != nil})
}

func (p *park) workAs(w temporal.Worker, options worker.Options) (stop func()) {
	p.Helper()
	r := worker.New(p.loop.Client, p.queue, options)
	if err := w.Register(r); err != nil {
		p.Fatal(err)
	}
	if err := r.Start(); err != nil {
		p.Fatal(err)
	}
	stop = sync.OnceFunc(r.Stop)
	p.Cleanup(stop)
	return stop
}

// A running loop is one that somebody waits for.
type running struct {
	*park
	name   string
	cancel context.CancelCauseFunc
	done   chan struct{}
	state  ralph.State
	err    error
}

// run waits for a loop in a goroutine of its own.
func (p *park) run(s ralph.State) *running {
	p.Helper()
	ctx, cancel := context.WithCancelCause(within(p.T))
	r := &running{park: p, name: s.Loop, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.state, r.err = p.loop.Run(ctx, s)
	}()
	return r
}

// end returns how the loop has ended.
func (r *running) end() ralph.State {
	r.Helper()
	<-r.done
	return r.state
}

// verified is how a loop must end: verified, at an attempt.
func (r *running) verified(iteration, attempt int) ralph.State {
	r.Helper()
	s := r.end()
	if r.err != nil || s.Stop != ralph.StopVerified || s.Iteration != iteration || s.Attempt != attempt {
		r.Fatalf("it ended %q at %d.%d (%s; %v), want verified at %d.%d", s.Stop, s.Iteration, s.Attempt, s.Detail, r.err, iteration, attempt)
	}
	return s
}

// at waits until the loop stands as it should.
func (r *running) at(what string, is func(ralph.State) bool) ralph.State {
	r.Helper()
	var s ralph.State
	until(r.T, what, func() bool {
		var err error
		s, err = r.loop.State(within(r.T), r.name)
		return err == nil && is(s)
	})
	return s
}

// signal steers the loop.
func (r *running) signal(name string, v any) {
	r.Helper()
	if err := r.loop.Client.SignalWorkflow(within(r.T), r.name, "", name, v); err != nil {
		r.Fatal(err)
	}
}

// start is the state of a loop that begins, with a name that is the test's own.
func (p *park) start(name string, t ralph.Task) ralph.State {
	p.Helper()
	t.ID = name
	if t.Prompt == "" {
		t.Prompt = "Do it."
	}
	if t.Dir == "" {
		t.Dir = p.TempDir()
	}
	s := ralph.Start(t)
	s.Loop = p.queue + "." + name
	return s
}

// A wire is a way to the server that can be cut.
type wire struct {
	net.Listener
	gate sync.RWMutex
}

// cut cuts it until the test is over, or it is mended.
func (w *wire) cut(t *testing.T) (mend func()) {
	w.gate.Lock()
	mend = sync.OnceFunc(w.gate.Unlock)
	t.Cleanup(mend)
	return mend
}

// newWire makes one, which ends with the test.
func newWire(t *testing.T, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: l}
	ctx := t.Context()
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			go w.carry(ctx, in, out)
			go w.carry(ctx, out, in)
		}
	}()
	t.Cleanup(func() { l.Close() })
	return w
}

// carry takes what comes from one end to the other, but for what comes while it is cut,
// which waits.
func (w *wire) carry(ctx context.Context, from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	defer context.AfterFunc(ctx, func() { from.Close() })()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		w.gate.RLock()
		_, failed := to.Write(buf[:n])
		w.gate.RUnlock()
		if err != nil || failed != nil {
			return
		}
	}
}

// write writes a file, and returns its path.
func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// lines are those of a file, none if it is not there.
func lines(path string) []string {
	text, _ := os.ReadFile(path)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}
