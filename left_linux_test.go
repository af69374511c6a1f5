package ralph_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// leftName is a variable in the environment of the processes that an agent leaves
// in these tests. Those that clear their environment keep it, and nothing else, so
// that the test finds them in another way than the library does.
const leftName = "RALPH_TEST_LEFT"

// lefts are kinds of children that agents leave, as lines of a shell script.
var lefts = []struct{ name, line string }{
	{"in a session of its own", `setsid sleep 301$$ >/dev/null 2>&1 </dev/null &`},
	{"nohup", `nohup sleep 302$$ >/dev/null 2>&1 </dev/null &`},
	{"double fork", `(setsid sh -c 'sleep $0 & exit 0' 303$$ >/dev/null 2>&1 </dev/null &)`},
	{"nothing kept", `env -i RALPH_TEST_LEFT="$RALPH_TEST_LEFT" PATH="$PATH" setsid -f sh -c 'exec sleep $0' 304$$ <&- >&- 2>&-`},
	{"in the foreground", `sleep 305$$ &`},
	{"holds the output", `setsid sleep 306$$ &`},
}

// leftTest names the processes of a test, and kills what it could not see ended.
func leftTest(t *testing.T) string {
	name := rand.Text()
	t.Cleanup(func() {
		for pid := range leftBy(name) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return name
}

// leftScript starts all kinds of children, says so once the last of them is there,
// and ends as told.
func leftScript(end string) string {
	var b strings.Builder
	for _, l := range lefts {
		b.WriteString(l.line + "\n")
	}
	for i := range lefts {
		b.WriteString("until grep -qsz '^30" + strconv.Itoa(i+1) + "'$$'$' /proc/[0-9]*/cmdline; do :; done\n")
	}
	return b.String() + "echo ready\n" + end
}

// leftBy returns the processes of a test that live, with their command lines.
func leftBy(name string) map[int]string {
	found := map[int]string{}
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range environs {
		env, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(env, []byte(leftName+"="+name+"\x00")) || strings.Contains(file, "/"+strconv.Itoa(os.Getpid())+"/") {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			found[pid] = strings.ReplaceAll(string(line), "\x00", " ")
		}
	}
	return found
}

// leftLoop is a loop of one iteration with an agent that leaves all kinds of
// children. Its verifier tells how many of them it saw.
func leftLoop(dir, name, end string, limits ralph.Limits, display io.Writer) (*ralph.Local, ralph.State, func() int) {
	seen := -1
	limits.Iterations, limits.Retries = 1, -1
	return &ralph.Local{
			Runner: &ralph.Command{
				Args: []string{"sh", "-c", leftScript(end)}, Env: []string{leftName + "=" + name}, Grace: 100 * time.Millisecond,
			},
			Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
				seen = len(leftBy(name))
				return ralph.Reject("not yet"), nil
			}),
			Output: func(ralph.Request) (io.Writer, io.Writer) { return display, nil },
		}, ralph.Start(ralph.Task{ID: "left", Prompt: "Do it.", Dir: dir, Always: true, Limits: limits}),
		func() int { return seen }
}

// TestNothingIsLeft: nothing of an agent lives when its work is verified, or its
// run is over, however that came about, and people and the agent are told.
func TestNothingIsLeft(t *testing.T) {
	needsProc(t)
	for _, tt := range []struct {
		name, end string
		timeout   time.Duration
		cancel    bool
		verified  bool
		told      bool // to the agent, if it may have left something on purpose
	}{
		{"ends well", "exit 0", 0, false, true, true},
		{"fails", "exit 3", 0, false, true, false},
		{"is killed", "kill -9 $$", 0, false, true, false},
		{"takes too long", "wait; sleep 300", 3 * time.Second, false, true, true},
		{"is interrupted", "wait; sleep 300", 0, true, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			name := leftTest(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var shown bytes.Buffer
			display := written(func(p []byte) {
				if shown.Write(p); tt.cancel && bytes.Contains(p, []byte("ready")) {
					cancel()
				}
			})
			l, s, seen := leftLoop(t.TempDir(), name, tt.end, ralph.Limits{IterationTimeout: tt.timeout}, display)
			final, log, _ := runLoop(t, ctx, *l, s)
			if left := leftBy(name); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			want := -1
			if tt.verified {
				want = 0
			}
			if seen() != want {
				t.Errorf("%d were alive when the work was verified", seen())
			}
			var its []ralph.Iteration
			for _, ev := range log.events(t) {
				if ev.Kind == ralph.EventIterationEnded {
					its = append(its, ev.Iteration)
				}
			}
			if !strings.Contains(shown.String(), "ready") {
				t.Skip("the agent was ended before it had started all it starts")
			}
			if len(its) != 1 || !slices.ContainsFunc(its[0].Ended, func(line string) bool { return strings.Contains(line, "sleep") && strings.Contains(line, " 304") }) {
				t.Errorf("recorded: %+v", its)
			}
			if !strings.Contains(shown.String(), "that the agent left running: ") {
				t.Errorf("shown: %s", shown.String())
			}
			if told := strings.Contains(final.Continuation(), "that you left running: ") && strings.Contains(final.Continuation(), "start it in the check itself"); told != tt.told {
				t.Errorf("the agent is told: %s", final.Continuation())
			}
		})
	}
}

// runHost is a program that runs such a loop, and says when the agent has started
// all it starts. It is ended by the test.
func runHost(name string) {
	ctx := context.Background()
	if os.Getenv("RALPH_TEST_HEEDS") != "" {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
	}
	dir, _ := os.Getwd()
	l, s, _ := leftLoop(dir, name, "wait; sleep 300", ralph.Limits{}, os.Stdout)
	if log := os.Getenv("RALPH_TEST_LOG"); log != "" {
		f, err := os.Create(log)
		if err != nil {
			panic(err)
		}
		l.Log = &progress.JSONL{W: f}
	}
	l.Run(ctx, s)
}

// startHost starts this test binary as a program that runs a loop, and returns when
// its agent has started all it starts.
func startHost(t *testing.T, name string, env ...string) *exec.Cmd {
	t.Helper()
	host := exec.Command(os.Args[0])
	host.Dir = t.TempDir()
	host.Env = append(os.Environ(), agentMode+"=host "+name)
	host.Env = append(host.Env, env...)
	host.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := host.StdoutPipe()
	if err := errors.Join(err, host.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Process.Kill(); host.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if n := len(leftBy(name)); n < len(lefts) {
		t.Errorf("the agent has started %d processes", n)
	}
	return host
}

// nothingLives waits until nothing of a test is left.
func nothingLives(t *testing.T, name string) {
	t.Helper()
	left := leftBy(name)
	for deadline := time.Now().Add(10 * time.Second); len(left) > 0 && time.Now().Before(deadline); left = leftBy(name) {
		exec.Command("true").Run() // something else
	}
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestNothingOutlivesUs: what the agent has started ends with the program that
// runs it, also if that is killed, or does not heed a signal.
func TestNothingOutlivesUs(t *testing.T) {
	needsProc(t)
	for _, tt := range []struct {
		name   string
		signal syscall.Signal
		heeds  bool
	}{
		{"killed", syscall.SIGKILL, false},
		{"interrupted", syscall.SIGINT, true},
		{"terminated", syscall.SIGTERM, true},
		{"hung up", syscall.SIGHUP, true},
		{"interrupted, not heeding it", syscall.SIGINT, false},
		{"terminated, not heeding it", syscall.SIGTERM, false},
		{"hung up, not heeding it", syscall.SIGHUP, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			name := leftTest(t)
			var env []string
			if tt.heeds {
				env = []string{"RALPH_TEST_HEEDS=1"}
			}
			host := startHost(t, name, env...)
			syscall.Kill(-host.Process.Pid, tt.signal) // as a terminal does
			host.Wait()
			nothingLives(t, name)
		})
	}
}

// TestTempDirsOfTheDead: a client's folder for temporary files is removed by the
// next program, if its own was killed.
func TestTempDirsOfTheDead(t *testing.T) {
	needsProc(t)
	dir := t.TempDir()
	folders := func() int {
		found, _ := filepath.Glob(filepath.Join(dir, "ralph-run-*"))
		return len(found)
	}
	for n := range 3 {
		name := leftTest(t)
		host := startHost(t, name, "TMPDIR="+dir)
		if got := folders(); got != 1 {
			t.Errorf("%d folders beside the %d. program", got, n+1)
		}
		host.Process.Kill()
		host.Wait()
		nothingLives(t, name)
	}
}

// TestNothingIsLeftByNobody is the tests above without a privileged user's rights.
func TestNothingIsLeftByNobody(t *testing.T) {
	needsProc(t)
	if os.Getuid() != 0 {
		t.Skip("this is not root")
	}
	const nobody = 65534
	dir := t.TempDir()
	binary, err1 := os.ReadFile(os.Args[0])
	err2 := os.WriteFile(filepath.Join(dir, "test"), binary, 0o755)
	err3 := os.Mkdir(filepath.Join(dir, "tmp"), 0o700)
	err := errors.Join(err1, err2, err3, os.Chown(filepath.Join(dir, "tmp"), nobody, nobody), os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, "test"), "-test.run", "^(TestNothingIsLeft|TestNothingOutlivesUs|TestEndLeft)$", "-test.v")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+filepath.Join(dir, "tmp"), "HOME="+filepath.Join(dir, "tmp"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, os.ErrPermission) {
		t.Skip("another user cannot run this test binary here")
	}
	if err != nil || bytes.Count(out, []byte("--- PASS")) < 14 {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestEndLeft: what is left of an attempt is ended by the mark in its record, and
// nothing else is.
func TestEndLeft(t *testing.T) {
	needsProc(t)
	name, other := leftTest(t), leftTest(t)
	log := filepath.Join(t.TempDir(), "log")
	first, second := startHost(t, name, "RALPH_TEST_LOG="+log), startHost(t, other)
	mark := lastMark(t, log, "left")
	for _, forged := range []string{
		"", "1", "RALPH_RUN_", mark + "0", strings.ToLower(mark), mark[:16] + "-", mark[:15], mark[1:], "*" + mark[1:], mark[:17] + "0" + mark[18:],
		mark[:16] + "-18446744073709551615", mark[:16] + "-819200",
	} {
		for _, f := range []func(string) ([]string, error){ralph.EndLeft, ralph.Left} {
			if lines, err := f(forged); err == nil || len(lines) > 0 {
				t.Errorf("%q: %q, %v", forged, lines, err)
			}
		}
	}
	for _, f := range []func(string) ([]string, error){ralph.EndLeft, ralph.Left} {
		if lines, err := f(ralph.NewMark()); err != nil || len(lines) > 0 {
			t.Errorf("a mark of nobody: %q, %v", lines, err)
		}
	}
	told, err := ralph.Left(mark)
	if left := leftBy(name); err != nil || len(told) < len(lefts) || len(left) < len(lefts) {
		t.Errorf("%v: told of %q, left %v", err, told, left)
	}
	for i := range lefts {
		if want := "sleep 30" + strconv.Itoa(i+1); !slices.ContainsFunc(told, func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("not told of %s: %q", want, told)
		}
	}
	ended, err := ralph.EndLeft(mark)
	if left := leftBy(name); err != nil || len(left) > 0 || len(ended) < len(lefts) {
		t.Errorf("%v: ended %q, left %v", err, ended, left)
	}
	if len(leftBy(other)) < len(lefts) {
		t.Error("another program's processes were ended too")
	}
	if told, err := ralph.Left(mark); err != nil || len(told) > 0 {
		t.Errorf("%v: %q are left after the end", err, told)
	}
	for _, host := range []*exec.Cmd{first, second} {
		host.Process.Kill()
		host.Wait()
	}
	nothingLives(t, name)
	nothingLives(t, other)
}

// TestRunEndsWhatIsLeft of an attempt that a state says is running, before it goes on
// or has its answer verified, and says what.
func TestRunEndsWhatIsLeft(t *testing.T) {
	needsProc(t)
	for _, pending := range []bool{false, true} {
		name := leftTest(t)
		log := filepath.Join(t.TempDir(), "log")
		host := startHost(t, name, "RALPH_TEST_LOG="+log)
		s := ralph.Start(ralph.Task{ID: "left", Prompt: "Do it.", Dir: t.TempDir()})
		s.Running, s.Mark = true, lastMark(t, log, "left")
		l := ralph.Local{Runner: ralph.Replay(done, done), Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
			if left := leftBy(name); len(left) > 0 {
				t.Errorf("pending: %t: left %v", pending, left)
			}
			return ralph.Pass(), nil
		})}
		if pending {
			l.Pending = func(context.Context, ralph.State) (*ralph.Event, error) {
				return &ralph.Event{Kind: ralph.EventAnswered, Answer: &ralph.Response{Output: done},
					Iteration: ralph.Iteration{Number: 1, Attempt: 1, Claimed: true, Ended: []string{"sleep 1"}}}, nil
			}
		}
		final, events, err := runLoop(t, t.Context(), l, s)
		it := events.events(t)[1].Iteration
		if err != nil || len(it.Ended) < len(lefts) || (it.Ended[0] == "sleep 1") != pending || (final.Attempt == 1) != pending {
			t.Errorf("pending: %t: %v: ended %q: %s", pending, err, it.Ended, describe(final))
		}
		host.Process.Kill()
		host.Wait()
		nothingLives(t, name)
	}
	s := ralph.Start(ralph.Task{Prompt: "Do it."})
	s.Loop, s.Running, s.Mark = "T", true, "forged"
	if got, err := (&ralph.Local{Runner: ralph.Replay(done), Verifier: ralph.VerifierFunc(nil), Log: &memory{failAt: 1}}).Run(t.Context(), s); err == nil || errors.Is(err, errLog) || asJSON(t, got) != asJSON(t, s) {
		t.Errorf("%v: %s", err, describe(got))
	}
}

// lastMark is the mark of the attempt that is running according to a log.
func lastMark(t *testing.T, log, task string) string {
	t.Helper()
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := progress.Resume(f, task)
	if err != nil || !s.Running || s.Mark == "" {
		t.Fatalf("%v: %s", err, describe(s))
	}
	return s.Mark
}

type written func(p []byte)

func (f written) Write(p []byte) (int, error) { f(p); return len(p), nil }
