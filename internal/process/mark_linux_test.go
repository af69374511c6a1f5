package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// programMode makes this test binary another program, which runs something.
const programMode = "PROCESS_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if mode := os.Getenv(programMode); mode != "" {
		os.Unsetenv(programMode)
		program(mode)
		return
	}
	os.Exit(m.Run())
}

// program runs a shell script, which is what comes after its first word.
func program(mode string) {
	how, script, _ := strings.Cut(mode, " ")
	if run, ok := sandboxed[how]; ok {
		run(script)
		return
	}
	switch how {
	case "untraced":
		forbid(unix.SYS_PTRACE)
	case "end":
		fmt.Println(End(script))
		return
	case "killed":
		forbid(unix.SYS_PTRACE) // it would not begin before it is known
		cmd := exec.Command("/bin/sh", "-c", script)
		cmd.Stdout, cmd.SysProcAttr = os.Stdout, ownGroup()
		held(func() {
			launch(cmd, newMark(), func(int) { syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} })
		}, nil)
		return
	}
	for range 2 {
		e, err := Run(context.Background(), Cmd{Args: []string{"/bin/sh", "-c", script}, Stdout: os.Stdout, Stderr: os.Stderr,
			Warn: func(text string) { fmt.Println("warned:", text) }, Drain: time.Millisecond})
		fmt.Println(e, err)
		if how == "once" {
			break
		}
	}
}

// another is this test binary as a program of that kind.
func another(t *testing.T, how, script string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(env(t), programMode+"="+how+" "+script)
	return cmd
}

// forbid has the kernel refuse a system call to this process, as it does ptrace in
// hardened containers.
func forbid(call uint32) {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the system call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		panic(errno)
	}
}

// limits prints a process's own hard limit of file locks, with nothing in its
// environment.
const limits = `env -i sed -n 's/^Max file locks *[^ ]* *\([^ ]*\) .*/\1/p' /proc/self/limits`

// TestLimit: every run has a limit of its own, from its first instruction on.
func TestLimit(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		m := newMark()
		_, out, err := sh(t, t.Context(), limits, Cmd{Env: env(t), Mark: m.String()})
		if err != nil || out != strconv.FormatUint(m.limit, 10)+"\n" || seen[out] {
			t.Fatalf("%q, %v; want %d", out, err, m.limit)
		}
		seen[out] = true
	}
	// One that does not fit here, since it is of another system, is not used.
	own, foreign := ownLimit(), mark{id: "ABCDEFGHIJKLMNOP", limit: 7_000_000_000_000_000_001}
	if own < above {
		foreign.limit = 7_999_999_998_999_999_999
	}
	_, out, err := sh(t, t.Context(), limits+"; env | grep -c ^RALPH_RUN_ABCDEFGHIJKLMNOP=1", Cmd{Env: env(t), Mark: foreign.String()})
	if used := strings.HasPrefix(out, strconv.FormatUint(foreign.limit, 10)); err != nil || used == (own < above) || !strings.HasSuffix(out, "\n1\n") {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := Run(t.Context(), Cmd{Args: []string{"true"}, Mark: "x"}); !errors.Is(err, ErrStart) || !errors.Is(err, errMark) {
		t.Errorf("no mark: %v", err)
	}
}

// TestKilledAtTheStart: a command that nobody knows of yet when this program is
// killed does not go on.
func TestKilledAtTheStart(t *testing.T) {
	t.Parallel()
	c := another(t, "killed", `sleep 3; echo it goes on`)
	out, err := c.Output() // until the command has closed it
	if c.ProcessState.ExitCode() != -1 || len(out) > 0 {
		t.Errorf("%v: %q", err, out)
	}
}

// TestNested: a run inside a run has a limit of its own, which the outer one knows:
// both are found by whoever started them, with nothing left in their environment.
func TestNested(t *testing.T) {
	t.Parallel()
	leave := `env -i PROCESS_TEST="$PROCESS_TEST" setsid -f sleep 300 <&- >/dev/null 2>&1; `
	c := another(t, "once", leave+limits+"; echo inner; exec sleep 300")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	e, err := Run(ctx, Cmd{Args: c.Args, Env: c.Env, Grace: time.Millisecond, // so the inner program has no time to end its own
		Stdout: writerFunc(func(p []byte) {
			if out.Write(p); bytes.Contains(p, []byte("inner")) {
				cancel()
			}
		})})
	checkNoneLeft(t)
	inside, _, _ := strings.Cut(out.String(), "\n")
	limit, perr := strconv.ParseUint(inside, 10, 64)
	if err == nil || perr != nil || span(limit) >= outer {
		t.Errorf("%+v, %v: %q", e, err, out.String())
	}
}

// TestUntraced: where a program may not trace, its runs have their name alone, and it
// is said once.
func TestUntraced(t *testing.T) {
	t.Parallel()
	out, err := another(t, "untraced", limits+"; setsid sleep 300 & exit 3").CombinedOutput()
	checkNoneLeft(t)
	const warning = "warned: processes that clear their environment and leave their session may not be found: "
	text := string(out)
	if err != nil || strings.Count(text, "warned: ") != 1 || !strings.HasPrefix(text, warning) || strings.Count(text, "exit status 3 <nil>") != 2 || strings.Contains(text, "\n7") {
		t.Errorf("%v: %s", err, out)
	}
	out, err = another(t, "traced", "exit 3").CombinedOutput()
	if err != nil || strings.Contains(string(out), "warned") {
		t.Errorf("where it may: %v: %s", err, out)
	}
}

// TestElevated: a setuid program that is started directly is what it is.
func TestElevated(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can make a setuid program of another's")
	}
	id, err := exec.LookPath("id")
	if err != nil {
		t.Skip(err)
	}
	program, err := os.ReadFile(id)
	path := filepath.Join(t.TempDir(), "id")
	if err := errors.Join(err, os.WriteFile(path, program, 0o755), os.Chown(path, 65534, 65534), os.Chmod(path, 0o755|os.ModeSetuid)); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := Run(t.Context(), Cmd{Args: []string{path, "-u"}, Env: env(t), Stdout: &out}); err != nil || out.String() != "65534\n" {
		t.Errorf("%v: %q", err, out.String())
	}
	if !elevated(path) || elevated(id) {
		t.Errorf("%s %v, %s %v", path, elevated(path), id, elevated(id))
	}
}

// TestEndOfItself: a program of a run does not end that run.
func TestEndOfItself(t *testing.T) {
	t.Parallel()
	m := newMark()
	for mine, want := range map[bool]string{true: "[] this program itself is of that run\n", false: "[] <nil>\n"} {
		cmd := another(t, "end", m.String())
		if mine {
			cmd.Env = append(cmd.Env, m.variable())
		}
		if out, err := cmd.Output(); err != nil || string(out) != want {
			t.Errorf("%v, %v: %s", mine, err, out)
		}
	}
}

// TestTraced: what the kernel says of a process that nobody traces.
func TestTraced(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	if traced(cmd.Process.Pid) {
		t.Error("it is traced")
	}
	if err := release(cmd.Process.Pid); err != errRan {
		t.Errorf("letting it go: %v", err)
	}
}

// eventually waits for what another process does.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !is(); exec.Command("true").Run() {
		if time.Now().After(deadline) {
			t.Errorf("it never came about: %s", what)
			return
		}
	}
}

// TestWatchdog: once its pipe is closed, it ends the runs that it was told of, also
// before it was another, and no others; then itself.
func TestWatchdog(t *testing.T) {
	t.Parallel()
	h := &supervisor{told: map[string]bool{}, runs: map[int]string{}}
	begin := func(m mark, group, env string) *exec.Cmd {
		t.Helper()
		return watched(t, h, m, own(t)+group, env+` setsid -f sleep 300 <&- >/dev/null 2>&1; trap '' TERM; echo ready; while :; do sleep 300; done`)
	}
	const bare = `env -i PROCESS_TEST="$PROCESS_TEST"`
	all := []*exec.Cmd{begin(newMark(), "/ended", bare)}
	first := h.dog
	first.cmd.Process.Kill()
	eventually(t, "the watchdog has gone", func() bool { s, ok := readStat(first.cmd.Process.Pid); return !ok || s.dead })
	all = append(all, begin(newMark(), "/ended", bare), begin(mark{id: newMark().id}, "/ended", ""))
	if h.dog == first {
		t.Error("there is no other watchdog")
	}
	spared := begin(newMark(), "/spared", bare)
	h.forget(spared.Process.Pid)
	eventually(t, "the watchdog ignores signals", func() bool {
		status, _ := os.ReadFile("/proc/" + strconv.Itoa(h.dog.cmd.Process.Pid) + "/status")
		_, ignored, _ := strings.Cut(string(status), "SigIgn:\t")
		mask, _ := strconv.ParseUint(strings.SplitN(ignored, "\n", 2)[0], 16, 64)
		return mask&(1<<(syscall.SIGTERM-1)) != 0
	})
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		h.dog.cmd.Process.Signal(s)
	}
	h.dog.pipe.Close()
	if err := h.dog.cmd.Wait(); err != nil {
		t.Errorf("the watchdog: %v", err)
	}
	if left := with(t, own(t)+"/ended"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	left := with(t, own(t)+"/spared")
	if len(left) < 2 {
		t.Errorf("it has ended what was forgotten; left is %v", left)
	}
	for _, pid := range append(left, with(t, own(t)+"/ended")...) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	for _, cmd := range append(all, spared) {
		cmd.Process.Kill()
		cmd.Wait()
	}
}

// TestWatchdogEndsWithUs: a program that ends by itself leaves no watchdog, and what
// it has open does not stay open there.
func TestWatchdogEndsWithUs(t *testing.T) {
	t.Parallel()
	held, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	cmd := another(t, "once", "exit 0")
	cmd.ExtraFiles = []*os.File{w} // it hands it down to its children, unless they close it
	if err := errors.Join(cmd.Run(), w.Close()); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, held); n != 0 || err != nil { // until nobody has it open
		t.Error(n, err)
	}
}

// TestWatchdogIsNotTold: the watchdog of a program inside a run may still be there when
// the run has ended, and is nothing that the agent left.
func TestWatchdogIsNotTold(t *testing.T) {
	t.Parallel()
	d, err := newWatchdog()
	if err != nil {
		t.Fatal(err)
	}
	defer d.end()
	tree := newTree(0, newMark())
	if !tree.slay(d.cmd.Process.Pid, func() bool { return true }) || len(tree.ended) > 0 {
		t.Errorf("told: %q", tree.ended)
	}
}

// TestNoLeaks: runs leave no zombies, descriptors or threads, and do not touch the
// program's other children.
func TestNoLeaks(t *testing.T) {
	own := exec.Command("cat")
	in, err := own.StdinPipe()
	if err := errors.Join(err, own.Start()); err != nil {
		t.Fatal(err)
	}
	count := func() (fds, threads, zombies int) {
		files, err1 := os.ReadDir("/proc/self/fd")
		tasks, err2 := os.ReadDir("/proc/self/task")
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		for _, pid := range pids() {
			if s, ok := readStat(pid); ok && s.parent == os.Getpid() && s.dead {
				zombies++
			}
		}
		return len(files), len(tasks), zombies
	}
	run := func(n int) {
		for range n {
			if e, err := Run(t.Context(), Cmd{Args: []string{"/bin/sh", "-c", "setsid true & exit 3"}}); err != nil || e.Code != 3 {
				t.Fatal(e, err)
			}
		}
	}
	run(30)
	fds, threads, _ := count()
	run(300)
	gotFds, gotThreads, zombies := count()
	if gotFds > fds+2 || gotThreads > threads+10 || zombies > 0 { // the runtime's own come and go
		t.Errorf("%d descriptors, were %d; %d threads, were %d; %d zombies", gotFds, fds, gotThreads, threads, zombies)
	}
	in.Close()
	if err := own.Wait(); err != nil {
		t.Errorf("the program's own child: %v", err)
	}
}

// BenchmarkSweep looks for what is left among 150 processes that were started after
// the run; the floor reads one file of each.
func BenchmarkSweep(b *testing.B) {
	m := newMark()
	root := exec.Command("true")
	if err := root.Start(); err != nil {
		b.Fatal(err)
	}
	defer root.Wait()
	var others []*exec.Cmd
	var ins []io.Closer
	for range 150 {
		cmd := exec.Command("cat")
		in, err := cmd.StdinPipe()
		if err := errors.Join(err, cmd.Start()); err != nil {
			b.Fatal(err)
		}
		others, ins = append(others, cmd), append(ins, in)
	}
	b.Run("floor", func(b *testing.B) {
		for b.Loop() {
			for _, cmd := range others {
				if _, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/environ"); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("sweep", func(b *testing.B) {
		tree := newTree(root.Process.Pid, m)
		for b.Loop() {
			if found, _ := tree.sweep(); found {
				b.Fatal("found something")
			}
		}
	})
	for i, cmd := range others {
		ins[i].Close()
		cmd.Wait()
	}
}
