package temporal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/worker"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/temporal"
)

// A workshop is a loop whose agents write down what they do in a file, and may run on
// several machines.
type workshop struct {
	*park
	machine
	log   string
	state ralph.State
	env   []string
}

// newWorkshop makes one; agent is a shell script, which prelude begins.
func newWorkshop(t *testing.T, heartbeat time.Duration, agent string) *workshop {
	t.Helper()
	t.Parallel()
	p := newPark(t, heartbeat)
	w := &workshop{park: p, machine: machine{Address: p.address, Queue: p.queue, Agent: agent}, log: filepath.Join(t.TempDir(), "log")}
	w.state = p.start("loop", ralph.Task{})
	w.env = []string{"LOG=" + w.log, "XDG_STATE_HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir()}
	t.Cleanup(func() {
		for pid := range w.agents() {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return w
}

// hands has the machines make attempts alone, and this process run the workflows.
func (w *workshop) hands() {
	w.Helper()
	w.Hands = true
	w.workAs(temporal.Worker{Local: &ralph.Local{}, Host: "none"}, worker.Options{LocalActivityWorkerOnly: true})
}

// worker starts a worker on a machine.
func (w *workshop) worker(host string, env ...string) *program {
	w.Helper()
	w.Host = host
	return w.machine.starts(w.T, append(slices.Clone(w.env), env...)...)
}

// logged waits until a line is in the log.
func (w *workshop) logged(line string) {
	w.Helper()
	defer func() {
		if w.Failed() {
			s, err := w.loop.State(context.WithoutCancel(w.Context()), w.state.Loop)
			w.Logf("in the log is %q; the loop is %+v: %v", lines(w.log), s, err)
		}
	}()
	until(w.T, "in the log: "+line, func() bool { return slices.Contains(lines(w.log), line) })
}

// wrote checks the whole log.
func (w *workshop) wrote(want ...string) {
	w.Helper()
	if got := lines(w.log); !slices.Equal(got, want) {
		w.Errorf("what ran is %q, want %q", got, want)
	}
}

// agents are the processes of the workshop's agents that live, with their marks.
func (w *workshop) agents() map[int]string {
	found := map[int]string{}
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range environs {
		env, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(env, []byte(agentName+"="+w.Name()+"\x00")) {
			continue
		}
		i := bytes.Index(env, []byte("RALPH_RUN_"))
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && i >= 0 {
			found[pid], _, _ = strings.Cut(string(env[i:]), "=")
		}
	}
	return found
}

// gone waits until no process of the agents lives that lived before.
func (w *workshop) gone(before map[int]string) {
	w.Helper()
	until(w.T, "the end of the agent", func() bool {
		now := w.agents()
		for pid := range before {
			if _, lives := now[pid]; lives {
				return false
			}
		}
		return true
	})
}

// watchdogs are the children of a worker that end its agents when it is killed.
func watchdogs(t *testing.T, of int) (pids []int) {
	t.Helper()
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", of))
	for _, file := range tasks {
		children, _ := os.ReadFile(file)
		for field := range strings.FieldsSeq(string(children)) {
			args, _ := os.ReadFile("/proc/" + field + "/cmdline")
			if pid, err := strconv.Atoi(field); err == nil && bytes.HasSuffix(args, []byte("ralph-watchdog\x00")) {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// worksOn is an agent that works without an end in its first attempt, also in a session of
// its own, and claims in all others.
const worksOn = `case $n in
1.1) works; setsid sleep 301 >/dev/null 2>&1 </dev/null & log works $n; sleep 302 ;;
*) claims ;;
esac`

// worksAt waits until the agent of the first attempt works, and its usage is told.
func (w *workshop) worksAt(r *running) map[int]string {
	w.Helper()
	w.logged("works 1.1")
	r.at("the usage", func(s ralph.State) bool { return s.Usage.InputTokens == 100 })
	return w.agents()
}

// TestKilled: a worker that is killed in the middle of an attempt leaves it to another.
// What its agent had used counts, and nothing of it is left: its watchdog ends it, or, if
// that was killed as well, the next worker on that machine.
func TestKilled(t *testing.T) {
	for _, tt := range []struct {
		name     string
		watchdog bool
	}{{"worker", false}, {"watchdog", true}} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorkshop(t, 3*time.Second, worksOn)
			one := w.worker("a")
			r := w.run(w.state)
			left := w.worksAt(r)
			if len(left) < 2 {
				t.Fatalf("of the agent there is %v", left)
			}
			if tt.watchdog {
				dogs := watchdogs(t, one.Process.Pid)
				if len(dogs) != 1 {
					t.Fatalf("%d watchdogs", len(dogs))
				}
				syscall.Kill(dogs[0], syscall.SIGKILL)
			}
			one.kill()
			if !tt.watchdog {
				w.gone(left)
			}
			two := w.env
			w.env = append(slices.Clone(w.env), "XDG_STATE_HOME="+t.TempDir()) // another machine
			w.worker("b")
			s := r.verified(1, 2)
			if s.Usage.InputTokens != 300 || s.Usage.OutputTokens != 60 {
				t.Errorf("it used %v", s.Usage)
			}
			w.wrote("agent 1.1", "works 1.1", "agent 1.2")
			if tt.watchdog {
				if now := w.agents(); len(now) == 0 {
					t.Error("nothing was left to be ended")
				}
				w.env = two
				w.worker("a")
				w.gone(left)
			}
			r.recorded("", "killed")
		})
	}
}

// TestKilledInEveryAttempt: what kills each worker that tries it is a fault, which has its
// limits.
func TestKilledInEveryAttempt(t *testing.T) {
	w := newWorkshop(t, 2*time.Second, `log works $n; sleep 301`)
	w.state.Task.Limits = ralph.Limits{Retries: -1, Failures: 1}
	r := w.run(w.state)
	for i := 1; i <= 3; i++ {
		one := w.worker("a")
		w.logged(fmt.Sprintf("works 1.%d", i))
		one.kill()
	}
	w.worker("b")
	if s := r.end(); s.Stop != ralph.StopFailed || !strings.Contains(s.Detail, "3 workers in a row") {
		t.Errorf("it ended %q (%s): %v", s.Stop, s.Detail, r.err)
	}
	r.recorded("", "killed-always")
}

// TestKilledWhileItVerifies: an answer outlives the workers that verify it.
func TestKilledWhileItVerifies(t *testing.T) {
	w := newWorkshop(t, 2*time.Second, `claims`)
	w.Check = `echo verifies $WHO >>$LOG; case $WHO in c) ;; *) sleep 303 ;; esac`
	r := w.run(w.state)
	for _, host := range []string{"a", "b"} {
		one := w.worker(host, "WHO="+host)
		w.logged("verifies " + host)
		r.at("that it runs", func(s ralph.State) bool { return s.Running })
		one.kill()
	}
	w.worker("c", "WHO=c")
	s := r.verified(1, 1)
	w.wrote("agent 1.1", "verifies a", "verifies b", "verifies c")
	if s.Usage.InputTokens != 200 {
		t.Errorf("it used %v", s.Usage)
	}
	r.recorded("", "killed-verifying")
}

// TestPartitioned: a worker that cannot reach the server ends its agent before another one
// begins, and what it tells when it is back is not taken.
func TestPartitioned(t *testing.T) {
	w := newWorkshop(t, 6*time.Second, `case $n in
1.1) trap 'log ended $n; claims; exit' INT; works; log works $n; sleep 301 & wait ;;
*) claims ;;
esac`)
	wire := newWire(t, w.address)
	w.Address = wire.Addr().String()
	w.hands()
	w.worker("a")
	r := w.run(w.state)
	left := w.worksAt(r)
	mend := wire.cut(t)
	w.Address = w.park.address
	w.worker("b")
	w.gone(left)
	s := r.end()
	mend()
	r.verified(1, s.Attempt) // one attempt more may have been given to the one that did not hear of it
	w.wrote("agent 1.1", "works 1.1", "ended 1.1", fmt.Sprint("agent 1.", s.Attempt))
	if s.Usage.InputTokens != 300 || s.Attempt < 2 {
		t.Errorf("at attempt %d it had used %v", s.Attempt, s.Usage)
	}
	r.recorded("", "")
}

// TestStopped: a worker that sleeps through its attempt ends its agent when it wakes.
func TestStopped(t *testing.T) {
	w := newWorkshop(t, 3*time.Second, worksOn)
	w.hands()
	one := w.worker("a")
	t.Cleanup(func() { one.Process.Signal(syscall.SIGCONT) })
	r := w.run(w.state)
	left := w.worksAt(r)
	one.Process.Signal(syscall.SIGSTOP)
	w.worker("b")
	s := r.end()
	r.verified(1, s.Attempt)
	if now := w.agents(); len(now) < len(left) {
		t.Error("the agent has ended by itself")
	}
	one.Process.Signal(syscall.SIGCONT)
	w.gone(left)
	w.wrote("agent 1.1", "works 1.1", fmt.Sprint("agent 1.", s.Attempt))
	if s.Usage.InputTokens != 300 || s.Attempt < 2 {
		t.Errorf("at attempt %d it had used %v", s.Attempt, s.Usage)
	}
}

// TestWorkerStops: a worker that is told to stop ends its agent, and says so, and the loop
// goes on on another.
func TestWorkerStops(t *testing.T) {
	w := newWorkshop(t, time.Minute, worksOn)
	one := w.worker("a")
	r := w.run(w.state)
	w.logged("works 1.1")
	left := w.agents()
	w.worker("b")
	one.stop()
	w.gone(left)
	if s := r.verified(1, 2); s.Usage.InputTokens != 300 {
		t.Errorf("it used %v", s.Usage)
	}
	w.wrote("agent 1.1", "works 1.1", "agent 1.2")
	r.recorded("", "stopped")
}

// TestCancelled: a cancel reaches all processes of the agent, and what it had used counts.
func TestCancelled(t *testing.T) {
	w := newWorkshop(t, 3*time.Second, worksOn)
	w.worker("a")
	r := w.run(w.state)
	left := w.worksAt(r)
	r.signal(temporal.SignalCancel, "no more")
	if s := r.end(); s.Stop != ralph.StopCancelled || s.Detail != "no more" || s.Usage.InputTokens != 100 {
		t.Errorf("it ended %q (%s), %v: %v", s.Stop, s.Detail, s.Usage, r.err)
	}
	w.gone(left)
	w.wrote("agent 1.1", "works 1.1")
	r.recorded("", "cancelled")
}

// TestMachines: what a verifier has prepared of a machine is prepared on each, once, and is
// on record; what it guards in the workspace is what it was at the start.
func TestMachines(t *testing.T) {
	for _, tt := range []struct {
		name, spoils string // by the agent, on the machine b
		feedback     string
	}{
		{"nothing", `:`, ""},
		{"the workspace", `echo true >check.sh`, "check.sh"},
		{"the first home", `echo lax >$FIRST/.rules`, ".rules"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorkshop(t, time.Minute, `log host $WHO $n
case $WHO$n in
a1.*) case $n in 1.1) sleep 301 ;; esac ;;
b*) `+tt.spoils+`; case $n in 1.*) says 'not yet' ;; *) sleep 301 ;; esac ;;
*) claims ;;
esac`)
			w.Check, w.Guard = `sh check.sh`, []string{"check.sh", "~/.rules"}
			write(t, filepath.Join(w.state.Task.Dir, "check.sh"), "test -e check.sh\n")
			a, b := t.TempDir(), t.TempDir()
			write(t, filepath.Join(a, ".rules"), "strict\n")
			write(t, filepath.Join(b, ".rules"), "strict too\n")
			w.env = append(w.env, "FIRST="+a)
			w.state.Task.Limits = ralph.Limits{Iterations: 3}
			r := w.run(w.state)
			first := w.worker("a", "HOME="+a, "WHO=a")
			w.logged("host a 1.1")
			first.stop()
			second := w.worker("b", "HOME="+b, "WHO=b")
			w.logged("host b 2.1")
			second.stop()
			w.worker("a", "HOME="+a, "WHO=a")
			s := r.end()
			if verified := s.Stop == ralph.StopVerified; verified != (tt.feedback == "") || !strings.Contains(s.Feedback, tt.feedback) {
				t.Errorf("it ended %q (%s) at %d.%d with the feedback %q: %v", s.Stop, s.Detail, s.Iteration, s.Attempt, s.Feedback, r.err)
			}
			if _, ok := s.Task.Guarded["check.sh"]; !ok || len(s.Task.Guarded) != 1 {
				t.Errorf("on all machines it guards %v", s.Task.Guarded)
			}
			var in struct{ Hosts map[string]map[string]string }
			for _, d := range onRecord(r.recorded("", "")) {
				if d.what == "activity" {
					text, _ := json.Marshal(d.data)
					if err := json.Unmarshal(text, &in); err != nil {
						t.Fatal(err)
					}
				}
			}
			sums := map[string]bool{}
			for host, here := range in.Hosts {
				for key, sum := range here {
					if strings.Contains(key, ".rules") {
						sums[host], sums[sum] = true, true
					}
				}
			}
			if len(in.Hosts) != 2 || len(sums) != 4 {
				t.Errorf("on record of the machines is %v", in.Hosts)
			}
		})
	}
}
