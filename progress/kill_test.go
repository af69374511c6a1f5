package progress_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// leftName is a variable in the environment of the processes that agents leave here.
const leftName = "PROGRESS_TEST_LEFT"

// killedAgent tells which attempt it is, leaves a process in a session of its own, and claims that
// the task is done in the iteration that is the last one.
const killedAgent = `read -r at
printf '%s\n' "$at" >>runs
setsid sleep 300 >/dev/null 2>&1 </dev/null &
sleep 0.0$(($$ % 10))
echo "I have worked."
case $at in "$LAST".*) echo "<promise>COMPLETE</promise>" ;; esac
`

// killedLimit is how many iterations the loops may have that are killed.
const killedLimit = 8

// loopProgram runs a loop, or goes on with it, until it is over: its arguments are the
// folder, the loop, the iteration in which the agent claims, and a name for what the
// agent leaves. It prints a line when the loop has started, with what was ended before.
func loopProgram(args []string) error {
	folder, loop, last, name := args[0], args[1], args[2], args[3]
	d := &progress.Dir{Path: filepath.Join(folder, "journals")}
	j, err := d.Open(loop)
	if errors.Is(err, fs.ErrNotExist) {
		j, err = d.Create(ralph.Start(ralph.Task{ID: loop, Prompt: "Do it.", Dir: folder, Limits: ralph.Limits{Iterations: killedLimit}}), progress.KindLoop)
	}
	if err != nil {
		return err
	}
	s, err := j.Run(context.Background(), &ralph.Local{
		Runner: &ralph.Command{
			Args: []string{"/bin/sh", "-c", killedAgent}, Env: []string{leftName + "=" + name, "LAST=" + last}, Grace: 100 * time.Millisecond,
		},
		Prompt: func(_ context.Context, s ralph.State) (string, error) {
			return fmt.Sprintf("%d.%d\n", s.Iteration, s.Attempt), nil
		},
		Verifier: ralph.VerifierFunc(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
			return ralph.Pass(), nil
		}),
		Workspace: noWorkspace,
		Log: ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error {
			_, err := fmt.Println(ev.Kind, ev.Iteration.Fault, len(ev.Iteration.Ended))
			return err
		}),
	})
	if s.Done() {
		return j.Close()
	}
	return errors.Join(err, j.Close())
}

// living returns the processes that have a variable in their environment, and
// their command lines.
func living(variable string) map[int]string {
	found := map[int]string{}
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range environs {
		env, err := os.ReadFile(file)
		if pid, e := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && e == nil && bytes.Contains(env, []byte(variable+"\x00")) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			found[pid] = strings.ReplaceAll(string(line), "\x00", " ")
		}
	}
	return found
}

// watchdogOf returns the watchdog of a program, 0 = it has none.
func watchdogOf(pid int) int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		stat, _ := os.ReadFile(file)
		_, rest, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(rest); len(f) < 2 || f[1] != strconv.Itoa(pid) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if n, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && bytes.HasSuffix(line, []byte("ralph-watchdog\x00")) {
			return n
		}
	}
	return 0
}

// A killing is a loop whose program is killed again and again.
type killing struct {
	t      *testing.T
	r      *rand.Rand
	folder string
	loop   string
	last   int // the iteration in which the agent claims
	life   int
	runs   int            // attempts that have begun, before this life
	seen   ralph.State    // as it is on record
	orphan map[int]string // what is left, for nobody has ended it
	counts map[string]int
}

// left is what the processes are known by that a life's agents leave.
func (k *killing) left() string { return fmt.Sprintf("%s-%d-%d", k.loop, os.Getpid(), k.life) }

// program is a variable of the program's life, and of its watchdog's.
func (k *killing) program() string {
	return "RALPH_RUN_" + strings.ReplaceAll(k.left(), "-", "_")
}

// live runs the loop until it is over, or killed at some moment, if there is
// a bound on that.
func (k *killing) live(within time.Duration) (over bool) {
	k.life++
	for pid := range k.orphan { // a life that was killed before it has begun may have ended it
		if !k.ours(pid) {
			delete(k.orphan, pid)
		}
	}
	cmd := program("loop", k.folder, k.loop, strconv.Itoa(k.last), k.left())
	cmd.Env = append(cmd.Environ(), k.program()+"=1")
	out, err := cmd.StdoutPipe()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := errors.Join(err, cmd.Start()); err != nil {
		k.t.Fatal(err)
	}
	told := make(chan string)
	go func() { defer close(told); k.listen(out, told) }()
	var kill <-chan time.Time
	moment := time.Duration(k.r.Int64N(int64(max(within, 1))))
	if within > 0 && k.life%4 == 0 { // also while it starts
		kill = time.After(moment)
	}
	dog, killed := 0, false
	var said []string
	for told != nil {
		select {
		case line, ok := <-told:
			switch {
			case !ok:
				told = nil
			case len(said) == 0: // it has begun
				k.ended()
				if within > 0 && kill == nil && !killed {
					kill = time.After(moment)
				}
				fallthrough
			default:
				said = append(said, line)
			}
		case <-kill:
			kill, killed = nil, true
			if k.life%3 == 0 {
				if dog = watchdogOf(cmd.Process.Pid); dog != 0 {
					kill9(dog)
				}
			}
			cmd.Process.Kill()
		}
	}
	err = cmd.Wait()
	if !killed && err != nil {
		k.t.Errorf("%s, life %d: %v\n%s%s", k.loop, k.life, err, strings.Join(said, "\n"), &stderr)
		k.counts["journals that did not open"]++
	}
	k.told(said)
	if killed {
		k.counts["kills"]++
		k.orphans(dog)
	}
	return !killed
}

// told checks that it is on record what was ended of the life before.
func (k *killing) told(said []string) {
	if len(said) == 0 {
		return // it has not begun
	}
	at := slices.IndexFunc(said, func(line string) bool { return strings.HasPrefix(line, string(ralph.EventIterationEnded)) })
	if len(k.orphan) > 0 && at >= 0 {
		if k.counts["resumes that ended what was left"]++; strings.HasSuffix(said[at], " 0") {
			k.t.Errorf("%s, life %d: nobody was told that these were ended: %v\n%s", k.loop, k.life, k.orphan, strings.Join(said, "\n"))
		}
	}
	k.orphan = nil
}

// listen hands over lines.
func (k *killing) listen(out io.Reader, lines chan<- string) {
	for s := bufio.NewScanner(out); s.Scan(); {
		lines <- s.Text()
	}
}

func kill9(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		p.Kill()
	}
}

// ended checks that what was left of the last life has been ended by this one.
func (k *killing) ended() {
	for pid, line := range k.orphan {
		if k.ours(pid) {
			k.counts["agents' processes alive after the resume"]++
			k.t.Errorf("%s, life %d: %d lives: %s", k.loop, k.life, pid, line)
			kill9(pid)
		}
	}
}

// ours reports whether a process was left by an agent of the loop, and lives.
func (k *killing) ours(pid int) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && bytes.Contains(env, []byte(leftName+"="+k.loop+"-"))
}

// orphans waits for the watchdog to end what is left, or notes it if that was
// killed too.
func (k *killing) orphans(dog int) {
	name := leftName + "=" + k.left()
	if dog != 0 {
		for pid, line := range living(name) {
			if strings.HasPrefix(line, "sleep 300") && !dying(pid) { // the others may end by themselves
				k.orphan = map[int]string{pid: line}
			}
		}
		return
	}
	begin := time.Now()
	watched := func() bool { // the watchdog has what the program has of the runs it is of
		for _, line := range living(k.program() + "=1") {
			if strings.HasSuffix(line, "ralph-watchdog ") {
				return true
			}
		}
		return false
	}
	for watched() {
		exec.Command("true").Run() // something else
	}
	const longest = "milliseconds to the end of a watchdog, at most"
	k.counts[longest] = max(k.counts[longest], int(time.Since(begin).Milliseconds()))
	for pid, line := range living(name) {
		k.t.Errorf("%s, life %d: %d lives after the watchdog, %v after the kill: %s", k.loop, k.life, pid, time.Since(begin), line)
		k.counts["agents' processes that the watchdog left"]++
		kill9(pid)
	}
}

// dying reports whether a process has been killed and does not know it yet.
func dying(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if _, hex, found := strings.Cut(line, "Pnd:"); found {
			pending, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
			if err != nil || pending&(1<<(syscall.SIGKILL-1)) != 0 {
				return true
			}
		}
	}
	return err != nil
}

// look checks what is on record after a life.
func (k *killing) look(over bool) {
	before := k.seen
	text, err := os.ReadFile(filepath.Join(k.folder, "runs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		k.t.Fatal(err)
	}
	runs := strings.Fields(string(text))
	for _, at := range runs[k.runs:] {
		n, err := strconv.Atoi(strings.Split(at, ".")[0])
		if err != nil {
			k.t.Fatal(err)
		}
		if n < before.Iteration || before.Done() {
			k.counts["iterations on record as done that ran again"]++
			k.t.Errorf("%s, life %d: %s runs, and the loop was at %d.%d", k.loop, k.life, at, before.Iteration, before.Attempt)
		}
		if n > killedLimit {
			k.counts["limits exceeded"]++
			k.t.Errorf("%s, life %d: %s runs", k.loop, k.life, at)
		}
	}
	k.runs = len(runs)
	if twice := slices.Compact(slices.Sorted(slices.Values(runs))); len(twice) != len(runs) {
		k.t.Errorf("%s: attempts ran twice: %v", k.loop, runs)
	}
	e, err := (&progress.Dir{Path: filepath.Join(k.folder, "journals")}).Look(k.loop)
	switch {
	case errors.Is(err, fs.ErrNotExist) && before.Iteration == 0 && k.runs == 0 && !over:
		return
	case err != nil:
		k.counts["journals that did not open"]++
		k.t.Errorf("%s, life %d: %v", k.loop, k.life, err)
		return
	case e.State.Iteration < before.Iteration:
		k.counts["lost iterations"]++
		k.t.Errorf("%s, life %d: the loop was at %d and is at %d", k.loop, k.life, before.Iteration, e.State.Iteration)
	}
	k.seen = e.State
	if over {
		k.over(runs)
	}
}

// over checks a loop that has come to its end.
func (k *killing) over(runs []string) {
	want, at := ralph.StopVerified, k.last
	if k.last > killedLimit {
		want, at = ralph.StopIterations, killedLimit
	}
	if k.seen.Stop != want || k.seen.Iteration != at {
		k.t.Errorf("%s: stopped at %d: %s (%s), want %s at %d", k.loop, k.seen.Iteration, k.seen.Stop, k.seen.Detail, want, at)
	}
	for i := 1; i <= at; i++ {
		if !slices.ContainsFunc(runs, func(run string) bool { return strings.HasPrefix(run, strconv.Itoa(i)+".") }) {
			k.counts["lost iterations"]++
			k.t.Errorf("%s: iteration %d did not run: %v", k.loop, i, runs)
		}
	}
	k.counts["loops"]++
}

// TestKill: a program that runs a loop is killed at many moments (hundreds, with
// RALPH_E2E set), and in every third case its watchdog before it. Then it goes on.
func TestKill(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what a killed program leaves is known by /proc")
	}
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	kills, enough := 80, time.After(75*time.Second)
	switch {
	case testing.Short():
		kills = 20
	case os.Getenv("RALPH_E2E") != "":
		kills = 300
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r, counts := rand.New(rand.NewPCG(seed, 0)), map[string]int{
		"iterations on record as done that ran again": 0, "lost iterations": 0, "limits exceeded": 0, "journals that did not open": 0,
		"agents' processes that the watchdog left": 0, "agents' processes alive after the resume": 0,
	}
	for n := 0; counts["kills"] < kills && !t.Failed(); n++ {
		k := &killing{t: t, r: r, folder: t.TempDir(), loop: fmt.Sprintf("T%d", n), last: killedLimit + n%2, counts: counts}
		for over := false; !over && !t.Failed(); k.look(over) {
			within := 400 * time.Millisecond
			select {
			case <-enough:
				kills = 0
			default:
			}
			if counts["kills"] >= kills {
				within = 0
			}
			over = k.live(within)
		}
	}
	t.Log(counts)
}
