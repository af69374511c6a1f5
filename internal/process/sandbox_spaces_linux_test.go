package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ralph-loop/ralph/internal/sandbox"
)

// sandboxed are programs that this test binary can be, see programMode.
var sandboxed = map[string]func(script string){
	"network": func(outside string) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err == nil {
			_, err = net.Dial("tcp", l.Addr().String())
		}
		fmt.Println("loopback:", err)
		_, err = net.Dial("tcp", outside)
		fmt.Println("outside:", err != nil)
		_, err = net.Dial("udp", "192.0.2.1:9")
		fmt.Println("udp:", err != nil)
	},
	"inner":         func(script string) { runBoxed(script, sandbox.Spec{PIDs: true}) },
	"innerrequired": func(script string) { runBoxed(script, sandbox.Spec{PIDs: true, Require: true}) },
	"bare":          func(script string) { forbid(unix.SYS_LANDLOCK_CREATE_RULESET); runBoxed(script, sandbox.Spec{}) },
	"barerequired": func(script string) {
		forbid(unix.SYS_LANDLOCK_CREATE_RULESET)
		runBoxed(script, sandbox.Spec{Require: true})
	},
}

// runBoxed runs a script twice in a sandbox, as a program that does not know whether
// it can have one, and prints what comes of it.
func runBoxed(script string, spec sandbox.Spec) {
	for range 2 {
		rules, err := spec.Rules(os.Getenv("DIR"))
		var e Exit
		if err == nil {
			e, err = Run(context.Background(), Cmd{Args: []string{"/bin/sh", "-c", script}, Stdout: os.Stdout, Stderr: os.Stderr, Sandbox: rules,
				Warn: func(text string) { fmt.Println("warned:", text) }})
		}
		fmt.Printf("ended: %v, %v, unsupported: %v\n", e, err, errors.Is(err, errors.ErrUnsupported))
	}
}

func TestSandboxNetwork(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, pids := range []bool{false, true} {
		b := newBox(t, sandbox.Spec{NoNet: true, PIDs: pids})
		e, out, err := b.sh(t, t.Context(), programMode+`="network `+l.Addr().String()+`" "$SELF"`, Cmd{})
		if err != nil || e.Code != 0 {
			t.Fatalf("%v, %v\n%s", e, err, out)
		}
		if want := "loopback: <nil>\noutside: true\nudp: true\n"; b.has(t, noNetwork) && b.has(t, noPIDs) && out != want {
			t.Errorf("PIDs %v: %q, want %q", pids, out, want)
		}
	}
}

func TestSandboxPIDs(t *testing.T) {
	b := newBox(t, sandbox.Spec{PIDs: true})
	e, out, err := b.sh(t, t.Context(), `
		(setsid env -i sleep 1000 <&- >&- 2>&- &)
		until grep -qsx sleep /proc/[0-9]*/comm; do :; done
		echo "$(id -u):$(id -g) $(awk '/^NSpid/ { print NF }' /proc/self/status)"
		[ -e /proc/`+strconv.Itoa(os.Getpid())+`/exe ] && [ "$(readlink /proc/`+strconv.Itoa(os.Getpid())+`/exe)" = "$SELF" ] && echo "sees this program"
		for p in /proc/[0-9]*; do readlink "$p/exe" >/dev/null || echo "not its own: $p"; done
		echo x >/proc/sys/kernel/hostname 2>/dev/null && echo "can write /proc/sys"
		echo x >/proc/self/comm 2>/dev/null && echo "can write /proc"
		for n in 3 4; do [ -e /proc/$$/fd/$n ] && echo "it has file $n"; done
		exit 7`, Cmd{})
	if err != nil || e.Code != 7 {
		t.Fatalf("%v, %v\n%s", e, err, out)
	}
	if want := fmt.Sprintf("%d:%d 2\n", os.Getuid(), os.Getgid()); b.has(t, noPIDs) && out != want {
		t.Errorf("it sees %q, want %q", out, want)
	}
	if !slices.Contains(e.Ended, "sleep 1000") {
		t.Errorf("it is told that it ended %q", e.Ended)
	}
}

// How the command ended is not what it writes to the shell's files.
func TestSandboxPIDsTellsTheTruth(t *testing.T) {
	b := newBox(t, sandbox.Spec{PIDs: true})
	e, out, err := b.sh(t, t.Context(), `for f in /proc/1/fd/*; do (printf '0\n\n\n' >$f) 2>/dev/null; done; exit 3`, Cmd{})
	if err != nil || e.Code == 0 {
		t.Errorf("%v, %v\n%s", e, err, out)
	}
}

// Being stopped costs no more than without: SIGINT ends it, though the first process
// of a PID namespace does not get signals that it does not handle.
func TestSandboxPIDsAreInterrupted(t *testing.T) {
	for script, code := range map[string]int{
		`echo ready; exec sleep 1000`:                                130,
		`echo ready; sleep 1000 | sleep 1000`:                        130,
		`trap 'exit 3' INT; echo ready; while :; do sleep 0.1; done`: 3,
	} {
		t.Run(script, func(t *testing.T) {
			b := newBox(t, sandbox.Spec{PIDs: true})
			rules, err := b.spec.Rules(b.dir)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			e, err := Run(ctx, Cmd{Args: []string{"/bin/sh", "-c", script}, Env: env(t), Sandbox: rules, Grace: time.Hour,
				Stdout: writer(func([]byte) { cancel() })})
			if !errors.Is(err, context.Canceled) || !e.Stopped || e.Signal == "" && e.Code != code {
				t.Errorf("%v, %v, want exit status %d", e, err, code)
			}
			checkNoneLeft(t)
		})
	}
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

// The processes of a namespace are found by the mark, from outside.
func TestSandboxIsFoundByItsMark(t *testing.T) {
	b := newBox(t, sandbox.Spec{PIDs: true, NoNet: true})
	rules, err := b.spec.Rules(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	mark, ended := NewMark(), make(chan error)
	go func() {
		_, err := Run(t.Context(), Cmd{Args: []string{"/bin/sh", "-c", `env -i setsid sh -c 'echo ready; exec sleep 1000' & wait`}, Env: env(t), Sandbox: rules, Mark: mark, Stdout: w})
		ended <- err
	}()
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, r)
	lines, err := End(mark)
	if err != nil || len(lines) == 0 {
		t.Errorf("ended %q, %v", lines, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	checkNoneLeft(t)
}

func TestSandboxHides(t *testing.T) {
	for _, pids := range []bool{false, true} {
		b := newBox(t, sandbox.Spec{PIDs: pids})
		file := filepath.Join(t.TempDir(), "exam.txt")
		if err := os.WriteFile(file, []byte("the answer"), 0o644); err != nil {
			t.Fatal(err)
		}
		b.spec.Hide = []string{b.outside, file, filepath.Join(b.outside, "not there")}
		e, out, err := b.sh(t, t.Context(), `ls -A "$OUTSIDE"; cat `+file+`; umount "$OUTSIDE" 2>/dev/null && echo uncovered; umount -l `+file+` 2>/dev/null && echo uncovered
			unshare -Urm sh -c 'umount "$OUTSIDE" && ls -A "$OUTSIDE"' 2>/dev/null; ls /proc/`+strconv.Itoa(os.Getpid())+`/root"$OUTSIDE" 2>/dev/null; true`, Cmd{})
		if err != nil || e.Code != 0 {
			t.Fatalf("%v, %v\n%s", e, err, out)
		}
		if b.has(t, noHiding) && b.has(t, noLandlock) && out != "" {
			t.Errorf("PIDs %v: it is seen: %q", pids, out)
		}
		for _, name := range []string{file, filepath.Join(b.outside, "theirs")} {
			if text, err := os.ReadFile(name); err != nil || len(text) == 0 {
				t.Errorf("outside, %s is %q, %v", name, text, err)
			}
		}
	}
}

// What the system does not have is told once, or an error where it is required. A
// sandbox in another cannot mount, and a filter forbids Landlock.
func TestSandboxWithoutSupport(t *testing.T) {
	for how, warnings := range map[string][]string{
		"inner":         {noPIDs},
		"innerrequired": nil,
		"bare":          {noLandlock},
		"barerequired":  nil,
	} {
		t.Run(how, func(t *testing.T) {
			b := newBox(t, sandbox.Spec{})
			script := programMode + `="` + how + ` echo ran" "$SELF"`
			run := func() (Exit, string, error) { return b.sh(t, t.Context(), script, Cmd{}) }
			if strings.HasPrefix(how, "bare") { // there is no other sandbox around it
				run = func() (Exit, string, error) {
					return sh(t, t.Context(), script, Cmd{Env: append(env(t), "SELF="+os.Args[0], "DIR="+b.dir)})
				}
			}
			e, out, err := run()
			if err != nil || e.Code != 0 {
				t.Fatalf("%v, %v\n%s", e, err, out)
			}
			if !b.has(t, noLandlock) {
				return
			}
			ended, ran := "ended: exit status 0, <nil>", 2
			if warnings == nil {
				ended, ran = "unsupported: true", 0
			}
			if strings.Count(out, ended) != 2 || strings.Count(out, "ran\n") != ran {
				t.Errorf("want twice %q, and that it ran %d times\n%s", ended, ran, out)
			}
			if strings.Count(out, "warned: sandbox: ") != len(warnings) {
				t.Errorf("want the warnings %q, each once\n%s", warnings, out)
			}
			for _, words := range warnings {
				if !strings.Contains(out, words) {
					t.Errorf("there is no warning %q\n%s", words, out)
				}
			}
		})
	}
}

// Nothing that was restricted for a command is left in this program: not its first
// thread, not any other; and nothing is left behind.
func TestSandboxLeavesNothing(t *testing.T) {
	b := newBox(t, sandbox.Spec{PIDs: true, NoNet: true})
	once := func(spec sandbox.Spec) {
		b.spec = spec
		if e, out, err := b.sh(t, t.Context(), "exit 0", Cmd{}); err != nil || e.Code != 0 {
			t.Fatalf("%v, %v\n%s", e, err, out)
		}
	}
	once(b.spec)
	files, threads := count(t, "fd"), count(t, "task")
	for i := range 200 {
		once(sandbox.Spec{PIDs: i%2 == 0, NoNet: i%4 == 0})
	}
	// Threads are ending, and others may have been started for other tests.
	if now := count(t, "fd"); now > files+10 {
		t.Errorf("%d files are open, %d were", now, files)
	}
	if now := count(t, "task"); now > threads+30 {
		t.Errorf("there are %d threads, there were %d", now, threads)
	}
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	restricted := func() (list []string) {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			status, err := os.ReadFile("/proc/self/task/" + task.Name() + "/status")
			net, linkErr := os.Readlink("/proc/self/task/" + task.Name() + "/ns/net")
			if err == nil && strings.Contains(string(status), "NoNewPrivs:\t1") || linkErr == nil && net != own {
				list = append(list, task.Name())
			}
		}
		return list
	}
	left := restricted()
	for end := time.Now().Add(10 * time.Second); len(left) > 0 && time.Now().Before(end); left = restricted() {
		runtime.Gosched() // the last one is ending
	}
	if len(left) > 0 {
		t.Errorf("threads are restricted: %v", left)
	}
	host.mu.Lock()
	dog := host.dog.cmd.Process.Pid // which may have been started by a sandbox's thread
	host.mu.Unlock()
	if text, err := os.ReadFile("/proc/" + strconv.Itoa(dog) + "/status"); err != nil || !strings.Contains(string(text), "NoNewPrivs:\t0") {
		t.Errorf("the watchdog is restricted: %v", err)
	}
	var status syscall.WaitStatus
	if pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil); pid > 0 {
		t.Errorf("a child was left: %d, %v", pid, err)
	}
}

func count(t *testing.T, what string) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/" + what)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
