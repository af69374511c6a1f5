//go:build unix

package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// TestKilled: a service that is killed in the middle of an iteration goes on with its loops
// when it is started again, and who was listening is told the rest.
func TestKilled(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	dir := filepath.Join(w.folder, "shop")
	loop := p.loop("tea", dir, "waits", "hello", nil)
	paused := p.loop("paused", w.workspace(t, "other"), "waits", "hello", nil)
	l := p.listen(loop, "")
	l.until(ralph.EventIterationStarted)
	p.listen(paused, "").until(ralph.EventIterationStarted)
	p.steer(paused, "pause", nil)
	p.Process.Signal(syscall.SIGKILL)
	if p.end() == 0 {
		t.Error("it was not killed")
	}

	p = w.start(t)
	more := p.listen(loop, l.id)
	if ev := more.until(ralph.EventIterationEnded); ev.Iteration.Fault != ralph.FaultInterrupted || ev.Iteration.Number != 1 {
		t.Errorf("the attempt that was killed: %+v", ev.Iteration)
	}
	if ev := more.until(ralph.EventIterationStarted); ev.Iteration.Number != 1 || ev.Iteration.Attempt != 2 {
		t.Errorf("the one after it: %+v", ev.Iteration)
	}
	w.tell(t, claim)
	if ev := more.until(ralph.EventLoopStopped); ev.State.Stop != ralph.StopVerified {
		t.Errorf("it ended: %+v", ev.State)
	}
	if e := p.stands(paused); !e.State.Paused || e.Holder != nil {
		t.Errorf("what was paused: %+v", e)
	}
	p.steer(paused, "cancel", nil)
	p.waitFor(paused, progress.StatusCancelled)
}

// TestStopped: a service that is stopped ends its agents, tells those who listen that it
// is over, and goes on with its loops when it is started again; what it may no longer run
// stays on record, and says why.
func TestStopped(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	dir := filepath.Join(w.folder, "shop")
	loop := p.loop("tea", dir, "waits", "hello", nil)
	l := p.listen(loop, "")
	l.until(ralph.EventIterationStarted)
	pid := 0
	for pid == 0 { // until its agent is up
		p.stands(loop)
		if got, err := os.ReadFile(filepath.Join(dir, "pid")); err == nil {
			pid, _ = strconv.Atoi(strings.TrimSpace(string(got)))
		}
	}
	p.Process.Signal(syscall.SIGTERM)
	for _, ok := l.next(); ok; _, ok = l.next() {
	}
	if code := p.end(); code != 0 || !strings.Contains(p.said.String(), "terminated") {
		t.Errorf("exit code %d: %s", code, p.said)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("its agent lives: %v", err)
	}

	args := w.args()
	for i, arg := range args {
		if strings.HasPrefix(arg, "waits=") {
			args = append(append([]string{}, args[:i-1]...), args[i+1:]...)
			break
		}
	}
	p = w.startWith(t, args, "RALPH_SERVICE_TOKEN="+secret)
	type loops struct {
		Loops []progress.Standing
		Idle  map[string]string
	}
	var all loops
	for len(all.Idle) == 0 || all.Loops[0].Holder != nil { // why it is idle is known a little before it is let go of
		all = loops{}
		p.call("GET", "/loops", nil, &all)
	}
	if all.Loops[0].Status != progress.StatusInterrupted || !strings.Contains(all.Idle[loop], `no agent "waits"`) {
		t.Errorf("without its agent: %+v", all)
	}
	p.Process.Signal(syscall.SIGINT)
	p.end()

	p = w.start(t)
	p.listen(loop, l.id).until(ralph.EventIterationStarted)
	w.tell(t, claim)
	p.waitFor(loop, progress.StatusCompleted)
	if _, err := os.Stat(filepath.Join(dir, "hello.txt")); err != nil {
		t.Error(err)
	}
}

// TestHurried: the second signal kills an agent that does not heed the first.
func TestHurried(t *testing.T) {
	w := newWorld(t)
	asked := filepath.Join(t.TempDir(), "asked")
	if err := syscall.Mkfifo(asked, 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-agent", "deaf=trap 'echo no >" + asked + "' INT; trap 'touch told-twice' TERM; cat >/dev/null; echo up >" + asked + "; while :; do read -r line <" + w.gate + "; done"}, w.args()...)
	p := w.startWith(t, args, "RALPH_SERVICE_TOKEN="+secret)
	p.loop("", filepath.Join(w.folder, "shop"), "deaf", "hello", nil)
	if text(t, asked) != "up\n" {
		t.Error("the agent is not up")
	}
	p.Process.Signal(syscall.SIGINT)
	if text(t, asked) != "no\n" {
		t.Error("the agent was not asked to end")
	}
	p.Process.Signal(syscall.SIGINT)
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d: %s", code, p.said)
	}
	if _, err := os.Stat(filepath.Join(w.folder, "shop", "told-twice")); err == nil {
		t.Error("it waited for the agent, and told it once more")
	}
}

// TestChanged: a service that is started again with its folders in another order, and a
// check that has changed, goes on with its loops, by the token that it had, and tells
// their agents of the check that judges them now.
func TestChanged(t *testing.T) {
	w := newWorld(t)
	other := t.TempDir()
	p := w.startWith(t, append(w.args(), other), "RALPH_SERVICE_TOKEN="+secret)
	dir := filepath.Join(w.folder, "shop")
	loop := p.loop("tea", dir, "waits", "never", nil)
	p.listen(loop, "").until(ralph.EventIterationStarted)
	p.Process.Kill()
	p.end()
	args := w.args()
	for i, arg := range args {
		if strings.HasPrefix(arg, "never=") {
			args[i] = "never=test -e hello.txt || echo brewed anew"
		}
	}
	args = append(args[:len(args)-1], other, w.folder)
	p = w.startWith(t, args, "RALPH_SERVICE_TOKEN="+secret)
	w.tell(t, claim)
	p.waitFor(loop, progress.StatusCompleted)
	if prompt := text(t, dir, "prompt.txt"); !strings.Contains(prompt, "brewed anew") {
		t.Errorf("its agent was told\n%s", prompt)
	}
}

// TestStrangersWait: who has no token, and does not send what was announced, has the answer
// at once and keeps the service from nothing. Their connection ends with it: no request
// that comes on it is one of somebody with a token.
func TestStrangersWait(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /loops HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	conn.SetReadDeadline(time.Now().Add(20 * time.Second)) // less than the service waits for those whom it knows
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != http.StatusUnauthorized || !answer.Close {
		t.Errorf("it said %+v: %v", answer, err)
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.end(); code != 0 || !strings.Contains(p.said.String(), "terminated") {
		t.Errorf("it ended with %d: %s", code, p.said)
	}
}
